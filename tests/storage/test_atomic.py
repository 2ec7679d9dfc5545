"""A file appears whole or not at all, also behind a link."""

import errno
import os
from pathlib import Path

import pytest

from gramian.errors import DataError, SourceNotFoundError
from gramian.storage.atomic import appearing, remove


def written(path, text="new"):
    with appearing(path) as temporary, open(temporary, "w") as file:
        file.write(text)


def test_the_old_file_stays_until_the_new_one_is_whole(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    with appearing(path) as temporary:
        Path(temporary).write_text("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert os.listdir(tmp_path) == ["a.txt"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_nothing_changes_where_writing_fails(tmp_path, error):
    path = tmp_path / "a.txt"
    path.write_text("old")

    def fails():
        with appearing(path) as temporary:
            Path(temporary).write_text("half")
            raise error

    with pytest.raises(error):
        fails()
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_a_link_is_written_through_and_stays_a_link(tmp_path):
    (tmp_path / "there").mkdir()
    target, link = tmp_path / "there" / "real.txt", tmp_path / "link.txt"
    target.write_text("old")
    link.symlink_to(target)
    written(link)
    assert link.is_symlink()
    assert target.read_text() == "new"
    assert sorted(os.listdir(tmp_path)) == ["link.txt", "there"]


def test_a_link_that_leads_nowhere_yet_makes_the_file_it_names(tmp_path):
    link = tmp_path / "link.txt"
    link.symlink_to("later.txt")
    written(link)
    assert link.is_symlink()
    assert (tmp_path / "later.txt").read_text() == "new"


def test_a_hard_link_elsewhere_keeps_what_it_had(tmp_path):
    path, other = tmp_path / "a.txt", tmp_path / "b.txt"
    path.write_text("old")
    os.link(path, other)
    written(path)
    assert (path.read_text(), other.read_text()) == ("new", "old")


def test_folders_and_missing_folders_are_refused(tmp_path):
    with pytest.raises(DataError, match="folder"):
        written(tmp_path)
    with pytest.raises(SourceNotFoundError, match="nowhere"):
        written(tmp_path / "nowhere" / "a.txt")


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EFBIG])
def test_a_disk_without_room_is_said_with_the_name_of_the_file(tmp_path, number):
    with (
        pytest.raises(OSError, match=r"nothing was written: free some space, .*a\.txt") as caught,
        appearing(tmp_path / "a.txt"),
    ):
        raise OSError(number, "no file is named here")
    assert caught.value.errno == number
    assert "\n" not in str(caught.value)
    assert not list(tmp_path.iterdir())


def test_a_pipe_stays_a_pipe(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to(tmp_path / "pipe")
    for name in ("pipe", "link"):
        with pytest.raises(DataError, match="it is a pipe or a device; name a file"):
            written(tmp_path / name)
    assert (tmp_path / "pipe").is_fifo()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "pipe"]


def test_a_path_may_begin_at_home(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    written("~/a.txt")
    assert (tmp_path / "a.txt").exists()


def test_what_a_killed_process_left_is_removed_and_a_running_one_s_is_not(tmp_path):
    path, left = tmp_path / "a.txt", tmp_path / ".a.txt.0123456789ab.part"
    left.write_text("half")
    with appearing(path) as running:
        Path(running).write_text("first")
        written(path, "second")
        assert not left.exists()
        assert os.path.exists(running)
    assert path.read_text() == "first"


def test_permissions_are_those_of_any_other_file(tmp_path):
    before = os.umask(0o027)
    try:
        written(tmp_path / "a.txt")
    finally:
        os.umask(before)
    assert (tmp_path / "a.txt").stat().st_mode & 0o777 == 0o640


def test_removing_takes_what_a_killed_writer_left(tmp_path):
    (tmp_path / "x.kept").write_text("whole")
    (tmp_path / ".x.kept.0123.part").write_text("half")
    (tmp_path / "y.kept").write_text("other")
    remove(tmp_path / "x.kept")
    remove(tmp_path / "none")
    assert [path.name for path in tmp_path.iterdir()] == ["y.kept"]


def test_a_remote_path_is_not_written(tmp_path):
    with pytest.raises(DataError, match="files are written on this machine"), appearing("s3://bucket/x"):
        raise AssertionError
