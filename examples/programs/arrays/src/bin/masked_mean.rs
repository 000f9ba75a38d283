//! Averages the elements that are positive.
//!
//! ```python
//! signal = np.load("signal.npy", mmap_mode="r")
//! print(signal[signal > 0].mean(dtype="f8"))
//! ```
//!
//! ```text
//! 0.2486177436060737
//! ```

use npymap::{MappedArray, ndarray::Array1};

fn main() -> npymap::Result<()> {
    // SAFETY: no other process changes the file.
    let signal = unsafe { MappedArray::open("signal.npy")? };
    let positive = signal.view::<f32>()?.into_iter().filter(|x| *x > 0.0);
    println!("{}", positive.map(f64::from).collect::<Array1<_>>().mean().unwrap());
    Ok(())
}
