//! Types in headers: type strings, structs, subarrays.

use super::literal::{integer, random_space, sequence, string};
use super::random::{Part, Random};

const CODES: [&str; 27] = [
    "b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "f16", "c8", "c16",
    "c32", "S0", "S1", "S5", "U0", "U1", "U3", "V0", "V1", "V7", "M8", "m8",
];
const UNITS: [&str; 13] = ["Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as"];
const ORDERS: [&str; 5] = ["<", ">", "|", "=", ""];
const LETTERS: &str = "?bBhHiIlLqQnNpPefdgFDGcSUVOMmatTwxyzAkKWE";
const NAMES: [&str; 46] = [
    "bool",
    "bool_",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float16",
    "float32",
    "float64",
    "float128",
    "complex64",
    "complex128",
    "complex256",
    "datetime64",
    "timedelta64",
    "datetime64[ns]",
    "timedelta64[3D]",
    "byte",
    "ubyte",
    "short",
    "intc",
    "int",
    "uint",
    "int_",
    "intp",
    "long",
    "longlong",
    "half",
    "single",
    "float",
    "double",
    "longdouble",
    "complex",
    "csingle",
    "str",
    "str_",
    "unicode",
    "bytes",
    "void",
    "object",
    "float8",
    "string",
];
const SIZES: [&str; 24] = [
    "0",
    "1",
    "2",
    "3",
    "4",
    "5",
    "7",
    "8",
    "10",
    "16",
    "32",
    "64",
    "00",
    "08",
    "016",
    "-1",
    "",
    "536870911",
    "536870912",
    "2147483647",
    "2147483648",
    "4294967296",
    "99999999999999999999",
    "255",
];
const FIELDS: [&str; 24] = [
    "a",
    "b",
    "c",
    "d",
    "e",
    "x",
    "y",
    "z",
    "pos",
    "vel",
    "id",
    "t",
    "f0",
    "f1",
    "é",
    "整",
    "ÿ",
    "it's",
    "q\"q",
    "a b",
    "back\\slash",
    "new\nline",
    "\u{a0}",
    "😀",
];

/// The text of a descr.
pub(super) fn descr(r: &mut Random, depth: usize) -> String {
    if r.is_odd(Part::Types) && r.one_in(3) {
        return invalid_type(r, depth);
    }
    if depth > 0 && r.one_in(3) { fields(r, depth) } else { scalar(r) }
}

/// A type string, quoted.
pub(super) fn scalar(r: &mut Random) -> String {
    let text = if r.is_odd(Part::Types) { odd_typestr(r) } else { typestr(r) };
    string(r, &text)
}

/// A type string as NumPy writes it.
fn typestr(r: &mut Random) -> String {
    let code = r.pick(&CODES);
    let order = match code {
        "b1" | "i1" | "u1" => "|",
        _ if code.starts_with(['S', 'V']) => "|",
        _ => r.pick(&["<", ">"]),
    };
    let unit = match code {
        "M8" | "m8" if !r.one_in(8) => {
            format!("[{}{}]", r.pick(&["", "", "", "2", "25", "1000"]), r.pick(&UNITS))
        }
        _ => String::new(),
    };
    format!("{order}{code}{unit}")
}

fn odd_typestr(r: &mut Random) -> String {
    let order = r.pick(&ORDERS);
    match r.below(16) {
        0..=2 => format!("{order}{}", r.pick(&CODES)),
        3 => r.pick(&NAMES).to_owned(),
        4 => format!("{order}{}", r.pick(&NAMES)),
        5..=6 => format!("{order}{}", letter(r)),
        7..=9 => format!("{order}{}{}", letter(r), r.pick(&SIZES)),
        10..=12 => format!(
            "{order}{}{}",
            r.pick(&["M8", "m8", "datetime64", "timedelta64", "M", "m"]),
            unit(r)
        ),
        13 => comma_string(r),
        14 => invalid_typestr(r),
        _ => r
            .pick(&[
                "", " ", "<", "O", "|O", "|O8", "O4", "\0", "\u{1}", "\u{7f}", "é", "<<f8", "f8<",
                "8f", "∅",
            ])
            .to_owned(),
    }
}

fn letter(r: &mut Random) -> char {
    let letters: Vec<char> = LETTERS.chars().collect();
    r.pick(&letters)
}

