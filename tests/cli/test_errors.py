"""Whatever goes wrong is one line on standard error that names what is at fault and what to do, and an exit code."""

from __future__ import annotations

import os
import shutil
import subprocess

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import gramian as gm

AT_FAULT = {
    "missing file": (["collect", "paymets.parquet", "-o", "x.moments"], ["paymets.parquet", "payments.parquet?"]),
    "missing file, nothing near": (["inspect", "qqq.zzz"], ["qqq.zzz", "does not exist"]),
    "empty file": (["collect", "empty.csv", "-o", "x.moments"], ["empty.csv", "empty"]),
    "no rows": (["collect", "head.csv", "-o", "x.moments"], ["head.csv", "no rows"]),
    "unknown column": (["collect", "words.csv", "--exclude", "wrd", "-o", "x.moments"], ["'wrd'", "'word'"]),
    "unknown target": (
        ["fit", "words.csv", "-m", "lda", "--target", "langage", "-o", "x"],
        ["'langage'", "'language'"],
    ),
    "unknown target of moments": (
        ["fit", "payments.moments", "-m", "lda", "--target", "frud", "-o", "x"],
        ["'frud'", "'fraud'", "payments.moments"],
    ),
    "unknown column to keep": (
        ["transform", "pca.model", "later.parquet", "--keep", "paymnt", "-o", "x.csv"],
        ["'paymnt'", "'payment'"],
    ),
    "text named as numbers": (["collect", "words.csv", "--numeric", "word", "-o", "x"], ["'word'", "'haus'"]),
    "corrupt model": (["transform", "flipped.model", "later.parquet", "-o", "x.csv"], ["flipped.model", "checksum"]),
    "truncated model": (["transform", "short.model", "later.parquet", "-o", "x.csv"], ["short.model", "truncated"]),
    "no model at all": (["transform", "junk.model", "later.parquet", "-o", "x.csv"], ["junk.model", "gramian fit"]),
    "data for a model": (["transform", "words.csv", "later.parquet", "-o", "x.csv"], ["words.csv", "gramian fit"]),
    "data for moments": (["merge", "words.csv", "-o", "x"], ["words.csv", "gramian collect"]),
    "a model for moments": (["merge", "pca.model", "-o", "x"], ["pca.model", "gramian collect"]),
    "more components than columns": (
        ["fit", "words.csv", "-m", "pca", "-k", "500", "-o", "x"],
        ["-k 500", "design columns"],
    ),
    "no folds for cv": (
        ["fit", "week.moments", "-m", "mfe", "--target", "fraud", "--set", "ridge=cv", "-o", "x"],
        ["--set ridge=cv", "gramian collect --folds 5"],
    ),
    "nothing to predict with": (["predict", "pca.model", "later.parquet", "-o", "x.csv"], ["PCA", "fisher"]),
    "not a part": (["subtract", "monday.moments", "tuesday.moments", "-o", "x"], ["monday", "tuesday"]),
    "moments that do not fit": (
        ["merge", "monday.moments", "words.moments", "-o", "x"],
        ["words.moments", "'when_"],
    ),
    "moments for data": (["transform", "pca.model", "week.moments", "-o", "x.csv"], ["week.moments", "rows"]),
    "moments collected again": (["collect", "week.moments", "-o", "x.moments"], ["week.moments", "holds moments"]),
    "a model collected": (["collect", "pca.model", "-o", "x.moments"], ["pca.model", "holds a model"]),
    "which column are the objects": (
        ["fit", "words.csv", "-m", "mds", "--set", "metric=levenshtein", "-o", "x"],
        ["word, language", "--column", "--set metric=gower"],
    ),
    "texts without a metric": (["fit", "words.txt", "-m", "mds", "-o", "x"], ["--set metric=levenshtein"]),
    "report on no such target": (
        ["report", "pca.model", "--target", "nope", "-o", "x.html"],
        ["'nope'", "pca.model"],
    ),
    "folder of the output": (["collect", "words.csv", "-o", "no/x.moments"], ["no/x.moments", "folder 'no'"]),
    "output is a folder": (["collect", "words.csv", "-o", "days"], ["days", "folder"]),
    "demo over a file": (["demo", "--output", "words.csv"], ["words.csv", "--output"]),
}

