//! Several arrays as one.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::ahead::RowsAhead;
use super::decode::DecodeRows;
use super::gather;
use super::row_source::RowSource;
use super::rows::Rows;
use super::stack;
use super::windows::check_shape;
use crate::array::MappedArray;
use crate::dtype::DType;
use crate::dtype::literal::tuple;
use crate::error::invariant::Invariant;
use crate::error::{RequestError, Result};
use crate::source::planner::{Disk, ReadStrategy};
use crate::source::read_ahead::ReadAhead;
use crate::view::SelectedSlices;

/// The rows of several arrays as one array, for example from thousands of
/// files.
///
/// The arrays are concatenated along the first axis. They must have the same
/// dtype, and the same length along each other axis.
///
/// The arrays are mapped, so each takes address space, but no file descriptor
/// unless it is being read in the background, by one thread for all of them, and
/// no memory until its rows are read. On Linux, a process can have 65,530
/// maps unless `vm.max_map_count` is raised. Threads can share a `Concat`.
#[derive(Debug)]
pub struct Concat {
    arrays: Vec<Rows>,
    /// Each array's first row, and the total number of rows.
    starts: Vec<usize>,
    dtype: DType,
    shape: Vec<usize>,
}

impl Concat {
    /// Joins arrays along their first axis, in this order.
    ///
    /// # Errors
    ///
    /// Returns [`OutOfBounds`](crate::ErrorKind::OutOfBounds) for arrays
    /// without axes. Returns [`InvalidInput`](crate::ErrorKind::InvalidInput)
    /// if `arrays` is empty, if dtypes or axes differ, or if there are more
    /// than `isize::MAX` elements.
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::{MappedArray, Result, RowSource as _, WriteOptions, loader::Concat, ndarray::arr2};
    ///
    /// let directory = tempfile::tempdir()?;
    /// let paths = ["one.npy", "two.npy"].map(|name| directory.path().join(name));
    /// WriteOptions::new().write(&paths[0], &arr2(&[[1, 2], [3, 4]]))?;
    /// WriteOptions::new().write(&paths[1], &arr2(&[[5, 6]]))?;
    /// // SAFETY: no other process uses the files.
    /// let arrays = paths.iter().map(|path| unsafe { MappedArray::open(path) });
    /// let both = Concat::new(arrays.collect::<Result<Vec<_>>>()?)?;
    /// assert_eq!(both.shape(), [3, 2]);
    /// let mut out = [0_i32; 4];
    /// both.take(&[2, 0], &mut out)?;
    /// assert_eq!(out, [5, 6, 1, 2]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new(arrays: impl IntoIterator<Item = MappedArray>) -> Result<Concat> {
        let (mut starts, mut concat) = (vec![0], Vec::new());
        let mut end = 0_usize;
        for array in arrays {
            let rows = array.into_rows()?;
            if let Some(first) = concat.first() {
                check_same_rows(first, &rows)?;
            }
            // Rows without bytes are not limited by their files. No array has `usize::MAX` rows.
            end = end.saturating_add(rows.row_count());
            starts.push(end);
            concat.push(rows);
        }
        let Some(first) = concat.first() else {
            let (value, expected) = ("no files".to_owned(), "at least one".to_owned());
            return Err(RequestError::Argument { found: value, expected }.into());
        };
        let dtype = first.dtype().clone();
        let shape = check_shape(gather::rows_shape(end, first.shape()), &dtype)?;
        let arrays = read_together(concat, ReadStrategy::Auto);
        Ok(Concat { arrays, starts, dtype, shape })
    }

    /// Chooses how rows are read from the disk, like [`Rows::reading`]. By
    /// default, an array is read whole only if all of them together fit into
    /// memory.
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::{MappedArray, RowSource as _, loader::{Concat, ReadStrategy}};
    ///
    /// // SAFETY: no other process writes to or truncates this file.
    /// let array = unsafe { MappedArray::open("data/penguins.npy")? };
    /// let concat = Concat::new([array])?.reading(ReadStrategy::Pages);
    /// assert_eq!(concat.row_count(), 342);
    /// # Ok::<(), npymap::Error>(())
    /// ```
    #[must_use]
    #[inline]
    pub fn reading(self, reading: ReadStrategy) -> Concat {
        Concat { arrays: read_together(self.arrays, reading), ..self }
    }

    /// Returns the paths of the arrays in a directory that Dask's
    /// `to_npy_stack` wrote: `0.npy`, `1.npy`, … in this order. The file `info`
    /// contains the axis of the stack.
    ///
    /// # Errors
    ///
    /// Returns [`NotFound`](crate::ErrorKind::NotFound) if the directory or its
    /// file `info` does not exist, [`Corrupt`](crate::ErrorKind::Corrupt) if
    /// files are missing or are not stacked along the first axis, and
    /// [`Io`](crate::ErrorKind::Io) if reading fails.
    pub fn npy_stack_paths(directory: impl AsRef<Path>) -> Result<Vec<PathBuf>> {
        let directory = directory.as_ref();
        stack::find_arrays(directory).map_err(|error| error.with_path(directory))
    }

    /// Selects one field of each element, such as `"x"` or `"pos.z"`.
    ///
    /// # Errors
    ///
    /// Returns [`NotFound`](crate::ErrorKind::NotFound) if the field does not
    /// exist, and lists the fields that do, and
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput) for more than 64 axes,
    /// or more elements of zero size than can be counted.
    #[inline]
    pub fn field(&self, path: &str) -> Result<Concat> {
        let arrays: Vec<Rows> =
            self.arrays.iter().map(|rows| rows.field(path)).collect::<Result<_>>()?;
        let first = arrays.first().invariant("there is at least one array");
        let dtype = first.dtype().clone();
        let shape = check_shape(gather::rows_shape(self.row_count(), first.shape()), &dtype)?;
        Ok(Concat { dtype, shape, arrays, starts: self.starts.clone() })
    }

    /// The array that contains a row, and the range of its rows.
    #[inline]
    fn array_of(&self, row: usize) -> Option<(&Rows, Range<usize>)> {
        let position = self.array_position(row);
        let (start, end) = (self.starts.get(position)?, self.starts.get(position + 1)?);
        Some((self.arrays.get(position)?, *start..*end))
    }

    /// The position of the array that contains a row.
    #[inline]
    fn array_position(&self, row: usize) -> usize {
        // The first array starts at row 0.
        self.starts.partition_point(|&start| start <= row) - 1
    }

    /// The position of the array that contains all of these rows; past the end if
    /// they are in several.
    #[inline]
    fn array_with(&self, rows: &Range<usize>) -> usize {
        match self.array_of(rows.start) {
            Some((_, own)) if rows.end <= own.end => self.array_position(rows.start),
            _ => self.arrays.len(),
        }
    }
}

