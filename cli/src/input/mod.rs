//! What commands read: files, members, streams, URLs and text, and what all folders
//! share: errors, text and progress.

pub(crate) mod arguments;
pub(crate) mod array_info;
pub(crate) mod array_path;
pub(crate) mod digest;
pub(crate) mod dtype_arg;
pub(crate) mod error;
pub(crate) mod escape;
pub(crate) mod float_text;
pub(crate) mod globs;
pub(crate) mod input_args;
pub(crate) mod input_rows;
pub(crate) mod inputs;
pub(crate) mod inspect;
pub(crate) mod json_value;
pub(crate) mod messages;
pub(crate) mod npz_inputs;
pub(crate) mod open;
pub(crate) mod parallel;
pub(crate) mod platform;
pub(crate) mod progress;
pub(crate) mod remote;
#[cfg(feature = "remote")]
pub(crate) mod remote_object;
pub(crate) mod row_blocks;
pub(crate) mod shape_arg;
pub(crate) mod stream;
pub(crate) mod stream_start;
pub(crate) mod style;
pub(crate) mod text;
pub(crate) mod text_format;
pub(crate) mod text_input;
pub(crate) mod threads;
pub(crate) mod trailing;
pub(crate) mod url;
pub(crate) mod walk;
