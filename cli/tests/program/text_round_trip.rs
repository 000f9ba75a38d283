//! Arrays are the same after they were written as text and read again.

use std::fs;

use crate::run::{path_in, run_ok};

#[test]
fn floats_of_json_are_read_to_the_last_bit() {
    let directory = tempfile::tempdir().unwrap();
    let (text, back) = (path_in(&directory, "a.jsonl"), path_in(&directory, "a.npy"));
    for lines in ["0.014672357242299301\n", "{\"a\":[0.014672357242299301]}\n"] {
        fs::write(&text, lines).unwrap();
        run_ok(["convert", "--overwrite", &text, &back]);
        assert_eq!(run_ok(["get", &back, "--format", "jsonl"]), lines);
    }
}
