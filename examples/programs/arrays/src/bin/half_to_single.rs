//! Converts half floats to single ones, in another file.
//!
//! ```python
//! half = np.load("half.npy", mmap_mode="r")
//! single = half.astype("f4")
//! np.save("single.npy", single)
//! print(single.shape, single[7, :3])
//! ```
//!
//! ```text
//! [100, 32] [-0.15576172, -0.2614746, -0.36621094]
//! ```

use npymap::ndarray::{Array2, s};
use npymap::{OpenOptions, WriteOptions, element::Casting};

fn main() -> npymap::Result<()> {
    let single: Array2<f32> = OpenOptions::new().read_ndarray_as("half.npy", Casting::Safe)?;
    WriteOptions::new().write("single.npy", &single)?;
    println!("{:?} {}", single.shape(), single.slice(s![7, ..3]));
    Ok(())
}
