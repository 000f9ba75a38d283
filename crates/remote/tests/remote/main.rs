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

use std::sync::LazyLock;

use npymap::{ArrayFile, Header, OpenOptions, Order, RowSource as _, bytemuck};
use npymap_remote::{Remote, RemoteOptions};

use crate::server::Server;

/// A `.npy` with these elements.
fn npy(descr: &str, shape: &[usize], order: Order, elements: &[u8]) -> Vec<u8> {
    let header = Header::new(descr.parse().unwrap(), shape, order).unwrap();
    let mut bytes = header.encode(None).unwrap().bytes;
    bytes.extend(elements);
    bytes
}

/// The numbers from 0 on, in native byte order, for as many rows as any test needs.
static NUMBERS: LazyLock<Vec<u32>> = LazyLock::new(|| (0..32 * 512 * 1024).collect());

/// A `.npy` of `rows` rows of 1024 `u4`, 4 KiB each; the elements count from 0.
fn rows(rows: usize) -> Vec<u8> {
    let descr = if cfg!(target_endian = "little") { "<u4" } else { ">u4" };
    npy(descr, &[rows, 1024], Order::C, bytemuck::cast_slice(&NUMBERS[..rows * 1024]))
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
    let mut found = batch.chunks(1024);
    for row in indices {
        assert!(found.next() == Some(&NUMBERS[row * 1024..][..1024]), "row {row}");
    }
    assert_eq!(found.next(), None);
}
