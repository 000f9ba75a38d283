//! Batches of token sequences for training a language model, like those of
//! nanoGPT's `get_batch`: `x` starts at a random position, `y` one token later.
//! Both are views of windows that are one token longer.
//!
//! `cargo run --release --example tokens`
#![allow(unsafe_code)]

use std::error::Error;
use std::time::Instant;

use npymap::ndarray::{Array1, ArrayView2, s};
use npymap::{Loader, MappedArray, RowSource as _, Sampler, WriteOptions};

const TOKENS: usize = 4_000_000;
const BLOCK: usize = 256;
const BATCH: usize = 32;

fn main() -> Result<(), Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    let path = directory.path().join("train.npy");
    let tokens = (0..TOKENS).map(|position| u16::try_from(position * 31 % 50_257).unwrap_or(0));
    WriteOptions::new().write(&path, &tokens.collect::<Array1<u16>>())?;

    // SAFETY: no other process uses the file.
    let tokens = unsafe { MappedArray::open(&path)? }.rows()?;
    let windows = tokens.windows(BLOCK + 1)?;
    let starts = Sampler::with_replacement(windows.row_count(), 200 * BATCH, 1337);
    let started = Instant::now();
    let mut seen = 0;
    for batch in Loader::new::<i64>(&windows).cast().batches(starts, BATCH)? {
        let batch = batch?;
        let windows = ArrayView2::from_shape((BATCH, BLOCK + 1), batch.data())?;
        let (x, y) = (windows.slice(s![.., ..BLOCK]), windows.slice(s![.., 1..]));
        assert_eq!(x.slice(s![.., 1..]), y.slice(s![.., ..BLOCK - 1]));
        seen += x.len();
    }
    println!("{seen} tokens in {:.1?}", started.elapsed());
    Ok(())
}
