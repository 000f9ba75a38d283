//! Words that several commands use: what they call things, and counts.

use std::fmt::Display;
use std::path::Path;

use humansize::{BINARY, format_size};
use npymap::any::Format;

use crate::error::advised;
use crate::escape::safe;
use crate::style::{ERROR, LABEL};

/// Says on standard error what went wrong.
pub(crate) fn error(message: &dyn Display) {
    anstream::eprintln!("{ERROR}error:{ERROR:#} {}", safe(advised(message)));
}

/// Says on standard error what is worth knowing.
pub(crate) fn note(message: &dyn Display) {
    anstream::eprintln!("{LABEL}note:{LABEL:#} {}", safe(message));
}

/// Says on standard error that another process writes a file.
pub(crate) fn waiting(path: &Path) {
    note(&format_args!("{}: waiting for another process that is writing it", path.display()));
}

/// What `--json` calls a format.
pub(crate) fn format(format: Format) -> &'static str {
    match format {
        Format::Npz => "npz",
        Format::Ten => "ten",
        Format::Tar => "tar",
        _ => "npy",
    }
}

/// The shape as Python prints it.
pub(crate) fn shape(shape: &[usize]) -> String {
    if let [one] = shape {
        return format!("({one},)");
    }
    let axes: Vec<_> = shape.iter().map(ToString::to_string).collect();
    format!("({})", axes.join(", "))
}

pub(crate) fn bytes(count: usize) -> String {
    format_size(count, BINARY)
}

pub(crate) fn plural(count: usize, thing: &str) -> String {
    format!("{count} {thing}{}", if count == 1 { "" } else { "s" })
}

/// `18 bytes`
pub(crate) fn bytes_exactly(count: u64) -> String {
    format!("{count} byte{}", if count == 1 { "" } else { "s" })
}
