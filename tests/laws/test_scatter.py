"""Every representation of the scatter gives the answers of the explicit design matrix."""

import numpy as np
import pandas as pd
import pytest

import gramian as gm
from gramian.design import pair_tables as limits
from gramian.linear.layout import layout_of, metric_of
from gramian.linear.scatter.dense import DenseScatter, FactoredScatter, RowScatter
from gramian.linear.scatter.sparse import BoundedScatter, CrossScatter, NarrowScatter, SparseScatter, TriedScatter
from gramian.linear.scatter.wide import WideScatter
from gramian.moments.counting import scatter_counter
from gramian.moments.state import numbers

COLUMNS = {
    "everything": ["few", "size", "id", "grade", "cost", "more"],
    "narrow": ["more", "cost", "few", "grade", "size"],
    "numbers": ["size", "grade", "cost"],
    "one category": ["id"],
    "many numbers": [f"n{j}" for j in range(60)],
}
REPRESENTATIONS = {
    "everything": [DenseScatter, FactoredScatter, SparseScatter, BoundedScatter, TriedScatter, WideScatter],
    "narrow": [DenseScatter, FactoredScatter, NarrowScatter, SparseScatter, BoundedScatter, TriedScatter, WideScatter],
    "numbers": [DenseScatter, FactoredScatter, SparseScatter, BoundedScatter, TriedScatter],
    "one category": [DenseScatter, FactoredScatter, SparseScatter, WideScatter],
    "many numbers": [RowScatter, FactoredScatter, DenseScatter, BoundedScatter],
}
CASES = [(name, kind) for name, kinds in REPRESENTATIONS.items() for kind in kinds]


def rows_of(seed: int, name: str) -> pd.DataFrame:
    """Categories of few and of many levels, integers by level, numbers of several units, all with missing values."""
    rng = np.random.default_rng(seed)
    if name == "many numbers":
        x = rng.standard_normal((25, 60)) * np.exp(rng.standard_normal(60)) + 5
        x[rng.random(x.shape) < 0.1] = np.nan
        return pd.DataFrame(x, columns=COLUMNS[name]).assign(w=rng.gamma(2.0, size=25))
    n = 400
    size = rng.standard_normal(n)
    frame = pd.DataFrame(
        {
            "few": rng.choice(["a", "b", None], n, p=[0.5, 0.3, 0.2]),
            "more": np.where(size > 0, "up", rng.choice(list("klmn"), n)),
            "id": np.char.add("i", rng.integers(0, 90, n).astype(str)),
            "grade": pd.array(rng.integers(-3, 6, n), dtype="Int64"),
            "size": 1e-2 * size,
            "cost": 1e3 * size + rng.standard_normal(n) + 1e5,
            "w": rng.gamma(2.0, size=n),
        }
    )
    for column in ("grade", "size", "cost"):
        frame.loc[rng.random(n) < 0.15, column] = pd.NA if column == "grade" else np.nan
    return frame


def design_of(frame: pd.DataFrame, m: gm.Moments, columns: list[str], w: np.ndarray) -> np.ndarray:
    """Return the design matrix, missing numbers at the weighted means of the others."""
    parts = []
    for name in columns:
        if m.schema[name].form == "category":
            given = frame[name].astype(object).where(frame[name].notna(), None)
            parts.append(np.array([[value == level for level in m.levels(name)] for value in given], dtype=float))
            continue
        x = frame[name].astype(float).to_numpy()
        seen = ~np.isnan(x)
        parts.append(np.where(seen, x, np.average(x[seen], weights=w[seen]))[:, None])
    return np.hstack(parts)


