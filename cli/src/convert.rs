//! `npymap convert`: the same array stored another way.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use npymap::{
    ByteOrder, Casting, DType, Layout, MAX_HEADER_LEN, MappedArray, MappedArrayMut, OpenOptions,
    Order,
};

use crate::draft::Draft;
use crate::failure::Failure;
use crate::made::{Axes, Made};
use crate::plan::{Padding, Plan};
use crate::progress::Progress;
use crate::region::Region;
use crate::{cast, open};

/// Stores an array another way: dtype, order of axes, byte order, format
/// version.
///
/// What isn't asked for stays; without options OUT is what np.save makes of
/// the array. OUT gets its name when it is complete and on the disk, so IN and
/// OUT may be one file.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  npymap convert fortran.npy c.npy --order C
  npymap convert old.npy old.npy --overwrite --byte-order native
  npymap convert long.npy long2.npy --version 2
  npymap convert doubles.npy singles.npy --dtype f4 --force

With --dtype structs go field by field, by position. A value that would become
another one ends it, and nothing is left of OUT, unless --force allows that.

Exit status: 0 when OUT is complete, 1 when it could not be made, 2 for wrong
usage.")]
pub(crate) struct Convert {
    /// .npy file
    #[arg(value_name = "IN")]
    input: PathBuf,

    /// The new .npy file
    #[arg(value_name = "OUT")]
    output: PathBuf,

    /// Which axis varies fastest: the last one (C) or the first (F)
    #[arg(long, value_enum, hide_possible_values = true, value_name = "C|F")]
    order: Option<Axes>,

    /// The order of the bytes of all numbers
    #[arg(long, value_enum, hide_possible_values = true, value_name = "little|big|native")]
    byte_order: Option<Bytes>,

    /// What the elements become: a type string such as f8 or '>i4', or a list
    /// of fields
    #[arg(long)]
    dtype: Option<DType>,

    /// With --dtype, also cast values that become others: rounded, cut off or
    /// wrapped around
    #[arg(long, requires = "dtype")]
    force: bool,

    #[command(flatten)]
    made: Made,

    /// The longest header to read, in characters
    #[arg(long, value_name = "N", default_value_t = MAX_HEADER_LEN)]
    max_header_len: usize,
}

/// A byte order by name.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Bytes {
    Little,
    Big,
    Native,
}

impl From<Bytes> for ByteOrder {
    fn from(bytes: Bytes) -> ByteOrder {
        match bytes {
            Bytes::Little => ByteOrder::Little,
            Bytes::Big => ByteOrder::Big,
            Bytes::Native => ByteOrder::NATIVE,
        }
    }
}

impl Convert {
    pub(crate) fn run(&self) -> Result<ExitCode, Failure> {
        let mut options = OpenOptions::new();
        let from = open::read(&self.input, options.max_header_len(self.max_header_len));
        let from = from.map_err(Failure::at(&self.input))?;
        let layout = from.layout().clone();
        let bytes = self.byte_order.map(ByteOrder::from);
        let dtype = self.dtype.as_ref().unwrap_or(layout.dtype());
        let dtype = bytes.map_or(dtype.clone(), |order| dtype.with_byte_order(order));
        let order = self.order(&layout);
        let (draft, array) = Draft::begin(
            &self.output,
            self.made.overwrite,
            &dtype,
            layout.shape(),
            &self.made.options(order),
        )?;
        if self.dtype.is_some() {
            self.cast(&from, array)?;
            draft.commit()?;
            return Ok(ExitCode::SUCCESS);
        }
        let plan = Plan::new(layout.dtype(), bytes, Padding::Keep);
        let map = from.into_data();
        let region = Region::new(map.as_ref(), &layout, order);
        let mut progress = Progress::new(layout.nbytes());
        // As bytes it can be written whole, whatever its elements are.
        let bytes = Layout::new(DType::of::<u8>(), &[layout.nbytes()], Order::C, 0);
        let filled = bytes.and_then(|bytes| {
            let mut all = MappedArray::from_parts(array.into_data(), bytes)?;
            region.copy(&plan, all.as_slice_mut()?, &mut |bytes| progress.add(bytes));
            all.close()
        });
        filled.map_err(Failure::at(&self.output))?;
        draft.commit()?;
        Ok(ExitCode::SUCCESS)
    }

    /// Fills the new array with the elements as its dtype.
    fn cast(&self, from: &MappedArray, array: MappedArrayMut) -> Result<(), Failure> {
        let casting = if self.force { Casting::Unsafe } else { Casting::SameValue };
        let mut array = array;
        let mut progress = Progress::new(from.nbytes());
        let filled = from.dyn_view().and_then(|from| {
            let mut to = array.dyn_view_mut()?;
            cast::copy(&from, &mut to, casting, &mut |bytes| progress.add(bytes))
        });
        filled.map_err(Failure::at(&self.input))?;
        array.close().map_err(Failure::at(&self.output))
    }

    /// The order that is asked for, or the one there is. As np.save does, C
    /// is said of what is both.
    fn order(&self, layout: &Layout) -> Order {
        let own = || if layout.is_c_contiguous() { Order::C } else { Order::F };
        let asked = self.order.map_or_else(own, Order::from);
        let line = layout.is_c_contiguous() && layout.is_f_contiguous();
        if line { Order::C } else { asked }
    }
}
