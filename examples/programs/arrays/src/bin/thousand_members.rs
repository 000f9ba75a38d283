//! Adds the squares of all weights in an archive of 1,000 arrays.
//!
//! ```python
//! weights = np.load("weights.npz")
//! print(sum((weights[name] ** 2).sum() for name in weights))
//! ```
//!
//! ```text
//! 1696.439863226198
//! ```

use npymap::{Npz, Source};

fn main() -> npymap::Result<()> {
    // SAFETY: no other process changes the file.
    let weights = Npz::open(unsafe { Source::map("weights.npz")? })?;
    let mut sum = 0.0;
    for member in weights.members() {
        sum += member.open()?.view::<f64>()?.iter().fold(0.0, |sum, x| sum + x * x);
    }
    println!("{sum}");
    Ok(())
}
