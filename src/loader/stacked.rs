//! Many files as one array, opened when they are needed.
#![allow(unsafe_code)]

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::gather::{self, Gather};
use super::row_source::{RowSource, row_source};
use super::rows::Rows;
use super::stack;
use crate::array::{MappedArray, OpenOptions};
use crate::dtype::DType;
use crate::dtype::literal::tuple;
use crate::element::Element;
use crate::element::cast::Number;
use crate::error::{RequestError, Result, ShapeError, SystemError};
use crate::layout::row_index::RowIndex;
use crate::source::platform::Advice;
use crate::view::Parts;

/// Files that are mapped at once, unless it is said otherwise.
const MOST: usize = 256;

/// Many `.npy` files as one array along their first axis: dtype and all other
/// axes are the same.
///
/// Opening reads their headers; a file is mapped when its rows are asked for,
/// and at most so many at once, so that ten thousand of them do no harm.
/// Threads may share it.
#[derive(Debug)]
pub struct Stacked {
    paths: Vec<PathBuf>,
    /// Where the rows of each file start, and where the last ones end.
    starts: Vec<usize>,
    dtype: DType,
    shape: Vec<usize>,
    open: Mutex<Open>,
}

/// The files that are mapped.
#[derive(Debug)]
struct Open {
    most: usize,
    files: HashMap<usize, (u64, Rows)>,
    /// Counts what is asked for, to find what was not for longest.
    clock: u64,
}

