//! Arrays are the same after they were written as text and read again.

use std::fs;
use std::path::Path;

use npymap::dtype::Kind;
use npymap::{ByteOrder, DType};

use crate::run::{path_in, run_err, run_ok, shortened, size};

/// Dtypes without fields, and whether rows have several elements.
const PLAIN: &[(&str, bool)] = &[
    ("|b1", true),
    ("|i1", false),
    (">i2", true),
    ("<i4", true),
    ("<i8", false),
    ("|u1", true),
    ("<u2", true),
    (">u4", true),
    ("<u8", true),
    ("<f2", true),
    ("<f4", true),
    (">f4", false),
    ("<f8", true),
    ("<f8", false),
    ("<c8", true),
    ("<c8", false),
    (">c16", false),
    ("<c16", true),
    ("<U7", true),
    (">U7", false),
    ("|S9", true),
    ("|S9", false),
    ("|V3", true),
    ("|V2", false),
    ("<M8[M]", true),
    ("<M8[3M]", false),
    ("<M8[D]", true),
    ("<M8[as]", false),
    (">M8[us]", true),
    ("<M8", true),
    ("<m8[D]", true),
    (">m8[7ms]", false),
    ("<m8", true),
];

/// Structs of all kinds of fields.
const STRUCTS: &[&str] = &[
    "[('b', '|b1'), ('i', '|i1'), ('j', '>i2'), ('k', '<i4'), ('l', '>i8'), ('u', '|u1'), ('v', '<u2'), ('w', '<u4'), ('x', '<u8'), ('f', '>f2'), ('g', '<f4'), ('h', '<f8'), ('c', '<c8'), ('d', '>c16'), ('s', '<U7'), ('t', '|S9'), ('V', '|V3'), ('M', '<M8[s]'), ('N', '<M8[Y]'), ('O', '<M8[W]'), ('P', '<M8[h]'), ('Q', '>M8[ns]'), ('R', '<M8[ps]'), ('m', '<m8[ns]')]",
    "[('n', [('x', '<i4'), ('o', [('c', '<c16'), ('s', '|S9')])]), ('p', [('x', '<i4'), ('y', '<f4')], (2,)), ('q', '<f8', (2, 3)), ('z', '<c8', (2,)), ('r', [('t', '<U7', (2,)), ('u', [('v', '|V2')], (2,))], (2, 2))]",
    "[('1', '<i4'), ('2', '<i4')]",
    "[(' a', '<i4'), ('a', '<i4'), ('b ', '<f8')]",
    "[('p.x', '<i4'), ('p', [('x', '<i4')])]",
    "[('nan', '<U7'), ('True', '|S9')]",
    "[('s', '<U7')]",
    "[('c', '<c8')]",
];

const TEXTS: &[&str] = &[
    "a",
    "",
    " a ",
    "a,b",
    "a\tb",
    "a\nb",
    "a\r\nb",
    "\r",
    "\"q\"",
    "'q'",
    "\"",
    "'",
    "\\",
    "é",
    "漢字",
    "👍🏽",
    "NA",
    "null",
    "nan",
    "NaT",
    "True",
    "-1",
    "(1+2j)",
    "1970-01",
    "=1+1",
    "b'x'",
    "b\"x\"",
    "\u{2028}",
    "a\0b",
    "\u{1b}[2J",
    "{\"a\":1}",
    "[1,2]",
];

const BYTES: &[&[u8]] = &[
    b"a",
    b"",
    b" a ",
    b"a,b",
    b"a\tb",
    b"a\nb",
    b"\r",
    b"\"",
    b"'",
    b"it's\xff",
    b"ab\xff",
    b"\xe9",
    b"b'x'",
    b"b\"x\"",
    b" b'x' ",
    b"b'",
    b"b\"'",
    b"\"'\xff",
    b"b'\\'",
    b"NA",
    b"null",
    b"a\0b",
    b"\xc3\xa9",
    b"\xff\xfe\x80",
    b"\\x41",
];

/// Numbers that are not from a good generator, but differ.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        self.0 ^ (self.0 >> 33)
    }
}

const ROWS: usize = 40;

