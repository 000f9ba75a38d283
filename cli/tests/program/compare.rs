//! `diff` compares archives and directories, with statistics of differences.

use std::path::Path;

use serde_json::{Value, json};

use crate::run::{copy_penguins, npymap, path_in, python, run_err, run_ok};

/// The output of `diff --json`, which must exit with this status.
fn diff(status: i32, arguments: &[&str]) -> Vec<Value> {
    let output = npymap(["diff", "--json"].iter().chain(arguments));
    assert_eq!((output.code, output.err.as_str()), (Some(status), ""), "{}", output.out);
    output.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Writes pairs of arrays in several layouts, and prints what NumPy says of
/// their differences.
const ORACLE: &str = r#"
import json, sys
import numpy as np
directory = sys.argv[1]
r = np.random.default_rng(3)
base = r.normal(size=(60, 70))
noise = np.where(r.random((60, 70)) < 0.2, r.normal(size=(60, 70)), 0)
nans = base.copy(); nans[3, 4] = np.nan; nans[5, 6] = np.inf; nans[50, 0] = -np.inf
pairs = {
    "f8": (base, base + noise),
    "f4": (base.astype("f4"), (base + noise).astype("f4")),
    "f2": (base.astype("f2"), (base + noise).astype("f2")),
    "big-endian": (base.astype(">f8"), (base + noise).astype(">f8")),
    "orders": (base, np.asfortranarray(base + noise)),
    "both-fortran": (np.asfortranarray(base), np.asfortranarray(base + noise)),
    "u1": (r.integers(0, 256, 5000, dtype="u1"), r.integers(0, 256, 5000, dtype="u1")),
    "i8": (r.integers(-1000, 1000, 500), r.integers(-1000, 1000, 500)),
    "c16": (base + 1j * noise, base + 2j * noise),
    "nan-left": (nans, base),
    "nan-right": (base, nans),
    "nan-both": (nans, nans + 1),
    "zeros": (np.array([0, 1, 0, 0.0]), np.array([1, 0, 0, -0.0])),
}
# Blocks that are equal, and have only NaN.
for dtype in ("f2", ">f4", "f8", "c8"):
    a = np.zeros(1 << 18, dtype); a[:1 << 17] = np.nan
    b = a.copy(); b[1 << 17:] = 1
    pairs[f"nan-blocks-{dtype}"] = (a, b)
out = {}
for name, (a, b) in pairs.items():
    np.save(f"{directory}/{name}-a.npy", a); np.save(f"{directory}/{name}-b.npy", b)
    wide = (lambda x: x.astype("c16" if x.dtype.kind == "c" else "f8"))
    a, b = wide(a), wide(b)
    with np.errstate(invalid="ignore"):
        d = np.abs(a - b)
        equal = {t: np.isclose(a, b, rtol=t, atol=0, equal_nan=True) for t in (0, 0.5, np.inf)}
    d[a == b] = 0
    numbers = d[~np.isnan(d)]
    out[name] = {
        "differ": int((~equal[0]).sum()), "tolerant": int((~equal[0.5]).sum()),
        "infinite": int((~equal[np.inf]).sum()),
        "largest": str(np.nanmax(d[~equal[0]])),
        "mean": str(numbers.mean()), "rms": str(np.sqrt((numbers ** 2).mean())),
        "first": [int(i) for i in np.argwhere(~equal[0])[0]],
    }
print(json.dumps(out))
"#;

#[test]
fn differences_are_numpys_in_every_layout() {
    let directory = tempfile::tempdir().unwrap();
    let Some(expected) = python(ORACLE, &[directory.path().to_str().unwrap()]) else { return };
    let expected: Value = serde_json::from_str(&expected).unwrap();
    for (name, expected) in expected.as_object().unwrap() {
        let [a, b] = ["a", "b"].map(|end| path_in(&directory, &format!("{name}-{end}.npy")));
        for first in ["0", "1"] {
            let found = &diff(1, &[&a, &b, "--first", first])[0];
            assert_eq!(found["differ"], expected["differ"], "{name}");
            for key in ["largest", "mean", "rms"] {
                let expected: f64 = expected[key].as_str().unwrap().parse().unwrap();
                // JSON has no infinities: they are text.
                let text = found[key].as_str().and_then(|text| text.parse().ok());
                let found = found[key].as_f64().or(text).unwrap();
                let error = (found - expected).abs();
                assert!(
                    found.to_bits() == expected.to_bits() || error <= 1e-12 * expected,
                    "{name} {key}: {found} {expected}"
                );
            }
            let is_in_c_order = name != "both-fortran";
            if first == "1" && is_in_c_order {
                assert_eq!(found["first"][0]["index"], expected["first"], "{name}");
            }
        }
        let tolerant = &diff(i32::from(expected["tolerant"] != 0), &[&a, &b, "--rtol", "0.5"])[0];
        assert_eq!(tolerant["differ"], expected["tolerant"], "{name}");
        for first in ["0", "10"] {
            let options = [&a, &b, "--rtol", "inf", "--first", first];
            let infinite = &diff(i32::from(expected["infinite"] != 0), &options)[0];
            assert_eq!(infinite["differ"], expected["infinite"], "{name}");
        }
        let one = diff(1, &["--threads", "1", &a, &b]);
        assert_eq!(diff(1, &["--threads", "3", &a, &b]), one, "{name}");
    }
}

/// Writes pairs of arrays whose values look the same, and prints which are equal.
const LOOKALIKES: &str = r#"
import json, sys
import numpy as np
directory = sys.argv[1]
def text(points, order="<"):
    return np.array(points, order + "u4").view(f"{order}U{len(points)}")
def record(points):
    a = np.zeros(3, [("x", "i4"), ("t", ">U3", (2,))])
    a["t"][2, 1] = text(points)[0]
    return a
pairs = [
    (text([97, 0xd800]), text([97, 0xd800, 0])),
    (text([97, 0xd800]), text([97, 0xd801])),
    (text([97, 0xd800]), text([97, 0xfffd])),
    (text([97, 0xd800]), text([97, 0xd800], ">")),
    (text([97, 0x110000]), text([97, 0x110001])),
    (record([97, 0xd800]), record([97, 0xd800])),
    (record([97, 0xd800]), record([97, 0xdfff])),
]
if np.dtype("g").itemsize == 16:
    values = [0.0, -0.0, 1.5, np.nextafter(np.longdouble(1.5), 2), np.inf, -np.inf, np.nan, -np.nan]
    for order in "<>":
        for x in values:
            for y in values:
                for dtype in ("f16", "c32"):
                    a, b = (np.full(2, v, order + dtype) for v in (x, y))
                    if np.finfo("g").nmant == 63:
                        padding = b.view("u1").reshape(-1, 16)
                        padding[:, slice(10, 16) if order == "<" else slice(0, 6)] = 7
                    pairs += [(a, b), (a, b.astype(b.dtype.newbyteorder()))]
    pairs += [(np.full(2, complex(np.nan, 1), "c32"), np.full(2, z, "c32")) for z in (complex(2, np.nan), 1j)]
out = []
for i, (a, b) in enumerate(pairs):
    np.save(f"{directory}/{i}-a.npy", a); np.save(f"{directory}/{i}-b.npy", b)
    same = a == b
    if a.dtype.kind in "fc":
        same |= np.isnan(a) & np.isnan(b)
    out.append(bool(same.all()))
print(json.dumps(out))
"#;

#[test]
fn elements_that_look_the_same_are_equal_if_they_are_to_numpy() {
    let directory = tempfile::tempdir().unwrap();
    let Some(expected) = python(LOOKALIKES, &[directory.path().to_str().unwrap()]) else { return };
    let expected: Vec<bool> = serde_json::from_str(&expected).unwrap();
    for (at, expected) in expected.into_iter().enumerate() {
        let [a, b] = ["a", "b"].map(|end| path_in(&directory, &format!("{at}-{end}.npy")));
        let found = &diff(i32::from(!expected), &["--values", &a, &b])[0];
        assert_eq!(found["equal"], expected, "{found}");
        // Long doubles have no distances.
        assert!(found["mean"].is_null(), "{found}");
    }
}

/// Creates two archives that differ in some members.
fn archives(directory: &Path) -> Option<[String; 2]> {
    let paths = ["a.npz", "b.npz"].map(|name| path_in(directory, name));
    let script = "import numpy as np, sys
same, w = np.arange(4), np.ones((3, 4), 'f4')
np.savez(sys.argv[1], **{'layers.0/w': w, 'layers.1/w': w, 'same': same, 'old': same, 's': same})
np.savez(sys.argv[2], **{'layers.0/w': w * 3, 'layers.1/w': w, 'same': same, 'n\\x1b[2J': same, 's': same[1:]})";
    python(script, &[&paths[0], &paths[1]])?;
    Some(paths)
}

#[test]
fn archives_are_compared_by_the_names_of_members() {
    let directory = tempfile::tempdir().unwrap();
    let Some([a, b]) = archives(directory.path()) else { return };
    let output = npymap(["diff", &a, &b]);
    assert_eq!((output.code, output.err.as_str()), (Some(1), ""));
    let rows: Vec<Vec<&str>> =
        output.out.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows[0], ["name", "status", "elements", "differ", "largest", "mean", "rms"]);
    assert_eq!(rows[1], ["layers.0/w", "different", "'<f4'", "(3,", "4)", "12", "2", "2", "2"]);
    assert_eq!(rows[2], ["layers.1/w", "equal", "'<f4'", "(3,", "4)", "0"]);
    assert_eq!(rows[4], ["old", "only", "in", "a"]);
    assert_eq!(rows[5], ["s", "different", "(4,)", "against", "(3,)"]);
    assert_eq!(rows[6], [r"n\x1b[2J", "only", "in", "b"]);
    let summary = format!("6 arrays: 2 equal, 2 different, 1 only in {a}, 1 only in {b}");
    assert_eq!(output.out.lines().last(), Some(summary.as_str()));

    let changed = diff(1, &[&a, &b, "--match", "layers.*", "--only-changed", "--first", "0"]);
    let names: Vec<_> = changed.iter().map(|line| &line["name"]).collect();
    assert_eq!(names, ["layers.0/w"]);
    assert_eq!((&changed[0]["largest"], &changed[0]["first"]), (&json!(2.0), &json!([])));
    assert_eq!(diff(1, &[&a, &b, "--match", "old"])[0]["only"], "a");
    run_ok(["diff", &a, &b, "--match", "layers.1*"]);
    run_ok(["diff", &a, &b, "--match", "layers.*", "--atol", "2"]);
    assert_eq!(run_ok(["diff", &a, &a, "--only-changed"]), "5 arrays: 5 equal\n");
    let pattern = diff(1, &[&format!("{a}[layers.*]"), &format!("{b}[layers.*]")]);
    assert_eq!(pattern.len(), 2);
    let none = run_err(2, ["diff", &a, &b, "--match", "z*"]);
    assert!(none.contains("no array of the two matches --match"), "{none}");
    run_err(2, ["diff", &a, &b, "--match", "["]);
    run_err(2, ["diff", &a, &path_in(&directory, "absent.npz")]);
}

