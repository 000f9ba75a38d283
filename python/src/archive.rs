//! Files of several arrays: `.npz`, `.ten` and tar.

use std::io::{self, Read};
use std::path::PathBuf;

use npymap::any::AnyFile;
use npymap::array::AnyArray;
use npymap::npz::NpzOptions;
use npymap::source::{AnySource, Map, MapMut};
use npymap::tar::TarFile;
use npymap::{ArrayFile, Error, ErrorKind, Mode, Order, Result, npz, ten};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

use crate::errors::OrRaise;
use crate::mapping::Mapping;
use crate::memory::{self, BytesMut};
use crate::number::{MaxHeaderLen, unsigned};
use crate::open::parse_mode;
use crate::path::{Location, absolute};
use crate::place::{self, Place};
use crate::read_file::bytes_at;
use crate::waiting::detached;

/// An archive of either kind of source.
#[derive(Debug)]
enum Either<R, W> {
    ReadOnly(R),
    Writable(W),
}

/// Evaluates an expression for an archive of either kind.
macro_rules! for_either {
    ($either:expr, $archive:ident => $value:expr) => {
        match $either {
            Either::ReadOnly($archive) => $value,
            Either::Writable($archive) => $value,
        }
    };
}

/// Opens an array of an archive of either kind.
macro_rules! open_array {
    ($either:expr, $archive:ident => $array:expr) => {
        match $either {
            Either::ReadOnly($archive) => $array.map(AnyArray::ReadOnly),
            Either::Writable($archive) => $array.map(AnyArray::Writable),
        }
    };
}

/// Opens a file. Without a mode, arrays are copies.
fn source(path: &Location, mode: Option<Mode>) -> Result<AnySource> {
    match mode {
        Some(mode) => memory::map(&absolute(path), mode),
        None => place::read(path).map(AnySource::Writable),
    }
}

/// An `.npz` archive.
#[pyclass(frozen, module = "npymap._core")]
#[derive(Debug)]
pub(crate) struct Npz {
    archive: Either<npz::Npz<Map>, npz::Npz<MapMut>>,
    shown: PathBuf,
}

#[pymethods]
impl Npz {
    /// Opens an archive and reads its directory.
    #[new]
    fn new(
        py: Python<'_>,
        path: Location,
        mode: Option<&str>,
        max_header_len: MaxHeaderLen,
        max_inflated: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Npz> {
        let mode = parse_mode(py, mode)?;
        let options = NpzOptions::new().max_header_len(max_header_len.0);
        let options = match max_inflated {
            Some(bytes) => options.max_inflated(unsigned("max_inflated", &bytes)?),
            None => options,
        };
        let archive = detached(py, || {
            Ok(match source(&path, mode)? {
                AnySource::ReadOnly(source) => Either::ReadOnly(options.open(source)?),
                AnySource::Writable(source) => Either::Writable(options.open(source)?),
            })
        });
        Ok(Npz { archive: archive.or_raise_for(py, &path)?, shown: path.to_path_buf() })
    }

    /// The full names of all members, in the archive's order.
    fn full_names(&self) -> Vec<String> {
        for_either!(&self.archive, npz => {
            npz.members().map(|member| member.full_name().to_owned()).collect()
        })
    }

    /// The shape of a member, its dtype's `descr` as text, and whether the order is
    /// Fortran's.
    fn header<'py>(
        &self,
        py: Python<'py>,
        name: &str,
    ) -> PyResult<(Bound<'py, PyTuple>, String, bool)> {
        let header = detached(py, || {
            let header = for_either!(&self.archive, npz => npz.member(name)?.header())?;
            header.ok_or_else(|| Error::new(ErrorKind::Corrupt, "the member is not an array"))
        });
        let header = header.or_raise_for(py, &self.shown)?;
        let shape = PyTuple::new(py, &header.shape)?;
        Ok((shape, header.dtype.to_string(), header.order == Order::F))
    }

    /// Opens a member; None if it is not an array.
    fn get(&self, py: Python<'_>, name: &str) -> PyResult<Option<Py<Mapping>>> {
        let opened = detached(py, || {
            let header = for_either!(&self.archive, npz => npz.member(name)?.header())?;
            let Some(header) = header else { return Ok(None) };
            let array = open_array!(&self.archive, npz => npz.get(name))?;
            Ok(Some((array, header.order)))
        });
        match opened.or_raise_for(py, &self.shown)? {
            Some((array, order)) => {
                Mapping::create(py, Box::new(array), order, Some(self.shown.as_path().into()))
                    .map(Some)
            }
            None => Ok(None),
        }
    }

