//! Scales each row to length 1, in the file, on all cores.
//!
//! ```python
//! embeddings = np.load("embeddings.npy", mmap_mode="r+")
//! embeddings /= np.linalg.norm(embeddings, axis=1, keepdims=True)
//! print((embeddings**2).sum(dtype="f8").round(3))
//! embeddings.flush()
//! ```
//!
//! ```text
//! 2000.000
//! ```

use npymap::MappedArray;
use rayon::prelude::*;

fn main() -> npymap::Result<()> {
    // SAFETY: no other process uses the file.
    let mut file = unsafe { MappedArray::open_mut("embeddings.npy")? };
    let embeddings = file.as_slice_mut::<f32>()?;
    embeddings.par_chunks_mut(64).for_each(|row| {
        let norm = row.iter().map(|x| x * x).sum::<f32>().sqrt();
        for x in row {
            *x /= norm;
        }
    });
    let squares: f64 = embeddings.par_iter().map(|x| f64::from(x * x)).sum();
    println!("{squares:.3}");
    file.close()
}
