//! Several arrays as one.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::gather::{self, Gather};
use super::row_source::{RowSource, row_source};
use super::rows::Rows;
use super::stack;
use crate::array::MappedArray;
use crate::dtype::DType;
use crate::dtype::literal::tuple;
use crate::element::Element;
use crate::element::cast::Number;
use crate::error::invariant::Invariant;
use crate::error::{RequestError, Result, ShapeError};
use crate::layout::row_index::RowIndex;
use crate::source::pages::sealed::Pages as _;
use crate::source::platform::Advice;
use crate::view::AxisSlices;

/// Several arrays, such as those of thousands of files, concatenated along their
/// first axis. All must have the same dtype and the same other axes.
///
/// The arrays are mapped, so each takes address space, but no file descriptor,
/// and no memory until its rows are read. On Linux, a process can have 65,530
/// maps unless `vm.max_map_count` is raised. Threads can share a `Stacked`.
#[derive(Debug)]
pub struct Stacked {
    arrays: Vec<Rows>,
    /// The number of the first row of each array, and the total number of rows.
    starts: Vec<usize>,
    dtype: DType,
    shape: Vec<usize>,
}

impl Stacked {
    /// Stacks arrays in this order.
    ///
    /// # Errors
    ///
    /// [`OutOfBounds`](crate::ErrorKind::OutOfBounds) for arrays without axes;
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput) when there are no arrays,
    /// or when their dtypes or axes differ.
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::{MappedArray, Result, write_npy, loader::Stacked, ndarray::arr2};
    ///
    /// let directory = tempfile::tempdir()?;
    /// let paths = ["one.npy", "two.npy"].map(|name| directory.path().join(name));
    /// write_npy(&paths[0], &arr2(&[[1, 2], [3, 4]]))?;
    /// write_npy(&paths[1], &arr2(&[[5, 6]]))?;
    /// // SAFETY: nobody else uses the files.
    /// let arrays = paths.iter().map(|path| unsafe { MappedArray::open(path) });
    /// let both = Stacked::new(arrays.collect::<Result<Vec<_>>>()?)?;
    /// assert_eq!(both.shape(), [3, 2]);
    /// let mut out = [0_i32; 4];
    /// both.take(&[2, 0], &mut out)?;
    /// assert_eq!(out, [5, 6, 1, 2]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new(arrays: impl IntoIterator<Item = MappedArray>) -> Result<Stacked> {
        let (mut starts, mut stacked) = (vec![0_usize], Vec::new());
        let mut end = 0_usize;
        for array in arrays {
            let rows = rows_of(array)?;
            if let Some(first) = stacked.first() {
                check_same_rows(first, &rows)?;
            }
            end = end.checked_add(rows.len()).ok_or_else(|| ShapeError::Size {
                shape: tuple(rows.shape()),
                itemsize: rows.dtype().itemsize(),
            })?;
            starts.push(end);
            stacked.push(rows);
        }
        let Some(first) = stacked.first() else {
            let (value, expected) = ("no files".to_owned(), "at least one".to_owned());
            return Err(RequestError::Argument { found: value, expected }.into());
        };
        let dtype = first.dtype().clone();
        let shape = [end].iter().chain(first.shape().iter().skip(1)).copied().collect();
        Ok(Stacked { arrays: stacked, starts, dtype, shape })
    }

    /// The paths of the arrays in a directory that Dask's `to_npy_stack` wrote:
    /// `0.npy`, `1.npy`, … in this order. The file `info` contains the axis along
    /// which they are stacked.
    ///
    /// # Errors
    ///
    /// [`Io`](crate::ErrorKind::Io);
    /// [`Damaged`](crate::ErrorKind::Damaged) when files are missing, or are not
    /// stacked along the first axis.
    pub fn npy_stack_paths(directory: impl AsRef<Path>) -> Result<Vec<PathBuf>> {
        stack::array_paths(directory.as_ref())
    }

    /// The length of each axis of the concatenated arrays.
    #[must_use]
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The dtype of the elements.
    #[must_use]
    pub fn dtype(&self) -> &DType {
        &self.dtype
    }

    /// The number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        *self.shape.first().invariant("rows have a first axis")
    }

    /// Returns whether there are no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Iterates over the arrays, as the rows of each.
    #[must_use]
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Rows> {
        self.arrays.iter()
    }

    /// The position of the array that contains a row.
    fn array_position(&self, row: usize) -> usize {
        self.starts.partition_point(|&start| start <= row).saturating_sub(1)
    }
}

impl Gather for Stacked {
    /// Returns the result as it is: each array adds its own path to errors.
    fn name_file<T>(&self, result: Result<T>) -> Result<T> {
        result
    }

    fn gather<U>(
        &self,
        rows: &[usize],
        each: usize,
        out: &mut [U],
        mut copy: impl FnMut(&AxisSlices, &[u8], &[usize], &mut [U]),
    ) -> Result<()> {
        let mut places: Vec<(usize, usize)> = rows
            .iter()
            .enumerate()
            .map(|(place, &row)| (self.array_position(row), place))
            .collect();
        // Group the rows by array, so that each array reads its rows together.
        places.sort_unstable();
        for group in places.chunk_by(|one, other| one.0 == other.0) {
            let Some(&(array, _)) = group.first() else { continue };
            let start = *self.starts.get(array).invariant("each array has a first row");
            let places: Vec<usize> = group.iter().map(|(_, place)| *place).collect();
            let rows = places.iter().filter_map(|&place| rows.get(place)).map(|row| row - start);
            let rows: Vec<usize> = rows.collect();
            let Some(array) = self.arrays.get(array) else { continue };
            array.scatter((&rows, &places), each, out, &mut copy)?;
        }
        Ok(())
    }
}

row_source!(Stacked, "See [`Stacked::new`].");

/// The rows of an array, in its own map.
fn rows_of(array: MappedArray) -> Result<Rows> {
    let path: Option<Arc<Path>> = array.path().map(Into::into);
    let rows = map_rows(array, path.clone());
    match path {
        Some(path) => rows.map_err(|error| error.with_path(&path)),
        None => rows,
    }
}

fn map_rows(array: MappedArray, path: Option<Arc<Path>>) -> Result<Rows> {
    let (layout, nbytes) = (array.layout().clone(), array.nbytes());
    let map = array.into_data();
    map.advise(0..nbytes, Advice::Random)?;
    Rows::new(map, &layout, path)
}

/// Checks that rows have the same dtype and shape as those of the first array.
fn check_same_rows(first: &Rows, other: &Rows) -> Result<()> {
    if first.dtype() == other.dtype() && first.shape().get(1..) == other.shape().get(1..) {
        return Ok(());
    }
    let found = format!("rows {} of shape {}", other.dtype(), row_shape(other));
    let expected = format!("{} of shape {}, as in the first file", first.dtype(), row_shape(first));
    other.name_file(Err(RequestError::Argument { found, expected }.into()))
}

/// The shape of each row, as text.
fn row_shape(rows: &Rows) -> String {
    tuple(rows.shape().get(1..).invariant("rows have a first axis"))
}
