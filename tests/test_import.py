"""Importing the package is cheap: heavy modules load when a name is first used."""

from __future__ import annotations

import subprocess
import sys

import pytest

import gramian


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout


def test_import_leaves_heavy_modules_alone() -> None:
    loaded = set(run("import sys, gramian; print(*sys.modules)").split())
    assert "gramian" in loaded
    assert not loaded & {"numpy", "sklearn", "numba", "pyarrow", "scipy", "pandas", "polars", "duckdb"}


def test_optional_packages_are_not_loaded_by_a_collect_that_needs_none() -> None:
    code = "import sys, numpy, gramian; gramian.collect(numpy.ones((3, 2))); print(*sys.modules)"
    loaded = set(run(code).split())
    assert not loaded & {"pandas", "polars", "duckdb", "torch", "dask", "pyspark"}


def test_moments_are_inspected_without_the_compiler_and_without_scipy(tmp_path) -> None:
    path = str(tmp_path / "x.moments")
    gramian.collect({"color": ["red", "blue", "red"], "size": [1.0, 2.0, 4.0]}).save(path)
    code = f"import sys; from gramian.cli import main; sys.argv = ['gramian', 'inspect', {path!r}]; "
    code += "end = None\ntry:\n    main()\nexcept SystemExit as end:\n    assert not end.code\nprint(*sys.modules)"
    shown = run(code)
    assert "3 rows, 2 columns" in shown
    assert not set(shown.split()) & {"numba", "scipy", "sklearn", "pandas", "joblib"}


def test_import_takes_no_longer_than_scikit_learns() -> None:
    clock = "import time; start = time.perf_counter(); import {}; print(time.perf_counter() - start)"
    # Best of several: what is compared is the work of an import, not the load of the machine.
    ours = min(float(run(clock.format("gramian"))) for _ in range(2))
    theirs = min(float(run(clock.format("sklearn"))) for _ in range(2))
    assert ours <= 1.3 * theirs


def test_every_public_name_is_there() -> None:
    for name in gramian.__all__:
        assert getattr(gramian, name) is not None
        assert name in dir(gramian)


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(AttributeError, match="'colect'"):
        gramian.colect  # noqa: B018
