//! Reads an epoch of images in shuffled order, in two ranks, each restarted in the
//! middle; pixels are scaled to `f32`.
//!
//! NumPy reads nothing ahead, and holds the order of the epoch.
//!
//! ```python
//! images, labels = np.load("images.npy", mmap_mode="r"), np.load("labels.npy")
//! seen, brightness, label = 0, 0.0, 0
//! for rank in range(2):
//!     saved = 0
//!     for stop in [150, 300]:
//!         order = np.random.default_rng(42).permutation(600)[rank::2]
//!         for start in range(saved, stop, 50):
//!             rows = order[start : start + 50]
//!             pixels = images[rows] / np.float32(255)
//!             seen += len(pixels)
//!             brightness += pixels.sum(dtype="f8")
//!             label += labels[rows].sum()
//!             saved = start + 50
//! print(seen, round(brightness, 1), label)
//! ```
//!
//! ```text
//! 600 57735.8 2715
//! ```

use std::error::Error;

use npymap::loader::Shard;
use npymap::{BatchOptions, MappedArray, RowSource as _, Sampler};

fn main() -> Result<(), Box<dyn Error>> {
    // SAFETY: no other process changes the file.
    let images = unsafe { MappedArray::open("images.npy")? }.rows()?;
    // SAFETY: as above.
    let labels = unsafe { MappedArray::open("labels.npy")? }.rows()?;
    let read = move |rows: &[usize], (pixels, classes): &mut (Vec<f32>, Vec<i64>)| {
        pixels.resize(rows.len() * images.row_len(), 0.0);
        images.take_with(rows, pixels, |pixel: u8| f32::from(pixel) / 255.0)?;
        labels.take_vec(rows, classes)
    };
    let (mut seen, mut brightness, mut label) = (0, 0.0, 0);
    for rank in 0..2 {
        let shard = Shard { rank, world_size: 2, ..Shard::default() };
        let mut saved = Sampler::shuffled(600, 42).shard(shard)?.state();
        for stop in [3, 6] {
            let mut sampler = Sampler::shuffled(600, 42).shard(shard)?;
            sampler.resume(saved)?;
            for batch in BatchOptions::new().start(sampler.batches(50), read.clone())? {
                let batch = batch?;
                let (pixels, classes) = batch.data();
                seen += classes.len();
                brightness += pixels.iter().map(|x| f64::from(*x)).sum::<f64>();
                label += classes.iter().sum::<i64>();
                saved = batch.state();
                if batch.index() + 1 == stop {
                    break;
                }
            }
        }
    }
    println!("{seen} {brightness:.1} {label}");
    Ok(())
}
