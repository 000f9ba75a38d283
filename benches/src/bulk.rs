//! Going through whole files: sums and copies, against NumPy and ndarray.
#![allow(unsafe_code)]

use std::cell::RefCell;
use std::fs::File;
use std::path::Path;

use ndarray::{Array1, Array2, ArrayView1, ArrayView2, Axis, Ix1, Ix2};
use npymap::{DType, Header, MappedArray, Order, element::Real};
use tempfile::TempDir;

use crate::Result;
use crate::files::{free, settle};
use crate::numpy::NumPy;
use crate::rounds::{Contestant, Work, batch};

/// Rows and columns: 256 MiB of `f64`, more than any cache holds.
const SHAPE: [usize; 2] = [4096, 8192];

/// Numbers between the places that are read in turn: 1 MiB.
const APART: usize = 1 << 17;

/// Records of 24 bytes.
const RECORDS: usize = 8 << 20;

/// What is written: name, dtype and order.
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
        free(directory.path(), 3 << 30)?;
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
        let out = Array2::zeros(SHAPE).into();
        Ok(Arrays { mapped, out, directory })
    }

    /// Where NumPy finds them.
    pub(crate) fn directory(&self) -> &Path {
        self.directory.path()
    }

    fn get(&self, name: &str) -> Result<&MappedArray> {
        let found = self.mapped.iter().find(|(known, _)| *known == name);
        found.map(|(_, array)| array).ok_or_else(|| format!("no array {name}").into())
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.directory.path().join(format!("{name}.npy"))
    }
}

fn open(path: &Path) -> Result<MappedArray> {
    // SAFETY: nobody else knows the file, and no one writes to it.
    Ok(unsafe { MappedArray::open(path) }?)
}

/// Writes a file whose numbers are 1 in whatever type, so that all sums are
/// exact.
fn create(path: &Path, dtype: &DType, shape: &[usize], order: Order) -> Result<()> {
    let header = Header::new(dtype.clone(), shape, order)?;
    let mut element = MappedArray::anonymous(dtype, &[])?;
    match dtype.fields() {
        [] => ones(element.dyn_view_mut()?)?,
        fields => {
            for field in fields {
                ones(element.field_mut(field.name())?)?;
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

pub(crate) fn works<'a>(arrays: &'a Arrays, numpy: Option<&'a NumPy>) -> Result<Vec<Work<'a>>> {
    let mut works = vec![
        sum::<f64>(arrays, numpy, "f8-little", Some(0.70))?,
        fresh(arrays, numpy),
        sum::<f64>(arrays, numpy, "f8-big", Some(0.60))?,
        sum::<f32>(arrays, numpy, "f4-little", None)?,
        sum::<f32>(arrays, numpy, "f4-big", Some(0.70))?,
        sum::<u16>(arrays, numpy, "u2-little", None)?,
        sum::<u16>(arrays, numpy, "u2-big", Some(0.60))?,
    ];
    works.push(copy_over(arrays, numpy)?);
    works.push(copy_fresh(arrays, numpy)?);
    works.push(sum_axis(arrays, numpy, "f8-little", 0, Some(0.75))?);
    works.push(sum_axis(arrays, numpy, "f8-fortran", 1, Some(0.80))?);
    works.push(turn(arrays, numpy)?);
    works.push(field(arrays, numpy)?);
    Ok(works)
}

fn work<'a, T>(
    name: String,
    ours: impl FnMut() -> Result<T> + 'a,
    peers: Vec<Contestant<'a>>,
) -> Work<'a> {
    Work { name, ours: batch(ours), peers }
}

/// NumPy's answer to a work, if NumPy is there.
fn by_numpy<'a>(
    numpy: Option<&'a NumPy>,
    work: &'static str,
    call: &str,
    target: Option<f64>,
) -> Vec<Contestant<'a>> {
    numpy.map(|numpy| numpy.contestant(work, call, target)).into_iter().collect()
}

fn sum<'a, T: Real>(
    arrays: &'a Arrays,
    numpy: Option<&'a NumPy>,
    name: &'static str,
    target: Option<f64>,
) -> Result<Work<'a>> {
    let view = arrays.get(name)?.view::<T>()?;
    let mut peers = by_numpy(numpy, name, "`sum()`", target);
    if name == "f8-little" {
        let theirs: ArrayView2<'a, f64> = arrays.get(name)?.as_ndarray::<f64, Ix2>()?;
        let theirs = batch(move || checked(theirs.sum()));
        peers.push(Contestant::new("ndarray `sum()`", Some(0.80), theirs));
        peers.push(limit(arrays)?);
    }
    if let Some(kind) = name.strip_suffix("-big") {
        let little = arrays.get(&format!("{kind}-little"))?.view::<T>()?;
        peers.push(Contestant::new(
            "npymap, little-endian",
            Some(1.3),
            batch(move || checked(little.sum())),
        ));
    }
    Ok(work(format!("sum, {name}"), move || checked(view.sum()), peers))
}

/// What memory gives at most: one load from each cache line, and eight places
/// read in turn.
fn limit(arrays: &Arrays) -> Result<Contestant<'_>> {
    let elements = arrays.get("f8-little")?.as_slice::<f64>()?;
    let loads = batch(move || {
        let sum: f64 = elements.chunks(8 * APART).map(lines).sum();
        checked(8.0 * sum)
    });
    Ok(Contestant::new("a load from each cache line", None, loads))
}

