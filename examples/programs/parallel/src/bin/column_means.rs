//! Averages the columns of a table on all cores.
//!
//! ```python
//! table = np.load("table.npy", mmap_mode="r")
//! print(table.mean(axis=0))
//! ```
//!
//! ```text
//! [0.004690892996138644, 0.003282718517727139, -0.004179194456739067, 0.002305154072740038, -0.002264235893835564, 0.02111263564353413, -0.0035642313151508687, 0.0027051632301094333]
//! ```

use npymap::MappedArray;
use rayon::prelude::*;

fn main() -> npymap::Result<()> {
    // SAFETY: no other process changes the file.
    let table = unsafe { MappedArray::open("table.npy")? };
    let columns = table.view::<f64>()?.t().outer_iter().into_par_iter();
    println!("{:?}", columns.map(|column| column.sum() / 1000.0).collect::<Vec<_>>());
    Ok(())
}
