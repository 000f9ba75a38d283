//! `sort` and `unique`, of arrays that fit into memory and of others.

use std::fs;
use std::io::Write as _;
use std::process::Stdio;

use crate::run::{command, copy_penguins, npymap, path_in, python, run_err, run_ok};

/// Memory for a small part of the arrays here, which are merged in several steps.
const LITTLE: &str = "16K";

/// Writes arrays, and what NumPy sorts them to, forwards and backwards.
const ORACLE: &str = r#"
import sys
import numpy as np
directory, n = sys.argv[1], int(sys.argv[2])
r = np.random.default_rng(5)
def floats(dtype):
    a = r.integers(-3, 4, n) * r.choice([1, 0.37], n)
    a = a.astype(dtype)
    for special in [np.nan, -np.nan, -0.0, np.inf, -np.inf]:
        a[r.random(n) < 0.05] = special
    if a.itemsize <= 8:
        # NaN that differ keep their order.
        a.view(a.dtype.str.replace("f", "u"))[np.isnan(a)] ^= r.integers(0, 16, np.isnan(a).sum(), dtype="u1")
    return a
def complexes(dtype):
    a = np.empty(n, np.dtype(dtype).newbyteorder("="))
    a.real, a.imag = floats(a.real.dtype), floats(a.real.dtype)
    return a.astype(dtype)
def integers(dtype):
    info = np.iinfo(dtype)
    a = r.integers(info.min, info.max, n, dtype=np.dtype(dtype).newbyteorder("="), endpoint=True)
    return np.where(r.random(n) < 0.5, a, a % 5).astype(dtype)
def ticks(dtype):
    a = r.choice([-2**63, -2**63 + 1, -1, 0, 1, 2**63 - 1], n)
    return a.astype(dtype[0] + "i8").view(dtype)
def words(dtype, letters):
    words = ["".join(r.choice(letters, r.integers(0, 4))) for _ in range(n)]
    return np.array([w.encode() for w in words] if "S" in dtype else words, dtype)
arrays = {"bool": r.random(n) < 0.5, "void": r.integers(0, 3, (n, 3), dtype="u1").view("V3")[:, 0],
    "bytes": words("S4", list("ab~")), "text": words(">U3", list("aü\U0001f600z")),
    "dates": ticks(">M8[s]"), "times": ticks("<m8[D]"), "complex": complexes(">c8")}
arrays |= {d[1:]: floats(d) for d in ["<f2", ">f4", "<f8"]}
arrays |= {d[1:]: integers(d) for d in ["<i1", "<u1", ">i2", "<u2", "<i4", ">u4", "<i8", "<u8"]}
if np.dtype("g").itemsize == 16:
    arrays |= {"f16": floats("g"), "c32": complexes("G")}
record = np.zeros(n, {"names": ["k", "z", "t"], "formats": ["<i2", ">c16", "M8[s]"], "offsets": [3, 8, 24], "itemsize": 35})
record["k"], record["z"], record["t"] = integers("<i2") % 3, complexes("<c16"), ticks("<M8[s]")
arrays["record"] = record
for name, a in arrays.items():
    np.save(f"{directory}/{name}.npy", a)
    order = np.argsort(a, kind="stable")
    np.save(f"{directory}/{name}-sorted.npy", a[order])
    order = n - 1 - np.argsort(a[::-1], kind="stable")[::-1]
    np.save(f"{directory}/{name}-reversed.npy", a[order])
    if a.dtype.names is None and a.dtype.kind != "V":
        # NumPy 2.4 only sorts halves with NaN right if the method is stable.
        values, counts = np.unique(a.astype("f8") if name == "f2" else a, return_counts=True)
        np.save(f"{directory}/{name}-values.npy", values)
        np.save(f"{directory}/{name}-counts.npy", counts)
    print(name)
"#;

#[test]
fn elements_have_numpys_order() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().to_str().unwrap();
    let Some(names) = python(ORACLE, &[root, "9000"]) else { return };
    let path = |name: &str, end: &str| path_in(&directory, &format!("{name}{end}.npy"));
    for name in names.lines() {
        let (from, to) = (path(name, ""), path(name, "-own"));
        for (end, memory, reverse) in [
            ("-sorted", LITTLE, &[][..]),
            ("-reversed", LITTLE, &["--reverse"]),
            ("-reversed", "1M", &["--reverse"]),
        ] {
            let sort = ["sort", &from, &to, "--memory", memory, "--overwrite"];
            run_ok([&sort, reverse].concat());
            // NumPy leaves the bytes between fields undefined.
            if name == "record" {
                run_ok(["diff", &to, &path(name, end)]);
            } else {
                let expected = fs::read(path(name, end)).unwrap();
                assert!(fs::read(&to).unwrap() == expected, "{name} {memory} {reverse:?}");
            }
        }
        if fs::exists(path(name, "-values")).unwrap() {
            let unique = path(name, "-unique");
            run_ok(["unique", &from, "--counts", "-o", &unique, "--memory", LITTLE]);
            assert_eq!(printed(&unique, ":.count"), printed(&path(name, "-counts"), ":"), "{name}");
            // NumPy has another one of the complex numbers with NaN, and of the zeros.
            if !name.starts_with(['c', 'f']) {
                assert_eq!(printed(&unique, ":.value"), printed(&path(name, "-values"), ":"));
            }
        }
    }
}

