"""The file: whole or not at all, and one clear line where it is neither."""

from __future__ import annotations

import json
import os
import pickle
import struct
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from safetensors.numpy import load_file, save_file

import gramian as gm
from gramian.errors import FileFormatError, GramianError, SourceNotFoundError
from gramian.storage import container


@pytest.fixture
def moments() -> gm.Moments:
    table = pa.table({"c": ["a", "b", None, "a"], "k": [1, 2, 2, 1], "x": [0.5, None, 2.5, 1.0]})
    return gm.collect(table)


@pytest.fixture
def saved(moments: gm.Moments, tmp_path: Path) -> Path:
    path = tmp_path / "day.moments"
    moments.save(path, metadata={"site": "north"})
    return path


def assert_refused(path: Path) -> None:
    with pytest.raises(FileFormatError) as raised:
        gm.Moments.load(path)
    assert path.name in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_flipped_byte_anywhere_is_noticed(saved: Path) -> None:
    whole = saved.read_bytes()
    for at in range(len(whole)):
        broken = bytearray(whole)
        broken[at] ^= 0x41 if at % 2 else 0x01
        saved.write_bytes(bytes(broken))
        assert_refused(saved)


def test_a_truncated_file_is_noticed_wherever_it_ends(saved: Path) -> None:
    whole = saved.read_bytes()
    for length in [*range(0, len(whole), 13), len(whole) - 1]:
        saved.write_bytes(whole[:length])
        assert_refused(saved)


def test_bytes_after_the_end_are_noticed(saved: Path) -> None:
    saved.write_bytes(saved.read_bytes() + b"\0")
    assert_refused(saved)


def test_a_pickle_of_that_name_is_not_opened(saved: Path) -> None:
    class Trap:
        def __reduce__(self):
            return os.mkdir, (str(saved.parent / "sprung"),)

    saved.write_bytes(pickle.dumps(Trap()))
    assert_refused(saved)
    assert not (saved.parent / "sprung").exists()


@pytest.mark.parametrize("content", [b"", b"{}", b"\0" * 8, b"\xff" * 64, b"PK\x03\x04" * 20, b"a,b\n1,2\n" * 30])
def test_foreign_files_are_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "foreign.moments"
    path.write_bytes(content)
    assert_refused(path)


@pytest.mark.parametrize("metadata", [None, {"format": "pt"}, {"checksum": "0" * 64}])
def test_somebody_elses_safetensors_file_is_refused(tmp_path: Path, metadata: dict | None) -> None:
    path = tmp_path / "weights.safetensors"
    save_file({"w": np.ones(3)}, path, metadata=metadata)
    assert_refused(path)
    with pytest.raises(FileFormatError, match="not a gramian file"):
        gm.load(path)


def test_a_file_of_a_newer_format_names_the_way_out(saved: Path, monkeypatch: pytest.MonkeyPatch, moments) -> None:
    monkeypatch.setattr(container, "FORMAT_VERSION", container.FORMAT_VERSION + 1)
    moments.save(saved)
    monkeypatch.undo()
    with pytest.raises(FileFormatError, match="upgrade"):
        gm.load(saved)


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(SourceNotFoundError, match=r"gone\.moments"):
        gm.load(tmp_path / "gone.moments")
    with pytest.raises(FileFormatError, match="folder"):
        gm.Moments.load(tmp_path)


def test_a_folder_that_is_not_there(moments: gm.Moments, tmp_path: Path) -> None:
    with pytest.raises(SourceNotFoundError, match="does not exist"):
        moments.save(tmp_path / "nowhere" / "m.moments")


@pytest.mark.parametrize("before", [None, b"what stood here before"])
def test_nothing_is_half_written_when_saving_fails(
    moments: gm.Moments, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: bytes | None
) -> None:
    path = tmp_path / "day.moments"
    if before is not None:
        path.write_bytes(before)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        moments.save(path)
    assert [p.name for p in tmp_path.iterdir()] == ([] if before is None else ["day.moments"])
    assert before is None or path.read_bytes() == before


@pytest.mark.parametrize("metadata", [{"a": 1}, {1: "a"}, {"a": None}])
def test_metadata_is_text(moments: gm.Moments, tmp_path: Path, metadata: dict) -> None:
    with pytest.raises(GramianError, match="metadata"):
        moments.save(tmp_path / "m", metadata=metadata)
    assert list(tmp_path.iterdir()) == []


def test_saving_over_a_file_replaces_it(moments: gm.Moments, saved: Path) -> None:
    (moments + moments).save(saved)
    assert gm.load(saved).n_rows == 8
    assert [p.name for p in saved.parent.iterdir()] == [saved.name]


def test_the_file_gets_the_permissions_of_any_other(moments: gm.Moments, tmp_path: Path) -> None:
    moments.save(tmp_path / "m")
    (tmp_path / "other").write_text("")
    assert (tmp_path / "m").stat().st_mode == (tmp_path / "other").stat().st_mode


def test_the_header_says_what_is_inside(saved: Path) -> None:
    header = container.read_header(saved)
    assert header["rows"] == "4"
    assert header["version"] == gm.__version__
    assert [column["name"] for column in json.loads(header["schema"])] == ["c", "k", "x"]
    assert json.loads(header["metadata"]) == {"site": "north"}
    assert header["date"].startswith("20")


def test_labels_are_not_in_the_header(tmp_path: Path) -> None:
    path = tmp_path / "m"
    gm.collect(pa.table({"c": ["confidential", "b"]})).save(path)
    raw = path.read_bytes()
    (length,) = struct.unpack("<Q", raw[:8])
    assert b"confidential" not in raw[: 8 + length]


def test_any_safetensors_reader_opens_the_file(saved: Path) -> None:
    assert all(isinstance(a, np.ndarray) for a in load_file(saved).values())


def test_texts_that_look_like_the_checksum_field_do_no_harm(tmp_path: Path, moments: gm.Moments) -> None:
    path = tmp_path / "m"
    moments.save(path, metadata={'"checksum":"': '"checksum":"' + "0" * 64, "checksum": "f" * 64})
    assert gm.load(path) == moments


def test_names_of_columns_may_be_anything(tmp_path: Path) -> None:
    names = ['"checksum":"', "a.b", "ü", "", " ", "narrow", "fold0."]
    m = gm.collect(pa.table({name: ["x", "y"] for name in names}))
    m.save(tmp_path / "m")
    assert gm.load(tmp_path / "m") == m


def test_a_file_without_powers_opens_and_says_that_they_are_unknown() -> None:
    old = gm.Moments.load(Path(__file__).parent / "data" / "without_powers.moments")
    assert np.isnan(old.numbers.powers).all()
    assert all(np.isnan(fold.numbers.powers).all() for fold in old.folds)
    by_name = {column.name: column for column in old.summary().columns}
    assert by_name["size"].std is not None
    assert (by_name["size"].skewness, by_name["size"].kurtosis) == (None, None)
    # An integer by level has its counts, and from them everything.
    assert by_name["year"].kurtosis == pytest.approx(1.5)
    assert gm.independence_test(old, "size", "color").null == "chi-squared"
    assert gm.independence_test(old, "year", "color").null == "exact"


def test_powers_come_back_from_a_file(moments: gm.Moments, saved: Path) -> None:
    assert np.isfinite(moments.numbers.powers).all()
    np.testing.assert_array_equal(gm.Moments.load(saved).numbers.powers, moments.numbers.powers)
