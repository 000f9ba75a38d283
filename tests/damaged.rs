//! Every fixture, truncated at every length and with every byte changed, is an
//! error or an array; it is opened in every way, and all its values are read if
//! it is mapped.
//!
//! `NPYMAP_DAMAGE_STEP=1` tries every position; otherwise some are skipped.

use std::env;
use std::fs::{self, File};
use std::io::{Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use npymap::npz::NpzOptions;
use npymap::{MappedArray, Source, any::AnyFile, open_any, tar::TarFile, ten::Ten};

use crate::cases::{cases, data, odd_file};
use crate::support;
use crate::tars::{shard, ten};

use crate::support::map;

/// In longer files than this, only some bytes are changed.
const LONG: usize = 4096;

/// All files: those in `tests/data`, those inside its lists, and lists and tar
/// files of arrays.
fn files() -> Vec<Vec<u8>> {
    let mut files = Vec::new();
    let mut folders = vec![data()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path: PathBuf = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "npy" || end == "npz") {
                files.push(fs::read(path).unwrap());
            }
        }
    }
    for case in cases("odd.jsonl") {
        files.push(odd_file(&case));
    }
    files.push(ten());
    files.push(shard());
    // Many fixtures are the same in several releases of NumPy.
    files.sort_unstable();
    files.dedup();
    files
}

#[test]
fn damaged_files_are_errors_or_arrays() {
    let step = env::var("NPYMAP_DAMAGE_STEP").map_or(128, |step| step.parse().unwrap());
    let files = files();
    let (next, tried) = (AtomicUsize::new(0), AtomicUsize::new(0));
    thread::scope(|scope| {
        // More than processors, because headers that cannot be read are read again
        // after a while: an appender may be writing them.
        for _ in 0..24 {
            scope.spawn(|| {
                let folder =
                    tempfile::tempdir_in("/dev/shm").unwrap_or_else(|_| support::directory());
                let path = folder.path().join("damaged");
                while let Some(bytes) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
                    tried.fetch_add(damage(bytes, &path, step), Ordering::Relaxed);
                }
            });
        }
    });
    println!("{} files, {} damaged ones opened", files.len(), tried.into_inner());
    assert!(files.len() > 500);
}

/// A file that is damaged in memory and on the disk. Only what changes is
/// written, because replacing a file takes longer than opening it.
struct Damaged<'a> {
    bytes: Vec<u8>,
    file: File,
    path: &'a Path,
}

impl Damaged<'_> {
    fn new<'a>(bytes: &[u8], path: &'a Path) -> Damaged<'a> {
        fs::write(path, bytes).unwrap();
        let file = File::options().write(true).open(path).unwrap();
        Damaged { bytes: bytes.to_vec(), file, path }
    }

    /// Makes the file `len` bytes long, which must not be longer than it was.
    fn truncate(&mut self, len: usize) {
        self.bytes.truncate(len);
        self.file.set_len(len as u64).unwrap();
    }

    /// Changes a bit.
    fn flip(&mut self, at: usize, bit: usize) {
        self.bytes[at] ^= 1 << bit;
        (&self.file).seek(SeekFrom::Start(at as u64)).unwrap();
        (&self.file).write_all(&self.bytes[at..=at]).unwrap();
    }
}

/// Damages a file in all ways, and returns the number of ways.
fn damage(bytes: &[u8], path: &Path, step: usize) -> usize {
    let mut tried = 0;
    // Short files have all the same boundaries as long ones.
    let long = if bytes.len() > LONG { 1 + bytes.len() / 512 } else { 1 };
    let lens: Vec<usize> = (0..=bytes.len()).step_by(step * long).collect();
    let mut truncated = Damaged::new(bytes, path);
    for len in lens.into_iter().rev() {
        truncated.truncate(len);
        open(&truncated);
        tried += 1;
    }
    let mut damaged = Damaged::new(bytes, path);
    // All eight bits are changed of the bytes that describe the elements, and one of
    // all others. Long headers repeat what their first bytes contain.
    let header = MappedArray::from_bytes(bytes).ok().and_then(|array| array.data_offset());
    let head = header.map_or(LONG, |offset| offset as usize);
    let mut at = 0;
    while at < bytes.len() {
        let is_head = at < head;
        for bit in if is_head && at < LONG { 0..8 } else { at % 8..at % 8 + 1 } {
            damaged.flip(at, bit);
            open(&damaged);
            damaged.flip(at, bit);
            tried += 1;
        }
        at += if is_head { step } else { step * long };
    }
    tried
}

/// Opens a file in all ways and reads its arrays.
fn open(damaged: &Damaged<'_>) {
    let Damaged { bytes, path, .. } = damaged;
    let _ = MappedArray::from_bytes(bytes.as_slice()).map(|array| read_all(&array));
    let _ = MappedArray::load(path).map(|array| read_all(&array));
    // SAFETY: the file is the test's own, and nothing is open any more when it
    // changes.
    match map(path).and_then(open_any) {
        Err(error) => assert!(!error.to_string().is_empty()),
        Ok(AnyFile::Npy(npy)) => {
            let _ = npy.open().map(|array| read(&array));
        }
        Ok(AnyFile::Npz(npz)) => npz.members().for_each(|member| {
            let _ = member.open().map(|array| read(&array));
            let _ = member.verify();
        }),
        Ok(AnyFile::Ten(ten)) => read_ten(&ten),
        Ok(AnyFile::Tar(shard)) => read_shard(&shard),
        Ok(other) => panic!("{other:?}"),
    }
    if bytes.starts_with(b"PK") {
        let options = NpzOptions::new().max_inflated(1 << 20);
        if let Ok(npz) = options.open(Source::bytes(bytes.clone())) {
            npz.members().for_each(|member| {
                let _ = member.open().map(|array| read(&array));
            });
        }
    }
}

fn read_ten(ten: &Ten) {
    for index in 0..ten.headers().len() {
        let _ = ten.get(index).map(|array| read(&array));
    }
}

fn read_shard(shard: &TarFile) {
    for member in shard.members() {
        let _ = member.open().map(|array| read(&array));
        let _ = member.ten().map(|ten| read_ten(&ten));
    }
}

/// The number of values of an array that are read: all, except of those without
/// bytes.
const MOST: usize = 4096;

fn read<D: AsRef<[u8]>>(array: &MappedArray<D>) {
    let view = array.dyn_view().unwrap();
    assert_eq!(view.iter().take(MOST).count(), view.len().min(MOST));
    read_all(array);
}

fn read_all<D: AsRef<[u8]>>(array: &MappedArray<D>) {
    assert_eq!(array.as_bytes().unwrap().len(), array.nbytes());
}
