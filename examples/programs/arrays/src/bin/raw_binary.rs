//! Opens frames in raw binary after a header of 64 bytes.
//!
//! ```python
//! frames = np.memmap("frames.raw", "<i2", "r", offset=64, shape=(20, 32, 32))
//! print(frames[7].max())
//! ```
//!
//! ```text
//! 4095
//! ```

use npymap::{OpenOptions, Source, array::RawSpec};

fn main() -> npymap::Result<()> {
    let spec = RawSpec::new("<i2".parse()?).offset(64).shape(&[20, 32, 32]);
    // SAFETY: no other process changes the file.
    let frames = OpenOptions::new().raw(spec).open(unsafe { Source::map("frames.raw")? })?;
    println!("{}", frames.view::<i16>()?.index_axis(0, 7)?.stats().max.unwrap());
    Ok(())
}
