"""The demo does the whole job: what it claims holds, its files are there, and a seed gives the same again."""

from __future__ import annotations

import shlex

import numpy as np
import pyarrow.parquet as pq
import pytest

import gramian as gm
from gramian.cli.demo.payments import payments


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


def test_the_same_seed_gives_the_same_payments():
    a, b, c = (payments(3_000, seed) for seed in (1, 1, 2))
    assert a.earlier.equals(b.earlier)
    assert a.later.equals(b.later)
    assert not a.earlier.equals(c.earlier)


def test_planted_rows_are_what_they_are_said_to_be():
    made = payments(50_000, seed=0)
    moments = gm.collect(made.earlier)
    known = set(moments.levels("merchant"))
    new = np.array([name not in known for name in made.later["merchant"].to_pylist()])
    assert (new == made.new).all()
    pairs = {(a, b) for a, b in zip(made.earlier["entry"].to_pylist(), made.earlier["device"].to_pylist(), strict=True)}
    odd = made.later.filter(made.odd)
    assert not pairs & set(zip(odd["entry"].to_pylist(), odd["device"].to_pylist(), strict=True))
    # Every value of an odd row is one the year before had often: it is the company that is odd.
    for name in ("entry", "device", "currency", "issuer"):
        counts = dict(zip(moments.levels(name), moments.counts(name), strict=True))
        assert min(counts[value] for value in odd[name].to_pylist()) > 50
