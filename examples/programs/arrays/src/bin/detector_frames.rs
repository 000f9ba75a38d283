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
use npymap::{MappedArray, element::Casting};

fn main() -> npymap::Result<()> {
    // SAFETY: no other process changes the file.
    let frames = unsafe { MappedArray::open("frames.npy")? };
    let frames: Array3<i32> = frames.view::<u16>()?.to_ndarray_as(Casting::Safe)?;
    let signal = &frames.slice(s![1.., .., ..]) - &frames.index_axis(Axis(0), 0);
    let max: Vec<i32> = signal.outer_iter().map(|frame| *frame.iter().max().unwrap()).collect();
    println!("{max:?}");
    Ok(())
}
