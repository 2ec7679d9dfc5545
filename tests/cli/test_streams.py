"""`-` is standard input and standard output."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

import gramian as gm
from gramian.cli.printing import shown_as, suffix_of

ROWS = pa.table({"color": ["red", "blue", "red", "green"], "size": [1.5, 2.5, 3.5, 0.5]})


class Caught(io.StringIO):
    """Standard output as it is caught, bytes apart."""

    def __init__(self) -> None:
        super().__init__()
        self.buffer = io.BytesIO()


@pytest.fixture
def piped(gramian, monkeypatch):
    """Run the program with bytes piped in; return how it ended, and the bytes piped on."""

    def run(data: bytes, *arguments: str):
        stdin = io.TextIOWrapper(io.BytesIO(data))
        monkeypatch.setattr(sys, "stdin", stdin)
        out = Caught()
        return gramian(*arguments, stdout=out), out.buffer.getvalue()

    return run


def written(tmp_path: Path, suffix: str) -> bytes:
    path = tmp_path / f"rows{suffix}"
    if suffix == ".parquet":
        pq.write_table(ROWS, path)
    elif suffix == ".arrow":
        feather.write_feather(ROWS, path)
    elif suffix == ".arrows":
        with pa.ipc.new_stream(path, ROWS.schema) as stream:
            stream.write_table(ROWS)
    elif suffix == ".jsonl":
        path.write_text("".join(str(row).replace("'", '"') + "\n" for row in ROWS.to_pylist()))
    else:
        path.write_text("color;size\nred;1,5\nblue;2,5\nred;3,5\ngreen;0,5\n")
    return path.read_bytes()


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet", ".arrow", ".arrows"])
def test_every_format_is_known_by_its_first_bytes(piped, tmp_path, folder, suffix):
    data = written(tmp_path, suffix)
    assert suffix_of(str(tmp_path / f"rows{suffix}")) == suffix
    done, _ = piped(data, "collect", "-", "-o", "x.moments")
    assert done.code == 0, done.err
    assert gm.load(folder / "x.moments") == gm.collect(ROWS)
    assert "gramian-" not in done.out + done.err


def test_moments_and_models_go_through_a_pipe(piped, tmp_path):
    done, moments = piped(written(tmp_path, ".csv"), "collect", "-", "-o", "-")
    assert (done.code, done.out) == (0, "")
    assert "wrote standard output" in done.err
    done, model = piped(moments, "fit", "-", "--method", "pca", "-k", "1", "-o", "-")
    (tmp_path / "a.model").write_bytes(model)
    done, features = piped(written(tmp_path, ".parquet"), "transform", str(tmp_path / "a.model"), "-", "-o", "-")
    assert features.decode().splitlines()[0] == '"pca0"'
    assert len(features.decode().splitlines()) == 5


@pytest.mark.parametrize(
    ("data", "arguments", "said"),
    [
        (b"", ["inspect", "-"], "standard input, -, is empty"),
        (b"a\n1\n", ["merge", "-", "-", "-o", "x.moments"], "named twice"),
        (b"a\n1\n", ["collect", "-", "-o", "-", "--json"], "both write to standard output"),
    ],
)
def test_what_cannot_be_piped_is_one_line(piped, data, arguments, said):
    done, _ = piped(data, *arguments)
    assert said in done.at_fault(2)


def test_a_terminal_is_refused(gramian, monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(sys, "stdin", Terminal())
    assert "is a terminal; pipe data into it" in gramian("inspect", "-").at_fault(2)


def test_messages_speak_of_standard_input(piped):
    done, _ = piped(b"color,size\nred,1\n", "collect", "-", "--exclude", "colr", "-o", "x.moments")
    assert done.at_fault(1) == "column 'colr' is not in standard input; did you mean 'color'?"
    done, _ = piped(b"color,size\nred,1\nblue,2\n", "inspect", "-")
    assert done.out.splitlines()[-1] == "next: gramian collect - -o stdin.moments"


def test_other_texts_stay_as_they_are():
    assert shown_as("wrote a.csv") == "wrote a.csv"
