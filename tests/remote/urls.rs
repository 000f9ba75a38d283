//! URLs, and errors about them.

use std::io;

use npymap::ErrorKind;
use npymap::source::remote::{Remote, RemoteOptions};

use crate::rows;
use crate::server::Server;

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
            "the URL 'https://…': expected none with a password, which environment variables are for",
        ),
        (
            "https://example.com/a.npy?x=1",
            "the URL 'https://example.com/a.npy?x=1': expected none with `?` or `#`, which are not supported",
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
        ("private", "the store asks for credentials: set those of its environment variables"),
    ] {
        let error = Remote::open(&server.url(name)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Io);
        assert_eq!(error.io_error().unwrap().kind(), io::ErrorKind::PermissionDenied);
        assert!(error.to_string().ends_with(&format!("cannot read the object: {text}")), "{error}");
    }
}
