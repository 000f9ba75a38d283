//! Indices of single elements.

/// The index of one element: `[i, j]`, a `&[usize]`, or `i` for one axis.
///
/// This trait is sealed.
///
/// # Examples
///
/// ```
/// let penguins = npymap::MappedArray::load("data/penguins.npy")?;
/// let table = penguins.view::<f64>()?;
/// assert_eq!(table.at([0, 3]), 3750.0);
/// assert_eq!(table.get(&[342, 0][..]), None);
/// assert_eq!(table.index_axis(1, 3)?.at(0), 3750.0);
/// # Ok::<(), npymap::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not the index of an element: use `usize`, `[usize; N]` or `&[usize]`; for ranges use `slice`",
    label = "not an index"
)]
pub trait Index: Copy + sealed::SealedIndex {
    /// Returns the index along each axis.
    #[doc(hidden)]
    fn axes(&self) -> &[usize];
}

mod sealed {
    pub trait SealedIndex {}
    impl SealedIndex for usize {}
    impl SealedIndex for &[usize] {}
    impl<const N: usize> SealedIndex for [usize; N] {}
}

impl Index for usize {
    #[inline]
    fn axes(&self) -> &[usize] {
        std::slice::from_ref(self)
    }
}

impl Index for &[usize] {
    #[inline]
    fn axes(&self) -> &[usize] {
        self
    }
}

impl<const N: usize> Index for [usize; N] {
    #[inline]
    fn axes(&self) -> &[usize] {
        self
    }
}
