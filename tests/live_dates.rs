//! Dates and differences are converted, compared and read as in NumPy.

use std::cmp::Ordering;

use npymap::{
    DType, Element, Error, MappedArray,
    dtype::{Unit, UnitBase},
    element::{Casting, DateTime64, Ticks, TimeDelta64},
};
use serde_json::{Value as Json, json};

use crate::oracle::Oracle;
use crate::seeded::seeds;

fn unit(text: &Json) -> Unit {
    text.as_str().unwrap().parse().unwrap()
}

fn ticks(json: &Json) -> Ticks {
    json.as_i64().map_or(Ticks::NAT, Ticks)
}

/// Compares a result with NumPy's; values that wrap around in NumPy are errors.
fn equals_numpys(
    ours: Result<(Ticks, Option<Unit>, String), Error>,
    numpys: &Json,
    what: &str,
) -> bool {
    // NumPy limits conversion factors to 56 bits, before it reads the count.
    let overflows = numpys["error"].as_str().is_some_and(|error| error.contains("overflow"));
    match ours {
        Ok(_) if overflows => true,
        Ok((ticks, unit, text)) => {
            let unit = unit.map(|unit| unit.to_string());
            let (ticks, unit) = (json!(ticks.0.to_string()), json!(unit));
            assert_eq!((&ticks, &unit), (&numpys["ticks"], &numpys["unit"]), "{what}");
            // NumPy prints ticks times the multiple, which wraps around.
            if numpys["big"] != true {
                assert_eq!(numpys["text"], text, "{what}");
            }
            true
        }
        Err(error) => {
            let wraps = numpys["error"].is_string() || numpys["big"] == true;
            assert!(wraps, "{what}: {error}, NumPy {numpys}");
            false
        }
    }
}

#[test]
fn dates_are_converted_and_compared_as_in_numpy() {
    let Some(mut numpy) = Oracle::start("records.py") else { return };
    let (mut done, mut refused, mut only_rounded_equal) = (0, 0, 0);
    for seed in seeds(20_240_229, 2000) {
        let cases = numpy.ask(&json!(["dates", seed, 2000]));
        for case in cases.as_array().unwrap() {
            let [first, second] = [0, 1].map(|i| ticks(&case["ticks"][i]));
            let [own, other, third] = [0, 1, 2].map(|i| unit(&case["units"][i]));
            let a = DateTime64 { ticks: first, unit: Some(own) };
            let b = DateTime64 { ticks: second, unit: Some(other) };
            let d = TimeDelta64 { ticks: first, unit: Some(own) };
            assert_eq!(json!(a.to_string()), case["text"], "{case}");
            let wraps = case["wraps"] == true;
            // For some units of differences, NumPy prints only the count.
            for (key, ours) in [
                ("to", converted(a, "M8", own, third).map(date_parts)),
                ("delta_to", converted(d, "m8", own, third).map(delta_parts)),
            ] {
                if wraps {
                    // NumPy's result is wrong here; ours is right, or an error.
                    refused += usize::from(ours.is_err());
                    continue;
                }
                let is_done = equals_numpys(ours, &case[key], &format!("{key} of {case}"));
                *if is_done { &mut done } else { &mut refused } += 1;
            }
            if let (Some(numpys), false) = (case["less"].as_bool(), wraps) {
                let is_less = a.compare(b) == Some(Ordering::Less);
                if is_rounded(own, other) {
                    only_rounded_equal += usize::from(is_less != numpys);
                    assert!(is_less || !numpys, "{case}");
                } else {
                    assert_eq!(is_less, numpys, "{case}");
                }
            }
            if case["parsed"].is_object() {
                equals_numpys(
                    a.to_string().parse().map(date_parts),
                    &case["parsed"],
                    &format!("parsed {case}"),
                );
            }
        }
    }
    println!("dates: {done} done, {refused} refused, {only_rounded_equal} equal if rounded");
    assert!(done > 2000 && refused > 100, "{done} {refused}");
}

#[test]
fn dates_are_read_as_in_numpy() {
    let Some(mut numpy) = Oracle::start("records.py") else { return };
    let (mut read, mut refused) = (0, 0);
    let milliseconds: DType = "<M8[ms]".parse().unwrap();
    for seed in seeds(20_240_229, 3000) {
        let cases = numpy.ask(&json!(["date_texts", seed, 3000]));
        for case in cases.as_array().unwrap() {
            let text = case[0].as_str().unwrap();
            let ours = match npymap::Value::parse(text, &milliseconds) {
                Ok(npymap::Value::DateTime(ticks, _)) => Some(ticks.0.to_string()),
                _ => None,
            };
            let ours = json!(ours);
            assert_eq!(ours, case[1], "{text:?}");
            *if ours.is_null() { &mut refused } else { &mut read } += 1;
        }
    }
    assert!(read > 700 && refused > 700, "{read} {refused}");
}

