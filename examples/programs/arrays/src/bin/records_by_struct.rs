//! Averages one field of the records for which another one is true.
//!
//! ```python
//! events = np.load("events.npy", mmap_mode="r")
//! print(events["energy"][events["valid"]].mean())
//! ```
//!
//! ```text
//! 0.5045359121503029
//! ```

use npymap::{MappedArray, Record, ndarray::Array1};

#[derive(Record)]
#[record(subset)]
struct Event {
    energy: f64,
    valid: bool,
}

fn main() -> npymap::Result<()> {
    // SAFETY: no other process changes the file.
    let events = unsafe { MappedArray::open("events.npy")? };
    let valid = events.view::<Event>()?.into_iter().filter(|event| event.valid);
    let energies: Array1<f64> = valid.map(|event| event.energy).collect();
    println!("{}", energies.mean().unwrap());
    Ok(())
}