/// Fills an element: with an edge value of its kind, or random bits.
fn fill(dtype: &DType, number: usize, random: &mut Random, to: &mut [u8]) {
    if let Some((base, _)) = dtype.subarray() {
        for (at, element) in to.chunks_exact_mut(base.itemsize()).enumerate() {
            fill(base, number + at, random, element);
        }
        return;
    }
    let size = dtype.itemsize();
    let part = match dtype.kind() {
        Kind::Struct => {
            for (at, field) in dtype.fields().iter().enumerate() {
                let end = field.offset + field.dtype.itemsize();
                fill(&field.dtype, number + at, random, &mut to[field.offset..end]);
            }
            return;
        }
        Kind::Bytes => {
            let bytes = BYTES[number % BYTES.len()];
            return bytes.iter().zip(to).for_each(|(byte, to)| *to = *byte);
        }
        Kind::Unicode => {
            let text = TEXTS[number % TEXTS.len()].chars();
            text.zip(to.chunks_exact_mut(4)).for_each(|(c, to)| {
                to.copy_from_slice(&u32::from(c).to_le_bytes());
            });
            4
        }
        Kind::Bool => {
            to[0] = u8::from(number % 2 == 1);
            1
        }
        Kind::Float => {
            to.copy_from_slice(&float(size, number, random).to_le_bytes()[..size]);
            size
        }
        Kind::Complex => {
            let part = size / 2;
            to[..part].copy_from_slice(&float(part, number, random).to_le_bytes()[..part]);
            to[part..].copy_from_slice(&float(part, number / 3, random).to_le_bytes()[..part]);
            part
        }
        kind => {
            let sign = 1_u64 << (size.min(8) * 8 - 1);
            let is_time = matches!(kind, Kind::DateTime | Kind::TimeDelta);
            let value = match number % 8 {
                0 => 0,
                1 => 1,
                2 => u64::MAX,
                3 => sign,
                4 if !is_time => sign - 1,
                // Years that have four digits in most units, and others.
                _ if is_time => random.next() >> (number % 40 + 1),
                _ => random.next(),
            };
            to.copy_from_slice(&value.to_le_bytes()[..size]);
            size
        }
    };
    if dtype.byte_order() == ByteOrder::Big {
        to.chunks_exact_mut(part).for_each(<[u8]>::reverse);
    }
}

/// The bits of a float. Text does not keep those of a NaN.
fn float(size: usize, number: usize, random: &mut Random) -> u64 {
    let (mantissa, sign) = match size {
        2 => (10, 15),
        4 => (23, 31),
        _ => (52, 63),
    };
    let one = 1_u64 << mantissa;
    let infinity = (1 << sign) - one;
    let nan = infinity | (one >> 1);
    let random = random.next() & (u64::MAX >> (63 - sign));
    match number % 12 {
        0 => 0,
        1 => 1 << sign,
        2 => infinity,
        3 => infinity | (1 << sign),
        4 => nan,
        5 => 1,
        6 => infinity - 1,
        7 => one - 1,
        _ if random & infinity == infinity => nan,
        _ => random,
    }
}

/// Writes a `.npy` file and returns its elements.
fn write(path: &Path, dtype: &DType, per_row: Option<usize>) -> Vec<u8> {
    let count = ROWS * per_row.unwrap_or(1);
    let size = dtype.itemsize();
    let mut elements = vec![0; count * size];
    let mut random = Random(1);
    for number in 0..count {
        fill(dtype, number, &mut random, &mut elements[number * size..(number + 1) * size]);
    }
    let columns = per_row.map(|n| n.to_string()).unwrap_or_default();
    let header =
        format!("{{'descr': {dtype}, 'fortran_order': False, 'shape': ({ROWS}, {columns}), }}");
    let len = header.len().next_multiple_of(64) + 54;
    let mut file = b"\x93NUMPY\x01\x00".to_vec();
    file.extend(u16::try_from(len).unwrap().to_le_bytes());
    file.extend(format!("{header:len$}").bytes());
    file.extend(&elements);
    fs::write(path, file).unwrap();
    elements
}