impl RowSource for Concat {
    #[inline]
    fn dtype(&self) -> &DType {
        &self.dtype
    }

    #[inline]
    fn shape(&self) -> &[usize] {
        &self.shape
    }

    #[inline]
    fn read_ranges(&self, ranges: &[Range<usize>], out: &mut [u8]) -> Result<()> {
        gather::check_ranges(self, ranges, out.len())?;
        let each = self.row_len() * self.dtype.itemsize();
        let mut rest = out;
        for range in ranges {
            let mut next = range.start;
            while next < range.end {
                let (rows, own) = self.array_of(next).invariant("rows are checked");
                let end = range.end.min(own.end);
                let (place, after) = rest.split_at_mut((end - next) * each);
                let part = next - own.start..end - own.start;
                rows.read_ranges(std::slice::from_ref(&part), place)?;
                (next, rest) = (end, after);
            }
        }
        Ok(())
    }

    #[inline]
    fn visit(&self, starts: &[usize], len: usize, decode: &mut dyn DecodeRows) -> Result<()> {
        // Group the slices by array, so that each array reads its rows together.
        // Those that span arrays come last.
        let arrays = starts.iter().map(|&start| self.array_with(&(start..start + len)));
        let mut places: Vec<(usize, usize)> = arrays.zip(0..).collect();
        places.sort_unstable();
        for group in places.chunk_by(|one, other| one.0 == other.0) {
            let Some(&(array, _)) = group.first() else { continue };
            let places: Vec<usize> = group.iter().map(|(_, place)| *place).collect();
            let own = places.iter().filter_map(|&place| starts.get(place).copied());
            let mut moved = Moved { decode: &mut *decode, places: &places };
            if let (Some(rows), Some(first)) = (self.arrays.get(array), self.starts.get(array)) {
                let own: Vec<usize> = own.map(|start| start - first).collect();
                rows.visit(&own, len, &mut moved)?;
            } else {
                let spanning: Vec<usize> = own.collect();
                gather::visit_stored(self, &spanning, len, None, &mut moved)?;
            }
        }
        Ok(())
    }

    #[inline]
    fn request(&self, rows: &[usize]) -> Result<()> {
        let mut rows = rows.to_vec();
        rows.sort_unstable();
        for rows in
            rows.chunk_by(|one, other| self.array_position(*one) == self.array_position(*other))
        {
            let Some((array, own)) = rows.first().and_then(|&row| self.array_of(row)) else {
                continue;
            };
            let own: Vec<usize> = rows.iter().map(|row| row - own.start).collect();
            array.request(&own)?;
        }
        Ok(())
    }

    #[inline]
    fn rows_ahead(&self) -> RowsAhead {
        let arrays = self.starts.iter().copied().zip(&self.arrays);
        RowsAhead::concat(arrays.map(|(first, rows)| (first, rows.rows_ahead())))
    }
}

/// Decodes each slice to another place.
struct Moved<'a> {
    decode: &'a mut dyn DecodeRows,
    places: &'a [usize],
}

impl DecodeRows for Moved<'_> {
    #[inline]
    fn decode(&mut self, slices: SelectedSlices<'_>, places: Range<usize>) {
        for (number, index) in places.enumerate() {
            let place = *self.places.get(index).invariant("each slice has a place");
            self.decode.decode(slices.get(number..), place..place + 1);
        }
    }
}

/// The same rows, to be read in the background by one thread for all of them.
#[inline]
fn read_together(arrays: Vec<Rows>, reading: ReadStrategy) -> Vec<Rows> {
    let nbytes = arrays.iter().map(Disk::nbytes).sum();
    let read_ahead = Arc::<ReadAhead>::default();
    let arrays = arrays.into_iter();
    arrays.map(|rows| rows.read_with_others(reading, nbytes, Arc::clone(&read_ahead))).collect()
}

/// Checks that rows have the same dtype and shape as the first array.
#[inline]
fn check_same_rows(first: &Rows, other: &Rows) -> Result<()> {
    if first.dtype() == other.dtype() && first.shape().get(1..) == other.shape().get(1..) {
        return Ok(());
    }
    let found = format!("rows {} of shape {}", other.dtype(), row_shape(other));
    let expected = format!("{} of shape {}, as in the first file", first.dtype(), row_shape(first));
    other.name_file(Err(RequestError::Argument { found, expected }.into()))
}

/// The shape of each row, as text.
#[inline]
fn row_shape(rows: &Rows) -> String {
    tuple(rows.shape().get(1..).invariant("rows have a first axis"))
}
