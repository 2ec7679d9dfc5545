"""Every example runs as it stands, without a screen."""

import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parent.parent / "examples").glob("*.py"))


def test_there_are_examples():
    assert EXAMPLES


# Dask itself uses what pandas is about to remove.
@pytest.mark.filterwarnings("ignore:The inplace keyword")
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_runs(path, tmp_path, monkeypatch, capsys):
    """In this process, with modules and compiled loops that are there already: an example needs no process of its own."""
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.switch_backend("Agg")
    if "fastapi" in path.stem:
        pytest.importorskip("fastapi")
        pytest.importorskip("httpx")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [str(path)])
    # Without a screen, a call to show would warn.
    monkeypatch.setattr(plt, "show", lambda: None)
    try:
        runpy.run_path(str(path))
        assert not path.stem.startswith("plot_") or plt.get_fignums(), "an example of the gallery has a picture"
    finally:
        plt.close("all")
    assert capsys.readouterr().out.strip()


def test_an_example_runs_in_a_process_of_its_own(tmp_path):
    path = next(path for path in EXAMPLES if path.stem == "plot_lecture_klt")
    environment = os.environ | {"MPLBACKEND": "Agg"}
    done = subprocess.run(
        [sys.executable, path], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()
