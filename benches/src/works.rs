//! What is measured: each work, who does it, and the target.

use std::ffi::CString;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use npymap::Header;
use npyz::NpyHeader;

use crate::files::{Files, LARGE_INDEX};
use crate::numpy::NumPy;
use crate::rounds::{Contestant, Work, batch};
use crate::{Result, bare, open};

/// Where the elements of a file with a plain header start.
const DATA_OFFSET: usize = 128;

pub(crate) fn all<'a>(files: &'a Files, numpy: Option<&'a NumPy>) -> Result<Vec<Work<'a>>> {
    let mut works = vec![small(files.small(), numpy)?];
    if let Some(path) = files.large() {
        works.push(large(path, numpy)?);
    }
    works.push(fields(files.fields(), numpy));
    works.push(parse("parse a plain header", "parse-small", files.small(), numpy)?);
    works.push(parse("parse a header of 100 fields", "parse-fields", files.fields(), numpy)?);
    Ok(works)
}

fn small<'a>(path: &'a Path, numpy: Option<&'a NumPy>) -> Result<Work<'a>> {
    let c_path = CString::new(path.as_os_str().as_bytes())?;
    let same_path = c_path.clone();
    let bare = batch(move || bare::open(&c_path, DATA_OFFSET));
    let reading = batch(move || bare::open_reading(&same_path, DATA_OFFSET));
    let mut peers = vec![
        Contestant::new("bare system calls", Some(1.25), bare),
        Contestant::new("bare system calls and `pread`", None, reading),
        Contestant::new("ndarray-npy + memmap2", Some(0.20), batch(|| open::ndarray_npy(path))),
        Contestant::new("npyz", Some(0.20), batch(|| open::npyz(path))),
    ];
    peers.extend(numpy.map(|numpy| numpy.contestant("open-small", "`open_memmap`", Some(0.10))));
    Ok(Work {
        name: "open a small file + one element".into(),
        ours: batch(|| open::ours(path, 0)),
        peers,
    })
}

fn large<'a>(path: &'a Path, numpy: Option<&'a NumPy>) -> Result<Work<'a>> {
    let c_path = CString::new(path.as_os_str().as_bytes())?;
    let bare = batch(move || bare::open(&c_path, DATA_OFFSET + 8 * LARGE_INDEX));
    let mut peers = vec![Contestant::new("bare system calls", Some(1.2), bare)];
    peers.extend(numpy.map(|numpy| numpy.contestant("open-large", "`open_memmap`", Some(0.20))));
    Ok(Work {
        name: "open 4 GiB + one element".into(),
        ours: batch(|| open::ours(path, LARGE_INDEX)),
        peers,
    })
}

fn fields<'a>(path: &'a Path, numpy: Option<&'a NumPy>) -> Work<'a> {
    let mut peers = vec![Contestant::new("npyz", Some(0.035), batch(|| open::npyz_record(path)))];
    peers.extend(numpy.map(|numpy| numpy.contestant("open-fields", "`open_memmap`", Some(0.03))));
    Work {
        name: "open records of 100 fields + one record".into(),
        ours: batch(|| open::ours_record(path)),
        peers,
    }
}

/// Parses the header a file starts with, from memory.
fn parse<'a>(
    name: &'static str,
    numpy_name: &'static str,
    path: &Path,
    numpy: Option<&'a NumPy>,
) -> Result<Work<'a>> {
    let bytes = fs::read(path)?;
    let same_bytes = bytes.clone();
    let npyz = batch(move || NpyHeader::from_reader(bytes.as_slice()));
    let mut peers = vec![Contestant::new("npyz", None, npyz)];
    peers.extend(numpy.map(|numpy| numpy.contestant(numpy_name, "`read_array_header_1_0`", None)));
    Ok(Work { name: name.into(), ours: batch(move || Header::parse(&same_bytes)), peers })
}
