"""A web server with ranges, for tests: files of a directory, with entity tags or times."""

import re
import threading
from contextlib import contextmanager
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Server(ThreadingHTTPServer):
    # Arrays send hundreds of requests at a time; connections beyond this number wait for seconds.
    request_queue_size = 1024


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.server.requests.append(self.headers.get("Range"))
        if self.headers.get("Authorization") != self.server.secret:
            return self.answer(401, b"")
        if self.server.answers is not None:
            self.server.answers.wait()
        path = self.server.directory / self.path.partition("?")[0].lstrip("/")
        if self.path == "/denied.npy" or not path.is_file():
            return self.answer(403 if self.path == "/denied.npy" else 404, b"")
        data = path.read_bytes()
        stat = path.stat()
        tag = f'"{stat.st_mtime_ns:x}-{len(data):x}"'
        if self.headers.get("If-Match", tag) != tag:
            return self.answer(412, b"")
        version = {"ETag": tag, "Last-Modified": formatdate(stat.st_mtime, usegmt=True)}
        version = {name: version[name] for name in self.server.version_headers}
        asked = self.headers.get("Range", "") if self.server.has_ranges else ""
        found = re.fullmatch(r"bytes=(\d*)-(\d*)", asked)
        if found is None:
            return self.answer(200, data, version)
        first, last = found.groups()
        start = int(first) if first else max(len(data) - int(last), 0)
        stop = min(int(last) + 1, len(data)) if first and last else len(data)
        if start >= len(data):
            return self.answer(416, b"", version, f"bytes */{len(data)}")
        self.answer(206, data[start:stop], version, f"bytes {start}-{stop - 1}/{len(data)}")

    do_HEAD = do_GET

    def answer(self, status, data, version=None, content_range=None):
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.send_header("Accept-Ranges", "bytes")
        for name, value in (version or {}).items():
            self.send_header(name, value)
        if content_range is not None:
            self.send_header("Content-Range", content_range)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(data)

    def log_message(self, *_):
        pass


@contextmanager
def serve(directory, answers=None, version_headers=("ETag",), *, has_ranges=True, secret=None):
    """Serve a directory, and yield its URL and the list of ranges that are requested.

    Requests are answered while the event `answers` is set. Responses have the headers
    `version_headers`: "ETag", "Last-Modified", both or none. Unless it `has_ranges`, whole files
    are sent, as `python -m http.server` does. Requests must have the `secret` as `Authorization`.
    """
    server = Server(("127.0.0.1", 0), Handler)
    server.directory, server.requests, server.daemon_threads = directory, [], True
    server.answers, server.version_headers = answers, version_headers
    server.has_ranges, server.secret = has_ranges, secret
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", server.requests
    finally:
        server.shutdown()
        server.server_close()
