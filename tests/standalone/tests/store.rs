//! A store of objects, written outside the crate with nothing but `ReadAt`: each request reads
//! many ranges of one version of an object.
#![forbid(unsafe_code)]

use std::io;
use std::ops::Range;
use std::slice;
use std::sync::{Arc, Mutex};

use npymap::npz::NpzWriter;
use npymap::source::ReadAt;
use npymap::tar::TarFile;
use npymap::{
    ArrayFile, Error, ErrorKind, MappedArray, Npz, OpenOptions, Result, RowSource as _, Source,
    open_any,
};

const URL: &str = "memory://bucket/key";

/// An object, the number of its version, and how many ranges each request asked for.
#[derive(Default)]
struct Bucket {
    object: Mutex<(u32, Vec<u8>)>,
    requests: Mutex<Vec<usize>>,
}

impl Bucket {
    fn new(object: Vec<u8>) -> Arc<Bucket> {
        Arc::new(Bucket { object: Mutex::new((1, object)), ..Bucket::default() })
    }

    fn replace(&self, object: Vec<u8>) {
        let mut stored = self.object.lock().unwrap();
        *stored = (stored.0 + 1, object);
    }

    /// Opens the present version.
    fn source(self: &Arc<Bucket>) -> Source<npymap::source::MapMut> {
        let (version, size) = {
            let object = self.object.lock().unwrap();
            (object.0, object.1.len() as u64)
        };
        Source::from_read_at(Object { bucket: Arc::clone(self), version, size }).unwrap()
    }

    fn requests(&self) -> Vec<usize> {
        self.requests.lock().unwrap().split_off(0)
    }
}

struct Object {
    bucket: Arc<Bucket>,
    version: u32,
    size: u64,
}

impl ReadAt for Object {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let end = self.size.min(offset.saturating_add(buffer.len() as u64)).max(offset);
        let len = (end - offset) as usize;
        self.read_ranges_at(slice::from_ref(&(offset..end)), &mut buffer[..len])?;
        Ok(len)
    }

    fn read_ranges_at(&self, ranges: &[Range<u64>], mut buffer: &mut [u8]) -> io::Result<()> {
        let object = self.bucket.object.lock().unwrap();
        self.bucket.requests.lock().unwrap().push(ranges.len());
        if object.0 != self.version {
            return Err(Error::new(ErrorKind::Changed, "the object has a new version").into());
        }
        for range in ranges {
            let bytes = object.1.get(range.start as usize..range.end as usize);
            let bytes = bytes.ok_or(io::ErrorKind::UnexpectedEof)?;
            let (own, rest) = buffer.split_at_mut(bytes.len());
            own.copy_from_slice(bytes);
            buffer = rest;
        }
        Ok(())
    }

    fn size(&self) -> io::Result<u64> {
        Ok(self.size)
    }

    fn name(&self) -> Option<&str> {
        Some(URL)
    }
}

fn penguins() -> Vec<u8> {
    std::fs::read("data/penguins.npy").unwrap()
}

/// A tar file with one member.
fn tar(name: &str, contents: &[u8]) -> Vec<u8> {
    let mut header = [0; 512];
    header[..name.len()].copy_from_slice(name.as_bytes());
    header[100..107].copy_from_slice(b"0000644");
    header[124..135].copy_from_slice(format!("{:011o}", contents.len()).as_bytes());
    header[148..156].fill(b' ');
    header[156] = b'0';
    header[257..265].copy_from_slice(b"ustar\x0000");
    let sum: u32 = header.iter().copied().map(u32::from).sum();
    header[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
    let mut file = [&header[..], contents].concat();
    file.resize(file.len().next_multiple_of(512) + 1024, 0);
    file
}

#[test]
fn every_format_opens_from_a_store() -> Result<()> {
    let expected = MappedArray::load("data/penguins.npy")?;
    let mut npz = NpzWriter::new(Vec::new());
    npz.write("a", &expected)?;
    let npz = Npz::open(Bucket::new(npz.into_inner()?).source())?;
    let tar = TarFile::open(Bucket::new(tar("a.npy", &penguins())).source())?;
    let whole = MappedArray::from_source(Bucket::new(penguins()).source())?;
    let any = open_any(Bucket::new(penguins()).source())?.get(None)?;
    for array in [npz.get("a")?, tar.member("a.npy")?.open()?, whole, any] {
        assert_eq!(array.as_slice::<f64>()?, expected.as_slice::<f64>()?);
    }
    Ok(())
}

#[test]
fn rows_of_a_batch_are_one_request() -> Result<()> {
    let bucket = Bucket::new(penguins());
    let file = ArrayFile::new(bucket.source(), OpenOptions::new())?;
    bucket.requests();
    let mut rows = [0.0; 3 * 4];
    file.take(&[300, 1, 170], &mut rows)?;
    assert_eq!(bucket.requests(), [3]);
    let expected = MappedArray::load("data/penguins.npy")?;
    for (row, index) in rows.chunks(4).zip([300, 1, 170]) {
        assert_eq!(row, &expected.as_slice::<f64>()?[index * 4..][..4]);
    }
    Ok(())
}

#[test]
fn errors_of_a_store_keep_their_kind_and_name_the_object() -> Result<()> {
    let bucket = Bucket::new(penguins());
    let file = ArrayFile::new(bucket.source(), OpenOptions::new())?;
    bucket.replace(vec![0; 64]);
    let error = file.take(&[1], &mut [0.0; 4]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Changed);
    assert!(error.to_string().starts_with(URL), "{error}");
    assert!(error.to_string().contains("the object has a new version"), "{error}");
    let error = MappedArray::from_source(bucket.source()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    assert!(error.to_string().starts_with(URL), "{error}");
    Ok(())
}