fn check(directory: &Path, descr: &str, per_row: Option<usize>) {
    let dtype: DType = descr.parse().unwrap();
    let path = directory.join("a.npy");
    let elements = write(&path, &dtype, per_row);
    for extension in ["csv", "tsv", "jsonl"] {
        let text = directory.join(format!("a.{extension}"));
        let back = directory.join("back.npy");
        run_ok(["convert".as_ref(), "--overwrite".as_ref(), path.as_os_str(), text.as_os_str()]);
        let arguments = ["convert".as_ref(), "--overwrite".as_ref(), text.as_os_str()];
        let to = [back.as_os_str(), "--dtype".as_ref(), descr.as_ref()];
        run_ok(arguments.into_iter().chain(to));
        let found = fs::read(&back).unwrap();
        let header = found.len().saturating_sub(elements.len());
        let wrong = elements.iter().zip(&found[header..]).position(|(a, b)| a != b);
        let row = wrong.map(|at| at / (elements.len() / ROWS));
        let line = |row: usize| {
            String::from_utf8_lossy(&fs::read(&text).unwrap()).lines().nth(row).map(str::to_owned)
        };
        assert_eq!(row, None, "{descr}, {extension}: {:?}", row.and_then(line));
        let header = String::from_utf8_lossy(&found[..header]);
        let shape = per_row.map_or(format!("({ROWS},)"), |n| format!("({ROWS}, {n})"));
        assert!(header.contains(&shape), "{descr}, {extension}: {header}");
    }
}

#[test]
fn elements_of_all_dtypes_are_the_same_after_text() {
    std::thread::scope(|scope| {
        for half in 0..2 {
            scope.spawn(move || {
                let directory = tempfile::tempdir().unwrap();
                for (descr, has_rows) in shortened(PLAIN.iter().skip(half).step_by(2)) {
                    check(directory.path(), descr, has_rows.then_some(3));
                }
                for descr in shortened(STRUCTS.iter().skip(half).step_by(2)) {
                    check(directory.path(), descr, None);
                }
            });
        }
    });
}

#[test]
fn floats_of_json_are_read_to_the_last_bit() {
    let directory = tempfile::tempdir().unwrap();
    let (text, back) = (path_in(&directory, "a.jsonl"), path_in(&directory, "a.npy"));
    for lines in ["0.014672357242299301\n", "{\"a\":[0.014672357242299301]}\n"] {
        fs::write(&text, lines).unwrap();
        run_ok(["convert", "--overwrite", &text, &back]);
        assert_eq!(run_ok(["get", &back, "--format", "jsonl"]), lines);
    }
}

#[test]
fn long_doubles_are_read_as_they_were_written() {
    let directory = tempfile::tempdir().unwrap();
    let [path, back] = ["a.npy", "back.npy"].map(|name| path_in(&directory, name));
    for (dtype, size) in [("<f16", 16), (">c32", 32)] {
        run_ok(["create", "--overwrite", &path, "--shape", "2", "--dtype", dtype]);
        let bytes = (0..size).map(|at| format!("\\x{:02x}", at * 8)).collect::<Vec<_>>().concat();
        run_ok(["set", &path, "1", &format!("b'{bytes}'")]);
        for extension in ["csv", "jsonl"] {
            let text = path_in(&directory, &format!("a.{extension}"));
            run_ok(["convert", "--overwrite", &path, &text]);
            run_ok(["convert", "--overwrite", &text, &back, "--dtype", dtype]);
            assert!(fs::read(&back).unwrap() == fs::read(&path).unwrap(), "{dtype} {extension}");
        }
    }
}

/// Reads a text with a dtype and returns the elements.
fn read(directory: &tempfile::TempDir, name: &str, text: &str, dtype: &str) -> String {
    let (from, back) = (path_in(directory, name), path_in(directory, "read.npy"));
    fs::write(&from, text).unwrap();
    run_ok(["convert", "--overwrite", &from, &back, "--dtype", dtype]);
    run_ok(["get", &back, "..."]).trim_end().replace("\n ", " ")
}

