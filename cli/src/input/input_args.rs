//! Options of commands that read arrays, and opening their inputs: files,
//! members, raw binary files and standard input.

use clap::Args;
use npymap::any::{AnyFile, Npy};
use npymap::{DType, MappedArray, Order, Result};

use crate::input::array_path::ArrayPath;
use crate::input::dtype_arg;
use crate::input::members;
use crate::input::open;
use crate::input::shape_arg::{self, PartialShape};
use crate::input::stream::{self, Content};
use crate::input::trailing;

/// How to read inputs.
#[derive(Args, Clone, Debug)]
pub(crate) struct InputArgs {
    #[command(flatten)]
    pub(crate) file: FileArgs,

    /// With --raw, memory order: the last axis varies fastest (C) or the first
    /// (F)
    #[arg(long = "order", id = "raw_order", value_parser = shape_arg::order_parser(),
        requires = "raw", value_name = "C|F")]
    pub(crate) raw_order: Option<Order>,
}

impl InputArgs {
    /// Opens an array.
    pub(crate) fn array(&self, input: &ArrayPath) -> Result<MappedArray> {
        self.options().array(input)
    }

    pub(crate) fn options(&self) -> InputOptions<'_> {
        self.file.options(self.raw_order.unwrap_or(Order::C))
    }
}

/// The options without the memory order of raw files, for commands with an
/// option `--order` of their own.
#[derive(Args, Clone, Debug)]
pub(crate) struct FileArgs {
    /// Read a raw file, without a header, of this dtype: f8, '>i4' or a list of
    /// fields
    #[arg(long, value_name = "DTYPE", value_parser = dtype_arg::parse)]
    pub(crate) raw: Option<DType>,

    /// With --raw, the offset of the first element, in bytes [default: 0]
    #[arg(long, value_name = "N", requires = "raw")]
    pub(crate) offset: Option<u64>,

    /// With --raw, the length of each axis. One can be -1, to be computed from
    /// the length of the file [default: -1]
    #[arg(long, value_name = "SHAPE", requires = "raw", value_parser = shape_arg::parse)]
    pub(crate) shape: Option<PartialShape>,
}

impl FileArgs {
    /// Returns whether inputs are raw binary files.
    pub(crate) fn is_raw(&self) -> bool {
        self.raw.is_some()
    }

    pub(crate) fn options(&self, order: Order) -> InputOptions<'_> {
        InputOptions { args: self, order, is_whole: false, takes_all: false }
    }
}

/// How to open inputs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InputOptions<'a> {
    args: &'a FileArgs,
    /// The memory order of raw files.
    pub(crate) order: Order,
    is_whole: bool,
    takes_all: bool,
}

impl InputOptions<'_> {
    /// Makes it an error if something follows the array of a stream: it would be lost
    /// where the array is written.
    pub(crate) fn whole(self) -> Self {
        InputOptions { is_whole: true, ..self }
    }

    /// Reads all arrays of a stream, and prints no note about the other arrays of a `.npy` file
    /// of several.
    pub(crate) fn taking_all(self) -> Self {
        InputOptions { takes_all: true, ..self }
    }

    /// The offsets of all arrays of a `.npy` file; one for others.
    pub(crate) fn offsets(self, input: &ArrayPath) -> Result<Vec<u64>> {
        if self.args.is_raw() || input.member.is_some() {
            return Ok(vec![0]);
        }
        let (options, _) = open::npy_options(input);
        let (path, source) = (&input.path, open::map(&input.path, self.content())?);
        trailing::offsets(path, &source, &options, self.is_whole && stream::is_output(path))
    }

    /// What is needed of a stream.
    fn content(self) -> Content {
        Content::Arrays { takes_all: self.takes_all }
    }

    /// Opens an array: a file, or the member or the offset that `input` names, mapped
    /// read-only. Streams are copied first.
    pub(crate) fn array(self, input: &ArrayPath) -> Result<MappedArray> {
        members::open(&self.file(input)?, input)
    }

    /// Opens a file of any format, at the offset in its name if there is one, or a raw file as
    /// if it were a `.npy`.
    pub(crate) fn file(self, input: &ArrayPath) -> Result<AnyFile> {
        let path = &input.path;
        let Some(dtype) = &self.args.raw else {
            // Of a stream, no more is copied than the arrays and a little after them.
            let content = input.offset().map_or(self.content(), |_| Content::ALL);
            let source = open::map(path, content)?;
            if self.is_whole && stream::is_output(path) {
                let (options, offset) = open::npy_options(input);
                trailing::reject(&source, &options, self.takes_all || offset.is_some())?;
            }
            return open::any_of(input, source, self.takes_all);
        };
        let place = (self.args.offset.unwrap_or(0), self.order);
        let (source, options) = open::raw(path, dtype, place, self.args.shape.as_ref())?;
        Npy::new(source, options).map(AnyFile::Npy)
    }
}
