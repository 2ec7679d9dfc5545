"""Which representation is used, and that the choice is by counting alone."""

import numpy as np
import pandas as pd
import pytest

import gramian as gm
from gramian.errors import DataError
from gramian.linear.layout import layout_of
from gramian.linear.scatter import dense as factored
from gramian.linear.scatter import wide as choice
from gramian.linear.scatter.dense import scatter_diagonal
from gramian.linear.scatter.wide import WideScatter


@pytest.fixture
def few_rows(rng):
    return gm.collect(rng.standard_normal((20, 600)))


def names(moments, n_components, metric=None, memory_limit=None):
    layout = layout_of(moments, None)
    diagonal = scatter_diagonal(moments, layout)
    offered = choice.for_leading_pairs(
        moments, layout, metric, diagonal=diagonal, n_components=n_components, memory_limit=memory_limit
    )
    return [type(scatter).__name__ for scatter in offered]


def test_rows_where_they_are_few_and_a_matrix_otherwise(mixed, few_rows):
    m = gm.collect(mixed)
    assert type(choice.scatter_of(m, layout_of(m, None))).__name__ == "DenseScatter"
    assert type(choice.scatter_of(few_rows, layout_of(few_rows, None))).__name__ == "RowScatter"
    assert names(few_rows, 3) == names(few_rows, None) == ["RowScatter"]


def test_products_by_what_multiplies_best(mixed, few_rows, monkeypatch):
    m = gm.collect(mixed)
    for columns, expected in [(None, "NarrowScatter"), (["size", "cost"], "DenseScatter")]:
        layout = layout_of(m, columns)
        assert type(choice.for_products(m, layout, None)).__name__ == expected
    assert type(choice.for_products(few_rows, layout_of(few_rows, None), None)).__name__ == "RowScatter"
    layout = layout_of(m, None)
    wide = WideScatter(m, layout)
    assert choice.for_products(m, layout, wide) is not wide
    monkeypatch.setattr(choice, "DENSE", 3)
    assert choice.for_products(m, layout, wide) is wide
    assert not choice.may_be_formed(layout)


def test_leading_pairs_by_size_number_and_memory(mixed, monkeypatch):
    m = gm.collect(mixed)
    assert names(m, None) == names(m, 2) == names(m, "parallel") == ["DenseScatter"]
    assert names(m, 2, memory_limit=100) == ["SparseScatter"]
    with pytest.raises(DataError, match="instead of n_components='elbow' ask for a whole number"):
        names(m, "elbow", memory_limit=100)
    # Iterations compare with the largest eigenvalue, and `cost` is a billion times the rest.
    monkeypatch.setattr(choice, "MANY", 5)
    monkeypatch.setattr(choice, "FEW", 1)
    assert names(m, 2) == ["DenseScatter"]
    assert names(m.drop("cost"), 2) == ["TriedScatter", "DenseScatter"]
    assert names(m.drop("cost"), 2, memory_limit=100) == ["SparseScatter"]


def test_one_wide_category_stands_apart_in_the_chi_squared_metric(rng, monkeypatch):
    frame = pd.DataFrame({"id": rng.integers(0, 60, 500).astype(str), "c": rng.choice(list("ab"), 500)})
    m = gm.collect(frame)
    layout = layout_of(m, None)
    chi_squared = 1 / np.sqrt(m.mean())
    assert names(m, 2, chi_squared) == ["DenseScatter"]
    monkeypatch.setattr(choice, "WIDE", 50)
    assert names(m, 2, chi_squared) == names(m, "elbow", chi_squared) == ["WideScatter", "DenseScatter"]
    assert names(m, None, chi_squared) == ["DenseScatter"]
    assert names(m, 2, np.ones(layout.width)) == ["DenseScatter"]


def test_few_rows_of_many_levels_have_a_factor_where_its_memory_is_allowed(rng, monkeypatch):
    monkeypatch.setattr(factored, "MANY", 100)
    m = gm.collect(pd.DataFrame({f"c{j}": rng.integers(0, 60, 30).astype(str) for j in range(8)}))
    layout = layout_of(m, None)
    assert names(m, 3) == names(m, None) == names(m, "elbow") == ["FactoredScatter"]
    # The matrix would not fit; a block of as many columns as rows does.
    assert names(m, None, memory_limit=8 * layout.width**2) == ["BoundedScatter"]
    assert names(m, 3, memory_limit=1000) == ["SparseScatter"]
    assert choice.by_few_rows(m, layout) is not None


def test_few_rows_of_many_levels_bound_the_rank(rng):
    frame = pd.DataFrame({f"c{j}": rng.integers(0, 60, 30).astype(str) for j in range(8)})
    m = gm.collect(frame)
    assert names(m, 3) == names(m, None) == ["BoundedScatter"]
    assert names(m, 3, memory_limit=1000) == ["SparseScatter"]
