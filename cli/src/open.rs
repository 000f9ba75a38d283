//! Opens and makes arrays by map: all that is `unsafe` in the program.
//!
//! What maps ask for no program can check, so it is said to who runs it, in
//! the help text: nobody may truncate or change a file while it is at work.
#![allow(unsafe_code)]

use std::fs::File;
use std::path::Path;

use npymap::npz::{Npz, NpzOptions};
use npymap::ten::{Ten, TenOptions};
use npymap::{
    AnyFile, CreateOptions, DType, Format, MappedArray, MappedArrayMut, OpenOptions, Result, Shard,
};

use crate::place::Place;
use crate::progress;

/// Maps a file read-only.
pub(crate) fn read(path: &Path, options: &OpenOptions) -> Result<MappedArray> {
    // SAFETY: the program's help asks that nobody truncates or changes the file meanwhile.
    unsafe { options.open(path) }
}

/// Maps a file, or a member of one, read-only.
pub(crate) fn array(place: &Place, max_header_len: usize) -> Result<MappedArray> {
    any(&place.path, max_header_len)?.get(place.member.as_deref())
}

/// Opens a file of any format.
pub(crate) fn any(path: &Path, max_header_len: usize) -> Result<AnyFile> {
    match Format::recognize(path)? {
        Format::Npz => npz(path, max_header_len).map(AnyFile::Npz),
        Format::Ten => ten(path).map(AnyFile::Ten),
        Format::Tar => shard(path).map(AnyFile::Tar),
        _ => read(path, OpenOptions::new().max_header_len(max_header_len)).map(AnyFile::Npy),
    }
}

/// Opens an archive whose stored members are mapped. A bar shows how far
/// others are.
pub(crate) fn npz(path: &Path, max_header_len: usize) -> Result<Npz> {
    let mut options = NpzOptions::new();
    progress::of_members(options.max_header_len(max_header_len));
    // SAFETY: the program's help asks that nobody truncates or changes the file meanwhile.
    unsafe { options.open(path) }
}

/// Opens an archive for who has a bar of their own.
pub(crate) fn quiet_npz(path: &Path) -> Result<Npz> {
    // SAFETY: the program's help asks that nobody truncates or changes the file meanwhile.
    unsafe { Npz::open(path) }
}

/// Opens a `.ten` file whose arrays are mapped.
pub(crate) fn ten(path: &Path) -> Result<Ten> {
    // SAFETY: the program's help asks that nobody truncates or changes the file meanwhile.
    unsafe { TenOptions::new().any_extension(true).open(path) }
}

/// Opens a tar file whose arrays are mapped.
pub(crate) fn shard(path: &Path) -> Result<Shard> {
    // SAFETY: the program's help asks that nobody truncates or changes the file meanwhile.
    unsafe { Shard::open(path) }
}

/// Maps a `.npy` file, or an array of a `.ten`, read-write.
pub(crate) fn write_array(place: &Place, max_header_len: usize) -> Result<MappedArrayMut> {
    match &place.member {
        Some(member) => write_ten(&place.path, member),
        None => write(&place.path, OpenOptions::new().max_header_len(max_header_len)),
    }
}

/// Maps a file read-write.
pub(crate) fn write(path: &Path, options: &OpenOptions) -> Result<MappedArrayMut> {
    // SAFETY: the program's help asks that nobody truncates or changes the file meanwhile.
    unsafe { options.open_mut(path) }
}

/// Maps an array of a `.ten` file read-write.
pub(crate) fn write_ten(path: &Path, member: &str) -> Result<MappedArrayMut> {
    // SAFETY: the program's help asks that nobody truncates or changes the file meanwhile.
    let ten = unsafe { TenOptions::new().any_extension(true).open_mut(path) }?;
    let index = ten.index(member)?;
    // SAFETY: no other array is taken from `ten`.
    unsafe { ten.get_mut(index) }
}

/// Maps an open file read-only.
pub(crate) fn read_file(file: &File, options: &OpenOptions) -> Result<MappedArray> {
    // SAFETY: the program's help asks that nobody truncates or changes the file meanwhile.
    unsafe { options.open_file(file) }
}

/// Maps an open file read-write.
pub(crate) fn write_file(file: &File, options: &OpenOptions) -> Result<MappedArrayMut> {
    // SAFETY: the program's help asks that nobody truncates or changes the file meanwhile.
    unsafe { options.open_mut_file(file) }
}

/// Makes an array of zeros in an empty file and maps it read-write.
pub(crate) fn create(
    file: &File,
    dtype: &DType,
    shape: &[usize],
    options: &CreateOptions,
) -> Result<MappedArrayMut> {
    // SAFETY: the file is new, under a name made for it, and the program's help asks to leave files alone meanwhile.
    unsafe { MappedArray::create_file(file, dtype, shape, options) }
}
