//! `npymap header`: corrects the header of a file in place.

use crate::input::lengths::{to_u64, to_usize};
use std::fs::File;
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::Path;

use clap::Args;
use npymap::npy::{HeaderText, Preamble, Version};
use npymap::{DType, Error, Header, Order};
use serde_json::json;

use crate::input::array_path::ArrayPath;
use crate::input::dtype_arg;
use crate::input::error::{At as _, CliError, rephrase_advice};
use crate::input::escape::safe;
use crate::input::shape_arg::{self, PartialShape};
use crate::input::{header_len, text};
use crate::output::edit;
use crate::output::locking::WaitArgs;
use crate::output::report;

/// Correct the header of a .npy file in place, or check it.
///
/// This changes the description of the elements (dtype, shape or order), but
/// not their bytes. The new header must fit into the space of the current
/// header, and describe exactly the bytes of the file. Otherwise, the file
/// stays the same, and the message says what would work. If the header cannot
/// be read, give both --dtype and --shape. Without options, this only checks
/// the header.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  npymap header log.npy --dry-run --shape -1,4
  npymap header frames.npy --dtype '>i2' --shape '(100, 480, 640)'
  npymap header columns.npy --order F
  npymap header log.npy

Exit status: 0 if the header was changed or is correct, 1 if it cannot be changed
in place, 2 for a usage error.")]
pub(crate) struct HeaderArgs {
    /// New length of each axis. One can be -1, to be computed from the length
    /// of the file
    #[arg(long, value_parser = shape_arg::parse)]
    shape: Option<PartialShape>,

    /// New dtype: type string such as f8 or '>i4', or list of fields
    #[arg(long, value_parser = dtype_arg::parse)]
    dtype: Option<DType>,

    /// New memory order: the last axis varies fastest (C) or the first (F)
    #[arg(long, value_parser = shape_arg::order_parser(), value_name = "C|F")]
    order: Option<Order>,

    /// Print what would be done, without doing it
    #[arg(long)]
    dry_run: bool,

    /// Print a JSON object
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    wait: WaitArgs,

    /// .npy file
    file: ArrayPath,
}

const MEMBER: &str = "the headers of members cannot be changed in place: write the array to a .npy file with `npymap convert`";

const UNREADABLE: &str = "give both its --dtype and its --shape";

/// The header of a file, and the bytes that follow it.
struct StoredHeader {
    preamble: Preamble,
    /// The bytes before the first element.
    bytes: Vec<u8>,
    parsed: Result<Header, Error>,
    /// The number of bytes after the header.
    nbytes: u64,
}

impl HeaderArgs {
    pub(crate) fn run(&self) -> Result<(), CliError> {
        let path = self.file.require_file(MEMBER)?;
        edit::reject_stream(&self.file)?;
        let is_written = !self.dry_run && !self.is_check();
        let lock = if is_written { self.wait.lock(path).at(path)? } else { None };
        let opened = File::options().read(true).write(is_written).open(path);
        let file = opened.map_err(CliError::io(path, "open"))?;
        lock.as_ref().map_or(Ok(()), |lock| lock.check(path)).at(path)?;
        let stored = StoredHeader::read(path, &file)?;
        let header = self.new_header(path, &stored)?;
        let bytes = encode(path, &header)?;
        if is_written && bytes != stored.bytes {
            write(&file, &bytes, &stored.bytes).map_err(CliError::io(path, "write the header"))?;
        }
        // Without a change, the text may still differ from NumPy's.
        let is_changed = !self.is_check() && bytes != stored.bytes;
        let done =
            if is_changed && is_written { "the header was changed" } else { "nothing was changed" };
        let line = json!({
            "path": path.display().to_string(),
            "old": stored.parsed.as_ref().ok().map(facts),
            "new": facts(&header),
            "changed": is_changed,
            "done": is_changed && is_written,
        });
        let text = self.text(path, &stored, &header, is_changed);
        report::done(path, done, self.json.then_some(line), &text)
    }

    /// Returns whether the header is only checked.
    fn is_check(&self) -> bool {
        self.shape.is_none() && self.dtype.is_none() && self.order.is_none()
    }

    /// The header with the requested changes, whose elements take exactly the
    /// bytes of the file.
    fn new_header(&self, path: &Path, stored: &StoredHeader) -> Result<Header, CliError> {
        let (dtype, own, order) = match (&stored.parsed, &self.dtype) {
            (Ok(old), dtype) => {
                let order = self.order.unwrap_or(old.order);
                (dtype.as_ref().unwrap_or(&old.dtype), old.shape.as_slice(), order)
            }
            (Err(_), Some(dtype)) if self.shape.is_some() => {
                (dtype, &[][..], self.order.unwrap_or(Order::C))
            }
            (Err(error), _) => {
                let error = rephrase_advice(error);
                let what = format!("a header that cannot be read: {error}: {UNREADABLE}");
                return Err(CliError::mismatch(path, what));
            }
        };
        let count = stored.nbytes / to_u64(dtype.itemsize().max(1));
        let shape = match &self.shape {
            Some(shape) => shape.fill(to_usize(count)).at(path)?,
            None => own.to_vec(),
        };
        let mut header = Header::new(dtype.clone(), &shape, order).at(path)?;
        let needed = header.layout().at(path)?.nbytes();
        header.version = stored.preamble.version();
        header.data_offset = stored.bytes.len();
        if to_u64(needed) == stored.nbytes {
            return Ok(header);
        }
        let (found, wanted) = (text::byte_count(stored.nbytes), text::shape(&shape));
        let advice = fitting_shape(&header, stored.nbytes);
        let what =
            format!("{found} of elements, but shape {wanted} of {dtype} takes {needed}: {advice}");
        Err(CliError::mismatch(path, what))
    }

