//! What is said of an array for people to read.

use std::borrow::Cow;
use std::fmt::Display;
use std::io::{self, Write};
use std::path::Path;

use comfy_table::presets::NOTHING;
use comfy_table::{Cell, CellAlignment, Table};
use humansize::{BINARY, format_size};
use npymap::{ByteOrder, DType, Kind, Layout, Order};

use crate::found::{Found, FoundRaw};
use crate::style::{ERROR, HEADING, LABEL};

/// Says on standard error what went wrong.
pub(crate) fn error(message: &dyn Display) {
    anstream::eprintln!("{ERROR}error:{ERROR:#} {message}");
}

/// Describes one array in a few lines.
pub(crate) fn paragraph(out: &mut impl Write, path: &Path, array: &Found) -> io::Result<()> {
    let Found { header, layout, digest } = array;
    let file = format!("npy {}, elements from byte {}", header.version, header.data_offset);
    lines(out, path, layout, header.order, file, digest.as_deref())
}

/// Describes an array without a header.
pub(crate) fn raw_paragraph(out: &mut impl Write, path: &Path, array: &FoundRaw) -> io::Result<()> {
    let FoundRaw { layout, order, offset, digest } = array;
    lines(out, path, layout, *order, format!("raw, elements from byte {offset}"), digest.as_deref())
}

fn lines(
    out: &mut impl Write,
    path: &Path,
    layout: &Layout,
    order: Order,
    file: String,
    digest: Option<&str>,
) -> io::Result<()> {
    let mut lines = vec![
        ("dtype", dtype(layout.dtype())),
        ("shape", format!("{}, {}", shape(layout.shape()), self::order(order))),
        ("size ", size(layout)),
        ("file ", file),
    ];
    lines.extend(digest.iter().map(|digest| ("hash ", format!("sha256 {digest}"))));
    writeln!(out, "{HEADING}{}{HEADING:#}", path.display())?;
    for (label, text) in lines {
        writeln!(out, "  {LABEL}{label}{LABEL:#}  {text}")?;
    }
    Ok(())
}

/// Describes several arrays, a row each.
pub(crate) fn table(out: &mut impl Write, arrays: &[(&Path, Found)]) -> io::Result<()> {
    let mut table = Table::new();
    table.load_style(NOTHING);
    let digests = arrays.iter().any(|(_, array)| array.digest.is_some());
    let headings = ["file", "dtype", "shape", "order", "size"].into_iter();
    table.set_header(headings.chain(digests.then_some("sha256")).map(heading));
    for (path, Found { header, layout, digest }) in arrays {
        let mut row = vec![
            Cell::new(path.display()),
            Cell::new(short(&header.dtype)),
            Cell::new(shape(&header.shape)),
            Cell::new(order(header.order)),
            Cell::new(bytes(layout.nbytes())).set_alignment(CellAlignment::Right),
        ];
        row.extend(digest.iter().map(Cell::new));
        table.add_row(row);
    }
    writeln!(out, "{}", table.trim_fmt())
}

pub(crate) fn heading(text: &str) -> Cell {
    Cell::new(text).add_attribute(comfy_table::Attribute::Bold)
}

/// `'<f8', float of 8 bytes, little-endian`
fn dtype(dtype: &DType) -> String {
    let order = match dtype.byte_order() {
        ByteOrder::Little => ", little-endian",
        ByteOrder::Big => ", big-endian",
        ByteOrder::NotApplicable => "",
    };
    format!("{dtype}, {}{order}", kind(dtype))
}

/// The dtype, or what it amounts to when it is long.
fn short(dtype: &DType) -> String {
    let text = dtype.to_string();
    if text.len() <= 40 { text } else { kind(dtype).into_owned() }
}

fn kind(dtype: &DType) -> Cow<'static, str> {
    let bytes = plural(dtype.itemsize(), "byte");
    let name = match dtype.kind() {
        Kind::Bool => return "boolean".into(),
        Kind::Int => "integer",
        Kind::UInt => "unsigned integer",
        Kind::Float => "float",
        Kind::Complex => "complex",
        Kind::TimeDelta => return "time difference".into(),
        Kind::DateTime => return "date".into(),
        Kind::Bytes => "text",
        Kind::Unicode => {
            return format!("text of {}", plural(dtype.itemsize() / 4, "character")).into();
        }
        Kind::Struct => {
            return format!("{} in {bytes}", plural(dtype.fields().len(), "field")).into();
        }
        _ => "void",
    };
    format!("{name} of {bytes}").into()
}

/// The shape as Python prints it.
pub(crate) fn shape(shape: &[usize]) -> String {
    if let [one] = shape {
        return format!("({one},)");
    }
    let axes: Vec<_> = shape.iter().map(ToString::to_string).collect();
    format!("({})", axes.join(", "))
}

fn order(order: Order) -> &'static str {
    match order {
        Order::C => "C order",
        Order::F => "Fortran order",
    }
}

/// `10.69 KiB: 1368 elements of 8 bytes`
fn size(layout: &Layout) -> String {
    let each = plural(layout.dtype().itemsize(), "byte");
    format!("{}: {} of {each}", bytes(layout.nbytes()), plural(layout.len(), "element"))
}

pub(crate) fn bytes(count: usize) -> String {
    format_size(count, BINARY)
}

/// How many columns of a terminal text takes, nearly: some characters take two.
pub(crate) fn width(text: &str) -> usize {
    text.chars().map(|c| if matches!(c, '\u{1100}'..='\u{115f}' | '\u{2e80}'..='\u{ffdc}' | '\u{1f300}'..='\u{3fffd}') { 2 } else { 1 }).sum()
}

/// Text that takes at most so many columns, with an ellipsis when it is cut.
pub(crate) fn shortened(text: &str, room: usize) -> String {
    if width(text) <= room {
        return text.to_owned();
    }
    let mut short = String::new();
    for c in text.chars() {
        if width(&short) + 2 > room {
            break;
        }
        short.push(c);
    }
    short + "…"
}

pub(crate) fn plural(count: usize, thing: &str) -> String {
    format!("{count} {thing}{}", if count == 1 { "" } else { "s" })
}

/// `18 bytes`
pub(crate) fn bytes_exactly(count: u64) -> String {
    format!("{count} byte{}", if count == 1 { "" } else { "s" })
}
