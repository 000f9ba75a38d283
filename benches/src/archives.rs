//! Members of `.npz` archives, against NumPy and ndarray-npy.
#![allow(unsafe_code)]

use std::fs::File;
use std::path::Path;

use ndarray::{Array1, Ix1, OwnedRepr};
use ndarray_npy::NpzReader;
use npymap::Source;
use npymap::npz::{self, Compression, Npz, NpzWriter};

use crate::Result;
use crate::files::{check_space, settle};
use crate::numpy::NumPy;
use crate::rounds::{Benchmark, Peer, batch};

/// Elements of the stored member: 1 GiB of `f64`.
const STORED: usize = 1 << 27;

/// Elements of the deflated member: 64 MiB.
const DEFLATED: usize = 1 << 23;

pub(crate) fn benchmarks<'a>(
    directory: &'a Path,
    numpy: Option<&'a NumPy>,
) -> Result<Vec<Benchmark<'a>>> {
    check_space(directory, 2 << 30)?;
    let stored = directory.join("stored.npz");
    let deflated = directory.join("deflated.npz");
    let values = Array1::from_elem(STORED, 1.5);
    npz::savez(&stored, &[("a", &values)])?;
    drop(values);
    // About as compressible as measured values.
    let steps = 0..u32::try_from(DEFLATED)?;
    let values: Array1<f64> =
        steps.map(|i| (f64::from(i) * 0.001).sin().mul_add(1000.0, 0.5).round()).collect();
    let mut writer = NpzWriter::create(&deflated)?;
    writer.compression(Compression::Deflated(6)).write("a", &values)?;
    writer.finish()?;
    settle(&stored)?;
    settle(&deflated)?;

    let by_numpy = numpy.map(|numpy| numpy.peer("npz-first", "`load(…)['a'][0]`", Some(0.001)));
    let first = Benchmark {
        name: "first element of a stored 1 GiB member".into(),
        ours: batch(move || first(&stored)),
        peers: by_numpy.into_iter().collect(),
    };
    let same_path = deflated.clone();
    let mut peers = vec![Peer::new("ndarray-npy", None, batch(move || by_ndarray_npy(&same_path)))];
    peers.extend(numpy.map(|numpy| numpy.peer("npz-whole", "`load(…)['a']`", None)));
    let whole = Benchmark {
        name: "a deflated member of 64 MiB".into(),
        ours: batch(move || whole(&deflated)),
        peers,
    };
    Ok(vec![first, whole])
}

fn first(path: &Path) -> Result<f64> {
    // SAFETY: no other process uses the file.
    let array = Npz::open(unsafe { Source::map(path) }?)?.get("a")?;
    array.as_slice::<f64>()?.first().copied().ok_or_else(|| "no element".into())
}

fn whole(path: &Path) -> Result<npymap::MappedArray> {
    // SAFETY: no other process uses the file.
    Ok(Npz::open(unsafe { Source::map(path) }?)?.get("a")?)
}

fn by_ndarray_npy(path: &Path) -> Result<Array1<f64>> {
    let mut archive = NpzReader::new(File::open(path)?)?;
    Ok(archive.by_name::<OwnedRepr<f64>, Ix1>("a.npy")?)
}
