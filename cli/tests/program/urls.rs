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

/// The header goes to the server of the URL, and to no other.
#[test]
#[cfg(feature = "remote")]
fn headers_are_for_one_server() {
    use crate::run::{command, npymap, path_in, run_ok};
    use crate::server::{Action, Server, Tags};

    const SECRET: &str = "Authorization: Bearer 5ec2e7";
    let directory = tempfile::tempdir().unwrap();
    let local = path_in(&directory, "a.npy");
    run_ok(["create", &local, "--shape", "(4, 3)", "--arange"]);
    let bytes = std::fs::read(&local).unwrap();
    let (server, other) = (Server::new(bytes.clone()), Server::new(bytes));
    let [a, b] = [server.url("a.npy"), other.url("b.npy")];
    for words in [
        &["get", &a, "1"][..],
        &["info", &a],
        &["ls", &a],
        &["stats", &a],
        &["diff", &a, &local],
        &["diff", &server.url("b.npy"), &a],
        &["convert", &a, "-"],
    ] {
        let run = command().args(words).args(["-H", SECRET]).output().unwrap();
        assert!(run.status.success(), "{words:?}: {run:?}");
        for lines in server.lines() {
            assert!(lines.iter().any(|line| line.eq_ignore_ascii_case(SECRET)), "{lines:?}");
        }
    }
    let redirecting: &'static str = b.clone().leak();
    let redirecting =
        Server::failing(Vec::new(), Tags::Strong, move |_, _| Action::Redirect(302, redirecting));
    let missing = Server::failing(Vec::new(), Tags::Strong, |_, _| Action::Status(404));
    for words in [
        &["diff", &a, &b][..],
        &["info", &a, &b],
        &["info", &missing.url("x.npy"), &b],
        &["info", &redirecting.url("a.npy")],
    ] {
        let run = npymap(words.iter().chain(&["--http-header", SECRET]));
        assert_ne!(run.code, Some(0), "{words:?}");
        assert!(run.err.contains("server"), "{words:?}: {}", run.err);
        assert!(!run.err.contains("5ec2e7"), "{words:?}: {}", run.err);
        assert_eq!(other.lines().len(), 0, "{words:?}");
    }
    let denied = Server::failing(Vec::new(), Tags::Strong, |_, _| Action::Status(401));
    let error = run_err(1, ["info", &denied.url("a.npy")]);
    assert!(error.ends_with(", or a header by -H\n"), "{error}");
    let error = run_err(1, ["info", &a, "-H", "No Name: 5ec2e7"]);
    assert!(error.contains("the header \"No Name\"") && !error.contains("5ec2e7"), "{error}");
}

/// What is written gets the header, too.
#[test]
#[cfg(feature = "remote")]
fn headers_are_sent_with_outputs() {
    use crate::run::command;
    use crate::server::{Action, Server, Tags};

    const SECRET: &str = "Authorization: Bearer 5ec2e7";
    let store = Server::failing(Vec::new(), Tags::Strong, |_, _| Action::Status(404));
    let run = |words: &[&str]| {
        let mut command = command();
        command.args(words).args(["-H", SECRET]).env("AWS_ENDPOINT", store.url(""));
        command.env("AWS_ALLOW_HTTP", "true").env("AWS_REGION", "us-east-1");
        command.env("AWS_SKIP_SIGNATURE", "true");
        String::from_utf8(command.output().unwrap().stderr).unwrap()
    };
    run(&["create", "s3://bucket/a.npy", "--shape", "3"]);
    let requests = store.lines();
    // Whether there is one, and a new one.
    assert!(requests.len() >= 2, "{requests:?}");
    for lines in requests {
        assert!(lines.iter().any(|line| line.eq_ignore_ascii_case(SECRET)), "{lines:?}");
    }
    let other = Server::new(Vec::new());
    let error = run(&["convert", &other.url("a.npy"), "s3://bucket/a.npy"]);
    assert!(error.contains("for one server, which is s3://bucket: name URLs of one"), "{error}");
    assert_eq!(other.lines().len(), 0);
}

