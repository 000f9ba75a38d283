//! Elements are set to values given as text, as by `npymap set`, and get the same
//! bytes as in NumPy.

use std::fs;

use npymap::{MappedArrayMut, Result, Value};
use serde_json::{Value as Json, json};

use crate::oracle::{Oracle, hex};
use crate::seeded::seeds;
use crate::support::{directory, open_mut, slices};

/// The number of files for each seed; four values are set in each file.
const FILES: u64 = 250;

/// Sets the selected elements, or a field of them.
fn set(array: &mut MappedArrayMut, change: &Json) -> Result<()> {
    let field = change["field"].as_str();
    let dtype = match field {
        Some(field) => array.dyn_view()?.field(field)?.dtype().clone(),
        None => array.dtype().clone(),
    };
    let value = Value::parse(change["text"].as_str().unwrap(), &dtype)?;
    let indices = slices(change["index"].as_str().unwrap(), array.shape())?;
    array.write_fill_slice(indices, field, &value).map(drop)
}

#[test]
fn values_given_as_text_are_set_as_by_numpy() {
    let Some(mut numpy) = Oracle::start("views.py") else { return };
    let directory = directory();
    let (mut done, mut refused, mut wrong) = (0, 0, Vec::new());
    for seed in seeds(20_240_229, 4 * FILES) {
        let answer = numpy.ask(&json!(["sets", directory.path(), seed, FILES]));
        for file in answer.as_array().unwrap() {
            let path = file["path"].as_str().unwrap();
            let mut array = open_mut(path).unwrap();
            for change in file["sets"].as_array().unwrap() {
                if change["skip"] == true {
                    continue;
                }
                match (set(&mut array, change), change["error"].as_str()) {
                    (Ok(()), None) => done += 1,
                    (Err(_), Some(_)) => refused += 1,
                    (ours, numpys) => wrong.push(format!(
                        "{} {change}: {:?}, NumPy {numpys:?}",
                        array.dtype(),
                        ours.map_err(|error| error.to_string())
                    )),
                }
            }
            let dtype = array.dtype().to_string();
            array.close().unwrap();
            if hex(&fs::read(path).unwrap()) != file["after"].as_str().unwrap() {
                wrong.push(format!("{dtype}: {}", file["sets"]));
            }
        }
    }
    println!("sets: {done} done, {refused} refused");
    let shown = wrong.iter().take(10).cloned().collect::<Vec<_>>().join("\n");
    assert!(wrong.is_empty(), "{} wrong:\n{shown}", wrong.len());
    assert!(done > 500 && refused > 20, "{done} {refused}");
}
