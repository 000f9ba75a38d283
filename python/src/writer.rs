//! New files and archives, which get their names when they are complete.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use npymap::layout::Layout;
use npymap::npz::{Compression, Npz, NpzWriter as Writer};
use npymap::source::{AtomicFile, Locking};
use npymap::{DType, Error, ErrorKind, Header, MappedArray, Order};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::errors::OrRaise;
use crate::lock;
use crate::memory::Bytes;

/// As many bytes of elements are written together with the header.
const FIRST: usize = 64 << 10;

/// Saves the elements of an array as a `.npy` file, which replaces an existing one. The
/// facts are the `descr`, the shape and whether the order is Fortran's. Waits for the disk
/// if `sync`, and replaces a file with bytes after its elements if it `discards` them.
#[pyfunction]
pub(crate) fn save(
    py: Python<'_>,
    path: PathBuf,
    facts: (String, Vec<usize>, bool),
    elements: &Bound<'_, PyAny>,
    sync: bool,
    discards: bool,
) -> PyResult<()> {
    let (descr, shape, is_fortran) = facts;
    let order = if is_fortran { Order::F } else { Order::C };
    let elements = Bytes::new(elements)?;
    let elements = elements.as_slice();
    let saved = py.detach(|| {
        let mut start = Header::new(descr.parse()?, &shape, order)?.encode(None)?.bytes;
        let (first, rest) = elements.split_at(elements.len().min(FIRST));
        start.extend(first);
        let mut file = create(&path, discards)?;
        file.write_all(&start)?;
        file.write_all(rest)?;
        if sync {
            file.commit_sync()?
        } else {
            file.commit()?
        };
        Ok(())
    });
    saved.or_raise_for(py, &path)
}

/// Creates a file that replaces an existing one, also if that has bytes after its elements
/// and this `discards` them.
fn create(path: &Path, discards: bool) -> npymap::Result<AtomicFile> {
    if discards { AtomicFile::create_discarding(path) } else { AtomicFile::create(path) }
}

/// A new member of an archive: its name, its facts and the bytes of its elements.
type Member<'py> = (String, (String, Vec<usize>, bool), Bound<'py, PyAny>);

/// Adds, replaces, removes and renames members of an archive. New ones are deflated if
/// there is a level; without a compression, as those that they replace.
#[pyfunction]
pub(crate) fn update_npz(
    py: Python<'_>,
    path: PathBuf,
    members: Vec<Member<'_>>,
    removed: Vec<String>,
    renamed: Vec<(String, String)>,
    compression: Option<(Option<u32>,)>,
    wait: bool,
) -> PyResult<()> {
    let mut owned = Vec::new();
    for (name, (descr, shape, is_fortran), elements) in &members {
        let order = if *is_fortran { Order::F } else { Order::C };
        let dtype: DType = descr.parse().or_raise(py)?;
        let layout = Layout::new(dtype, shape, order, 0).or_raise(py)?;
        owned.push((name, layout, Bytes::new(elements)?));
    }
    let arrays = owned.iter().map(|(name, layout, bytes)| {
        let array = MappedArray::from_parts(bytes.as_slice(), layout.clone());
        Ok((name.as_str(), array?))
    });
    let arrays = arrays.collect::<npymap::Result<Vec<_>>>().or_raise(py)?;
    let update = || {
        let updated = py.detach(|| {
            let mut update = Npz::update(&path, Locking::Try)?;
            if let Some((level,)) = compression {
                update.compression(level.map_or(Compression::Stored, Compression::Deflated));
            }
            for name in &removed {
                update.remove(name)?;
            }
            for (name, new_name) in &renamed {
                update.rename(name, new_name)?;
            }
            for (name, array) in &arrays {
                update.set(name, array)?;
            }
            update.commit()
        });
        match updated {
            Err(error) if wait && error.kind() == ErrorKind::Locked => Ok(None),
            updated => updated.or_raise_for(py, &path).map(Some),
        }
    };
    lock::wait(py, update)
}

/// A new file, which replaces an existing one when it is committed.
#[pyclass(frozen, module = "npymap._core")]
#[derive(Debug)]
pub(crate) struct NewFile {
    file: Mutex<Option<AtomicFile>>,
    shown: PathBuf,
}

#[pymethods]
impl NewFile {
    /// Creates a file without a name. It `discards` what follows the elements of the existing
    /// one.
    #[new]
    #[pyo3(signature = (path, discards=false))]
    fn new(py: Python<'_>, path: PathBuf, discards: bool) -> PyResult<NewFile> {
        let file = py.detach(|| create(&path, discards)).or_raise_for(py, &path)?;
        Ok(NewFile { file: Mutex::new(Some(file)), shown: path })
    }

    /// Reserves space on the disk for a file of `len` bytes.
    fn reserve(&self, py: Python<'_>, len: u64) -> PyResult<()> {
        let reserved = py.detach(|| lock(&self.file).as_ref().map(|file| file.reserve(len)));
        reserved.ok_or_else(finished)?.or_raise(py)
    }

