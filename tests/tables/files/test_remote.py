"""Files elsewhere: a real S3 server and a real web server on this machine, and what is said where there is none."""

from __future__ import annotations

import functools
import gzip
import http.server
import io
import logging
import sys
import threading
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.feather as feather
import pyarrow.fs as fs
import pyarrow.parquet as pq
import pytest

import gramian as gm
from gramian.errors import DataError, FileFormatError, MissingPackageError, SourceNotFoundError
from gramian.tables import open_table
from gramian.tables.files import remote
from gramian.tables.files.paths import find_files

ROWS = pa.table({"color": ["red", "blue", "red", None] * 50, "size": [1.0, 2.0, 4.0, 8.0] * 50})


@pytest.fixture(scope="module")
def s3():
    """An S3 server with a bucket of days: Parquet by year and month, CSV, Arrow, an empty file, and Spark's mark."""
    pytest.importorskip("flask")
    server_module = pytest.importorskip("moto.server")
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = server_module.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {
            "AWS_ENDPOINT_URL": f"http://{host}:{port}",
            "AWS_ACCESS_KEY_ID": "key",
            "AWS_SECRET_ACCESS_KEY": "secret",
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_EC2_METADATA_DISABLED": "true",
        }.items():
            patch.setenv(name, value)
        store = fs.S3FileSystem(
            endpoint_override=f"{host}:{port}", scheme="http", access_key="key", secret_key="secret",
            allow_bucket_creation=True,
        )  # fmt: skip
        store.create_dir("bucket")

        def put(path, write):
            with store.open_output_stream(f"bucket/{path}", compression=None) as sink:
                write(sink)

        for year, month in ((2024, 1), (2024, 2), (2025, 1)):
            put(f"days/year={year}/month={month}/part-0.parquet", lambda sink: pq.write_table(ROWS, sink))
        put("days/_SUCCESS", lambda sink: None)
        put("text/one.csv", lambda sink: csv.write_csv(ROWS, sink))
        put("text/two.csv", lambda sink: csv.write_csv(ROWS, sink))
        put("text/none.csv", lambda sink: None)
        text = io.BytesIO()
        csv.write_csv(ROWS, text)
        put("zipped/one.csv.gz", lambda sink: sink.write(gzip.compress(text.getvalue())))
        put("arrow/one.arrow", lambda sink: feather.write_feather(ROWS, sink))
        put("lines/one.jsonl", lambda sink: sink.write(b'{"size": 1.5}\n{"size": 2.5}\n'))
        put("odd name/100%/part [1].parquet", lambda sink: pq.write_table(ROWS, sink))
        put("plain/part-0", lambda sink: pq.write_table(ROWS, sink))
        yield store
    server.stop()


@pytest.mark.parametrize(
    ("path", "n_rows", "keys"),
    [
        ("days/year=2024/month=1/part-0.parquet", 200, []),
        ("days", 600, ["year", "month"]),
        ("days/", 600, ["year", "month"]),
        ("days/year=2024", 400, ["month"]),
        ("days/year=2024/*/part-?.parquet", 400, ["month"]),
        ("days/**/*.parquet", 600, ["year", "month"]),
        ("days/year=*/month=1/*", 400, ["year", "month"]),
        ("text", 400, []),
        ("text/*.csv", 400, []),
        ("text/[ot]*.csv", 400, []),
        ("zipped/one.csv.gz", 200, []),
        ("arrow/one.arrow", 200, []),
        ("odd name/100%/part [1].parquet", 200, []),
        ("odd name/*/*", 200, []),
        ("plain", 200, []),
        ("plain/part-0", 200, []),
    ],
)
def test_a_path_of_a_bucket_is_read_as_one_of_a_disk(s3, path, n_rows, keys):
    table = open_table(f"s3://bucket/{path}")
    read = pa.Table.from_batches(table.batches())
    assert read.num_rows == n_rows
    assert table.schema.names == ["color", "size", *keys]
    assert sorted(set(read["color"].to_pylist()), key=str) == [None, "blue", "red"]
    if table.n_rows is not None:
        assert table.n_rows == n_rows


