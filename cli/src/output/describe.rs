//! Descriptions of arrays for people.

use std::borrow::Cow;
use std::io::{self, Write};
use std::path::PathBuf;

use npymap::{ByteOrder, DType, Order, dtype::Kind, layout::Layout};

use crate::input::array_path::ArrayPath;
use crate::input::escape::safe;
use crate::input::inspect::{ArrayInfo, FileEntry};
use crate::input::style::{HEADING, LABEL};
use crate::input::text::{self, plural, shape};
use crate::input::trailing;
use crate::input::url::shown;
use crate::output::table::{self, Column};

/// An entry of the file at a path.
pub(crate) type Described = (PathBuf, FileEntry);

/// Prints that files contain no arrays.
pub(crate) fn print_empty(out: &mut impl Write, files: &[ArrayPath]) -> io::Result<()> {
    files.iter().try_for_each(|file| writeln!(out, "{}: no arrays", safe(shown(file.name()))))
}

/// Describes one entry in a few lines.
pub(crate) fn print_paragraph(out: &mut impl Write, (path, row): &Described) -> io::Result<()> {
    let member = row.member.as_ref().map_or_else(String::new, |member| format!("[{member}]"));
    let name = format!("{}{member}", safe(shown(path)));
    let Some(array) = row.array() else {
        return writeln!(out, "{HEADING}{name}{HEADING:#}\n  not an array");
    };
    let ArrayInfo { layout, order: axes, version, data_offset, digest, trailing } = array;
    let version = version.map_or_else(String::new, |version| format!(" {version}"));
    let storage = match data_offset {
        Some(offset) => format!("{}{version}, elements from byte {offset}", row.format),
        None => format!("{}{version}, deflated", row.format),
    };
    writeln!(out, "{HEADING}{name}{HEADING:#}")?;
    let mut lines = vec![
        ("dtype", dtype(layout.dtype())),
        ("shape", format!("{}, {}", shape(layout.shape()), order(*axes))),
        ("size ", size(layout)),
        ("file ", storage),
    ];
    lines.extend(row.info.iter().map(|info| ("info ", safe(info))));
    lines.extend(digest.iter().map(|digest| ("hash ", format!("sha256 {digest}"))));
    lines.extend(trailing.iter().map(|found| ("rest ", trailing::describe(found))));
    let room = table::terminal_width().map_or(usize::MAX, |width| table::left(width, INDENT));
    for (label, text) in lines {
        let text = wrapped(&text, room);
        writeln!(out, "  {LABEL}{label}{LABEL:#}  {text}")?;
    }
    print_fields(out, layout.dtype())
}

/// The width of the labels of a paragraph.
const INDENT: usize = 9;

/// Breaks a text before fields, so that it fits into lines of this width.
fn wrapped(text: &str, room: usize) -> String {
    let mut lines = String::new();
    let mut used = 0;
    for part in text.split_inclusive("), ") {
        let width = table::width(part.trim_end());
        if used > 0 && used + width > room {
            lines.truncate(lines.trim_end().len());
            lines.push('\n');
            lines.push_str(&" ".repeat(INDENT));
            used = 0;
        }
        lines.push_str(part);
        used += table::width(part);
    }
    lines
}

/// Lists the fields of a struct, and their own fields as `field.subfield`.
fn print_fields(out: &mut impl Write, dtype: &DType) -> io::Result<()> {
    if dtype.fields().is_empty() {
        return Ok(());
    }
    let mut columns = vec![
        Column::text("field"),
        Column::numbers("byte"),
        Column::text("dtype"),
        Column::text("axes"),
        Column::text("title"),
    ];
    add_fields(&mut columns, "", 0, dtype);
    if let Some(width) = table::terminal_width() {
        table::fit(&mut columns, table::left(width, 1));
    }
    let mut lines = Vec::new();
    table::print(&mut lines, &columns)?;
    let lines = String::from_utf8_lossy(&lines).into_owned();
    lines.lines().try_for_each(|line| writeln!(out, " {line}"))
}

