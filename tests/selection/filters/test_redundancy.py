import numpy as np
import pandas as pd
import pytest

import gramian as gm
from gramian.selection.filters.redundancy import redundancy

from ..brute import basis, expanded


@pytest.fixture
def frame(rng):
    n = 500
    city = rng.integers(0, 12, n)
    x = rng.standard_normal((n, 2))
    return pd.DataFrame(
        {
            "city": [f"c{v}" for v in city],
            "land": [f"l{v // 4}" for v in city],
            "a": x[:, 0],
            "b": x[:, 1],
            "both": x.sum(axis=1) + 0.05 * rng.standard_normal(n),
            "copy": 3 - 2 * x[:, 0],
        }
    )


def test_a_copy_is_dropped_and_named(frame):
    found = redundancy(gm.collect(frame), list(frame.columns), range(6), threshold=0.95)
    assert [name for name, kept in zip(frame, found.kept, strict=True) if not kept] == ["land", "copy"]
    assert found.by[1] == 0
    assert found.by[5] == 2
    assert found.explained[5] == pytest.approx(1.0)


def test_jointly_explained_columns_fall_only_to_the_canonical_measure(frame):
    m, columns = gm.collect(frame), list(frame.columns)
    apart = redundancy(m, columns, range(6), threshold=0.95)
    jointly = redundancy(m, columns, range(6), threshold=0.95, measure="canonical")
    assert apart.kept[4]
    assert not jointly.kept[4]
    z, own = basis(expanded(frame, ["city", "a", "b"])), basis(expanded(frame, ["both"]))
    share = np.square(z.T @ own).sum()
    n = len(frame)
    assert jointly.explained[4] == pytest.approx(np.sqrt(1 - (1 - share) * (n - 1) / (n - 1 - z.shape[1])), rel=1e-9)


def test_uncertainty_has_a_direction(frame):
    m = gm.collect(frame)
    fine = redundancy(m, ["city", "land"], [0, 1], threshold=0.9, measure="uncertainty")
    coarse = redundancy(m, ["city", "land"], [1, 0], threshold=0.9, measure="uncertainty")
    assert fine.kept.tolist() == [True, False]
    assert coarse.kept.tolist() == [True, True]


def test_uncertainty_of_numbers_is_the_squared_correlation(rng):
    x = rng.standard_normal((400, 1))
    X = np.column_stack([x, x + rng.standard_normal((400, 1))])
    found = redundancy(gm.collect(X), ["x0", "x1"], [0, 1], threshold=0.9, measure="uncertainty")
    r2 = np.corrcoef(X.T)[0, 1] ** 2
    # Beyond chance, which one direction of 400 rows hardly has.
    assert found.explained[1] == pytest.approx(r2, abs=0.005)


@pytest.mark.parametrize("measure", ["correlation", "canonical", "uncertainty"])
def test_an_identifier_explains_no_other_column(frame, measure):
    frame["id"] = [f"i{k}" for k in range(len(frame))]
    columns = ["id", "city", "a", "b"]
    m = gm.collect(frame)
    found = redundancy(m, columns, range(4), threshold=0.5, measure=measure)
    assert found.kept.all()


def test_one_number_explains_another_by_adjusted_r2(rng):
    X = rng.standard_normal((30, 2)) + rng.standard_normal((30, 1))
    r2 = np.corrcoef(X.T)[0, 1] ** 2
    for measure in ("correlation", "canonical"):
        found = redundancy(gm.collect(X), ["x0", "x1"], [0, 1], threshold=1.0, measure=measure)
        assert found.explained[1] ** 2 == pytest.approx(1 - (1 - r2) * 29 / 28, rel=1e-9)


def test_what_must_stay_stays(frame):
    found = redundancy(gm.collect(frame), list(frame.columns), range(6), threshold=0.95, stay={5})
    assert found.kept[5]
