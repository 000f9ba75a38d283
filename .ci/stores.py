"""Objects in stores, by the stores' own packages: for .ci/remote.py.

    python .ci/stores.py files FOLDER             writes arrays and archives
    python .ci/stores.py upload STORE URL FOLDER  puts them in a store: s3 or azure
    python .ci/stores.py check STORE URL FOLDER   compares what npymap wrote there
"""

import io
import sys
from pathlib import Path

import numpy as np

# The only account of Azurite, which is in its documentation.
ACCOUNT = "devstoreaccount1"
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="


def files(folder):
    big = np.random.default_rng(1).integers(0, 1000, (40_000, 50))
    np.save(folder / "big.npy", big)
    np.save(folder / "fortran.npy", np.asfortranarray(big[:2000]))
    np.savez(folder / "many.npz", **{f"layers.{n}": np.full((8, 8), n) for n in range(1000)})
    np.savez_compressed(folder / "packed.npz", a=big, b=np.arange(5.0))


class S3:
    def __init__(self, url):
        import boto3

        self.client = boto3.client("s3", endpoint_url=url)

    def create(self):
        self.client.create_bucket(Bucket="bucket")

    def write(self, key, data):
        # Anyone may read it: requests for Google Cloud Storage have no credentials here.
        self.client.put_object(Bucket="bucket", Key=key, Body=data, ACL="public-read")

    def read(self, key):
        return self.client.get_object(Bucket="bucket", Key=key)["Body"].read()

    def check(self):
        assert "Uploads" not in self.client.list_multipart_uploads(Bucket="bucket")


class Azure:
    def __init__(self, url):
        from azure.storage.blob import BlobServiceClient

        self.client = BlobServiceClient(f"{url}/{ACCOUNT}", credential=KEY)

    def create(self):
        self.client.create_container("bucket")

    def write(self, key, data):
        self.client.get_blob_client("bucket", key).upload_blob(data)

    def read(self, key):
        return self.client.get_blob_client("bucket", key).download_blob().readall()

    def check(self):
        pass


def upload(store, folder):
    store.create()
    for path in folder.glob("*.np[yz]"):
        store.write(f"folder/{path.name}", path.read_bytes())


def check(store, folder):
    def load(key):
        return np.load(io.BytesIO(store.read(f"written/{key}")))

    rows, archive, big = load("rows.npy"), load("a.npz"), np.load(folder / "big.npy")
    assert (rows == np.arange(3_000_000, dtype="u4").reshape(-1, 2)).all() and rows.dtype == "u4"
    assert archive["a"].tolist() == [1.5, 2.5]
    assert (load("big.npy") == big).all() and (load("big.npz")["arr_0"] == big).all()
    store.check()


match sys.argv[1:]:
    case ["files", folder]:
        files(Path(folder))
    case [("upload" | "check") as task, name, url, folder]:
        store = {"s3": S3, "azure": Azure}[name](url)
        {"upload": upload, "check": check}[task](store, Path(folder))
    case _:
        sys.exit(__doc__)