/// Adds up every eighth number of a block, from eight places in turn.
fn lines(block: &[f64]) -> f64 {
    let mut sums = [0.0; 8];
    let streams: Vec<&[f64]> = block.chunks(APART).collect();
    for i in (0..APART).step_by(8) {
        for (sum, stream) in sums.iter_mut().zip(&streams) {
            *sum += stream.get(i).copied().unwrap_or(0.0);
        }
    }
    sums.iter().sum()
}

/// The sum of all ones.
fn checked(sum: f64) -> Result<()> {
    let all = u32::try_from(SHAPE.iter().product::<usize>())?;
    if sum.total_cmp(&f64::from(all)).is_eq() {
        Ok(())
    } else {
        Err(format!("a sum of {sum}").into())
    }
}

fn fresh<'a>(arrays: &'a Arrays, numpy: Option<&'a NumPy>) -> Work<'a> {
    let path = arrays.path("f8-little");
    let ours = move || checked(open(&path)?.view::<f64>()?.sum());
    work(
        "open and sum, f8-little".into(),
        ours,
        by_numpy(numpy, "fresh", "`load`, `sum()`", Some(0.70)),
    )
}

fn copy_over<'a>(arrays: &'a Arrays, numpy: Option<&'a NumPy>) -> Result<Work<'a>> {
    let view = arrays.get("f8-big")?.view::<f64>()?;
    let mut peers = by_numpy(numpy, "copy-over", "`copyto`", Some(0.80));
    peers.push(plain_copy(arrays, Some(1.4))?);
    let ours = move || {
        let mut out = arrays.out.borrow_mut();
        Ok(view.copy_to_slice(out.as_slice_mut().ok_or("not contiguous")?)?)
    };
    Ok(work("copy f8-big to a buffer".into(), ours, peers))
}

/// What a copy costs that changes nothing.
fn plain_copy(arrays: &Arrays, target: Option<f64>) -> Result<Contestant<'_>> {
    let native = arrays.get("f8-little")?.as_slice::<f64>()?;
    let plain = move || {
        let mut out = arrays.out.borrow_mut();
        out.as_slice_mut().ok_or("not contiguous")?.copy_from_slice(native);
        Result::<_>::Ok(())
    };
    Ok(Contestant::new("`copy_from_slice` of native elements", target, batch(plain)))
}

fn copy_fresh<'a>(arrays: &'a Arrays, numpy: Option<&'a NumPy>) -> Result<Work<'a>> {
    let view = arrays.get("f8-big")?.view::<f64>()?;
    let ours = move || Ok(view.to_vec());
    Ok(work(
        "copy f8-big to fresh memory".into(),
        ours,
        by_numpy(numpy, "copy-fresh", "`astype`", Some(1.15)),
    ))
}

fn sum_axis<'a>(
    arrays: &'a Arrays,
    numpy: Option<&'a NumPy>,
    name: &'static str,
    axis: usize,
    target: Option<f64>,
) -> Result<Work<'a>> {
    let view = arrays.get(name)?.view::<f64>()?;
    let theirs = arrays.get(name)?.as_ndarray::<f64, Ix2>()?;
    let asked = if axis == 0 { "axis-0" } else { "axis-1" };
    let mut peers = by_numpy(numpy, asked, &format!("`sum({axis})`"), target);
    let theirs = batch(move || {
        let sums: Array1<f64> = theirs.sum_axis(Axis(axis));
        Result::<_>::Ok(sums)
    });
    peers.push(Contestant::new("ndarray `sum_axis`", None, theirs));
    peers.push(limit(arrays)?);
    let ours = move || Ok(view.sum_axis(axis)?);
    Ok(work(format!("sum along axis {axis}, {name}"), ours, peers))
}

fn turn<'a>(arrays: &'a Arrays, numpy: Option<&'a NumPy>) -> Result<Work<'a>> {
    let view = arrays.get("f8-fortran")?.view::<f64>()?;
    let theirs = arrays.get("f8-fortran")?.as_ndarray::<f64, Ix2>()?;
    let mut peers = by_numpy(numpy, "turn", "`copyto`", Some(0.20));
    let theirs = batch(move || {
        arrays.out.borrow_mut().assign(&theirs);
        Result::<_>::Ok(())
    });
    peers.push(Contestant::new("ndarray `assign`", Some(0.20), theirs));
    peers.push(plain_copy(arrays, None)?);
    let ours = move || {
        let mut out = arrays.out.borrow_mut();
        Ok(view.copy_to_slice(out.as_slice_mut().ok_or("not contiguous")?)?)
    };
    Ok(work("copy f8-fortran to C order".into(), ours, peers))
}

fn field<'a>(arrays: &'a Arrays, numpy: Option<&'a NumPy>) -> Result<Work<'a>> {
    let array = arrays.get("records")?;
    let view = array.field("x")?.view::<f64>()?;
    let mut peers = by_numpy(numpy, "field", "`a['x'].sum()`", Some(0.90));
    let theirs: ArrayView1<'a, f64> = array.field("x")?.view::<f64>()?.as_ndarray::<Ix1>()?;
    let theirs = batch(move || Result::<_>::Ok(theirs.sum()));
    peers.push(Contestant::new("ndarray `sum()`", None, theirs));
    let ours = move || Ok(view.sum());
    Ok(work("sum a field of records of 24 bytes".into(), ours, peers))
}
