//! Reads remote arrays for `benches/remote.py`, or delays connections to a server.
//!
//! `remote proxy PORT SERVER_PORT DELAY_MS BYTES_PER_SECOND` runs until it is killed.
//! `remote read` reads commands from its input, one a line, and answers each with one
//! line: the seconds that it took, and what it read.

mod proxy;
mod reads;

use std::error::Error;

/// The errors are those of servers, arguments and reads.
type Result<T, E = Box<dyn Error + Send + Sync>> = std::result::Result<T, E>;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments.as_slice() {
        ["proxy", port, server, delay, rate] => {
            proxy::run(port.parse()?, server.parse()?, delay.parse()?, rate.parse()?)
        }
        ["read"] => reads::run(),
        _ => Err("expected `proxy PORT SERVER_PORT DELAY_MS BYTES_PER_SECOND`, or `read`".into()),
    }
}
