"""The program, in this process or in one of its own, and a folder with the files that commands are tried on."""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow.csv import write_csv

import gramian as gm
from gramian.cli.payments import payments
from gramian.cli.running import run

PROGRAM = Path(sysconfig.get_path("scripts")) / "gramian"

# Another width or colour of the terminal that runs the tests must not change what is compared.
PLAIN = {"COLUMNS": "80", "NO_COLOR": "1"}

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

    def ok(self) -> Done:
        """Return this, after checking that it ended well and without a complaint."""
        assert self.code == 0, self.err
        assert self.err == ""
        return self

    def at_fault(self, code: int) -> str:
        """Return the one line of an error, after checking that there is nothing else."""
        assert self.code == code, self.err
        assert self.out == ""
        assert self.err.count("\n") == 1
        assert self.err.startswith("gramian: ")
        assert "Traceback" not in self.err
        return self.err.removeprefix("gramian: ").rstrip("\n")


def run_in_process(*arguments: str, cwd: Path, stdout: io.StringIO | None = None, **environment: str) -> Done:
    """Run the program as an installed one would, its standard output and error caught."""
    out, err = io.StringIO() if stdout is None else stdout, io.StringIO()
    with (
        pytest.MonkeyPatch.context() as patch,
        # The program shows warnings in a way of its own, and pytest makes errors of them: both end with the run.
        warnings.catch_warnings(),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        warnings.resetwarnings()
        warnings.simplefilter("ignore", (DeprecationWarning, PendingDeprecationWarning, ResourceWarning))
        patch.chdir(cwd)
        patch.setattr(sys, "argv", [str(PROGRAM), *arguments])
        for name, value in {**PLAIN, **environment}.items():
            patch.setenv(name, value)
        try:
            code = run(list(arguments))
        except SystemExit as end:
            code = int(end.code or 0)
    return Done(code, out.getvalue(), err.getvalue())


def run_process(*arguments: str, cwd: Path, **environment: str) -> Done:
    """Run the installed program in a process of its own."""
    done = subprocess.run(
        [str(PROGRAM), *arguments],
        cwd=cwd,
        env={**os.environ, **PLAIN, **environment},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    return Done(done.returncode, done.stdout, done.stderr)


def make_files(folder: Path) -> None:
    """Write the files that examples and tests name."""
    with pytest.MonkeyPatch.context() as patch:
        # Hundreds of merchants make every fit and report slower, and no test stricter.
        patch.setattr("gramian.cli.payments.N_MERCHANTS", 40)
        made = payments(5_000, seed=0)
    pq.write_table(made.earlier, folder / "payments.parquet")
    write_csv(made.earlier, folder / "payments.csv")
    pq.write_table(made.later, folder / "later.parquet")
    merchants = made.earlier.column("merchant").unique().drop_null()
    staff = pa.array([len(name) for name in merchants.to_pylist()])
    chain = pa.array([name.split()[0] for name in merchants.to_pylist()])
    write_csv(pa.table({"merchant": merchants, "staff": staff, "chain": chain}), folder / "merchants.csv")
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


@pytest.fixture(scope="module", autouse=True)
def _quick_p_values(few_tables: None) -> None:
    """A report tests every column."""


@pytest.fixture(scope="session")
def program_path() -> Path:
    """Where the installed program is."""
    assert PROGRAM.exists(), "the program is not installed: pip install -e ."
    return PROGRAM


@pytest.fixture(scope="session")
def process(program_path: Path) -> Callable[..., Done]:
    """Run the installed program in any folder, `cwd`, in a process of its own."""
    return run_process


@pytest.fixture(scope="session")
def program() -> Callable[..., Done]:
    """Run the program in any folder, `cwd`."""
    return run_in_process


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
def gramian(folder: Path) -> Callable[..., Done]:
    """Run the program in that folder."""
    return partial(run_in_process, cwd=folder)
