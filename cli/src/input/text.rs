//! Shapes, sizes and counts as text, and the code points of text.

use humansize::{BINARY, format_size};
use npymap::any::Format;
use npymap::{ByteOrder, DType};

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

/// The code points of an element of dtype `U`, without its trailing NULs. They need not
/// be valid Unicode.
pub(crate) fn code_points(dtype: &DType, element: &[u8]) -> Vec<u32> {
    let is_big = dtype.byte_order() == ByteOrder::Big;
    let points = element.chunks_exact(4).map(|point| {
        let point = point.try_into().unwrap_or_default();
        if is_big { u32::from_be_bytes(point) } else { u32::from_le_bytes(point) }
    });
    let mut points: Vec<u32> = points.collect();
    points.truncate(points.iter().rposition(|&point| point != 0).map_or(0, |last| last + 1));
    points
}
