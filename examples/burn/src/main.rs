//! Fits a linear model with burn to the rows of a table, shuffled for each
//! epoch and read ahead during training.
//!
//! `cargo run --release --manifest-path examples/burn/Cargo.toml`

use std::error::Error;

use burn::prelude::*;
use npymap::ndarray::Array2;
use npymap::{MappedArray, RowSource as _, Sampler, WriteOptions};

const COUNT: usize = 4_096;
/// The coefficients that the model has to find; the last one is the constant.
const COEFFICIENTS: [f32; 4] = [2.0, -1.0, 0.5, 3.0];
const INPUTS: usize = COEFFICIENTS.len() - 1;
const BATCH: usize = 64;
const EPOCHS: u64 = 5;
const RATE: f32 = 0.2;

fn main() -> Result<(), Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    let path = directory.path().join("table.npy");
    WriteOptions::new().write(&path, &Array2::from_shape_fn((COUNT, INPUTS + 1), element))?;

    // SAFETY: no other process uses the file.
    let rows = unsafe { MappedArray::open(&path)? }.rows()?;
    let width = rows.row_len();

    let device = Device::default().autodiff();
    let mut weights = Tensor::<2>::zeros([INPUTS, 1], &device).require_grad();
    let mut constant = Tensor::<2>::zeros([1, 1], &device).require_grad();
    for epoch in Sampler::shuffled(COUNT, 42).epochs(EPOCHS) {
        let (mut losses, mut batches) = (0.0, 0.0);
        for batch in rows.batches::<f32>(epoch.clone(), BATCH)? {
            let batch = batch?;
            let shape = [batch.indices().len(), width];
            // Burn takes over the memory of the batch.
            let data = TensorData::new(batch.into_data(), shape);
            let table = Tensor::<2>::from_data(data, &device);
            let inputs = table.clone().slice(s![.., ..INPUTS]);
            let expected = table.slice(s![.., INPUTS..]);

            let predicted = inputs.matmul(weights.clone()) + constant.clone();
            let loss = (predicted - expected).square().mean();
            let gradients = loss.backward();
            for parameter in [&mut weights, &mut constant] {
                if let Some(gradient) = parameter.grad(&gradients) {
                    let moved = parameter.clone().inner() - gradient * RATE;
                    *parameter = moved.autodiff().require_grad();
                }
            }
            losses += loss.try_into_scalar::<f32>()?;
            batches += 1.0;
        }
        println!("epoch {}: loss {:.4}", epoch.epoch(), losses / batches);
    }
    let found = Tensor::cat(vec![weights, constant], 0).try_into_data()?.try_into_vec::<f32>()?;
    println!("found {found:.2?}, expected {COEFFICIENTS:.2?}");
    assert!(found.iter().zip(&COEFFICIENTS).all(|(x, y)| (x - y).abs() < 0.05));
    Ok(())
}

/// Random inputs, with the value to predict in the last column.
fn element((row, column): (usize, usize)) -> f32 {
    if column < INPUTS {
        return random(row, column);
    }
    let terms = (0..INPUTS).map(|input| COEFFICIENTS[input] * random(row, input));
    terms.sum::<f32>() + COEFFICIENTS[INPUTS] + 0.1 * random(row, column)
}

/// A pseudo-random number from -1 to 1.
fn random(row: usize, column: usize) -> f32 {
    let mixed = ((row * 4 + column) as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mixed = (mixed ^ mixed >> 29).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let [high, low, ..] = mixed.to_be_bytes();
    f32::from(i16::from_be_bytes([high, low])) / 32_768.0
}
