//! Selects the rows for which a mask is true.
//!
//! ```python
//! table, mask = np.load("table.npy", mmap_mode="r"), np.load("mask.npy")
//! selected = table[mask]
//! print(selected.shape, selected.sum())
//! ```
//!
//! ```text
//! [334, 8] 5.224523435234503
//! ```

use npymap::{MappedArray, ndarray::Array1, read_npy};

fn main() -> npymap::Result<()> {
    // SAFETY: no other process changes the file.
    let table = unsafe { MappedArray::open("table.npy")? };
    let mask: Array1<bool> = read_npy("mask.npy")?;
    let rows: Vec<usize> = (0..mask.len()).filter(|&row| mask[row]).collect();
    let selected = table.view::<f64>()?.select(0, &rows)?;
    println!("{:?} {}", selected.shape(), selected.sum());
    Ok(())
}