/// The unit of a date, in brackets. NumPy crashes on units divided by zero.
fn unit(r: &mut Random) -> String {
    const MULTIPLES: [&str; 14] = [
        "",
        "",
        "1",
        "2",
        "25",
        "007",
        "0",
        "-1",
        "+1",
        "2147483647",
        "2147483648",
        "1 ",
        " 1",
        "1.5",
    ];
    const ODD: [&str; 12] =
        ["generic", "μs", "µs", "B", "", "S", "y", "NS", "sec", " s", "s ", "min"];
    let base = if r.one_in(3) { r.pick(&ODD) } else { r.pick(&UNITS) };
    let divided = if r.one_in(5) {
        r.pick(&["/1", "/2", "/3", "/7", "/12", "/60", "/1000", "/-2", "/+2"])
    } else {
        ""
    };
    let end = if r.one_in(12) { r.pick(&["", "]]", "]x", "] ", " ]"]) } else { "]" };
    format!("[{}{base}{divided}{end}", r.pick(&MULTIPLES))
}

fn comma_string(r: &mut Random) -> String {
    let first = comma_item(r);
    if r.one_in(3) {
        first
    } else {
        format!("{first}{}{}", r.pick(&[",", ", ", " ,"]), comma_item(r))
    }
}

fn comma_item(r: &mut Random) -> String {
    let repeat = r.pick(&["", "", "2", "(2,)", "(2, 3)", "()", "0", "1"]);
    format!("{repeat}{}{}", r.pick(&ORDERS), r.pick(&CODES))
}

/// A type string with an invalid character or part.
fn invalid_typestr(r: &mut Random) -> String {
    let mut text: Vec<char> = typestr(r).chars().collect();
    let at = r.below(text.len() + 1);
    text.insert(
        at,
        r.pick(&[' ', '+', '-', '\t', '0', '1', '_', ',', '\'', '[', ']', '\u{a0}', '٣']),
    );
    text.into_iter().collect()
}

/// A list of fields.
fn fields(r: &mut Random, depth: usize) -> String {
    let count = if r.one_in(12) { 0 } else { 1 + r.below(4) };
    let mut names: Vec<&str> = FIELDS.to_vec();
    let items: Vec<String> = (0..count)
        .map(|_| {
            let at = r.below(names.len());
            let name = if r.is_odd(Part::Types) { r.pick(&FIELDS) } else { names.swap_remove(at) };
            field(r, name, depth)
        })
        .collect();
    let brackets = if r.is_odd(Part::Types) {
        r.pick(&[["(", ")"], ["[", "]"], ["{", "}"]])
    } else {
        ["[", "]"]
    };
    sequence(r, brackets, &items)
}

fn field(r: &mut Random, name: &str, depth: usize) -> String {
    if r.is_odd(Part::Types) && r.one_in(4) {
        return odd_field(r, depth);
    }
    let mut items = Vec::new();
    if r.one_in(6) {
        items.push(string(r, ""));
        let size = r.below(9);
        items.push(string(r, &format!("|V{size}")));
    } else {
        items.push(self::name(r, name));
        items.push(descr(r, depth - 1));
    }
    if r.one_in(4) {
        items.push(axes(r));
    }
    let brackets =
        if r.is_odd(Part::Types) { r.pick(&[["[", "]"], ["{", "}"]]) } else { ["(", ")"] };
    sequence(r, brackets, &items)
}

/// A name, sometimes with a title.
fn name(r: &mut Random, name: &str) -> String {
    let odd = r.is_odd(Part::Types);
    let name = if odd && r.one_in(3) { "" } else { name };
    let text = string(r, name);
    if odd && r.one_in(3) {
        return r
            .pick(&[
                "'\\ud800'",
                "3",
                "None",
                "('a',)",
                "('a', 'b', 'c')",
                "()",
                "b'a'",
                "('', '')",
                "['t', 'n']",
            ])
            .to_owned();
    }
    if r.one_in(8) {
        let title = if odd {
            r.pick(&["None", "3", "''", "(1, 2)", "'a'", "True", "[1]", "u't'", "b't'"]).to_owned()
        } else {
            string(r, &format!("title {name}"))
        };
        return sequence(r, ["(", ")"], &[title, text]);
    }
    text
}

