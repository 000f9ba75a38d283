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
    let tokens = unsafe { MappedArray::open("tokens.npy")? };
    let found = tokens.view::<TokenId>()?.flatnonzero(|token| token == TokenId(11806));
    println!("{found:?}");
    Ok(())
}
