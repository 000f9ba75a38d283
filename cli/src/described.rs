//! What is said of an array for people to read.

use std::borrow::Cow;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use comfy_table::presets::NOTHING;
use comfy_table::{Cell, CellAlignment, Table};
use npymap::{ByteOrder, DType, Format, Kind, Layout, Order};

use crate::found::{Found, FoundRaw};
use crate::members::{Name, What};
use crate::place::Place;
use crate::style::{HEADING, LABEL};
use crate::words::{self, bytes, heading, plural, shape};

/// What is said of an array, or of what stands where one could.
pub(crate) struct Row {
    pub(crate) path: PathBuf,
    pub(crate) format: Format,
    pub(crate) member: Option<Name>,
    pub(crate) info: Option<String>,
    pub(crate) what: What,
}

/// Says that files hold nothing.
pub(crate) fn empty(out: &mut impl Write, files: &[Place]) -> io::Result<()> {
    files.iter().try_for_each(|file| writeln!(out, "{}: no arrays", file.name().display()))
}

/// Describes one array in a few lines.
pub(crate) fn paragraph(out: &mut impl Write, row: &Row) -> io::Result<()> {
    let member = row.member.as_ref().map(|member| format!("[{member}]")).unwrap_or_default();
    let name = format!("{}{member}", row.path.display());
    let What::Array(found) = &row.what else {
        return writeln!(out, "{HEADING}{name}{HEADING:#}\n  no array");
    };
    lines(out, &name, words::format(row.format), row.info.as_deref(), found)
}

/// Describes an array without a header.
pub(crate) fn raw_paragraph(out: &mut impl Write, path: &Path, array: &FoundRaw) -> io::Result<()> {
    lines(out, &path.display().to_string(), "raw", None, &Found::from(array))
}

fn lines(
    out: &mut impl Write,
    name: &str,
    format: &str,
    info: Option<&str>,
    found: &Found,
) -> io::Result<()> {
    let Found { layout, order: axes, version, data_offset, digest } = found;
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
    lines.extend(info.iter().map(|info| ("info ", (*info).to_owned())));
    lines.extend(digest.iter().map(|digest| ("hash ", format!("sha256 {digest}"))));
    for (label, text) in lines {
        writeln!(out, "  {LABEL}{label}{LABEL:#}  {text}")?;
    }
    fields(out, layout.dtype())
}

/// Lists the fields of a struct, those of its fields behind a dot.
fn fields(out: &mut impl Write, dtype: &DType) -> io::Result<()> {
    let mut rows = Vec::new();
    add_fields(&mut rows, "", 0, dtype);
    if rows.is_empty() {
        return Ok(());
    }
    let mut table = Table::new();
    table.load_style(NOTHING);
    table.set_header(["field", "byte", "dtype", "axes", "title"].map(heading));
    for row in rows {
        table.add_row(row);
    }
    let lines = table.trim_fmt();
    lines.lines().try_for_each(|line| writeln!(out, " {line}"))
}

fn add_fields(rows: &mut Vec<Vec<Cell>>, before: &str, start: usize, dtype: &DType) {
    for field in dtype.fields() {
        let name = format!("{before}{}", field.name);
        let (base, axes) = field.dtype.subarray().unwrap_or((&field.dtype, &[]));
        rows.push(vec![
            Cell::new(&name),
            Cell::new(start + field.offset).set_alignment(CellAlignment::Right),
            Cell::new(short(base)),
            Cell::new(if axes.is_empty() { String::new() } else { shape(axes) }),
            Cell::new(field.title.as_deref().unwrap_or("")),
        ]);
        add_fields(rows, &format!("{name}."), start + field.offset, base);
    }
}

/// Describes several arrays, a row each.
pub(crate) fn table(out: &mut impl Write, rows: &[Row]) -> io::Result<()> {
    let members = rows.iter().any(|row| row.member.is_some());
    let infos = rows.iter().any(|row| row.info.as_ref().is_some_and(|info| !info.is_empty()));
    let digest = |row: &Row| matches!(&row.what, What::Array(found) if found.digest.is_some());
    let digests = rows.iter().any(digest);
    let mut table = Table::new();
    table.load_style(NOTHING);
    let headings = ["file"].into_iter().chain(members.then_some("member"));
    let headings = headings.chain(infos.then_some("info"));
    let headings = headings.chain(["dtype", "shape", "order", "size"]);
    let headings = headings.chain(members.then_some("elements"));
    table.set_header(headings.chain(digests.then_some("sha256")).map(heading));
    for row in rows {
        let mut cells = vec![Cell::new(row.path.display())];
        let member = row.member.as_ref().map(ToString::to_string).unwrap_or_default();
        cells.extend(members.then(|| Cell::new(member)));
        cells.extend(infos.then(|| Cell::new(row.info.as_deref().unwrap_or_default())));
        if let What::Array(found) = &row.what {
            cells.extend(described(found, members));
        } else {
            cells.push(Cell::new("no array"));
        }
        table.add_row(cells);
    }
    writeln!(out, "{}", table.trim_fmt())
}

/// The cells that say what an array is.
fn described(found: &Found, members: bool) -> Vec<Cell> {
    let Found { layout, order: axes, data_offset, digest, .. } = found;
    let mut cells = vec![
        Cell::new(short(layout.dtype())),
        Cell::new(shape(layout.shape())),
        Cell::new(order(*axes)),
        Cell::new(bytes(layout.nbytes())).set_alignment(CellAlignment::Right),
    ];
    cells.extend(members.then(|| match data_offset {
        Some(offset) => Cell::new(format!("from byte {offset}")),
        None => Cell::new("deflated"),
    }));
    cells.extend(digest.iter().map(Cell::new));
    cells
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
