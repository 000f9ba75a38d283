//! Typed views against ndarray arrays of the same mapped bytes.
#![allow(unsafe_code)]

use std::cell::RefCell;
use std::hint::black_box;
use std::path::Path;

use ndarray::{Array2, ArrayView2, Ix2, aview1, s};
use npymap::{Header, MappedArray, MappedArrayMut, Order, View};
use tempfile::TempDir;

use crate::Result;
use crate::files::{settle, write};
use crate::rounds::{Contestant, Work, batch};

/// Rows and columns.
const SIDE: u16 = 2048;

/// How many elements are read in no order.
const SCATTERED: usize = 1 << 16;

/// The same elements in both byte orders, each to be read and to be written.
pub(crate) struct Arrays {
    little: MappedArray,
    big: MappedArray,
    little_mut: RefCell<MappedArrayMut>,
    big_mut: RefCell<MappedArrayMut>,
    copy: RefCell<Array2<f32>>,
    _directory: TempDir,
}

impl Arrays {
    pub(crate) fn create() -> Result<Arrays> {
        let directory = TempDir::with_prefix("npymap-benches-")?;
        let little = directory.path().join("little.npy");
        let big = directory.path().join("big.npy");
        create(&little, "<f4", f32::to_le_bytes)?;
        create(&big, ">f4", f32::to_be_bytes)?;
        let side = usize::from(SIDE);
        // SAFETY: nobody else knows the file, and no one writes to it.
        let read_little = unsafe { MappedArray::open(&little) }?;
        // SAFETY: as above.
        let read_big = unsafe { MappedArray::open(&big) }?;
        // SAFETY: as above; what is written stays in memory.
        let little_mut = unsafe { MappedArray::open_copy_on_write(&little) }?;
        // SAFETY: as above.
        let big_mut = unsafe { MappedArray::open_copy_on_write(&big) }?;
        Ok(Arrays {
            little: read_little,
            big: read_big,
            little_mut: little_mut.into(),
            big_mut: big_mut.into(),
            copy: Array2::zeros((side, side)).into(),
            _directory: directory,
        })
    }
}

/// Writes a file.
fn create(path: &Path, dtype: &str, bytes_of: fn(f32) -> [u8; 4]) -> Result<()> {
    let side = usize::from(SIDE);
    let mut bytes = Header::new(dtype.parse()?, &[side, side], Order::C)?.encode(None)?.bytes;
    // So small that sums are exact in whatever order.
    bytes.extend([0.0, 1.0, 2.0].into_iter().cycle().take(side * side).flat_map(bytes_of));
    write(path, &bytes)?;
    settle(path)
}

/// Reduces all elements of an ndarray array to one number.
type Reduce = fn(&ArrayView2<'_, f32>) -> f32;

/// A view and the ndarray array it competes with.
struct Pair<'a> {
    layout: &'static str,
    ours: View<'a, f32>,
    theirs: ArrayView2<'a, f32>,
    /// The same view of native elements, when the elements are foreign.
    native: Option<View<'a, f32>>,
}

impl<'a> Pair<'a> {
    fn new(layout: &'static str, view: View<'a, f32>) -> Result<Pair<'a>> {
        Ok(Pair { layout, theirs: view.as_ndarray::<Ix2>()?, ours: view, native: None })
    }
}

pub(crate) fn works(arrays: &Arrays) -> Result<Vec<Work<'_>>> {
    let view = arrays.little.view::<f32>()?;
    let little = || Pair::new("little-endian", view.clone());
    let big = || {
        Result::<_>::Ok(Pair {
            layout: "big-endian",
            ours: arrays.big.view()?,
            theirs: view.as_ndarray()?,
            native: Some(view.clone()),
        })
    };
    let strided = || Pair::new("every other column", view.slice(s![.., ..;2]));
    let reversed = || Pair::new("reversed", view.slice(s![..;-1, ..;-1]));
    let transposed = || Pair::new("transposed", view.t());

    let places = places();
    let mut works = Vec::new();
    for pair in [little()?, big()?, strided()?] {
        works.push(index_loop(pair)?);
    }
    for pair in [little()?, big()?, strided()?, reversed()?, transposed()?] {
        works.push(iter_sum(pair)?);
    }
    works.push(for_loop(little()?)?);
    for pair in [little()?, big()?, strided()?, reversed()?, transposed()?] {
        works.push(blocks(pair)?);
    }
    for pair in [little()?, big()?, strided()?, transposed()?] {
        works.push(copy_out(pair, &arrays.copy));
    }
    for pair in [little()?, big()?] {
        works.push(scattered(pair, &places)?);
    }
    works.push(set("little-endian", &arrays.little_mut, &arrays.little_mut));
    works.push(set("big-endian", &arrays.big_mut, &arrays.little_mut));
    works.push(map_inplace("little-endian", &arrays.little_mut, &arrays.little_mut));
    works.push(map_inplace("big-endian", &arrays.big_mut, &arrays.little_mut));
    Ok(works)
}

