//! Opening a file and reading one element, with `npymap` and other crates, as
//! the documentation of each shows it.
#![allow(unsafe_code)]

use std::fs::File;
use std::io::{BufReader, Read as _};
use std::path::Path;

use memmap2::Mmap;
use ndarray::ArrayView2;
use ndarray_npy::ViewNpyExt as _;
use npymap::MappedArray;
use npyz::{NpyFile, NpyHeader};

use crate::Result;
use crate::files::RECORD;

pub(crate) fn ours(path: &Path, index: usize) -> Result<f64> {
    // SAFETY: no other process uses the file.
    let array = unsafe { MappedArray::open(path) }?;
    array.as_slice::<f64>()?.get(index).copied().ok_or_else(|| "no such element".into())
}

pub(crate) fn ours_record(path: &Path) -> Result<[u8; RECORD]> {
    // SAFETY: no other process uses the file.
    let array = unsafe { MappedArray::open(path) }?;
    array.as_slice::<[u8; RECORD]>()?.first().copied().ok_or_else(|| "no record".into())
}

/// The first element of a matrix.
pub(crate) fn ndarray_npy(path: &Path) -> Result<f64> {
    let file = File::open(path)?;
    // SAFETY: no other process uses the file.
    let map = unsafe { Mmap::map(&file) }?;
    let view = ArrayView2::<f64>::view_npy(&map)?;
    view.first().copied().ok_or_else(|| "no element".into())
}

/// The first element. npyz reads instead of mapping.
pub(crate) fn npyz(path: &Path) -> Result<f64> {
    let npy = NpyFile::new(BufReader::new(File::open(path)?))?;
    let first = npy.data::<f64>()?.next();
    Ok(first.ok_or("no element")??)
}

/// The first record, as bytes.
pub(crate) fn npyz_record(path: &Path) -> Result<[u8; RECORD]> {
    let mut file = BufReader::new(File::open(path)?);
    NpyHeader::from_reader(&mut file)?;
    let mut record = [0; RECORD];
    file.read_exact(&mut record)?;
    Ok(record)
}
