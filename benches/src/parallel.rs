//! Work on all processors, against rayon and ndarray on the same elements, one
//! thread, and plain threads that only load.

use std::hint::black_box;

use ndarray::{Array2, Axis, Ix2};
use npymap::element::Casting;
use npymap::rayon::prelude::*;
use npymap::{MappedArray, MappedArrayMut, View};

use crate::Result;
use crate::loads::Loads;
use crate::rounds::{Benchmark, Peer, batch};

/// 128 MiB of `f32`, which is more than caches hold.
const SHAPE: [usize; 2] = [8192, 4096];

/// Elements that are not worth waking another thread.
const FEW: usize = 1000;

/// The same elements in both byte orders.
pub(crate) struct Arrays {
    little: MappedArrayMut,
    big: MappedArrayMut,
    few: MappedArrayMut,
}

impl Arrays {
    pub(crate) fn create() -> Result<Arrays> {
        let [little, big] = ["<f4", ">f4"].map(|dtype| filled(dtype, &SHAPE));
        Ok(Arrays { little: little?, big: big?, few: filled("<f4", &[FEW])? })
    }
}

fn filled(dtype: &str, shape: &[usize]) -> Result<MappedArrayMut> {
    let mut array = MappedArray::zeros(&dtype.parse()?, shape)?;
    array.view_mut::<f32>()?.fill(&1.0)?;
    Ok(array)
}

pub(crate) fn benchmarks(arrays: &Arrays) -> Result<Vec<Benchmark<'_>>> {
    let (little, big) = (arrays.little.view::<f32>()?, arrays.big.view::<f32>()?);
    Ok(vec![
        elements(arrays, "little-endian", &little)?,
        elements(arrays, "big-endian", &big)?,
        rows(arrays)?,
        bulk_sum(arrays, "little-endian", &little)?,
        bulk_sum(arrays, "big-endian", &big)?,
        sum_of_few(arrays)?,
        stats(&big),
        sum_axis(&little, 0),
        sum_axis(&little, 1),
        cast(&big),
        copy(&little, "little-endian"),
        copy(&little.t(), "transposed"),
    ])
}

/// Makes a peer of a function that cannot fail.
fn peer<'a, T>(name: &str, target: Option<f64>, mut once: impl FnMut() -> T + 'a) -> Peer<'a> {
    Peer::new(name, target, batch(move || Result::<_>::Ok(once())))
}

fn elements<'a>(arrays: &'a Arrays, layout: &str, view: &View<'a, f32>) -> Result<Benchmark<'a>> {
    let slice = arrays.little.as_slice::<f32>()?;
    let array = arrays.little.as_ndarray::<f32, Ix2>()?;
    let (ours, alone) = (view.clone(), view.clone());
    Ok(Benchmark {
        name: format!("`par_iter().sum()`, {layout}"),
        ours: batch(move || Result::<_>::Ok(black_box(&ours).par_iter().sum::<f32>())),
        peers: vec![
            peer("rayon over a slice", None, move || black_box(slice).par_iter().sum::<f32>()),
            peer("ndarray `par_iter()`", None, move || {
                black_box(&array).into_par_iter().sum::<f32>()
            }),
            peer("npymap, one thread", None, move || black_box(&alone).iter().sum::<f32>()),
        ],
    })
}

fn rows(arrays: &Arrays) -> Result<Benchmark<'_>> {
    let view = arrays.little.view::<f32>()?;
    let array = arrays.little.as_ndarray::<f32, Ix2>()?;
    let ours = batch(move || {
        let rows = black_box(&view).outer_iter().into_par_iter();
        Result::<_>::Ok(rows.map(|row| row.iter().sum::<f32>()).sum::<f32>())
    });
    let theirs = move || {
        let rows = black_box(&array).axis_iter(Axis(0)).into_par_iter();
        rows.map(|row| row.iter().sum::<f32>()).sum::<f32>()
    };
    let peers = vec![peer("ndarray `axis_iter`", None, theirs)];
    Ok(Benchmark { name: "rows in parallel".into(), ours, peers })
}

fn bulk_sum<'a>(arrays: &'a Arrays, layout: &str, view: &View<'a, f32>) -> Result<Benchmark<'a>> {
    let bytes = arrays.little.as_bytes()?;
    let loads = Loads::fastest_on_all(bytes);
    let limit = format!("threads that only load: {}", loads.name());
    let (ours, alone) = (view.clone(), view.clone());
    Ok(Benchmark {
        name: format!("`par_sum`, {layout}"),
        ours: batch(move || Result::<_>::Ok(black_box(&ours).par_sum())),
        peers: vec![
            peer("npymap `sum`", None, move || black_box(&alone).sum()),
            peer(&limit, None, move || loads.on_all(bytes)),
        ],
    })
}

fn sum_of_few(arrays: &Arrays) -> Result<Benchmark<'_>> {
    let (ours, alone) = (arrays.few.view::<f32>()?, arrays.few.view::<f32>()?);
    Ok(Benchmark {
        name: "`par_sum` of 1,000 elements".into(),
        ours: batch(move || Result::<_>::Ok(black_box(&ours).par_sum())),
        peers: vec![peer("npymap `sum`", Some(1.1), move || black_box(&alone).sum())],
    })
}

fn stats<'a>(view: &View<'a, f32>) -> Benchmark<'a> {
    let (ours, alone) = (view.clone(), view.clone());
    Benchmark {
        name: "`par_stats`, big-endian".into(),
        ours: batch(move || Result::<_>::Ok(black_box(&ours).par_stats())),
        peers: vec![peer("npymap `stats`", None, move || black_box(&alone).stats())],
    }
}

fn sum_axis<'a>(view: &View<'a, f32>, axis: usize) -> Benchmark<'a> {
    let (ours, alone) = (view.clone(), view.clone());
    Benchmark {
        name: format!("`par_sum_axis({axis})`, little-endian"),
        ours: batch(move || Result::<_>::Ok(black_box(&ours).par_sum_axis(axis)?)),
        peers: vec![peer("npymap `sum_axis`", None, move || black_box(&alone).sum_axis(axis))],
    }
}

fn cast<'a>(view: &View<'a, f32>) -> Benchmark<'a> {
    let (ours, alone) = (view.clone(), view.clone());
    Benchmark {
        name: "`par_to_ndarray_as` of big-endian f4 as f8".into(),
        ours: batch(move || {
            Result::<_>::Ok(black_box(&ours).par_to_ndarray_as::<f64, Ix2>(Casting::Safe)?)
        }),
        peers: vec![peer("npymap `to_ndarray_as`", None, move || {
            black_box(&alone).to_ndarray_as::<f64, Ix2>(Casting::Safe)
        })],
    }
}

fn copy<'a>(view: &View<'a, f32>, layout: &str) -> Benchmark<'a> {
    let (ours, alone) = (view.clone(), view.clone());
    let mut out = Array2::<f32>::zeros(SHAPE);
    let mut other = out.clone();
    let ours = batch(move || {
        black_box(&ours).par_copy_to_slice(out.as_slice_mut().ok_or("not contiguous")?)?;
        Result::<_>::Ok(())
    });
    let theirs = batch(move || {
        black_box(&alone).copy_to_slice(other.as_slice_mut().ok_or("not contiguous")?)?;
        Result::<_>::Ok(())
    });
    let peers = vec![Peer::new("npymap `copy_to_slice`", None, theirs)];
    Benchmark { name: format!("`par_copy_to_slice`, {layout}"), ours, peers }
}