/// A work that reduces all elements to one number, which must be the same.
fn reduction<'a>(
    name: &str,
    pair: Pair<'a>,
    ours: fn(&View<'_, f32>) -> f32,
    peers: &[(&str, Option<f64>, Reduce)],
    over_little: Option<f64>,
) -> Result<Work<'a>> {
    let Pair { layout, ours: view, theirs, native } = pair;
    let expected = ours(&view);
    let mut contestants = Vec::new();
    for &(call, target, peer) in peers {
        same(name, layout, expected, peer(&theirs))?;
        let batch = batch(move || Result::<_>::Ok(peer(black_box(&theirs))));
        contestants.push(Contestant::new(format!("ndarray {call}"), target, batch));
    }
    if let (Some(native), Some(target)) = (native, over_little) {
        let batch = batch(move || Result::<_>::Ok(ours(black_box(&native))));
        contestants.push(Contestant::new("npymap, little-endian", Some(target), batch));
    }
    Ok(Work {
        name: format!("{name}, {layout}"),
        ours: batch(move || Result::<_>::Ok(ours(black_box(&view)))),
        peers: contestants,
    })
}

#[expect(clippy::float_cmp, reason = "the sums are exact")]
fn same(name: &str, layout: &str, ours: f32, theirs: f32) -> Result<()> {
    if ours == theirs {
        return Ok(());
    }
    Err(format!("{name}, {layout}: {ours} by npymap, {theirs} by ndarray").into())
}

fn index_loop(pair: Pair<'_>) -> Result<Work<'_>> {
    let ours = |view: &View<'_, f32>| {
        let &[rows, columns] = view.shape() else { return f32::NAN };
        let mut sum = 0.0;
        for i in 0..rows {
            for j in 0..columns {
                sum += view.at([i, j]);
            }
        }
        sum
    };
    let theirs = |array: &ArrayView2<'_, f32>| {
        let (rows, columns) = array.dim();
        let mut sum = 0.0;
        for i in 0..rows {
            for j in 0..columns {
                sum += array[[i, j]];
            }
        }
        sum
    };
    reduction("index loop", pair, ours, &[("`[[i, j]]`", Some(1.13), theirs)], None)
}

fn iter_sum(pair: Pair<'_>) -> Result<Work<'_>> {
    let ours = |view: &View<'_, f32>| view.iter().sum();
    let theirs = |array: &ArrayView2<'_, f32>| array.iter().sum();
    let peers: [(_, _, Reduce); 1] = [("`iter().sum()`", Some(1.08), theirs)];
    reduction("`iter().sum()`", pair, ours, &peers, Some(1.3))
}

fn for_loop(pair: Pair<'_>) -> Result<Work<'_>> {
    let ours = |view: &View<'_, f32>| {
        let mut sum = 0.0;
        for x in view {
            sum += x;
        }
        sum
    };
    let theirs = |array: &ArrayView2<'_, f32>| {
        let mut sum = 0.0;
        for x in array {
            sum += x;
        }
        sum
    };
    reduction("`for`", pair, ours, &[("`for`", None, theirs)], None)
}

/// Blocks are summed by ndarray's `sum`, so that the way through is what
/// differs.
fn blocks(pair: Pair<'_>) -> Result<Work<'_>> {
    let ours = |view: &View<'_, f32>| {
        let mut sum = 0.0;
        view.for_each_block(|block| sum += aview1(block).sum());
        sum
    };
    let iter = |array: &ArrayView2<'_, f32>| array.iter().sum();
    let sum = |array: &ArrayView2<'_, f32>| array.sum();
    let target = pair.native.is_none().then_some(0.89);
    let peers: [(_, _, Reduce); 2] = [("`iter().sum()`", target, iter), ("`sum()`", None, sum)];
    reduction("`blocks` sum", pair, ours, &peers, Some(1.3))
}

