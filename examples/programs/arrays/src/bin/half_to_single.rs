//! Converts half floats to single ones, in another file.
//!
//! ```python
//! half = np.load("half.npy", mmap_mode="r")
//! single = half.astype("f4")
//! np.save("single.npy", single)
//! print(single.dtype.str, single.sum(dtype="f8"))
//! ```
//!
//! ```text
//! '<f4' 1.5053863525390625
//! ```

use npymap::{MappedArray, element::Casting, half::f16, ndarray::IxDyn, write_npy};

fn main() -> npymap::Result<()> {
    // SAFETY: no other process changes the file.
    let half = unsafe { MappedArray::open("half.npy")? };
    let single = half.view::<f16>()?.to_ndarray_as::<f32, IxDyn>(Casting::Safe)?;
    write_npy("single.npy", &single)?;
    let single = MappedArray::read("single.npy")?;
    println!("{} {}", single.dtype(), single.view::<f32>()?.sum());
    Ok(())
}
