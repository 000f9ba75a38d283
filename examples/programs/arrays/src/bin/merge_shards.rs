//! Joins four files into one, without holding them in memory.
//!
//! ```python
//! parts = [np.load(f"part-{i}.npy", mmap_mode="r") for i in range(4)]
//! np.save("merged.npy", np.concatenate(parts))
//! print(np.load("merged.npy", mmap_mode="r").shape)
//! ```
//!
//! ```text
//! [1000, 8]
//! ```

use npymap::{Appender, ArrayFile, CreateOptions, DType, MappedArray};

fn main() -> npymap::Result<()> {
    let mut merged =
        Appender::create("merged.npy", &DType::of::<f32>(), &[8], &CreateOptions::new())?;
    for number in 0..4 {
        // SAFETY: no other process changes the file.
        let part = unsafe { MappedArray::open(format!("part-{number}.npy"))? };
        merged.append_slice(part.as_slice::<f32>()?)?;
    }
    merged.close()?;
    println!("{:?}", ArrayFile::open("merged.npy")?.shape());
    Ok(())
}
