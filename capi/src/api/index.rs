//! Iteration over the indices of an array.

use std::ffi::c_char;

use npymap::Order;

use crate::array::{Array, check_index};
use crate::boundary::{In, Out};
use crate::error::{Failure, Result, status};
use crate::status::npymap_status;
use crate::status::{NPYMAP_END, NPYMAP_ERROR_OUT_OF_BOUNDS, NPYMAP_OK};

/// Sets all `ndim` positions of `index` to 0. NPYMAP_END if the array has no elements.
///
///     for (npymap_status s = npymap_first_index(array, index, ndim); s == NPYMAP_OK;
///          s = npymap_next_index(array, 'C', index, ndim)) { ... }
#[unsafe(no_mangle)]
pub extern "C" fn npymap_first_index(
    array: In<Array>,
    mut index: Out<usize>,
    ndim: usize,
) -> npymap_status {
    status(|| {
        let layout = array.get("`array`")?.layout();
        let index = index.slice_mut(ndim, "`index`")?;
        if index.len() != layout.ndim() {
            let text = format!("{} positions, the array has {} axes", index.len(), layout.ndim());
            return Err(Failure::new(NPYMAP_ERROR_OUT_OF_BOUNDS, text));
        }
        index.fill(0);
        Ok(if layout.is_empty() { NPYMAP_END } else { NPYMAP_OK })
    })
}

/// Sets `index` to the next element. In the order 'C', the last position changes
/// fastest, in 'F' the first. After the last element, this returns NPYMAP_END, and does
/// not change `index`. If `order` is npymap_order, you visit elements in the order of
/// the memory.
#[unsafe(no_mangle)]
pub extern "C" fn npymap_next_index(
    array: In<Array>,
    order: c_char,
    mut index: Out<usize>,
    ndim: usize,
) -> npymap_status {
    status(|| {
        let shape = array.get("`array`")?.layout().shape();
        let index = index.slice_mut(ndim, "`index`")?;
        check_index(index, shape)?;
        let axes = index.iter_mut().zip(shape);
        let has_next = match parse_order(order)? {
            Order::C => advance(axes.rev()),
            Order::F => advance(axes),
        };
        Ok(if has_next { NPYMAP_OK } else { NPYMAP_END })
    })
}

/// Steps to the next index, whose fastest axis is the first; false at the last
/// index, which does not change.
fn advance<'a>(axes: impl Iterator<Item = (&'a mut usize, &'a usize)>) -> bool {
    let mut full: Vec<&mut usize> = Vec::new();
    for (at, dim) in axes {
        if *at + 1 < *dim {
            *at += 1;
            for at in full {
                *at = 0;
            }
            return true;
        }
        full.push(at);
    }
    false
}

fn parse_order(order: c_char) -> Result<Order> {
    match u8::try_from(order) {
        Ok(b'C') => Ok(Order::C),
        Ok(b'F') => Ok(Order::F),
        _ => Err(Failure::misuse(format!("order {order}, expected 'C' or 'F'"))),
    }
}