/// A value of one unit, cast to another.
fn converted<T: Element>(value: T, kind: &str, from: Unit, to: Unit) -> Result<T, Error> {
    let array = |unit: Unit| MappedArray::zeros(&format!("<{kind}[{unit}]").parse()?, &[1]);
    let (mut stored, mut cast) = (array(from)?, array(to)?);
    stored.view_mut()?.set(0, value)?;
    cast.dyn_view_mut()?.assign_as(&stored.dyn_view()?, Casting::SameKind)?;
    Ok(cast.view()?.at(0))
}

/// Whether NumPy compares dates of these units as weeks, for which it rounds months.
fn is_rounded(one: Unit, other: Unit) -> bool {
    let (long, short) = (one.base.min(other.base), one.base.max(other.base));
    long < UnitBase::Week && short == UnitBase::Week
}

/// Months have no common unit with weeks, so NumPy rounds them down, and finds the two
/// dates equal.
#[test]
fn dates_are_compared_without_rounding() {
    let [thursday, june] = [(21, "W"), (5, "M")]
        .map(|(count, unit)| DateTime64 { ticks: Ticks(count), unit: Some(unit.parse().unwrap()) });
    assert_eq!([thursday, june].map(|date| date.to_string()), ["1970-05-28", "1970-06"]);
    assert_eq!(thursday.compare(june), Some(Ordering::Less));
}

fn delta_parts(delta: TimeDelta64) -> (Ticks, Option<Unit>, String) {
    (delta.ticks, delta.unit, delta.to_string())
}

fn date_parts(date: DateTime64) -> (Ticks, Option<Unit>, String) {
    (date.ticks, date.unit, date.to_string())
}

#[cfg(feature = "jiff")]
#[test]
fn dates_convert_to_calendar_dates_and_back() {
    for text in [
        "1969-12-31T23:59:59.999999999",
        "2020-02-29T12:34:56.5",
        "0001-01-01T00:00:00",
        "9999-12-30T01:02:03",
    ] {
        let date: DateTime64 = text.parse().unwrap();
        let civil = date.to_civil().unwrap();
        assert_eq!(civil, text.parse().unwrap(), "{text}");
        assert_eq!(DateTime64::from_civil(civil, date.unit.unwrap()).unwrap(), date);
        let instant = date.to_timestamp().unwrap();
        assert_eq!(
            instant
                .to_string()
                .trim_end_matches('Z')
                .parse::<npymap::jiff::civil::DateTime>()
                .unwrap(),
            civil
        );
        assert_eq!(DateTime64::from_timestamp(instant, date.unit.unwrap()).unwrap(), date);
    }
    let fine = DateTime64 { ticks: Ticks(-1), unit: Some("as".parse().unwrap()) };
    assert_eq!(fine.to_civil().unwrap().to_string(), "1969-12-31T23:59:59.999999999");
    for (text, printed) in [
        ("-9999-01-01T00:00:00", "-009999-01-01T00:00:00"),
        ("9999-12-31T23:59:59.999999", "9999-12-31T23:59:59.999999"),
        ("9999-12-31", "9999-12-31T00:00:00"),
    ] {
        let date: DateTime64 = text.parse().unwrap();
        let civil = date.to_civil().unwrap();
        assert_eq!(civil.to_string(), printed);
        assert_eq!(DateTime64::from_civil(civil, date.unit.unwrap()).unwrap(), date);
        let error = date.to_timestamp().unwrap_err().to_string();
        assert!(error.contains("to 9999-12-30T22:00:00.999999999Z"), "{error}");
    }
    let beyond: DateTime64 = "10000-01-01".parse().unwrap();
    let expected = "10000-01-01: expected a date in the years -9999 to 9999";
    assert_eq!(beyond.to_civil().unwrap_err().to_string(), expected);
    for refused in
        [DateTime64::NAT, DateTime64 { ticks: Ticks(i64::MAX), unit: Some("Y".parse().unwrap()) }]
    {
        assert!(refused.to_civil().is_err(), "{refused}");
    }
    let delta = TimeDelta64 { ticks: Ticks(-3), unit: Some("25s".parse().unwrap()) };
    let duration = delta.to_duration().unwrap();
    assert_eq!(duration.as_secs(), -75);
    assert_eq!(TimeDelta64::from_duration(duration, delta.unit.unwrap()).unwrap(), delta);
    let months = TimeDelta64 { ticks: Ticks(1), unit: Some("M".parse().unwrap()) };
    assert_eq!(
        months.to_duration().unwrap_err().to_string(),
        "1 months: expected a duration that 64 bits can count in seconds"
    );
}
