//! What another process needs to open the same array.

use std::path::{self, PathBuf};

use super::{MappedArray, OpenOptions, RawSpec};
use crate::dtype::DType;
use crate::error::{RequestError, Result, SystemError};
use crate::layout::Order;
use crate::source::mode::Mode;

/// What another process, or this one later, needs to open an array of a file
/// again: joblib's way to hand a `numpy.memmap` to its workers.
///
/// It is made by [`MappedArray::description`], names the file by its absolute
/// path, and needs no header. With the feature `serde` it can be sent as any
/// format; what is received is checked when it is opened. What was stored
/// copy-on-write is not in the file, and so not in the array that is opened.
///
/// # Examples
///
/// ```
/// use npymap::{MappedArray, array::AnyArray, source::AnySource};
///
/// // SAFETY: nobody changes or truncates the file meanwhile.
/// let penguins = unsafe { MappedArray::open("data/penguins.npy")? };
/// let description = penguins.description()?;
/// assert_eq!((description.offset, description.shape.as_slice()), (128, &[342, 4][..]));
///
/// // SAFETY: as above.
/// let source = unsafe { AnySource::map(&description.path, description.mode)? };
/// let AnyArray::ReadOnly(again) = description.options().open_mode(source)? else { panic!() };
/// assert_eq!(again.as_slice::<f64>()?, penguins.as_slice::<f64>()?);
/// # Ok::<(), npymap::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Description {
    /// The file's absolute path.
    pub path: PathBuf,
    /// Bytes before the first element.
    pub offset: u64,
    /// What each element is.
    pub dtype: DType,
    /// The length of each axis.
    pub shape: Vec<usize>,
    /// Which axis varies fastest.
    pub order: Order,
    /// How it is mapped: `r`, `r+` or `c`. Arrays that were created are opened
    /// again as `r+`.
    pub mode: Mode,
}

impl Description {
    /// The options that open the array: as raw binary, because all that a
    /// header says is known. A file that has become too short is an error in
    /// every mode.
    pub fn options(&self) -> OpenOptions {
        let dtype = self.dtype.clone();
        let raw = RawSpec::new(dtype).shape(&self.shape).order(self.order).offset(self.offset);
        OpenOptions::new().raw(raw.fixed())
    }
}

impl<D> MappedArray<D> {
    /// What another process needs to open the same array.
    ///
    /// # Errors
    ///
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput) when it is in memory, or of a file that wasn't
    /// opened by path; [`Io`](crate::ErrorKind::Io) when the working directory is gone,
    /// from which a relative path starts.
    pub fn description(&self) -> Result<Description> {
        let MappedArray { place, origin, .. } = self;
        let (Some(path), Some(mode)) = (&origin.path, origin.mode) else {
            return Err(RequestError::NoPath { wanted: "share its description" }.into());
        };
        let mode = if mode == Mode::Create { Mode::ReadWrite } else { mode };
        let path = path::absolute(path).map_err(SystemError::io("find the absolute path"));
        Ok(Description {
            path: origin.named(path)?,
            offset: place.offset,
            dtype: self.dtype().clone(),
            shape: self.shape().to_vec(),
            order: place.order,
            mode,
        })
    }
}
