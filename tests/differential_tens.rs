//! Random and damaged `.ten` files, compared with webdataset: we read what it
//! reads, or reject the file for a reason that `COMPATIBILITY.md` lists.

use std::collections::BTreeMap;
use std::fs;

use npymap::ndarray::{ArrayD, IxDyn};
use npymap::ten::{Ten, TenWriteOptions};
use npymap::write::Save;
use npymap::{MappedArray, Source};
use serde_json::{Value, json};

use crate::cases::data;
use crate::oracle::{Oracle, hex};
use crate::seeded::{Random, setting};
use crate::support::{Raw, directory};

/// Parts of the errors for what is rejected although webdataset reads it.
const STRICTER: &[(&str, &str)] = &[
    ("an axis of length -", "negative axes"),
    ("an array of -", "negative axes"),
    (" in a header of ", "more axes than the header holds"),
    ("the header of an array has ", "more axes than the header holds"),
    (" axes, NumPy arrays have at most 64", "more axes than the header holds"),
    (" in a chunk of ", "chunks longer than the array"),
    ("a chunk of -", "chunks of negative length"),
    ("a header without elements", "headers without elements"),
    ("ends inside the header of an array", "headers without elements"),
];

/// Parts of webdataset's errors for what is read although it fails.
const WIDER: &[(&str, &str)] =
    &[("unit32", "`u4` in a `.ten`"), ("interpreted as an integer", "0-d arrays in a `.ten`")];

/// The arrays of a file, or an error.
type Answer = Result<Value, String>;

fn contents<D: AsRef<[u8]>>(info: &str, array: &MappedArray<D>) -> Value {
    let elements = array.view::<Raw>().unwrap();
    let bytes = elements.iter().map(|element| hex(&element.0)).collect::<String>();
    let descr = array.dtype().to_string();
    json!([info, { "descr": descr, "fortran_order": false, "shape": array.shape(), "bytes": bytes }])
}

/// The arrays that we read.
fn opened(bytes: &[u8]) -> npymap::Result<Value> {
    let ten = Ten::open(Source::bytes(bytes.to_vec()))?;
    let arrays =
        ten.headers().zip(0..).map(|(header, at)| Ok(contents(&header.info, &ten.get(at)?)));
    arrays.collect::<npymap::Result<Value>>()
}

/// The number of chunks, if they fill the buffer.
fn count_chunks(bytes: &[u8]) -> Option<usize> {
    let mut count = 0;
    let mut rest = bytes;
    while !rest.is_empty() {
        let (prefix, after) = rest.split_first_chunk::<16>()?;
        let len = i64::from_le_bytes(*prefix.last_chunk()?);
        let len = usize::try_from(len).ok().filter(|len| *len <= after.len())?;
        if !prefix.starts_with(b"~TenBin~") {
            return None;
        }
        rest = &after[len.next_multiple_of(64).min(after.len())..];
        count += 1;
    }
    Some(count)
}

fn webdatasets(answer: &Value) -> Answer {
    match answer["error"].as_str() {
        Some(error) => Err(error.to_owned()),
        None => Ok(answer["arrays"].clone()),
    }
}

/// A list of up to three arrays.
fn list(random: &mut Random) -> Vec<u8> {
    let mut arrays: Vec<Box<dyn Save>> = Vec::new();
    let mut infos = Vec::new();
    for _ in 0..random.below(4) {
        let axes = random.below(4);
        let shape: Vec<usize> = (0..axes).map(|_| random.pick(&[0, 1, 2, 3, 8])).collect();
        arrays.push(tensor(random, &shape));
        infos.push(random.pick(&["", "img", "cls", "12345678", "a b", "a\0b"]));
    }
    let arrays: Vec<&dyn Save> = arrays.iter().map(|array| &**array).collect();
    let options = TenWriteOptions::new().allow_u4(true);
    let options = if infos.is_empty() { options } else { options.infos(&infos) };
    let mut bytes = Vec::new();
    options.write(&mut bytes, &arrays).unwrap();
    bytes
}

fn tensor(random: &mut Random, shape: &[usize]) -> Box<dyn Save> {
    macro_rules! of { ($($at:literal $type:ty),*) => { match random.below(10) {
        $($at => Box::new(ArrayD::<$type>::from_elem(IxDyn(shape), number(random).into())),)*
        _ => Box::new(ArrayD::from_elem(IxDyn(shape), npymap::half::f16::from(number(random)))),
    } } }
    of!(0 f32, 1 f64, 2 i16, 3 i32, 4 i64, 5 u8, 6 u16, 7 u32, 8 u64)
}

fn number(random: &mut Random) -> u8 {
    random.pick(&[0, 1, 100, 255])
}