#[test]
fn values_are_read_as_the_dtype_means_them() {
    let directory = tempfile::tempdir().unwrap();
    for (name, text, dtype, expected) in [
        // A list of two numbers is a complex number, other lists are rows.
        ("a.jsonl", "[1,2]\n[3,\"nan\"]\n", "c16", "[(1+2j), (3+nanj)]"),
        ("a.jsonl", "[[1,2]]\n", "c16", "[(1+2j)]"),
        ("a.jsonl", "[[1,2],[3,4]]\n", "c8", "[[(1+2j), (3+4j)]]"),
        ("a.jsonl", "[1,2,3]\n", "c8", "[[(1+0j), (2+0j), (3+0j)]]"),
        ("a.jsonl", "1\n\"1+2j\"\n", "c8", "[(1+0j), (1+2j)]"),
        ("a.jsonl", "[1,[2,3]]\n", "[('a','i4'),('c','c8')]", "[(1, 2.+3.j)]"),
        ("a.jsonl", "{\"c\":[1,2]}\n", "[('c','c8',(2,))]", "[([1.+0.j, 2.+0.j],)]"),
        ("a.jsonl", "[1,2]\n", "f4", "[[1.0, 2.0]]"),
        ("a.jsonl", "\"b'a'\"\n\"é\"\n", "S4", "[b\"b'a'\", b'\\xe9']"),
        ("a.jsonl", "\"NA\"\n", "V2", "[b'\\x4E\\x41']"),
        ("a.csv", "b\"it's\\xff\"\nb'a'\n", "S6", "[b\"it's\\xff\", b'a']"),
        // A first row that is data is not a header.
        ("a.csv", "1970-01\n1970-02\n", "M8[M]", "['1970-01', '1970-02']"),
        ("a.csv", "a\nb\n", "U1", "['a', 'b']"),
        ("a.csv", "a,b\n1,2\n", "c8", "[[(1+0j), (2+0j)]]"),
        ("a.csv", " a ,b\n1,2\n", "[('b','i4'),('a','i4')]", "[(2, 1)]"),
    ] {
        assert_eq!(read(&directory, name, text, dtype), expected, "{text} as {dtype}");
    }
}

#[test]
fn values_of_arrays_are_not_names() {
    let directory = tempfile::tempdir().unwrap();
    let out = path_in(&directory, "a.npy");
    for (text, rows) in [
        ("1970-01\n1970-02\n", "(2,)"),
        ("-0044-03-15\n12024-01\n", "(2,)"),
        ("(1+2j)\n(3-1j)\n", "(2,)"),
        ("1970-01-01T00:00:00.000000000001\nNaT\n", "(2,)"),
        ("b'\\x00'\nb'\\x01'\n", "(2,)"),
        ("sensor,2024-01,2024-02\na,1,2\n", "(1,)"),
        ("2024-01,2024-02\n1,2\n3,4\n", "(2,)"),
        ("2024-01,2024-02\n2024-03,2024-04\n", "(2,)"),
        ("2024-01_total\n5\n", "(1,)"),
        ("alice,2020-01-02\nbob,2020-01-03\n", "(2,)"),
        ("alice,1970-01-01T00:00\nbob,NaT\n", "(2,)"),
        ("12:30\n12:45\n13:00\n", "(3,)"),
        ("192.168.0.1,10%\n192.168.0.2,20%\n", "(2,)"),
        ("10m_wind,2m_temperature\n1,2\n", "(1,)"),
        ("1st,2nd\nTrue,2020-02-29\n", "(1,)"),
        ("1st\nabc\n", "(1,)"),
        ("1st\n(1+2j)\n", "(1,)"),
        ("1st,2nd\n", "(0,)"),
        ("0-9,10-19\n,\n1,2\n", "(2,)"),
    ] {
        let path = path_in(&directory, "a.csv");
        fs::write(&path, text).unwrap();
        run_ok(["convert", "--overwrite", &path, &out]);
        let info = run_ok(["info", &out]);
        assert!(info.contains(rows), "{text}: {info}");
    }
}

#[test]
fn a_value_that_cannot_be_parsed_is_no_name() {
    let directory = tempfile::tempdir().unwrap();
    let [text, out] = ["a.csv", "a.npy"].map(|name| path_in(&directory, name));
    fs::write(&text, "0x10\n").unwrap();
    run_err(1, ["convert", &text, &out, "--dtype", "i4"]);
    fs::write(&text, "2m_temperature\n5\n").unwrap();
    run_ok(["convert", &text, &out, "--dtype", "i4"]);
    assert_eq!(run_ok(["get", &out, ":"]), "[5]\n");
}

