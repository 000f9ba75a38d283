//! Where the elements of a selection are in the array.

use crate::input::lengths::to_isize;

/// The indices of an array that an index of a selection stands for.
pub(crate) struct Origins {
    pub(crate) axes: Vec<AxisOrigin>,
    /// The axis of the selection along which a list of rows is, and where it would be if
    /// NumPy did not move it.
    pub(crate) list: Option<(usize, usize)>,
}

/// How an axis of the array is selected, or a new one.
#[derive(Clone)]
pub(crate) enum AxisOrigin {
    /// A single index.
    Fixed(usize),
    /// An axis of length 1 that the array does not have.
    New,
    Axis(AxisIndices),
}

impl Origins {
    /// The index in the array; parts that are unknown stay so. Axes of the selection after
    /// those of the array are kept.
    pub(crate) fn at(&self, index: &[Option<usize>]) -> Vec<Option<usize>> {
        let mut index = index.to_vec();
        if let Some((moved, from)) = self.list.filter(|(moved, _)| *moved < index.len()) {
            let at = index.remove(moved);
            index.insert(from.min(index.len()), at);
        }
        let mut index = index.into_iter();
        let mut found = Vec::new();
        for axis in &self.axes {
            match axis {
                AxisOrigin::Fixed(at) => found.push(Some(*at)),
                AxisOrigin::New => drop(index.next()),
                AxisOrigin::Axis(axis) => {
                    found.extend(index.next().map(|at| at.map(|at| axis.at(at))));
                }
            }
        }
        found.extend(index);
        found
    }
}

/// The indices that an axis of a selection has in the array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum AxisIndices {
    Slice { start: usize, step: isize },
    List(Vec<usize>),
}

impl AxisIndices {
    /// The index in the array of a position along the axis.
    pub(crate) fn at(&self, position: usize) -> usize {
        match self {
            AxisIndices::Slice { start, step } => {
                let distance = to_isize(position) * *step;
                start.checked_add_signed(distance).expect("the index is in the array")
            }
            // More rows can match than were listed, if another process changes elements.
            AxisIndices::List(rows) => rows.get(position).copied().unwrap_or(position),
        }
    }
}
