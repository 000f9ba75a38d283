//! Batches of token sequences to train a language model on, as nanoGPT's
//! `get_batch` makes them: `x` from random places, `y` one token later.
//!
//! `cargo run --release --example tokens`
#![allow(unsafe_code, clippy::indexing_slicing)]

use std::error::Error;
use std::time::Instant;

use npymap::ndarray::Array1;
use npymap::{BatchOptions, MappedArray, Sampler, write_npy};

const TOKENS: usize = 4_000_000;
const BLOCK: usize = 256;
const BATCH: usize = 32;

fn main() -> Result<(), Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    let path = directory.path().join("train.npy");
    let tokens = (0..TOKENS).map(|at| u16::try_from(at * 31 % 50_257).unwrap_or(0));
    write_npy(&path, &tokens.collect::<Array1<u16>>())?;

    // SAFETY: nobody else knows of the file.
    let tokens = unsafe { MappedArray::open(&path)? }.rows()?;
    let starts = Sampler::with_replacement(tokens.len() - BLOCK, 200 * BATCH, 1337);
    let read = move |starts: &[usize], (x, y): &mut (Vec<i64>, Vec<i64>)| {
        x.resize(starts.len() * BLOCK, 0);
        y.resize(starts.len() * BLOCK, 0);
        tokens.take_window_pairs(starts, BLOCK, x, y)
    };
    let started = Instant::now();
    let mut seen = 0;
    for batch in BatchOptions::new().ahead(4).start(starts.batches(BATCH), read)? {
        let batch = batch?;
        let (x, y) = &*batch;
        assert_eq!(x[1..BLOCK], y[..BLOCK - 1]);
        seen += x.len();
    }
    println!("{seen} tokens in {:.1?}", started.elapsed());
    Ok(())
}