#[test]
fn directories_are_compared_file_by_file() {
    let directory = tempfile::tempdir().unwrap();
    let [a, b] = ["a", "b"].map(|name| path_in(&directory, name));
    for side in [&a, &b] {
        std::fs::create_dir_all(Path::new(side).join("inner")).unwrap();
        copy_penguins(&Path::new(side).join("inner"));
        std::fs::write(Path::new(side).join("notes.txt"), side).unwrap();
    }
    assert_eq!(run_ok(["diff", &a, &b, "--only-changed"]), "1 array: 1 equal\n");
    run_ok(["set", &path_in(Path::new(&b).join("inner"), "penguins.npy"), "0, 0", "1"]);
    copy_penguins(Path::new(&b));
    let changed = diff(1, &[&a, &b]);
    let name = format!("inner{}penguins.npy", std::path::MAIN_SEPARATOR);
    assert_eq!((&changed[0]["name"], &changed[0]["differ"]), (&name.into(), &1.into()));
    assert_eq!((&changed[1]["name"], &changed[1]["only"]), (&"penguins.npy".into(), &"b".into()));
    std::fs::write(Path::new(&b).join("inner/penguins.npy"), "damaged").unwrap();
    let output = npymap(["diff", &a, &b]);
    assert_eq!(output.code, Some(2));
    assert!(output.out.contains("only in b") && output.err.starts_with("error: "));
    let penguins = path_in(&b, "penguins.npy");
    assert!(run_err(2, ["diff", &a, &penguins]).contains("is one file"));
}

#[test]
fn lines_fit_the_terminal() {
    let directory = tempfile::tempdir().unwrap();
    let Some([a, b]) = archives(directory.path()) else { return };
    let mut program = crate::run::command();
    let output = program.env("COLUMNS", "60").args(["diff", &a, &b, "--match", "*s*"]).output();
    let text = String::from_utf8(output.unwrap().stdout).unwrap();
    let table = text.lines().filter(|line| line.starts_with(' '));
    assert!(
        table.clone().count() > 3 && table.clone().all(|line| line.chars().count() <= 60),
        "{text}"
    );
}
