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
use npymap::{element::Casting, write::read_npy_as, write_npy};

fn main() -> npymap::Result<()> {
    let single: Array2<f32> = read_npy_as("half.npy", Casting::Safe)?;
    write_npy("single.npy", &single)?;
    println!("{:?} {}", single.shape(), single.slice(s![7, ..3]));
    Ok(())
}
