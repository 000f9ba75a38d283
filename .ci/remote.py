#!/usr/bin/env python3
"""Reads arrays with the program from nginx, an S3-compatible server (moto) and Azurite,
and writes some with it and with a test of the library.

    python3 .ci/remote.py NPYMAP PYTHON AZURITE

PYTHON has NumPy, moto and azure-storage-blob. Every output is compared with that for the
local file.
"""

import contextlib
import json
import os
import pathlib
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

NPYMAP, PYTHON, AZURITE = sys.argv[1:4]

STORES = pathlib.Path(__file__).with_name("stores.py")

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


# The system gives other ports to programs that ask for any.
PORTS = iter(random.sample(range(20000, 32000), 12000))


def free_port():
    for port in PORTS:
        with socket.socket() as server, contextlib.suppress(OSError):
            server.bind(("127.0.0.1", port))
            return port


def answers(url, method="GET"):
    try:
        urllib.request.urlopen(urllib.request.Request(url, method=method), timeout=10).read(1)
    except urllib.error.HTTPError:
        return True
    except OSError:
        return False
    return True


@contextlib.contextmanager
def started(command, url):
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        while not answers(url):
            if server.poll() is not None:
                sys.exit(f"{command[0]} did not start")
            time.sleep(0.1)
        yield
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait()


def run(arguments, where):
    command = [NPYMAP] + [argument.replace("{}", str(where)) for argument in arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
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
        daemon off; pid {folder}/nginx.pid; error_log {folder}/error.log; worker_processes 1;
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
        take_log(log, url)
        run(["info", "{}/big.npy"], url)
        requests = take_log(log, url)
        assert requests == ["GET bytes=0-65535 206"], requests
        cached(folder, url, log)
        run(["ls", "{}/many.npz"], url)
        requests = take_log(log, url)
        # The start, the end, and the headers of the members between.
        assert len(requests) <= 3, requests
        whole = subprocess.run(
            [NPYMAP, "info", f"http://127.0.0.1:{without_ranges}/big.npy"], capture_output=True, text=True
        )
        assert "the server sends whole files only" in whole.stderr, whole.stderr


def take_log(log, url):
    """Returns the requests since the last call. The only process of nginx writes a line when
    a request is complete, so those before that of one with another method are there."""
    answers(f"{url}/big.npy", "OPTIONS")
    while not (lines := log.read_text().splitlines()) or not lines[-1].startswith("OPTIONS"):
        time.sleep(0.01)
    log.write_text("")
    return lines[:-1]


def cached(folder, url, log):
    """The second command transfers no bytes, and the file in the cache is the object."""
    with tempfile.TemporaryDirectory() as cache:
        os.environ["NPYMAP_CACHE"] = cache
        first, second = run(["stats", "{}/big.npy"], url), run(["stats", "{}/big.npy"], url)
        os.environ["NPYMAP_CACHE_BYTES"] = "many"
        failed = subprocess.run([NPYMAP, "info", f"{url}/big.npy"], capture_output=True, text=True)
        assert "NPYMAP_CACHE_BYTES='many': expected a number" in failed.stderr, failed.stderr
        del os.environ["NPYMAP_CACHE"], os.environ["NPYMAP_CACHE_BYTES"]
        requests = take_log(log, url)
        assert first == second and len(requests) > 5, requests
        assert requests[-1] == "GET bytes=0-65535 304", requests
        assert sum(request.endswith("304") for request in requests) == 1, requests
        [data] = pathlib.Path(cache).glob("*.data")
        assert data.read_bytes() == (folder / "big.npy").read_bytes()


def written(folder, name, url, scheme):
    """The store's own package and NumPy read what a test of the library wrote."""
    test = "cargo test -p npymap-remote -q --test remote objects_of_other_servers"
    bucket = f"{scheme}://bucket"
    os.environ["NPYMAP_TEST_WRITE"] = f"{bucket}/written"
    subprocess.run(test.split(), check=True, stdout=subprocess.DEVNULL)
    # The program writes an array and an archive; an object is only replaced if asked.
    for file in ["big.npy", "big.npz"]:
        run(["convert", "{}/big.npy", f"{bucket}/written/{file}"], f"{bucket}/folder")
    again = [NPYMAP, "convert", f"{folder}/big.npy", f"{bucket}/written/big.npy"]
    failed = subprocess.run(again, capture_output=True, text=True)
    assert f"{bucket}/written/big.npy: already exists" in failed.stderr, failed.stderr
    subprocess.run([*again, "--overwrite"], check=True)
    stores("check", name, url, folder)


def stores(*arguments):
    subprocess.run([PYTHON, STORES, *arguments], check=True)


def moto(folder):
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    account = folder / "account.json"
    account.write_text(json.dumps({
        "gcs_base_url": url,
        "disable_oauth": True,
        "client_email": "",
        "private_key": "",
        "private_key_id": "",
    }))
    os.environ |= {
        "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ENDPOINT": url,
        "AWS_ALLOW_HTTP": "true",
        "GOOGLE_SERVICE_ACCOUNT": str(account),
        "GOOGLE_ALLOW_HTTP": "true",
    }
    server = [PYTHON, "-c", f"from moto.server import main; main(['-p{port}'])"]
    with started(server, url + "/moto-api/"):
        stores("upload", "s3", url, folder)
        compare(folder, "s3://bucket/folder", "moto")
        written(folder, "s3", url, "s3")
        # The XML interface of Google Cloud Storage answers reads as S3 does.
        compare(folder, "gs://bucket/folder", "moto, for Google Cloud Storage")


def azurite(folder):
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    os.environ |= {"AZURE_STORAGE_USE_EMULATOR": "true", "AZURITE_BLOB_STORAGE_URL": url}
    server = [AZURITE, "--blobPort", str(port), "--inMemoryPersistence", "--silent", "--skipApiVersionCheck"]
    with started(server, url):
        stores("upload", "azure", url, folder)
        compare(folder, "az://bucket/folder", "Azurite")
        written(folder, "azure", url, "az")


with tempfile.TemporaryDirectory() as name:
    stores("files", name)
    nginx(pathlib.Path(name))
    moto(pathlib.Path(name))
    azurite(pathlib.Path(name))
