#!/usr/bin/env python3
"""Reads arrays with the program from nginx and from an S3-compatible server (moto).

    python3 .ci/remote.py NPYMAP PYTHON

PYTHON has NumPy and moto. Every output is compared with that for the local file.
"""

import contextlib
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

NPYMAP, PYTHON = sys.argv[1:3]

FILES = """
import numpy as np, sys
rng = np.random.default_rng(1)
folder = sys.argv[1]
big = rng.integers(0, 1000, (40_000, 50))
np.save(folder + "/big.npy", big)
np.save(folder + "/fortran.npy", np.asfortranarray(big[:2000]))
np.savez(folder + "/many.npz", **{f"layers.{n}": np.full((8, 8), n) for n in range(1000)})
np.savez_compressed(folder + "/packed.npz", a=big, b=np.arange(5.0))
"""

# Moto's server keeps files in memory; boto3 is one of its dependencies.
UPLOAD = """
import boto3, pathlib, sys
s3 = boto3.client("s3", endpoint_url=sys.argv[2])
s3.create_bucket(Bucket="bucket")
for path in pathlib.Path(sys.argv[1]).glob("*.np[yz]"):
    s3.upload_file(str(path), "bucket", "folder/" + path.name)
"""

COMMANDS = [
    ["info", "{}/big.npy"],
    ["info", "--header", "{}/fortran.npy"],
    ["ls", "{}/many.npz"],
    ["head", "-n", "3", "{}/big.npy"],
    ["head", "-n", "2", "{}/big.npy", "-5:"],
    ["get", "{}/big.npy", "39999", "17, ::9", "30000:30002"],
    ["get", "{}/fortran.npy", "5:8, 49"],
    ["get", "{}/many.npz[layers.500]", "0"],
    ["get", "{}/packed.npz[b]", ":"],
    ["stats", "{}/big.npy"],
    ["stats", "{}/packed.npz[a]"],
]


def free_port():
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        return server.getsockname()[1]


@contextlib.contextmanager
def started(command, url):
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(300):
            try:
                urllib.request.urlopen(url, timeout=1).read(1)
                break
            except OSError:
                time.sleep(0.1)
        else:
            sys.exit(f"{command[0]} did not start")
        yield
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait()


def run(arguments, where):
    command = [NPYMAP] + [argument.replace("{}", str(where)) for argument in arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    if done.returncode:
        sys.exit(f"{command}: {done.stderr}")
    return done.stdout.replace(str(where), "WHERE")


def compare(folder, url, name):
    for command in COMMANDS:
        local, remote = run(command, folder), run(command, url)
        # Columns are as wide as the path.
        if local.split() != remote.split():
            sys.exit(f"{name}: {command}\n{local[:2000]}\n{remote[:2000]}")
    output = folder / "copy.npy"
    run(["convert", "{}/packed.npz[a]", str(output), "--overwrite"], url)
    if output.read_bytes()[-1000:] != (folder / "big.npy").read_bytes()[-1000:]:
        sys.exit(f"{name}: the copy differs")
    output.unlink()
    entry = json.loads(run(["info", "--json", "{}/big.npy"], url))
    assert entry["mapped"] is False and entry["path"] == "WHERE/big.npy", entry
    missing = subprocess.run([NPYMAP, "info", f"{url}/none.npy"], capture_output=True, text=True)
    assert missing.returncode == 1 and "there is no such object" in missing.stderr, missing.stderr
    print(f"{name}: {len(COMMANDS) + 3} commands")


def nginx(folder):
    port, without_ranges = free_port(), free_port()
    log = folder / "access.log"
    config = folder / "nginx.conf"
    config.write_text(f"""
        daemon off; pid {folder}/nginx.pid; error_log {folder}/error.log; worker_processes 2;
        events {{ worker_connections 1024; }}
        http {{
            log_format range '$request_method $http_range $status';
            access_log {log} range;
            client_body_temp_path {folder}; proxy_temp_path {folder}; fastcgi_temp_path {folder};
            uwsgi_temp_path {folder}; scgi_temp_path {folder};
            server {{ listen 127.0.0.1:{port}; root {folder}; }}
            server {{ listen 127.0.0.1:{without_ranges}; root {folder}; max_ranges 0; }}
        }}""")
    url = f"http://127.0.0.1:{port}"
    command = ["nginx", "-c", str(config), "-e", str(folder / "error.log")]
    os.chmod(folder, 0o755)
    with started(command, url + "/big.npy"):
        compare(folder, url, "nginx")
        time.sleep(0.2)
        log.write_text("")
        run(["info", "{}/big.npy"], url)
        time.sleep(0.2)
        requests = log.read_text().splitlines()
        assert requests == ["GET bytes=0-65535 206"], requests
        whole = subprocess.run(
            [NPYMAP, "info", f"http://127.0.0.1:{without_ranges}/big.npy"], capture_output=True, text=True
        )
        assert "the server sends whole files only" in whole.stderr, whole.stderr


def moto(folder):
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    os.environ |= {
        "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ENDPOINT": url,
        "AWS_ALLOW_HTTP": "true",
    }
    server = [PYTHON, "-c", f"from moto.server import main; main(['-p{port}'])"]
    with started(server, url + "/moto-api/"):
        subprocess.run([PYTHON, "-c", UPLOAD, folder, url], check=True)
        compare(folder, "s3://bucket/folder", "moto")


with tempfile.TemporaryDirectory() as name:
    subprocess.run([PYTHON, "-c", FILES, name], check=True)
    nginx(pathlib.Path(name))
    moto(pathlib.Path(name))
