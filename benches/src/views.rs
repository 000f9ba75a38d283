//! Typed views against ndarray arrays of the same mapped bytes.
#![allow(unsafe_code)]

use std::cell::RefCell;
use std::hint::black_box;
use std::path::Path;

use ndarray::{Array2, ArrayView2, Ix2, aview1, s};
use npymap::bytemuck::{Pod, Zeroable};
use npymap::{Element, Header, MappedArray, MappedArrayMut, Order, RowSource as _, View};
use tempfile::TempDir;

use crate::Result;
use crate::files::{settle, write};
use crate::rounds::{Benchmark, Peer, batch};
use crate::sampling::Random;

/// Rows and columns.
const SIDE: u16 = 2048;

/// The number of elements that are read in random order.
const SCATTERED: usize = 1 << 16;

/// The same elements in both byte orders, each mapped for reading and for
/// writing.
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
        // SAFETY: no other process uses the file, and no one writes to it.
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
    // Small enough that sums are exact in any order.
    bytes.extend([0.0, 1.0, 2.0].into_iter().cycle().take(side * side).flat_map(bytes_of));
    write(path, &bytes)?;
    settle(path)
}

/// Reduces all elements of an ndarray array to one number.
type Reduce = fn(&ArrayView2<'_, f32>) -> f32;

/// A view and the ndarray array it is compared with.
#[derive(Clone)]
struct Pair<'a> {
    layout: &'static str,
    ours: View<'a, f32>,
    theirs: ArrayView2<'a, f32>,
    /// The same view of native elements, when those of `ours` are not native.
    native: Option<View<'a, f32>>,
}

impl<'a> Pair<'a> {
    fn new(layout: &'static str, view: View<'a, f32>) -> Result<Pair<'a>> {
        Ok(Pair { layout, theirs: view.as_ndarray::<Ix2>()?, ours: view, native: None })
    }
}

pub(crate) fn benchmarks(arrays: &Arrays) -> Result<Vec<Benchmark<'_>>> {
    let view = arrays.little.view::<f32>()?;
    let little = Pair::new("little-endian", view.clone())?;
    let big = Pair {
        layout: "big-endian",
        ours: arrays.big.view()?,
        theirs: view.as_ndarray()?,
        native: Some(view.clone()),
    };
    let strided = Pair::new("every other column", view.slice(s![.., ..;2])?)?;
    let reversed = Pair::new("reversed", view.slice(s![..;-1, ..;-1])?)?;
    let transposed = Pair::new("transposed", view.t())?;

    let positions = positions();
    let mut benchmarks = Vec::new();
    for pair in [&little, &big, &strided] {
        benchmarks.push(index_loop(pair.clone())?);
    }
    for pair in [&little, &big, &strided, &reversed, &transposed] {
        benchmarks.push(iter_sum(pair.clone())?);
    }
    benchmarks.push(for_loop(little.clone())?);
    benchmarks.push(owned_for_loop(little.clone())?);
    benchmarks.push(indexed_iter(little.clone())?);
    benchmarks.push(handle(arrays)?);
    benchmarks.push(newtype_to_vec(arrays)?);
    benchmarks.push(newtype_take(arrays)?);
    for pair in [&little, &big, &strided, &reversed, &transposed] {
        benchmarks.push(blocks(pair.clone())?);
    }
    for pair in [&little, &big, &strided, &transposed] {
        benchmarks.push(copy_out(pair.clone(), &arrays.copy));
    }
    for pair in [&little, &big] {
        benchmarks.push(scattered(pair.clone(), &positions)?);
    }
    benchmarks.push(set("little-endian", &arrays.little_mut, &arrays.little_mut));
    benchmarks.push(set("big-endian", &arrays.big_mut, &arrays.little_mut));
    benchmarks.push(map_inplace("little-endian", &arrays.little_mut, &arrays.little_mut));
    benchmarks.push(map_inplace("big-endian", &arrays.big_mut, &arrays.little_mut));
    Ok(benchmarks)
}

