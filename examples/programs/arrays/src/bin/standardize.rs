//! Gives each column a mean of 0 and a standard deviation of 1.
//!
//! ```python
//! table = np.load("table.npy", mmap_mode="r")
//! standard = (table - table.mean(axis=0)) / table.std(axis=0)
//! np.save("standard.npy", standard)
//! print(standard[0])
//! ```
//!
//! ```text
//! [1.2805493722290893, 0.164372137794201, -0.9105075510092538, 1.4331308438663108, 0.37206112406035374, -0.7924667517290905, 1.6885353475597373, 0.5695188477338603]
//! ```

use npymap::{
    MappedArray, WriteOptions,
    ndarray::{Axis, Ix2},
};

fn main() -> npymap::Result<()> {
    // SAFETY: no other process changes the file.
    let table = unsafe { MappedArray::open("table.npy")? };
    let table = table.as_ndarray::<f64, Ix2>()?;
    let standard = (&table - &table.mean_axis(Axis(0)).unwrap()) / table.std_axis(Axis(0), 0.0);
    WriteOptions::new().write("standard.npy", &standard)?;
    println!("{}", standard.row(0));
    Ok(())
}
