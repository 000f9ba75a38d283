//! Arrays that grow and shrink on the disk: rows are written after the elements,
//! then the header is updated in place. No maps are used.

mod appender;
mod new_appender;
mod open_or_create;
mod recover;
mod row_writer;
mod rows;
mod stored_header;

pub use appender::{Appender, resize};
pub(crate) use new_appender::NewAppender;
pub(crate) use open_or_create::{check_not_overwritten, check_rows_like};
pub(crate) use recover::Examined;
pub use recover::{RecoverOptions, Recovery};
