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
    let signal = signal.view::<f32>()?;
    let positive: Array1<f64> = signal.iter().filter(|x| *x > 0.0).map(f64::from).collect();
    println!("{}", positive.mean().unwrap());
    Ok(())
}
