//! The limit set by memory: the fastest of several ways to load bytes.

use std::hint::black_box;
use std::num::NonZero;
use std::thread;
use std::time::Instant;

/// Bytes between streams that are read in turn.
const STREAM: usize = 1 << 20;

/// Streams that are read in turn.
const STREAMS: usize = 8;

/// Bytes of a cache line.
const LINE: usize = 64;

/// Bytes that are added up at a time, in one lane for each word.
const BLOCK: usize = 256;

/// Bytes of a buffer that stays in the L2 cache.
const COPY: usize = 64 << 10;

/// How often each way is tried.
const TRIALS: usize = 5;

/// A way to load bytes.
#[derive(Clone, Copy)]
pub(crate) struct Loads {
    name: &'static str,
    load: fn(&[u8]) -> u64,
}

const WAYS: [Loads; 4] = [
    Loads { name: "a word of each line, 8 streams", load: lines },
    Loads { name: "all words in order", load: words },
    Loads { name: "all words, 8 streams", load: words_of_streams },
    Loads { name: "copies to a small buffer", load: copies },
];

impl Loads {
    /// The fastest way for these bytes, on one thread.
    pub(crate) fn fastest(bytes: &[u8]) -> Loads {
        fastest(|way| way.on_one(bytes))
    }

    /// The fastest way for these bytes, on one thread per processor.
    pub(crate) fn fastest_on_all(bytes: &[u8]) -> Loads {
        fastest(|way| way.on_all(bytes))
    }

    pub(crate) fn name(self) -> &'static str {
        self.name
    }

    pub(crate) fn on_one(self, bytes: &[u8]) -> u64 {
        (self.load)(black_box(bytes))
    }

    pub(crate) fn on_all(self, bytes: &[u8]) -> u64 {
        let threads = thread::available_parallelism().map_or(1, NonZero::get);
        thread::scope(|scope| {
            let parts = bytes.chunks(bytes.len().div_ceil(threads).max(1));
            let running: Vec<_> = parts.map(|part| scope.spawn(|| self.on_one(part))).collect();
            let sums = running.into_iter().filter_map(|thread| thread.join().ok());
            sums.fold(0, u64::wrapping_add)
        })
    }
}

/// The way that took the shortest time of several trials.
fn fastest(run: impl Fn(Loads) -> u64) -> Loads {
    let mut best = None;
    for _ in 0..TRIALS {
        for way in WAYS {
            let start = Instant::now();
            black_box(run(way));
            let elapsed = start.elapsed();
            if best.is_none_or(|(least, _)| elapsed < least) {
                best = Some((elapsed, way));
            }
        }
    }
    best.map_or(WAYS[0], |(_, way)| way)
}

fn word(bytes: &[u8]) -> u64 {
    bytes.first_chunk().map_or(0, |word| u64::from_le_bytes(*word))
}

fn lines(bytes: &[u8]) -> u64 {
    let mut sums = [0_u64; STREAMS];
    for block in bytes.chunks(STREAMS * STREAM) {
        let streams: Vec<&[u8]> = block.chunks(block.len().div_ceil(STREAMS)).collect();
        for at in (0..block.len() / STREAMS).step_by(LINE) {
            for (sum, stream) in sums.iter_mut().zip(&streams) {
                *sum = sum.wrapping_add(word(stream.get(at..).unwrap_or_default()));
            }
        }
    }
    sums.into_iter().fold(0, u64::wrapping_add)
}

/// Adds each word of a block to its own sum.
fn add_block(sums: &mut [u64; BLOCK / 8], block: &[u8]) {
    for (sum, bytes) in sums.iter_mut().zip(block.chunks_exact(8)) {
        *sum = sum.wrapping_add(word(bytes));
    }
}

fn words(bytes: &[u8]) -> u64 {
    let mut sums = [0; BLOCK / 8];
    bytes.chunks_exact(BLOCK).for_each(|block| add_block(&mut sums, block));
    sums.into_iter().fold(0, u64::wrapping_add)
}

fn words_of_streams(bytes: &[u8]) -> u64 {
    let mut sums = [0; BLOCK / 8];
    for part in bytes.chunks(STREAMS * STREAM) {
        let streams: Vec<&[u8]> = part.chunks(part.len().div_ceil(STREAMS)).collect();
        for at in (0..part.len() / STREAMS).step_by(BLOCK) {
            for stream in &streams {
                add_block(&mut sums, stream.get(at..at + BLOCK).unwrap_or_default());
            }
        }
    }
    sums.into_iter().fold(0, u64::wrapping_add)
}

fn copies(bytes: &[u8]) -> u64 {
    let mut buffer = vec![0; COPY];
    for block in bytes.chunks_exact(COPY) {
        buffer.copy_from_slice(block);
        black_box(&mut buffer);
    }
    word(&buffer)
}
