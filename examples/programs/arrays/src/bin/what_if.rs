//! Changes an array in memory, and not its file.
//!
//! ```python
//! table = np.load("table.npy", mmap_mode="c")
//! table[:, 3] *= 2
//! print(table.sum(), np.load("table.npy").sum())
//! ```
//!
//! ```text
//! 26.394056867263945 24.088902794523882
//! ```

use npymap::{MappedArray, ndarray::Ix2};

fn main() -> npymap::Result<()> {
    // SAFETY: no other process changes the file.
    let mut table = unsafe { MappedArray::open_copy_on_write("table.npy")? };
    table.as_ndarray_mut::<f64, Ix2>()?.column_mut(3).map_inplace(|x| *x *= 2.0);
    let file = MappedArray::load("table.npy")?;
    println!("{} {}", table.view::<f64>()?.sum(), file.view::<f64>()?.sum());
    Ok(())
}
