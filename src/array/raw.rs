//! Raw binary: files of elements without a header, as `numpy.memmap` maps.

use super::Place;
use crate::dtype::DType;
use crate::error::invariant::to_u64;
use crate::error::{ExtentError, Result, ShapeError};
use crate::layout::{Layout, Order};

/// What a file without a header holds: the arguments of `numpy.memmap`.
///
/// Given to [`OpenOptions::raw`](crate::OpenOptions::raw), which then open such
/// a file from any source. Only the elements are mapped, wherever they start.
/// In mode `r+` a file that is too short for its shape is made longer by zeros,
/// with their space reserved; in other modes that is an error. For new files
/// see [`CreateOptions::raw`](crate::CreateOptions::raw).
///
/// # Examples
///
/// ```
/// use npymap::{OpenOptions, Source, array::RawSpec, ndarray::Ix2};
///
/// // A header of 128 bytes, then 342 × 4 numbers: the same as any raw file.
/// let raw = RawSpec::new("<f8".parse()?).offset(128).shape(&[342, 4]);
/// // SAFETY: nobody changes or truncates the file meanwhile.
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
    offset: u64,
    /// Whether files may be made longer for it.
    pub(crate) grows: bool,
}

impl RawSpec {
    /// Elements from the first byte of the file to the last, one axis of
    /// them. The axes of a dtype that is a subarray stand behind it.
    #[must_use]
    pub fn new(dtype: DType) -> RawSpec {
        RawSpec { dtype, shape: None, order: Order::C, offset: 0, grows: true }
    }

    /// The length of each axis. Without it there is one, as long as the file.
    #[must_use]
    pub fn shape(self, shape: &[usize]) -> RawSpec {
        RawSpec { shape: Some(shape.to_vec()), ..self }
    }

    /// Which axis varies fastest.
    #[must_use]
    pub fn order(self, order: Order) -> RawSpec {
        RawSpec { order, ..self }
    }

    /// Bytes before the first element: any number.
    #[must_use]
    pub fn offset(self, offset: u64) -> RawSpec {
        RawSpec { offset, ..self }
    }

    /// The same, but that no file is made longer for it.
    pub(crate) fn fixed(self) -> RawSpec {
        RawSpec { grows: false, ..self }
    }

    /// Where the elements lie in a file of `len` bytes, whether or not they
    /// all are there, when the file's start is taken to be at `at`.
    pub(crate) fn place(&self, at: u64, len: u64) -> Result<Place> {
        let offset = at.checked_add(self.offset).ok_or(ExtentError::Remainder {
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

    /// How many elements a file of `len` bytes holds.
    fn count(&self, offset: u64, len: u64) -> Result<usize> {
        let itemsize = self.dtype.itemsize();
        let size = to_u64(itemsize);
        let count = len
            .checked_sub(offset)
            .filter(|rest| rest.checked_rem(size) == Some(0))
            .map(|rest| rest / size)
            .ok_or(ExtentError::Remainder { offset, itemsize, found: len })?;
        let shape = || format!("({count},)");
        Ok(usize::try_from(count).map_err(|_| ShapeError::Size { shape: shape(), itemsize })?)
    }
}