/// The axes of a subarray.
fn axes(r: &mut Random) -> String {
    if r.is_odd(Part::Types) {
        return r
            .pick(&[
                "3",
                "0",
                "1",
                "-1",
                "()",
                "[]",
                "[2]",
                "[2, 3]",
                "(-1,)",
                "(2, -3)",
                "(0,)",
                "(2.0,)",
                "None",
                "True",
                "(True,)",
                "'2'",
                "('2',)",
                "(2147483647,)",
                "(2147483648,)",
                "(65536, 65536)",
                "(99999999999999999999,)",
                "((2,),)",
                "2.0",
                "(1,) * 2",
                "{}",
                "(0, 2147483647, 2147483647)",
            ])
            .to_owned();
    }
    let count = 1 + r.below(3);
    let axes: Vec<String> = (0..count)
        .map(|_| {
            let n = r.below(4).to_string();
            integer(r, &n)
        })
        .collect();
    sequence(r, ["(", ")"], &axes)
}

fn odd_field(r: &mut Random, depth: usize) -> String {
    let depth = depth.saturating_sub(1);
    match r.below(10) {
        0 => "()".to_owned(),
        1 => "('a',)".to_owned(),
        2 => format!("('a', {}, (2,), 1)", scalar(r)),
        3 => string(r, "ai"),
        4 => string(r, "abc"),
        5 => "3".to_owned(),
        6 => "None".to_owned(),
        7 => format!("{{'a': 1, 'b': {}}}", scalar(r)),
        8 => format!(
            "('', {}{}{})",
            descr(r, depth),
            random_space(r, ""),
            r.pick(&["", ", (2,)", ", 2", ", ()"])
        ),
        _ => format!("('', '|O', {})", axes(r)),
    }
}

/// An invalid type, or one that does not occur in files.
fn invalid_type(r: &mut Random, depth: usize) -> String {
    let inner = depth.saturating_sub(1);
    match r.below(12) {
        0 => format!("({}, {})", descr(r, inner), axes(r)),
        1 => format!("({}, {})", scalar(r), scalar(r)),
        2 => format!("({},)", descr(r, inner)),
        3 => dictionary(r, inner),
        4 => format!("[{}]", descr(r, inner)),
        5 => format!("{{{}}}", field(r, "a", depth.max(1))),
        6 => format!("(({}, (2,)), (3,))", descr(r, inner)),
        7 => format!("({}, (2,), 1)", scalar(r)),
        8 => "[('', '|O', (2,)), ('a', '<i4')]".to_owned(),
        _ => r
            .pick(&[
                "None",
                "3",
                "True",
                "()",
                "{}",
                "[]",
                "[[]]",
                "b'<f8'",
                "float",
                "1.5",
                "'<f8', '<f8'",
                "[None]",
                "{'a'}",
            ])
            .to_owned(),
    }
}

/// A struct as a dictionary.
fn dictionary(r: &mut Random, depth: usize) -> String {
    let count = r.below(4);
    let names = list_literal((0..count).map(|i| format!("'{}'", ["a", "b", "c", "d"][i])));
    let formats = list_literal((0..count + usize::from(r.one_in(12))).map(|_| descr(r, depth)));
    let mut items = vec![format!("'names': {names}"), format!("'formats': {formats}")];
    if r.one_in(3) {
        let offsets =
            list_literal((0..count).map(|i| (8 * i + r.below(3) * r.below(9)).to_string()));
        items.push(format!("'offsets': {offsets}"));
    }
    if r.one_in(4) {
        items.push(format!("'itemsize': {}", r.pick(&["0", "8", "40", "64", "-1", "1000", "'8'"])));
    }
    if r.one_in(6) {
        items.push(format!(
            "'titles': {}",
            list_literal((0..count).map(|i| r.pick(&["None".to_owned(), format!("'t{i}'")])))
        ));
    }
    if r.one_in(6) {
        items.push(format!("'aligned': {}", r.pick(&["True", "False", "1", "0", "None"])));
    }
    if r.one_in(12) {
        items.push(r.pick(&["'other': 1", "3: 4", "'names': ['a']"]).to_owned());
    }
    if r.one_in(6) {
        items.reverse();
    }
    format!("{{{}}}", items.join(", "))
}

fn list_literal(items: impl Iterator<Item = String>) -> String {
    format!("[{}]", items.collect::<Vec<_>>().join(", "))
}
