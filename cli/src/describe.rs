//! What is said of an array for people to read.

use std::borrow::Cow;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use npymap::{ByteOrder, DType, Order, any::Format, dtype::Kind, layout::Layout};

use crate::array_info::{ArrayInfo, RawArrayInfo};
use crate::array_path::ArrayPath;
use crate::escape::safe;
use crate::inspect::{EntryContent, MemberName};
use crate::style::{HEADING, LABEL};
use crate::table::{self, Column};
use crate::text::{self, bytes, plural, shape};

/// What is said of an array, or of what stands where one could.
pub(crate) struct DescribedEntry {
    pub(crate) path: PathBuf,
    pub(crate) format: Format,
    pub(crate) member: Option<MemberName>,
    pub(crate) info: Option<String>,
    pub(crate) what: EntryContent,
}

impl DescribedEntry {
    fn array(&self) -> Option<&ArrayInfo> {
        match &self.what {
            EntryContent::Array(found) => Some(found),
            EntryContent::Other => None,
        }
    }

    fn member_name(&self) -> String {
        self.member.as_ref().map(ToString::to_string).unwrap_or_default()
    }

    fn info_text(&self) -> String {
        safe(self.info.as_deref().unwrap_or_default())
    }

    fn dtype_text(&self) -> String {
        self.array().map_or("no array".to_owned(), |found| short(found.layout.dtype()))
    }
}

/// Says that files hold nothing.
pub(crate) fn empty(out: &mut impl Write, files: &[ArrayPath]) -> io::Result<()> {
    files.iter().try_for_each(|file| writeln!(out, "{}: no arrays", safe(file.name().display())))
}

/// Describes one array in a few lines.
pub(crate) fn paragraph(out: &mut impl Write, row: &DescribedEntry) -> io::Result<()> {
    let member = row.member.as_ref().map(|member| format!("[{member}]")).unwrap_or_default();
    let name = format!("{}{member}", safe(row.path.display()));
    let EntryContent::Array(found) = &row.what else {
        return writeln!(out, "{HEADING}{name}{HEADING:#}\n  no array");
    };
    lines(out, &name, text::format(row.format), row.info.as_deref(), found)
}

/// Describes an array without a header.
pub(crate) fn raw_paragraph(
    out: &mut impl Write,
    path: &Path,
    array: &RawArrayInfo,
) -> io::Result<()> {
    lines(out, &safe(path.display()), "raw", None, &ArrayInfo::from(array))
}

fn lines(
    out: &mut impl Write,
    name: &str,
    format: &str,
    info: Option<&str>,
    found: &ArrayInfo,
) -> io::Result<()> {
    let ArrayInfo { layout, order: axes, version, data_offset, digest } = found;
    let version = version.map(|version| format!(" {version}")).unwrap_or_default();
    let place = match data_offset {
        Some(offset) => format!("{format}{version}, elements from byte {offset}"),
        None => format!("{format}{version}, deflated"),
    };
    writeln!(out, "{HEADING}{name}{HEADING:#}")?;
    let mut lines = vec![
        ("dtype", dtype(layout.dtype())),
        ("shape", format!("{}, {}", shape(layout.shape()), order(*axes))),
        ("size ", size(layout)),
        ("file ", place),
    ];
    lines.extend(info.iter().map(|info| ("info ", safe(info))));
    lines.extend(digest.iter().map(|digest| ("hash ", format!("sha256 {digest}"))));
    for (label, text) in lines {
        writeln!(out, "  {LABEL}{label}{LABEL:#}  {text}")?;
    }
    fields(out, layout.dtype())
}

/// Lists the fields of a struct, and after a dot those of its fields.
fn fields(out: &mut impl Write, dtype: &DType) -> io::Result<()> {
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
        table::fit(&mut columns, width.saturating_sub(1));
    }
    let mut lines = Vec::new();
    table::print(&mut lines, &columns)?;
    let lines = String::from_utf8_lossy(&lines).into_owned();
    lines.lines().try_for_each(|line| writeln!(out, " {line}"))
}

fn add_fields(columns: &mut [Column], before: &str, start: usize, dtype: &DType) {
    for field in dtype.fields() {
        let name = format!("{before}{}", field.name());
        let (base, axes) = field.dtype.subarray().unwrap_or((&field.dtype, &[]));
        let cells = [
            safe(&name),
            (start + field.offset).to_string(),
            short(base),
            if axes.is_empty() { String::new() } else { shape(axes) },
            safe(field.title.as_deref().unwrap_or("")),
        ];
        columns.iter_mut().zip(cells).for_each(|(column, cell)| column.push(cell));
        add_fields(columns, &format!("{name}."), start + field.offset, base);
    }
}

/// Describes several arrays, a row each.
pub(crate) fn table(out: &mut impl Write, rows: &[DescribedEntry]) -> io::Result<()> {
    let members = rows.iter().any(|row| row.member.is_some());
    let infos = rows.iter().any(|row| row.info.as_ref().is_some_and(|info| !info.is_empty()));
    let digests = rows.iter().any(|row| row.array().is_some_and(|found| found.digest.is_some()));
    let columns = [
        (true, Column::paths("file"), rows.iter().map(|row| safe(row.path.display())).collect()),
        (members, Column::paths("member"), rows.iter().map(DescribedEntry::member_name).collect()),
        (infos, Column::text("info"), rows.iter().map(DescribedEntry::info_text).collect()),
        (true, Column::text("dtype"), rows.iter().map(DescribedEntry::dtype_text).collect()),
        (true, Column::text("shape"), cells(rows, |found| shape(found.layout.shape()))),
        (true, Column::text("order"), cells(rows, |found| order(found.order).to_owned())),
        (true, Column::numbers("size"), cells(rows, |found| bytes(found.layout.nbytes()))),
        (members, Column::text("elements"), cells(rows, elements)),
        (
            digests,
            Column::numbers("sha256"),
            cells(rows, |found| found.digest.clone().unwrap_or_default()),
        ),
    ];
    let shown = columns.into_iter().filter(|(is_shown, ..)| *is_shown);
    let mut columns: Vec<Column> = shown
        .map(|(_, mut column, cells): (_, _, Vec<String>)| {
            for cell in cells {
                column.push(cell);
            }
            column
        })
        .collect();
    if let Some(width) = table::terminal_width() {
        table::fit(&mut columns, width);
    }
    table::print(out, &columns)
}

/// A cell for each array, and empty ones for other members.
fn cells(rows: &[DescribedEntry], cell: impl Fn(&ArrayInfo) -> String) -> Vec<String> {
    rows.iter().map(|row| row.array().map(&cell).unwrap_or_default()).collect()
}

fn elements(found: &ArrayInfo) -> String {
    found.data_offset.map_or("deflated".to_owned(), |offset| format!("from byte {offset}"))
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
