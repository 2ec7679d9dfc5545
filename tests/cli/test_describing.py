"""Moments and models as plain data, and in words."""

from __future__ import annotations

import json

import numpy as np

import gramian as gm
from gramian.cli.describing import describe_model, describe_moments, describe_preview, in_words, show_moments
from gramian.cli.printing import plain


def test_descriptions_are_plain_data(files):
    moments, model = gm.load(files / "payments.moments"), gm.load(files / "fisher.model")
    for described in (
        describe_moments(moments),
        describe_model(model),
        describe_preview(gm.preview(str(files / "words.csv")), "words.csv"),
    ):
        assert json.loads(json.dumps(plain(described), allow_nan=False))["kind"] == described["kind"]


def test_a_model_is_described_by_what_it_learned(files):
    model = gm.load(files / "fisher.model")
    described = describe_model(model)
    assert described["class"] == "FisherDiscriminant"
    assert described["n_design_columns"] == len(model.design_names_)
    assert described["features"] == ["fisherdiscriminant0"]
    np.testing.assert_array_equal(described["learned"]["criterion_"], model.criterion_)
    assert "design_names_" not in described["learned"]


def test_attributes_read_as_words():
    assert in_words("r2_cv_") == "R² on held-out folds"
    assert in_words("n_iter_") == "number of iter"
    assert in_words("some_thing_") == "some thing"


def test_many_columns_are_counted_and_not_all_shown(capsys):
    show_moments(gm.collect(np.zeros((3, 50))))
    out = capsys.readouterr().out
    assert "... and 10 more columns; --json lists all" in out
    assert out.startswith("3 rows, 50 columns")
