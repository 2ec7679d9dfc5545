"""The installed program in a process of its own, and a folder with the files that commands are tried on."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sysconfig
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import gramian as gm
from gramian.cli.demo.payments import payments

PROGRAM = Path(sysconfig.get_path("scripts")) / "gramian"

WORDS = ["haus", "maus", "laus", "hase", "vase", "nase", "house", "mouse", "louse", "horse", "noise", "voice"]


@dataclass(frozen=True)
class Done:
    """How a run of the program ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    def at_fault(self, code: int) -> str:
        """Return the one line of an error, after checking that there is nothing else."""
        assert self.code == code, self.err
        assert self.out == ""
        assert self.err.count("\n") == 1
        assert self.err.startswith("gramian: ")
        assert "Traceback" not in self.err
        return self.err.removeprefix("gramian: ").rstrip("\n")


def run_program(*arguments: str, cwd: Path, **environment: str) -> Done:
    done = subprocess.run(
        [str(PROGRAM), *arguments],
        cwd=cwd,
        # Another width or colour of the terminal that runs the tests must not change what is compared.
        env={**os.environ, "COLUMNS": "80", "NO_COLOR": "1", **environment},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    return Done(done.returncode, done.stdout, done.stderr)


def make_files(folder: Path) -> None:
    """Write the files that examples and tests name."""
    made = payments(5_000, seed=0)
    pq.write_table(made.earlier, folder / "payments.parquet")
    pq.write_table(made.later, folder / "later.parquet")
    (folder / "days").mkdir()
    for name, start in (("monday", 0), ("tuesday", 2_000)):
        day = made.earlier.slice(start, 2_000)
        pq.write_table(day, folder / "days" / f"{name}.parquet")
        gm.collect(day, exclude="payment", targets="fraud").save(folder / f"{name}.moments")
    gm.collect(made.earlier.slice(0, 4_000), exclude="payment", targets="fraud").save(folder / "week.moments")
    moments = gm.collect(made.earlier, exclude="payment", targets="fraud", folds=5)
    moments.save(folder / "payments.moments")
    gm.save(gm.PCA(5).fit(moments), folder / "pca.model")
    gm.save(gm.FisherDiscriminant().fit(moments, "fraud"), folder / "fisher.model")
    gm.save(gm.DensityEmbedding().fit(moments), folder / "density.model")
    languages = ["de"] * 6 + ["en"] * 6
    lines = [f"{word},{language}" for word, language in zip(WORDS, languages, strict=True)]
    (folder / "words.csv").write_text("\n".join(["word,language", *lines]) + "\n")
    (folder / "words.txt").write_text("\n".join(WORDS) + "\n")


@pytest.fixture(scope="session")
def program_path() -> Path:
    """Where the installed program is."""
    assert PROGRAM.exists(), "the program is not installed: pip install -e ."
    return PROGRAM


@pytest.fixture(scope="session")
def program(program_path: Path) -> Callable[..., Done]:
    """Run the program in any folder, `cwd`."""
    return run_program


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of files that no test changes."""
    folder = tmp_path_factory.mktemp("files")
    make_files(folder)
    return folder


@pytest.fixture
def folder(files: Path, tmp_path: Path) -> Path:
    """A folder of one's own with the same files."""
    shutil.copytree(files, tmp_path, dirs_exist_ok=True)
    return tmp_path


@pytest.fixture
def gramian(folder: Path, program_path: Path) -> Callable[..., Done]:
    """Run the program in that folder."""

    def run(*arguments: str, **environment: str) -> Done:
        return run_program(*arguments, cwd=folder, **environment)

    return run
