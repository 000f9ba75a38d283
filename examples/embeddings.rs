//! Looks up rows of an embedding table that may be larger than memory.
//!
//! `cargo run --release --example embeddings`
#![allow(unsafe_code, clippy::indexing_slicing)]

use std::error::Error;

use npymap::ndarray::{Array2, Ix2};
use npymap::{MappedArray, RowSource as _, WriteOptions};

const WORDS: usize = 20_000;
const WIDTH: usize = 64;

fn main() -> Result<(), Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    let path = directory.path().join("embeddings.npy");
    WriteOptions::new().write(
        &path,
        &Array2::from_shape_fn((WORDS, WIDTH), |(word, component)| embedding(word, component)),
    )?;

    // SAFETY: no other process uses the file.
    let table = unsafe { MappedArray::open(&path)? };
    let rows = table.rows()?;
    let sentence = [17, 4_711, 17, 19_999];
    let vectors = rows.take_array::<f32>(&sentence)?.into_dimensionality::<Ix2>()?;
    for (word, vector) in sentence.iter().zip(vectors.rows()) {
        println!("word {word:5}: {:.3} …", vector[0]);
    }
    let similarity = vectors.row(0).dot(&vectors.row(2)) / vectors.row(0).dot(&vectors.row(0));
    println!("similarity of words 17 and 17: {similarity:.1}");
    Ok(())
}

/// A pseudo-random component of the embedding of a word.
#[allow(clippy::as_conversions, clippy::cast_precision_loss)]
fn embedding(word: usize, component: usize) -> f32 {
    ((word * WIDTH + component) as f32 * 12.9898).sin()
}
