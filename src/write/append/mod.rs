//! Arrays that get longer, and shorter, on the disk: rows are written behind
//! the elements, then the header's digits are changed where they stand. No
//! maps.

mod appender;
mod recover;
mod row_writer;
mod rows;
mod stored_header;

pub use appender::{Appender, resize};
pub use recover::{RecoverOptions, Recovery, recover};
