//! Files stay intact when the disk is full.
//!
//! The disk is a file system of 1 MiB in which this test program is started
//! again, selected by an environment variable.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use npymap::ndarray::{Array2, s};
use npymap::npz::{self, Compression, NpzWriter};
use npymap::ten;
use npymap::{
    Appender, CreateOptions, DType, ErrorKind, OpenOptions, WriteOptions, array::RawSpec,
    write::RecoverOptions,
};

use crate::support::{create, directory, header_with, names, open_mut_with};

const FILE: &str = "NPYMAP_TEST_FULL_DISK";

/// Fills the disk, if this is the program started there.
#[test]
fn child_process() {
    let Ok(path) = env::var(FILE).map(PathBuf::from) else { return };
    nobody_else_runs_out_of_space(&path);
    archives(&path);
    fill(&path);
}

/// While more space is asked for than there is, other programs can use what is free.
fn nobody_else_runs_out_of_space(path: &Path) {
    let other = path.with_extension("other");
    let large = Array2::from_elem((20_000, 10), 1_u64);
    let raw = RawSpec::new(DType::of::<u64>()).shape(large.shape());
    let extended = path.with_extension("bin");
    fs::write(&extended, [7; 100]).unwrap();
    let mut log = Appender::create(
        path.with_extension("log"),
        &DType::of::<u64>(),
        &[10],
        &CreateOptions::new(),
    )
    .unwrap();
    std::thread::scope(|scope| {
        let refused = scope.spawn(|| {
            for _ in 0..100 {
                let created = create(path, "<u8", large.shape(), &CreateOptions::new());
                let opened = open_mut_with(&OpenOptions::new().raw(raw.clone()), &extended);
                for error in
                    [created.unwrap_err(), opened.unwrap_err(), log.resize(20_000).unwrap_err()]
                {
                    is_full(&error);
                    let text = error.to_string();
                    assert!(text.contains(" bytes are needed, "), "{text}");
                    assert!(text.contains(" are free: ") && error.path().is_some(), "{text}");
                }
            }
        });
        while !refused.is_finished() {
            fs::write(&other, [1; 8192]).unwrap();
            fs::remove_file(&other).unwrap();
        }
    });
    drop(log);
    for path in [path.with_extension("log"), extended] {
        fs::remove_file(path).unwrap();
    }
}

#[track_caller]
fn is_full(error: &npymap::Error) {
    let Some(source) = error.io_error() else { panic!("{error}") };
    assert_eq!(source.kind(), std::io::ErrorKind::StorageFull);
    assert_eq!(error.kind(), ErrorKind::Io, "{error}");
}

/// Writes archives and lists that do not fit the disk, over existing small
/// ones.
fn archives(path: &Path) {
    let (npz, list) = (path.with_extension("npz"), path.with_extension("ten"));
    let (small, large) =
        (Array2::from_elem((9, 9), 7_u64), Array2::from_shape_fn((700, 300), random));
    npz::savez(&npz, &[("a", &small)]).unwrap();
    ten::TenWriteOptions::new().save(&list, &[&small]).unwrap();
    let before = read_both(&npz, &list);
    is_full(&npz::savez(&npz, &[("a", &small), ("b", &large)]).unwrap_err());
    is_full(&ten::TenWriteOptions::new().save(&list, &[&small, &large]).unwrap_err());
    for compression in [Compression::Stored, Compression::Deflated(1)] {
        let mut writer = NpzWriter::create(&npz).unwrap();
        writer.compression(compression).write("a", &small).unwrap();
        is_full(&writer.write("b", &large).unwrap_err());
        drop(writer);
    }
    let (dtype, shape) = (DType::of::<u64>(), large.shape());
    assert!(read_both(&npz, &list) == before);
    assert_eq!(names(path.parent().unwrap()), ["a.npz", "a.ten"]);
    let raw = RawSpec::new(dtype).shape(shape);
    let headerless = CreateOptions::new().raw(0);
    is_full(&create(path, "<u8", shape, &headerless).unwrap_err());
    fs::write(path, [7; 100]).unwrap();
    is_full(&open_mut_with(&OpenOptions::new().raw(raw), path).unwrap_err());
    assert_eq!(fs::read(path).unwrap(), [7; 100]);
    for path in [&npz, &list, path] {
        fs::remove_file(path).unwrap();
    }
}

fn read_both(npz: &Path, list: &Path) -> [Vec<u8>; 2] {
    [&npz, &list].map(|path| fs::read(path).unwrap())
}

