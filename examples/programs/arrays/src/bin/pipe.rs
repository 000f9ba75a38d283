//! Reads an array from a pipe and writes its double to another one.
//!
//! `pipe < table.npy > doubled.npy`
//!
//! ```python
//! import sys
//! table = np.lib.format.read_array(sys.stdin.buffer)
//! np.lib.format.write_array(sys.stdout.buffer, table * 2)
//! ```

use std::io::{stdin, stdout};

use npymap::ndarray::ArrayD;
use npymap::{OpenOptions, WriteOptions};

fn main() -> npymap::Result<()> {
    let table: ArrayD<f64> = OpenOptions::new().read_ndarray_from(stdin())?;
    WriteOptions::new().write_to(stdout(), &(table * 2.0))?;
    Ok(())
}
