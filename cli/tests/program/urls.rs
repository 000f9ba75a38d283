//! URLs as arguments. `.ci/remote.py` reads from servers.

#[cfg(not(feature = "remote"))]
use crate::run::npymap;
use crate::run::{copy_penguins, run_err};

#[test]
fn objects_are_not_changed() {
    let directory = tempfile::tempdir().unwrap();
    let penguins = copy_penguins(directory.path());
    let penguins = penguins.to_str().unwrap();
    let url = "s3://bucket/a.npy";
    for arguments in [&["set", url, "0", "1"][..], &["append", url, penguins]] {
        let text = "s3://bucket/a.npy: objects can't be changed, only replaced: write a new one";
        let error = run_err(1, arguments);
        assert!(error.contains(text), "{arguments:?}: {error}");
    }
    let error = run_err(2, ["convert", penguins, url, "--json"]);
    assert!(error.contains("--json is for files: this output is a URL"), "{error}");
    // Nothing is sent.
    let error = run_err(1, ["convert", penguins, "http://127.0.0.1:1/a.npy"]);
    let text = if cfg!(feature = "remote") {
        "web servers can only be read: write to s3://, gs://, az:// or abfs://, or to a file"
    } else {
        "this build of npymap has no support for URLs"
    };
    assert!(error.contains(&format!("http://127.0.0.1:1/a.npy: {text}")), "{error}");
}

#[test]
#[cfg(not(feature = "remote"))]
fn urls_need_the_feature() {
    let text = "this build of npymap has no support for URLs: install it with `cargo install npymap-cli --features remote`";
    for command in ["info", "ls", "head", "stats"] {
        let run = npymap([command, "https://example.com/a.npz"]);
        let message = format!("https://example.com/a.npz: {text}");
        assert!(run.code == Some(1) && run.err.contains(&message), "{command}: {run:?}");
    }
    let error = run_err(1, ["get", "gs://bucket/a.npz[w]", "0"]);
    assert!(error.contains(text), "{error}");
    for url in
        ["s3://b/a.npz?sig=SECRET x[w]", "az://b/a.npz?f[a]=1&sig=SECRET", "http://u:SECRET@b/a"]
    {
        for command in
            [&["info", url][..], &["get", url, "0"], &["diff", url, url], &["set", url, "0", "1"]]
        {
            let error = run_err(if command[0] == "diff" { 2 } else { 1 }, command);
            assert!(error.contains("://b/a") && !error.contains("SECRET"), "{error}");
        }
    }
}

#[test]
fn queries_of_urls_are_secret() {
    for command in ["info", "stats", "head"] {
        let error = run_err(1, [command, "http://127.0.0.1:1/a.npy?sig=5ec2e7"]);
        assert!(error.contains("http://127.0.0.1:1/a.npy: "), "{error}");
        assert!(!error.contains("5ec2e7"), "{error}");
    }
}
