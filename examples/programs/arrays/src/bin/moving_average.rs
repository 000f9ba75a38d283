//! Averages windows of seven samples.
//!
//! ```python
//! signal = np.load("signal.npy", mmap_mode="r")
//! average = np.lib.stride_tricks.sliding_window_view(signal, 7).mean(axis=1)
//! print(average.max(), average.argmax())
//! ```
//!
//! ```text
//! 0.4374094 1408
//! ```

use npymap::MappedArray;

fn main() -> npymap::Result<()> {
    // SAFETY: no other process changes the file.
    let signal = unsafe { MappedArray::open("signal.npy")? };
    let windows = signal.as_slice::<f32>()?.windows(7);
    let averages = windows.map(|window| window.iter().sum::<f32>() / 7.0);
    let (start, max) = averages.enumerate().max_by(|a, b| a.1.total_cmp(&b.1)).unwrap();
    println!("{max} {start}");
    Ok(())
}