@pytest.fixture(params=CASES, ids=lambda case: f"{case[0]}-{case[1].__name__}")
def case(request, monkeypatch):
    # Blocks beside the matrix of narrow columns, and rows that are kept, without thousands of levels and columns.
    monkeypatch.setattr(limits, "NARROW_LEVELS", 50)
    for module in (numbers, scatter_counter):
        monkeypatch.setattr(module, "WIDE_COLUMNS", 30)
    return request.param


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("scale", [False, True, "auto"])
def test_all_representations_answer_as_the_design_matrix_does(case, weighted, scale, rng):
    name, representation = case
    frame, columns = rows_of(3 + weighted, name), COLUMNS[name]
    w = frame.pop("w").to_numpy() if weighted else np.ones(len(frame))
    m = gm.collect(frame[columns], **({"sample_weight": w} if weighted else {}))
    layout = layout_of(m, columns)
    x = design_of(frame, m, columns, w)
    mean = w @ x / w.sum()
    centred = (x - mean) * np.sqrt(w)[:, None]
    metric = metric_of(scale, layout, mean, np.square(centred).sum(axis=0), w.sum())
    factor = np.ones(layout.width) if metric is None else metric
    rows = centred * factor
    expected = rows.T @ rows
    found = representation(m, layout, metric)

    # Sums of the same products in another order; a number far from 0 keeps its own digits.
    unit = np.sqrt(np.diagonal(expected)) + 1e-300
    assert found.weight == pytest.approx(w.sum(), rel=1e-12)
    np.testing.assert_allclose(found.mean, mean * factor, rtol=1e-10)
    np.testing.assert_allclose(found.diagonal() / unit**2, np.ones(layout.width), rtol=1e-9)
    assert (np.abs(found.dense() - expected) <= 1e-9 * np.outer(unit, unit)).all()
    v = rng.standard_normal((layout.width, 3)) / unit[:, None]
    close = {"rtol": 0, "atol": 1e-9 * np.abs(expected @ v / unit[:, None]).max()}
    np.testing.assert_allclose((found @ v) / unit[:, None], expected @ v / unit[:, None], **close)
    np.testing.assert_allclose((found @ v[:, 0]) / unit, expected @ v[:, 0] / unit, **close)
    np.testing.assert_allclose(found.along(v), v.T @ expected @ v, atol=1e-8)
    np.testing.assert_allclose(found.variance_along(v), np.diagonal(v.T @ expected @ v), atol=1e-8)
    further = found.scaled(1.0 / unit)
    np.testing.assert_allclose(further @ (v * unit[:, None]), (expected @ v) / unit[:, None], **close)
    assert_eigenpairs(found, expected)


def assert_eigenpairs(found, expected):
    values = np.linalg.eigvalsh(expected)[::-1]
    rank = int((values > 1e-12 * values[0]).sum())
    for asked in (None, 2, "three, values first"):
        pairs = found.spectrum().pairs(3) if isinstance(asked, str) else found.eigenpairs(asked)
        m = pairs.vectors.shape[1]
        # One wide category in the chi-squared metric has fewer, and says so.
        if not (isinstance(found, WideScatter) and found.is_projector):
            assert m >= min(rank, rank if asked is None else 2 if asked == 2 else 3)
            assert pairs.rank >= rank if asked == 2 else pairs.rank == rank
        known = min(len(pairs.values), rank)
        np.testing.assert_allclose(pairs.values[:known], values[:known], rtol=0, atol=1e-9 * values[0])
        np.testing.assert_allclose(pairs.vectors.T @ pairs.vectors, np.eye(m), atol=1e-8)
        away = expected @ pairs.vectors - pairs.vectors * pairs.values[:m]
        assert np.abs(away).max(initial=0.0) <= 1e-7 * values[0]


@pytest.mark.parametrize("weighted", [False, True])
def test_features_and_targets_of_any_form_have_the_scatter_of_the_rows(weighted, monkeypatch, rng):
    monkeypatch.setattr(limits, "NARROW_LEVELS", 50)
    frame = rows_of(1, "everything")
    w = frame.pop("w").to_numpy() if weighted else np.ones(len(frame))
    m = gm.collect(frame, **({"sample_weight": w} if weighted else {}))
    for rows, columns in [
        (["few", "cost"], ["id", "grade", "size"]),
        (["id", "grade"], ["more", "cost"]),
        (["size"], ["few"]),
        (["cost", "id"], ["id", "size"]),
    ]:
        one, other = (design_of(frame, m, names, w) for names in (rows, columns))
        expected = (one - w @ one / w.sum()).T @ ((other - w @ other / w.sum()) * w[:, None])
        functions = rng.standard_normal((other.shape[1], 4))
        found = CrossScatter(m, layout_of(m, rows), layout_of(m, columns)) @ functions
        unit = np.sqrt(np.square(one - w @ one / w.sum()).sum(axis=0))[:, None] + 1e-300
        scale = np.abs(expected @ functions / unit).max(axis=0)
        np.testing.assert_allclose(found / unit / scale, expected @ functions / unit / scale, atol=1e-9)
