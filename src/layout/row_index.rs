//! Row indices, and what to do if they are out of bounds.

use std::fmt::Display;

use crate::dtype::literal::tuple;
use crate::error::invariant::Invariant;
use crate::error::{Result, ShapeError, memory};

/// An integer type that can index rows. Sealed.
///
/// # Examples
///
/// ```
/// use npymap::{MappedArray, RowSource as _};
///
/// let rows = MappedArray::load("data/penguins.npy")?.into_read_only()?.rows()?;
/// let mut first = [0.0; 4];
/// rows.take(&[0_i64], &mut first)?;
/// rows.take(&[0_u16], &mut first)?;
/// assert_eq!(first[3], 3750.0);
/// # Ok::<(), npymap::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot index rows: use an integer such as `usize` or `i64`",
    label = "not an integer"
)]
pub trait RowIndex: Copy + Display + sealed::SealedRowIndex {
    /// Converts without loss.
    #[doc(hidden)]
    fn to_i128(self) -> i128;
}

mod sealed {
    pub trait SealedRowIndex {}
}

macro_rules! row_index {
    ($($type:ty)*) => {$(
        impl sealed::SealedRowIndex for $type {}

        impl RowIndex for $type {
            #[inline]
            fn to_i128(self) -> i128 {
                i128::try_from(self).invariant("indices have at most 64 bits")
            }
        }
    )*};
}

row_index! { i8 i16 i32 i64 isize u8 u16 u32 u64 usize }

/// What to do with indices out of bounds: `mode` of NumPy's `take`.
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
/// assert_eq!(TakeMode::FromEnd.resolve(&[-1, 2, -4], 4)?, [3, 2, 0]);
/// # Ok::<(), npymap::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum TakeMode {
    /// Return an error. Unlike in NumPy's `raise`, negative indices do not
    /// count from the end: in a sampler they are usually a mistake.
    #[default]
    Raise,
    /// Count negative indices from the end, and return an error for the
    /// remaining indices out of bounds: NumPy's `raise`.
    FromEnd,
    /// Wrap around: use the remainder by the length.
    Wrap,
    /// Use the nearest valid index; negative indices become 0.
    Clip,
}

impl TakeMode {
    /// Converts indices into valid row numbers along an axis of length `dim`.
    ///
    /// # Errors
    ///
    /// Returns [`OutOfBounds`](crate::ErrorKind::OutOfBounds) with
    /// [`Raise`](TakeMode::Raise) for an index outside `0..dim`, with
    /// [`FromEnd`](TakeMode::FromEnd) outside `-dim..dim`. With the other modes
    /// for any index if `dim` is 0.
    pub fn resolve<I: RowIndex>(self, indices: &[I], dim: usize) -> Result<Vec<usize>> {
        resolve(self, indices, dim, 0, &[dim])
    }
}

/// Converts indices into valid indices along an axis of a shape.
pub(crate) fn resolve<I: RowIndex>(
    mode: TakeMode,
    indices: &[I],
    dim: usize,
    axis: usize,
    shape: &[usize],
) -> Result<Vec<usize>> {
    let mut resolved = memory::with_capacity(indices.len())?;
    for index in indices {
        // In all modes, an index in bounds is itself.
        let inside = usize::try_from(index.to_i128()).ok().filter(|&index| index < dim);
        let valid = inside.or_else(|| resolve_one(mode, index.to_i128(), dim));
        resolved.push(valid.ok_or_else(|| {
            let (asked, shape) = (format!("index {index}"), tuple(shape));
            ShapeError::Index { axis, asked, shape }
        })?);
    }
    Ok(resolved)
}

/// Resolves an index that is out of bounds.
#[inline]
fn resolve_one(mode: TakeMode, index: i128, dim: usize) -> Option<usize> {
    let valid = match mode {
        TakeMode::FromEnd if index < 0 => index.checked_add(i128::try_from(dim).ok()?)?,
        TakeMode::Raise | TakeMode::FromEnd => index,
        TakeMode::Wrap => index.checked_rem_euclid(i128::try_from(dim).ok()?)?,
        TakeMode::Clip => index.clamp(0, i128::try_from(dim.checked_sub(1)?).ok()?),
    };
    usize::try_from(valid).ok().filter(|&valid| valid < dim)
}
