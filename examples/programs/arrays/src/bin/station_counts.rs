//! Counts the different names in an array of text.
//!
//! ```python
//! stations = np.load("stations.npy", mmap_mode="r")
//! for name, count in zip(*np.unique(stations, return_counts=True)):
//!     print(name, count)
//! ```
//!
//! ```text
//! Heathrow 147
//! Le Bourget 165
//! Orly 188
//! ```

use std::collections::BTreeMap;

use npymap::MappedArray;

fn main() -> npymap::Result<()> {
    // SAFETY: no other process changes the file.
    let stations = unsafe { MappedArray::open("stations.npy")? };
    let mut counts = BTreeMap::new();
    for name in &stations.view::<String>()? {
        *counts.entry(name).or_insert(0) += 1;
    }
    for (name, count) in counts {
        println!("{name} {count}");
    }
    Ok(())
}
