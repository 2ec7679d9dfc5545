"""The map of objects: where the fit put them, in the colours of their classes, with what describes them."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from gramian.errors import DataError
from gramian.reporting.report import summary
from gramian.reporting.sections.distance_models import AXES


def test_objects_lie_where_the_model_put_them(words: SimpleNamespace) -> None:
    found = summary(words.mds)["rows"]
    assert found["features"][0]["values"] == pytest.approx(words.mds.embedding_[:, 0], rel=1e-3, abs=1e-6)
    assert found["columns"][0]["values"] == words.objects
    assert found["colours"] == []
    assert len(found["features"]) <= AXES


def test_objects_have_the_colours_of_their_classes(words: SimpleNamespace) -> None:
    found = summary(words.fda)["rows"]
    colour = found["colours"][0]
    assert colour["levels"] == ["late letters", "early letters"]
    assert [colour["levels"][code] for code in colour["codes"]] == words.classes
    # A single axis is spread out by class.
    apart = np.array(found["features"][1]["values"])
    assert apart[:25].max() < apart[25:].min()


def test_a_table_that_describes_the_objects_is_shown_with_them(words: SimpleNamespace) -> None:
    found = summary(words.mds, words.table, "class")["rows"]
    assert [column["name"] for column in found["columns"]] == ["object", "class", "word", "vowels"]
    assert found["colours"][0]["name"] == "class"


def test_a_table_of_other_rows_is_not_taken_for_the_objects(words: SimpleNamespace) -> None:
    found = summary(words.mds, words.table.slice(0, 7))["rows"]
    assert len(found["positions"]) == 60
    assert [column["name"] for column in found["columns"]] == ["object"]


def test_a_neighbour_map_of_objects_is_refused(words: SimpleNamespace) -> None:
    with pytest.raises(DataError, match="a map of its own"):
        summary(words.mds, view="umap")
