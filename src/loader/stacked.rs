//! Many arrays as one.

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
use crate::error::{Error, RequestError, Result, ShapeError};
use crate::layout::row_index::RowIndex;
use crate::source::pages::sealed::Pages as _;
use crate::source::platform::Advice;
use crate::view::AxisSlices;

/// Many arrays as one along their first axis, such as those of thousands of
/// files: dtype and all other axes are the same.
///
/// The arrays are mapped, so each takes address space, but neither memory nor a
/// descriptor until its rows are read. Linux lets a process have 65,530 maps
/// unless `vm.max_map_count` is raised. Threads may share it.
#[derive(Debug)]
pub struct Stacked {
    arrays: Vec<Rows>,
    /// Where the rows of each array start, and where the last ones end.
    starts: Vec<usize>,
    dtype: DType,
    shape: Vec<usize>,
}

impl Stacked {
    /// Stacks arrays in this order.
    ///
    /// # Errors
    ///
    /// [`WrongShape`](crate::ErrorKind::WrongShape) for arrays without axes; [`InvalidInput`](crate::ErrorKind::InvalidInput) when
    /// there are no arrays, or when dtypes or axes differ.
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
    /// // SAFETY: nobody else knows of the files.
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
            let rows = rows(array)?;
            if let Some(first) = stacked.first() {
                expect_same(first, &rows)?;
            }
            let too_many = || ShapeError::Size {
                shape: tuple(rows.shape()),
                itemsize: rows.dtype().itemsize(),
            };
            end = end.checked_add(rows.len()).ok_or_else(too_many)?;
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

    /// The files of a directory that Dask's `to_npy_stack` wrote, in their
    /// order: `0.npy`, `1.npy`, … and `info`, which says along which axis.
    ///
    /// # Errors
    ///
    /// [`Io`](crate::ErrorKind::Io); [`InvalidInput`](crate::ErrorKind::InvalidInput) when files are missing, or are
    /// stacked along another axis than the first.
    pub fn npy_stack_paths(directory: impl AsRef<Path>) -> Result<Vec<PathBuf>> {
        stack::files(directory.as_ref())
    }

    /// The length of each axis, of all arrays together.
    #[must_use]
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// What each element is.
    #[must_use]
    pub fn dtype(&self) -> &DType {
        &self.dtype
    }

    /// The number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        *self.shape.first().invariant("rows have a first axis")
    }

    /// True when there are no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The rows of each array, one array after the other.
    #[must_use]
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Rows> {
        self.arrays.iter()
    }

    /// The array that has a row. Arrays without rows have none.
    fn array_of(&self, row: usize) -> usize {
        self.starts.partition_point(|&start| start <= row).saturating_sub(1)
    }
}

impl Gather for Stacked {
    fn dtype(&self) -> &DType {
        self.dtype()
    }

    fn shape(&self) -> &[usize] {
        self.shape()
    }

    /// The files name themselves.
    fn named<T>(&self, result: Result<T>) -> Result<T> {
        result
    }

    fn gather<U>(
        &self,
        rows: &[usize],
        each: usize,
        out: &mut [U],
        mut copy: impl FnMut(&AxisSlices, &[u8], &[usize], &mut [U]),
    ) -> Result<()> {
        let mut places: Vec<(usize, usize)> =
            rows.iter().enumerate().map(|(place, &row)| (self.array_of(row), place)).collect();
        places.sort_unstable();
        for group in places.chunk_by(|one, other| one.0 == other.0) {
            let Some(&(array, _)) = group.first() else { continue };
            let start = *self.starts.get(array).invariant("each array has a first row");
            let places: Vec<usize> = group.iter().map(|(_, place)| *place).collect();
            let own = places.iter().filter_map(|&place| rows.get(place)).map(|row| row - start);
            let own: Vec<usize> = own.collect();
            let Some(array) = self.arrays.get(array) else { continue };
            array.scatter((&own, &places), each, out, &mut copy)?;
        }
        Ok(())
    }
}

row_source!(Stacked, "See [`Stacked::new`].");

/// The rows of an array, in the map it has.
fn rows(array: MappedArray) -> Result<Rows> {
    let (layout, nbytes) = (array.layout().clone(), array.nbytes());
    let path: Option<Arc<Path>> = array.path().map(Into::into);
    let named = |error: Error| match &path {
        Some(path) => error.with_path(path),
        None => error,
    };
    let map = array.into_data();
    map.advise(0..nbytes, Advice::Random).map_err(named)?;
    Rows::new(map, &layout, path.clone()).map_err(named)
}

/// Refuses rows that differ from those of the first array.
fn expect_same(first: &Rows, other: &Rows) -> Result<()> {
    let row = |rows: &Rows| tuple(rows.shape().get(1..).invariant("rows have a first axis"));
    if first.dtype() == other.dtype() && first.shape().get(1..) == other.shape().get(1..) {
        return Ok(());
    }
    let value = format!("rows {} of shape {}", other.dtype(), row(other));
    let expected = format!("{} of shape {}, as in the first file", first.dtype(), row(first));
    other.named(Err(RequestError::Argument { found: value, expected }.into()))
}
