//! Objects on a server: what is requested, and what happens when it fails.

#![allow(missing_docs, clippy::unwrap_used, clippy::indexing_slicing)]

mod asynchronous;
#[cfg(unix)]
mod cache;
mod faults;
mod requests;
mod s3;
mod secrets;
mod server;
mod upload;
mod urls;

use npymap::{ArrayFile, Header, OpenOptions, Order, RowSource as _};
use npymap_remote::{Remote, RemoteOptions};

use crate::server::Server;

/// A `.npy` with these elements.
fn npy(descr: &str, shape: &[usize], order: Order, elements: &[u8]) -> Vec<u8> {
    let header = Header::new(descr.parse().unwrap(), shape, order).unwrap();
    let mut bytes = header.encode(None).unwrap().bytes;
    bytes.extend(elements);
    bytes
}

/// A `.npy` of `rows` rows of 1024 `<u4`, 4 KiB each; the elements count from 0.
fn rows(rows: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    for number in 0..rows * 1024 {
        bytes.extend_from_slice(&number.to_le_bytes());
    }
    npy("<u4", &[usize::try_from(rows).unwrap(), 1024], Order::C, &bytes)
}

/// Checks all cases at once, because they mostly wait.
fn at_once<T: Send>(cases: impl IntoIterator<Item = T>, check: impl Fn(T) + Sync) {
    std::thread::scope(|scope| {
        for case in cases {
            let check = &check;
            scope.spawn(move || check(case));
        }
    });
}

/// Opens the array of a server.
fn open(server: &Server) -> npymap::Result<ArrayFile> {
    let object = RemoteOptions::new().open(&server.url("a.npy"))?;
    array(&object)
}

fn array(object: &Remote) -> npymap::Result<ArrayFile> {
    ArrayFile::new(object.source(), OpenOptions::new())
}

/// Takes rows, and checks every element.
fn take(file: &ArrayFile, indices: &[usize]) -> npymap::Result<()> {
    let mut batch = vec![0_u32; indices.len() * 1024];
    file.take(indices, &mut batch)?;
    assert_rows(&batch, indices.iter().copied());
    Ok(())
}

#[track_caller]
fn assert_rows(batch: &[u32], indices: impl IntoIterator<Item = usize>) {
    let expected = indices.into_iter().flat_map(|row| row * 1024..(row + 1) * 1024);
    assert!(batch.iter().copied().eq(expected.map(|n| u32::try_from(n).unwrap())));
}
