//! Reads rows from asynchronous code, without blocking its thread: a page that is
//! not in memory is waited for elsewhere.
//!
//! ```python
//! import asyncio
//! table = np.load("table.npy", mmap_mode="r")
//! async def main():
//!     rows = await asyncio.to_thread(lambda: table[[5, 3, 999]])
//!     print(rows.sum())
//! asyncio.run(main())
//! ```
//!
//! ```text
//! 0.06497153584347004
//! ```

use std::error::Error;

use npymap::{MappedArray, RowSource as _};
use tokio::task::spawn_blocking;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    // SAFETY: no other process changes the file.
    let rows = unsafe { MappedArray::open("table.npy")? }.rows()?;
    let taken = spawn_blocking(move || rows.take_array::<f64>(&[5, 3, 999])).await??;
    println!("{}", taken.sum());
    Ok(())
}
