//! Several concatenated `.npy` in one file.

use std::iter::FusedIterator;

use super::{OpenOptions, Place};
use crate::error::{Error, Result};
use crate::npy::Header;
use crate::source::Source;
use crate::source::storage::Storage;

/// An iterator over the arrays of a file that repeated calls of `numpy.save`
/// wrote. [`OpenOptions::walk`] returns it.
///
/// It ends after the last array, or after the first error.
///
/// # Examples
///
/// ```
/// use npymap::{OpenOptions, Source};
///
/// let two = std::fs::read("data/penguins.npy")?.repeat(2);
/// let arrays = OpenOptions::new().walk(Source::bytes(two))?;
/// assert_eq!(arrays.count(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Walk {
    storage: Storage,
    /// The offset of the next array. Returns `None` after an error.
    next: Option<u64>,
    options: OpenOptions,
}

/// An array found by [`Walk`].
///
/// # Examples
///
/// ```
/// use npymap::{OpenOptions, Source};
///
/// let two = std::fs::read("data/penguins.npy")?.repeat(2);
/// let arrays = OpenOptions::new().walk(Source::bytes(two))?;
/// for array in arrays {
///     let array = array?;
///     println!("{:?} at bytes {}..{}", array.header.shape, array.offset, array.end);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WalkEntry {
    /// The offset of its header, for [`OpenOptions::offset`].
    pub offset: u64,
    /// The end of its elements, where the next array starts.
    pub end: u64,
    /// Its header.
    pub header: Header,
}

impl OpenOptions {
    /// Iterates over the arrays of a file that contains several `.npy`, reading
    /// only their headers.
    ///
    /// The first array is at the start of the file, or at
    /// [`offset`](OpenOptions::offset).
    ///
    /// # Errors
    ///
    /// Returns [`InvalidInput`](crate::ErrorKind::InvalidInput) for raw binary.
    /// Each item may be an error as of [`header`](OpenOptions::header).
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::{OpenOptions, Source};
    ///
    /// let directory = tempfile::tempdir()?;
    /// let path = directory.path().join("several.bin");
    /// let mut file = std::fs::File::create(&path)?;
    /// npymap::WriteOptions::new().write_to(&mut file, &npymap::ndarray::arr1(&[1_u16, 2, 3]))?;
    /// npymap::WriteOptions::new().write_to(&mut file, &npymap::ndarray::arr1(&[0.5_f64]))?;
    ///
    /// let arrays = OpenOptions::new().walk(Source::open(&path)?)?.collect::<npymap::Result<Vec<_>>>()?;
    /// let second = OpenOptions::new().offset(arrays[1].offset).open(Source::open(&path)?)?;
    /// assert_eq!(second.as_slice::<f64>()?, [0.5]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn walk<D>(&self, source: Source<D>) -> Result<Walk> {
        let storage = source.storage;
        storage.add_path_on_err(self.expect_header())?;
        let options = OpenOptions::new().max_header_len(self.max_header_len);
        Ok(Walk { storage, next: Some(self.offset), options })
    }
}

impl Walk {
    #[inline]
    fn read(&self, offset: u64) -> Result<WalkEntry> {
        let len = self.storage.len();
        let options = self.options.clone().offset(offset);
        let found = options.read_header(&self.storage, len).and_then(|header| {
            let place = Place::from_header(header.clone(), offset)?;
            place.check_inside(len)?;
            Ok(WalkEntry { offset, end: place.end()?, header })
        });
        self.storage.add_path_on_err(found.map_err(|error: Error| error.with_offset(offset)))
    }
}

impl Iterator for Walk {
    type Item = Result<WalkEntry>;

    #[inline]
    fn next(&mut self) -> Option<Result<WalkEntry>> {
        let offset = self.next.take().filter(|&offset| offset < self.storage.len())?;
        let found = self.read(offset);
        self.next = found.as_ref().ok().map(|found| found.end);
        Some(found)
    }
}

impl FusedIterator for Walk {}