/// Numbers that deflate can't compress.
fn random((i, j): (usize, usize)) -> u64 {
    let mut x = (i * 300 + j) as u64 + 1;
    for _ in 0..3 {
        x = (x ^ (x >> 31)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
    x
}

/// Fills a file system of 1 MiB in every way.
fn fill(path: &Path) {
    let directory = path.parent().unwrap();
    let large = Array2::from_elem((20_000, 10), 1_u64);
    let (dtype, shape) = (DType::of::<u64>(), large.shape());
    is_full(&create(path, "<u8", shape, &CreateOptions::new()).unwrap_err());
    is_full(&WriteOptions::new().write(path, &large).unwrap_err());
    assert_eq!(names(directory), Vec::<String>::new());

    let sparse = CreateOptions::new().sparse(true);
    let mut array = create(path, "<u8", shape, &sparse).unwrap();
    is_full(&array.write_fill_slice([], None, &7_u64).unwrap_err());
    drop(array);
    fs::remove_file(path).unwrap();
    let mut array = create(path, "<u8", shape, &sparse).unwrap();
    is_full(&array.write_fill_slice(s![..;3, ..], None, &7_u64).unwrap_err());
    drop(array);
    fs::remove_file(path).unwrap();

    // Space that is reserved after the end does not fill holes.
    let mut array = create(path, "<u8", &[9000, 10], &sparse).unwrap();
    let reserved = fs::File::options().write(true).open(path).unwrap();
    let flags = rustix::fs::FallocateFlags::KEEP_SIZE;
    rustix::fs::fallocate(&reserved, flags, 128 + 720_000, 800_000).unwrap();
    is_full(&array.write_fill_slice(s![..;2, ..], None, &7_u64).unwrap_err());
    drop((array, reserved));
    fs::remove_file(path).unwrap();

    let mut log = Appender::create(path, &dtype, &[10], &CreateOptions::new()).unwrap();
    log.append(&large.slice(npymap::ndarray::s![..1000, ..]).to_owned()).unwrap();
    log.flush().unwrap();
    is_full(&log.append(&large).unwrap_err());
    is_full(&log.resize(1 << 20).unwrap_err());
    is_full(
        &log.append_parts(1 << 20, |put| (0..1 << 20).try_for_each(|_| put(&[0; 80]))).unwrap_err(),
    );
    assert_eq!(log.shape(), [1000, 10]);
    assert_eq!(fs::metadata(path).unwrap().len(), 128 + 80_000);
    let filler = directory.join("filler");
    fs::write(&filler, vec![0; 600_000]).unwrap();
    while log.append_slice(&[2_u64; 1000]).is_ok() {}
    let rows = log.rows();
    is_full(&log.flush().unwrap_err());
    fs::remove_file(&filler).unwrap();
    log.flush().unwrap();
    assert_eq!(header_with(&OpenOptions::new(), path).unwrap().shape, [rows, 10]);
    let mut log = log.with_capacity(0);
    while log.append_slice(&[2_u64; 1000]).is_ok() {}
    let rows = log.rows();
    is_full(&log.resize(rows - 1).unwrap_err());
    log.close().unwrap();
    let array: Array2<u64> = OpenOptions::new().read_ndarray(path).unwrap();
    assert_eq!(array.nrows(), rows);
    assert!(rows > 5000 && RecoverOptions::new().plan(path).unwrap().is_complete());
    assert_eq!(names(directory), ["a.npy"]);
}

/// Runs a command with a file system of 1 MiB mounted on a directory.
fn run_on_small_disk(
    directory: &Path,
    command: &Path,
    arguments: &[&str],
) -> std::io::Result<std::process::Output> {
    let script =
        r#"mount -t tmpfs -o size=1m none "$0" && touch "$0/a.npy" && rm "$0/a.npy" && exec "$@""#;
    let mut shell = Command::new("unshare");
    shell.args(["--user", "--map-root-user", "--mount", "sh", "-c", script]);
    shell.arg(directory).arg(command).args(arguments);
    shell.env(FILE, directory.join("a.npy"));
    shell.output()
}

#[test]
fn a_full_disk_is_an_error_and_leaves_files_intact() {
    let directory = directory();
    if !run_on_small_disk(directory.path(), Path::new("true"), &[])
        .is_ok_and(|output| output.status.success())
    {
        return eprintln!("nothing was tested, no small file system can be mounted");
    }
    let exe = env::current_exe().unwrap();
    let arguments = ["--exact", "full_disk::child_process", "--nocapture"];
    let output = run_on_small_disk(directory.path(), &exe, &arguments).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
