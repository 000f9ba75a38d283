//! `npymap concat`: joins arrays.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use npymap::{DType, Layout, MAX_HEADER_LEN, MappedArray, Order};

use crate::draft::Draft;
use crate::failure::Failure;
use crate::made::Made;
use crate::open;
use crate::place::Place;
use crate::progress::Progress;
use crate::rows::{self, Rows, Wanted};

/// Joins arrays along their first axis.
///
/// OUT is in C order and has the dtype of the first array; the others may
/// differ in the order of bytes and axes only. It gets its name when it is
/// complete and on the disk.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  npymap concat part-1.npy part-2.npy part-3.npy all.npy
  npymap concat --overwrite all.npy more.npy all.npy
  npymap concat 'a.npz[x]' 'b.npz[x]' x.npy

Exit status: 0 when OUT is complete, 1 when it could not be made, 2 for wrong
usage.")]
pub(crate) struct Concat {
    #[command(flatten)]
    made: Made,

    /// The longest header to read, in characters
    #[arg(long, value_name = "N", default_value_t = MAX_HEADER_LEN)]
    max_header_len: usize,

    /// .npy files to join, or FILE[MEMBER]
    #[arg(value_name = "IN", required = true)]
    inputs: Vec<Place>,

    /// The new .npy file
    #[arg(value_name = "OUT")]
    output: PathBuf,
}

impl Concat {
    pub(crate) fn run(&self) -> Result<ExitCode, Failure> {
        let Some(place) = self.inputs.first() else { return Ok(ExitCode::SUCCESS) };
        let (dtype, mut shape) = first(place, self.max_header_len)?;
        let wanted = Wanted { path: place.name(), dtype: &dtype, shape: &shape, axis: 0 };
        let rows = rows::all(&wanted, &self.inputs, self.max_header_len)?;
        let count = rows.iter().fold(0_usize, |sum, rows| sum.saturating_add(rows.count));
        shape.iter_mut().take(1).for_each(|dim| *dim = count);
        let made = self.made.options(Order::C);
        let (draft, array) =
            Draft::begin(&self.output, self.made.overwrite, &dtype, &shape, &made)?;
        // As bytes it can be written whole, whatever its elements are.
        let bytes = Layout::new(DType::of::<u8>(), &[array.nbytes()], Order::C, 0);
        let filled = bytes.and_then(|bytes| {
            let mut all = MappedArray::from_parts(array.into_data(), bytes)?;
            let mut progress = Progress::new(all.nbytes());
            let mut at = 0;
            rows.into_iter().try_for_each(|rows: Rows| {
                rows.blocks(Order::C, &mut |block| {
                    all.write_elements(&[at], block)?;
                    at += block.len();
                    progress.add(block.len());
                    Ok(())
                })
            })?;
            all.close()
        });
        filled.map_err(Failure::at(&self.output))?;
        draft.commit()?;
        Ok(ExitCode::SUCCESS)
    }
}

/// What the first array is.
fn first(place: &Place, max_header_len: usize) -> Result<(DType, Vec<usize>), Failure> {
    let path = place.name();
    let array = open::array(place, max_header_len).map_err(Failure::at(path))?;
    if array.ndim() == 0 {
        let what = "shape (), which has no axis to join along".to_owned();
        return Err(Failure::Differs { path: path.to_owned(), what });
    }
    Ok((array.dtype().clone(), array.shape().to_vec()))
}
