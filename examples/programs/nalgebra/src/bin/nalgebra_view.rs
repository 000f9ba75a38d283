//! Multiplies a mapped matrix by its transpose with nalgebra, without copying it.
//!
//! ```python
//! table = np.load("table.npy", mmap_mode="r")
//! print((table.T @ table)[0])
//! ```
//!
//! ```text
//! [80.65587832165834, 4.67907616653884, 1.6678626832308114, 4.53451027294915, 1.0327849038567376, -2.384122843927085, 1.7756598642613857, -0.47332964766642893]
//! ```

use nalgebra::DMatrixView;
use npymap::MappedArray;

fn main() -> npymap::Result<()> {
    // SAFETY: no other process changes the file.
    let file = unsafe { MappedArray::open("table.npy")? };
    // nalgebra stores columns: in C order, it has the transpose.
    let transposed = DMatrixView::from_slice(file.as_slice::<f64>()?, 8, 1000);
    println!("{:?}", (transposed * transposed.transpose()).row(0).iter().collect::<Vec<_>>());
    Ok(())
}
