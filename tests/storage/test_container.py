"""One file of arrays and a header, refused where a single byte of it has changed."""

import io
import json
import os
import tracemalloc

import numpy as np
import pytest
from safetensors.numpy import save_file

from gramian.errors import FileFormatError, SourceNotFoundError
from gramian.storage import container


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "values.bin"
    tensors = {"a": np.arange(12.0).reshape(3, 4), "b": np.array([], dtype=np.int64), "c": np.arange(6)[::2]}
    container.write(path, tensors, {"kind": "note", "text": 'a "quote", a \\ and "checksum":"'})
    return path


def test_arrays_and_header_come_back(path):
    tensors, header = container.read(path)
    assert {name: (a.dtype.name, a.shape) for name, a in tensors.items()} == {
        "a": ("float64", (3, 4)), "b": ("int64", (0,)), "c": ("int64", (3,))
    }  # fmt: skip
    np.testing.assert_array_equal(tensors["c"], [0, 2, 4])
    assert header["text"] == 'a "quote", a \\ and "checksum":"'
    assert container.read_header(path) == header


def test_every_changed_byte_is_noticed(path):
    whole = path.read_bytes()
    for at in range(0, len(whole), 7):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        with pytest.raises(FileFormatError):
            container.read(path)


def test_every_cut_is_noticed(path):
    whole = path.read_bytes()
    for length in range(0, len(whole), 11):
        path.write_bytes(whole[:length])
        with pytest.raises(FileFormatError):
            container.read(path)


def test_a_newer_format_asks_for_an_upgrade(tmp_path, monkeypatch):
    monkeypatch.setattr(container, "FORMAT_VERSION", 9)
    container.write(tmp_path / "new", {"a": np.zeros(1)}, {})
    monkeypatch.undo()
    with pytest.raises(FileFormatError, match="upgrade"):
        container.read(tmp_path / "new")


def test_files_of_others_and_folders_are_refused(tmp_path):
    save_file({"a": np.zeros(2)}, tmp_path / "other", metadata={"format": "pt"})
    (tmp_path / "text").write_text("hello, hello, hello")
    os.mkfifo(tmp_path / "pipe")
    for name in ("other", "text", ".", "pipe"):
        with pytest.raises(FileFormatError):
            container.read(tmp_path / name)
    with pytest.raises(SourceNotFoundError):
        container.read(tmp_path / "nothing")


def test_a_damaged_header_is_told_from_a_foreign_file(tmp_path):
    whole = container.write_bytes({"a": np.arange(3.0)}, {"kind": "moments", "note": "a"})
    for at in range(len(whole) - 24):
        harmed = bytearray(whole)
        harmed[at] ^= 1
        with pytest.raises(FileFormatError, match=r"is corrupted|is truncated"):
            container.read_bytes(bytes(harmed), "x")
    for other in (
        b"PAR1" * 20,
        b'\x10\0\0\0\0\0\0\0{"__metadata__":{"format":"pt"}}',
        b'{"checksum":"of something else"}' * 3,
    ):
        with pytest.raises(FileFormatError, match="is not a gramian file"):
            container.read_bytes(other, "x")


def test_arrays_that_share_a_place_are_refused_before_memory_is_taken():
    # A megabyte named a thousand times would be a gigabyte.
    entry = {"dtype": "U8", "shape": [64], "data_offsets": [0, 64]}
    entries = {"__metadata__": container._completed({"kind": "note"}), "a": entry, "b": entry}
    text = json.dumps(entries, separators=(",", ":")).encode()
    file = io.BytesIO(len(text).to_bytes(8, "little") + text + bytes(64))
    container._sign(file, "aliases")
    with pytest.raises(FileFormatError, match="'b' does not fit its place"):
        container.read_bytes(file.getvalue(), "aliases")


@pytest.mark.parametrize(
    "filling", [b'"a":[' + b"{}," * 2**22 + b"{}]", b'"a":[' + b"1," * 2**22 + b"1]", b'"a":{},' * 2**18 + b'"a":{}']
)
def test_a_header_of_millions_of_values_is_refused_before_it_is_parsed(filling):
    # Twelve megabytes of empty objects become hundreds in memory, for an answer that is no.
    metadata = json.dumps(container._completed({"kind": "note"}), separators=(",", ":")).encode()
    text = b'{"__metadata__":' + metadata + b"," + filling + b"}"
    file = io.BytesIO(len(text).to_bytes(8, "little") + text)
    container._sign(file, "many")
    tracemalloc.start()
    try:
        with pytest.raises(FileFormatError, match="'many' is corrupted: its header lists"):
            container.read_bytes(file.getvalue(), "many")
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 6 * len(text)


def test_a_long_text_in_the_header_is_no_reason_to_refuse_it():
    # What a text holds is not counted, be it brackets, commas, quotes or backslashes.
    text = json.dumps([{"name": 'a "b" \\', "labels": ["x", ","]}] * 60_000)
    _, header = container.read_bytes(container.write_bytes({"a": np.zeros(2)}, {"schema": text}), "long")
    assert header["schema"] == text


@pytest.mark.parametrize("shape", [[0, 2**70], [0, 2**62, 2**62], [2**63, 0]])
def test_an_impossible_shape_of_nothing_is_refused(tmp_path, monkeypatch, shape):
    path = tmp_path / "x"
    real = json.dumps

    def dumps(entries, **options):
        entries["a"]["shape"] = shape
        return real(entries, **options)

    monkeypatch.setattr(container.json, "dumps", dumps)
    container.write(path, {"a": np.zeros((0, 3))}, {})
    monkeypatch.undo()
    with pytest.raises(FileFormatError, match=r"shape|does not fit"):
        container.read(path)
