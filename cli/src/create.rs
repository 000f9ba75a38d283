//! `npymap create`: makes new arrays.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use npymap::{DType, MappedArrayMut, Value};

use crate::draft::Draft;
use crate::failure::Failure;
use crate::made::{self, Axes, Made, Shape};
use crate::open;

/// Makes an array of zeros, or of a value.
///
/// Its space is reserved, so that a full disk tells now and not later.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  npymap create scores.npy --shape '(1000, 3)'
  npymap create mask.npy --shape '(480, 640)' --dtype '|b1' --fill True
  npymap create events.npy --shape '(10,)' --dtype \"[('t', '<M8[ns]'), ('x', '<f4')]\"

Exit status: 0 when it was made, 1 when it could not be, 2 for wrong usage.")]
pub(crate) struct Create {
    /// The new .npy file
    file: PathBuf,

    /// The length of each axis, as a tuple
    #[arg(long, value_parser = made::shape)]
    shape: Shape,

    /// A type string such as f8 or '>i4', or a list of fields
    #[arg(long, default_value = "f8")]
    dtype: DType,

    /// Which axis varies fastest: the last one (C) or the first (F)
    #[arg(long, value_enum, default_value = "C", hide_possible_values = true, value_name = "C|F")]
    order: Axes,

    /// What every element is
    #[arg(long, value_name = "VALUE", allow_hyphen_values = true)]
    fill: Option<String>,

    #[command(flatten)]
    made: Made,
}

impl Create {
    pub(crate) fn run(&self) -> Result<ExitCode, Failure> {
        match &self.fill {
            None => self.zeros(),
            Some(text) => {
                let value = Value::parse(text, &self.dtype).map_err(Failure::at(&self.file))?;
                self.filled(&value)
            }
        }?;
        Ok(ExitCode::SUCCESS)
    }

    fn zeros(&self) -> Result<(), Failure> {
        let options = self.made.options(self.order.into());
        let array = open::create(&self.file, &self.dtype, &self.shape.0, &options);
        array.and_then(MappedArrayMut::close).map_err(Failure::at(&self.file))
    }

    /// Fills it before it gets its name.
    fn filled(&self, value: &Value) -> Result<(), Failure> {
        let options = self.made.options(self.order.into());
        let (draft, mut array) =
            Draft::begin(&self.file, self.made.overwrite, &self.dtype, &self.shape.0, &options)?;
        let filled = array.dyn_view_mut().and_then(|mut view| view.fill(value));
        filled.and_then(|()| array.close()).map_err(Failure::at(&self.file))?;
        draft.commit()
    }
}
