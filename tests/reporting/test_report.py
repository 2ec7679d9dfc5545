"""A report: saved whole or not at all, shown in a notebook, made from its summary alone."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pytest

import gramian as gm
from gramian.errors import GramianError, SourceNotFoundError
from gramian.reporting import report
from gramian.reporting.report import Report


def test_the_page_is_made_from_the_summary_alone(made_report: Report) -> None:
    again = Report(json.loads(json.dumps(made_report.summary)))
    assert again.html() == made_report.html()


def test_save_writes_the_page_whole_and_replaces_what_was_there(made_report: Report, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text("old")
    made_report.save(path)
    assert path.read_text(encoding="utf-8") == made_report.html()
    assert [p.name for p in tmp_path.iterdir()] == ["report.html"]


def test_save_leaves_nothing_behind_where_it_fails(made_report: Report, tmp_path: Path) -> None:
    with pytest.raises(SourceNotFoundError, match="does not exist"):
        made_report.save(tmp_path / "none" / "report.html")
    with pytest.raises(GramianError, match="folder"):
        made_report.save(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_public_names_give_the_report_and_its_summary(made: SimpleNamespace) -> None:
    assert gm.report is report
    assert gm.report.summary(made.moments)["read"]["n_rows"] == made.features.num_rows
    assert "save('report.html')" in repr(gm.report(made.moments))


def test_estimators_keep_scikit_learns_own_html(made: SimpleNamespace) -> None:
    assert "sk-estimator" in made.models["pca"]._repr_html_()


def test_a_summary_loads_neither_charts_nor_maps() -> None:
    code = (
        "import sys, gramian as gm, pyarrow as pa\n"
        "gm.report(pa.table({'a': ['u', 'v'] * 9, 'b': ['r', 's', 's'] * 6}))\n"
        "print(*sys.modules)"
    )
    loaded = set(
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    )
    assert not loaded & {"altair", "jinja2", "vl_convert", "openTSNE", "umap"}


def test_a_model_of_objects_is_reported_with_a_table_that_describes_them() -> None:
    words, classes = ["aab", "aba", "baa", "aabb", "xyz", "yxz", "zyx", "xyyz"], list("aaaaxxxx")
    table = pa.table({"word": words, "class": classes, "length": [float(len(word)) for word in words]})
    model = gm.MDSFDA(1, metric="levenshtein").fit(words, classes)
    assert gm.report(model, data=table).summary["rows"]
    mixed = gm.MDSFDA(1, metric="gower").fit(table, "class")
    assert gm.report(mixed, data=table).summary["rows"]
    vectors = [[0.0, 1.0], [0.5, 1.0], [3.0, 4.0], [3.5, 4.0]]
    assert gm.report(gm.ClassicalMDS(1, metric="euclidean").fit(vectors), data=vectors).summary["rows"]
    with pytest.raises(GramianError, match="describes the objects, one row each; got objects"):
        gm.report(model, data=words)
    distances = gm.pairwise_distances(words, metric="levenshtein")
    with pytest.raises(GramianError, match="got a matrix of distances"):
        gm.report(gm.MDSFDA(1).fit(distances, classes), data=distances)
