"""A tab offers commands, methods, their parameters, and the columns of the data named so far."""

from __future__ import annotations

import pytest

COLUMNS = ["category", "country", "currency", "card", "city"]

CASES = {
    "gramian co": ["collect", "compare"],
    "gramian fit x --method mds": ["mds", "mdsfda"],
    "gramian fit x --method lda": ["lda"],
    "gramian fit x --method pca --set wh": ["whiten="],
    "gramian collect payments.parquet --exclude c": COLUMNS,
    "gramian collect payments.parquet --categorical c": COLUMNS,
    "gramian collect payments.parquet -o x --numeric log_b": ["log_balance"],
    "gramian collect payments.parquet --fold-by c": COLUMNS,
    "gramian collect payments.parquet --weights log_g": ["log_gap"],
    "gramian collect words.csv --targets l": ["language"],
    "gramian fit payments.moments --target fr": ["fraud"],
    "gramian fit words.csv -m mds --column w": ["word"],
    "gramian transform pca.model later.parquet --keep pay": ["payment"],
    "gramian detect density.model later.parquet --top 3 --keep pay": ["payment"],
    "gramian report pca.model --target cit": ["city"],
    "gramian fit nowhere.csv --target c": [],
    "gramian methods wh": ["whitening"],
}


@pytest.mark.parametrize("line", CASES)
def test_a_tab_offers(program, files, line):
    place = {"COMP_WORDS": line, "COMP_CWORD": str(len(line.split()) - 1), "_GRAMIAN_COMPLETE": "complete_bash"}
    done = program(cwd=files, **place)
    assert done.out.split() == CASES[line]
    assert done.err == ""


def test_the_installed_program_completes_too(process, files):
    line = "gramian fit payments.moments --target fr"
    place = {"COMP_WORDS": line, "COMP_CWORD": "4", "_GRAMIAN_COMPLETE": "complete_bash"}
    assert process(cwd=files, **place).out.split() == ["fraud"]


def test_the_shells_get_their_scripts(program, files):
    for shell in ("bash", "zsh", "fish"):
        assert "_GRAMIAN_COMPLETE" in program("--show-completion", shell, cwd=files).out