#[test]
fn headers_have_a_name_and_a_value() {
    let error = run_err(2, ["info", "a.npy", "-H", "5ec2e7"]);
    assert_eq!(
        error,
        "error: --http-header: expected 'NAME: VALUE', such as 'Authorization: Bearer TOKEN'\n"
    );
}

#[test]
#[cfg(unix)]
fn urls_of_files_are_outputs_too() {
    use crate::run::{path_in, run_ok};

    let directory = tempfile::tempdir().unwrap();
    let folder = directory.path().join("a folder");
    std::fs::create_dir(&folder).unwrap();
    let url = |name: &str| format!("file://{}", path_in(&folder, name).replace(' ', "%20"));
    let file = |name: &str| path_in(&folder, name);
    run_ok(["create", &url("a.npy"), "--shape", "(4, 3)", "--arange"]);
    let a = file("a.npy");
    for words in [
        &["convert", &a, &url("OUT.npy")][..],
        &["convert", &a, "-o", &url("OUT.npz")],
        &["convert", &a, "--output", &url("OUT.csv")],
        &["get", &a, ":", "-o", &url("OUT.jsonl")],
        &["head", &a, "-o", &url("OUT.npy")],
        &["sample", &a, "-n", "2", "-o", &url("OUT.npy")],
        &["sort", &a, "--by", ":", &url("OUT.npy")],
        &["unique", &a, "-o", &url("OUT.npy")],
        &["shuffle", &a, &url("OUT.npy")],
        &["concat", &a, &a, "-o", &url("OUT.npy")],
        &["show", &a, "-o", &url("OUT.png")],
        &["npz", "pack", &a, "-o", &url("OUT.npz")],
    ] {
        run_ok(words);
        let names = std::fs::read_dir(&folder).unwrap().map(|file| file.unwrap().file_name());
        let names: Vec<_> = names.filter_map(|name| name.into_string().ok()).collect();
        let out = names.iter().find(|name| name.starts_with("OUT.")).expect(words[0]);
        assert!(words.iter().any(|word| word.ends_with(out.as_str())), "{words:?}: {out}");
        std::fs::remove_file(folder.join(out)).unwrap();
    }
    let archive = url("z.npz");
    run_ok(["npz", "pack", &a, "-o", &archive]);
    run_ok(["npz", "add", &archive, &a, "--name", "b"]);
    run_ok(["npz", "mv", &archive, "b", "c"]);
    run_ok(["npz", "verify", &archive]);
    run_ok(["npz", "extract", &archive, "c", "-d", &url("")]);
    run_ok(["npz", "rm", &archive, "c"]);
    run_ok(["npz", "recover", &archive, "-o", &url("r.npz")]);
    run_ok(["set", &url("c.npy"), "0", "7"]);
    run_ok(["append", &url("c.npy"), &a]);
    assert_eq!(run_ok(["get", &file("c.npy"), "::4, 0"]), "[7.0, 0.0]\n");
    assert!(run_ok(["ls", &file("r.npz")]).contains('a'));
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

/// Of a remote array, the header and what is selected is transferred.
#[test]
#[cfg(feature = "remote")]
fn selections_transfer_what_they_select() {
    use crate::run::{is_thorough, path_in, run_ok};
    use crate::server::Server;

    const ROW: u64 = 8 << 10;
    let directory = tempfile::tempdir().unwrap();
    let [local, order, npz] = ["a.npy", "f.npy", "z.npz"].map(|name| path_in(&directory, name));
    run_ok(["create", &local, "--shape", "(1024, 1024)", "--dtype", "<f8", "--arange"]);
    run_ok(["convert", &local, &order, "--order", "F"]);
    run_ok(["npz", "pack", &local, "-o", &npz]);
    let new = path_in(&directory, "new.npy");
    let server = Server::new(std::fs::read(&local).unwrap());
    let archive = Server::new(std::fs::read(&npz).unwrap());
    let fortran = Server::new(std::fs::read(&order).unwrap());
    // The arguments after the file, and how many bytes are selected.
    let commands = [
        ("get", &["0"][..], ROW),
        ("get", &["-1"], ROW),
        ("get", &["-1, 5"], 8),
        ("get", &["[1, 2, 3]"], 3 * ROW),
        ("get", &["[1000, 2, 500, 2]"], 3 * ROW),
        ("get", &["::300"], 4 * ROW),
        ("get", &["::-300"], 4 * ROW),
        ("get", &["500:502, :10"], 2 * ROW),
        ("get", &["-2:", "-o", &new, "--overwrite"], 2 * ROW),
        ("get", &["0", "-1"], 2 * ROW),
        ("head", &["-n", "3"], 3 * ROW),
        ("head", &["-n", "3", "::-100"], 3 * ROW),
        ("tail", &["-n", "3"], 3 * ROW),
        ("tail", &["-n", "3", "--json", ":1000"], 3 * ROW),
        ("sample", &["-n", "10"], 10 * ROW),
        ("sample", &["-n", "10", "--json"], 10 * ROW),
        ("stats", &["-3:"], 3 * ROW),
        ("stats", &["[5, -1]", "--std", "--quantiles"], 2 * ROW),
        ("show", &["-20:"], 20 * ROW),
        ("convert", &[&new, "--overwrite", "--select", "::-500"], 3 * ROW),
        ("info", &[], 0),
    ];
    // The others, too, in thorough runs.
    let step = if is_thorough() { 1 } else { 3 };
    for (number, (command, rest, selected)) in commands.into_iter().enumerate().step_by(step) {
        for (server, member) in [(&server, ""), (&archive, "[a]")] {
            // Members are read by the same code: some of the commands show it.
            if !member.is_empty() && number % 4 != 1 {
                continue;
            }
            let run = |file: &str| {
                let first = [command, file];
                run_ok(first.iter().chain(rest))
                    + &std::fs::read(&new).map_or(0, |b| b.len()).to_string()
            };
            let expected = run(&local).replace(&local, "FILE");
            let file = format!("{}{member}", server.url("a"));
            let found = run(&file).replace(&file, "FILE");
            if !["info", "show", "stats"].contains(&command) {
                assert_eq!(found, expected, "{command} {rest:?}");
            }
            let ranges = server.log().into_iter().filter_map(|request| request.range);
            let sent: u64 = ranges.map(|(start, end)| end - start).sum();
            // The directory of an archive is at its end.
            let facts = if member.is_empty() { 64 << 10 } else { (64 + 256 + 64) << 10 };
            let most = facts + selected + selected / 2;
            assert!(sent <= most, "{command} {rest:?} of {file}: {sent} bytes, expected {most}");
        }
    }
    // In Fortran order, rows have a piece in each column.
    assert_eq!(run_ok(["get", &fortran.url("f"), "3, 1020:"]), run_ok(["get", &local, "3, 1020:"]));
    let ranges = fortran.log().into_iter().filter_map(|request| request.range);
    assert!(ranges.map(|(start, end)| end - start).sum::<u64>() <= 128 << 10);
}

/// What was requested ahead of all members is used for the archives among them too.
#[test]
#[cfg(feature = "remote")]
fn headers_in_tar_files_are_requested_once() {
    use crate::run::{path_in, run_ok};
    use crate::server::Server;

    let directory = tempfile::tempdir().unwrap();
    let [npy, npz, out] = ["a.npy", "z.npz", "o.npz"].map(|name| path_in(&directory, name));
    run_ok(["create", &npy, "--shape", "40000", "--dtype", "<f8"]);
    run_ok(["npz", "pack", &npy, "-o", &npz]);
    let mut builder = tar::Builder::new(Vec::new());
    for (path, name) in [(&npy, "a.npy"), (&npy, "b.npy"), (&npy, "c.npy"), (&npz, "z.npz")] {
        builder.append_path_with_name(path, name).unwrap();
    }
    let bytes = builder.into_inner().unwrap();
    for command in [&["ls"][..], &["convert", &out]] {
        let server = Server::new(bytes.clone());
        let url = server.url("a.tar");
        let [name, rest @ ..] = command else { unreachable!() };
        run_ok([*name, &url].iter().chain(rest));
        let log = server.log();
        let mut starts: Vec<u64> =
            log.iter().filter_map(|request| Some(request.range?.0)).collect();
        starts.sort_unstable();
        assert!(starts.windows(2).all(|two| two[0] < two[1]), "{command:?}: {starts:?}");
    }
}