fn copy_out<'a>(pair: Pair<'a>, out: &'a RefCell<Array2<f32>>) -> Work<'a> {
    let Pair { layout, ours, theirs, .. } = pair;
    let len = ours.len();
    let columns = theirs.ncols();
    // The front of the buffer is as good as one of the right size.
    let ours = batch(move || {
        let mut out = out.borrow_mut();
        let out = out.as_slice_mut().and_then(|out| out.get_mut(..len)).ok_or("too short")?;
        black_box(&ours).copy_to_slice(out)?;
        black_box(out);
        Result::<_>::Ok(())
    });
    let theirs = batch(move || {
        let mut out = out.borrow_mut();
        let out = out.as_slice_mut().and_then(|out| out.get_mut(..len)).ok_or("too short")?;
        let mut array = ndarray::ArrayViewMut2::from_shape((len / columns, columns), out)?;
        array.assign(black_box(&theirs));
        black_box(array);
        Result::<_>::Ok(())
    });
    let peers = vec![Contestant::new("ndarray `assign`", Some(1.3), theirs)];
    Work { name: format!("copy out, {layout}"), ours, peers }
}

/// Places all over the array, always the same.
fn places() -> Vec<[usize; 2]> {
    let side = u64::from(SIDE);
    let mut state = 1_u64;
    let mut next = || {
        state = state.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(0x1405_7B7E_F767_814F);
        usize::try_from((state >> 33) % side).unwrap_or_default()
    };
    (0..SCATTERED).map(|_| [next(), next()]).collect()
}

fn scattered<'a>(pair: Pair<'a>, places: &[[usize; 2]]) -> Result<Work<'a>> {
    let Pair { layout, ours, theirs, .. } = pair;
    let name = "scattered `get`";
    let same_places = places.to_vec();
    let places = places.to_vec();
    let ours = move || {
        let ours = black_box(&ours);
        places.iter().filter_map(|&at| ours.get(at)).sum::<f32>()
    };
    let theirs = move || {
        let theirs = black_box(&theirs);
        same_places.iter().filter_map(|&at| theirs.get(at)).sum::<f32>()
    };
    same(name, layout, ours(), theirs())?;
    let theirs = batch(move || Result::<_>::Ok(theirs()));
    let peers = vec![Contestant::new("ndarray `get`", Some(1.35), theirs)];
    Ok(Work {
        name: format!("{name}, {layout}"),
        ours: batch(move || Result::<_>::Ok(ours())),
        peers,
    })
}

fn set<'a>(
    layout: &'static str,
    ours: &'a RefCell<MappedArrayMut>,
    theirs: &'a RefCell<MappedArrayMut>,
) -> Work<'a> {
    let ours = batch(move || {
        let mut array = ours.borrow_mut();
        let mut view = array.view_mut::<f32>()?;
        let view = black_box(&mut view);
        for i in 0..usize::from(SIDE) {
            for j in 0..SIDE {
                view.set([i, usize::from(j)], f32::from(j))?;
            }
        }
        Result::<_>::Ok(())
    });
    let theirs = batch(move || {
        let mut array = theirs.borrow_mut();
        let mut array = array.as_ndarray_mut::<f32, Ix2>()?;
        let array = black_box(&mut array);
        for i in 0..usize::from(SIDE) {
            for j in 0..SIDE {
                array[[i, usize::from(j)]] = f32::from(j);
            }
        }
        Result::<_>::Ok(())
    });
    let peers = vec![Contestant::new("ndarray `[[i, j]] =`", Some(1.8), theirs)];
    Work { name: format!("`set` loop, {layout}"), ours, peers }
}

fn map_inplace<'a>(
    layout: &'static str,
    ours: &'a RefCell<MappedArrayMut>,
    theirs: &'a RefCell<MappedArrayMut>,
) -> Work<'a> {
    let ours = batch(move || {
        let mut array = ours.borrow_mut();
        black_box(&mut array.view_mut::<f32>()?).map_inplace(|x| 2.0 - x)
    });
    let theirs = batch(move || {
        let mut array = theirs.borrow_mut();
        black_box(&mut array.as_ndarray_mut::<f32, Ix2>()?).map_inplace(|x| *x = 2.0 - *x);
        Result::<_>::Ok(())
    });
    let peers = vec![Contestant::new("ndarray `map_inplace`", Some(1.1), theirs)];
    Work { name: format!("`map_inplace`, {layout}"), ours, peers }
}