def test_whatever_takes_a_path_takes_a_remote_one(s3, tmp_path):
    moments = gm.collect("s3://bucket/days", folds=2, checkpoint=tmp_path / "kept")
    whole = gm.collect(pa.concat_tables([ROWS] * 3))
    assert (moments.crosstab("color", "year").sum(axis=1) == whole.counts("color")).all()
    assert gm.collect(["s3://bucket/text/one.csv", "s3://bucket/text/two.csv"]).n_rows == 400
    assert gm.preview("s3://bucket/days").n_rows == 600
    model = gm.PCA(1).fit("s3://bucket/days")
    gm.transform_file(model, "s3://bucket/days", tmp_path / "out.parquet", keep="year")
    assert pq.read_table(tmp_path / "out.parquet").column_names == ["year", "pca0"]
    assert gm.collect("s3://bucket/lines/one.jsonl").mean("size") == 2.0


def test_a_public_bucket_is_read_without_credentials(s3, monkeypatch):
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    assert gm.collect("s3://bucket/days?anonymous=true").n_rows == 600
    assert gm.collect("s3://bucket/text/*.csv?anonymous=true").n_rows == 400


def test_a_checkpoint_knows_remote_files(s3, tmp_path):
    from gramian.engines.checkpoint import Checkpoint

    kept = Checkpoint(tmp_path / "kept", keep=True)
    gm.collect("s3://bucket/days", checkpoint=kept)
    with pytest.raises(DataError, match="of 3 files, and there are 2 now"):
        gm.collect("s3://bucket/days/year=2024", checkpoint=kept)


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("s3://bucket/none.parquet", "s3://bucket/none.parquet does not exist"),
        ("s3://bucket/none/*.parquet", "no file matches 's3://bucket/none/*.parquet'"),
        ("s3://nobucket/x.parquet", "s3://nobucket/x.parquet does not exist"),
        ("foo://bucket/x.parquet", "neither pyarrow nor fsspec knows foo:// paths"),
        (
            Path("s3://bucket/x.parquet"),
            "s3:/bucket/x.parquet does not exist; a remote path is a text with two slashes",
        ),
    ],
)
def test_what_is_not_there_is_one_line(s3, path, words):
    with pytest.raises(SourceNotFoundError) as error:
        open_table(path)
    assert words in str(error.value)
    assert "\n" not in str(error.value)


def test_a_damaged_remote_file_is_named(s3):
    with s3.open_output_stream("bucket/damaged.parquet") as sink:
        sink.write(b"PAR1 and nothing else")
    with pytest.raises(FileFormatError, match=r"s3://bucket/damaged\.parquet cannot be read as Parquet"):
        open_table("s3://bucket/damaged.parquet")


@pytest.mark.parametrize(
    ("path", "error", "words"),
    [
        (
            "s3://bucket/x.parquet",
            OSError("When reading information: AWS Error ACCESS_DENIED during HeadObject operation: No response body."),
            "access denied; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE",
        ),
        (
            "gs://bucket/x.parquet",
            OSError("google::cloud::Status(UNAUTHENTICATED: Could not load credentials)"),
            "access denied; set GOOGLE_APPLICATION_CREDENTIALS",
        ),
        (
            "abfss://c@a.dfs.core.windows.net/x.csv",
            OSError("DefaultAzureCredential: no credential"),
            "set AZURE_CLIENT_ID",
        ),
        (
            "abfss://c@a.dfs.core.windows.net/x.csv",
            pa.ArrowException("Azure4Core11Credentials23AuthenticationExceptionE: Failed to get token.\nSee"),
            "or sign in with the az program",
        ),
        ("s3://bucket/x.csv?reigon=x", pa.ArrowInvalid("Unexpected query parameter in S3 URI: 'reigon'"), "'reigon'"),
        ("https://host/x.csv", RuntimeError("403, message='Forbidden', url='https://host'"), "access denied"),
        ("https://host/x.csv", RuntimeError("Cannot connect to host 127.0.0.1:1"), "cannot be reached"),
        ("dropbox://x.csv", ImportError("Install dropboxdrivefs to access Dropbox"), "Install dropboxdrivefs"),
        (
            "https://host/x.csv",
            ImportError("aiohttp"),
            "needs fsspec and aiohttp; install them with: pip install fsspec",
        ),
    ],
)
def test_what_keeps_a_file_from_being_read_says_what_to_do(path, error, words):
    with pytest.raises((DataError, MissingPackageError)) as found, remote.reaching(path):
        raise error
    assert words in str(found.value)
    assert "\n" not in str(found.value)


