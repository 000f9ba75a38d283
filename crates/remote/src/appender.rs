//! Writes rows to an object, and its header last.

use std::fmt;
use std::io::Write as _;
use std::path::Path;

use npymap::layout::{Layout, Order};
use npymap::ndarray::{ArrayRef, ArrayView1, Dimension};
use npymap::write::WithDType;
use npymap::{DType, Element, Error, ErrorKind, Header, Result, WriteOptions};

use crate::invariant::Invariant;
use crate::{RemoteWriter, errors};

/// Writes a `.npy` object row by row, when the number of rows is known only at the
/// end.
///
/// This sends each part of the object once it is full. The first part, with the header,
/// stays in memory until [`finish`](RemoteAppender::finish), which writes the number of
/// rows into it and sends it last. You can read the object only after that. You cannot
/// append to an existing object, so write a new object instead.
///
/// If you drop this without finishing, the object does not appear, like with
/// [`RemoteWriter`].
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
///
/// use npymap_remote::object_store::{memory::InMemory, path::Path};
/// use npymap_remote::RemoteOptions;
/// use npymap_remote::RemoteAppender;
/// use npymap::{DType, MappedArray, Source};
///
/// let (store, path) = (Arc::new(InMemory::new()), Path::from("log.npy"));
/// // Or `create("s3://bucket/log.npy")`.
/// let writer = RemoteOptions::new().create_object(store.clone(), path.clone())?;
/// let mut log = RemoteAppender::new(writer, &DType::of::<f32>(), &[3])?;
/// log.append_slice(&[1.0_f32, 2.0, 3.0])?; // a row
/// log.append(&npymap::ndarray::array![[4.0_f32, 5.0, 6.0], [7.0, 8.0, 9.0]])?; // two
/// log.finish()?;
///
/// let object = RemoteOptions::new().open_object(store, path)?;
/// assert_eq!(MappedArray::from_source(object.source())?.shape(), [3, 3]);
/// # Ok::<(), npymap::Error>(())
/// ```
pub struct RemoteAppender {
    writer: RemoteWriter,
    /// Its shape has the number of rows so far.
    header: Header,
    /// The layout of one row.
    row: Layout,
}

impl RemoteAppender {
    /// Starts to write an array in C order to `writer`, which must be empty. `row` is the
    /// shape of one row: all axes except the first.
    ///
    /// # Errors
    ///
    /// Returns [`InvalidInput`](npymap::ErrorKind::InvalidInput) if something
    /// was written already, or if a descr cannot express the dtype.
    pub fn new(mut writer: RemoteWriter, dtype: &DType, row: &[usize]) -> Result<RemoteAppender> {
        let mut header = Header::new(dtype.clone(), &[&[0], row].concat(), Order::C)?;
        let encoded = header.encode(None)?;
        (header.version, header.data_offset) = (encoded.version, encoded.bytes.len());
        let row = with_rows(&header, 1).layout()?;
        writer.keep_start(encoded.bytes.len())?;
        writer.write_all(&encoded.bytes).map_err(|error| Error::io("write the header", error))?;
        Ok(RemoteAppender { writer, header, row })
    }

    /// Returns the shape so far.
    #[must_use]
    pub fn shape(&self) -> &[usize] {
        &self.header.shape
    }

    /// Returns the number of rows so far.
    #[must_use]
    pub fn rows(&self) -> usize {
        *self.header.shape.first().invariant("rows have an axis")
    }

    /// Returns the dtype of the elements.
    #[must_use]
    pub fn dtype(&self) -> &DType {
        &self.header.dtype
    }

    /// Appends rows: an array with the same axes as the object's and any length along
    /// the first, or a single row without that axis.
    ///
    /// # Errors
    ///
    /// Returns [`DTypeMismatch`](npymap::ErrorKind::DTypeMismatch) if `T` cannot be
    /// stored as the dtype, [`ShapeMismatch`](npymap::ErrorKind::ShapeMismatch) if
    /// the shape does not match,
    /// [`InvalidValue`](npymap::ErrorKind::InvalidValue) if a value does not
    /// fit, [`InvalidInput`](npymap::ErrorKind::InvalidInput) if the array
    /// would be too large, and adds no rows then. Returns
    /// [`Io`](npymap::ErrorKind::Io) if a part could not be sent. After that, you
    /// cannot write more.
    pub fn append<T: Element, D: Dimension>(&mut self, rows: &ArrayRef<T, D>) -> Result<()> {
        self.with_url_in_errors(|appender| {
            let count = appender.count_rows(rows.shape())?;
            let bytes = encode(rows, appender.dtype())?;
            appender.push_bytes(count, &bytes)
        })
    }

    /// Appends complete rows from values in C order.
    ///
    /// # Errors
    ///
    /// Returns [`DTypeMismatch`](npymap::ErrorKind::DTypeMismatch) if `T` cannot be
    /// stored as the dtype, [`ShapeMismatch`](npymap::ErrorKind::ShapeMismatch) if
    /// the values are not complete rows,
    /// [`InvalidValue`](npymap::ErrorKind::InvalidValue) if a value does not
    /// fit, and [`InvalidInput`](npymap::ErrorKind::InvalidInput) if the array
    /// would be too large, and adds no rows then. Returns
    /// [`Io`](npymap::ErrorKind::Io) if a part could not be sent. After that, you
    /// cannot write more.
    pub fn append_slice<T: Element>(&mut self, values: &[T]) -> Result<()> {
        self.with_url_in_errors(|appender| {
            let row = appender.row.len();
            let count = appender.count(values.len(), row, "values")?;
            let bytes = encode(&ArrayView1::from(values), appender.dtype())?;
            appender.push_bytes(count, &bytes)
        })
    }

