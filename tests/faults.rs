//! Files stay intact when a process is killed at any moment.
//!
//! The processes are this test program, in a role selected by an environment
//! variable.

use std::env;
use std::fs;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::Duration;

use npymap::ndarray::Array2;
use npymap::{
    Appender, CreateOptions, DType, OpenOptions, WriteOptions,
    write::{RecoverOptions, resize},
};

use crate::support::{command, create, directory, names, open, open_mut, rounds};

const PART: &str = "NPYMAP_TEST_PART";
const FILE: &str = "NPYMAP_TEST_FILE";
const SEED: &str = "NPYMAP_TEST_SEED";

/// How often each role is killed; `NPYMAP_TEST_KILLS` sets another number.
fn kills() -> u32 {
    rounds(env::var("NPYMAP_TEST_KILLS").map_or(100, |text| text.parse().expect("a number")))
}

/// Values per row.
const WIDTH: usize = 37;

/// Rows that a process appends before it waits for its reader.
const GROWTH: usize = 400;

fn row(number: usize) -> [u32; WIDTH] {
    [u32::try_from(number).unwrap(); WIDTH]
}

/// The two arrays that the file contains in turn.
fn array_number(number: u64) -> Array2<u64> {
    if number % 2 == 0 {
        Array2::from_elem((3, 5000), 1)
    } else {
        Array2::from_elem((40_000, 2), 2)
    }
}

/// Runs a role, if one is selected.
#[test]
fn child_process() {
    let Ok(part) = env::var(PART) else { return };
    let path = PathBuf::from(env::var(FILE).unwrap());
    let seed: u64 = env::var(SEED).unwrap().parse().unwrap();
    println!("ready");
    std::io::stdout().flush().unwrap();
    match part.as_str() {
        "append" => append(&path, seed),
        "grow" => grow(&path),
        "set" => set(&path, seed),
        "write" => {
            forever(seed, |n| assert!(WriteOptions::new().write(&path, &array_number(n)).is_ok()));
        }
        "resize" => forever(seed, |n| resize(&path, 1000 + (n % 7) as usize).unwrap()),
        "create" => forever(seed, |n| make(&path, n)),
        other => panic!("{other}"),
    }
}

/// Repeats until the process is killed.
fn forever(seed: u64, f: impl Fn(u64)) {
    for n in seed.. {
        f(n);
    }
}

/// Appends rows until the process is killed.
fn append(path: &Path, seed: u64) {
    RecoverOptions::new().recover(path).unwrap();
    let buffer = [0, 1000, 1 << 16][(seed % 3) as usize];
    let mut appender = Appender::open(path).unwrap().with_capacity(buffer);
    loop {
        let rows = appender.rows();
        match rows % 5 {
            0 => appender.append_slice(&[row(rows), row(rows + 1)].concat()).unwrap(),
            1 => appender.flush().and_then(|()| appender.append_slice(&row(rows))).unwrap(),
            _ => appender.append(&npymap::ndarray::arr1(&row(rows))).unwrap(),
        }
    }
}

/// Appends 20,000 rows one by one, each immediately visible. Each byte of the input
/// allows some more.
fn grow(path: &Path) {
    let mut appender = Appender::open(path).unwrap().with_capacity(0);
    for n in 0..20_000 {
        if n % GROWTH == 0 {
            std::io::stdin().read_exact(&mut [0]).unwrap();
        }
        appender.append_slice(&row(n)).unwrap();
    }
    appender.close().unwrap();
}

/// Sets all elements to one number after another.
fn set(path: &Path, seed: u64) {
    let mut array = open_mut(path).unwrap();
    for n in seed * 1_000_000.. {
        let value = (n << 32) | n;
        // With 32-bit pointers, a store of 64 bits is two stores.
        if n % 2 == 0 && usize::BITS == 64 {
            array.as_slice_mut::<u64>().unwrap().fill(value);
        } else {
            array.write_fill_slice([], None, &value).unwrap();
        }
    }
}

/// Creates a file again and again, and then sets its elements.
fn make(path: &Path, n: u64) {
    let array = array_number(n);
    let options = CreateOptions::new().overwrite(true);
    let mut new = create(path, "<u8", array.shape(), &options).unwrap();
    new.view_mut::<u64>().unwrap().copy_from(array.view()).unwrap();
}

fn start(part: &str, path: &Path, seed: u64) -> Child {
    let mut child = command(&env::current_exe().unwrap());
    child.args(["--exact", "faults::child_process", "--nocapture"]);
    child.env(PART, part).env(FILE, path).env(SEED, seed.to_string());
    child.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = child.spawn().unwrap();
    let mut said = Vec::new();
    let from = child.stdout.as_mut().unwrap();
    while !said.ends_with(b"ready\n") {
        let mut byte = [0];
        from.read_exact(&mut byte).unwrap();
        said.extend(byte);
    }
    child
}

/// Starts a role again and again, kills it at a random moment, and checks the
/// file it left. At most one unfinished file may remain beside it.
fn kill(part: &str, path: &Path, check: impl Fn()) {
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    for seed in 0..u64::from(kills()) {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(seed | 1);
        let moment = Duration::from_micros((random >> 33) % 6000);
        let mut child = start(part, path, seed);
        std::thread::sleep(moment);
        child.kill().unwrap();
        let status = child.wait().unwrap();
        assert_eq!(status.code(), None, "{part} ended before it was killed: {status}");
        check();
        let directory = path.parent().unwrap();
        let left = names(directory).into_iter().filter(|name| name.starts_with(".npymap-"));
        let left: Vec<_> = left.collect();
        assert!(left.len() <= 1, "{left:?}");
        for name in left {
            fs::remove_file(directory.join(name)).unwrap();
        }
    }
}

