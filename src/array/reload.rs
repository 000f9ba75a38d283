//! Mapping an array again after rows were appended to its file.

use super::{MappedArray, OpenOptions, Place};
use crate::error::invariant::to_u64;
use crate::error::{Error, RequestError, Result};
use crate::npy::MAX_HEADER_LEN;
use crate::source::map::Map;
use crate::source::storage::Storage;

impl MappedArray<Map> {
    /// Reads the header again and maps the rows appended since you opened the
    /// array. On an error, the array does not change.
    ///
    /// Earlier clones, rows and handles keep the rows they have. You made the
    /// promise of [`Source`](crate::Source#safety) for the opened file. This
    /// includes its new rows, but not a different file. So if the
    /// path now leads to a different file, this returns an error: open it anew.
    ///
    /// # Errors
    ///
    /// Returns [`InvalidInput`](crate::ErrorKind::InvalidInput) unless the
    /// array was mapped from a `.npy` file opened by path, on a system that
    /// identifies files (not Windows): open raw binary, ranges of rows and
    /// members of archives anew. Returns
    /// [`NotFound`](crate::ErrorKind::NotFound) if the path leads nowhere,
    /// [`Changed`](crate::ErrorKind::Changed) if the file was replaced,
    /// [`Corrupt`](crate::ErrorKind::Corrupt) or
    /// [`Truncated`](crate::ErrorKind::Truncated) if it is not a valid array
    /// any more, and [`Io`](crate::ErrorKind::Io) if reading or mapping fails.
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::{Appender, MappedArray, ndarray::array};
    ///
    /// let directory = tempfile::tempdir()?;
    /// let path = directory.path().join("log.npy");
    /// npymap::WriteOptions::new().write(&path, &array![1.5_f64, 2.5])?;
    /// // SAFETY: rows are only appended.
    /// let mut log = unsafe { MappedArray::open(&path)? };
    /// let mut appender = Appender::open(&path)?;
    /// appender.append_slice(&[3.5_f64])?;
    /// appender.close()?;
    /// # #[cfg(unix)] {
    /// log.reload()?;
    /// assert_eq!(log.as_slice::<f64>()?, [1.5, 2.5, 3.5]);
    /// # }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn reload(&mut self) -> Result<()> {
        let (place, data, file_len) = self.origin.add_path_on_err(self.reloaded())?;
        (self.place, self.data, self.origin.file_len) = (place, data, file_len);
        self.origin.on_demand = None;
        Ok(())
    }

    /// The place of the array in the file as it is now, a map, and the file's length.
    #[inline]
    fn reloaded(&self) -> Result<(Place, Map, u64)> {
        let (file, stat) = self.reopen()?;
        let header = if self.member().is_none() { self.place.header.as_ref() } else { None };
        let header_len = header.ok_or_else(cannot_reload)?.data_offset;
        let header = self.place.offset.checked_sub(to_u64(header_len)).ok_or_else(cannot_reload)?;
        let storage = Storage::from_file(file)?;
        let options =
            OpenOptions::new().offset(header).max_header_len(header_len.max(MAX_HEADER_LEN));
        let place = options.place(&storage)?;
        let file = storage.file().ok_or_else(cannot_reload)?;
        let data = self.data.map_same_file(file, stat.id, place.offset, place.layout.nbytes())?;
        Ok((place, data.ok_or_else(cannot_reload)?, storage.len()))
    }
}

#[inline]
fn cannot_reload() -> Error {
    let found = "the array cannot be mapped again";
    let expected = "a `.npy` mapped by path on a system that identifies files: open it again";
    RequestError::Call { found, expected }.into()
}
