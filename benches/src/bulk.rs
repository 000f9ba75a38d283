//! Sums and copies of whole files, against NumPy and ndarray.
#![allow(unsafe_code)]

use std::cell::RefCell;
use std::fs::File;
use std::path::Path;

use ndarray::{Array1, Array2, ArrayView1, ArrayView2, Axis, Ix1, Ix2};
use npymap::{ArrayFile, DType, Header, MappedArray, Order, RowSource as _, View, element::Real};
use tempfile::TempDir;

use crate::Result;
use crate::files::{check_space, settle};
use crate::loads::Loads;
use crate::numpy::NumPy;
use crate::rounds::{Benchmark, Peer, batch};

/// Rows and columns: 256 MiB of `f64`, larger than any cache.
const SHAPE: [usize; 2] = [4096, 8192];

/// Records of 24 bytes.
const RECORDS: usize = 8 << 20;

/// The files: name, dtype and order.
const FILES: [(&str, &str, Order); 7] = [
    ("f8-little", "<f8", Order::C),
    ("f8-big", ">f8", Order::C),
    ("f8-fortran", "<f8", Order::F),
    ("f4-little", "<f4", Order::C),
    ("f4-big", ">f4", Order::C),
    ("u2-little", "<u2", Order::C),
    ("u2-big", ">u2", Order::C),
];

/// The files, mapped.
pub(crate) struct Arrays {
    mapped: Vec<(&'static str, MappedArray)>,
    out: RefCell<Array2<f64>>,
    directory: TempDir,
}

impl Arrays {
    pub(crate) fn create() -> Result<Arrays> {
        let directory = TempDir::with_prefix("npymap-benches-")?;
        check_space(directory.path(), 3 << 30)?;
        let mut mapped = Vec::new();
        for (name, dtype, order) in FILES {
            let path = directory.path().join(format!("{name}.npy"));
            create(&path, &dtype.parse()?, &SHAPE, order)?;
            mapped.push((name, open(&path)?));
        }
        let path = directory.path().join("records.npy");
        let records = "[('id', '<i8'), ('x', '<f8'), ('flags', '<i8')]";
        create(&path, &records.parse()?, &[RECORDS], Order::C)?;
        mapped.push(("records", open(&path)?));
        // In large pages, like NumPy's array.
        let ones = open(&directory.path().join("f8-little.npy"))?;
        let out = RefCell::new(ones.view::<f64>()?.to_ndarray()?);
        Ok(Arrays { mapped, out, directory })
    }

    /// The directory of the files.
    pub(crate) fn directory(&self) -> &Path {
        self.directory.path()
    }

    fn get(&self, name: &str) -> Result<&MappedArray> {
        let entry = self.mapped.iter().find(|(known, _)| *known == name);
        entry.map(|(_, array)| array).ok_or_else(|| format!("no array {name}").into())
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.directory.path().join(format!("{name}.npy"))
    }
}

fn open(path: &Path) -> Result<MappedArray> {
    // SAFETY: no other process uses the file, and no one writes to it.
    Ok(unsafe { MappedArray::open(path) }?)
}

/// Writes a file of ones of any dtype, so that all sums are exact.
fn create(path: &Path, dtype: &DType, shape: &[usize], order: Order) -> Result<()> {
    let header = Header::new(dtype.clone(), shape, order)?;
    let mut element = MappedArray::zeros(dtype, &[])?;
    match dtype.fields() {
        [] => ones(element.dyn_view_mut()?)?,
        fields => {
            for field in fields {
                ones(element.dyn_view_mut()?.into_field(field.name())?)?;
            }
        }
    }
    let element = element.into_data();
    let block = element.as_ref().repeat(1 << 16);
    let file = File::create(path)?;
    let mut to = std::io::BufWriter::new(&file);
    std::io::Write::write_all(&mut to, &header.encode(None)?.bytes)?;
    for _ in 0..header.layout()?.nbytes() / block.len() {
        std::io::Write::write_all(&mut to, &block)?;
    }
    drop(to);
    file.sync_all()?;
    settle(path)
}

fn ones(mut element: npymap::view::DynViewMut<'_>) -> Result<()> {
    let one = npymap::Value::parse("1", element.dtype())?;
    Ok(element.fill(&one)?)
}

pub(crate) fn benchmarks<'a>(
    arrays: &'a Arrays,
    numpy: Option<&'a NumPy>,
) -> Result<Vec<Benchmark<'a>>> {
    let mut benchmarks = vec![
        sum::<f64>(arrays, numpy, "f8-little", None)?,
        fresh(arrays, numpy),
        sum::<f64>(arrays, numpy, "f8-big", Some(0.60))?,
        sum::<f32>(arrays, numpy, "f4-little", None)?,
        sum::<f32>(arrays, numpy, "f4-big", Some(0.70))?,
        sum::<u16>(arrays, numpy, "u2-little", None)?,
        sum::<u16>(arrays, numpy, "u2-big", Some(0.60))?,
    ];
    benchmarks.push(copy_over(arrays, numpy)?);
    benchmarks.push(copy_fresh(arrays, numpy)?);
    benchmarks.push(sum_axis(arrays, numpy, "f8-little", 0, Some(0.75))?);
    benchmarks.push(sum_axis(arrays, numpy, "f8-fortran", 1, Some(0.80))?);
    benchmarks.push(transpose(arrays, numpy)?);
    benchmarks.extend(fortran_rows(arrays, numpy)?);
    benchmarks.push(field(arrays, numpy)?);
    Ok(benchmarks)
}