/// Whatever the dtype, and unless the text says `inf`.
#[test]
fn numbers_in_text_do_not_become_infinite() {
    let directory = tempfile::tempdir().unwrap();
    let [text, out] = ["a.csv", "a.npy"].map(|name| path_in(&directory, name));
    for (number, dtype, is_read) in [
        ("65519", "f2", true),
        ("65520", "f2", false),
        ("-3.4028235677973366e38", "f4", false),
        ("3.4028235e38", "f4", true),
        ("1e400", "f8", false),
        ("1e400", "c16", false),
        ("-1e39j", "c8", false),
        ("-inf", "f4", true),
        ("Infinity", "f8", true),
        ("nan", "f2", true),
    ] {
        fs::write(&text, format!("x\n{number}\n")).unwrap();
        let convert = ["convert", "--overwrite", &text, &out, "--dtype", dtype];
        let fill = ["create", "--overwrite", &out, "--shape", "2", "--dtype", dtype];
        let fill = [&fill[..], &["--fill", number]].concat();
        if is_read {
            run_ok(convert);
            run_ok(fill);
        } else {
            for arguments in [&convert[..], &fill] {
                let error = run_err(1, arguments);
                assert!(error.contains("expected a number in the range"), "{number}: {error}");
            }
        }
    }
    fs::write(&text, "x\n1e400\n").unwrap();
    let error = run_err(1, ["convert", "--overwrite", &text, &out]);
    assert!(error.contains("1e400 would become inf in the inferred dtype '<f8'"), "{error}");
    run_ok(["create", "--overwrite", &out, "--shape", "1", "--dtype", "f4"]);
    assert!(run_err(1, ["set", &out, "0", "1e39"]).contains("`1e39`"));
    // A condition may be outside the range.
    for (condition, printed) in [("value < 1e39", "0.0\n"), ("value < -1e39", "")] {
        assert_eq!(run_ok(["get", &out, "--where", condition]), printed);
    }
}

#[test]
fn text_that_cannot_be_an_array_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let out = path_in(&directory, "a.npy");
    for (name, text, options, message) in [
        (
            "a.jsonl",
            "{\"a\":[1,2]}\n{\"a\":[3]}\n",
            &[][..],
            "row 1: `a` has 1 element, and in the first row 2",
        ),
        ("a.jsonl", "{\"a\":[1,2]}\n{\"a\":[]}\n", &[], "row 1: `a` has 0 elements"),
        ("a.jsonl", "[[1,2],3]\n[1,[2,3]]\n", &[], "row 1: has lists of other lengths"),
        ("a.jsonl", "{\"a\":1}\n{\"a\":[]}\n", &[], "row 1: `a` is a list, and in the first"),
        ("a.jsonl", "\"\u{100}\"\n", &["--dtype", "S4"], "a character beyond U+00FF, U+0100"),
        ("a.jsonl", "\"abc\"\n", &["--dtype", "V2"], "row 0: column 0: has 3 bytes"),
        ("a.csv", "c.0\n5\n", &["--dtype", "[('c','c8')]"], "has no column `c`, only: c.0"),
        ("a.csv", "c.0,c.O1\n5,6\n", &["--dtype", "[('c','c8')]"], "has no column `c`, only"),
        ("a.csv", "a,b\n1,\"2\n", &[], "the quote in line 2 is not closed"),
        ("a.csv", "a,b\n1,2\n1,\"2\"\"\n", &[], "the quote in line 3 is not closed"),
        ("a.tsv", "a\n\"1\n", &[], "the quote in line 2 is not closed"),
    ] {
        let path = path_in(&directory, name);
        fs::write(&path, text).unwrap();
        let refusal = run_err(1, ["convert", &path, &out].iter().chain(options));
        assert!(refusal.contains(message), "{text:?}: {refusal}");
    }
}