WRONG_USAGE = {
    "no values by name": (
        ["fit", "words.txt", "-m", "mds", "--set", "metric=indel", "--set", "metric_params=3", "-o", "x"],
        ["--set metric_params"],
    ),
    "unknown command": (["colect"], ["'colect'", "'collect'"]),
    "unknown option": (["collect", "words.csv", "--exlude", "word", "-o", "x"], ["--exlude", "--exclude"]),
    "missing output": (["collect", "words.csv"], ["--output", "gramian collect --help"]),
    "missing data": (["collect", "-o", "x"], ["DATA"]),
    "no number": (["collect", "words.csv", "--folds", "many", "-o", "x"], ["--folds", "'many'"]),
    "too small a number": (["demo", "--rows", "5"], ["--rows", "5", "2000"]),
    "unknown method": (["fit", "words.csv", "-m", "fischer", "-o", "x"], ["'fischer'", "'fisher'"]),
    "unknown parameter": (["fit", "words.csv", "-m", "pca", "--set", "whitn=true", "-o", "x"], ["'whitn'", "'whiten'"]),
    "parameter without value": (["fit", "words.csv", "-m", "pca", "--set", "whiten", "-o", "x"], ["NAME=VALUE"]),
    "no components": (
        ["fit", "week.moments", "-m", "pca", "-k", "0", "-o", "x"],
        ["-k is none, a whole number", "got 0"],
    ),
    "a word for a number": (
        ["fit", "week.moments", "-m", "pca", "--set", "ddof=foo", "-o", "x"],
        ["--set ddof", "'foo'"],
    ),
    "a word for numbers": (
        ["fit", "week.moments", "-m", "lda", "--target", "fraud", "--set", "priors=foo", "-o", "x"],
        ["--set priors is none or numbers"],
    ),
    "a word for folds": (
        ["fit", "week.moments", "-m", "mfe", "--target", "fraud", "--set", "cv=foo", "-o", "x"],
        ["--set cv is none, a number of folds"],
    ),
    "no target": (["fit", "words.csv", "-m", "fisher", "-o", "x"], ["fisher", "--target"]),
    "rows for distances": (["fit", "week.moments", "-m", "mds", "-o", "x"], ["mds", "moments"]),
    "weights of moments": (["fit", "week.moments", "-m", "pca", "--weights", "fraud", "-o", "x"], ["--weights"]),
    "columns in one option": (
        ["collect", "words.csv", "--exclude", "word,language", "-o", "x"],
        ["'word,language'", "repeat"],
    ),
    "folds by without folds": (["collect", "words.csv", "--fold-by", "word", "-o", "x"], ["--fold-by", "--folds"]),
    "unknown suffix": (["transform", "pca.model", "later.parquet", "-o", "x.xlsx"], ["x.xlsx", ".parquet"]),
    "output over input": (["transform", "pca.model", "later.parquet", "-o", "later.parquet"], ["later.parquet"]),
    "no output at all": (["detect", "density.model", "later.parquet"], ["-o", "--top"]),
    "kept twice": (["detect", "density.model", "score.csv", "--keep", "row", "-o", "x.csv"], ["--keep row"]),
    "unknown view": (["report", "pca.model", "--view", "pca", "-o", "x.html"], ["'pca'", "umap"]),
    "a model is fitted": (["fit", "pca.model", "-m", "pca", "-o", "x"], ["pca.model"]),
}


@pytest.fixture(scope="module")
def broken(files, tmp_path_factory):
    """Files that are at fault, beside those that are not."""
    folder = tmp_path_factory.mktemp("broken")
    shutil.copytree(files, folder, dirs_exist_ok=True)
    whole = (folder / "pca.model").read_bytes()
    flipped = bytearray(whole)
    flipped[len(whole) * 3 // 4] ^= 1
    (folder / "flipped.model").write_bytes(flipped)
    (folder / "short.model").write_bytes(whole[:200])
    (folder / "junk.model").write_bytes(b"no model, only words")
    (folder / "empty.csv").write_bytes(b"")
    (folder / "head.csv").write_text("word,language\n")
    gm.collect(folder / "words.csv").save(folder / "words.moments")
    later = pq.read_table(folder / "later.parquet")
    pyarrow.csv.write_csv(later.append_column("row", pa.array(range(len(later)))), folder / "score.csv")
    return folder


@pytest.mark.parametrize("case", AT_FAULT)
def test_data_at_fault_is_one_line_and_code_1(broken, program, case):
    arguments, words = AT_FAULT[case]
    line = program(*arguments, cwd=broken).at_fault(1)
    assert [word for word in words if word not in line] == []


@pytest.mark.parametrize("case", WRONG_USAGE)
def test_wrong_usage_is_one_line_and_code_2(broken, program, case):
    arguments, words = WRONG_USAGE[case]
    line = program(*arguments, cwd=broken).at_fault(2)
    assert [word for word in words if word not in line] == []


def test_no_error_leaves_a_file_behind(broken):
    assert not [path.name for path in broken.iterdir() if path.name.startswith(("x", ".")) and path.name != "x"]
    assert not (broken / "x").exists()


def test_a_reader_that_goes_away_is_no_crash(program_path, files):
    running = subprocess.Popen(
        [program_path, "methods", "--json"], cwd=files, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    running.stdout.close()
    assert running.stderr.read() == ""
    running.stderr.close()
    assert running.wait(timeout=60) == 1


def test_an_unforeseen_exception_is_one_line_too(files, tmp_path, process):
    # A module that fails to load stands for any bug.
    place = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    (tmp_path / "threadpoolctl.py").write_text("raise RuntimeError('on purpose')")
    line = process("collect", "words.csv", "-o", str(tmp_path / "x"), cwd=files, PYTHONPATH=place).at_fault(1)
    assert "on purpose" in line
    assert "GRAMIAN_TRACEBACK" in line
    shown = process(
        "collect", "words.csv", "-o", str(tmp_path / "x"), cwd=files, PYTHONPATH=place, GRAMIAN_TRACEBACK="1"
    )
    assert "Traceback" in shown.err
