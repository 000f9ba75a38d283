//! Signatures, tokens and keys: no other server gets them, and nothing shows them.

use std::io::Write as _;

use npymap::source::ReadAt as _;
use npymap::{ErrorKind, Result};
use npymap_remote::{Remote, RemoteOptions};

use crate::server::{Action, Server, Tags};
use crate::{array, rows, take};

/// The value of every secret.
const SECRET: &str = "5ec2e7";

/// A server that redirects every request.
fn redirecting(status: u16, to: String) -> Server {
    let to: &'static str = to.leak();
    Server::failing(Vec::new(), Tags::Strong, move |_, _| Action::Redirect(status, to))
}

/// The names of the headers of a request.
fn headers(lines: &[String]) -> Vec<String> {
    lines[1..].iter().map(|line| line.split(':').next().unwrap().to_ascii_lowercase()).collect()
}

#[test]
fn another_server_gets_no_signature_and_no_referer() {
    for status in [301, 302, 303, 307, 308] {
        let other = Server::new(rows(1000));
        let first = redirecting(status, other.url("b.npy?short=1"));
        let url = first.url(&format!("a.npy?X-Amz-Signature={SECRET}"));
        let object = Remote::open(&url).unwrap();
        take(&array(&object).unwrap(), &[900, 5]).unwrap();
        object.current_size().unwrap();
        let requests = other.lines();
        assert!(requests.len() >= 3, "{requests:?}");
        for lines in &requests {
            assert_eq!(lines[0], "GET /b.npy?short=1 HTTP/1.1");
            assert!(!lines.concat().contains(SECRET), "{lines:?}");
            let known = ["accept", "host", "if-match", "range", "user-agent"];
            let names = headers(lines);
            assert!(names.iter().all(|name| known.contains(&name.as_str())), "{names:?}");
            assert!(names.contains(&"range".to_owned()), "{names:?}");
        }
    }
}

/// Opens an object of each store, whose server is at an endpoint, with credentials.
fn with_credentials(endpoint: &str) -> [(&'static str, RemoteOptions); 4] {
    let options = RemoteOptions::new().option("allow_http", "true");
    let s3 = options
        .clone()
        .option("aws_endpoint", endpoint)
        .option("aws_access_key_id", "me")
        .option("aws_secret_access_key", SECRET)
        .option("aws_session_token", SECRET);
    let google =
        options.clone().option("google_base_url", endpoint).option("google_bearer_token", SECRET);
    let azure = options
        .option("azure_storage_account_name", "me")
        .option("azure_storage_endpoint", endpoint);
    [
        ("s3://bucket/a.npy", s3),
        ("gs://bucket/a.npy", google),
        ("az://bucket/a.npy", azure.clone().option("azure_storage_account_key", "NWVjMmU3")),
        ("az://bucket/a.npy", azure.option("azure_storage_token", SECRET)),
    ]
}

#[test]
fn requests_with_credentials_are_not_sent_to_another_server() {
    for status in [302, 307] {
        let other = Server::new(rows(1));
        let first = redirecting(status, other.url(&format!("b.npy?sig={SECRET}")));
        for (url, options) in with_credentials(first.url("").trim_end_matches('/')) {
            let error = options.open(url).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Io);
            let origin = other.url("");
            let origin = origin.trim_end_matches('/');
            let text = format!(
                "{url}: cannot read the object: the server redirects to {origin}, which does not get the credentials of this one: name that server in the URL or as the endpoint if it is the right one"
            );
            assert_eq!(error.to_string(), text);
            assert_eq!(first.log().len(), 1, "it is not repeated");
            assert_eq!(other.log(), []);
        }
    }
}

#[test]
fn requests_with_credentials_are_redirected_within_their_server() {
    let server = Server::failing(rows(100), Tags::Strong, |_, request| {
        let is_moved = request.path.ends_with("/b.npy");
        if is_moved { Action::Answer } else { Action::Redirect(307, "b.npy") }
    });
    for (url, options) in with_credentials(server.url("").trim_end_matches('/')) {
        let object = options.open(url).unwrap();
        take(&array(&object).unwrap(), &[90]).unwrap();
        let requests = server.lines();
        let mut moved = requests.iter().filter(|lines| lines[0].contains("/b.npy")).peekable();
        assert!(moved.peek().is_some());
        for lines in moved {
            let names = headers(lines);
            assert!(names.contains(&"authorization".to_owned()), "{names:?}");
            assert!(!names.contains(&"referer".to_owned()), "{names:?}");
        }
    }
}

#[test]
fn writes_are_not_redirected() {
    let other = Server::new(Vec::new());
    let to: &'static str = other.url("b.npy").leak();
    let first = Server::failing(Vec::new(), Tags::Strong, move |_, request| {
        if request.method == "HEAD" { Action::Status(404) } else { Action::Redirect(307, to) }
    });
    let endpoint = first.url("");
    let options = RemoteOptions::new()
        .option("allow_http", "true")
        .option("aws_endpoint", endpoint.trim_end_matches('/'))
        .option("aws_skip_signature", "true");
    let write = || -> Result<()> {
        let mut writer = options.create("s3://bucket/a.npy")?;
        writer.write_all(b"bytes")?;
        writer.finish()
    };
    let error = write().unwrap_err().to_string();
    let origin = to.trim_end_matches("/b.npy");
    let text = format!(
        "s3://bucket/a.npy: cannot write the object: the server redirects a write to {origin}: name that server in the URL or as the endpoint"
    );
    assert_eq!(error, text);
    assert_eq!(other.log(), []);
}

#[test]
fn options_that_cannot_be_parsed_are_errors() {
    for (key, value) in [("timeout", "soon"), ("pool_max_idle_per_host", "-1"), ("http2_only", "?")]
    {
        let options = RemoteOptions::new().option(key, value);
        let error = options.open("http://127.0.0.1:1/a.npy").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        let text = format!("the option {key}='{value}' cannot be parsed");
        assert!(error.to_string().contains(&text), "{error}");
    }
}

#[test]
fn headers_of_the_caller_are_sent_to_no_other_server() {
    let server = Server::new(rows(1000));
    let options = RemoteOptions::new()
        .header("Authorization", format!("Bearer {SECRET}"))
        .header("X-Own", "1");
    assert!(!format!("{options:?}").contains(SECRET));
    let object = options.open(&server.url("a.npy")).unwrap();
    take(&array(&object).unwrap(), &[900, 5]).unwrap();
    assert!(!format!("{object:?}").contains(SECRET));
    let requests = server.lines();
    assert!(requests.len() >= 2, "{requests:?}");
    for lines in &requests {
        let values = |name| {
            let is_own = |line: &&String| line.to_ascii_lowercase().starts_with(name);
            lines.iter().find(is_own).and_then(|line| line.split_once(": ")).map(|(_, value)| value)
        };
        let own = (values("authorization:"), values("x-own:"));
        assert_eq!(own, (Some(&*format!("Bearer {SECRET}")), Some("1")));
    }
    let first = redirecting(302, server.url("a.npy"));
    let error = options.open(&first.url("a.npy")).unwrap_err();
    assert!(error.to_string().contains("does not get the credentials"), "{error}");
    assert_eq!(server.lines(), Vec::<Vec<String>>::new());
    for (name, value) in [("no name", "x"), ("", "x"), ("x", "a\nb")] {
        let error = options.clone().header(name, value).open(&server.url("a.npy")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        assert!(error.to_string().contains(&format!("the header {name:?}: expected")), "{error}");
    }
}
