//! URLs as arguments. `.ci/remote.py` reads from servers.

#[cfg(not(feature = "remote"))]
use crate::run::npymap;
use crate::run::{copy_penguins, run_err};

#[test]
fn urls_are_not_written_to() {
    let directory = tempfile::tempdir().unwrap();
    let penguins = copy_penguins(directory.path());
    let penguins = penguins.to_str().unwrap();
    let url = "s3://bucket/a.npy";
    for arguments in [
        &["convert", penguins, url][..],
        &["get", penguins, "-o", url],
        &["create", url, "--shape", "(3,)"],
        &["set", url, "0", "1"],
        &["append", url, penguins],
    ] {
        let text = "s3://bucket/a.npy: URLs can only be read: write a file, and upload it";
        let error = run_err(1, arguments);
        assert!(error.contains(text), "{arguments:?}: {error}");
    }
}

#[test]
#[cfg(not(feature = "remote"))]
fn urls_need_the_feature() {
    let text = "this build of npymap reads no URLs: install it with `cargo install npymap-cli --features remote`";
    for command in ["info", "ls", "head", "stats"] {
        let run = npymap([command, "https://example.com/a.npz"]);
        let message = format!("https://example.com/a.npz: {text}");
        assert!(run.code == Some(1) && run.err.contains(&message), "{command}: {run:?}");
    }
    let error = run_err(1, ["get", "gs://bucket/a.npz[w]", "0"]);
    assert!(error.contains(text), "{error}");
}
