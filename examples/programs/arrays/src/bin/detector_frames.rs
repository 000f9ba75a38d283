//! Subtracts the dark frame from big-endian frames.
//!
//! ```python
//! frames = np.load("frames.npy", mmap_mode="r")
//! signal = frames[1:].astype("i4") - frames[0]
//! print(signal.max(axis=(1, 2)))
//! ```
//!
//! ```text
//! [3682, 3900, 3967, 3984, 3900, 4018, 3936, 3911, 3790, 3978, 4017, 4005, 3926, 3924, 3986, 3968, 3948, 3792, 3978]
//! ```

use npymap::ndarray::{Array3, Axis, s};
use npymap::{OpenOptions, element::Casting};

fn main() -> npymap::Result<()> {
    let frames: Array3<i32> = OpenOptions::new().read_ndarray_as("frames.npy", Casting::Safe)?;
    let signal = &frames.slice(s![1.., .., ..]) - &frames.index_axis(Axis(0), 0);
    let max: Vec<_> = signal.outer_iter().filter_map(|frame| frame.iter().copied().max()).collect();
    println!("{max:?}");
    Ok(())
}
