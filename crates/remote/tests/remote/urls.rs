//! URLs, and errors about them.

use std::io;
use std::net::{TcpListener, TcpStream};

use npymap::ErrorKind;
use npymap::source::ReadAt as _;
use npymap_remote::{Remote, RemoteOptions};

use crate::server::Server;
use crate::{array, rows, take};

#[test]
fn urls_that_are_not_supported_are_errors() {
    for (url, text) in [
        (
            "a.npy",
            "the URL 'a.npy': expected s3://bucket/key, gs://, az://, abfs://, http:// or https://",
        ),
        (
            "file:///a\x1b.npy",
            "the URL 'file:///a\\u{1b}.npy': expected s3://bucket/key, gs://, az://, abfs://, http:// or https://",
        ),
        (
            "https://user:secret@example.com/a.npy",
            "the URL 'https://…': expected none with a user or a password, which environment variables are for",
        ),
        (
            "https://token@example.com/a.npy",
            "the URL 'https://…': expected none with a user or a password, which environment variables are for",
        ),
        (
            "https://user:secret@example.com//a.npy?sig=secret",
            "the URL 'https://example.com//a.npy': expected a path without `//`, `.` and `..`, and with UTF-8 if it is percent-encoded",
        ),
        (
            "s3://bucket/a%FF.npy",
            "the URL 's3://bucket/a%FF.npy': expected a path without `//`, `.` and `..`, and with UTF-8 if it is percent-encoded",
        ),
        (
            "https://example.com/a.npy/",
            "the URL 'https://example.com/a.npy/': expected a path that does not end with `/`: without it, it is the path of another object",
        ),
        (
            "https://user:secret@example.com:port/a.npy?sig=secret",
            "the URL 'https://example.com:port/a.npy': expected s3://bucket/key, gs://, az://, abfs://, http:// or https://",
        ),
        (
            "https://example.com/a%2fb.npy",
            "the URL 'https://example.com/a%2fb.npy': expected a path without `%2F`, which the request would have as `/`",
        ),
        (
            "s3://bucket/a.npy?version=1",
            "the URL 's3://bucket/a.npy': expected none with `#`, and `?` only after http:// or https://",
        ),
        (
            "https://example.com/a.npy#1",
            "the URL 'https://example.com/a.npy': expected none with `#`, and `?` only after http:// or https://",
        ),
    ] {
        let error = Remote::open(url).unwrap_err();
        assert_eq!((error.kind(), error.to_string().as_str()), (ErrorKind::InvalidInput, text));
    }
    let unknown = RemoteOptions::new().option("timeout", "soon").open("http://127.0.0.1:1/a");
    let error = unknown.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert!(error.to_string().starts_with("http://127.0.0.1:1/a: "), "{error}");
}

#[test]
fn presigned_urls_are_sent_as_they_are_and_kept_secret() {
    let server = Server::new(rows(1000));
    let query = "?X-Amz-Credential=a%2Fb&X-Amz-Signature=5ec2e7";
    let object = Remote::open(&server.url(&format!("fold%20er/a.npy{query}"))).unwrap();
    assert_eq!(object.url(), server.url("fold%20er/a.npy"));
    let array = array(&object).unwrap();
    take(&array, &[900, 5]).unwrap();
    array.check_unchanged().unwrap();
    let log = server.log();
    // The signature is valid for GET only.
    assert!(log.iter().all(|request| request.method == "GET"), "{log:?}");
    assert!(log.iter().all(|request| request.path == format!("/fold%20er/a.npy{query}")));
    assert_eq!(log.len(), 3);
    server.replace(rows(1001));
    assert_eq!(array.check_unchanged().unwrap_err().kind(), ErrorKind::Changed);
    for (name, kind) in
        [("missing", ErrorKind::NotFound), ("denied", ErrorKind::Io), ("bad", ErrorKind::Io)]
    {
        let error = Remote::open(&server.url(&format!("{name}{query}"))).unwrap_err();
        assert_eq!(error.kind(), kind);
        assert!(!error.to_string().contains("5ec2e7"), "{error}");
    }
}

#[test]
fn servers_that_cannot_be_reached_are_errors_soon() {
    // As long as a connection to a port is open, the system gives it to nobody. The port of
    // a client could be that of the next one, too, which would be connected to itself.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let _client = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let _server = listener.accept().unwrap();
    drop(listener);
    for (url, text) in [
        (format!("http://127.0.0.1:{port}/a.npy"), "refused"),
        // No name has a part of more than 63 characters.
        (format!("http://{}.invalid/a.npy", "a".repeat(64)), ""),
    ] {
        let error = Remote::open(&url).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Io);
        assert_eq!(error.io_error().unwrap().kind(), io::ErrorKind::NotConnected, "{error}");
        let start =
            format!("{url}: cannot read the object: the server cannot be reached, 3 attempts: ");
        assert!(error.to_string().starts_with(&start), "{error}");
        assert!(error.to_string().contains(text), "{error}");
    }
}

#[test]
fn objects_that_cannot_be_read_are_errors() {
    let server = Server::new(rows(1));
    let url = server.url("missing");
    let error = Remote::open(&url).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    let text = "cannot read the object: there is no such object, or no such bucket";
    assert_eq!(error.to_string(), format!("{url}: {text}"));

    for (name, text) in [
        (
            "denied",
            "the store denies access: the credentials don't allow it, or the object doesn't exist",
        ),
        (
            "private",
            "the store asks for credentials: set those of its environment variables, or a header by `RemoteOptions::header`",
        ),
    ] {
        let error = Remote::open(&server.url(name)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Io);
        assert_eq!(error.io_error().unwrap().kind(), io::ErrorKind::PermissionDenied);
        assert!(error.to_string().ends_with(&format!("cannot read the object: {text}")), "{error}");
    }
}

#[test]
fn empty_objects_open_by_presigned_urls() {
    let server = Server::new(Vec::new());
    for query in ["", "?sig=1"] {
        let object = Remote::open(&server.url(&format!("a.npy{query}"))).unwrap();
        assert_eq!(object.nbytes(), 0);
        assert_eq!(object.current_size().unwrap(), 0);
        server.replace(Vec::new());
        assert_eq!(
            npymap::Error::from(object.current_size().unwrap_err()).kind(),
            ErrorKind::Changed
        );
    }
}

#[test]
fn redirects_without_an_end_are_errors() {
    let server = Server::new(rows(1));
    let error = Remote::open(&server.url("loop?sig=5ec2e7")).unwrap_err().to_string();
    assert!(error.ends_with("the server redirects more than 10 times"), "{error}");
    assert!(!error.contains("5ec2e7"), "{error}");
}

#[test]
fn options_do_not_show_credentials() {
    let options = RemoteOptions::new().option("aws_secret_access_key", "5ec2e7").name("a");
    let text = format!("{options:?}");
    assert!(text.contains("aws_secret_access_key") && !text.contains("5ec2e7"), "{text}");
}
