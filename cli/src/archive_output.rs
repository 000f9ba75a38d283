//! Stores arrays in archives and lists.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;

use npymap::npz::{Compression, NpzWriter};
use npymap::ten::TenWriteOptions;
use npymap::{
    ByteOrder, DType, MappedArray, Order, element::Casting, layout::Layout, view::ByteBlocks,
};

use crate::cast;
use crate::draft::Draft;
use crate::error::CliError;
use crate::inputs::Input;
use crate::progress::Progress;

/// What an archive's members become.
#[derive(Clone, Debug)]
pub(crate) struct MemberOptions {
    pub(crate) bytes: Option<ByteOrder>,
    pub(crate) order: Option<Order>,
    pub(crate) dtype: Option<DType>,
    pub(crate) casting: Casting,
    pub(crate) compression: Compression,
}

/// The order that is asked for, or the one there is. As np.save does, C is
/// said of what is both.
pub(crate) fn order(asked: Option<Order>, layout: &Layout) -> Order {
    let own = if layout.is_c_contiguous() { Order::C } else { Order::F };
    let line = layout.is_c_contiguous() && layout.is_f_contiguous();
    if line { Order::C } else { asked.unwrap_or(own) }
}

/// Writes an `.npz` archive.
pub(crate) fn npz(
    draft: &Draft,
    inputs: &[Input<'_>],
    stored: &MemberOptions,
) -> Result<(), CliError> {
    let path = draft.path();
    let mut writer = NpzWriter::new(draft.file());
    writer.compression(stored.compression);
    for input in inputs {
        let array = (input.open)().map_err(CliError::library)?;
        member(path, &mut writer, &input.name, array, stored)?;
    }
    writer.into_inner().map(drop).map_err(CliError::at(path))
}

fn member(
    path: &Path,
    writer: &mut NpzWriter<&File>,
    name: &str,
    array: MappedArray,
    stored: &MemberOptions,
) -> Result<(), CliError> {
    let order = order(stored.order, array.layout());
    let array = casted(array, stored).map_err(CliError::library)?;
    let dtype = array.dtype();
    let dtype = stored.bytes.map_or(dtype.clone(), |bytes| dtype.with_byte_order(bytes));
    let member = writer.begin(name, &dtype, array.shape(), order);
    let mut member = member.map_err(CliError::at(path))?;
    let mut progress = Progress::new(array.nbytes());
    let blocks = in_order(&array, order, stored.bytes).map_err(CliError::library)?;
    let written = blocks.try_for_each(|block| {
        progress.add(block.len());
        member.write_all(block)
    });
    written.map_err(CliError::file(path, "write"))?;
    member.finish().map_err(CliError::at(path))
}

/// The bytes of all elements in an order of axes, and in a byte order if one is
/// asked for.
pub(crate) fn in_order(
    array: &MappedArray,
    order: Order,
    bytes: Option<ByteOrder>,
) -> npymap::Result<ByteBlocks<'_>> {
    let view = array.dyn_view()?;
    let blocks = match order {
        Order::C => view.byte_blocks(),
        Order::F => view.t().byte_blocks(),
    };
    Ok(match bytes {
        Some(bytes) => blocks.byte_order(bytes),
        None => blocks,
    })
}

/// Writes a `.ten` list, each array with its name as its info.
pub(crate) fn ten(
    draft: &Draft,
    inputs: &[Input<'_>],
    options: &TenWriteOptions,
    stored: &MemberOptions,
) -> Result<(), CliError> {
    let path = draft.path();
    let mut to = BufWriter::new(draft.file());
    // One map at a time: a process may have some 65,000.
    for input in inputs {
        let array = casted((input.open)().map_err(CliError::library)?, stored);
        let array = array.map_err(CliError::library)?;
        let options = options.clone().infos(&[&input.name]);
        options.write(&mut to, &[&array]).map_err(CliError::at(path))?;
    }
    to.flush().map_err(CliError::file(path, "write"))
}

/// The array as the dtype that is asked for, in memory if it has another.
fn casted(array: MappedArray, stored: &MemberOptions) -> npymap::Result<MappedArray> {
    let Some(dtype) = stored.dtype.as_ref().filter(|&dtype| dtype != array.dtype()) else {
        return Ok(array);
    };
    let mut copy = MappedArray::anonymous(dtype, array.shape())?;
    let mut progress = Progress::new(array.nbytes());
    let (from, mut to) = (array.dyn_view()?, copy.dyn_view_mut()?);
    cast::copy(&from, &mut to, stored.casting, &mut |bytes| progress.add(bytes))?;
    copy.into_read_only()
}
