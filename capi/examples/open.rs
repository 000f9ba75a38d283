//! Opens a file of doubles many times and reads an element of each, as
//! `benches/open.c` does from C.
#![allow(unsafe_code, clippy::unwrap_used)]

use npymap::{MappedArray, Result};

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let count: usize = arguments.next().unwrap().parse().unwrap();
    let path = arguments.next().unwrap();
    let mut sum = 0.0;
    for _ in 0..count {
        // SAFETY: no other process writes to the file.
        let array = unsafe { MappedArray::open(&path)? };
        sum += array.view::<f64>()?.at([7, 2]);
    }
    println!("{sum}");
    Ok(())
}
