//! Descriptions of arrays, for other processes that open them.

use std::path::{self, PathBuf};

use super::{MappedArray, OpenOptions, RawSpec};
use crate::dtype::DType;
use crate::error::{IoContext as _, RequestError, Result};
use crate::layout::Order;
use crate::source::FileId;
use crate::source::mode::Mode;

/// Where an array is stored, in a form that you can send to another process.
/// [`MappedArray::description`] returns it.
///
/// It contains the absolute path of the file, and opening it reads no header.
/// With the feature `serde` it can be serialized. You can open a received
/// description, which checks it first. Copy-on-write changes are not in the
/// file, and so not in the opened array.
///
/// # Examples
///
/// ```
/// use npymap::{MappedArray, array::AnyArray, source::AnySource};
///
/// // SAFETY: no other process writes to or truncates this file.
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
    /// The dtype of the elements.
    pub dtype: DType,
    /// The length of each axis.
    pub shape: Vec<usize>,
    /// Which axis varies fastest.
    pub order: Order,
    /// The mode to map the file in: `r`, `r+` or `c`. For a created array, this is
    /// `r+`.
    pub mode: Mode,
    /// The identity of the file, on systems that report it: if the path leads to
    /// another file on the same machine, [`Source::file_id`](crate::Source::file_id) differs.
    pub file_id: Option<FileId>,
    /// The length of the file in bytes when it was opened.
    pub file_len: u64,
}

impl Description {
    /// Returns the options that open the array: as raw binary, because the
    /// description has all information of a header. If the file has become too
    /// short, opening fails in every mode.
    #[inline]
    pub fn options(&self) -> OpenOptions {
        let dtype = self.dtype.clone();
        let mut raw = RawSpec::new(dtype).shape(&self.shape).order(self.order).offset(self.offset);
        raw.grows = false;
        OpenOptions::new().raw(raw)
    }
}

impl<D> MappedArray<D> {
    /// Describes the array, so that another process can open it.
    ///
    /// # Errors
    ///
    /// Returns [`InvalidInput`](crate::ErrorKind::InvalidInput) if the array is
    /// in memory, or its file was not opened by path. Returns
    /// [`Io`](crate::ErrorKind::Io) if the path is relative and the working
    /// directory no longer exists.
    pub fn description(&self) -> Result<Description> {
        let MappedArray { place, origin, .. } = self;
        let (Some(path), Some(mode)) = (&origin.path, origin.mode) else {
            return Err(RequestError::NoPath { operation: "share its description" }.into());
        };
        let mode = if mode == Mode::Create { Mode::ReadWrite } else { mode };
        let path = path::absolute(path).context("find the absolute path");
        Ok(Description {
            path: origin.add_path_on_err(path)?,
            offset: place.offset,
            dtype: self.dtype().clone(),
            shape: self.shape().to_vec(),
            order: place.order,
            mode,
            file_id: origin.id,
            file_len: origin.file_len,
        })
    }
}
