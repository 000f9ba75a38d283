//! Options of commands that read arrays, and opening their inputs: files,
//! members, raw binary files and standard input.

use std::path::Path;

use clap::Args;
use npymap::any::{AnyFile, Npy};
use npymap::{
    DType, Error, ErrorKind, MappedArray, OpenOptions, Order, Result, array::RawSpec,
    npy::MAX_HEADER_LEN,
};

use crate::array_path::ArrayPath;
use crate::new_file::OrderArg;
use crate::open;

/// How to read inputs.
#[derive(Args, Clone, Debug)]
pub(crate) struct InputArgs {
    #[command(flatten)]
    pub(crate) file: FileArgs,

    /// With --raw, memory order: the last axis varies fastest (C) or the first
    /// (F)
    #[arg(
        long = "order",
        id = "raw_order",
        value_enum,
        requires = "raw",
        hide_possible_values = true,
        value_name = "C|F"
    )]
    pub(crate) raw_order: Option<OrderArg>,
}

impl InputArgs {
    /// Opens an array.
    pub(crate) fn array(&self, input: &ArrayPath) -> Result<MappedArray> {
        self.options().array(input)
    }

    pub(crate) fn options(&self) -> InputOptions<'_> {
        self.file.options(self.raw_order.map_or(Order::C, Order::from))
    }
}

/// The options without the memory order of raw files, for commands with an
/// option `--order` of their own.
#[derive(Args, Clone, Debug)]
pub(crate) struct FileArgs {
    /// Read a raw binary file, without a header, whose elements have this dtype:
    /// a type string such as f8 or '>i4', or a list of fields
    #[arg(long, value_name = "DTYPE")]
    pub(crate) raw: Option<DType>,

    /// With --raw, the offset of the first element, in bytes [default: 0]
    #[arg(long, value_name = "N", requires = "raw")]
    pub(crate) offset: Option<u64>,

    /// With --raw, the length of each axis; one of them may be -1, to be
    /// computed from the length of the file [default: -1]
    #[arg(long, value_name = "SHAPE", requires = "raw", value_parser = parse_shape)]
    pub(crate) shape: Option<RawShape>,

    /// Maximum header length, in characters
    #[arg(long, value_name = "N", default_value_t = MAX_HEADER_LEN)]
    pub(crate) max_header_len: usize,
}

impl FileArgs {
    /// Returns whether inputs are raw binary files.
    pub(crate) fn is_raw(&self) -> bool {
        self.raw.is_some()
    }

    pub(crate) fn options(&self, order: Order) -> InputOptions<'_> {
        InputOptions { args: self, order }
    }
}

/// How to open inputs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InputOptions<'a> {
    args: &'a FileArgs,
    order: Order,
}

impl InputOptions<'_> {
    /// The memory order of raw files.
    pub(crate) fn raw_order(self) -> Order {
        self.order
    }

    /// Opens an array: a file or the member that `input` names, mapped
    /// read-only. Streams are copied first.
    pub(crate) fn array(self, input: &ArrayPath) -> Result<MappedArray> {
        self.file(&input.path)?.get(input.member.as_deref())
    }

    /// Opens a file of any format, or a raw file as if it were a `.npy`.
    pub(crate) fn file(self, path: &Path) -> Result<AnyFile> {
        let Some(dtype) = &self.args.raw else { return open::any(path, self.args.max_header_len) };
        let source = open::map(path)?;
        let offset = self.args.offset.unwrap_or(0);
        let raw = RawSpec::new(dtype.clone()).offset(offset).order(self.order);
        let raw = match &self.args.shape {
            Some(shape) => {
                let nbytes = source.nbytes().saturating_sub(offset);
                raw.shape(&shape.resolve(nbytes, dtype.itemsize())?)
            }
            None => raw,
        };
        Npy::new(source, OpenOptions::new().raw(raw)).map(AnyFile::Npy)
    }
}

/// The shape of a raw file; `None` is an axis of unknown length.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RawShape(Vec<Option<usize>>);

impl RawShape {
    /// The shape of an array whose length along `axis` is not known.
    pub(crate) fn unknown_along(shape: &[usize], axis: usize) -> RawShape {
        let dims = shape.iter().enumerate();
        RawShape(dims.map(|(at, &dim)| (at != axis).then_some(dim)).collect())
    }

    /// The shape of a file with this many bytes of elements.
    fn resolve(&self, nbytes: u64, itemsize: usize) -> Result<Vec<usize>> {
        let known = self.0.iter().flatten();
        let step = known.fold(itemsize, |bytes, dim| bytes.saturating_mul(*dim));
        let nbytes = usize::try_from(nbytes).unwrap_or(usize::MAX);
        if self.0.contains(&None) && nbytes.checked_rem(step).unwrap_or(nbytes) != 0 {
            let text = format!(
                "has {nbytes} bytes of elements, not a multiple of the {step} bytes of an index of axis -1: pass another shape or --offset"
            );
            return Err(Error::new(ErrorKind::WrongShape, text));
        }
        let unknown = nbytes.checked_div(step).unwrap_or(0);
        Ok(self.0.iter().map(|dim| dim.unwrap_or(unknown)).collect())
    }
}

/// Parses `(3, 4)`, `-1,64,80`, `100` or `()`.
fn parse_shape(text: &str) -> Result<RawShape, &'static str> {
    let text = text.trim();
    let inner = text.strip_prefix('(').and_then(|rest| rest.strip_suffix(')'));
    if inner.is_none() && text.is_empty() {
        return Err(SHAPE);
    }
    let inner = inner.unwrap_or(text).trim();
    if inner.is_empty() {
        return Ok(RawShape(Vec::new()));
    }
    let axes = inner.strip_suffix(',').unwrap_or(inner).split(',').map(parse_dim);
    let axes = axes.collect::<Result<Vec<_>, _>>()?;
    if axes.iter().filter(|dim| dim.is_none()).count() > 1 {
        return Err("only one axis can be -1");
    }
    Ok(RawShape(axes))
}

fn parse_dim(text: &str) -> Result<Option<usize>, &'static str> {
    match text.trim() {
        "-1" => Ok(None),
        dim => dim.parse().map(Some).map_err(|_| SHAPE),
    }
}

const SHAPE: &str = "expected a shape such as '(3, 4)', '(3,)', '()' or -1,64,80";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_axis_is_computed_from_the_length() {
        for (text, nbytes, expected) in [
            ("-1,64,80", 4 * 64 * 80 * 3, vec![3, 64, 80]),
            ("(2, -1)", 80, vec![2, 10]),
            ("-1", 8, vec![2]),
            ("(3,)", 0, vec![3]),
            ("()", 4, vec![]),
            ("(0, -1)", 0, vec![0, 0]),
            ("-1, 2147483647, 9", 0, vec![0, 2_147_483_647, 9]),
        ] {
            assert_eq!(parse_shape(text).unwrap().resolve(nbytes, 4).unwrap(), expected, "{text}");
        }
        for (text, nbytes) in [("-1", 7), ("(0, -1)", 4), ("-1, 3", 16)] {
            let error = parse_shape(text).unwrap().resolve(nbytes, 4).unwrap_err();
            assert!(error.to_string().contains("not a multiple of the"), "{error}");
        }
        assert_eq!(parse_shape("-1,-1"), Err("only one axis can be -1"));
        for text in ["", "(", "(3", "-2", "3,,4", "a", "1.5", "(,)"] {
            assert_eq!(parse_shape(text), Err(SHAPE), "{text}");
        }
    }
}
