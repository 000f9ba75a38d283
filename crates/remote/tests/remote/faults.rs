//! Servers that fail: the right bytes or an error, never wrong bytes.

use std::io;
use std::sync::{Arc, LazyLock, Mutex};
use std::time::{Duration, Instant};

use npymap::{ErrorKind, Result};
use npymap_remote::object_store::http::HttpBuilder;
use npymap_remote::object_store::{BackoffConfig, ClientOptions, RetryConfig, path::Path};
use npymap_remote::{Remote, RemoteOptions, interruptible};

use crate::server::{Action, Server, Tags};
use crate::{array, at_once, rows, take};

/// 1000 rows.
fn file() -> Vec<u8> {
    static FILE: LazyLock<Vec<u8>> = LazyLock::new(|| rows(1000));
    FILE.clone()
}

/// Opens the file of a server with short waits and at most three retries.
fn open(server: &Server) -> Result<Remote> {
    open_within(server, Duration::from_secs(300))
}

/// As `open`; each attempt ends after some time.
fn open_within(server: &Server, timeout: Duration) -> Result<Remote> {
    open_named(server, "a.npy", timeout)
}

fn open_named(server: &Server, name: &str, timeout: Duration) -> Result<Remote> {
    let options = RemoteOptions::new();
    let client = ClientOptions::new().with_allow_http(true).with_timeout(timeout);
    let backoff = BackoffConfig {
        init_backoff: Duration::from_millis(1),
        max_backoff: Duration::from_millis(5),
        ..BackoffConfig::default()
    };
    let retry = RetryConfig { backoff, max_retries: 3, ..RetryConfig::default() };
    let url = server.url("");
    let builder = HttpBuilder::new().with_url(url.trim_end_matches('/'));
    let store = builder.with_client_options(client).with_retry(retry).build().unwrap();
    options.open_object(Arc::new(store), Path::from(name))
}

/// Opens the file and takes two rows by two requests.
fn read(server: &Server) -> Result<()> {
    take_two(&open(server)?)
}

fn take_two(object: &Remote) -> Result<()> {
    take(&array(object)?, &[100, 900])
}

/// A server that fails for some of the requests.
fn failing(action: Action, tags: Tags, numbers: &'static [usize]) -> Server {
    Server::failing(
        file(),
        tags,
        move |number, _| {
            if numbers.contains(&number) { action } else { Action::Answer }
        },
    )
}

const ALL: [Tags; 4] = [Tags::Strong, Tags::Weak, Tags::None, Tags::Ignored];

#[test]
fn errors_of_the_server_are_retried() {
    let actions = [500, 503, 429].map(Action::Status).into_iter().chain([Action::Close]);
    at_once(actions, |action| {
        for tags in ALL {
            for numbers in [&[0][..], &[0, 1, 2], &[1, 2], &[2, 3, 4]] {
                read(&failing(action, tags, numbers)).unwrap();
            }
        }
    });
}

/// With stores that the caller made, `object_store` allocates as much memory as such a
/// page claims to have.
#[test]
fn pages_of_errors_are_read_in_part_and_keep_the_status() {
    for (status, kind) in
        [(404, ErrorKind::NotFound), (400, ErrorKind::Io), (412, ErrorKind::Changed)]
    {
        for action in [Action::Endless(status), Action::Latin(status), Action::Cut(status)] {
            let server = failing(action, Tags::Strong, &[1, 2]);
            let object = RemoteOptions::new().open(&server.url("a.npy")).unwrap();
            let error = take_two(&object).unwrap_err();
            assert_eq!(error.kind(), kind, "{action:?}: {error}");
            assert!(error.to_string().len() < 1000, "{action:?}: {error}");
            // The client closes the connection.
            assert!(server.sent() < 64 << 20, "{}", server.sent());
        }
    }
}

#[test]
fn the_version_is_checked_on_servers_whose_answers_to_head_do_not_have_it() {
    let heads = [Action::Status(403), Action::Status(405), Action::Untagged];
    for head in heads {
        let server = Server::failing(file(), Tags::Strong, move |_, request| {
            if request.method == "GET" { Action::Answer } else { head }
        });
        let array = array(&open(&server).unwrap()).unwrap();
        array.check_unchanged().unwrap();
        server.replace(file());
        assert_eq!(array.check_unchanged().unwrap_err().kind(), ErrorKind::Changed);
    }
}