    /// Reads the bytes of a member, whether or not it is an array.
    fn read<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = detached(py, || {
            let mut bytes = Vec::new();
            for_either!(&self.archive, npz => {
                npz.member(name)?.reader()?.read_to_end(&mut bytes)?;
            });
            Ok(bytes)
        });
        Ok(PyBytes::new(py, &bytes.or_raise_for(py, &self.shown)?))
    }

    /// Reads the elements of an array into memory, and checks its CRC-32.
    fn read_into(&self, py: Python<'_>, name: &str, memory: &Bound<'_, PyAny>) -> PyResult<()> {
        let mut memory = BytesMut::new(memory)?;
        let out = memory.as_mut_slice();
        let read = detached(py, || {
            for_either!(&self.archive, npz => {
                let member = npz.member(name)?;
                let start = member.header()?.map_or(0, |header| header.data_offset);
                let mut reader = member.reader()?;
                let start = u64::try_from(start).unwrap_or(u64::MAX);
                io::copy(&mut reader.by_ref().take(start), &mut io::sink())?;
                reader.read_exact(out)?;
                // At the end, the checksum is compared.
                io::copy(&mut reader, &mut io::sink())?;
            });
            Ok(())
        });
        read.or_raise_for(py, &self.shown)
    }

    /// Checks the length and the CRC-32 of all members.
    fn verify(&self, py: Python<'_>) -> PyResult<()> {
        let verified = detached(
            py,
            || for_either!(&self.archive, npz => npz.members().try_for_each(|member| member.verify())),
        );
        verified.or_raise_for(py, &self.shown)
    }
}

/// A `.ten` file.
#[pyclass(frozen, module = "npymap._core")]
#[derive(Debug)]
pub(crate) struct Ten {
    list: Either<ten::Ten<Map>, ten::Ten<MapMut>>,
    shown: PathBuf,
}

#[pymethods]
impl Ten {
    /// Opens a file and reads the headers of its arrays.
    #[new]
    fn new(py: Python<'_>, path: Location, mode: Option<&str>) -> PyResult<Ten> {
        let mode = parse_mode(py, mode)?;
        let list = detached(py, || {
            Ok(match source(&path, mode)? {
                AnySource::ReadOnly(source) => Either::ReadOnly(ten::Ten::open(source)?),
                AnySource::Writable(source) => Either::Writable(ten::Ten::open(source)?),
            })
        });
        Ok(Ten { list: list.or_raise_for(py, &path)?, shown: path.to_path_buf() })
    }

    /// The infos of all arrays.
    fn infos(&self) -> Vec<String> {
        for_either!(&self.list, ten => ten.headers().map(|header| header.info.clone()).collect())
    }

    /// Opens an array.
    fn get(&self, py: Python<'_>, index: usize) -> PyResult<Py<Mapping>> {
        let array = detached(py, || open_array!(&self.list, ten => ten.get(index)));
        Mapping::from_result(py, array, Some(Order::C), Some(self.shown.as_path().into()))
    }
}

/// A tar file of arrays.
#[pyclass(frozen, module = "npymap._core")]
#[derive(Debug)]
pub(crate) struct Tar {
    file: Either<TarFile<Map>, TarFile<MapMut>>,
    place: Place,
    shown: PathBuf,
}

#[pymethods]
impl Tar {
    /// Opens a file and finds its members.
    #[new]
    fn new(py: Python<'_>, path: Location, mode: Option<&str>) -> PyResult<Tar> {
        let mode = parse_mode(py, mode)?;
        let opened = detached(py, || {
            let (place, own) = Place::find(&path, true)?;
            let opened = match mode {
                Some(mode) => memory::map(&absolute(&path), mode)?,
                None => AnySource::Writable(own),
            };
            let tar = match opened {
                AnySource::ReadOnly(source) => Either::ReadOnly(TarFile::open(source)?),
                AnySource::Writable(source) => Either::Writable(TarFile::open(source)?),
            };
            Ok((tar, place))
        });
        let (tar, place) = opened.or_raise_for(py, &path)?;
        Ok(Tar { file: tar, place, shown: path.to_path_buf() })
    }

    /// The names of all members.
    fn names(&self) -> Vec<String> {
        for_either!(&self.file, tar => {
            tar.members().map(|member| member.name().to_owned()).collect()
        })
    }

    /// Opens a `.npy` member, or an array of an `.npz` or `.ten` member: `name[inner]`.
    fn get(&self, py: Python<'_>, name: &str) -> PyResult<Py<Mapping>> {
        let array = detached(
            py,
            || open_array!(&self.file, tar => AnyFile::Tar(tar.clone()).get(Some(name))),
        );
        Mapping::from_result(py, array, None, Some(self.shown.as_path().into()))
    }

    /// Reads the bytes of a member, whether or not it is an array.
    fn read<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = detached(py, || {
            let (offset, len) = for_either!(&self.file, tar => {
                let member = tar.member(name)?;
                (member.offset(), member.size())
            });
            if len == 0 {
                return Ok(Vec::new());
            }
            let len = usize::try_from(len).map_err(|_| Error::other("exceeds the memory"))?;
            let file = ArrayFile::new(self.place.source()?, bytes_at(offset, len))?;
            // A sparse file can be larger than the memory.
            let mut bytes = Vec::new();
            let no_memory = |_| io::Error::from(io::ErrorKind::OutOfMemory);
            bytes.try_reserve_exact(len).map_err(no_memory)?;
            bytes.resize(len, 0);
            file.read_bytes(&mut bytes).map(|()| bytes)
        });
        Ok(PyBytes::new(py, &bytes.or_raise_for(py, &self.shown)?))
    }
}
