//! Counts the numbers in ten intervals.
//!
//! ```python
//! signal = np.load("signal.npy", mmap_mode="r")
//! print(np.histogram(signal, bins=10, range=(-0.5, 0.5))[0])
//! ```
//!
//! ```text
//! [508, 456, 518, 529, 527, 482, 514, 503, 489, 474]
//! ```

use npymap::MappedArray;

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn main() -> npymap::Result<()> {
    // SAFETY: no other process changes the file.
    let signal = unsafe { MappedArray::open("signal.npy")? };
    let mut counts = [0; 10];
    for x in signal.as_slice::<f32>()? {
        counts[((x + 0.5) * 10.0) as usize] += 1;
    }
    println!("{counts:?}");
    Ok(())
}
