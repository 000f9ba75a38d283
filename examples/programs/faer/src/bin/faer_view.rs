//! Multiplies a mapped matrix by its transpose with faer, without copying it.
//!
//! ```python
//! table = np.load("table.npy", mmap_mode="r")
//! print((table.T @ table)[0])
//! ```
//!
//! ```text
//! [80.65587832165835, 4.6790761665388345, 1.6678626832308125, 4.534510272949159, 1.0327849038567347, -2.3841228439270865, 1.775659864261386, -0.47332964766642704]
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
