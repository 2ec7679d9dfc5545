"""`gramian collect` writes what `gramian.collect` collects, and says what it saw."""

from __future__ import annotations

import shutil

import gramian as gm


def test_collect_writes_what_the_library_collects(gramian, folder):
    arguments = ["--exclude", "payment", "--targets", "fraud", "--folds", "3", "--fold-by", "city", "--jobs", "1"]
    done = gramian("collect", "days", *arguments, "--weights", "log_gap", "-o", "x.moments").ok()
    expected = gm.collect(
        folder / "days", exclude="payment", targets="fraud", folds=3, fold_by="city", sample_weight="log_gap"
    )
    found = gm.Moments.load(folder / "x.moments")
    assert found.isclose(expected)
    assert len(found.folds) == 3
    assert "merchant" in done.out
    assert done.out.splitlines()[-2:] == [
        "wrote x.moments",
        "next: gramian fit x.moments --method mahalanobis --target fraud -o x.model",
    ]
    assert max(map(len, done.out.splitlines())) <= 120


def test_collect_counts_numbers_in_bins(gramian, folder):
    gramian("collect", "payments.parquet", "--bins", "5", "-o", "x.moments").ok()
    assert gm.Moments.load(folder / "x.moments") == gm.collect(folder / "payments.parquet", bins=5)
    assert (
        "'few' is not a whole number" in gramian("collect", "payments.parquet", "--bins", "few", "-o", "y.moments").err
    )


def test_collect_crosses_columns(gramian, folder):
    arguments = ["--bins", "4", "--crosses", "city,log_gap", "--crosses", "city,country", "-o", "x.moments"]
    gramian("collect", "payments.parquet", *arguments).ok()
    expected = gm.collect(folder / "payments.parquet", bins=4, crosses=[("city", "log_gap"), ("city", "country")])
    assert gm.Moments.load(folder / "x.moments") == expected
    for given, words in (("city", "is not two columns with a comma"), ("city,town", "town")):
        done = gramian("collect", "payments.parquet", "--crosses", given, "-o", "y.moments")
        assert words in done.err
        assert done.code in (1, 2)
        assert not (folder / "y.moments").exists()


def test_collect_says_as_json_what_it_saw(gramian):
    arguments = ["--categorical", "fraud", "--numeric", "log_gap", "--json"]
    found = gramian("collect", "payments.parquet", *arguments, "-o", "x.moments").ok().json
    assert found["n_rows"] == 4_000
    kinds = {column["name"]: column["kind"] for column in found["columns"]}
    assert (kinds["fraud"], kinds["log_gap"], kinds["when_hour"]) == ("categorical", "numeric", "categorical")


def test_collect_like_enforces_columns_and_kinds(gramian, folder):
    gramian("collect", "later.parquet", "--like", "payments.moments", "-o", "x.moments").ok()
    assert gm.load(folder / "x.moments").columns == gm.load(folder / "payments.moments").columns


def test_an_interrupted_collect_says_how_to_go_on_and_then_does(gramian, folder, monkeypatch):
    from gramian.cli.running import Stopped
    from gramian.engines import checkpoint, local

    monkeypatch.setattr(local, "STRETCH_ROWS", 2**11)
    for k in range(9):
        shutil.copy(folder / "payments.parquet", folder / f"part{k}.parquet")
    arguments = [
        "collect",
        *[f"part{k}.parquet" for k in range(9)],
        "--folds",
        "2",
        "-o",
        "x.moments",
        "--checkpoint",
        "x.kept",
    ]
    begin = checkpoint.Checkpoint.begin

    def often(self, table, encoder):
        self.seconds, self.segment_ns, self.share = 0.0, 0.0, float("inf")
        return begin(self, table, encoder)

    write = checkpoint.KeptProgress._write

    def stopped(self, *state):
        write(self, *state)
        raise Stopped(2)

    monkeypatch.setattr(checkpoint.Checkpoint, "begin", often)
    with monkeypatch.context() as patch:
        patch.setattr(checkpoint.KeptProgress, "_write", stopped)
        done = gramian(*arguments)
    assert done.code == 130
    assert done.err.startswith("gramian: interrupted; progress up to row ")
    assert done.err.endswith(" is kept: the same gramian collect --checkpoint x.kept goes on from there\n")
    assert not (folder / "x.moments").exists()
    assert "keeps the progress of a pass" in gramian("inspect", "x.kept").at_fault(1)
    other = gramian(*arguments[:1], *arguments[2:]).at_fault(1)
    assert "of 9 files, and there are 8 now; delete it to begin anew" in other
    gramian(*arguments).ok()
    assert gm.load(folder / "x.moments").n_rows == 36_000
    assert not (folder / "x.kept").exists()


def test_the_checkpoint_is_not_the_output(gramian):
    line = gramian("collect", "payments.parquet", "-o", "x.moments", "--checkpoint", "x.moments").at_fault(2)
    assert "give each a file of its own" in line
