//! The most random reads that a disk answers: `io_uring`, without the page cache.
#![allow(unsafe_code)]

use std::fs::File;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use io_uring::{IoUring, opcode, types};

use crate::Result;

/// Reads in flight.
const DEPTH: usize = 256;

/// Bytes of a read.
const PAGE: usize = 4096;

/// Memory that direct reads can fill.
#[repr(C, align(4096))]
#[derive(Clone)]
struct Page([u8; PAGE]);

/// Reads the pages with these numbers of the file, from the byte `start` on, until
/// `goes_on` returns `false`. Returns how many were read.
pub(crate) fn read_pages(
    path: &Path,
    start: usize,
    mut pages: impl Iterator<Item = usize>,
    mut goes_on: impl FnMut() -> bool,
) -> Result<usize> {
    let file = File::options().read(true).custom_flags(libc::O_DIRECT).open(path)?;
    let mut ring = IoUring::new(u32::try_from(DEPTH)?)?;
    let mut buffers = vec![Page([0; PAGE]); DEPTH];
    let mut free: Vec<usize> = (0..DEPTH).collect();
    let mut count = 0;
    loop {
        while goes_on() {
            let Some((page, slot)) = free.last().and_then(|slot| Some((pages.next()?, *slot)))
            else {
                break;
            };
            free.pop();
            let buffer = buffers.get_mut(slot).ok_or("no such buffer")?;
            let offset = u64::try_from(start + page * PAGE)?;
            let read = opcode::Read::new(
                types::Fd(file.as_raw_fd()),
                buffer.0.as_mut_ptr(),
                u32::try_from(PAGE)?,
            )
            .offset(offset)
            .build()
            .user_data(u64::try_from(slot)?);
            // SAFETY: the buffer outlives the ring's requests: the loop ends when all are
            // answered, and no other request has this buffer.
            unsafe { ring.submission().push(&read) }?;
        }
        if free.len() == DEPTH {
            return Ok(count);
        }
        ring.submit_and_wait(1)?;
        for done in ring.completion() {
            if usize::try_from(done.result()) != Ok(PAGE) {
                return Err(format!("a read returned {}", done.result()).into());
            }
            free.push(usize::try_from(done.user_data())?);
            count += 1;
        }
    }
}
