//! Edits through views are visible to NumPy and equal NumPy's own.

use std::ops::{Neg, Not};

use npymap::half::f16;
use npymap::num_complex::Complex;
use npymap::{DType, Element, MappedArray, Value, dtype::Kind, element::Ticks, view::DynViewMut};
use serde_json::json;

use crate::oracle::Oracle;
use crate::seeded::seeds;
use crate::support::{directory, open, open_mut, slices};

type Json = serde_json::Value;

/// Makes the same edits as `random_edit` in `views.py`, with elements of type
/// `T`.
fn edit<T: Element>(view: DynViewMut<'_>, edit: &Json, map: impl FnMut(T) -> T) {
    let mut view = view.into_view::<T>().unwrap();
    let source = edit["from"].as_str().map(|path| open(path).unwrap());
    let source = source.as_ref().map(|source: &MappedArray| source.view::<T>().unwrap());
    match edit["do"].as_str().unwrap() {
        "map" => view.map_inplace(map).unwrap(),
        "fill" => view.fill(&source.unwrap().at([])).unwrap(),
        "assign" => view.assign(&source.unwrap()).unwrap(),
        "set" => {
            let at = edit["at"].as_array().unwrap().iter();
            let at: Vec<usize> = at.map(|i| i.as_u64().unwrap() as usize).collect();
            view.set(at.as_slice(), source.unwrap().at([])).unwrap();
        }
        other => assert_eq!(other, "nothing"),
    }
}

/// The result of NumPy's `invert`, `negative` or `logical_not`.
fn mapped(value: Value, dtype: &DType) -> Value {
    match value {
        Value::Bool(value) => Value::Bool(!value),
        Value::Int(value) => Value::Int(!value),
        Value::UInt(value) => Value::UInt(!value & (u64::MAX >> (64 - 8 * dtype.itemsize()))),
        Value::F16(value) => Value::F16(-value),
        Value::F32(value) => Value::F32(-value),
        Value::F64(value) => Value::F64(-value),
        Value::C64(value) => Value::C64(-value),
        Value::C128(value) => Value::C128(-value),
        other => panic!("{other}"),
    }
}

/// Edits, depending on the dtype.
fn typed(view: DynViewMut<'_>, json: &Json) {
    let dtype = view.dtype().clone();
    match (dtype.kind(), dtype.itemsize()) {
        (Kind::Bool, _) => edit::<bool>(view, json, Not::not),
        (Kind::Int, 1) => edit::<i8>(view, json, Not::not),
        (Kind::Int, 2) => edit::<i16>(view, json, Not::not),
        (Kind::Int, 4) => edit::<i32>(view, json, Not::not),
        (Kind::Int, _) => edit::<i64>(view, json, Not::not),
        (Kind::UInt, 1) => edit::<u8>(view, json, Not::not),
        (Kind::UInt, 2) => edit::<u16>(view, json, Not::not),
        (Kind::UInt, 4) => edit::<u32>(view, json, Not::not),
        (Kind::UInt, _) => edit::<u64>(view, json, Not::not),
        (Kind::Float, 2) => edit::<f16>(view, json, Neg::neg),
        (Kind::Float, 4) => edit::<f32>(view, json, Neg::neg),
        (Kind::Float, 8) => edit::<f64>(view, json, Neg::neg),
        (Kind::Complex, 8) => edit::<Complex<f32>>(view, json, Neg::neg),
        (Kind::Complex, 16) => edit::<Complex<f64>>(view, json, Neg::neg),
        (Kind::DateTime | Kind::TimeDelta, _) => edit::<Ticks>(view, json, |ticks| ticks),
        (Kind::Unicode, _) => edit::<String>(view, json, |text| text),
        _ => edit::<Value>(view, json, |value| value),
    }
}

#[test]
fn edits_equal_numpys() {
    let Some(mut numpy) = Oracle::start("views.py") else { return };
    let directory = directory();
    let mut count = 0;
    for seed in seeds(20_240_229, 3 * 250) {
        let answer = numpy.ask(&json!(["edits", directory.path(), seed, 250]));
        for file in answer.as_array().unwrap() {
            let path = file["path"].as_str().unwrap();
            let mut array = open_mut(path).unwrap();
            for (number, json) in file["edits"].as_array().unwrap().iter().enumerate() {
                let names = json["path"].as_array().unwrap();
                let mut view = array.dyn_view_mut().unwrap();
                for name in names {
                    view = view.into_field(name.as_str().unwrap()).unwrap();
                }
                let indices = slices(json["index"].as_str().unwrap(), view.shape()).unwrap();
                let view = view.slice(indices).unwrap();
                let dtype = view.dtype().clone();
                if (number + count) % 2 == 0 {
                    edit::<Value>(view, json, |value| mapped(value, &dtype));
                } else {
                    typed(view, json);
                }
                if number == 1 {
                    array.flush().unwrap();
                }
                count += 1;
            }
            array.close().unwrap();
            let edited = numpy.ask(&json!(["edited", path]));
            assert_eq!(edited["found"], edited["expected"], "{file}");
        }
    }
    println!("edits: {count}");
}
