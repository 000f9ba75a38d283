//! Finds a token, with a type of its own for tokens.
//!
//! ```python
//! tokens = np.load("tokens.npy", mmap_mode="r")
//! print(np.flatnonzero(tokens == 11806))
//! ```
//!
//! ```text
//! [46, 1321, 1465]
//! ```

use npymap::{Element, MappedArray, bytemuck};

#[derive(Clone, Copy, PartialEq, bytemuck::Pod, bytemuck::Zeroable, Element)]
#[bytemuck(crate = "npymap::bytemuck")]
#[repr(transparent)]
struct TokenId(u16);

fn main() -> npymap::Result<()> {
    // SAFETY: no other process changes the file.
    let file = unsafe { MappedArray::open("tokens.npy")? };
    let tokens = file.as_slice::<TokenId>()?;
    let found: Vec<usize> =
        (0..tokens.len()).filter(|&position| tokens[position] == TokenId(11806)).collect();
    println!("{found:?}");
    Ok(())
}
