"""Tables with everything that exports must get right, and a PostgreSQL server where one is installed."""

from __future__ import annotations

import datetime
import glob
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

WORDS = [
    "red",
    "it's",
    '"q"',
    "",
    "ünï",
    "😀",
    "back\\slash",
    "(missing)",
    "new\nline",
    "1",
    "a\0b",
    "gm_t.",
    "%s {0} $1",
]
START = datetime.datetime(1965, 1, 1)
FEATURES = ["color", "flag", "small", "size", "far", "skew", "twin", "when", "wide"]


def rows_of(seed: int, n: int, *, unseen: bool = False, words: list[str] = WORDS) -> pa.Table:
    """Return rows with text, booleans, whole numbers, missing and skewed numbers, times and a column of many levels."""
    rng = np.random.default_rng(seed)

    def gaps(values: list[Any], gap: Any = None) -> list[Any]:
        return [gap if rng.random() < 0.1 else value for value in values]

    words = [*words, "never seen"] if unseen else words
    size = rng.normal(size=n)
    flag = rng.random(n) < 0.4 + 0.3 * (size > 0)
    columns = {
        "color": gaps([words[k] for k in (rng.integers(0, len(words), n) * (0.3 + 0.7 * flag)).astype(int)]),
        "flag": gaps(flag.tolist()),
        "small": gaps(rng.integers(0, 5 + unseen, n).tolist()),
        "size": gaps(size.tolist(), float("nan")),
        "far": (1e8 + size + 0.2 * rng.normal(size=n)).tolist(),
        "skew": np.exp(rng.normal(size=n)).tolist(),
        "twin": (size + 0.5 * rng.normal(size=n)).tolist(),
        "when": gaps([START + datetime.timedelta(hours=int(h), seconds=7) for h in rng.integers(0, 900_000, n)]),
        "wide": [f"w{k}" for k in rng.integers(0, 60 + 5 * unseen, n)],
        "price": (size + rng.normal(size=n)).tolist(),
        "kind": [["a", "b", "it's"][k] for k in rng.integers(0, 3, n)],
        "bought": (size + rng.normal(size=n) > 0).tolist(),
        "claims": rng.poisson(2, n).tolist(),
    }
    return pa.table(columns)


@pytest.fixture(scope="session")
def training() -> pa.Table:
    return rows_of(1, 500)


@pytest.fixture(scope="session")
def later() -> pa.Table:
    return rows_of(2, 150, unseen=True)


def _binaries() -> str | None:
    found = shutil.which("pg_ctl", path=os.pathsep.join(sorted(glob.glob("/usr/lib/postgresql/*/bin"))))
    return None if found is None else os.path.dirname(found)


@pytest.fixture(scope="session")
def postgres() -> Iterator[Any]:
    """A connection to a server of its own, on a socket in a temporary folder."""
    psycopg = pytest.importorskip("psycopg", reason="psycopg is not installed", exc_type=ImportError)
    folder_of_programs = _binaries()
    if folder_of_programs is None:
        pytest.skip("no PostgreSQL server is installed")
    user: dict[str, Any] = {}
    if os.getuid() == 0:
        # The server refuses to run as root.
        names = {each.pw_name for each in pwd.getpwall()}
        user = {"user": "postgres" if "postgres" in names else "nobody"}
    folder = tempfile.mkdtemp(prefix="gm_pg")
    if user:
        shutil.chown(folder, user["user"])
    data = os.path.join(folder, "data")

    def run(*command: str) -> None:
        subprocess.run(
            [os.path.join(folder_of_programs, command[0]), *command[1:]],
            check=True, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=60, **user,
        )  # fmt: skip

    try:
        run("initdb", "-D", data, "-A", "trust", "-U", "tester", "--no-sync", "-E", "UTF8", "--locale=C")
        run("pg_ctl", "-D", data, "-w", "-l", os.path.join(folder, "log"),
            "-o", f"-k {folder} -c listen_addresses='' -c fsync=off", "start")  # fmt: skip
    except (OSError, subprocess.SubprocessError) as error:
        shutil.rmtree(folder, ignore_errors=True)
        pytest.skip(f"the PostgreSQL server does not start here: {error}")
    try:
        with psycopg.connect(f"host={folder} user=tester dbname=postgres") as connection:
            yield connection
    finally:
        run("pg_ctl", "-D", data, "-m", "immediate", "stop")
        shutil.rmtree(folder, ignore_errors=True)
