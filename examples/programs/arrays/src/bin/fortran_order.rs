//! Converts a file to Fortran order, so that columns are contiguous.
//!
//! ```python
//! table = np.load("table.npy", mmap_mode="r")
//! np.save("columns.npy", np.asfortranarray(table))
//! print(np.load("columns.npy", mmap_mode="r").flags.f_contiguous)
//! ```
//!
//! ```text
//! true
//! ```

use npymap::{CreateOptions, MappedArray, Order, array::CopyOptions};

fn main() -> npymap::Result<()> {
    // SAFETY: no other process changes the file.
    let table = unsafe { MappedArray::open("table.npy")? };
    let options = CreateOptions::new().order(Order::F);
    // SAFETY: no other process uses the file.
    let mut columns = unsafe { options.create("columns.npy", table.dtype(), table.shape())? };
    columns.write_array(&table, &CopyOptions::new(), |_| ())?;
    println!("{}", columns.layout().is_f_contiguous());
    columns.close()
}