impl Stacked {
    /// Opens files in this order.
    ///
    /// # Safety
    ///
    /// As [`MappedArray::open`], for each of the files, for as long as this or
    /// an array it gave out lives.
    ///
    /// # Errors
    ///
    /// Those of [`OpenOptions::header`];
    /// [`OutOfBounds`](crate::ErrorKind::OutOfBounds) for arrays without axes;
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput) when there are no
    /// files, or when dtypes or axes differ.
    ///
    /// # Examples
    ///
    /// ```
    /// use npymap::{Stacked, write_npy, ndarray::arr2};
    ///
    /// let directory = tempfile::tempdir()?;
    /// let [one, two] = ["one.npy", "two.npy"].map(|name| directory.path().join(name));
    /// write_npy(&one, &arr2(&[[1, 2], [3, 4]]))?;
    /// write_npy(&two, &arr2(&[[5, 6]]))?;
    /// // SAFETY: nobody else knows of the files.
    /// let both = unsafe { Stacked::open([one, two])? };
    /// assert_eq!(both.shape(), [3, 2]);
    /// let mut out = [0_i32; 4];
    /// both.take(&[2, 0], &mut out)?;
    /// assert_eq!(out, [5, 6, 1, 2]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub unsafe fn open<P: Into<PathBuf>>(paths: impl IntoIterator<Item = P>) -> Result<Stacked> {
        let paths: Vec<PathBuf> = paths.into_iter().map(Into::into).collect();
        let (mut starts, mut whole) = (vec![0_usize], None::<(DType, Vec<usize>)>);
        let mut end = 0_usize;
        for path in &paths {
            let header = OpenOptions::new().header(path)?;
            let (count, row) = parted(path, &header.shape)?;
            match &whole {
                None => whole = Some((header.dtype, row.to_vec())),
                Some((dtype, known)) if *dtype == header.dtype && known == row => {}
                Some((dtype, known)) => {
                    let value = format!("rows {} of shape {}", header.dtype, tuple(row));
                    let expected =
                        format!("{dtype} of shape {}, as in the first file", tuple(known));
                    return Err(crate::error::Error::from(RequestError::Argument {
                        found: value,
                        expected,
                    })
                    .at(path));
                }
            }
            end = end
                .checked_add(count)
                .ok_or_else(|| ShapeError::Size { shape: tuple(&header.shape), itemsize: 1 })?;
            starts.push(end);
        }
        let Some((dtype, mut shape)) = whole else {
            let (value, expected) = ("no files".to_owned(), "at least one".to_owned());
            return Err(RequestError::Argument { found: value, expected }.into());
        };
        shape.insert(0, end);
        let open = Mutex::new(Open { most: MOST, files: HashMap::new(), clock: 0 });
        Ok(Stacked { paths, starts, dtype, shape, open })
    }

    /// Opens a directory that Dask's `to_npy_stack` wrote: `0.npy`, `1.npy`, …
    /// and `info`, which says along which axis.
    ///
    /// # Safety
    ///
    /// As [`open`](Stacked::open).
    ///
    /// # Errors
    ///
    /// As [`open`](Stacked::open);
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput) when files are missing,
    /// or are stacked along another axis than the first.
    pub unsafe fn open_npy_stack(directory: impl AsRef<Path>) -> Result<Stacked> {
        let paths = stack::files(directory.as_ref())?;
        // SAFETY: asks for the same promises.
        unsafe { Stacked::open(paths) }
    }

    /// Sets how many files may be mapped at once; at least one.
    #[must_use]
    pub fn most_open(self, most: usize) -> Stacked {
        self.lock().most = most.max(1);
        self
    }

    /// The length of each axis, of all files together.
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
        self.shape.first().copied().unwrap_or(0)
    }

    /// True when there are no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The arrays of all files, one after the other; each is mapped when it is
    /// its turn.
    pub fn iter(&self) -> impl Iterator<Item = Result<MappedArray>> + '_ {
        (0..self.paths.len()).map(|file| self.array(file, Advice::Normal))
    }

    /// The file that has a row. Files without rows have none.
    fn file_of(&self, row: usize) -> usize {
        self.starts.partition_point(|&start| start <= row).saturating_sub(1)
    }

    /// The rows of a file that is mapped then.
    fn mapped(&self, file: usize) -> Result<Rows> {
        let mut open = self.lock();
        open.clock += 1;
        let clock = open.clock;
        if let Some((used, rows)) = open.files.get_mut(&file) {
            *used = clock;
            return Ok(rows.clone());
        }
        let array = self.array(file, Advice::Random)?;
        let layout = array.layout().clone();
        let path = array.path().map(Into::into);
        let rows = Rows::new(array.into_data(), &layout, path)?;
        while open.files.len() >= open.most {
            let oldest = open.files.iter().min_by_key(|(_, (used, _))| *used);
            let Some(oldest) = oldest.map(|(file, _)| *file) else { break };
            open.files.remove(&oldest);
        }
        open.files.insert(file, (clock, rows.clone()));
        Ok(rows)
    }

    fn array(&self, file: usize, advice: Advice) -> Result<MappedArray> {
        let path = self.paths.get(file).map_or(Path::new(""), PathBuf::as_path);
        let mut options = OpenOptions::new();
        // SAFETY: who opened them promised it for each of the files, for
        // as long as they live. What is lent lives on only as arrays and rows,
        // whose documentation asks for the same.
        let array = unsafe { options.advice(advice).open(path) }?;
        let count = self.starts.get(file..=file + 1).map(|ends| match *ends {
            [start, end] => end - start,
            _ => 0,
        });
        let (own, row) = parted(path, array.shape())?;
        let is_same = Some(own) == count && self.shape.get(1..) == Some(row);
        if is_same && *array.dtype() == self.dtype {
            return Ok(array);
        }
        Err(crate::error::Error::from(SystemError::Replaced).at(path))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
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
        mut copy: impl FnMut(&Parts, &[u8], &[usize], &mut [U]),
    ) -> Result<()> {
        let mut places: Vec<(usize, usize)> =
            rows.iter().enumerate().map(|(place, &row)| (self.file_of(row), place)).collect();
        places.sort_unstable();
        for group in places.chunk_by(|one, other| one.0 == other.0) {
            let Some(&(file, _)) = group.first() else { continue };
            let start = self.starts.get(file).copied().unwrap_or(0);
            let places: Vec<usize> = group.iter().map(|(_, place)| *place).collect();
            let own = places.iter().filter_map(|&place| rows.get(place)).map(|row| row - start);
            let own: Vec<usize> = own.collect();
            self.mapped(file)?.scatter((&own, &places), each, out, &mut copy)?;
        }
        Ok(())
    }
}

row_source!(Stacked, "See [`Stacked::open`].");

/// The length of the first axis, and the others.
fn parted<'s>(path: &Path, shape: &'s [usize]) -> Result<(usize, &'s [usize])> {
    let parted = shape.split_first().map(|(count, row)| (*count, row));
    parted.ok_or_else(|| {
        crate::error::Error::from(ShapeError::Axis { asked: 0, shape: tuple(shape) }).at(path)
    })
}
