"""The same values give the same model and the same answers, whatever holds them: at fit, at transform, and mixed.

A category may come as integers, as floats (which a single missing value makes of integers) or as text, beside numbers, in an
array, nested lists, a sparse matrix, a frame of either library, Arrow data or a file; and be named by position, mask or name.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import gramian as gm

from .tables import examples

pytestmark = pytest.mark.filterwarnings("ignore:X does not have valid feature names")

NAMES = ["x0", "x1", "x2", "x3"]
"""As arrays call their columns, so that every container has the same names."""


@dataclass(frozen=True)
class Values:
    """Two categories and two numbers, and a class for each row."""

    seed: int
    n_rows: int
    label: str
    missing: bool

    def table(self) -> pa.Table:
        rng = np.random.default_rng(self.seed)
        codes = rng.integers(0, 4, (2, self.n_rows))
        labels: list[Any] = {
            "integers": [7, -2, 0, 3],
            "floats": [0.5, 1.0, -3.0, 2.25],
            "text": ["red", "1", "(missing)", "ünï"],
        }[self.label]
        columns: list[list[Any]] = [[labels[code] for code in row] for row in codes]
        if self.missing:
            for column in columns:
                column[int(rng.integers(self.n_rows))] = None
        kind = {"integers": pa.int64(), "floats": pa.float64(), "text": pa.string()}[self.label]
        numbers = [np.round(rng.normal(size=self.n_rows) + codes[0], 3), rng.integers(0, 9, self.n_rows)]
        return pa.table([*(pa.array(column, kind) for column in columns), *map(pa.array, numbers)], names=NAMES)

    def classes(self) -> list[str]:
        rng = np.random.default_rng(self.seed + 1)
        first = np.unique(np.array([str(v) for v in self.table()["x0"].to_pylist()]), return_inverse=True)[1]
        chosen = np.where(rng.random(self.n_rows) < 0.7, first % 2, rng.integers(0, 2, self.n_rows))
        # Every level in both classes, and both classes there.
        return ["no", "yes", *np.array(["no", "yes"])[chosen[2:]].tolist()]


def values(labels: list[str]) -> st.SearchStrategy[Values]:
    return st.builds(
        Values,
        seed=st.integers(0, 2**20),
        n_rows=st.integers(30, 60),
        label=st.sampled_from(labels),
        missing=st.booleans(),
    )


# Containers


def as_objects(table: pa.Table) -> np.ndarray:
    return np.array([list(row.values()) for row in table.to_pylist()], dtype=object)


def as_lists(table: pa.Table) -> list[list[Any]]:
    return [list(row.values()) for row in table.to_pylist()]


def as_floats(table: pa.Table) -> np.ndarray:
    return as_objects(table).astype(np.float64)


def as_pandas(table: pa.Table) -> pd.DataFrame:
    return table.to_pandas()


def as_nullable(table: pa.Table) -> pd.DataFrame:
    return table.to_pandas().convert_dtypes()


def as_float_frame(table: pa.Table) -> pd.DataFrame:
    return table.to_pandas().astype(np.float64)


def as_float_polars(table: pa.Table) -> pl.DataFrame:
    return pl.from_arrow(table).cast(pl.Float64)  # type: ignore[union-attr]


def as_single(table: pa.Table) -> np.ndarray:
    return as_floats(table).astype(np.float32)


def as_integers(table: pa.Table) -> np.ndarray:
    return as_objects(table).astype(np.int32)


def in_file(write: Callable[[pa.Table, str], None], ending: str) -> Callable[[pa.Table, Path], str]:
    def written(table: pa.Table, folder: Path) -> str:
        path = str(folder / f"table.{ending}")
        write(table, path)
        return path

    return written


IN_MEMORY = {
    "objects": as_objects,
    "lists": as_lists,
    "pandas": as_pandas,
    "nullable": as_nullable,
    "polars": pl.from_arrow,
    "arrow": lambda table: table,
    "dicts": pa.Table.to_pylist,
    "dict of columns": pa.Table.to_pydict,
    "dictionary": lambda table: table.set_column(0, "x0", table["x0"].dictionary_encode()),
}
OF_NUMBERS = {
    "floats": as_floats,
    "float frame": as_float_frame,
    "float polars": as_float_polars,
    "sparse": lambda table: sp.csr_array(as_floats(table)),
}
FILES = {
    "parquet": in_file(pyarrow.parquet.write_table, "parquet"),
    "csv": in_file(pyarrow.csv.write_csv, "csv"),
    "ipc": in_file(pyarrow.feather.write_feather, "feather"),
}

NAMED: list[Any] = ["indices", "mask", "names", "all"]


def categories(how: str) -> Any:
    return {"indices": [0, -3], "mask": [True, True, False, False], "names": ["x0", "x1"], "all": "all"}[how]


# Estimators, and everything that they answer


def overlaps(features: np.ndarray) -> np.ndarray:
    """Return inner products of rows: what is left of features when equal eigenvalues let them turn."""
    features = np.asarray(features, dtype=np.float64)
    return features @ features.T


def answers(model: Any, rows: Any) -> dict[str, Any]:
    """Return what a model says about rows."""
    found: dict[str, Any] = {
        "features": overlaps(model.transform(rows)),
        "black swans": model.black_swans(rows),
        "design": list(model.design_names_),
    }
    if hasattr(model, "predict"):
        found["predicted"] = list(model.predict(rows))
    if hasattr(model, "predict_proba"):
        found["probability"] = model.predict_proba(rows)
    if hasattr(model, "anomaly_score"):
        found["score"] = model.anomaly_score(rows)
        reasons = pa.table({name: list(column) for name, column in _columns(model.explain(rows, top=2)).items()})
        # Equal contributions may come in either order; their texts are the same.
        found["reasons"] = sorted(zip(reasons["row"].to_pylist(), reasons["text"].to_pylist(), strict=True))
    if isinstance(model, gm.PCA | gm.Whitening):
        back = _columns(model.inverse_transform(model.transform(rows)))
        found["levels"] = {name: list(column) for name, column in back.items() if name in ("x0", "x1")}
        found["numbers"] = np.array([list(back[name]) for name in back if name not in ("x0", "x1")], dtype=np.float64)
    return found


def _columns(table: Any) -> dict[str, list[Any]]:
    plain = pa.Table.from_pandas(table, preserve_index=False) if isinstance(table, pd.DataFrame) else table
    plain = plain.to_arrow() if isinstance(plain, pl.DataFrame) else plain
    return {str(name): column.to_pylist() for name, column in zip(plain.column_names, plain.columns, strict=True)}


def assert_same_answers(found: dict[str, Any], expected: dict[str, Any], words: str) -> None:
    for name, value in expected.items():
        if isinstance(value, np.ndarray) and value.dtype.kind == "f":
            # Sums of a few dozen rows in another order, through inverses of matrices of condition 1e4 at most.
            scale = max(1.0, float(np.abs(value).max()))
            np.testing.assert_allclose(found[name], value, rtol=0, atol=1e-8 * scale, err_msg=f"{words}: {name}")
        elif isinstance(value, np.ndarray):
            np.testing.assert_array_equal(found[name], value, err_msg=f"{words}: {name}")
        else:
            assert found[name] == value, f"{words}: {name}"


ESTIMATORS: dict[str, Callable[..., Any]] = {
    "pca": gm.PCA,
    "whitening": gm.Whitening,
    "fisher": lambda **kinds: gm.FisherDiscriminant(shrinkage=0.2, **kinds),
    "mahalanobis": lambda **kinds: gm.MahalanobisFeatures(ridge=1.0, **kinds),
    "encoder": lambda **kinds: gm.JointTargetEncoder(ridge=1.0, **kinds),
    "density": gm.DensityEmbedding,
}


def assert_one_model(table: pa.Table, y: list[str], make: Callable[[], Any], holders: dict[str, Any]) -> None:
    """Fit on every holder, and ask every model about every holder that is in memory."""
    reference = make().fit(table, y)
    expected = answers(reference, table)
    assert not expected["black swans"].any()
    for name, holder in holders.items():
        model = make().fit(holder, y)
        assert_same_answers(answers(model, table), expected, f"fit on {name}")
        if not isinstance(holder, str):
            assert_same_answers(answers(model, holder), expected, f"fit and asked on {name}")
            assert_same_answers(answers(reference, holder), expected, f"asked on {name}")


@pytest.mark.parametrize("estimator", ESTIMATORS)
@examples(3)
@given(given_values=values(["integers", "floats", "text"]), how=st.sampled_from(NAMED))
def test_every_container_gives_the_same_answers(
    estimator: str, given_values: Values, how: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    table, y = given_values.table(), given_values.classes()
    holders = {name: put(table) for name, put in IN_MEMORY.items()}
    folder = tmp_path_factory.mktemp("tables")
    holders |= {name: put(table, folder) for name, put in FILES.items()}
    if given_values.label != "text":
        holders |= {name: put(table) for name, put in OF_NUMBERS.items()}
    assert_one_model(table, y, lambda: ESTIMATORS[estimator](categorical_features=categories(how)), holders)


@pytest.mark.parametrize("estimator", ESTIMATORS)
@examples(2)
@given(seed=st.integers(0, 2**20))
def test_arrays_of_integers_and_single_floats_too(estimator: str, seed: int) -> None:
    table = Values(seed, 40, "integers", missing=False).table()
    # Whole numbers: float32 holds them exactly.
    table = table.set_column(2, "x2", pa.array(np.rint(table["x2"].to_numpy())))
    y = Values(seed, 40, "integers", missing=False).classes()
    make = lambda: ESTIMATORS[estimator](categorical_features=[0, 1])  # noqa: E731
    expected = answers(make().fit(table, y), table)
    for put in (
        as_integers,
        lambda t: as_integers(t).astype(np.int64),
        lambda t: as_integers(t).astype(object).tolist(),
    ):
        assert_same_answers(answers(make().fit(put(table), y), put(table)), expected, "integers")
    single = make().fit(as_single(table), y)
    assert single.transform(as_single(table)).dtype == np.float32
    assert_same_answers(answers(single, as_floats(table)), expected, "fit on float32")


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_what_was_never_seen_is_so_in_every_container(estimator: str) -> None:
    table, y = Values(3, 40, "integers", missing=False).table(), Values(3, 40, "integers", missing=False).classes()
    rows = pa.table([[7, 99], [-2, 98], [0.5, -0.5], [1, 2]], names=NAMES)
    model = ESTIMATORS[estimator](categorical_features=[0, 1]).fit(table, y)
    expected = answers(model, rows)
    assert expected["black swans"].tolist() == [[False] * 4, [True, True, False, False]]
    for name, put in (IN_MEMORY | OF_NUMBERS).items():
        assert_same_answers(answers(model, put(rows)), expected, name)


@examples(4)
@given(given_values=values(["integers", "floats", "text"]))
def test_gowers_distance_is_the_same_in_every_container(given_values: Values) -> None:
    table, y = given_values.table(), given_values.classes()
    holders = IN_MEMORY if given_values.label == "text" else IN_MEMORY | OF_NUMBERS
    reference = gm.ClassicalMDS(2, metric="gower").fit(table)
    classifier = gm.MDSFDA(metric="gower", regularization=0.1).fit(table, y)
    for name, put in holders.items():
        if name == "dictionary" and given_values.label != "text":
            continue  # Numbers in a dictionary are categories to this metric, which has no other way to be told.
        rows = put(table)
        model = gm.ClassicalMDS(2, metric="gower").fit(rows)
        for found in (model.transform(rows), model.transform(table), reference.transform(rows)):
            np.testing.assert_allclose(found, reference.transform(table), atol=1e-12, err_msg=name)
        assert list(classifier.predict(rows)) == list(classifier.predict(table)), name
