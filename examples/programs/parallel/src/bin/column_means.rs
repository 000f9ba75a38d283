//! Averages the columns of a table on all cores.
//!
//! ```python
//! table = np.load("table.npy", mmap_mode="r")
//! print(table.mean(axis=0))
//! ```
//!
//! ```text
//! [0.004690892996138647, 0.0032827185177271433, -0.004179194456739072, 0.002305154072740039, -0.00226423589383557, 0.021112635643534144, -0.0035642313151508656, 0.002705163230109434]
//! ```

use npymap::{MappedArray, ndarray::Array1, ndarray::Ix2};
use rayon::prelude::*;

fn main() -> npymap::Result<()> {
    // SAFETY: no other process changes the file.
    let table = unsafe { MappedArray::open("table.npy")? };
    let table = table.as_ndarray::<f64, Ix2>()?;
    let means: Vec<f64> = (0..table.ncols())
        .into_par_iter()
        .map(|column| table.column(column).mean().unwrap())
        .collect();
    println!("{}", Array1::from(means));
    Ok(())
}
