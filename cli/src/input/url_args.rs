//! Options of all commands about URLs.

use std::path::Path;

use clap::Args;

use crate::input::error::CliError;

/// How URLs are read and written.
#[derive(Args)]
#[command(next_help_heading = "URLs")]
pub(crate) struct UrlArgs {
    /// Send a header with each request, as in 'Authorization: Bearer TOKEN'.
    /// Only the server of the URL gets it, so all URLs must be of one server
    #[arg(short = 'H', long, global = true, value_name = "HEADER")]
    http_header: Vec<String>,
}

// The value may be secret.
const EXPECTED: &str = "expected 'NAME: VALUE', such as 'Authorization: Bearer TOKEN'";

impl UrlArgs {
    /// The headers, as names and values.
    pub(crate) fn headers(&self) -> Result<Vec<(String, String)>, CliError> {
        let headers = self.http_header.iter().map(|header| {
            let (name, value) = header.split_once(':')?;
            Some((name.trim().to_owned(), value.trim().to_owned()))
        });
        let headers = headers.collect::<Option<_>>();
        headers.ok_or_else(|| CliError::usage(Path::new("--http-header"), EXPECTED))
    }
}