#[test]
fn bodies_in_chunks_are_read() {
    for tags in ALL {
        let server = Server::failing(file(), tags, |_, _| Action::Chunked);
        let object = RemoteOptions::new().open(&server.url("a.npy")).unwrap();
        take_two(&object).unwrap();
        array(&object).unwrap().check_unchanged().unwrap();
        server.replace(file());
        assert_eq!(
            array(&object).unwrap().check_unchanged().unwrap_err().kind(),
            ErrorKind::Changed
        );
    }
    let server = Server::failing(file(), Tags::Strong, |_, _| Action::WholeChunked);
    let error = RemoteOptions::new().open(&server.url("a.npy")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
}

#[test]
fn slow_answers_are_waited_for_and_none_time_out() {
    let late = || read(&failing(Action::Late(300), Tags::Strong, &[0, 1])).unwrap();
    let none = || {
        let server = Server::failing(file(), Tags::Strong, |_, _| Action::Nothing);
        let error = open_within(&server, Duration::from_millis(200)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Io);
        assert_eq!(error.io_error().unwrap().kind(), io::ErrorKind::TimedOut, "{error}");
    };
    // A request that is repeated: the others, with three retries, have seconds on a busy machine.
    let repeated = || {
        let server = failing(Action::Nothing, Tags::Strong, &[1]);
        take_two(&open_within(&server, Duration::from_secs(2)).unwrap()).unwrap();
    };
    let checks: [fn(); 3] = [late, none, repeated];
    at_once(checks, |check| check());
}

#[test]
fn requests_and_reads_have_limits() {
    let (short, long) = (Duration::from_millis(300), Duration::from_secs(300));
    let text = "cannot get an answer: the request took more than 300ms: allow more by NPYMAP_REQUEST_TIMEOUT or `RemoteOptions::request_timeout`";
    let options = RemoteOptions::new().request_timeout(short).read_timeout(long);
    let fails = |(action, first)| {
        let server = Server::failing(file(), Tags::Strong, move |number, _| {
            if number < first { Action::Answer } else { action }
        });
        let start = Instant::now();
        let error = match options.open(&server.url("a.npy")) {
            Err(error) => error,
            Ok(object) => {
                let array = array(&object).unwrap();
                // The answer to HEAD has no body that could be late.
                if action != Action::Trickle {
                    let error = array.check_unchanged().unwrap_err();
                    assert!(error.to_string().ends_with(text), "{action:?}: {error}");
                }
                take(&array, &[100]).unwrap_err()
            }
        };
        assert_eq!(error.io_error().unwrap().kind(), io::ErrorKind::TimedOut, "{action:?}");
        assert!(error.to_string().ends_with(text), "{action:?}: {error}");
        assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
    };
    // It fails at once, or after it was opened.
    let actions = [Action::Nothing, Action::Trickle, Action::Status(503)];
    let cases = actions.into_iter().flat_map(|action| [(action, 0), (action, 1)]);
    // A request in which nothing arrives for a while is repeated.
    let repeats = || {
        let options = RemoteOptions::new().read_timeout(Duration::from_millis(500));
        let server = failing(Action::Nothing, Tags::Strong, &[0, 2]);
        let start = Instant::now();
        take_two(&options.open(&server.url("a.npy")).unwrap()).unwrap();
        assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
    };
    std::thread::scope(|scope| {
        scope.spawn(repeats);
        at_once(cases, fails);
    });
    // A write.
    let server = Server::failing(Vec::new(), Tags::Strong, |_, request| {
        if request.method == "HEAD" { Action::Status(404) } else { Action::Nothing }
    });
    let options = RemoteOptions::new()
        .request_timeout(short)
        .option("allow_http", "true")
        .option("aws_endpoint", server.url("").trim_end_matches('/'))
        .option("aws_skip_signature", "true");
    let error = options.create("s3://bucket/a.npy").unwrap().finish().unwrap_err();
    assert_eq!(error.to_string(), format!("s3://bucket/a.npy: {text}"));
}

#[test]
fn waits_can_be_interrupted() {
    // Only the first request is answered.
    let server = Server::failing(file(), Tags::Strong, |number, _| {
        if number == 0 { Action::Answer } else { Action::Nothing }
    });
    let object = open(&server).unwrap();
    let numbers = array(&object).unwrap();
    let error = interruptible(|| true, || take(&numbers, &[100, 900])).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io);
    let text = "cannot get an answer: the wait for the server was interrupted";
    assert!(error.to_string().ends_with(text), "{error}");
    let error = interruptible(|| true, || open(&server)).unwrap_err();
    assert!(error.to_string().ends_with(text), "{error}");
    // The check belongs to the calls and the thread it was made for.
    let others = failing(Action::Late(200), Tags::Strong, &[0, 1]);
    interruptible(|| false, || read(&others)).unwrap();
    interruptible(|| true, || std::thread::scope(|s| s.spawn(|| read(&others)).join().unwrap()))
        .unwrap();
    interruptible(|| true, || interruptible(|| false, || read(&others))).unwrap();
    read(&others).unwrap();
    // Also when all answers come soon.
    let quick = failing(Action::Answer, Tags::Strong, &[]);
    assert!(interruptible(|| true, || read(&quick)).is_err());
}

#[test]
fn errors_that_stay_are_reported() {
    for action in [Action::Status(500), Action::Status(429), Action::Close] {
        let server = Server::failing(file(), Tags::Strong, move |_, _| action);
        let error = open(&server).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Io);
        let text = error.to_string();
        assert!(text.starts_with("HttpStore/a.npy: cannot read the object: "), "{text}");
        assert!(!text.contains('\x1b') && text.len() < 600, "{text}");
        assert_eq!(server.log().len(), 4);
        // The name does not tell what the error is.
        for name in ["416.npy", "Wanted range starting at.npy", "non-partial response.npy"] {
            let error = open_named(&server, name, Duration::from_secs(300)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Io, "{error}");
            assert_eq!(server.log().len(), 4);
        }
        let server = Server::failing(file(), Tags::Strong, move |number, _| {
            if number == 0 { Action::Answer } else { action }
        });
        assert_eq!(read(&server).unwrap_err().kind(), ErrorKind::Io);
    }
}