/// Damages a field of a chunk, or the bytes between chunks.
fn damage(random: &mut Random, bytes: &mut Vec<u8>) {
    let starts: Vec<usize> =
        (0..bytes.len()).filter(|&at| bytes[at..].starts_with(b"~TenBin~")).collect();
    if starts.is_empty() {
        return bytes.extend(std::iter::repeat_n(random.pick(b"\0~T"), random.below(20)));
    }
    let start = random.pick(&starts);
    match random.below(12) {
        0 => bytes.truncate(random.below(bytes.len())),
        1 => drop(bytes.splice(start..start, vec![0; random.pick(&[1, 8, 64])])),
        2 => drop(bytes.drain(start..bytes.len().min(start + random.pick(&[1, 8, 16, 64, 80])))),
        // Swaps, repeats and removes chunks.
        3 => {
            let end = starts.iter().copied().find(|&next| next > start).unwrap_or(bytes.len());
            let chunk: Vec<u8> = bytes[start..end].to_vec();
            if random.below(2) == 0 {
                drop(bytes.drain(start..end));
            }
            let to = random.pick(&starts).min(bytes.len());
            drop(bytes.splice(to..to, chunk));
        }
        4 => bytes.extend(std::iter::repeat_n(random.pick(b"\0~T"), random.below(100))),
        5 => {
            let at = random.below(bytes.len());
            bytes[at] ^= 1 << random.below(8);
        }
        6 => {
            // Another code or info.
            let word = random.pick(&[
                *b"f4\0\0\0\0\0\0",
                *b"u4\0\0\0\0\0\0",
                *b"\0\0f8\0\0\0\0",
                *b"i1 \0\0\0\0\0",
                *b"f9\0\0\0\0\0\0",
            ]);
            let at = start + 16 + 8 * random.below(2);
            if let Some(field) = bytes.get_mut(at..at + 8) {
                field.copy_from_slice(&word);
            }
        }
        _ => {
            // The length of a chunk, the number of axes, or one of them.
            let at = start + random.pick(&[8, 8, 32, 40, 48, 56]);
            let Some(field) = bytes.get_mut(at..at + 8) else { return };
            let old = i64::from_le_bytes(field.try_into().unwrap());
            let new = match random.below(9) {
                0 => 0,
                1 => 1,
                2 => -1,
                3 => old.wrapping_add(1),
                4 => old.wrapping_sub(1),
                5 => old.wrapping_add(8),
                6 => old.wrapping_sub(8),
                7 => old ^ (1 << random.below(64)),
                _ => random.pick(&[i64::MAX, i64::MIN, 1 << 32, 64]),
            };
            field.copy_from_slice(&new.to_le_bytes());
        }
    }
}

/// How often both agreed, or differed for a listed reason.
#[derive(Debug, Default)]
struct Counts {
    same: usize,
    both_refused: usize,
    differ: BTreeMap<&'static str, usize>,
}

impl Counts {
    /// Compares the results for a file. `ignores_last` if webdataset ignores its
    /// last chunk.
    fn compare(
        &mut self,
        ours: &Answer,
        webdatasets: &Answer,
        ignores_last: bool,
    ) -> Result<(), String> {
        let (text, reasons) = match (ours, webdatasets) {
            (Ok(ours), Ok(webdatasets)) if ours == webdatasets => {
                self.same += 1;
                return Ok(());
            }
            (Err(_), Err(_)) => {
                self.both_refused += 1;
                return Ok(());
            }
            (Err(_), Ok(_)) if ignores_last => {
                *self.differ.entry("headers without elements").or_default() += 1;
                return Ok(());
            }
            (Err(error), Ok(_)) => (error, STRICTER),
            (Ok(_), Err(error)) => (error, WIDER),
            (ours, webdatasets) => return Err(format!("{ours:?} is not {webdatasets:?}")),
        };
        let Some((_, reason)) = reasons.iter().find(|(part, _)| text.contains(part)) else {
            return Err(format!("{ours:?}\n  {webdatasets:?}"));
        };
        *self.differ.entry(reason).or_default() += 1;
        Ok(())
    }
}

#[test]
fn lists_are_read_as_by_webdataset() {
    let cases = setting("NPYMAP_DIFFERENTIAL_EDITS", 3_000);
    let seed = setting("NPYMAP_DIFFERENTIAL_SEED", 20_240_229);
    let Some(mut python) = Oracle::start("archives.py") else { return };
    if python.ask(&json!(["has_webdataset"])) != true {
        return eprintln!("nothing was tested, there is no webdataset to ask");
    }
    let compatibility = fs::read_to_string(data().join("../../COMPATIBILITY.md")).unwrap();
    assert!(STRICTER.iter().chain(WIDER).all(|(_, reason)| compatibility.contains(reason)));
    let directory = directory();
    let (mut counts, mut wrong) = (Counts::default(), Vec::new());
    let mut random = Random(seed);
    let mut left = cases;
    while left > 0 {
        let batch = left.min(500);
        left -= batch;
        let mut files = Vec::new();
        for at in 0..batch {
            let mut bytes = list(&mut random);
            for _ in 0..random.below(3) {
                damage(&mut random, &mut bytes);
            }
            let path = directory.path().join(format!("{at}.ten"));
            fs::write(&path, &bytes).unwrap();
            files.push((path, bytes));
        }
        let paths: Vec<_> = files.iter().map(|(path, _)| path).collect();
        let answers = python.ask(&json!(["ten_judged", paths]));
        for ((_, bytes), answer) in files.iter().zip(answers.as_array().unwrap()) {
            let ours = opened(bytes).map_err(|error| error.to_string());
            let is_odd = count_chunks(bytes).is_some_and(|count| count % 2 == 1);
            for (how, ignores_last) in [("load", false), ("decode", is_odd)] {
                let theirs = webdatasets(&answer[how]);
                if let Err(problem) = counts.compare(&ours, &theirs, ignores_last) {
                    wrong.push(format!("{how}: {problem}\n    {}", bytes.escape_ascii()));
                }
            }
        }
    }
    println!("ten: {counts:?}");
    let shown = wrong.iter().take(15).cloned().collect::<Vec<_>>().join("\n");
    assert!(wrong.is_empty(), "{} of {cases} of seed {seed} disagree:\n{shown}", wrong.len());
    assert!(cases < 1_000 || (counts.same > 100 && counts.both_refused > 100));
}