fn benchmark<'a, T>(
    name: String,
    ours: impl FnMut() -> Result<T> + 'a,
    peers: Vec<Peer<'a>>,
) -> Benchmark<'a> {
    Benchmark { name, ours: batch(ours), peers }
}

/// NumPy as a peer, if it is installed.
fn by_numpy<'a>(
    numpy: Option<&'a NumPy>,
    benchmark: &'static str,
    call: &str,
    target: Option<f64>,
) -> Vec<Peer<'a>> {
    numpy.map(|numpy| numpy.peer(benchmark, call, target)).into_iter().collect()
}

fn sum<'a, T: Real>(
    arrays: &'a Arrays,
    numpy: Option<&'a NumPy>,
    name: &'static str,
    target: Option<f64>,
) -> Result<Benchmark<'a>> {
    let view = arrays.get(name)?.view::<T>()?;
    let mut peers = by_numpy(numpy, name, "`sum()`", target);
    if name == "f8-little" {
        let theirs: ArrayView2<'a, f64> = arrays.get(name)?.as_ndarray::<f64, Ix2>()?;
        let theirs = batch(move || checked(theirs.sum()));
        peers.push(Peer::new("ndarray `sum()`", None, theirs));
        peers.push(fastest_loads(arrays, name, Some(1.25))?);
    }
    if let Some(kind) = name.strip_suffix("-big") {
        let little = arrays.get(&format!("{kind}-little"))?.view::<T>()?;
        peers.push(Peer::new(
            "npymap, little-endian",
            Some(1.3),
            batch(move || checked(little.sum())),
        ));
    }
    Ok(benchmark(format!("sum, {name}"), move || checked(view.sum()), peers))
}

/// The limit set by memory bandwidth, for one thread.
fn fastest_loads<'a>(arrays: &'a Arrays, name: &str, target: Option<f64>) -> Result<Peer<'a>> {
    let bytes = arrays.get(name)?.as_bytes()?;
    let loads = Loads::fastest(bytes);
    let name = format!("the fastest loads: {}", loads.name());
    Ok(Peer::new(&name, target, batch(move || Result::<_>::Ok(loads.on_one(bytes)))))
}

/// Checks the sum of a file of ones.
fn checked(sum: f64) -> Result<()> {
    let all = u32::try_from(SHAPE.iter().product::<usize>())?;
    if sum.total_cmp(&f64::from(all)).is_eq() {
        Ok(())
    } else {
        Err(format!("the sum is {sum}, expected {all}").into())
    }
}

fn fresh<'a>(arrays: &'a Arrays, numpy: Option<&'a NumPy>) -> Benchmark<'a> {
    let path = arrays.path("f8-little");
    benchmark(
        "open and sum, f8-little".into(),
        move || checked(open(&path)?.view::<f64>()?.sum()),
        by_numpy(numpy, "fresh", "`load`, `sum()`", None),
    )
}

fn copy_over<'a>(arrays: &'a Arrays, numpy: Option<&'a NumPy>) -> Result<Benchmark<'a>> {
    let view = arrays.get("f8-big")?.view::<f64>()?;
    let mut peers = by_numpy(numpy, "copy-over", "`copyto`", Some(1.1));
    peers.push(plain_copy(arrays, Some(1.4))?);
    Ok(benchmark("copy f8-big to a buffer".into(), move || copy_out(&view, &arrays.out), peers))
}

fn copy_out(view: &View<'_, f64>, out: &RefCell<Array2<f64>>) -> Result<()> {
    let mut out = out.borrow_mut();
    Ok(view.copy_to_slice(out.as_slice_mut().ok_or("not contiguous")?)?)
}

