//! Several `.npy` one after another in one file.

use std::fs::File;
use std::iter::FusedIterator;
use std::path::{Path, PathBuf};

use super::{OpenOptions, Place, on};
use crate::error::{Error, Result};
use crate::npy::Header;
use crate::source::file;

/// The arrays of a file, as `numpy.save` writes them one after another into
/// an open file; made by [`OpenOptions::walk`].
///
/// Ends behind the last array, or after the first error.
#[derive(Debug)]
pub struct Walk {
    file: File,
    len: u64,
    path: PathBuf,
    /// Where the next array starts; `None` after an error.
    next: Option<u64>,
    options: OpenOptions,
}

/// One array of several in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Walked {
    /// Where it starts, for [`OpenOptions::at`].
    pub at: u64,
    /// Where it ends and the next one starts.
    pub end: u64,
    /// What it is.
    pub header: Header,
}

impl OpenOptions {
    /// Goes from array to array of a file that holds several `.npy`, reading
    /// headers only.
    ///
    /// The first is at the start of the file, or where [`at`](OpenOptions::at)
    /// says.
    ///
    /// # Errors
    ///
    /// [`Io`](crate::ErrorKind::Io). Each step may fail as
    /// [`header`](OpenOptions::header).
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::OpenOptions;
    ///
    /// let directory = tempfile::tempdir()?;
    /// let path = directory.path().join("several.bin");
    /// let mut file = std::fs::File::create(&path)?;
    /// npymap::write_npy_to(&mut file, &npymap::ndarray::arr1(&[1_u16, 2, 3]))?;
    /// npymap::write_npy_to(&mut file, &npymap::ndarray::arr1(&[0.5_f64]))?;
    ///
    /// let arrays = OpenOptions::new().walk(&path)?.collect::<npymap::Result<Vec<_>>>()?;
    /// let second = OpenOptions::new().at(arrays[1].at).read(&path)?;
    /// assert_eq!(second.as_slice::<f64>()?, [0.5]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn walk(&self, path: impl AsRef<Path>) -> Result<Walk> {
        let path = path.as_ref();
        let (file, stat) = on(path, |path| file::open(path, false))?;
        let mut options = OpenOptions::new();
        options.max_header_len(self.max_header_len);
        Ok(Walk { file, len: stat.len, path: path.to_owned(), next: Some(self.at), options })
    }
}

impl Walk {
    fn read(&mut self, at: u64) -> Result<Walked> {
        self.options.at(at);
        let found = self.options.read_header(&self.file, self.len).and_then(|header| {
            let place = Place::of(&header, at)?.inside(self.len)?;
            let end = place.end().ok_or_else(|| place.too_large())?;
            Ok(Walked { at, end, header })
        });
        found.map_err(|error: Error| error.inside(at).at(&self.path))
    }
}

impl Iterator for Walk {
    type Item = Result<Walked>;

    fn next(&mut self) -> Option<Result<Walked>> {
        let at = self.next.take().filter(|&at| at < self.len)?;
        let found = self.read(at);
        self.next = found.as_ref().ok().map(|found| found.end);
        Some(found)
    }
}

impl FusedIterator for Walk {}
