//! Finds the embeddings that are most similar to one of them.
//!
//! ```python
//! embeddings = np.load("embeddings.npy", mmap_mode="r")
//! scores = embeddings @ embeddings[42]
//! print(np.argsort(-scores)[:5])
//! ```
//!
//! ```text
//! [42, 1363, 1974, 1396, 1264]
//! ```

use npymap::{MappedArray, ndarray::Ix2};

fn main() -> npymap::Result<()> {
    // SAFETY: no other process changes the file.
    let file = unsafe { MappedArray::open("embeddings.npy")? };
    let embeddings = file.as_ndarray::<f32, Ix2>()?;
    let scores = embeddings.dot(&embeddings.row(42));
    let mut nearest: Vec<usize> = (0..scores.len()).collect();
    nearest.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]));
    println!("{:?}", &nearest[..5]);
    Ok(())
}
