//! Views select, transpose and reshape the elements that NumPy's do, on the
//! same files.

use npymap::{Result, view::DynView};
use serde_json::{Value, json};

use crate::oracle::{Oracle, hex};
use crate::support::{directory, open, slices};

const SEED: u32 = 20_240_229;

fn numbers(list: &Value) -> Vec<usize> {
    list.as_array().unwrap().iter().map(|n| n.as_u64().unwrap() as usize).collect()
}

fn strings(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|text| text.as_str().unwrap()).collect()
}

/// Compares a view with NumPy's. Returns it, or `None` if it was an error for
/// both.
fn equals_numpys<'a>(ours: Result<DynView<'a>>, numpys: &Value, what: &str) -> Option<DynView<'a>> {
    match (ours, numpys["error"].as_str()) {
        (Ok(ours), None) => {
            assert_eq!(ours.shape(), numbers(&numpys["shape"]), "{what}");
            let bytes: Vec<u8> = ours.element_bytes().flatten().copied().collect();
            assert_eq!(hex(&bytes), numpys["bytes"].as_str().unwrap(), "{what}");
            Some(ours)
        }
        (Err(_), Some(_)) => None,
        (ours, numpys) => panic!("{what}: {:?}, NumPy: {numpys:?}", ours.map(|view| view.len())),
    }
}

#[test]
fn indices_select_the_same_elements_as_in_numpy() {
    let Some(mut numpy) = Oracle::start("views.py") else { return };
    let directory = directory();
    let (mut selected, mut refused, mut unaligned) = (0, 0, 0);
    for file in numpy.ask(&json!(["indexed", directory.path(), SEED, 200])).as_array().unwrap() {
        let array = open(file["path"].as_str().unwrap()).unwrap();
        unaligned += usize::from(array.data_offset().unwrap() % 8 != 0);
        let view = array.dyn_view().unwrap();
        for case in file["cases"].as_array().unwrap() {
            let text = case["index"].as_str().unwrap();
            let ours = slices(text, view.shape()).and_then(|i| view.slice(i));
            let what = format!("[{text}] of {:?} {:?}", view.dtype(), view.shape());
            match equals_numpys(ours, case, &what) {
                Some(_) => selected += 1,
                None => refused += 1,
            }
        }
    }
    assert!(selected > 600 && refused > 20 && unaligned > 50, "{selected} {refused} {unaligned}");
}

/// Makes the same change as `stepped` in `views.py`.
fn apply_step<'a>(view: &DynView<'a>, step: &Value) -> Result<DynView<'a>> {
    let argument = &step[1];
    match step[0].as_str().unwrap() {
        "slice" => view.slice(slices(argument.as_str().unwrap(), view.shape())?),
        "transpose" => view.permuted_axes(&numbers(argument)),
        "t" => Ok(view.t()),
        "reshape" => view.reshape(&numbers(argument)),
        "broadcast" => view.broadcast(&numbers(argument)),
        "index" => {
            let numbers = numbers(&json!([argument, step[2]]));
            view.index_axis(numbers[0], numbers[1])
        }
        "field" => view.field(&strings(argument).join(".")),
        "fields" => view.fields(&strings(argument)),
        other => panic!("{other}"),
    }
}

#[test]
fn views_of_views_equal_numpys() {
    let Some(mut numpy) = Oracle::start("views.py") else { return };
    let directory = directory();
    let mut counts = std::collections::BTreeMap::new();
    for file in numpy.ask(&json!(["chained", directory.path(), SEED, 400])).as_array().unwrap() {
        let array = open(file["path"].as_str().unwrap()).unwrap();
        let mut view = array.dyn_view().unwrap();
        for case in file["steps"].as_array().unwrap() {
            let step = &case["step"];
            let ours = apply_step(&view, step);
            let what = format!("{step} of {:?} {:?}", view.shape(), view.byte_strides());
            let what = format!("{what} {:?}", view.dtype());
            let (done, refused): &mut (i32, i32) =
                counts.entry(step[0].as_str().unwrap().to_owned()).or_default();
            match equals_numpys(ours, case, &what) {
                Some(ours) => {
                    view = ours;
                    *done += 1;
                }
                None => *refused += 1,
            }
        }
    }
    assert!(counts.len() == 8 && counts.values().all(|(done, _)| *done > 50), "{counts:?}");
    assert!(counts["reshape"].1 > 10 && counts["broadcast"].1 > 3, "{counts:?}");
}
