//! Pads three texts of different lengths into one batch.
//!
//! ```python
//! tokens, offsets = np.load("tokens.npy", mmap_mode="r"), np.load("offsets.npy")
//! texts = [tokens[offsets[i] : offsets[i + 1]] for i in [5, 0, 9]]
//! batch = np.zeros((3, 32), "u2")
//! for row, text in zip(batch, texts):
//!     row[: len(text)] = text
//! print([len(text) for text in texts], batch[:, 3])
//! ```
//!
//! ```text
//! [9, 27, 2] [17100, 46143, 0]
//! ```

use npymap::{MappedArray, loader::Ragged, ndarray::Array2};

fn main() -> npymap::Result<()> {
    // SAFETY: no other process changes the file.
    let tokens = unsafe { MappedArray::open("tokens.npy")? };
    // SAFETY: as above.
    let offsets = unsafe { MappedArray::open("offsets.npy")? };
    let texts = Ragged::new(tokens.rows()?, offsets.rows()?)?;
    let mut batch = Array2::<u16>::zeros((3, 32));
    let lens = texts.take_padded(&[5, 0, 9], batch.as_slice_mut().unwrap(), 32, &0)?;
    println!("{lens:?} {}", batch.column(3));
    Ok(())
}
