//! Raw binary: files of elements without a header, as in `numpy.memmap`.

use super::Place;
use crate::dtype::DType;
use crate::error::invariant::to_u64;
use crate::error::{ExtentError, Result, ShapeError};
use crate::layout::{Layout, Order};

/// A description of a file without a header, like the arguments of
/// `numpy.memmap`.
///
/// Pass it to [`OpenOptions::raw`](crate::OpenOptions::raw) to open such a file
/// from any source. Only the elements are mapped, at any offset. In mode `r+`,
/// a file too short for its shape is extended with zeros in reserved space. In
/// other modes, opening returns an error. To create files, see
/// [`CreateOptions::raw`](crate::CreateOptions::raw).
///
/// # Examples
///
/// ```
/// use npymap::{OpenOptions, Source, array::RawSpec, ndarray::Ix2};
///
/// // A header of 128 bytes, then 342 × 4 numbers: the same as any raw file.
/// let raw = RawSpec::new("<f8".parse()?).offset(128).shape(&[342, 4]);
/// // SAFETY: no other process writes to or truncates this file.
/// let source = unsafe { Source::map("data/penguins.npy")? };
/// let penguins = OpenOptions::new().raw(raw).open(source)?;
/// assert_eq!(penguins.as_ndarray::<f64, Ix2>()?[[0, 3]], 3750.0);
/// # Ok::<(), npymap::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawSpec {
    dtype: DType,
    shape: Option<Vec<usize>>,
    order: Order,
    pub(super) offset: u64,
    /// Whether a file that is too short may be extended.
    pub(crate) grows: bool,
}

impl RawSpec {
    /// Describes a one-dimensional array from the first byte of the file to the
    /// last. The axes of a subarray dtype follow the first axis.
    #[must_use]
    #[inline]
    pub fn new(dtype: DType) -> RawSpec {
        RawSpec { dtype, shape: None, order: Order::C, offset: 0, grows: true }
    }

    /// Sets the length of each axis. Without it there is one axis, as long as the
    /// file.
    #[must_use]
    #[inline]
    pub fn shape(self, shape: &[usize]) -> RawSpec {
        RawSpec { shape: Some(shape.to_vec()), ..self }
    }

    /// Sets which axis varies fastest.
    #[must_use]
    #[inline]
    pub fn order(self, order: Order) -> RawSpec {
        RawSpec { order, ..self }
    }

    /// Sets the number of bytes before the first element.
    #[must_use]
    #[inline]
    pub fn offset(self, offset: u64) -> RawSpec {
        RawSpec { offset, ..self }
    }

    /// The place of the array in a file of `len` bytes, which may be too short.
    /// Offsets are relative to `start`.
    #[inline]
    pub(crate) fn place(&self, start: u64, len: u64) -> Result<Place> {
        let offset = start.checked_add(self.offset).ok_or(ExtentError::Remainder {
            offset: u64::MAX,
            itemsize: self.dtype.itemsize(),
            found: len,
        })?;
        let mut shape = match &self.shape {
            Some(shape) => shape.clone(),
            None => vec![self.count(offset, len)?],
        };
        let mut dtype = &self.dtype;
        while let Some((base, axes)) = dtype.subarray() {
            shape.extend(axes);
            dtype = base;
        }
        let layout = Layout::new(dtype.clone(), &shape, self.order, 0)?;
        Ok(Place { layout, offset, order: self.order, header: None })
    }

    /// The number of elements in a file of `len` bytes.
    #[inline]
    fn count(&self, offset: u64, len: u64) -> Result<usize> {
        let itemsize = self.dtype.itemsize();
        let size = to_u64(itemsize);
        let count = len
            .checked_sub(offset)
            .filter(|rest| rest.checked_rem(size) == Some(0))
            .map(|rest| rest / size)
            .ok_or(ExtentError::Remainder { offset, itemsize, found: len })?;
        Ok(usize::try_from(count)
            .map_err(|_| ShapeError::Size { shape: format!("({count},)"), itemsize })?)
    }
}
