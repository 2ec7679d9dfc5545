from __future__ import annotations

import subprocess
import sys

import pytest

from gramian.arrays import memory
from gramian.arrays.memory import available_memory, in_words, left_in_groups, parse_bytes, refuse_beyond
from gramian.errors import DataError, MemoryLimitError


@pytest.mark.parametrize(
    ("amount", "n_bytes"),
    [("2GB", 2 * 10**9), ("2 gib", 2**31), ("512", 512), ("1.5k", 1500), ("3MiB", 3 * 2**20), (7, 7), (1e6, 10**6)],
)
def test_amounts_in_words(amount, n_bytes: int) -> None:
    assert parse_bytes(amount) == n_bytes


@pytest.mark.parametrize("amount", ["", "GB", "1..5GB", "-1", "2 apples", 0, -5, "0"])
def test_amounts_that_are_none(amount) -> None:
    with pytest.raises(DataError, match="memory_limit"):
        parse_bytes(amount)


@pytest.mark.parametrize(
    ("n_bytes", "words"), [(5, "5 bytes"), (1500, "1.5 kB"), (2_000_000, "2.0 MB"), (3e12, "3.0 TB")]
)
def test_bytes_in_words(n_bytes: float, words: str) -> None:
    assert in_words(n_bytes) == words


def test_refusal_says_what_and_the_way_out() -> None:
    with pytest.raises(MemoryLimitError, match=r"a thing needs 2\.0 kB and 1\.0 kB are allowed; do less"):
        refuse_beyond(2000, 1000, what="a thing", way_out="do less")
    refuse_beyond(1000, 1000, what="a thing", way_out="do less")


def test_available_memory_is_a_number_of_bytes() -> None:
    assert available_memory() > 2**20
    with pytest.raises(MemoryLimitError):
        refuse_beyond(2**60, None, what="a thing", way_out="do less")


def test_the_system_is_not_asked_for_a_little(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "available_memory", lambda: 0)
    refuse_beyond(memory.CACHED_BYTES, None, what="a thing", way_out="do less")
    with pytest.raises(MemoryLimitError):
        refuse_beyond(memory.CACHED_BYTES + 1, None, what="a thing", way_out="do less")


def group(folder, **files) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(f"{text}\n")


def test_limits_of_control_groups_of_version_2(tmp_path) -> None:
    listed, mounted = tmp_path / "cgroup", tmp_path / "mounted"
    listed.write_text("0::/site/job\n")
    group(mounted, memory__stat="anon 1\n")
    group(mounted / "site", memory__max=5000, memory__current=1000)
    group(mounted / "site" / "job", memory__max="max", memory__current=900)
    assert list(left_in_groups(listed, mounted)) == [4000]
    # Pages of files are given up first.
    stat = "anon 7\ninactive_file 300\nactive_file 20"
    group(mounted / "site" / "job", memory__max=1000, memory__current=900, memory__stat=stat)
    assert sorted(left_in_groups(listed, mounted)) == [400, 4000]
    # In a container the list may name a group that is not mounted: the root is its own.
    listed.write_text("0::/elsewhere\n")
    group(mounted, memory__max=2000, memory__current=500)
    assert set(left_in_groups(listed, mounted)) == {1500}


def test_where_a_group_of_version_2_is_held_up_is_a_limit_too(tmp_path) -> None:
    listed, mounted = tmp_path / "cgroup", tmp_path / "mounted"
    listed.write_text("0::/job\n")
    for most, high, left in ((1000, 600, [500]), (600, 1000, [500]), ("max", 600, [500]), (600, "max", [500])):
        group(mounted / "job", memory__max=most, memory__high=high, memory__current=100)
        assert list(left_in_groups(listed, mounted)) == left
    group(mounted / "job", memory__max="max", memory__high="max", memory__current=100)
    assert list(left_in_groups(listed, mounted)) == []


def test_a_limit_beyond_the_machine_or_below_what_is_used_leaves_what_there_is(monkeypatch) -> None:
    free = available_memory()
    monkeypatch.setattr(memory, "left_in_groups", lambda: iter([10**18]))
    assert available_memory() == pytest.approx(free, rel=0.5)
    monkeypatch.setattr(memory, "left_in_groups", lambda: iter([-5000]))
    assert available_memory() == 0


def test_limits_of_control_groups_of_version_1(tmp_path) -> None:
    listed, mounted = tmp_path / "cgroup", tmp_path / "mounted"
    listed.write_text("4:cpu,cpuacct:/other\n3:memory:/docker/abc\n1:name=systemd:/x\n")
    group(mounted / "memory", memory__limit_in_bytes=9223372036854771712, memory__usage_in_bytes=10)
    group(mounted / "memory/docker", memory__limit_in_bytes=800, memory__usage_in_bytes=500)
    stat = "cache 5\ninactive_file 1\ntotal_inactive_file 40"
    group(mounted / "memory/docker/abc", memory__limit_in_bytes=700, memory__usage_in_bytes=450, memory__stat=stat)
    assert sorted(left_in_groups(listed, mounted)) == [290, 300]


def test_without_groups_there_is_no_limit(tmp_path) -> None:
    assert list(left_in_groups(tmp_path / "none", tmp_path / "nowhere")) == []
    group(tmp_path / "odd", memory__max="many", memory__current="?")
    assert list(left_in_groups(tmp_path / "none", tmp_path / "odd")) == []


def test_the_address_space_is_a_limit() -> None:
    code = """
import resource
from gramian.arrays.memory import available_memory, left_of_addresses
assert list(left_of_addresses()) == []
resource.setrlimit(resource.RLIMIT_AS, (4 * 2**30, resource.RLIM_INFINITY))
(left,) = left_of_addresses()
assert 2**30 < left < 4 * 2**30, left
assert available_memory() <= left
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
