//! Trains a small candle model on images and labels, shuffled in step for each
//! epoch and read ahead during training.
//!
//! `cargo run --release --manifest-path examples/candle/Cargo.toml`

use std::error::Error;
use std::path::Path;

use candle_core::{D, DType, Device, Tensor, Var};
use npymap::ndarray::{Array1, Array2};
use npymap::{BatchOptions, MappedArray, RowSource as _, Sampler, WriteOptions};

const COUNT: usize = 4_096;
const SIDE: usize = 8;
const CLASSES: usize = 4;
const BATCH: usize = 64;
const EPOCHS: u64 = 5;
const RATE: f64 = 0.5;

/// The pixels and labels of a batch. Its memory is reused.
type Data = (Vec<f32>, Vec<u32>);

fn main() -> Result<(), Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    let [images, labels] = ["x.npy", "y.npy"].map(|name| directory.path().join(name));
    write(&images, &labels)?;

    // SAFETY: no other process uses the file.
    let x = unsafe { MappedArray::open(&images)? }.rows()?;
    // SAFETY: no other process uses the file.
    let y = unsafe { MappedArray::open(&labels)? }.rows()?;
    let width = x.row_len();
    let read = move |rows: &[usize], (pixels, labels): &mut Data| {
        pixels.resize(rows.len() * width, 0.0);
        labels.resize(rows.len(), 0);
        x.take_with(rows, pixels, |pixel: u8| f32::from(pixel) / 255.0)?;
        y.take_with(rows, labels, |label: u8| u32::from(label))
    };

    let model = Model::new(width)?;
    for epoch in Sampler::shuffled(COUNT, 42).epochs(EPOCHS) {
        let (mut loss, mut right, mut seen) = (0.0, 0.0, 0);
        for batch in BatchOptions::new().start(epoch.batches(BATCH), read.clone())? {
            let batch = batch?;
            let (pixels, labels) = batch.data();
            // Candle copies them, and the memory of the batch is reused.
            let pixels = Tensor::from_slice(pixels, (labels.len(), width), &Device::Cpu)?;
            let labels = Tensor::from_slice(labels, labels.len(), &Device::Cpu)?;
            let (batch_loss, batch_right) = model.learn(&pixels, &labels)?;
            let len = batch.indices().len();
            loss += batch_loss * f64::from(u32::try_from(len)?);
            right += batch_right;
            seen += len;
        }
        let all = f64::from(u32::try_from(seen)?);
        println!(
            "epoch {}: loss {:.4}, {:.1} % right",
            epoch.epoch(),
            loss / all,
            right / all * 100.0
        );
    }
    Ok(())
}

/// Softmax regression: a weight for each pixel and class.
struct Model {
    weights: Var,
    biases: Var,
}

impl Model {
    fn new(width: usize) -> candle_core::Result<Model> {
        let weights = Var::zeros((width, CLASSES), DType::F32, &Device::Cpu)?;
        let biases = Var::zeros(CLASSES, DType::F32, &Device::Cpu)?;
        Ok(Model { weights, biases })
    }

    /// Takes one step of gradient descent. Returns the mean loss before it, and
    /// how many labels were predicted correctly.
    fn learn(&self, pixels: &Tensor, labels: &Tensor) -> candle_core::Result<(f64, f64)> {
        let scores = pixels.matmul(&self.weights)?.broadcast_add(&self.biases)?;
        let shifted = scores.broadcast_sub(&scores.max_keepdim(D::Minus1)?.detach())?;
        let log_likelihood =
            shifted.broadcast_sub(&shifted.exp()?.sum_keepdim(D::Minus1)?.log()?)?;
        let loss = log_likelihood.gather(&labels.unsqueeze(1)?, 1)?.mean_all()?.neg()?;
        let gradients = loss.backward()?;
        for variable in [&self.weights, &self.biases] {
            if let Some(gradient) = gradients.get(variable) {
                variable.set(&(variable.as_tensor() - (gradient * RATE)?)?)?;
            }
        }
        let right = scores.argmax(D::Minus1)?.eq(labels)?.to_dtype(DType::F32)?.sum_all()?;
        Ok((f64::from(loss.to_scalar::<f32>()?), f64::from(right.to_scalar::<f32>()?)))
    }
}

/// Writes noisy images, each brighter in one quarter of its rows, and the
/// labels: which quarter that is.
fn write(images: &Path, labels: &Path) -> Result<(), Box<dyn Error>> {
    WriteOptions::new().write(images, &Array2::from_shape_fn((COUNT, SIDE * SIDE), pixel))?;
    let classes = (0..COUNT).map(|image| u8::try_from(class(image)));
    WriteOptions::new().write(labels, &classes.collect::<Result<Array1<u8>, _>>()?)?;
    Ok(())
}

/// The quarter of an image that is brighter.
fn class(image: usize) -> usize {
    image * CLASSES / COUNT
}

fn pixel((image, position): (usize, usize)) -> u8 {
    let quarter = position / SIDE * CLASSES / SIDE;
    let brightness = if quarter == class(image) { 40 } else { 0 };
    brightness + noise(image * SIDE * SIDE + position)
}

/// A pseudo-random number below 200.
fn noise(index: usize) -> u8 {
    let mixed = (index as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mixed = (mixed ^ mixed >> 29).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    u8::try_from((mixed >> 32) % 200).unwrap_or(0)
}