#[test]
fn bodies_that_are_cut_are_requested_again_or_errors() {
    // Each attempt gets half, with a tag half of the rest.
    let always = &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12][..];
    let cases = [&[0][..], &[1], &[1, 2], &[2, 3], always];
    at_once(ALL.into_iter().flat_map(|tags| cases.map(|numbers| (tags, numbers))), |case| {
        let (tags, numbers) = case;
        let result = read(&failing(Action::Half, tags, numbers));
        if numbers == always {
            assert_eq!(result.unwrap_err().kind(), ErrorKind::Io);
        } else {
            result.unwrap();
        }
    });
}

#[test]
fn answers_of_the_wrong_length_are_errors() {
    for (action, text) in [
        (Action::Less, "the store sent 2048 bytes for a range of 4096"),
        (Action::More, "the store sent more bytes for a range of 4096"),
        (Action::Shifted, "Requested 409728..413824, got 409729..413825"),
    ] {
        for tags in ALL {
            let server = failing(action, tags, &[1, 2]);
            let error = read(&server).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Io);
            let text = text.replace("Requested 409728..413824, got 409729..413825", "Requested ");
            assert!(error.to_string().contains(&text), "{error}");
        }
    }
    for action in [Action::Less, Action::More, Action::Shifted] {
        let error = read(&failing(action, Tags::Strong, &[0])).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Io, "{error}");
    }
}

#[test]
fn servers_without_ranges_are_unsupported() {
    for numbers in [&[0][..], &[1, 2]] {
        let error = read(&failing(Action::Whole, Tags::Strong, numbers)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert_eq!(
            error.message().to_string(),
            "the server sends whole files only: download it, or use a server that supports ranges"
        );
    }
}

#[test]
fn whole_objects_are_downloaded_on_request() {
    let len = u64::try_from(file().len()).unwrap();
    for tags in ALL {
        let server = Server::failing(file(), tags, |_, _| Action::Whole);
        let object = RemoteOptions::new().whole(len).open(&server.url("a.npy")).unwrap();
        take_two(&object).unwrap();
        assert_eq!(array(&object).unwrap().read().unwrap().shape()[0], 1000);
        // A range, which the server ignores, and the whole object.
        assert_eq!(server.lines().len(), 2);
        let error = RemoteOptions::new().whole(len - 1).open(&server.url("a.npy")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
    }
    let server = Server::failing(file(), Tags::Strong, |_, _| Action::WholeChunked);
    RemoteOptions::new().whole(len).open(&server.url("a.npy")).unwrap_err();
    let server = Server::failing(file(), Tags::Strong, |_, _| Action::Answer);
    take_two(&RemoteOptions::new().whole(len).open(&server.url("a.npy")).unwrap()).unwrap();
    assert_eq!(server.lines().len(), 3);
}

#[test]
fn objects_that_are_replaced_are_errors() {
    let mut other = file();
    let last = other.len() - 900 * 1024;
    other[last..].fill(7);
    let mut longer = other.clone();
    longer.push(0);
    let (shorter, shortest) = (other[..other.len() - 1].to_vec(), other[..100].to_vec());
    for tags in ALL {
        for new in [&other, &longer, &shorter, &shortest, &Vec::new()] {
            let server = Server::failing(file(), tags, |_, _| Action::Answer);
            let object = open(&server).unwrap();
            let array = array(&object).unwrap();
            take(&array, &[100]).unwrap();
            array.check_unchanged().unwrap();
            server.replace(new.clone());
            for result in
                [take(&array, &[900, 100]), array.check_unchanged(), array.read().map(drop)]
            {
                let error = result.unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Changed);
                assert_eq!(
                    error.to_string(),
                    "HttpStore/a.npy: was replaced by another object since it was opened: open it again"
                );
            }
            // The new object is read when it is opened again.
            assert_eq!(open(&server).unwrap().nbytes(), u64::try_from(new.len()).unwrap());
        }
    }
}

#[test]
fn an_object_that_is_replaced_between_requests_of_a_batch_is_an_error() {
    for tags in ALL {
        let server = Arc::new(Mutex::new(None::<Server>));
        let replaced = Arc::clone(&server);
        let started = Server::failing(file(), tags, move |number, _| {
            if number == 3 {
                let server = replaced.lock().unwrap();
                server.as_ref().unwrap().replace(vec![7; 1000 * 4096 + 128]);
            }
            Action::Answer
        });
        let object = open(&started).unwrap();
        *server.lock().unwrap() = Some(started);
        let array = array(&object).unwrap();
        let indices: Vec<_> = (0..20).map(|i| 50 * i).collect();
        let error = take(&array, &indices).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Changed);
    }
}
