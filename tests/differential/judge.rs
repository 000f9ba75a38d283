//! Our result for a file, compared with NumPy's.

use std::fmt::Write as _;
use std::path::Path;

use npymap::{Header, MappedArray, Order, Value, dtype::Kind, view::DynView};

use crate::oracle::hex;
use crate::support::open;

/// Elements are compared if an array has at most this many.
const MOST: usize = 4096;

/// The result of opening a file.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Answer {
    Read(Read),
    Refused(String),
    /// NumPy's process crashed.
    Died,
}

/// The contents of a file.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Read {
    descr: String,
    /// In decimal digits.
    shape: Vec<String>,
    /// True if the elements are in Fortran order.
    fortran_order: bool,
    data_offset: usize,
    /// The values of each field that is not a struct, as text.
    values: Vec<String>,
}

/// Parses NumPy's result from JSON.
pub(super) fn parse_answer(answer: &serde_json::Value) -> Answer {
    if let Some(error) = answer["error"].as_str() {
        return Answer::Refused(error.to_owned());
    }
    if answer["dies"].is_string() {
        return Answer::Died;
    }
    let [shape, values] = ["shape", "values"].map(|key| answer[key].as_array().unwrap().iter());
    Answer::Read(Read {
        descr: answer["descr"].as_str().unwrap().to_owned(),
        shape: shape.map(ToString::to_string).collect(),
        fortran_order: answer["fortran_order"].as_bool().unwrap(),
        data_offset: answer["data_offset"].as_u64().unwrap() as usize,
        values: values.map(|text| text.as_str().unwrap().to_owned()).collect(),
    })
}

/// Opens a file in all ways and compares the result with NumPy's, or returns
/// how they differ.
pub(super) fn compare(bytes: &[u8], path: &Path, numpys: &Answer) -> Result<Answer, String> {
    let in_memory = MappedArray::from_bytes(bytes);
    let others = [
        ("mapped", header_and_bytes(&open(path))),
        ("copied", header_and_bytes(&MappedArray::load(path))),
    ];
    let expected = header_and_bytes(&in_memory);
    for (how, other) in others {
        if other != expected {
            return Err(format!("{how}: {other:.250?}, in memory: {expected:.250?}"));
        }
    }
    let ours = answer(&in_memory);
    match (&ours, numpys) {
        (Answer::Refused(_), Answer::Refused(_)) => Ok(ours),
        (ours, numpys) if ours == numpys => Ok(ours.clone()),
        (ours, numpys) => {
            let [ours, numpys] = [ours, numpys].map(|answer| format!("{answer:?}"));
            Err(format!("{ours:.250}, NumPy: {numpys:.250}"))
        }
    }
}

type Opened<D> = npymap::Result<MappedArray<D>>;

/// The header and the bytes of the elements, if the file opens.
fn header_and_bytes<D: AsRef<[u8]>>(opened: &Opened<D>) -> Option<(Header, Vec<u8>)> {
    let array = opened.as_ref().ok()?;
    Some((array.header().unwrap(), array.as_bytes().unwrap().to_vec()))
}

fn answer<D: AsRef<[u8]>>(opened: &Opened<D>) -> Answer {
    let array = match opened {
        Ok(array) => array,
        Err(error) => return Answer::Refused(error.to_string()),
    };
    let header = array.header().unwrap();
    let mut values = Vec::new();
    leaves(&mut values, &array.dyn_view().unwrap());
    Answer::Read(Read {
        descr: header.dtype.to_string(),
        shape: header.shape.iter().map(ToString::to_string).collect(),
        fortran_order: header.order == Order::F,
        data_offset: header.data_offset,
        values,
    })
}

/// The values of all fields that are not structs.
fn leaves(values: &mut Vec<String>, view: &DynView<'_>) {
    if view.dtype().kind() != Kind::Struct {
        values.push(text(view));
        return;
    }
    for field in view.dtype().fields() {
        match view.getfield(&field.dtype, field.offset) {
            Ok(part) => leaves(values, &part),
            Err(_) => values.push("refused".to_owned()),
        }
    }
}

fn text(view: &DynView<'_>) -> String {
    if view.len() > MOST {
        return "many".to_owned();
    }
    let mut text = String::new();
    for value in view {
        say(&mut text, &value);
    }
    text
}

/// The exact text of one value.
fn say(text: &mut String, value: &Value) {
    match value {
        Value::Bool(value) => write!(text, "{} ", u8::from(*value)),
        Value::Int(value) => write!(text, "{value} "),
        Value::UInt(value) => write!(text, "{value} "),
        Value::F16(value) => return float(text, f64::from(*value)),
        Value::F32(value) => return float(text, f64::from(*value)),
        Value::F64(value) => return float(text, *value),
        Value::C64(value) => {
            float(text, f64::from(value.re));
            return float(text, f64::from(value.im));
        }
        Value::C128(value) => {
            float(text, value.re);
            return float(text, value.im);
        }
        Value::Bytes(bytes) | Value::Void(bytes) => write!(text, "{} ", hex(bytes)),
        Value::Text(value) => write!(text, "{} ", hex(value.as_bytes())),
        Value::DateTime(ticks, _) | Value::TimeDelta(ticks, _) => write!(text, "{} ", ticks.0),
        other => panic!("{other:?} is no leaf"),
    }
    .unwrap();
}

/// A float by its bits; all NaNs are equal.
fn float(text: &mut String, value: f64) {
    if value.is_nan() {
        *text += "nan ";
    } else {
        write!(text, "{:x} ", value.to_bits()).unwrap();
    }
}
