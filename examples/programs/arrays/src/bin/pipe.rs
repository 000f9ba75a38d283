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
use npymap::write::{read_npy_from, write_npy_to};

fn main() -> npymap::Result<()> {
    let table: ArrayD<f64> = read_npy_from(stdin())?;
    write_npy_to(stdout(), &(table * 2.0))?;
    Ok(())
}