fn add_fields(columns: &mut [Column], prefix: &str, start: usize, dtype: &DType) {
    for field in dtype.fields() {
        let name = format!("{prefix}{}", field.name());
        let (base, axes) = field.dtype.subarray().unwrap_or((&field.dtype, &[]));
        let cells = [
            safe(&name),
            (start + field.offset).to_string(),
            abbreviated(base),
            if axes.is_empty() { String::new() } else { shape(axes) },
            field.title.as_ref().map_or_else(String::new, safe),
        ];
        columns.iter_mut().zip(cells).for_each(|(column, cell)| column.push(cell));
        add_fields(columns, &format!("{name}."), start + field.offset, base);
    }
}

/// Prints a table with a row for each entry.
pub(crate) fn print_table(out: &mut impl Write, rows: &[Described]) -> io::Result<()> {
    let members = rows.iter().any(|(_, row)| row.member.is_some());
    let infos = rows.iter().any(|(_, row)| row.info.as_ref().is_some_and(|info| !info.is_empty()));
    let digests =
        rows.iter().any(|(_, row)| row.array().is_some_and(|array| array.digest.is_some()));
    let texts = |column: Column, text: &dyn Fn(&FileEntry) -> String| {
        column.with_cells(rows.iter().map(|(_, row)| text(row)))
    };
    // Other members have empty cells.
    let facts = |column: Column, text: fn(&ArrayInfo) -> String| {
        texts(column, &|row| row.array().map_or_else(String::new, text))
    };
    let elements = |array: &ArrayInfo| match array.data_offset {
        Some(offset) => format!("from byte {offset}"),
        None => "deflated".to_owned(),
    };
    let paths = rows.iter().map(|(path, _)| safe(shown(path)));
    let member =
        |row: &FileEntry| row.member.as_ref().map_or_else(String::new, ToString::to_string);
    let info = |row: &FileEntry| row.info.as_ref().map_or_else(String::new, safe);
    let dtype = |row: &FileEntry| match row.array() {
        Some(array) => abbreviated(array.layout.dtype()),
        None => "not an array".to_owned(),
    };
    let columns = [
        Some(Column::paths("file").with_cells(paths)),
        members.then(|| texts(Column::paths("member"), &member)),
        infos.then(|| texts(Column::text("info"), &info)),
        Some(texts(Column::text("dtype"), &dtype)),
        Some(facts(Column::text("shape"), |array| shape(array.layout.shape()))),
        Some(facts(Column::text("order"), |array| order(array.order).to_owned())),
        Some(facts(Column::numbers("size"), |array| text::size(array.layout.nbytes()))),
        members.then(|| facts(Column::text("elements"), elements)),
        digests.then(|| {
            facts(Column::numbers("sha256"), |array| array.digest.clone().unwrap_or_default())
        }),
    ];
    table::print_fitted(out, &mut columns.into_iter().flatten().collect::<Vec<_>>())
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

/// The dtype, or a summary of a long one.
pub(crate) fn abbreviated(dtype: &DType) -> String {
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

fn order(order: Order) -> &'static str {
    match order {
        Order::C => "C order",
        Order::F => "Fortran order",
    }
}

/// `10.69 KiB: 1368 elements of 8 bytes`
fn size(layout: &Layout) -> String {
    let itemsize = plural(layout.dtype().itemsize(), "byte");
    format!("{}: {} of {itemsize}", text::size(layout.nbytes()), plural(layout.len(), "element"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_dtypes_are_broken_before_fields() {
        let text = "[('a', '<f4'), ('b', '<f4', (3,)), ('c', '<U8')], 3 fields in 48 bytes";
        assert_eq!(wrapped(text, 100), text);
        let indent = format!("\n{}", " ".repeat(INDENT));
        let expected = text
            .replace("), ('b'", &format!("),{indent}('b'"))
            .replace("), ('c'", &format!("),{indent}('c'"));
        assert_eq!(wrapped(text, 30), expected);
        assert_eq!(wrapped("'<f8', float of 8 bytes", 5), "'<f8', float of 8 bytes");
    }
}
