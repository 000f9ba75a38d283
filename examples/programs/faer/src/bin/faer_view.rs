//! Multiplies a mapped matrix by its transpose with faer, without copying it.
//!
//! ```python
//! table = np.load("table.npy", mmap_mode="r")
//! print((table.T @ table)[0])
//! ```
//!
//! ```text
//! ```

use faer::MatRef;
use npymap::MappedArray;

fn main() -> npymap::Result<()> {
    // SAFETY: no other process changes the file.
    let file = unsafe { MappedArray::open("table.npy")? };
    let table = MatRef::from_row_major_slice(file.as_slice::<f64>()?, 1000, 8);
    let gram = table.transpose() * table;
    println!("{:?}", gram.row(0).iter().collect::<Vec<_>>());
    Ok(())
}