def test_without_fsspec_the_package_to_install_is_named(monkeypatch):
    remote._filesystem.cache_clear()
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(MissingPackageError, match="needs fsspec and aiohttp"):
        open_table("https://127.0.0.1/x.csv")


@pytest.fixture(scope="module")
def web(tmp_path_factory):
    """A web server over a folder; `secret` is forbidden."""
    pytest.importorskip("aiohttp")
    folder = tmp_path_factory.mktemp("web")
    pq.write_table(ROWS, folder / "rows.parquet", row_group_size=60)
    csv.write_csv(ROWS, folder / "one.csv")
    csv.write_csv(ROWS, folder / "two.csv")

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *words):
            pass

        def send_head(self):
            if "secret" in self.path:
                self.send_error(403)
                return io.BytesIO()
            return super().send_head()

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=folder))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


def test_web_addresses_are_read(web):
    expected = gm.collect(ROWS)
    for name in ("rows.parquet", "one.csv", "rows.parquet?token=a%20b"):
        assert gm.collect(f"{web}/{name}").isclose(expected)
    assert gm.collect([f"{web}/one.csv", f"{web}/two.csv"]).n_rows == 400
    assert find_files(f"{web}/rows.parquet?token=1").describe == "rows.parquet"


def test_a_web_address_that_is_not_there_or_forbidden_is_one_line(web):
    with pytest.raises(SourceNotFoundError, match=r"/none\.csv does not exist"):
        open_table(f"{web}/none.csv")
    with pytest.raises(DataError, match=r"/secret\.csv cannot be read: access denied"):
        open_table(f"{web}/secret.csv")
    with pytest.raises(DataError, match=r"http://127\.0\.0\.1:1/x\.csv cannot be reached"):
        open_table("http://127.0.0.1:1/x.csv")


def test_what_fsspec_knows_just_works():
    fsspec = pytest.importorskip("fsspec")
    store = fsspec.filesystem("memory")
    with store.open("/rows/day=1/x.parquet", "wb") as sink:
        pq.write_table(ROWS, sink)
    assert gm.collect("memory://rows").columns == ["color", "size", "day"]
    assert gm.collect("memory://rows/*/x.parquet").n_rows == 200


def test_a_file_address_is_a_path(tmp_path):
    pq.write_table(ROWS, tmp_path / "rows.parquet")
    assert gm.collect(f"file://{tmp_path}/rows.parquet").n_rows == 200


def test_outputs_are_written_on_this_machine(tmp_path):
    moments = gm.collect(ROWS)
    for write in (
        lambda: moments.save("s3://bucket/x.moments"),
        lambda: gm.transform_file(gm.PCA(1).fit(moments), ROWS, "s3://bucket/x.parquet"),
    ):
        with pytest.raises(DataError, match="files are written on this machine"):
            write()
    with pytest.raises(FileFormatError, match="copy the file here first"):
        gm.load("s3://bucket/x.moments")


@pytest.mark.parametrize("path", ["http://[::1", "https://[a"])
def test_a_wildcard_in_a_host_is_one_line(path):
    with pytest.raises(DataError, match="after the host or bucket"):
        open_table(path)