    /// Writes bytes after those that were written before.
    fn write(&self, py: Python<'_>, bytes: &Bound<'_, PyAny>) -> PyResult<usize> {
        let bytes = Bytes::new(bytes)?;
        let bytes = bytes.as_slice();
        let written = py.detach(|| match &mut *lock(&self.file) {
            Some(file) => file.write_all(bytes).map_err(Error::from).map(Some),
            None => Ok(None),
        });
        match written.or_raise_for(py, &self.shown)? {
            Some(()) => Ok(bytes.len()),
            None => Err(finished()),
        }
    }

    /// Gives the file its name, and waits for the disk if `sync`.
    #[pyo3(signature = (sync=false))]
    fn commit(&self, py: Python<'_>, sync: bool) -> PyResult<()> {
        // Without the interpreter: another thread may be writing.
        let file = py.detach(|| lock(&self.file).take()).ok_or_else(finished)?;
        let committed = py.detach(|| if sync { file.commit_sync() } else { file.commit() });
        committed.map(drop).or_raise_for(py, &self.shown)
    }

    /// Removes the file, unless it was committed.
    fn discard(&self, py: Python<'_>) {
        py.detach(|| drop(lock(&self.file).take()));
    }
}

/// Writes an archive, which replaces an existing one when it is finished.
#[pyclass(frozen, module = "npymap._core")]
#[derive(Debug)]
pub(crate) struct NpzWriter {
    writer: Mutex<Option<Writer<AtomicFile>>>,
    shown: PathBuf,
}

#[pymethods]
impl NpzWriter {
    /// Starts an archive, for which space of `reserved` bytes is reserved on the disk.
    #[new]
    #[pyo3(signature = (path, overwrite, reserved=0))]
    fn new(py: Python<'_>, path: PathBuf, overwrite: bool, reserved: u64) -> PyResult<NpzWriter> {
        let writer = py.detach(|| {
            let file =
                if overwrite { AtomicFile::create(&path) } else { AtomicFile::create_new(&path) }?;
            file.reserve(reserved)?;
            Writer::new_seekable(file)
        });
        let writer = writer.or_raise_for(py, &path)?;
        Ok(NpzWriter { writer: Mutex::new(Some(writer)), shown: path })
    }

    /// Writes an array, whose elements come in pieces, deflated if there is a level.
    /// The facts are its `descr`, its shape and whether its order is Fortran's.
    fn write(
        &self,
        py: Python<'_>,
        name: &str,
        facts: (String, Vec<usize>, bool),
        pieces: &Bound<'_, PyAny>,
        level: Option<u32>,
    ) -> PyResult<()> {
        let (descr, shape, is_fortran) = facts;
        let dtype: DType = descr.parse().or_raise(py)?;
        let order = if is_fortran { Order::F } else { Order::C };
        // Taken out, because Python code runs between the pieces.
        let mut writer = lock(&self.writer).take().ok_or_else(finished)?;
        writer.compression(level.map_or(Compression::Stored, Compression::Deflated));
        let written = write_member(py, &mut writer, (name, &dtype, &shape, order), pieces);
        *lock(&self.writer) = Some(writer);
        match written? {
            Ok(()) => Ok(()),
            Err(error) => Err(error).or_raise_for(py, &self.shown),
        }
    }

    /// Writes the directory and gives the archive its name, without waiting for the
    /// disk.
    fn finish(&self, py: Python<'_>) -> PyResult<()> {
        let writer = lock(&self.writer).take().ok_or_else(finished)?;
        py.detach(|| writer.into_inner()?.commit().map(drop)).or_raise_for(py, &self.shown)
    }

    /// Removes the archive, unless it was finished.
    fn discard(&self, py: Python<'_>) {
        py.detach(|| drop(lock(&self.writer).take()));
    }
}

/// Writes a member: its name, dtype, shape and order, and the elements in pieces.
/// The outer error is that of the iterator of pieces.
fn write_member(
    py: Python<'_>,
    writer: &mut Writer<AtomicFile>,
    (name, dtype, shape, order): (&str, &DType, &[usize], Order),
    pieces: &Bound<'_, PyAny>,
) -> PyResult<npymap::Result<()>> {
    let mut member = match writer.begin(name, dtype, shape, order) {
        Ok(member) => member,
        Err(error) => return Ok(Err(error)),
    };
    for piece in pieces.try_iter()? {
        let bytes = Bytes::new(&piece?)?;
        let bytes = bytes.as_slice();
        if let Err(error) = py.detach(|| member.write_all(bytes)) {
            return Ok(Err(error.into()));
        }
    }
    Ok(py.detach(|| member.finish()))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn finished() -> PyErr {
    PyValueError::new_err("the file is already closed")
}