/// Files of a few bytes that describe very long rows.
#[test]
fn text_of_very_long_rows_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = path_in(&directory, "a.npy");
    let write = |descr: &str, shape: &str| {
        let header = format!("{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}");
        let mut file = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
        file.extend(format!("{header:<117}\n").as_bytes());
        fs::write(&path, file).unwrap();
    };
    for (descr, output) in [
        ("[('p', [('x', 'u1')], (1000000000,))]", "a.csv"),
        ("[('p', 'u1', (1000000000,))]", "a.tsv"),
    ] {
        write(descr, "(0,)");
        let output = path_in(&directory, output);
        let message = run_err(1, ["convert", &path, &output]);
        assert!(message.contains("has more than 1048576 elements in a row"), "{message}");
        assert!(!fs::exists(&output).unwrap());
    }
    // NumPy's `tolist` would make that many lists too.
    write("'<f8'", "(1, 10000000, 0)");
    let message = run_err(1, ["sample", "--json", "-n", "1", &path]);
    assert!(message.contains("10000001"), "{message}");
    run_ok(["sample", "-n", "1", &path]);
}

#[test]
fn structs_without_columns_take_no_time() {
    let directory = tempfile::tempdir().unwrap();
    let out = path_in(&directory, "a.csv");
    let dtype = "[('x', '|u1'), ('a', [('b', [('c', '|u1')], (0,))], (20000000,))]";
    let path = path_in(&directory, "a.npy");
    run_ok(["create", &path, "--dtype", dtype, "--shape", "2"]);
    run_ok(["convert", &path, &out]);
    assert_eq!(fs::read_to_string(&out).unwrap(), "x\n0\n0\n");
    let dtype = "[('x', 'u1'), ('q', [('b', [('c', [('d', '|u1')], (0,))], (20000,))], (20000,))]";
    run_ok(["convert", "--overwrite", "--dtype", dtype, &out, &path]);
    assert!(run_ok(["info", &path]).contains("(2,)"));
}

#[test]
fn keys_of_json_may_be_in_any_order() {
    let directory = tempfile::tempdir().unwrap();
    let (text, out) = (path_in(&directory, "a.jsonl"), path_in(&directory, "a.npy"));
    let names: Vec<_> = (0..20_000).map(|number| format!("\"k{number}\":{number}")).collect();
    let reversed: Vec<_> = names.iter().rev().map(String::as_str).collect();
    let lines = [names.join(","), reversed.join(",")].map(|line| format!("{{{line}}}\n"));
    fs::write(&text, lines.concat()).unwrap();
    run_ok(["convert", &text, &out]);
    assert_eq!(run_ok(["get", "--max-header-len", "1000000", &out, "1.k19999"]).trim(), "19999");
    // `a.b` twice.
    fs::write(&text, "{\"a.b\":1,\"a\":{\"b\":2},\"c\":3}\n{\"c\":6,\"a.b\":4,\"a\":{\"b\":5}}\n")
        .unwrap();
    run_ok(["convert", "--overwrite", &text, &out]);
    assert_eq!(run_ok(["get", &out, "1"]).trim(), "(4, (5,), 6)");
}

#[test]
fn many_columns_are_found_by_name() {
    let directory = tempfile::tempdir().unwrap();
    let (text, out) = (path_in(&directory, "a.csv"), path_in(&directory, "a.npy"));
    let count = size(5000, 10_000, 30_000);
    let row = |cell: &dyn Fn(usize) -> String| {
        (0..count).rev().map(cell).collect::<Vec<_>>().join(",") + "\n"
    };
    let lines = [row(&|column| format!("p.{column}")), row(&|column| column.to_string())];
    fs::write(&text, lines.concat()).unwrap();
    let dtype = format!("[('p','<i4',({count},))]");
    run_ok(["convert", &text, &out, "--dtype", &dtype]);
    let printed = run_ok(["get", &out, "0.p", "--json"]);
    let values: Vec<usize> = serde_json::from_str(&printed).unwrap();
    assert!(values.into_iter().eq(0..count));
    // The dtype is inferred. In this order, they are not a subarray.
    run_ok(["convert", &text, &out, "--overwrite"]);
    let descr = run_ok(["info", &out, "--max-header-len", "10000000", "--json"]);
    assert!(descr.contains("('p.2', '<i8'), ('p.1', '<i8'), ('p', '<i8', (1,))]"));
}
