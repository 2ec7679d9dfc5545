"""The demo does the whole job: what it claims holds, its files are there, and a seed gives the same again."""

from __future__ import annotations

import shlex

import pyarrow.parquet as pq
import pytest


@pytest.fixture(scope="module")
def told(program, tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo")
    done = program("demo", "--rows", "20000", cwd=folder)
    assert done.code == 0, done.err
    return folder, done.out


def test_the_demo_writes_what_it_says(told):
    folder, out = told
    written = {path.name for path in (folder / "gramian-demo").iterdir()}
    models = {"mahalanobis.model", "pca.model", "fisher.model", "density.model"}
    data = {"payments.parquet", "later.parquet", "payments.moments", "features.parquet", "report.html"}
    assert written == models | data
    assert [name for name in written if name not in out] == []
    features = pq.read_table(folder / "gramian-demo" / "features.parquet")
    later = pq.read_table(folder / "gramian-demo" / "later.parquet")
    assert features.column_names[:4] == ["payment", "fraud", "mahalanobisfeatures0", "pca0"]
    assert features["payment"].to_pylist() == later["payment"].to_pylist()


def test_what_to_try_next_runs_as_printed(told, program):
    folder, out = told
    lines = [line.strip() for line in out.splitlines() if line.startswith("  gramian ")]
    assert len(lines) >= 3
    for line in lines:
        done = program(*shlex.split(line)[1:], cwd=folder)
        assert done.code == 0, f"{line}: {done.err}"


def test_the_demo_beats_the_plain_detector_and_keeps_the_signal(program, tmp_path):
    found = program("demo", "--rows", "40000", "--seed", "3", "--json", "--output", "d", cwd=tmp_path).json
    detection = found["detection"]
    assert detection["new_found"] == detection["new"] > 0
    ours, plain = detection["auc"]["density embedding"], detection["auc"]["rare values (-log frequency)"]
    assert ours > plain + 0.1
    auc = {row["model"]: row["auc"] for row in found["prediction"]}
    wide, one = auc["one-hot columns, logistic regression"], auc["Mahalanobis feature, logistic regression"]
    assert one > wide - 0.03
    assert one > 0.75
