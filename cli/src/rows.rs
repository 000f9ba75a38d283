//! Arrays whose elements go behind those of another.

use std::ops::Range;
use std::path::Path;

use npymap::{ByteOrder, DType, MappedArray, Order};

use crate::failure::Failure;
use crate::open;
use crate::place::Place;
use crate::plan::{Padding, Plan};
use crate::region::Region;
use crate::words;

/// Rows of a file, as another file will store them.
pub(crate) struct Rows {
    array: MappedArray,
    plan: Plan,
    /// How many there are.
    pub(crate) count: usize,
}

/// What rows have to be.
pub(crate) struct Wanted<'a> {
    /// The file they are for.
    pub(crate) path: &'a Path,
    pub(crate) dtype: &'a DType,
    /// With any length along `axis`.
    pub(crate) shape: &'a [usize],
    pub(crate) axis: usize,
}

impl Wanted<'_> {
    /// Opens a file and checks that it has such rows; one without the axis
    /// they are counted on is one.
    pub(crate) fn open(&self, place: &Place, max_header_len: usize) -> Result<Rows, Failure> {
        let path = place.name();
        let array = open::array(place, max_header_len).map_err(Failure::at(path))?;
        let differs = |what: String| Failure::Differs { path: path.to_owned(), what };
        let Some(plan) = between(array.dtype(), self.dtype) else {
            let other = self.path.display();
            return Err(differs(format!(
                "dtype {}, and {other} has {}",
                array.dtype(),
                self.dtype
            )));
        };
        let shape = array.shape();
        let others = without(self.shape, self.axis);
        let count = if shape == others {
            Some(1)
        } else if shape.len() == self.shape.len() && without(shape, self.axis) == others {
            shape.get(self.axis).copied()
        } else {
            None
        };
        let Some(count) = count else { return Err(self.other_shape(place, shape)) };
        Ok(Rows { array, plan, count })
    }

    /// Says that an array has another shape than is wanted.
    pub(crate) fn other_shape(&self, place: &Place, shape: &[usize]) -> Failure {
        let (found, other, own) =
            (words::shape(shape), self.path.display(), words::shape(self.shape));
        let what = format!("shape {found}, and {other} has {own}");
        Failure::Differs { path: place.name().to_owned(), what }
    }
}

impl Rows {
    /// Hands out their bytes in this order of axes.
    pub(crate) fn blocks(
        self,
        order: Order,
        done: &mut dyn FnMut(&[u8]) -> npymap::Result<()>,
    ) -> npymap::Result<()> {
        let layout = self.array.layout().clone();
        let map = self.array.into_data();
        let mut result = Ok(());
        Region::new(map.as_ref(), &layout, order).blocks(&self.plan, &mut |block: &[u8]| {
            if result.is_ok() {
                result = done(block);
            }
        });
        result
    }

    /// Copies those in a range of the axis `along` to places that are
    /// `strides` bytes apart.
    pub(crate) fn scatter(
        &self,
        (along, range): (usize, Range<usize>),
        strides: &[usize],
        to: &mut [u8],
        done: &mut impl FnMut(usize),
    ) -> npymap::Result<()> {
        let bytes = self.array.as_bytes()?;
        Region::part_of(bytes, self.array.layout(), strides, along, range)
            .copy(&self.plan, to, done);
        Ok(())
    }

    pub(crate) fn shape(&self) -> &[usize] {
        self.array.shape()
    }

    /// Their bytes.
    pub(crate) fn nbytes(&self) -> usize {
        self.array.nbytes()
    }
}

/// All of the files, or why one of them won't do.
pub(crate) fn all(
    wanted: &Wanted<'_>,
    places: &[Place],
    max_header_len: usize,
) -> Result<Vec<Rows>, Failure> {
    places.iter().map(|place| wanted.open(place, max_header_len)).collect()
}

/// How elements become those of another dtype, when nothing differs but the
/// order of bytes.
fn between(from: &DType, to: &DType) -> Option<Plan> {
    if from == to {
        return Some(Plan::new(from, None, Padding::Keep));
    }
    let orders = [ByteOrder::Little, ByteOrder::Big];
    let order = orders.into_iter().find(|&order| from.with_byte_order(order) == *to)?;
    Some(Plan::new(from, Some(order), Padding::Keep))
}

fn without(shape: &[usize], axis: usize) -> Vec<usize> {
    let others = shape.iter().enumerate().filter(|(at, _)| *at != axis);
    others.map(|(_, &dim)| dim).collect()
}
