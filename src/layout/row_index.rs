//! Indices of rows: which there are, and what is done with others.

use std::fmt::Display;

use crate::dtype::literal::tuple;
use crate::error::invariant::Invariant;
use crate::error::{Result, ShapeError};

/// An integer that names a row. SealedIndex.
pub trait RowIndex: Copy + Display + sealed::SealedIndex {
    /// The same number.
    #[doc(hidden)]
    fn wide(self) -> i128;
}

mod sealed {
    pub trait SealedIndex {}
}

macro_rules! row_index {
    ($($type:ty)*) => {$(
        impl sealed::SealedIndex for $type {}

        impl RowIndex for $type {
            #[inline]
            fn wide(self) -> i128 {
                i128::try_from(self).invariant("indices have 64 bits at most")
            }
        }
    )*};
}

row_index! { i8 i16 i32 i64 isize u8 u16 u32 u64 usize }

/// What is done with indices that name no row: `mode` of NumPy's `take`.
///
/// # Examples
///
/// ```
/// use npymap::layout::TakeMode;
///
/// let indices = [-1, 2, 10];
/// assert_eq!(TakeMode::Wrap.resolve(&indices, 4)?, [3, 2, 2]);
/// assert_eq!(TakeMode::Clip.resolve(&indices, 4)?, [0, 2, 3]);
/// assert!(TakeMode::Raise.resolve(&indices, 4).is_err());
/// # Ok::<(), npymap::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum TakeMode {
    /// They are errors, and so are negative ones, which in NumPy's `raise`
    /// count from the end: in a sampler they are mostly a mistake.
    #[default]
    Raise,
    /// They count on from the other end.
    Wrap,
    /// They are the nearest that there is; negative ones the first.
    Clip,
}

impl TakeMode {
    /// The rows that indices name along an axis of `dim`.
    ///
    /// # Errors
    ///
    /// [`OutOfBounds`](crate::ErrorKind::OutOfBounds) for those that name none:
    /// with [`Raise`](TakeMode::Raise) all outside `0..dim`, otherwise any when
    /// `dim` is 0.
    pub fn resolve<I: RowIndex>(self, indices: &[I], dim: usize) -> Result<Vec<usize>> {
        resolve(self, indices, dim, 0, &[dim])
    }
}

/// The indices that are meant along an axis of a shape.
pub(crate) fn resolve<I: RowIndex>(
    mode: TakeMode,
    indices: &[I],
    dim: usize,
    axis: usize,
    shape: &[usize],
) -> Result<Vec<usize>> {
    let found = |index: &I| {
        one(mode, index.wide(), dim).ok_or_else(|| {
            let (asked, shape) = (format!("index {index}"), tuple(shape));
            ShapeError::Index { axis, asked, shape }.into()
        })
    };
    indices.iter().map(found).collect()
}

#[inline]
fn one(mode: TakeMode, index: i128, dim: usize) -> Option<usize> {
    let own = match mode {
        TakeMode::Raise => index,
        TakeMode::Wrap => index.checked_rem_euclid(i128::try_from(dim).ok()?)?,
        TakeMode::Clip => index.clamp(0, i128::try_from(dim.checked_sub(1)?).ok()?),
    };
    usize::try_from(own).ok().filter(|&own| own < dim)
}
