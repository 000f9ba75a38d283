//! Complete files of several classes, from what NumPy writes to what no writer
//! produces.

use npymap::{Header, npy::HeaderText};

use super::header::dictionary;
use super::literal::random_tokens;
use super::random::Part::{Data, Keys, Preamble, Shape, Spelling, Types};
use super::random::{Part, Random};

/// A file to open with both.
pub(super) struct Case {
    /// The index of its class in [`CLASSES`].
    pub(super) class: usize,
    pub(super) bytes: Vec<u8>,
}

/// Describes the mistakes in the files of a class.
struct Class {
    name: &'static str,
    parts: &'static [Part],
    /// One choice in this many is odd.
    rarity: usize,
    /// The nesting depth of structs.
    depth: usize,
    broken: Broken,
}

/// A change to a finished file.
#[derive(Clone, Copy)]
enum Broken {
    No,
    /// Changes, inserts and removes bytes.
    Bytes,
    /// Continues with the bytes of another file.
    Spliced,
    /// Makes its text a sequence of tokens.
    Soup,
}

const ALL: &[Part] = &[Spelling, Types, Shape, Keys, Preamble, Data];

const CLASSES: [Class; 13] = [
    class("plain", &[], 1, 0, Broken::No),
    class("records", &[], 1, 3, Broken::No),
    class("data", &[Data], 1, 1, Broken::No),
    class("types", &[Types], 2, 0, Broken::No),
    class("fields", &[Types], 4, 3, Broken::No),
    class("shapes", &[Shape], 3, 0, Broken::No),
    class("keys", &[Keys], 4, 0, Broken::No),
    class("spelling", &[Spelling], 12, 2, Broken::No),
    class("preamble", &[Preamble], 2, 2, Broken::No),
    class("everything", ALL, 24, 2, Broken::No),
    class("bytes", &[], 1, 2, Broken::Bytes),
    class("spliced", ALL, 60, 2, Broken::Spliced),
    class("soup", &[], 1, 1, Broken::Soup),
];

const fn class(
    name: &'static str,
    parts: &'static [Part],
    rarity: usize,
    depth: usize,
    broken: Broken,
) -> Class {
    Class { name, parts, rarity, depth, broken }
}

/// The names of the classes.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    CLASSES.iter().map(|class| class.name)
}

/// The case with this number, for a seed.
pub(super) fn case(seed: u64, number: u64) -> Case {
    let mut r = Random::new(seed, number);
    let class = r.below(CLASSES.len());
    loop {
        let bytes = file(&mut r, &CLASSES[class]);
        if !kills_numpy(&bytes) {
            return Case { class, bytes };
        }
    }
}

/// NumPy crashes on units divided by zero: `'<M8[s/0]'`.
fn kills_numpy(bytes: &[u8]) -> bool {
    bytes.windows(2).any(|pair| pair[0] == b'/' && !matches!(pair[1], b'1'..=b'9' | b'-' | b'+'))
        || bytes.windows(3).any(|three| matches!(three, [b'/', b'-' | b'+', b'0' | b' ' | b']']))
}

fn file(r: &mut Random, class: &Class) -> Vec<u8> {
    r.set_odd_parts(class.parts, class.rarity);
    let head = match class.broken {
        Broken::No => encode_file(r, class),
        Broken::Bytes => {
            let head = encode_file(r, class);
            changed(r, head)
        }
        Broken::Spliced => {
            let (a, b) = (encode_file(r, class), encode_file(r, class));
            splice(r, &a, &b)
        }
        Broken::Soup => {
            let text = if r.one_in(2) {
                let tokens = 1 + r.below(12);
                random_tokens(r, tokens)
            } else {
                let text = dictionary(r, class.depth);
                let tokens = 1 + r.below(3);
                inserted(r, &text, tokens)
            };
            head(r, &text)
        }
    };
    with_data(r, head)
}

/// Encodes magic, version, length and text.
fn encode_file(r: &mut Random, class: &Class) -> Vec<u8> {
    let text = dictionary(r, class.depth);
    head(r, &text)
}

/// Inserts tokens somewhere in a text.
fn inserted(r: &mut Random, text: &str, tokens: usize) -> String {
    let mut chars: Vec<char> = text.chars().collect();
    for _ in 0..tokens {
        let at = r.below(chars.len() + 1);
        let token: Vec<char> = random_tokens(r, 1).chars().collect();
        chars.splice(at..(at + r.below(3)).min(chars.len()), token);
    }
    chars.into_iter().collect()
}

/// The maximum length of a header, and lengths close to it.
const LONG: [usize; 5] = [9_984, 9_999, 10_000, 10_001, 10_048];

