"""The scree is the spectrum, and each criterion keeps what a fit under it would."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

import gramian as gm
from gramian.reporting.report import summary
from gramian.reporting.sections.components import ABOUT


def test_scree_is_the_spectrum_and_each_criterion_keeps_what_a_fit_would(whole: dict, made: SimpleNamespace) -> None:
    scree = whole["scree"]
    shares = [row["share"] for row in scree["components"]]
    full = gm.PCA().fit(made.moments, y="fraud")
    assert shares == pytest.approx(full.explained_variance_ratio_[: len(shares)], rel=1e-5)
    assert scree["n_components"] == full.n_components_
    chosen = {entry["rule"]: entry["k"] for entry in scree["chosen"]}
    assert chosen.pop("kept") == 6
    assert set(chosen) == {"elbow", "mle", "parallel", "cv"}
    for rule, k in chosen.items():
        assert gm.PCA(rule).fit(made.moments, y="fraud").n_components_ == k, rule


def test_a_model_chosen_by_a_rule_says_so_when_it_was_loaded(made: SimpleNamespace, tmp_path: Path) -> None:
    gm.save(gm.PCA("parallel").fit(made.moments, y="fraud"), tmp_path / "pca.model")
    chosen = {entry["rule"] for entry in summary(gm.load(tmp_path / "pca.model"))["scree"]["chosen"]}
    assert chosen == {"elbow", "mle", "parallel", "kept"}


def test_the_spectrum_of_distances_is_that_of_the_model(words: SimpleNamespace) -> None:
    found = summary(words.mds)["scree"]
    positive = words.mds.eigenvalues_[words.mds.eigenvalues_ > 1e-12 * words.mds.eigenvalues_[0]]
    assert found["n_components"] == len(positive)
    assert [row["variance"] for row in found["components"]] == pytest.approx(positive[:30], rel=1e-5)
    assert found["components"][-1]["cumulative"] <= 1
    assert found["chosen"] == [{"rule": "kept", "k": 2, "about": ABOUT["kept"]}]