    fn text(&self, path: &Path, stored: &StoredHeader, new: &Header, is_changed: bool) -> String {
        let (path, new) = (safe(path.display()), safe(description(new)));
        match (&stored.parsed, is_changed) {
            (_, false) => format!("{path}: unchanged, {new}"),
            (Ok(old), true) => {
                let becomes = if self.dry_run { "would become" } else { "is now" };
                format!("{path}: {} {becomes} {new}", safe(description(old)))
            }
            (Err(_), true) => {
                let becomes = if self.dry_run { "would be" } else { "is now" };
                format!("{path}: {becomes} {new}")
            }
        }
    }
}

impl StoredHeader {
    fn read(path: &Path, file: &File) -> Result<StoredHeader, CliError> {
        let io_error = CliError::io(path, "read the header");
        let len = file.metadata().map_err(&io_error)?.len();
        let mut reader = file;
        let text = HeaderText::read(&mut reader, header_len::max()).at(path)?;
        let preamble = text.preamble();
        let mut bytes = Vec::new();
        reader.rewind().map_err(&io_error)?;
        let read = reader.take(preamble.data_offset()).read_to_end(&mut bytes);
        read.map_err(&io_error)?;
        let nbytes = len.max(preamble.data_offset()) - preamble.data_offset();
        Ok(StoredHeader { preamble, bytes, parsed: text.header(), nbytes })
    }
}

/// The bytes of a header that replace those in the file.
fn encode(path: &Path, header: &Header) -> Result<Vec<u8>, CliError> {
    let encoded = header.encode_in_place().or_else(|_| {
        // Names that are not Latin-1 need another version.
        let mut header = header.clone();
        header.version = Version::V3;
        header.encode_in_place()
    });
    if let Some(bytes) = encoded.at(path)? {
        return Ok(bytes);
    }
    let needed = header.encode(None).at(path)?.bytes.len();
    let (dtype, shape) = (shell_quoted(&header.dtype), text::shape(&header.shape));
    let order = if header.order == Order::F { " --order F" } else { "" };
    let what = format!(
        "{} bytes for its header, and the new one takes {needed}: copy the elements with `npymap convert --raw {dtype} --offset {} --shape '{shape}'{order} IN OUT.npy`",
        header.data_offset, header.data_offset
    );
    Err(CliError::mismatch(path, what))
}

/// Overwrites the header. If that fails, the old one is restored.
fn write(mut file: &File, bytes: &[u8], old: &[u8]) -> io::Result<()> {
    file.rewind()?;
    if let Err(error) = file.write_all(bytes) {
        let restored = file.rewind().and_then(|()| file.write_all(old));
        return Err(restored.err().unwrap_or(error));
    }
    file.sync_all()
}

/// Advice on a shape that fits the size of the file.
fn fitting_shape(header: &Header, nbytes: u64) -> String {
    let itemsize = header.dtype.itemsize();
    let axes = (0..header.shape.len()).rev();
    // Rows are appended along the slowest axis.
    let axes: Vec<usize> =
        if header.order == Order::C { axes.rev().collect() } else { axes.collect() };
    let fits = |axis| {
        let shape = PartialShape::unknown_along(&header.shape, axis);
        shape.of_bytes(nbytes, itemsize).ok()
    };
    if let Some(shape) = axes.into_iter().find_map(fits) {
        return format!("--shape '{}' would fit", text::shape(&shape));
    }
    let nbytes = to_usize(nbytes);
    match nbytes.checked_div(itemsize) {
        None => "no shape fits, because these elements have no bytes".to_owned(),
        Some(count) if count * itemsize == nbytes => {
            format!("shapes of {} would fit", text::plural(count, "element"))
        }
        _ => format!(
            "no shape fits, because it is not a multiple of {itemsize}: `npymap recover` drops an incomplete row"
        ),
    }
}

/// `'<f8', shape (342, 4), C order`
fn description(header: &Header) -> String {
    let order = if header.order == Order::F { "Fortran" } else { "C" };
    format!("{}, shape {}, {order} order", header.dtype, text::shape(&header.shape))
}

fn facts(header: &Header) -> serde_json::Value {
    json!({
        "descr": header.dtype.to_string(),
        "shape": header.shape,
        "fortran_order": header.order == Order::F,
    })
}

/// A dtype as a word of a shell command.
fn shell_quoted(dtype: &DType) -> String {
    let text = dtype.to_string();
    if text.starts_with('\'') {
        text
    } else if text.contains(['\\', '"', '$', '`', '!']) {
        format!("'{}'", text.replace('\'', r"'\''"))
    } else {
        format!("\"{text}\"")
    }
}
