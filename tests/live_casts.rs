//! The same casts are allowed as in NumPy, with the same results.

use npymap::view::DynView;
use npymap::{
    DType, MappedArray, Order, RowSource as _, Value, dtype::Kind, element::Casting, layout::Layout,
};
use serde_json::json;

use crate::oracle::{Oracle, hex};
use crate::seeded::seeds;
use crate::support::{directory, open};

const SEED: u64 = 20_240_229;

const CASTINGS: [Casting; 5] =
    [Casting::No, Casting::Equiv, Casting::Safe, Casting::SameKind, Casting::Unsafe];

#[test]
fn casts_are_allowed_as_in_numpy() {
    let Some(mut numpy) = Oracle::start("records.py") else { return };
    let cases = numpy.ask(&json!(["can_casts", SEED, 1500]));
    let (mut wrong, mut allowed) = (Vec::new(), 0);
    for case in cases.as_array().unwrap() {
        let [from, to] = ["from", "to"].map(|key| case[key].as_str().unwrap());
        let (Ok(from), Ok(to)) = (from.parse::<DType>(), to.parse::<DType>()) else { continue };
        let ours = json!(CASTINGS.map(|casting| from.can_cast(&to, casting)));
        if ours != case["can"] {
            wrong.push(format!("{from} to {to}: {ours}, NumPy {}", case["can"]));
        }
        allowed += usize::from(case["can"][3] == true);
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert!(allowed > 500, "{allowed}");
}

#[test]
fn casts_equal_numpys() {
    let Some(mut numpy) = Oracle::start("records.py") else { return };
    let directory = directory();
    let (mut wrong, mut done, mut refused) = (Vec::new(), 0, 0);
    for seed in seeds(SEED, 1800) {
        let cases = numpy.ask(&json!(["casts", directory.path(), seed, 1800]));
        for case in cases.as_array().unwrap() {
            let from = open(case["path"].as_str().unwrap()).unwrap();
            let casting: Casting = case["casting"].as_str().unwrap().parse().unwrap();
            let to: DType = case["to"].as_str().unwrap().parse().unwrap();
            let mut ours = MappedArray::zeros(&to, from.shape()).unwrap();
            let mut view = ours.dyn_view_mut().unwrap();
            let result = view.assign_as(&from.dyn_view().unwrap(), casting);
            let bytes: Vec<u8> = view.as_view().element_bytes().flatten().copied().collect();
            let what = format!("{} to {to}, {casting}", from.dtype());
            check_rows(&from, &to, casting, result.is_ok().then_some(&*bytes));
            match (result, case["error"].as_str()) {
                (Ok(()), None) if hex(&bytes) == case["bytes"].as_str().unwrap() => done += 1,
                (Ok(()), None) => {
                    wrong.push(format!("{what}: {} is {}", hex(&bytes), case["bytes"]));
                }
                (Err(_), Some(_)) => refused += 1,
                // NumPy's dates wrap around.
                (Err(error), None) if is_date(&to) && error.to_string().contains(" can hold") => {
                    refused += 1;
                }
                (Err(error), None) => wrong.push(format!("{what}: {error}")),
                (Ok(()), Some(error)) => wrong.push(format!("{what}: NumPy {error}")),
            }
        }
    }
    println!("casts: {done} done, {refused} refused");
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert!(done > 700 && refused > 200, "{done} {refused}");
}

/// Casts an element of dtype `U` and prints the result, or the error.
fn cast_text(points: &[u32], to: &str) -> String {
    let bytes: Vec<u8> = points.iter().flat_map(|point| point.to_le_bytes()).collect();
    let dtype = format!("<U{}", points.len()).parse().unwrap();
    let layout = Layout::new(dtype, &[], Order::C, 0).unwrap();
    let mut cast = MappedArray::zeros(&to.parse().unwrap(), &[]).unwrap();
    let from = DynView::from_bytes(&bytes, &layout).unwrap();
    match cast.dyn_view_mut().unwrap().assign_as(&from, Casting::Unsafe) {
        Ok(()) => cast.dyn_view().unwrap().at([]).to_string(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn text_is_cast_as_in_numpy() {
    let not_a_date = "`2020-2-9`: expected a date that the unit can represent, such as 2020-02-29T12:00, or NaT, for '<M8[s]'";
    for (text, to, expected) in [
        // Rounded to a double first.
        ("1.0000000596046448", "<f4", "1.0"),
        ("1.0000001", "<f4", "1.0000001"),
        ("2020-02-09T01:02:03", "<M8[s]", "2020-02-09T01:02:03"),
        ("-0", "|u1", "0"),
        ("2020-2-9", "<M8[s]", not_a_date),
        (
            "'2020-02-09'",
            "<M8[s]",
            "''2020-02-09'': expected valid Unicode without quotes, for '<M8[s]'",
        ),
    ] {
        let points: Vec<u32> = text.chars().map(u32::from).collect();
        assert_eq!(cast_text(&points, to), expected, "{text}");
    }
    // Not 12.
    let points = [0x31, 0xd800, 0x32];
    for (to, name) in [("<i8", "'<i8'"), ("<f4", "'<f4'")] {
        let expected = format!("'1\u{fffd}2': expected valid Unicode without quotes, for {name}");
        assert_eq!(cast_text(&points, to), expected);
    }
}

#[test]
fn dates_are_not_cut() {
    for (date, to, expected) in [
        (
            "2020-02-29",
            "<U9",
            Err("2020-02-29: expected text of at least 10 characters, not '<U9'"),
        ),
        ("2020-02-29", "|S10", Ok("b'2020-02-29'")),
        ("NaT", "<U3", Ok("NaT")),
        ("NaT", "|S2", Err("NaT: expected text of at least 3 characters, not '|S2'")),
    ] {
        let days: DType = "<M8[D]".parse().unwrap();
        let mut from = MappedArray::zeros(&days, &[]).unwrap();
        from.dyn_view_mut().unwrap().fill(&Value::parse(date, &days).unwrap()).unwrap();
        for casting in [Casting::Unsafe, Casting::SameValue] {
            let mut cast = MappedArray::zeros(&to.parse().unwrap(), &[]).unwrap();
            let done = cast.dyn_view_mut().unwrap().assign_as(&from.dyn_view().unwrap(), casting);
            let found = done.map(|()| cast.dyn_view().unwrap().at([]).to_string());
            let found = found.map_err(|error| error.to_string());
            assert_eq!(found.as_deref().map_err(String::as_str), expected, "{date} {to}");
        }
    }
}

fn is_date(dtype: &DType) -> bool {
    match dtype.kind() {
        Kind::DateTime | Kind::TimeDelta => true,
        Kind::Struct => dtype.fields().iter().any(|field| is_date(&field.dtype)),
        _ => false,
    }
}

/// Checks that rows are cast as the whole array, to `expected` if they can be.
fn check_rows(array: &MappedArray, to: &DType, casting: Casting, expected: Option<&[u8]>) {
    let Ok(rows) = array.rows() else { return };
    let mut out = vec![0; array.len() * to.itemsize()];
    let all: Vec<usize> = (0..rows.row_count()).collect();
    let taken = rows.take_bytes_as(&all, &mut out, to, casting);
    let what = format!("rows {} to {to}, {casting}", array.dtype());
    match expected {
        Some(expected) => {
            assert_eq!(taken.map(|()| hex(&out)).expect(&what), hex(expected), "{what}");
        }
        None => assert!(taken.is_err(), "{what}"),
    }
}

#[test]
fn statistics_equal_numpys() {
    let Some(mut numpy) = Oracle::start("records.py") else { return };
    let directory = directory();
    for case in numpy.ask(&json!(["statistics", directory.path(), SEED, 200])).as_array().unwrap() {
        let array = open(case["path"].as_str().unwrap()).unwrap();
        let dtype = array.dtype().clone();
        npymap::with_type!(dtype, real T => {
            let view = array.view::<T>().unwrap();
            let stats = view.stats();
            let [min, max, sum] = ["min", "max", "sum"]
                .map(|key| case[key].as_str().map(|text| text.parse::<f64>().unwrap()));
            let counts = json!([stats.count, stats.nan, stats.infinite]);
            assert_eq!(counts, json!([case["count"], case["nan"], case["infinite"]]), "{case}");
            let ends = [stats.min, stats.max].map(|end| end.map(npymap::element::Real::to_f64));
            assert_eq!(ends, [min, max], "{case}");
            let (sum, scale) = (sum.unwrap(), case["scale"].as_f64().unwrap());
            assert!(is_near(sum, scale, stats.sum), "{} {case}", stats.sum);
            if stats.nan == 0 {
                assert!(is_near(sum, scale, view.sum()), "{} {case}", view.sum());
            } else {
                assert!(view.sum().is_nan());
            }
        }, _ => unreachable!());
    }
}

fn is_near(sum: f64, scale: f64, ours: f64) -> bool {
    (ours.is_nan() && sum.is_nan())
        || (ours.is_infinite() && ours.total_cmp(&sum).is_eq())
        || (ours - sum).abs() <= 1e-15 * scale
}

#[test]
fn a_sum_of_many_small_floats_does_not_stick() {
    let mut ones = MappedArray::zeros(&DType::of::<f32>(), &[20_000_000]).unwrap();
    ones.as_slice_mut::<f32>().unwrap().fill(1.0);
    assert!((ones.view::<f32>().unwrap().sum() - 2e7).abs() < 0.5);
}
