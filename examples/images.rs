//! Epochs over images and their labels: shuffled in step, converted from
//! height × width × channel to planes that are normalised by channel, read ahead
//! on threads, and resumable.
//!
//! `cargo run --release --example images`
#![allow(unsafe_code, clippy::indexing_slicing)]

use std::error::Error;

use npymap::ndarray::{Array1, Array4};
use npymap::{BatchOptions, MappedArray, RowSource as _, Sampler, WriteOptions};

const COUNT: usize = 2_000;
const SIDE: usize = 28;
/// The mean and the standard deviation of each channel, from 0 to 1.
const CHANNELS: [(f32, f32); 3] = [(0.485, 0.229), (0.456, 0.224), (0.406, 0.225)];

fn main() -> Result<(), Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    let [images, labels] = ["x.npy", "y.npy"].map(|name| directory.path().join(name));
    let shape = (COUNT, SIDE, SIDE, CHANNELS.len());
    WriteOptions::new()
        .write(&images, &Array4::from_shape_fn(shape, |(image, ..)| label(image) * 25))?;
    WriteOptions::new().write(&labels, &(0..COUNT).map(label).collect::<Array1<u8>>())?;

    // SAFETY: no other process uses the file.
    let x = unsafe { MappedArray::open(&images)? }.rows()?;
    // SAFETY: no other process uses the file.
    let y = unsafe { MappedArray::open(&labels)? }.rows()?;
    let read = move |rows: &[usize], batch: &mut (Vec<f32>, Vec<i64>)| {
        batch.0.resize(rows.len() * x.row_len(), 0.0);
        batch.1.resize(rows.len(), 0);
        x.take_rows_with(rows, &mut batch.0, x.row_len(), to_planes)?;
        y.take_as(rows, &mut batch.1)
    };
    // With a saved state, `sampler.resume(saved)?` continues where it was saved.
    let sampler = Sampler::shuffled(COUNT, 42);
    for epoch in sampler.epochs(2) {
        let (mut right, mut seen, mut saved) = (0, 0, epoch.state());
        for batch in BatchOptions::new().start(epoch.batches(64), read.clone())? {
            let batch = batch?;
            let (images, labels) = batch.data();
            let images = images.chunks(CHANNELS.len() * SIDE * SIDE);
            right += images.zip(labels).filter(|(image, label)| guess(image) == **label).count();
            seen += batch.indices().len();
            saved = batch.state();
        }
        println!("epoch {}: {right} of {seen} labels are right", epoch.epoch());
        println!("to resume from here: {:?}", <[u64; 4]>::from(saved));
    }
    Ok(())
}

/// Converts one image: normalises each channel, and stores it as a plane.
fn to_planes(image: &[u8], out: &mut [f32]) {
    let planes = out.chunks_exact_mut(SIDE * SIDE).enumerate();
    for ((channel, plane), (mean, deviation)) in planes.zip(CHANNELS) {
        let pixels = image.iter().skip(channel).step_by(CHANNELS.len());
        for (out, pixel) in plane.iter_mut().zip(pixels) {
            *out = (f32::from(*pixel) / 255.0 - mean) / deviation;
        }
    }
}

/// The label of an image.
fn label(image: usize) -> u8 {
    u8::try_from(image % 10).unwrap_or(0)
}

/// Computes the label from the first channel, the same in all pixels.
#[allow(clippy::as_conversions, clippy::cast_possible_truncation)]
fn guess(image: &[f32]) -> i64 {
    let (mean, deviation) = CHANNELS[0];
    ((image[0] * deviation + mean) * 255.0 / 25.0).round() as i64
}
