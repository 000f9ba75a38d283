//! Looks up numbers in a sorted array that is larger than memory.
//!
//! ```python
//! ids = np.load("ids.npy", mmap_mode="r")
//! print(np.searchsorted(ids, [17, 4711, 9000]))
//! ```
//!
//! ```text
//! [3, 933, 1794]
//! ```

use npymap::MappedArray;

fn main() -> npymap::Result<()> {
    // SAFETY: no other process changes the file.
    let file = unsafe { MappedArray::open("ids.npy")? };
    let ids = file.as_slice::<i64>()?;
    println!("{:?}", [17, 4711, 9000].map(|wanted| ids.partition_point(|id| *id < wanted)));
    Ok(())
}
