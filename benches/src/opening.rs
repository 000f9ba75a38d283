//! The benchmarks of opening files and parsing headers, with their peers and
//! targets.

use std::ffi::CString;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use npymap::Header;
use npyz::NpyHeader;

use crate::files::{Files, LARGE_INDEX};
use crate::numpy::NumPy;
use crate::rounds::{Benchmark, Peer, batch};
use crate::{Result, bare, open};

/// Where the elements of a file with a plain header start.
const DATA_OFFSET: usize = 128;

pub(crate) fn benchmarks<'a>(
    files: &'a Files,
    numpy: Option<&'a NumPy>,
) -> Result<Vec<Benchmark<'a>>> {
    let mut benchmarks = vec![small(files.small(), numpy)?];
    if let Some(path) = files.large() {
        benchmarks.push(large(path, numpy)?);
    }
    benchmarks.push(fields(files.fields(), numpy));
    benchmarks.push(parse("parse a plain header", "parse-small", files.small(), numpy)?);
    benchmarks.push(parse("parse a header of 100 fields", "parse-fields", files.fields(), numpy)?);
    Ok(benchmarks)
}

fn small<'a>(path: &'a Path, numpy: Option<&'a NumPy>) -> Result<Benchmark<'a>> {
    let c_path = CString::new(path.as_os_str().as_bytes())?;
    let same_path = c_path.clone();
    let bare = batch(move || bare::open(&c_path, DATA_OFFSET));
    let reading = batch(move || bare::open_reading(&same_path, DATA_OFFSET));
    let mut peers = vec![
        Peer::new("bare system calls", Some(1.25), bare),
        Peer::new("bare system calls and `pread`", None, reading),
        Peer::new("ndarray-npy + memmap2", None, batch(|| open::ndarray_npy(path))),
        Peer::new("npyz", None, batch(|| open::npyz(path))),
    ];
    peers.extend(numpy.map(|numpy| numpy.peer("open-small", "`open_memmap`", None)));
    Ok(Benchmark {
        name: "open a small file + one element".into(),
        ours: batch(|| open::ours(path, 0)),
        peers,
    })
}

fn large<'a>(path: &'a Path, numpy: Option<&'a NumPy>) -> Result<Benchmark<'a>> {
    let c_path = CString::new(path.as_os_str().as_bytes())?;
    let bare = batch(move || bare::open(&c_path, DATA_OFFSET + 8 * LARGE_INDEX));
    let mut peers = vec![Peer::new("bare system calls", Some(1.2), bare)];
    peers.extend(numpy.map(|numpy| numpy.peer("open-large", "`open_memmap`", None)));
    Ok(Benchmark {
        name: "open 4 GiB + one element".into(),
        ours: batch(|| open::ours(path, LARGE_INDEX)),
        peers,
    })
}

fn fields<'a>(path: &'a Path, numpy: Option<&'a NumPy>) -> Benchmark<'a> {
    let mut peers = vec![Peer::new("npyz", Some(0.035), batch(|| open::npyz_record(path)))];
    peers.extend(numpy.map(|numpy| numpy.peer("open-fields", "`open_memmap`", Some(0.03))));
    Benchmark {
        name: "open records of 100 fields + one record".into(),
        ours: batch(|| open::ours_record(path)),
        peers,
    }
}

/// Parses the header of a file, from memory.
fn parse<'a>(
    name: &'static str,
    numpy_name: &'static str,
    path: &Path,
    numpy: Option<&'a NumPy>,
) -> Result<Benchmark<'a>> {
    let bytes = fs::read(path)?;
    let same_bytes = bytes.clone();
    let npyz = batch(move || NpyHeader::from_reader(bytes.as_slice()));
    let mut peers = vec![Peer::new("npyz", None, npyz)];
    peers.extend(numpy.map(|numpy| numpy.peer(numpy_name, "`read_array_header_1_0`", None)));
    Ok(Benchmark { name: name.into(), ours: batch(move || Header::parse(&same_bytes)), peers })
}
