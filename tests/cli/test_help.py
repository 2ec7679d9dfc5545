"""Help answers at once, has an example for every command, and every example runs as printed."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from gramian.cli.program import COMMANDS, Command, build

NAMES = list(COMMANDS)
ROOT = Path(__file__).parents[2]
PAGES = {"README.md": 5, "docs/command-line.md": 20}
"""A page with commands -> how many it has at least."""
HEAVY = ("numpy", "scipy", "pandas", "pyarrow", "sklearn", "numba", "rich")


def examples_of(page: str) -> list[str]:
    return re.findall(r"^  (gramian .*)$", page.partition("Examples:\n")[2], re.MULTILINE)


def test_there_is_a_command_for_each_of_the_contract():
    wanted = (
        "demo collect merge subtract compare attach select fit transform predict detect export report inspect methods"
    )
    assert wanted.split() == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_every_example_of_the_help_runs_as_printed(gramian, name):
    page = gramian(name, "--help").out
    assert max(map(len, page.splitlines())) <= 80
    lines = examples_of(page)
    assert lines
    for line in lines:
        words = shlex.split(line)[1:]
        if name == "demo":
            words += ["--rows", "3000"]
        done = gramian(*words)
        assert done.code == 0, f"{line}: {done.err}"


def test_help_names_arguments_as_people_do(gramian):
    assert all(isinstance(command, Command) for command in build().commands.values())
    page = gramian("fit", "--help").out
    assert "Arguments:\n  DATA  " in page
    assert "TEXT" not in page


def commands_in(page: Path) -> list[str]:
    lines = [line.strip() for line in page.read_text().splitlines()]
    return [line for line in lines if line.startswith("gramian ")]


@pytest.mark.parametrize("page", PAGES)
def test_every_command_of_the_pages_runs_as_printed(gramian, page):
    lines = commands_in(ROOT / page)
    assert len(lines) >= PAGES[page]
    for line in lines:
        words = shlex.split(line, comments=True)[1:]
        if words == ["demo"]:
            words += ["--rows", "3000"]
        done = gramian(*words)
        assert done.code == 0, f"{line}: {done.err}"


def test_help_loads_nothing_heavy(files):
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "gramian", "--help"],
        cwd=files,
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert not loaded & set(HEAVY)


def test_help_answers_in_half_a_second(program_path, files):
    code = (
        "import resource, subprocess, sys\n"
        "subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)\n"
        "used = resource.getrusage(resource.RUSAGE_CHILDREN)\n"
        "print(used.ru_utime + used.ru_stime)"
    )
    # Processor time and the best of several: what is measured is the program, not the load of the machine.
    times = [
        float(subprocess.check_output([sys.executable, "-c", code, program_path, "--help"], cwd=files, text=True))
        for _ in range(2)
    ]
    assert min(times) < 0.5
