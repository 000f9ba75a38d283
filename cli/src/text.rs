//! Shapes, sizes and counts as text.

use humansize::{BINARY, format_size};
use npymap::any::Format;

/// The name of a format in JSON.
pub(crate) fn format_name(format: Format) -> &'static str {
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

/// `10.69 KiB`
pub(crate) fn size(bytes: usize) -> String {
    format_size(bytes, BINARY)
}

/// `1 row`, `2 rows`
pub(crate) fn plural(count: usize, thing: &str) -> String {
    format!("{count} {thing}{}", if count == 1 { "" } else { "s" })
}

/// `18 bytes`
pub(crate) fn byte_count(count: u64) -> String {
    format!("{count} byte{}", if count == 1 { "" } else { "s" })
}
