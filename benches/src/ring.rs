//! The most random reads that a disk answers: `io_uring`, with or without the page cache.
#![allow(unsafe_code)]

use std::fs::File;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use io_uring::{IoUring, opcode, types};
use rustix::fs::{Advice, fadvise};

use crate::Result;

/// Reads in flight.
const DEPTH: usize = 256;

/// The alignment of direct reads.
const PAGE: usize = 4096;

/// Memory that direct reads can fill.
#[repr(C, align(4096))]
#[derive(Clone)]
struct Page([u8; PAGE]);

/// A file and the ring that reads it, in blocks of one size.
pub(crate) struct Ring {
    file: File,
    io: IoUring,
    buffers: Vec<Page>,
    size: usize,
}

impl Ring {
    /// Reads from the disk, without the page cache.
    pub(crate) fn direct(path: &Path, size: usize) -> Result<Ring> {
        Ring::new(File::options().read(true).custom_flags(libc::O_DIRECT).open(path)?, size)
    }

    /// Reads through the page cache, without reading ahead.
    pub(crate) fn cached(path: &Path, size: usize) -> Result<Ring> {
        let file = File::open(path)?;
        fadvise(&file, 0, None, Advice::Random)?;
        Ring::new(file, size)
    }

    fn new(file: File, size: usize) -> Result<Ring> {
        let io = IoUring::new(u32::try_from(DEPTH)?)?;
        let buffers = vec![Page([0; PAGE]); DEPTH * size.div_ceil(PAGE)];
        Ok(Ring { file, io, buffers, size })
    }

    /// Reads the blocks with these numbers, from the byte `start` on, until `goes_on` returns
    /// `false`. Returns how many were read.
    pub(crate) fn read(
        self,
        start: usize,
        mut blocks: impl Iterator<Item = usize>,
        mut goes_on: impl FnMut() -> bool,
    ) -> Result<usize> {
        let Ring { file, mut io, mut buffers, size } = self;
        let pages = size.div_ceil(PAGE);
        let mut free: Vec<usize> = (0..DEPTH).collect();
        let mut count = 0;
        loop {
            while goes_on() {
                let Some((block, slot)) =
                    free.last().and_then(|slot| Some((blocks.next()?, *slot)))
                else {
                    break;
                };
                free.pop();
                let buffer = buffers.chunks_mut(pages).nth(slot).ok_or("no such buffer")?;
                let offset = u64::try_from(start + block * size)?;
                let read = opcode::Read::new(
                    types::Fd(file.as_raw_fd()),
                    buffer.as_mut_ptr().cast(),
                    u32::try_from(size)?,
                )
                .offset(offset)
                .build()
                .user_data(u64::try_from(slot)?);
                // SAFETY: the buffer outlives the ring's requests: the loop ends when all are
                // answered, and no other request has this buffer.
                unsafe { io.submission().push(&read) }?;
            }
            if free.len() == DEPTH {
                return Ok(count);
            }
            io.submit_and_wait(1)?;
            for done in io.completion() {
                if usize::try_from(done.result()) != Ok(size) {
                    return Err(format!("a read returned {}", done.result()).into());
                }
                free.push(usize::try_from(done.user_data())?);
                count += 1;
            }
        }
    }
}