/// A benchmark that reduces all elements to one number, on which both must
/// agree.
fn reduction<'a>(
    name: &str,
    pair: Pair<'a>,
    ours: fn(&View<'_, f32>) -> f32,
    peers: &[(&str, Option<f64>, Reduce)],
    over_little: Option<f64>,
) -> Result<Benchmark<'a>> {
    let Pair { layout, ours: view, theirs, native } = pair;
    let expected = ours(&view);
    let mut competitors = Vec::new();
    for &(call, target, peer) in peers {
        same(name, layout, expected, peer(&theirs))?;
        let batch = batch(move || Result::<_>::Ok(peer(black_box(&theirs))));
        competitors.push(Peer::new(format!("ndarray {call}"), target, batch));
    }
    if let (Some(native), Some(target)) = (native, over_little) {
        let batch = batch(move || Result::<_>::Ok(ours(black_box(&native))));
        competitors.push(Peer::new("npymap, little-endian", Some(target), batch));
    }
    Ok(Benchmark {
        name: format!("{name}, {layout}"),
        ours: batch(move || Result::<_>::Ok(ours(black_box(&view)))),
        peers: competitors,
    })
}

#[expect(clippy::float_cmp, reason = "the sums are exact")]
fn same(name: &str, layout: &str, ours: f32, theirs: f32) -> Result<()> {
    if ours == theirs {
        return Ok(());
    }
    Err(format!("{name}, {layout}: {ours} by npymap, {theirs} by ndarray").into())
}

