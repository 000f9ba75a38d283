//! Writes arrays to archives and lists.

use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::path::Path;

use npymap::npz::{Compression, NpzWriter};
use npymap::ten::TenWriteOptions;
use npymap::{ByteOrder, DType, MappedArray, Order, element::Casting, layout::Layout};

use crate::input::error::{At as _, CliError};
use crate::input::input_rows::byte_blocks;
use crate::input::inputs::Input;
use crate::input::progress::Progress;
use crate::output::draft::Draft;
use crate::select::fields::Fields;
use crate::select::matching;
use crate::select::rows::RowSelection;

/// How to store the members of an archive.
#[derive(Clone, Debug)]
pub(crate) struct MemberOptions {
    pub(crate) bytes: Option<ByteOrder>,
    pub(crate) order: Option<Order>,
    pub(crate) dtype: Option<DType>,
    pub(crate) casting: Casting,
    pub(crate) compression: Compression,
}

impl MemberOptions {
    /// Members like the arrays.
    pub(crate) fn of(compression: Compression) -> MemberOptions {
        let casting = Casting::Equiv;
        MemberOptions { bytes: None, order: None, dtype: None, casting, compression }
    }
}

/// The requested order, or the order of the array. Arrays that have both orders
/// are C, as in np.save.
pub(crate) fn output_order(requested: Option<Order>, layout: &Layout) -> Order {
    let own = if layout.is_c_contiguous() { Order::C } else { Order::F };
    let is_both = layout.is_c_contiguous() && layout.is_f_contiguous();
    if is_both { Order::C } else { requested.unwrap_or(own) }
}

/// Writes an `.npz` archive.
pub(crate) fn write_npz(
    draft: &Draft,
    inputs: &[Input<'_>],
    options: &MemberOptions,
) -> Result<(), CliError> {
    let path = draft.path();
    let mut writer = NpzWriter::new_seekable(draft.file()).at(path)?;
    writer.compression(options.compression);
    for input in inputs {
        write_member(path, &mut writer, input, options)?;
    }
    writer.into_inner().at(path)?;
    Ok(())
}

fn write_member(
    path: &Path,
    writer: &mut NpzWriter<&File>,
    input: &Input<'_>,
    options: &MemberOptions,
) -> Result<(), CliError> {
    let array = (input.open)().map_err(CliError::Library)?;
    let order = output_order(options.order, array.layout());
    let dtype = options.dtype.as_ref().unwrap_or(array.dtype());
    let dtype = options.bytes.map_or(dtype.clone(), |bytes| dtype.with_byte_order(bytes));
    let mut member = writer.begin(&input.name, &dtype, array.shape(), order).at(path)?;
    let mut progress = Progress::new(array.nbytes());
    // The error of `write`, which is about the output, ends the blocks.
    let mut failure = None;
    let mut write = |bytes: &[u8]| {
        progress.add(bytes.len());
        member.write_all(bytes).map_err(|error| {
            let kind = error.kind();
            failure = Some(CliError::io(path, "write")(error).of_map(&input.path));
            npymap::Error::from(io::Error::from(kind))
        })
    };
    let written = byte_blocks(&array, order, (&dtype, options.casting), &mut write);
    if let Some(failure) = failure {
        return Err(failure);
    }
    written.at(&input.path)?;
    member.finish().at(path)
}

/// Writes a `.ten` list, with the names of the arrays as their infos.
pub(crate) fn write_ten(
    draft: &Draft,
    inputs: &[Input<'_>],
    ten_options: &TenWriteOptions,
    options: &MemberOptions,
) -> Result<(), CliError> {
    let path = draft.path();
    let mut to = BufWriter::new(draft.file());
    // One map at a time: Linux allows about 65,000 per process.
    for input in inputs {
        let array = cast(&input.path, (input.open)().map_err(CliError::Library)?, options)?;
        let ten_options = ten_options.clone().infos(&[&input.name]);
        ten_options.write(&mut to, &[&array.in_parts()]).at(path)?;
    }
    to.flush().map_err(CliError::io(path, "write"))
}

/// Casts an array to the requested dtype, in a temporary file, unless it has that dtype.
fn cast(path: &Path, array: MappedArray, options: &MemberOptions) -> Result<MappedArray, CliError> {
    let Some(dtype) = options.dtype.as_ref().filter(|&dtype| dtype != array.dtype()) else {
        return Ok(array);
    };
    let rows =
        RowSelection::all(path, Some(&array), array.outline(), Fields::default()).at(path)?;
    matching::copy_as(&rows, dtype, array.shape(), options.casting)
}
