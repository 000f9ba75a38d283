//! Shapes, sizes and counts as text, and the code points of text.

use humansize::{BINARY, format_size};

use npymap::{ByteOrder, DType};

/// The shape as Python prints it.
pub(crate) fn shape(shape: &[usize]) -> String {
    if let [one] = shape {
        return format!("({one},)");
    }
    let axes: Vec<_> = shape.iter().map(ToString::to_string).collect();
    format!("({})", axes.join(", "))
}

/// The path of a field in another one: `pos.z`.
pub(crate) fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

/// The name of an array, of the name of its file or member.
pub(crate) fn without_npy(name: &str) -> String {
    name.strip_suffix(".npy").unwrap_or(name).to_owned()
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
    let (points, _) = element.as_chunks();
    let points = points
        .iter()
        .map(|&point| if is_big { u32::from_be_bytes(point) } else { u32::from_le_bytes(point) });
    let mut points: Vec<u32> = points.collect();
    points.truncate(points.iter().rposition(|&point| point != 0).map_or(0, |last| last + 1));
    points
}
