//! The `.npy` format: magic and version, header length, header text, and the
//! [`Header`] it says (`numpy.lib.format`, NEP 1).

mod encode;
mod header;
mod plain;
mod preamble;
mod text;

pub use encode::Encoded;
pub use header::Header;
pub(crate) use preamble::{MAGIC, fill};
pub use preamble::{Preamble, Version};
pub use text::HeaderText;

/// The limit on a header's length that NumPy has, in characters.
pub const MAX_HEADER_LEN: usize = 10_000;
