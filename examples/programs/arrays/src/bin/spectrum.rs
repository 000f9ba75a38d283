//! Finds the strongest frequency of a complex spectrum.
//!
//! ```python
//! spectrum = np.load("spectrum.npy", mmap_mode="r")
//! print(np.abs(spectrum).argmax(), spectrum.real.sum(dtype="f8"))
//! ```
//!
//! ```text
//! 218 0.7236152545083314
//! ```

use npymap::{MappedArray, num_complex::Complex32};

fn main() -> npymap::Result<()> {
    // SAFETY: no other process changes the file.
    let spectrum = unsafe { MappedArray::open("spectrum.npy")? };
    let powers = spectrum.view::<Complex32>()?.iter().map(|z| z.norm_sqr()).enumerate();
    let (strongest, _) = powers.max_by(|a, b| a.1.total_cmp(&b.1)).unwrap();
    println!("{strongest} {}", spectrum.dyn_view()?.real().view::<f32>()?.sum());
    Ok(())
}
