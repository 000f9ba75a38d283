//! Sums arrays whose dtypes are known only at run time.
//!
//! ```python
//! for path in ["table.npy", "frames.npy", "half.npy", "labels.npy"]:
//!     array = np.load(path, mmap_mode="r")
//!     print(array.dtype.str, array.sum(dtype="f8"))
//! ```
//!
//! ```text
//! '<f8' 24.088902794523882
//! '>u2' 41976287
//! '<f2' 1.5053863525390625
//! '<i8' 2715
//! ```

use npymap::{MappedArray, with_type};

fn main() -> npymap::Result<()> {
    for path in ["table.npy", "frames.npy", "half.npy", "labels.npy"] {
        // SAFETY: no other process changes the file.
        let array = unsafe { MappedArray::open(path)? };
        let sum = with_type!(array.dtype(), real T => array.view::<T>()?.sum(), _ => continue);
        println!("{} {sum}", array.dtype());
    }
    Ok(())
}