fn printed(path: &str, index: &str) -> String {
    run_ok(["get", path, index])
}

/// The numbers of an array with one axis.
fn numbers(path: &str) -> Vec<f64> {
    serde_json::from_str(&run_ok(["get", "--json", path, ":"])).unwrap()
}

#[test]
fn rows_that_do_not_fit_into_memory_are_sorted_alike() {
    let directory = tempfile::tempdir().unwrap();
    let [from, rows, one, other] =
        ["from", "rows", "one", "other"].map(|name| path_in(&directory, &format!("{name}.npy")));
    run_ok(["create", &from, "--shape", "9000", "--random", "normal", "--seed", "3"]);
    run_ok(["sort", &from, &one]);
    run_ok(["sort", &from, "-o", &other, "--memory", LITTLE]);
    assert_eq!(fs::read(&one).unwrap(), fs::read(&other).unwrap());
    let mut expected = numbers(&from);
    expected.sort_unstable_by(f64::total_cmp);
    assert_eq!(numbers(&one), expected);
    let random = ["--random", "int", "--low", "0", "--high", "9"];
    for order in ["C", "F"] {
        let shape = ["--shape", "(4000, 3)", "--dtype", ">i4", "--order", order, "--overwrite"];
        run_ok([&["create", &rows][..], &shape, &random].concat());
        for by in [":, 1", ":, [2, 0]", ":", "..., 1:"] {
            let options = ["--by", by, "--overwrite"];
            run_ok([&["sort", &rows, &one][..], &options].concat());
            run_ok([&["sort", &rows, &other, "--memory", LITTLE][..], &options].concat());
            assert_eq!(fs::read(&one).unwrap(), fs::read(&other).unwrap(), "{order} {by}");
        }
        let unique = ["unique", &rows, "--by", ":", "--overwrite"];
        run_ok([&unique[..], &["-o", &one]].concat());
        run_ok([&unique[..], &["-o", &other, "--memory", LITTLE]].concat());
        assert_eq!(fs::read(&one).unwrap(), fs::read(&other).unwrap());
    }
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 4);
}