/// Checks that all rows have the values that were appended.
fn all_rows(path: &Path) -> usize {
    let array = open(path).unwrap();
    let values = array.as_slice::<u32>().unwrap();
    for (number, values) in values.chunks_exact(WIDTH).enumerate() {
        assert_eq!(values, row(number));
    }
    array.shape()[0]
}

fn log(path: &Path) {
    let (dtype, options) = (DType::of::<u32>(), CreateOptions::new());
    Appender::create(path, &dtype, &[WIDTH], &options).unwrap().close().unwrap();
}

#[test]
fn a_killed_appender_leaves_rows_that_were_added() {
    let directory = directory();
    let path = directory.path().join("log.npy");
    log(&path);
    let last = std::cell::Cell::new(0);
    kill("append", &path, || {
        let rows = all_rows(&path);
        assert!(rows >= last.get(), "{rows} rows, and there were {}", last.get());
        last.set(rows);
        let planned = RecoverOptions::new().plan(&path).unwrap();
        assert!(planned.shape[0] >= rows && planned.filled == 0, "{planned:?}");
    });
    assert!(last.get() > 0, "none was killed after its first row");
}

#[test]
fn a_killed_writer_leaves_the_old_or_the_new_array() {
    let directory = directory();
    let path = directory.path().join("a.npy");
    WriteOptions::new().write(&path, &array_number(0)).unwrap();
    kill("write", &path, || {
        let array: Array2<u64> = OpenOptions::new().read_ndarray(&path).unwrap();
        assert!(array == array_number(0) || array == array_number(1));
    });
}

#[test]
fn a_killed_creator_leaves_a_complete_file() {
    let directory = directory();
    let path = directory.path().join("a.npy");
    make(&path, 0);
    kill("create", &path, || {
        let array: Array2<u64> = OpenOptions::new().read_ndarray(&path).unwrap();
        let full = [array_number(0), array_number(1)]
            .into_iter()
            .find(|turn| turn.dim() == array.dim())
            .unwrap();
        // Zeros, until they are set.
        assert!(array.iter().zip(&full).all(|(&value, &set)| value == 0 || value == set));
    });
}

#[test]
fn a_killed_resize_leaves_the_old_or_the_new_rows() {
    let directory = directory();
    let path = directory.path().join("a.npy");
    let all = Array2::from_shape_fn((1000, 30), |(r, c)| (r * 30 + c) as f32);
    WriteOptions::new().write(&path, &all).unwrap();
    kill("resize", &path, || {
        let array: Array2<f32> = OpenOptions::new().read_ndarray(&path).unwrap();
        assert!((1000..1007).contains(&array.nrows()));
        assert_eq!(array.slice(npymap::ndarray::s![..1000, ..]), all);
        assert!(array.rows().into_iter().skip(1000).all(|row| row.iter().all(|&v| v == 0.0)));
        RecoverOptions::new().recover(&path).unwrap();
        resize(&path, 1000).unwrap();
    });
}

#[test]
fn a_killed_editor_tears_no_element() {
    let directory = directory();
    let path = directory.path().join("a.npy");
    WriteOptions::new().write(&path, &Array2::<u64>::zeros((300, 301))).unwrap();
    kill("set", &path, || {
        let array: Array2<u64> = OpenOptions::new().read_ndarray(&path).unwrap();
        assert_eq!(array.dim(), (300, 301));
        assert!(array.iter().all(|value| value >> 32 == value & 0xffff_ffff));
    });
}

#[test]
fn a_reader_sees_rows_while_another_process_appends_them() {
    let directory = directory();
    let path = directory.path().join("log.npy");
    log(&path);
    let held = open(&path).unwrap();
    let mut child = start("grow", &path, 0);
    let mut allow = child.stdin.take().unwrap();
    allow.write_all(&[0]).unwrap();
    let (mut last, mut reads, mut kept) = (0, 0, Vec::new());
    while last < 20_000 {
        let has_failed = child.try_wait().unwrap().is_some_and(|status| !status.success());
        assert!(!has_failed, "the writer failed after {last} rows");
        let array = open(&path).unwrap();
        let rows = array.shape()[0];
        assert!(rows >= last, "{rows} rows, and there were {last}");
        for number in
            [last, usize::midpoint(last, rows), rows.max(1) - 1].into_iter().filter(|&n| n < rows)
        {
            let values = array.as_slice::<u32>().unwrap();
            assert_eq!(values[number * WIDTH..][..WIDTH], row(number));
        }
        if rows > last {
            reads += 1;
            last = rows;
            // The process may have ended.
            let _ = allow.write_all(&[0]);
        }
        if reads % 50 == 0 && kept.len() < 20 {
            kept.push(array);
        }
    }
    assert!(child.wait().unwrap().success());
    assert!(reads > 20, "{reads}");
    assert_eq!(held.shape(), [0, WIDTH]);
    for array in kept {
        let values = array.as_slice::<u32>().unwrap();
        assert!(values.chunks_exact(WIDTH).enumerate().all(|(n, values)| values == row(n)));
    }
    assert_eq!(all_rows(&path), 20_000);
}
