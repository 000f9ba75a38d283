//! Opens and creates arrays, which are mapped when they are used: all `unsafe` code of the
//! program but its allocator.
//!
//! The program cannot check what mapping requires, so its help text requires it
//! of the user: while the program uses a file, no other process may truncate or
//! change it.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::path::Path;

use npymap::npz::{Npz, NpzOptions};
use npymap::ten::Ten;
use npymap::{
    CreateOptions, DType, MappedArray, MappedArrayMut, OpenOptions, Order, Result, Source,
    any::{AnyFile, Format, Npy},
    array::RawSpec,
    source::MapMut,
    tar::TarFile,
};

use crate::input::array_path::ArrayPath;
use crate::input::shape_arg::PartialShape;
use crate::input::stream::Content;
use crate::input::{header_len, messages, progress, remote, stream, trailing};

/// A source that maps a file read-only, or the copy of a stream, and reads from a URL, when
/// elements are needed.
pub(crate) fn map(path: &Path, content: Content) -> Result<Source> {
    if let Some(source) = remote::source(path)? {
        return Ok(source.into_read_only().on_demand());
    }
    if let Some(file) = stream::open(path, content)? {
        // SAFETY: the copy has no name, so no other process can change it; if it is
        // standard input, the help text requires that none does.
        return Ok(unsafe { Source::map_file(file) }?.on_demand());
    }
    // SAFETY: the help text requires that no other process truncates or changes the file.
    Ok(unsafe { Source::map(path) }?.on_demand())
}

/// A source that reads a file, or the copy of a stream, without mapping it.
pub(crate) fn read_source(path: &Path) -> Result<Source<MapMut>> {
    if let Some(source) = remote::source(path)? {
        return Ok(source);
    }
    match stream::open(path, Content::Arrays { takes_all: false })? {
        Some(file) => Source::from_file(file),
        None => Source::open(path),
    }
}

/// A source that maps a file read-write.
fn map_mut(path: &Path) -> Result<Source<MapMut>> {
    // SAFETY: the help text requires that no other process truncates or changes the file.
    unsafe { Source::map_mut(path) }
}

/// The format of a file.
pub(crate) fn format(path: &Path) -> Result<Format> {
    Format::recognize(&map_arrays(path)?)
}

/// As `map`, for a file of arrays.
pub(crate) fn map_arrays(path: &Path) -> Result<Source> {
    map(path, Content::Arrays { takes_all: false })
}

/// Opens a raw file, and returns how to interpret it. The elements start at an offset.
pub(crate) fn raw(
    path: &Path,
    dtype: &DType,
    (offset, order): (u64, Order),
    shape: Option<&PartialShape>,
) -> Result<(Source, OpenOptions)> {
    let end = shape.and_then(|shape| offset.checked_add(shape.known_nbytes(dtype.itemsize())?));
    // Of elements without bytes, one byte shows that a stream is not empty.
    let content = end.map_or(Content::ALL, |end| Content::Bytes(end.max(1)));
    let source = map(path, content)?;
    // Whoever wants single bytes may want those of the header.
    if offset == 0 && dtype.itemsize() > 1 && OpenOptions::new().header_text(&source).is_ok() {
        let what = "the file has an NPY header, which is read as elements: omit --raw to open it";
        messages::print_note(&format!("{}: {what}", path.display()));
    }
    let raw = RawSpec::new(dtype.clone()).offset(offset).order(order);
    let raw = match shape {
        Some(shape) => {
            let Some(nbytes) = source.nbytes().checked_sub(offset) else {
                // The library says so.
                return Ok((source, OpenOptions::new().raw(raw)));
            };
            raw.shape(&shape.of_bytes(nbytes, dtype.itemsize())?)
        }
        None => raw,
    };
    Ok((source, OpenOptions::new().raw(raw)))
}

/// Opens a file of any format.
pub(crate) fn any(path: &Path) -> Result<AnyFile> {
    any_of(&ArrayPath::from_file(path), map_arrays(path)?, false)
}