fn index_loop(pair: Pair<'_>) -> Result<Benchmark<'_>> {
    let peers: [(_, _, Reduce); 1] = [("`[[i, j]]`", Some(1.13), index_loop_sum_ndarray)];
    reduction("index loop", pair, index_loop_sum, &peers, None)
}

fn index_loop_sum(view: &View<'_, f32>) -> f32 {
    let &[rows, columns] = view.shape() else { return f32::NAN };
    let mut sum = 0.0;
    for i in 0..rows {
        for j in 0..columns {
            sum += view.at([i, j]);
        }
    }
    sum
}

fn index_loop_sum_ndarray(array: &ArrayView2<'_, f32>) -> f32 {
    let (rows, columns) = array.dim();
    let mut sum = 0.0;
    for i in 0..rows {
        for j in 0..columns {
            sum += array[[i, j]];
        }
    }
    sum
}

fn iter_sum(pair: Pair<'_>) -> Result<Benchmark<'_>> {
    let peers: [(_, _, Reduce); 1] = [("`iter().sum()`", Some(1.08), |array| array.iter().sum())];
    reduction("`iter().sum()`", pair, |view| view.iter().sum(), &peers, Some(1.3))
}

fn for_loop(pair: Pair<'_>) -> Result<Benchmark<'_>> {
    let peers: [(_, _, Reduce); 1] = [("`for`", None, for_loop_sum_ndarray)];
    reduction("`for`", pair, for_loop_sum, &peers, None)
}

/// A loop that consumes a view.
fn owned_for_loop(pair: Pair<'_>) -> Result<Benchmark<'_>> {
    let peers: [(_, _, Reduce); 1] = [("`for`", None, for_loop_sum_ndarray)];
    reduction("`for` over an owned view", pair, owned_for_loop_sum, &peers, None)
}

fn owned_for_loop_sum(view: &View<'_, f32>) -> f32 {
    let mut sum = 0.0;
    for x in view.slice(s![.., ..]).expect("all elements are selected") {
        sum += x;
    }
    sum
}

fn for_loop_sum(view: &View<'_, f32>) -> f32 {
    let mut sum = 0.0;
    for x in view {
        sum += x;
    }
    sum
}

fn for_loop_sum_ndarray(array: &ArrayView2<'_, f32>) -> f32 {
    let mut sum = 0.0;
    for x in array {
        sum += x;
    }
    sum
}

fn indexed_iter(pair: Pair<'_>) -> Result<Benchmark<'_>> {
    let peers: [(_, _, Reduce); 1] = [("`indexed_iter`, `IxDyn`", None, indexed_sum_ndarray)];
    reduction("`indexed_iter`", pair, indexed_sum, &peers, None)
}

fn indexed_sum(view: &View<'_, f32>) -> f32 {
    let mut sum = 0.0;
    for (index, x) in view.indexed_iter() {
        sum += if index[1] % 2 == 0 { x } else { 0.0 };
    }
    sum
}

fn indexed_sum_ndarray(array: &ArrayView2<'_, f32>) -> f32 {
    let mut sum = 0.0;
    for (index, x) in array.view().into_dyn().indexed_iter() {
        sum += if index[1] % 2 == 0 { *x } else { 0.0 };
    }
    sum
}

/// A newtype, which is to be as fast as its field.
#[derive(Clone, Copy, Debug, Pod, Zeroable, Element)]
#[bytemuck(crate = "npymap::bytemuck")]
#[repr(transparent)]
struct Sample(f32);

fn newtype_to_vec(arrays: &Arrays) -> Result<Benchmark<'_>> {
    let (ours, field) = (arrays.little.view::<Sample>()?, arrays.little.view::<f32>()?);
    let field = batch(move || Result::<_>::Ok(field.to_vec()));
    Ok(Benchmark {
        name: "`to_vec` of a newtype".into(),
        ours: batch(move || Result::<_>::Ok(ours.to_vec())),
        peers: vec![Peer::new("npymap, its field", Some(1.1), field)],
    })
}

fn newtype_take(arrays: &Arrays) -> Result<Benchmark<'_>> {
    let side = usize::from(SIDE);
    let order: Vec<usize> = (0..side).map(|row| row * 7 % side).collect();
    let (ours, field) = (arrays.little.rows()?, arrays.little.rows()?);
    let (mut out, mut field_out) = (vec![Sample(0.0); side * side], vec![0.0_f32; side * side]);
    let field_order = order.clone();
    let field = batch(move || field.take(&field_order, &mut field_out));
    Ok(Benchmark {
        name: "`take` of a newtype".into(),
        ours: batch(move || ours.take(&order, &mut out)),
        peers: vec![Peer::new("npymap, its field", Some(1.1), field)],
    })
}

/// Views that are made for one element each, as a server does for a request.
#[expect(clippy::indexing_slicing, reason = "the diagonal of a square")]
fn handle(arrays: &Arrays) -> Result<Benchmark<'_>> {
    let side = usize::from(SIDE);
    let ours = arrays.little.clone().into_typed::<f32, Ix2>()?;
    let owned: Array2<f32> = arrays.little.view()?.to_ndarray()?;
    let owned = batch(move || {
        let diagonal = (0..side).map(|i| black_box(&owned).view()[[i, i]]);
        Result::<_>::Ok(diagonal.sum::<f32>())
    });
    let checked = batch(move || {
        (0..side).try_fold(0.0, |sum, i| {
            Result::<_>::Ok(sum + black_box(&arrays.little).as_ndarray::<f32, Ix2>()?[[i, i]])
        })
    });
    Ok(Benchmark {
        name: "view and element by handle".into(),
        ours: batch(move || {
            let diagonal = (0..side).map(|i| black_box(&ours).view()[[i, i]]);
            Result::<_>::Ok(diagonal.sum::<f32>())
        }),
        peers: vec![
            Peer::new("ndarray `view` of an `Array2`", None, owned),
            Peer::new("npymap `as_ndarray`", None, checked),
        ],
    })
}

/// Blocks are summed by ndarray's `sum`, so that only the iteration differs.
fn blocks(pair: Pair<'_>) -> Result<Benchmark<'_>> {
    let target = pair.native.is_none().then_some(0.89);
    let peers: [(_, _, Reduce); 3] = [
        ("`iter().sum()`", target, |array| array.iter().sum()),
        ("`sum()`", None, |array| array.sum()),
        ("`sum()` of copies of 8 KiB", Some(1.1), sum_of_copies),
    ];
    // Only elements that have to be decoded are copied.
    let count = if pair.native.is_some() { 3 } else { 2 };
    reduction("`blocks` sum", pair, block_sum, peers.get(..count).unwrap_or_default(), None)
}

/// Copies native elements to a buffer as large as that for decoding, and sums them there.
fn sum_of_copies(array: &ArrayView2<'_, f32>) -> f32 {
    let mut buffer = [0.0; 2048];
    let mut sum = 0.0;
    for elements in array.as_slice().unwrap_or_default().chunks_exact(buffer.len()) {
        buffer.copy_from_slice(elements);
        sum += aview1(black_box(&buffer)).sum();
    }
    sum
}

fn block_sum(view: &View<'_, f32>) -> f32 {
    let mut sum = 0.0;
    let mut blocks = view.blocks();
    while let Some(block) = blocks.next() {
        sum += aview1(block).sum();
    }
    sum
}

fn copy_out<'a>(pair: Pair<'a>, out: &'a RefCell<Array2<f32>>) -> Benchmark<'a> {
    let Pair { layout, ours, theirs, .. } = pair;
    let len = ours.len();
    let columns = theirs.ncols();
    // The buffer may be longer than the view.
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
    let peers = vec![Peer::new("ndarray `assign`", Some(1.3), theirs)];
    Benchmark { name: format!("copy out, {layout}"), ours, peers }
}

/// Positions scattered over the array, the same in each run.
fn positions() -> Vec<[usize; 2]> {
    let mut random = Random::new(1);
    let indices = random.indices(2 * SCATTERED, usize::from(SIDE));
    indices.chunks_exact(2).filter_map(|pair| pair.try_into().ok()).collect()
}

fn scattered<'a>(pair: Pair<'a>, positions: &[[usize; 2]]) -> Result<Benchmark<'a>> {
    let Pair { layout, ours, theirs, .. } = pair;
    let name = "scattered `get`";
    let same_positions = positions.to_vec();
    let positions = positions.to_vec();
    same(name, layout, sum_at(&ours, &positions), sum_at_ndarray(&theirs, &positions))?;
    let theirs =
        batch(move || Result::<_>::Ok(sum_at_ndarray(black_box(&theirs), &same_positions)));
    Ok(Benchmark {
        name: format!("{name}, {layout}"),
        ours: batch(move || Result::<_>::Ok(sum_at(black_box(&ours), &positions))),
        peers: vec![Peer::new("ndarray `get`", Some(1.6), theirs)],
    })
}

fn sum_at(view: &View<'_, f32>, positions: &[[usize; 2]]) -> f32 {
    positions.iter().filter_map(|&position| view.get(position)).sum()
}

fn sum_at_ndarray(array: &ArrayView2<'_, f32>, positions: &[[usize; 2]]) -> f32 {
    positions.iter().filter_map(|&position| array.get(position)).sum()
}

fn set<'a>(
    layout: &'static str,
    ours: &'a RefCell<MappedArrayMut>,
    theirs: &'a RefCell<MappedArrayMut>,
) -> Benchmark<'a> {
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
    let peers = vec![Peer::new("ndarray `[[i, j]] =`", Some(1.8), theirs)];
    Benchmark { name: format!("`set` loop, {layout}"), ours, peers }
}

fn map_inplace<'a>(
    layout: &'static str,
    ours: &'a RefCell<MappedArrayMut>,
    theirs: &'a RefCell<MappedArrayMut>,
) -> Benchmark<'a> {
    let ours = batch(move || {
        let mut array = ours.borrow_mut();
        black_box(&mut array.view_mut::<f32>()?).map_inplace(|x| 2.0 - x)
    });
    let theirs = batch(move || {
        let mut array = theirs.borrow_mut();
        black_box(&mut array.as_ndarray_mut::<f32, Ix2>()?).map_inplace(|x| *x = 2.0 - *x);
        Result::<_>::Ok(())
    });
    let peers = vec![Peer::new("ndarray `map_inplace`", Some(1.1), theirs)];
    Benchmark { name: format!("`map_inplace`, {layout}"), ours, peers }
}
