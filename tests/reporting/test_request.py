"""What is passed is sorted into moments, models, a target and rows, or refused in one line."""

from __future__ import annotations

from types import SimpleNamespace

import pyarrow as pa
import pytest

import gramian as gm
from gramian.errors import ColumnError, DataError
from gramian.reporting.report import summary
from gramian.reporting.request import VIEWS, request_of


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"view": "pca"}, "view is None, 'tsne' or 'umap'; got 'pca'"),
        ({"max_rows": 0}, "max_rows"),
        ({"target": ["fraud"]}, "target is the name"),
        ({"target": "fraudd"}, "did you mean 'fraud'"),
        ({"view": "umap"}, "pass them as data="),
    ],
)
def test_a_wrong_argument_is_named(made: SimpleNamespace, arguments: dict, said: str) -> None:
    with pytest.raises(DataError, match=said):
        summary(made.moments, **arguments)


def test_rows_without_a_column_of_the_model_are_refused_by_name(made: SimpleNamespace) -> None:
    with pytest.raises(ColumnError, match="'city'"):
        summary(made.models["pca"], made.new.drop(["city"]))


def test_two_sets_of_moments_are_refused(made: SimpleNamespace) -> None:
    with pytest.raises(DataError, match="merge"):
        summary([made.moments, made.moments])


def test_rows_in_a_list_of_models_are_refused(made: SimpleNamespace) -> None:
    with pytest.raises(DataError, match="data="):
        summary([made.models["pca"], made.new])


def test_an_unfitted_model_is_refused() -> None:
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError):
        summary(gm.PCA())


def test_a_generator_is_collected_and_its_rows_are_gone(made: SimpleNamespace) -> None:
    found = summary(made.features.slice(k, 2000) for k in (0, 2000, 4000))
    assert found["read"]["n_rows"] == made.features.num_rows
    assert "rows" in found["absent"]
    with pytest.raises(DataError, match="only once"):
        summary(made.moments, iter([made.features]))


def test_the_target_is_that_of_the_models(made: SimpleNamespace) -> None:
    assert request_of(made.models["pca"]).target == "fraud"
    assert request_of(made.moments).target is None
    assert VIEWS[0] is None


def test_a_date_is_no_target_of_rows_or_moments() -> None:
    table = pa.table({"x": [1.0, 2.0, 4.0], "day": pa.array([0, 40, 80], pa.date32())})
    for source in (table, gm.collect(table)):
        with pytest.raises(DataError, match="target 'day' is a date or time; name one of its parts: 'day_dayofweek'"):
            request_of(source, target="day")
        assert request_of(source, target="day_month").target == "day_month"
