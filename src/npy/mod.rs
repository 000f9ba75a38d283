//! The `.npy` format (`numpy.lib.format`, NEP 1): magic, version, header
//! length, and the text of the [`Header`].

mod dictionary;
mod encode;
mod header;
mod preamble;
mod text;

pub use encode::Encoded;
pub use header::Header;
pub(crate) use preamble::{MAGIC, fill};
pub use preamble::{Preamble, Version};
pub use text::HeaderText;

/// NumPy's limit on the length of a header, in characters.
pub const MAX_HEADER_LEN: usize = 10_000;