/// A copy of native elements, without conversion.
fn plain_copy(arrays: &Arrays, target: Option<f64>) -> Result<Peer<'_>> {
    let native = arrays.get("f8-little")?.as_slice::<f64>()?;
    let theirs = batch(move || {
        let mut out = arrays.out.borrow_mut();
        out.as_slice_mut().ok_or("not contiguous")?.copy_from_slice(native);
        Result::<_>::Ok(())
    });
    Ok(Peer::new("`copy_from_slice` of native elements", target, theirs))
}

fn copy_fresh<'a>(arrays: &'a Arrays, numpy: Option<&'a NumPy>) -> Result<Benchmark<'a>> {
    let view = arrays.get("f8-big")?.view::<f64>()?;
    Ok(benchmark(
        "copy f8-big to fresh memory".into(),
        move || Ok(view.to_vec()),
        by_numpy(numpy, "copy-fresh", "`astype`", Some(1.15)),
    ))
}

fn sum_axis<'a>(
    arrays: &'a Arrays,
    numpy: Option<&'a NumPy>,
    name: &'static str,
    axis: usize,
    target: Option<f64>,
) -> Result<Benchmark<'a>> {
    let view = arrays.get(name)?.view::<f64>()?;
    let theirs = arrays.get(name)?.as_ndarray::<f64, Ix2>()?;
    let numpy_name = if axis == 0 { "axis-0" } else { "axis-1" };
    let mut peers = by_numpy(numpy, numpy_name, &format!("`sum({axis})`"), target);
    let theirs = batch(move || {
        let sums: Array1<f64> = theirs.sum_axis(Axis(axis));
        Result::<_>::Ok(sums)
    });
    peers.push(Peer::new("ndarray `sum_axis`", None, theirs));
    peers.push(fastest_loads(arrays, name, None)?);
    Ok(benchmark(format!("sum along axis {axis}, {name}"), move || Ok(view.sum_axis(axis)?), peers))
}

fn transpose<'a>(arrays: &'a Arrays, numpy: Option<&'a NumPy>) -> Result<Benchmark<'a>> {
    let view = arrays.get("f8-fortran")?.view::<f64>()?;
    let theirs = arrays.get("f8-fortran")?.as_ndarray::<f64, Ix2>()?;
    let mut peers = by_numpy(numpy, "transpose", "`copyto`", Some(0.20));
    let theirs = batch(move || {
        arrays.out.borrow_mut().assign(&theirs);
        Result::<_>::Ok(())
    });
    peers.push(Peer::new("ndarray `assign`", Some(0.20), theirs));
    peers.push(plain_copy(arrays, None)?);
    Ok(benchmark("copy f8-fortran to C order".into(), move || copy_out(&view, &arrays.out), peers))
}

/// Rows that are spread over the whole file, from a map, and read.
fn fortran_rows<'a>(arrays: &'a Arrays, numpy: Option<&'a NumPy>) -> Result<[Benchmark<'a>; 2]> {
    let [count, len] = SHAPE;
    let indices: [usize; 256] = std::array::from_fn(|i| i * 1031 % count);
    let rows = arrays.get("f8-fortran")?.rows()?;
    let file = ArrayFile::open(arrays.path("f8-fortran"))?;
    let mut out = vec![0.0_f64; indices.len() * len];
    let mut read_out = out.clone();
    let peers = || by_numpy(numpy, "rows-fortran", "`mm[idx]`", None);
    let name = |how: &str| format!("256 random rows of f8-fortran, {how}");
    Ok([
        benchmark(name("mapped"), move || Ok(rows.take(&indices, &mut out)?), peers()),
        benchmark(name("read"), move || Ok(file.take(&indices, &mut read_out)?), peers()),
    ])
}

fn field<'a>(arrays: &'a Arrays, numpy: Option<&'a NumPy>) -> Result<Benchmark<'a>> {
    let array = arrays.get("records")?;
    let view = array.dyn_view()?.field("x")?.view::<f64>()?;
    let mut peers = by_numpy(numpy, "field", "`a['x'].sum()`", None);
    peers.push(fastest_loads(arrays, "records", Some(1.25))?);
    let theirs: ArrayView1<'a, f64> =
        array.dyn_view()?.field("x")?.view::<f64>()?.as_ndarray::<Ix1>()?;
    let theirs = batch(move || Result::<_>::Ok(theirs.sum()));
    peers.push(Peer::new("ndarray `sum()`", None, theirs));
    Ok(benchmark("sum a field of 24-byte records".into(), move || Ok(view.sum()), peers))
}
