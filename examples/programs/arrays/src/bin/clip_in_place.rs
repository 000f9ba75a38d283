//! Replaces negative numbers by zero, in the file.
//!
//! ```python
//! table = np.load("table.npy", mmap_mode="r+")
//! np.maximum(table, 0, out=table)
//! print(table.sum())
//! table.flush()
//! ```
//!
//! ```text
//! 1003.743051845973
//! ```

use npymap::MappedArray;

fn main() -> npymap::Result<()> {
    // SAFETY: no other process uses the file.
    let mut table = unsafe { MappedArray::open_mut("table.npy")? };
    table.view_mut::<f64>()?.map_inplace(|x| x.max(0.0))?;
    println!("{}", table.view::<f64>()?.sum());
    table.close()
}