#[test]
fn equal_rows_keep_their_order() {
    let directory = tempfile::tempdir().unwrap();
    let path = path_in(&directory, "a.csv");
    fs::write(&path, "k,n\n2,0\n1,1\n2,2\n1,3\n3,4\n2,5\n").unwrap();
    assert_eq!(run_ok(["sort", &path, "--by", "k"]), "k,n\n1,1\n1,3\n2,0\n2,2\n2,5\n3,4\n");
    let reversed = run_ok(["sort", &path, "--by", "k", "--reverse"]);
    assert_eq!(reversed, "k,n\n3,4\n2,0\n2,2\n2,5\n1,1\n1,3\n");
    let both = run_ok(["sort", &path, "--by", "k", "--by", "n", "--reverse"]);
    assert_eq!(both, "k,n\n3,4\n2,5\n2,2\n2,0\n1,3\n1,1\n");
    assert_eq!(run_ok(["unique", &path, "--by", "k"]), "k,n\n1,1\n2,0\n3,4\n");
    assert_eq!(run_ok(["unique", &path, "k", "--counts"]), "value,count\n1,2\n2,3\n3,1\n");
    let counts = run_ok(["unique", &path, "k", "--counts", "--format", "jsonl"]);
    assert_eq!(counts.lines().next(), Some(r#"{"value":1,"count":2}"#));
    assert_eq!(run_ok(["unique", &path, "k"]), "1\n2\n3\n");
}

#[test]
fn columns_and_fields_are_selected_as_everywhere() {
    let directory = tempfile::tempdir().unwrap();
    let path = copy_penguins(directory.path());
    let path = path.to_str().unwrap();
    let masses = |text: String| -> Vec<String> {
        text.lines().map(|line| line.rsplit(',').next().unwrap().to_owned()).collect()
    };
    let sorted = masses(run_ok(["sort", path, "--by", ":, 3"]));
    assert_eq!((sorted.len(), &*sorted[0], &*sorted[341]), (342, "2700.0", "6300.0"));
    let largest = masses(run_ok(["sort", path, "--by", ":, -1", "--reverse"]));
    assert_eq!(&*largest[0], "6300.0");
    // In place.
    run_ok(["sort", path, path, "--by", ":, 3", "--overwrite"]);
    assert_eq!(run_ok(["get", path, "0, 3", "-1, 3"]), "2700.0\n6300.0\n");
    let report = run_ok(["sort", path, path, "--by", ":", "--overwrite", "--json"]);
    assert_eq!(report, run_ok(["info", "--json", path]));

    let error = run_err(1, ["sort", path]);
    let advice = "choose what is compared, such as --by ':, 0' for the first of each, or --by : for all in turn";
    assert_eq!(error, format!("error: {path}: has rows of 4 elements: {advice}\n"));
    for by in ["3", "5:", "::2", "[1, 2]", "None"] {
        let error = run_err(1, ["sort", path, "--by", by]);
        assert!(error.contains("use --by ':, 0'"), "{by}: {error}");
    }
    assert!(run_err(1, ["sort", path, "--by", ":, 4"]).contains("out of bounds"));
    assert!(run_err(1, ["sort", path, "--by", "mass"]).contains("mass"));
    let error = run_err(2, ["sort", path, "a.npz", "--by", ":"]);
    assert!(error.contains("npymap convert"), "{error}");
    let error = run_err(2, ["sort", path, "--by", ":", "--json"]);
    assert!(error.contains("--json reports on a new file"), "{error}");
    assert_eq!(npymap(["sort", path, "a.npy", "-o", "b.npy"]).code, Some(2));
    assert_eq!(npymap(["sort", path, "--memory", "0"]).code, Some(2));
    let exists = run_err(1, ["sort", path, path, "--by", ":"]);
    assert!(exists.contains("already exists"), "{exists}");
}

#[test]
fn rows_are_printed_as_one_list_of_json() {
    let directory = tempfile::tempdir().unwrap();
    copy_penguins(directory.path());
    let path = path_in(directory.path(), "penguins.npy");
    let sorted = run_ok(["sort", &path, "--by", ":, 3", "--format", "json"]);
    let [rows, all] = [sorted, run_ok(["get", &path, ":", "--json"])]
        .map(|text| serde_json::from_str::<Vec<[f64; 4]>>(&text).unwrap().len());
    assert_eq!(rows, all);
    let values = run_ok(["unique", &path, ":3, 0", "--format", "json"]);
    assert_eq!(values, "[39.1,39.5,40.3]\n");
}

#[test]
fn streams_are_sorted() {
    let mut child = command();
    let child = child.args(["unique", "-", "--from", "csv", "--no-header", "--counts"]);
    let mut child = child.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"nan\n2\n-1.5\nnan\n2\n").unwrap();
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(text, "-1.5,1\n2.0,2\nnan,2\n");
}

#[test]
fn arrays_without_elements_or_axes_are_sorted_or_refused() {
    let directory = tempfile::tempdir().unwrap();
    let [path, out] = ["a.npy", "out.npy"].map(|name| path_in(&directory, name));
    for (shape, dtype, by) in
        [("0", "f8", None), ("(0, 3)", "f8", Some(":")), ("(3, 0)", "i4", Some(":, :"))]
    {
        run_ok(["create", &path, "--shape", shape, "--dtype", dtype, "--overwrite"]);
        let by: Vec<&str> = by.map_or(Vec::new(), |by| vec!["--by", by]);
        run_ok([&["sort", &path, &out, "--overwrite"], by.as_slice()].concat());
        assert_eq!(fs::read(&path).unwrap(), fs::read(&out).unwrap(), "{shape}");
        run_ok(["unique", &path, "-o", &out, "--overwrite"]);
        assert!(run_ok(["info", &out]).contains("shape  (0,)"));
    }
    run_ok(["create", &path, "--shape", "()", "--fill", "7", "--overwrite"]);
    assert_eq!(
        run_err(1, ["sort", &path]),
        format!("error: {path}: has shape (), and no rows to sort\n")
    );
    assert_eq!(run_ok(["unique", &path, "--counts"]), "value,count\n7.0,1\n");
    run_ok(["create", &path, "--shape", "3", "--dtype", "V0", "--overwrite"]);
    run_ok(["sort", &path, &out, "--overwrite"]);
    assert_eq!(run_ok(["unique", &path, "--by", ":"]).lines().count(), 1);
}