fn head(r: &mut Random, text: &str) -> Vec<u8> {
    let mut version = if fits(text, '\u{ff}') { r.pick(&[1_u8, 1, 1, 2, 3]) } else { 3 };
    let mut utf8 = version == 3;
    if r.is_odd(Part::Preamble) {
        match r.below(3) {
            0 => utf8 = !utf8,
            1 => version = r.pick(&[1, 2, 3]),
            _ => {}
        }
    }
    let mut bytes: Vec<u8> = if utf8 || !fits(text, '\u{ff}') {
        text.as_bytes().to_vec()
    } else {
        text.chars().map(|c| u32::from(c) as u8).collect()
    };
    let start = if version == 1 { 10 } else { 12 };
    let mut end = (start + bytes.len() + 1).next_multiple_of(64);
    if r.is_odd(Part::Preamble) {
        end = match r.below(6) {
            0 => start + bytes.len(),
            1 => start + bytes.len() + r.below(80),
            2 => start + r.pick(&LONG),
            _ => end,
        };
    }
    if end > start + bytes.len() {
        bytes.resize(end - start - 1, b' ');
        bytes.push(if r.is_odd(Part::Preamble) { r.pick(b" \n\n\r\t\0#x") } else { b'\n' });
    }
    let mut len = bytes.len();
    if r.is_odd(Part::Preamble) && r.one_in(3) {
        len = match r.below(5) {
            0 => r.below(len + 1),
            1 => len + r.below(100),
            2 => 0,
            3 => r.pick(&[0xffff, 0xffff_ffff, 0x7fff_ffff, 0x8000_0000]),
            _ => len - 1,
        };
    }
    if r.is_odd(Part::Preamble) && r.one_in(8) && !bytes.is_empty() {
        let at = r.below(bytes.len());
        bytes[at] = r.next() as u8;
    }
    let mut head = b"\x93NUMPY".to_vec();
    head.extend([version, 0]);
    head.extend(&(len as u64).to_le_bytes()[..start - 8]);
    if r.is_odd(Part::Preamble) && r.one_in(3) {
        let at = r.below(8);
        head[at] = r.pick(&[0, 1, 2, 3, 4, 0x93, 0xff, b'N']);
    }
    head.extend(bytes);
    if r.is_odd(Part::Preamble) && r.one_in(6) {
        let len = r.below(head.len() + 1);
        head.truncate(len);
    }
    head
}

fn fits(text: &str, limit: char) -> bool {
    text.chars().all(|c| c <= limit)
}

/// Bytes with a meaning in headers.
const SIGNS: &[u8] = b"()[]{}'\",:0123456789 <>|=fiubcSUVMmLTFNrue\\#_-+.\n\t\r\x0c\0\xe9\xff";

fn changed(r: &mut Random, mut bytes: Vec<u8>) -> Vec<u8> {
    let before = bytes.len();
    for _ in 0..=r.below(3) {
        let first = if r.one_in(8) { 0 } else { 10 };
        let at = first + r.below(bytes.len().saturating_sub(first).max(1));
        let at = at.min(bytes.len().saturating_sub(1));
        let end = (at + 1 + r.below(6)).min(bytes.len());
        match r.below(6) {
            0 => bytes[at] ^= 1 << r.below(8),
            1 | 2 => bytes[at] = r.pick(SIGNS),
            3 => bytes.insert(at, r.pick(SIGNS)),
            4 => drop(bytes.drain(at..end)),
            _ => {
                let part = bytes[at..end].to_vec();
                let to = r.below(bytes.len() + 1);
                bytes.splice(to..to, part);
            }
        }
        if bytes.is_empty() {
            return bytes;
        }
    }
    fix_length(r, bytes, before)
}

/// Usually corrects the announced length of a changed header.
fn fix_length(r: &mut Random, mut bytes: Vec<u8>, before: usize) -> Vec<u8> {
    let start = if bytes.get(6) == Some(&1) { 10 } else { 12 };
    if bytes.len() > start && bytes.len() != before && !r.one_in(8) {
        let len = (bytes.len() - start).to_le_bytes();
        bytes[8..start].copy_from_slice(&len[..start - 8]);
    }
    bytes
}

fn splice(r: &mut Random, a: &[u8], b: &[u8]) -> Vec<u8> {
    let (here, there) = (r.below(a.len() + 1), r.below(b.len() + 1));
    let mut bytes = a[..here].to_vec();
    bytes.extend(&b[there..]);
    fix_length(r, bytes, a.len())
}

/// The number of bytes after headers that we reject and NumPy may read.
const PLENTY: usize = 4096;

/// Appends elements to a header: all of them, too few or too many.
fn with_data(r: &mut Random, head: Vec<u8>) -> Vec<u8> {
    let bytes = HeaderText::parse(&head, 20_000)
        .and_then(|text| text.header())
        .and_then(|header: Header| header.layout());
    let needed = match bytes {
        Ok(layout) if layout.nbytes() <= PLENTY => layout.nbytes(),
        _ => PLENTY,
    };
    let odd = r.is_odd(Part::Data);
    let len = match r.below(5) {
        0 if odd => r.below(needed + 1),
        1 if odd => needed + 1 + r.below(100),
        2 if odd => needed.saturating_sub(1),
        3 if odd => 0,
        _ => needed,
    };
    let mut file = head;
    let data = r.bytes(len);
    file.extend(if r.one_in(4) { data.iter().map(|byte| byte & 1).collect() } else { data });
    file
}
