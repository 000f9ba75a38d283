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

use npymap::{MappedArray, OpenOptions, ndarray::Array1};

fn main() -> npymap::Result<()> {
    // SAFETY: no other process changes the file.
    let table = unsafe { MappedArray::open("table.npy")? };
    let mask: Array1<bool> = OpenOptions::new().read_ndarray("mask.npy")?;
    let selected = table.view::<f64>()?.compress(0, &mask)?;
    println!("{:?} {}", selected.shape(), selected.sum());
    Ok(())
}
