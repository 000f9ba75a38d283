//! `demo` runs on any system and leaves no files.

#[cfg(target_pointer_width = "64")]
use serde_json::Value;

use crate::run::npymap;
#[cfg(target_pointer_width = "64")]
use crate::run::run_ok;

#[cfg(target_pointer_width = "64")]
#[test]
fn it_reports_time_and_memory_of_each_step() {
    let directory = tempfile::tempdir().unwrap();
    let text = directory.path().to_str().unwrap();
    let out = run_ok(["demo", "--json", "--directory", text]);
    let steps: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(steps.len(), 10);
    for step in &steps {
        assert!(step["seconds"].is_f64() && step["step"].is_string(), "{step}");
        #[cfg(target_os = "linux")]
        {
            let [memory, disk] = ["memory", "disk"].map(|key| step[key].as_u64().unwrap());
            assert!(memory < 2 << 30 && disk <= 1 << 30, "{step}");
        }
    }
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    let words = run_ok(["demo", "--size", "1", "--directory", text]);
    assert!(words.starts_with(&format!("An array of 1 GiB in {text}\n\n step")), "{words}");
}

#[test]
fn it_says_where_it_can_not_run() {
    let output = npymap(["demo", "--directory", "/nonexistent"]);
    assert_eq!((output.code, output.out.as_str()), (Some(1), ""));
    assert!(output.err.starts_with("error: /nonexistent: cannot "), "{}", output.err);
    for size in ["0", "-1", "x"] {
        assert_eq!(npymap(["demo", "--size", size]).code, Some(2), "{size}");
    }
}