/// Opens a source of any format, at the offset in its name if it is a `.npy`. Prints a note if
/// something follows the array, unless it is another array, and all are taken or one is named.
pub(crate) fn any_of(input: &ArrayPath, source: Source, takes_all: bool) -> Result<AnyFile> {
    Ok(match Format::recognize(&source)? {
        Format::Npz => AnyFile::Npz(npz_options().open(source)?),
        Format::Ten => AnyFile::Ten(Ten::open(source)?),
        Format::Tar => AnyFile::Tar(TarFile::open(source)?),
        _ => {
            let (options, offset) = npy_options(input);
            trailing::note(&input.path, &source, &options, takes_all || offset.is_some());
            AnyFile::Npy(Npy::new(source, options)?)
        }
    })
}

/// The options for the `.npy` at the offset in a name, and that offset.
pub(crate) fn npy_options(input: &ArrayPath) -> (OpenOptions, Option<u64>) {
    let offset = input.offset();
    (header_len::options().offset(offset.unwrap_or(0)), offset)
}

/// Opens an archive whose stored members are mapped, and shows a progress bar
/// for the others.
pub(crate) fn npz(path: &Path) -> Result<Npz> {
    npz_options().open(map_arrays(path)?)
}

/// The options with which archives are opened.
pub(crate) fn npz_options() -> NpzOptions {
    progress::show_members(NpzOptions::new().max_header_len(header_len::max()))
}

/// Opens a `.npy` file, or an array of a `.ten`, to be written and not mapped, and another
/// time to be read.
pub(crate) fn write_array(input: &ArrayPath) -> Result<(MappedArrayMut, MappedArray)> {
    let source = map_mut(&input.path)?.write_only();
    let stored = map_arrays(&input.path)?;
    let is_npy = input.offset().is_some() && Format::recognize(&stored)? == Format::Npy;
    if let Some(member) = input.member.as_deref()
        && !is_npy
    {
        let ten = Ten::open(source)?;
        let stored = Ten::open(stored)?;
        let index = ten.index(member)?;
        return Ok((ten.get(index)?, stored.get(index)?));
    }
    let (options, offset) = npy_options(input);
    trailing::note(&input.path, &stored, &options, offset.is_some());
    Ok((options.open(source)?, options.open(stored)?))
}

/// As [`write_array`], for a `.npy` file without a name.
pub(crate) fn write_unnamed(file: File) -> Result<(MappedArrayMut, MappedArray)> {
    let options = header_len::options();
    let stored = read_file(file.try_clone()?, &options)?;
    // SAFETY: the file has no name, so no other process can change it.
    let source = unsafe { Source::map_mut_file(file) }?.write_only();
    Ok((options.open(source)?, stored))
}

/// Maps an open file read-only.
pub(crate) fn read_file(file: File, options: &OpenOptions) -> Result<MappedArray> {
    // SAFETY: the help text requires that no other process truncates or changes the file.
    options.open(unsafe { Source::map_file(file) }?.on_demand())
}

/// A file without a name for an array, which vanishes with the process.
pub(crate) struct Temporary(File);

impl Temporary {
    pub(crate) fn new() -> io::Result<Temporary> {
        tempfile::tempfile().map(Temporary)
    }

    /// As [`create`].
    pub(crate) fn create(
        &self,
        dtype: &DType,
        shape: &[usize],
        options: &CreateOptions,
    ) -> Result<MappedArrayMut> {
        create(self.0.try_clone()?, dtype, shape, options)
    }

    /// The array, once it is written.
    pub(crate) fn open(self) -> Result<MappedArray> {
        read_file(self.0, &OpenOptions::new().max_header_len(usize::MAX))
    }
}

/// Initializes an empty file as an array of zeros, whose elements can be written.
pub(crate) fn create(
    file: File,
    dtype: &DType,
    shape: &[usize],
    options: &CreateOptions,
) -> Result<MappedArrayMut> {
    options.initialize(&file, dtype, shape)?;
    // SAFETY: the help text requires that no other process truncates or changes the file.
    let source = unsafe { Source::map_mut_file(file) }?.write_only();
    OpenOptions::new().max_header_len(usize::MAX).open(source)
}
