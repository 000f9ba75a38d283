//! Writes rows to an object, whose header is sent last.

use std::fmt;
use std::io::Write as _;
use std::path::Path;

use ndarray::{ArrayRef, Dimension};

use super::rows;
use crate::dtype::DType;
use crate::element::Element;
use crate::element::fast_path::stored_bytes;
use crate::error::invariant::{IN_BUFFER, Invariant};
use crate::error::{RequestError, Result, SystemError};
use crate::layout::{Layout, Order};
use crate::npy::Header;
use crate::source::remote::RemoteWriter;

/// The axis along which rows are appended, in C order.
const AXIS: usize = 0;

/// Writes a `.npy` object row by row, when the number of rows is known only at the
/// end.
///
/// Parts of the object are sent as they are filled, and never changed: an upload can't
/// be read before it is finished, and then it is an object like any other. The first
/// part, with the header, is kept in memory until
/// [`finish`](RemoteAppender::finish), which writes the number of rows into it and
/// sends it last. An object that exists can't be appended to: write another one.
///
/// If this is dropped before it is finished, nothing appears: see [`RemoteWriter`].
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
///
/// use npymap::source::remote::object_store::{memory::InMemory, path::Path};
/// use npymap::source::remote::RemoteOptions;
/// use npymap::write::RemoteAppender;
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
/// assert_eq!(MappedArray::from_source(Source::remote(&object))?.shape(), [3, 3]);
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
    /// Starts an array in C order. `row` is the shape of one row: all axes except the
    /// first. Nothing must have been written to `writer`.
    ///
    /// # Errors
    ///
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput) when something was; those of
    /// [`Header::new`].
    pub fn new(mut writer: RemoteWriter, dtype: &DType, row: &[usize]) -> Result<RemoteAppender> {
        let mut header = Header::new(dtype.clone(), &[&[0], row].concat(), Order::C)?;
        let encoded = header.encode(None)?;
        (header.version, header.data_offset) = (encoded.version, encoded.bytes.len());
        let row = with_rows(&header, 1).layout()?;
        writer.keep_start(encoded.bytes.len())?;
        writer.write_all(&encoded.bytes).map_err(SystemError::io("write the header"))?;
        Ok(RemoteAppender { writer, header, row })
    }

    /// The shape so far.
    #[must_use]
    pub fn shape(&self) -> &[usize] {
        &self.header.shape
    }

    /// The number of rows so far.
    #[must_use]
    pub fn rows(&self) -> usize {
        *self.header.shape.first().invariant("rows have an axis")
    }

    /// The dtype of the elements.
    #[must_use]
    pub fn dtype(&self) -> &DType {
        &self.header.dtype
    }

    /// Appends rows: an array with the same axes as the object's and any length along
    /// the first, or a single row without that axis.
    ///
    /// # Errors
    ///
    /// [`WrongDType`](crate::ErrorKind::WrongDType) when `T` cannot be stored as the
    /// dtype, [`WrongShape`](crate::ErrorKind::WrongShape) when the shape does not
    /// match, [`InvalidValue`](crate::ErrorKind::InvalidValue) when a value does not
    /// fit, [`InvalidInput`](crate::ErrorKind::InvalidInput) when the array would be too
    /// large: then no rows are added. [`Io`](crate::ErrorKind::Io) when a part could not
    /// be sent: then nothing more can be written.
    pub fn append<T: Element, D: Dimension>(&mut self, rows: &ArrayRef<T, D>) -> Result<()> {
        self.with_url_in_errors(|appender| {
            let (count, elements) = rows::check_rows(rows, &appender.header, AXIS)?;
            let codec = T::codec(appender.dtype())?;
            match elements.as_slice() {
                Some(values) => appender.push_slice(count, &codec, values),
                None => appender.push_values(count, &codec, elements.iter()),
            }
        })
    }

    /// Appends complete rows from values in C order.
    ///
    /// # Errors
    ///
    /// As [`append`](RemoteAppender::append).
    pub fn append_slice<T: Element>(&mut self, values: &[T]) -> Result<()> {
        self.with_url_in_errors(|appender| {
            let row = appender.row.len();
            let count = rows::count_rows(values.len(), row, "values", &appender.header, AXIS)?;
            let codec = T::codec(appender.dtype())?;
            appender.push_slice(count, &codec, values)
        })
    }

    /// Appends complete rows from bytes as they are stored.
    ///
    /// # Errors
    ///
    /// As [`append`](RemoteAppender::append), except
    /// [`WrongDType`](crate::ErrorKind::WrongDType).
    pub fn append_bytes(&mut self, bytes: &[u8]) -> Result<()> {
        self.with_url_in_errors(|appender| {
            let row = appender.row.nbytes();
            let count = rows::count_rows(bytes.len(), row, "bytes", &appender.header, AXIS)?;
            appender.push_bytes(count, bytes)
        })
    }

    /// Writes the number of rows to the header, sends what is left, and makes the object
    /// appear under its name.
    ///
    /// # Errors
    ///
    /// As [`RemoteWriter::finish`].
    pub fn finish(mut self) -> Result<()> {
        let bytes = self.header.encode_in_place()?;
        let bytes = bytes.invariant("a header has room for any number of rows");
        self.writer.replace_start(&bytes);
        self.writer.finish()
    }

    fn push_slice<T: Element>(
        &mut self,
        rows: usize,
        codec: &T::Codec,
        values: &[T],
    ) -> Result<()> {
        match stored_bytes(codec, &self.header.dtype, values)? {
            Some(bytes) => self.push_bytes(rows, bytes),
            None => self.push_values(rows, codec, values.iter()),
        }
    }

    fn push_values<'v, T: Element>(
        &mut self,
        rows: usize,
        codec: &T::Codec,
        values: impl Iterator<Item = &'v T>,
    ) -> Result<()> {
        let size = self.dtype().itemsize();
        let mut bytes = Vec::new();
        for value in values {
            let at = bytes.len();
            bytes.resize(at + size, 0);
            value.encode(codec, bytes.get_mut(at..).invariant(IN_BUFFER))?;
        }
        self.push_bytes(rows, &bytes)
    }

    fn push_bytes(&mut self, rows: usize, bytes: &[u8]) -> Result<()> {
        let all = self.rows().checked_add(rows).ok_or_else(|| {
            let found = format!("more than {} rows", usize::MAX);
            RequestError::Argument { found, expected: "fewer".to_owned() }
        })?;
        let header = with_rows(&self.header, all);
        // Fails when there are too many bytes.
        header.layout()?;
        self.writer.write_all(bytes).map_err(SystemError::io("write the elements"))?;
        self.header = header;
        Ok(())
    }

    fn with_url_in_errors(&mut self, action: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        let done = action(self);
        done.map_err(|error| error.with_path(Path::new(self.writer.url())))
    }
}

/// The header of an array with another number of rows.
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