    /// Appends complete rows from bytes as they are stored.
    ///
    /// # Errors
    ///
    /// Returns [`ShapeMismatch`](npymap::ErrorKind::ShapeMismatch) if the bytes are
    /// not complete rows, and [`InvalidInput`](npymap::ErrorKind::InvalidInput)
    /// if the array would be too large, and adds no rows then. Returns
    /// [`Io`](npymap::ErrorKind::Io) if a part could not be sent. After that, you
    /// cannot write more.
    pub fn append_bytes(&mut self, bytes: &[u8]) -> Result<()> {
        self.with_url_in_errors(|appender| {
            let row = appender.row.nbytes();
            let count = appender.count(bytes.len(), row, "bytes")?;
            appender.push_bytes(count, bytes)
        })
    }

    /// Writes the number of rows to the header, sends what is left, and makes the object
    /// appear under its name.
    ///
    /// # Errors
    ///
    /// Returns [`AlreadyExists`](npymap::ErrorKind::AlreadyExists) if there is
    /// an object that must not be replaced, and [`Io`](npymap::ErrorKind::Io)
    /// if a request fails. No object appears then, unless only the answer to
    /// the last request was lost.
    pub fn finish(mut self) -> Result<()> {
        let bytes = self.header.encode_in_place()?;
        let bytes = bytes.invariant("a header has room for any number of rows");
        self.writer.replace_start(&bytes);
        self.writer.finish()
    }

    /// The number of rows in an array with the same axes, or 1 for a single row.
    fn count_rows(&self, shape: &[usize]) -> Result<usize> {
        let row = self.shape().get(1..).unwrap_or_default();
        match shape.split_first() {
            _ if shape == row => Ok(1),
            Some((&count, others)) if others == row => Ok(count),
            _ => Err(self.wrong_rows(&tuple(shape.iter().map(usize::to_string)))),
        }
    }

    /// The number of rows in `len` values or bytes, if a row has `row`.
    fn count(&self, len: usize, row: usize, what: &str) -> Result<usize> {
        match len.checked_div(row) {
            Some(count) if count * row == len => Ok(count),
            None if len == 0 => Ok(0),
            _ => Err(self.wrong_rows(&format!("{len} {what}"))),
        }
    }

    fn wrong_rows(&self, found: &str) -> Error {
        let row = self.shape().iter().skip(1).map(usize::to_string);
        let expected = tuple(["*".to_owned()].into_iter().chain(row));
        Error::new(
            ErrorKind::ShapeMismatch,
            format!("found {found}, expected rows of shape {expected}"),
        )
    }

    fn push_bytes(&mut self, rows: usize, bytes: &[u8]) -> Result<()> {
        let all = self.rows().checked_add(rows).ok_or_else(|| {
            let found = format!("more than {} rows", usize::MAX);
            errors::invalid(&found, "fewer")
        })?;
        let header = with_rows(&self.header, all);
        // Fails when there are too many bytes.
        header.layout()?;
        self.writer.write_all(bytes).map_err(|error| Error::io("write the elements", error))?;
        self.header = header;
        Ok(())
    }

    fn with_url_in_errors(&mut self, action: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        let done = action(self);
        done.map_err(|error| error.with_path(Path::new(self.writer.url())))
    }
}

/// A shape as Python writes it.
fn tuple(dims: impl Iterator<Item = String>) -> String {
    let dims: Vec<String> = dims.collect();
    if let [one] = dims.as_slice() { format!("({one},)") } else { format!("({})", dims.join(", ")) }
}

/// The bytes of elements in C order.
fn encode<T: Element, D: Dimension>(rows: &ArrayRef<T, D>, dtype: &DType) -> Result<Vec<u8>> {
    if rows.is_standard_layout() {
        return encode_as_stored(rows, dtype);
    }
    // A whole array in Fortran order would be written in that order.
    let mut bytes = Vec::new();
    for lane in rows.rows() {
        bytes.extend(encode_as_stored(&lane, dtype)?);
    }
    Ok(bytes)
}

/// A file's elements as bytes.
fn encode_as_stored<T: Element, D: Dimension>(
    array: &ArrayRef<T, D>,
    dtype: &DType,
) -> Result<Vec<u8>> {
    let mut file = Vec::new();
    WriteOptions::new().write_to(&mut file, &WithDType::new(array, dtype.clone()))?;
    let start = Header::parse(&file)?.data_offset;
    Ok(file.split_off(start))
}

/// The header of an array with this number of rows.
fn with_rows(header: &Header, rows: usize) -> Header {
    let mut header = header.clone();
    header.shape.iter_mut().take(1).for_each(|dim| *dim = rows);
    header
}

impl fmt::Debug for RemoteAppender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RemoteAppender")
            .field("url", &self.writer.url())
            .field("shape", &self.shape())
            .field("dtype", self.dtype())
            .finish_non_exhaustive()
    }
}
