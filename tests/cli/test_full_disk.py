"""A full disk is one clear line, and leaves no file behind."""

from __future__ import annotations

import os
import subprocess

import pytest


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 64 kB."""
    if os.geteuid() != 0:
        pytest.skip("mounting a small file system takes root")
    place = tmp_path / "small"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(place)]
    done = subprocess.run(mount, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"mounting a small file system is not permitted here: {done.stderr.strip()}")
    yield place
    # What failed may hold a file until it is collected: the file system goes when nobody does.
    subprocess.run(["umount", "--lazy", str(place)], check=True)


COMMANDS = {
    "transform": ["transform", "pca.model", "payments.parquet", "-o", "{}/x.csv"],
    "detect": ["detect", "density.model", "payments.parquet", "-o", "{}/x.arrow"],
    "collect": ["collect", "payments.parquet", "-o", "{}/x.moments"],
    "fit": ["fit", "payments.moments", "-m", "density", "-o", "{}/x.model"],
    "report": ["report", "payments.moments", "-o", "{}/x.html"],
}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_full_disk_is_one_line(program, files, small_disk, command):
    line = program(*(word.format(small_disk) for word in COMMANDS[command]), cwd=files).at_fault(1)
    assert "disk is full" in line
    assert list(small_disk.iterdir()) == []
