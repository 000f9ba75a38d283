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

/// What scripts and logs keep has no signature: neither text nor JSON.
#[test]
#[cfg(feature = "remote")]
fn queries_of_urls_are_not_printed() {
    use crate::run::{npymap, path_in, run_ok};
    use crate::server::Server;

    let directory = tempfile::tempdir().unwrap();
    let penguins = copy_penguins(directory.path());
    let [npz, new] = ["a.npz", "new.npz"].map(|name| path_in(&directory, name));
    run_ok(["npz", "pack", penguins.to_str().unwrap(), "-o", &npz]);
    let other = path_in(&directory, "other.npy");
    run_ok(["create", &other, "--shape", "(344, 7)"]);
    let array = Server::new(std::fs::read(&penguins).unwrap());
    let (archive, damaged) =
        (Server::new(std::fs::read(&npz).unwrap()), Server::new(b"\x93NUMPY\x01\0".to_vec()));
    let url = |server: &Server| server.url("a.npy?X-Amz-Signature=5ec2e7");
    let (array, archive, damaged) = (url(&array), url(&archive), url(&damaged));
    let to = directory.path().to_str().unwrap();
    for command in [
        &["info", &array][..],
        &["info", &archive],
        &["info", &array, &archive],
        &["info", "--header", &array],
        &["info", "--digest", &array],
        &["info", &damaged],
        &["ls", &array],
        &["ls", &archive, &damaged],
        &["ls", "-r", &archive],
        &["stats", &array],
        &["stats", &array, &archive],
        &["info", &array, "--raw", "u1"],
        &["head", &array],
        &["tail", &array],
        &["sample", &array],
        &["show", &array],
        &["diff", &array, &other],
        &["diff", &archive, &other],
        &["diff", &other, &archive],
        &["npz", "verify", &archive],
        &["npz", "verify", &damaged],
        &["npz", "extract", &archive, "-d", to, "--overwrite"],
        &["npz", "recover", &archive, "-o", &new, "--overwrite"],
    ] {
        for json in [&[][..], &["--json"]] {
            let run = npymap(command.iter().chain(json));
            assert!(!format!("{run:?}").contains("5ec2e7"), "{command:?} {json:?}: {run:?}");
            // Some have no --json.
            let is_known = !json.is_empty() || !run.err.contains("--help");
            assert!(is_known, "{command:?}: {run:?}");
        }
    }
    let line = run_ok(["info", "--json", &array]);
    assert!(line.starts_with("{\"path\":\"http://127.0.0.1:"), "{line}");
    assert!(line.contains("/a.npy\",\"member\":null,"), "{line}");
}

#[test]
#[cfg(feature = "remote")]
fn waits_for_servers_are_limited_by_the_environment() {
    use std::time::{Duration, Instant};

    use crate::run::command;
    use crate::server::{Action, Server, Tags};

    let silent = Server::failing(Vec::new(), Tags::Strong, |_, _| Action::Nothing);
    let url = silent.url("a.npy");
    for (variable, value, text) in [
        (
            "NPYMAP_REQUEST_TIMEOUT",
            "300ms",
            "cannot get an answer: the request took more than 300ms: allow more by NPYMAP_REQUEST_TIMEOUT\n",
        ),
        ("NPYMAP_READ_TIMEOUT", "200 ms", "the server cannot be reached, 3 attempts: "),
        (
            "NPYMAP_READ_TIMEOUT",
            "soon",
            "NPYMAP_READ_TIMEOUT='soon': expected a duration, such as 90s or 10min\n",
        ),
    ] {
        let start = Instant::now();
        let run = command().args(["info", &url]).env(variable, value).output().unwrap();
        assert_eq!(run.status.code(), Some(1));
        let error = String::from_utf8(run.stderr).unwrap();
        assert!(error.contains(text), "{error}");
        assert!(start.elapsed() < Duration::from_secs(30), "{:?}", start.elapsed());
    }
}

#[test]
#[cfg(feature = "remote")]
fn a_cache_that_is_a_file_is_an_error_about_the_cache() {
    use crate::run::command;
    use crate::server::Server;

    let directory = tempfile::tempdir().unwrap();
    let penguins = copy_penguins(directory.path());
    let server = Server::new(std::fs::read(&penguins).unwrap());
    let run = |cache: &std::path::Path| {
        let info = ["info", &server.url("a.npy")];
        command().args(info).env("NPYMAP_CACHE", cache).output().unwrap()
    };
    let failed = run(&penguins);
    assert_eq!(failed.status.code(), Some(1));
    let error = String::from_utf8(failed.stderr).unwrap();
    let text = format!(
        "NPYMAP_CACHE='{}': is a file: the cache needs a directory, which is created if there is none\n",
        penguins.display()
    );
    assert!(error.ends_with(&text), "{error}");
    assert_eq!(server.log(), []);
    assert!(run(&directory.path().join("new")).status.success());
}
