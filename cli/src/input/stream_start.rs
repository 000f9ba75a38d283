//! The first rows of a `.npy` in a stream, without waiting for the rest.

use crate::input::lengths::{first_len, to_u64};
use std::io;
use std::path::Path;

use npymap::layout::Layout;
use npymap::npy::HeaderText;
use npymap::{MappedArray, OpenOptions, Order, Result};

use crate::input::open;
use crate::input::stream::{self, Content, PartialCopy};

/// A stream that starts with the header of a `.npy` in C order.
pub(crate) struct StreamStart {
    copy: PartialCopy,
    layout: Layout,
    content: Content,
}

impl StreamStart {
    /// Reads the header of a stream. `None` if `path` is a file, or a stream whose
    /// start does not suffice: it is then copied, and can be opened by its path.
    pub(crate) fn open(path: &Path, max_header_len: usize) -> Result<Option<StreamStart>> {
        let Some(mut copy) = stream::begin(path)? else { return Ok(None) };
        let header = HeaderText::read(&mut copy, max_header_len).and_then(|text| text.header());
        let content = Content::Arrays { max_header_len, takes_all: false };
        let layout = header.and_then(|header| Ok((header.order, header.layout()?)));
        match layout {
            Ok((Order::C, layout)) if layout.nbytes() > 0 => {
                Ok(Some(StreamStart { copy, layout, content }))
            }
            _ => {
                copy.finish(content)?;
                Ok(None)
            }
        }
    }

    pub(crate) fn shape(&self) -> &[usize] {
        self.layout.shape()
    }

    /// The size of an index of the first axis, in bytes.
    pub(crate) fn row_nbytes(&self) -> usize {
        // There are some bytes, and so some rows.
        self.layout.nbytes() / first_len(self.shape())
    }

    /// Reads at least the first `rows` indices of the first axis, and returns the
    /// array, with zeros in place of the elements that were not read.
    pub(crate) fn array(&mut self, rows: usize) -> Result<MappedArray> {
        let (nbytes, start) = (self.layout.nbytes(), self.layout.offset());
        let needed = rows.checked_mul(self.row_nbytes());
        let needed = start + needed.map_or(nbytes, |needed| needed.min(nbytes));
        self.copy.fill(to_u64(needed))?;
        if self.copy.len() >= to_u64(needed) {
            self.copy.extend(to_u64(start + nbytes))?;
        }
        // A stream that ended too early is an error here.
        open::read_file(self.copy.file()?, &OpenOptions::new().max_header_len(usize::MAX))
    }

    /// Reads the rest, so that the stream can be opened by its path.
    pub(crate) fn finish(self) -> io::Result<()> {
        self.copy.finish(self.content)
    }
}
