//! Reads some rows of a file that cannot be mapped safely, on a network drive.
//!
//! ```python
//! table = np.load("table.npy", mmap_mode="r")
//! print(table[[5, 3, 999]].sum(axis=1))
//! ```
//!
//! ```text
//! [0.4151493414325178, -0.16245173303215765, -0.1877260725568901]
//! ```

use npymap::{ArrayFile, RowSource as _, ndarray::Axis};

fn main() -> npymap::Result<()> {
    let table = ArrayFile::open("table.npy")?;
    println!("{}", table.take_array::<f64>(&[5, 3, 999])?.sum_axis(Axis(1)));
    Ok(())
}
