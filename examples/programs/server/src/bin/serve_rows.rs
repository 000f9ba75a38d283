//! Serves the rows of an array over HTTP: each response is a slice of the mapped
//! file, not a copy.
//!
//! The program asks for one row itself.
//!
//! ```python
//! import threading, urllib.request
//! from http.server import BaseHTTPRequestHandler, HTTPServer
//! table = np.load("table.npy", mmap_mode="r")
//! class Rows(BaseHTTPRequestHandler):
//!     def do_GET(self):
//!         self.send_response(200)
//!         self.end_headers()
//!         self.wfile.write(table[int(self.path[6:])].data)
//!     def log_message(self, *_):
//!         pass
//! server = HTTPServer(("127.0.0.1", 0), Rows)
//! threading.Thread(target=server.serve_forever, daemon=True).start()
//! reply = urllib.request.urlopen(f"http://127.0.0.1:{server.server_port}/rows/5").read()
//! print(len(reply), np.frombuffer(reply)[0])
//! ```
//!
//! ```text
//! 64 0.39963523145251145
//! ```

use std::error::Error;

use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::{Router, http::StatusCode, routing::get};
use npymap::MappedArray;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

async fn row(
    State(table): State<MappedArray>,
    Path(row): Path<usize>,
) -> Result<Bytes, StatusCode> {
    let row = table.row_range(row..=row).map_err(|_| StatusCode::NOT_FOUND)?;
    Ok(Bytes::from_owner(row))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    // SAFETY: no other process changes the file.
    let table = unsafe { MappedArray::open("table.npy")? };
    let app = Router::new().route("/rows/{row}", get(row)).with_state(table);
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    tokio::spawn(async { axum::serve(listener, app).await });

    let mut reply = Vec::new();
    let mut client = TcpStream::connect(address).await?;
    client.write_all(b"GET /rows/5 HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").await?;
    client.read_to_end(&mut reply).await?;
    let body = reply.windows(4).position(|end| end == b"\r\n\r\n").unwrap() + 4;
    println!("{} {}", reply.len() - body, f64::from_le_bytes(reply[body..body + 8].try_into()?));
    Ok(())
}
