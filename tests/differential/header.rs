//! The text of headers: the dictionary, with possible mistakes.

use super::literal::{integer, random_space, sequence, string};
use super::random::{Part, Random};
use super::types::{descr, scalar};

/// Axes, or what a header may have instead.
const ODD_AXES: [&str; 30] = [
    "-1",
    "-0",
    "+3",
    "True",
    "False",
    "None",
    "2.0",
    "'3'",
    "(2,)",
    "[3]",
    "1e3",
    "3j",
    "...",
    "2147483647",
    "2147483648",
    "4294967296",
    "4611686018427387904",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "100000000000000000000000000000",
    "-9223372036854775808",
    "np.int64(2)",
    "0x10",
    "1_000",
    "007",
    "00",
    "1 2",
    "1+1",
];

/// A shape, or what a header may have instead.
const ODD_SHAPES: [&str; 16] = [
    "3",
    "[2, 3]",
    "None",
    "'(3,)'",
    "((2, 3))",
    "((2, 3),)",
    "(3)",
    "{}",
    "{2, 3}",
    "()",
    "(())",
    "(),",
    "True",
    "(2 3)",
    "(,)",
    "(2, 3",
];

const ODD_ORDERS: [&str; 14] = [
    "0",
    "1",
    "None",
    "'False'",
    "true",
    "false",
    "(True)",
    "(False,)",
    "TRUE",
    "not True",
    "True False",
    "not",
    "b''",
    "[]",
];

const ODD_VALUES: [&str; 16] = [
    "1",
    "None",
    "'x'",
    "1.5",
    "2j",
    "b'x'",
    "[1, {2: 3}]",
    "{'a': (1,)}",
    "()",
    "-1",
    "{1}",
    "...",
    "set()",
    "u'x'",
    "1L",
    "(1, [2, (3, None)])",
];

/// The text of a header, without its padding.
pub(super) fn dictionary(r: &mut Random, depth: usize) -> String {
    let descr = if r.is_odd(Part::Types) || depth > 0 { descr(r, depth) } else { scalar(r) };
    let mut items = vec![("descr", descr), ("fortran_order", order(r)), ("shape", shape(r))];
    if r.is_odd(Part::Keys) {
        shuffle(r, &mut items);
    }
    if r.is_odd(Part::Keys) {
        let at = r.below(items.len());
        match r.below(4) {
            0 => drop(items.remove(at)),
            1 => {
                let key = r.pick(&["extra", "Descr", "descr ", "", "shape\u{a0}", "fortran"]);
                items.insert(at, (key, r.pick(&ODD_VALUES).to_owned()));
            }
            2 => {
                let key = items[r.below(items.len())].0;
                items.insert(at, (key, r.pick(&ODD_VALUES).to_owned()));
            }
            _ => {
                let again = items[at].clone();
                items.push(again);
            }
        }
    }
    let mut pairs = Vec::new();
    for (key, value) in items {
        let key = if r.is_odd(Part::Keys) && r.one_in(4) {
            r.pick(&["1", "None", "b'descr'", "('descr',)", "descr", "[]", "'desc' 'r'"]).to_owned()
        } else {
            string(r, key)
        };
        pairs.push(format!("{key}{}:{}{value}", random_space(r, ""), random_space(r, " ")));
    }
    let before = random_space(r, "");
    let mut text = sequence(r, ["{", "}"], &pairs);
    if !r.is_odd(Part::Spelling) && text.ends_with('}') && !text.ends_with(",}") {
        text.truncate(text.len() - 1);
        text += ", }";
    }
    if r.is_odd(Part::Keys) && r.one_in(4) {
        text = match r.below(5) {
            0 => format!("({text})"),
            1 => format!("[{text}]"),
            2 => format!("{text},"),
            3 => format!("{text} {text}"),
            _ => format!("dict({text})"),
        };
    }
    format!("{before}{text}{}", random_space(r, ""))
}

fn shuffle<T>(r: &mut Random, items: &mut [T]) {
    for i in (1..items.len()).rev() {
        items.swap(i, r.below(i + 1));
    }
}

fn order(r: &mut Random) -> String {
    if r.is_odd(Part::Keys) {
        return r.pick(&ODD_ORDERS).to_owned();
    }
    r.pick(&["False", "True"]).to_owned()
}

fn shape(r: &mut Random) -> String {
    if r.is_odd(Part::Shape) && r.one_in(3) {
        return r.pick(&ODD_SHAPES).to_owned();
    }
    if r.is_odd(Part::Shape) && r.one_in(6) {
        let ndim = r.pick(&[32, 33, 63, 64, 65, 100]);
        return sequence(r, ["(", ")"], &vec!["1".to_owned(); ndim]);
    }
    let ndim = r.pick(&[0, 1, 1, 1, 2, 2, 2, 3, 3, 4, 5]);
    let axes: Vec<String> = (0..ndim)
        .map(|_| {
            if r.is_odd(Part::Shape) {
                return r.pick(&ODD_AXES).to_owned();
            }
            let most = [12, 12, 7, 4, 3, 2][ndim];
            let axis = r.below(most + 1).to_string();
            integer(r, &axis)
        })
        .collect();
    sequence(r, ["(", ")"], &axes)
}
