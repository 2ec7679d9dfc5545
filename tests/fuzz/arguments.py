"""Odd arguments: every estimator, with an odd X, y or weight, or a parameter that nobody means.

A refusal is one line that this package or scikit-learn has written. What numpy, pandas, Arrow or Python say of their own
insides is none: it does not name the argument. Neither is work that does not end.
"""

from __future__ import annotations

import datetime
import decimal
import fractions
import linecache
import warnings
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import scipy.sparse as sp

from gramian.errors import GramianError
from gramian.estimators.registry import METHODS

from .base import Subject, Wrong

N = 24
_RNG = np.random.default_rng(0)
X = np.abs(_RNG.normal(size=(N, 3)) + np.repeat([0.0, 1.0], N // 2)[:, None])
Y = np.repeat([0, 1], N // 2)

PLAIN = {
    "metric": "euclidean",
    "random_state": 0,
    "perplexity": 4.0,
    "n_neighbors": 4,
    "dictionary": np.eye(3),
    "n_nonzero": 1,
    "n_hidden": 5,
    "n_reservoir": 9,
    "k": 2,
    "n_epochs": 2,
}
"""Parameters that suit the rows above."""

TRIED = [method for method in METHODS if method.class_name != "UMAPMap"]
"""The methods: all but one that compiles for a minute before it learns."""


def _dates(n: int = N) -> list[datetime.datetime]:
    return [datetime.datetime(2024, 1, 1) + datetime.timedelta(days=k) for k in range(n)]


def _with(column: Any, name: str = "a") -> pd.DataFrame:
    return pd.DataFrame({name: column, "b": X[:, 1], "c": X[:, 2]})


def _object(value: Any) -> np.ndarray:
    out = X.astype(object)
    out[3, 1] = value
    return out


def _zero(*values: Any) -> float:
    return 0.0


ROWS: dict[str, Any] = {
    "None": lambda: None,
    "a number": lambda: 5,
    "a text": lambda: "no such file",
    "bytes": lambda: b"abc",
    "nothing": lambda: [],
    "lists of nothing": lambda: [[]],
    "one dimension": lambda: X[:, 0],
    "three dimensions": lambda: X.reshape(N, 3, 1),
    "no rows": lambda: X[:0],
    "no columns": lambda: X[:, :0],
    "one row": lambda: X[:1],
    "unequal lists": lambda: [[1.0, 2.0], [3.0]],
    "a set": lambda: {1, 2, 3},
    "a dict of numbers": lambda: {"a": 1, "b": 2},
    "a dict of columns": lambda: {"a": list(X[:, 0]), "b": list(X[:, 1])},
    "a list of dicts": lambda: [{"a": float(v), "b": str(k % 3)} for k, v in enumerate(X[:, 0])],
    "a list of None": lambda: [None] * N,
    "a list of texts": lambda: ["one", "two", "three"] * 8,
    "a list of dates": _dates,
    "rows of dates": lambda: [[d, d] for d in _dates()],
    "rows of dicts": lambda: [[{"a": 1}, 2.0] for _ in range(N)],
    "complex": lambda: X + 1j,
    "long double": lambda: X.astype(np.longdouble),
    "half": lambda: X.astype(np.float16),
    "long double beyond float64": lambda: X.astype(np.longdouble) * np.longdouble("1e400"),
    "infinity": lambda: np.where(np.arange(3 * N).reshape(N, 3) == 4, np.inf, X),
    "NaN": lambda: np.where(np.arange(3 * N).reshape(N, 3) == 4, np.nan, X),
    "all NaN": lambda: np.full((N, 3), np.nan),
    "constant": lambda: np.ones((N, 3)),
    "huge": lambda: X * 1e300,
    "tiny": lambda: X * 1e-300,
    "negative": lambda: -X,
    "booleans": lambda: X > 1,
    "texts": lambda: X.astype(str),
    "bytes array": lambda: X.astype("S5"),
    "datetimes": lambda: (X * 1e6).astype("datetime64[s]"),
    "timedeltas": lambda: (X * 1e6).astype("timedelta64[s]"),
    "void": lambda: np.zeros((N, 3), dtype="V4"),
    "records": lambda: np.zeros(N, dtype=[("a", "f8"), ("b", "i4")]),
    "objects: a dict": lambda: _object({"a": 1}),
    "objects: a list": lambda: _object([1, 2]),
    "objects: a date": lambda: _object(datetime.date(2024, 1, 1)),
    "objects: a huge integer": lambda: _object(2**70),
    "objects: a text": lambda: _object("x"),
    "objects: None": lambda: _object(None),
    "objects: a Decimal": lambda: _object(decimal.Decimal("1.5")),
    "objects: a Fraction": lambda: _object(fractions.Fraction(1, 3)),
    "objects: an object": lambda: _object(object()),
    "objects: bytes": lambda: _object(b"x"),
    "integers beyond int64": lambda: [[2**70, 1], [3, 4], [5, 7]],
    "unsigned": lambda: (X * 1e18).astype(np.uint64),
    "masked": lambda: np.ma.array(X, mask=X > 1.5),
    "matrix": lambda: np.asmatrix(X),
    "frame: long double": lambda: _with(X[:, 0].astype(np.longdouble)),
    "frame: complex": lambda: _with(X[:, 0] + 1j),
    "frame: dates": lambda: _with(_dates()),
    "frame: time zones": lambda: _with(pd.DatetimeIndex(_dates(), tz="Europe/Berlin")),
    "frame: periods": lambda: _with(pd.period_range("2024-01", periods=N, freq="M")),
    "frame: intervals": lambda: _with(pd.interval_range(0, N)),
    "frame: timedeltas": lambda: _with(pd.to_timedelta(np.arange(N), unit="h")),
    "frame: dicts": lambda: _with([{"a": 1}] * N),
    "frame: lists": lambda: _with([[1, 2]] * N),
    "frame: mixed": lambda: _with([1, "x", None, 2.5] * 6),
    "frame: objects": lambda: _with([object()] * N),
    "frame: huge integers": lambda: _with([2**70 + k for k in range(N)]),
    "frame: texts": lambda: _with(["u", "v", "w"] * 8),
    "frame: category": lambda: _with(pd.Categorical(["u", "v", None] * 8)),
    "frame: nullable": lambda: _with(pd.array([1, None, 3] * 8, dtype="Int64")),
    "frame: Decimals": lambda: _with([decimal.Decimal(k) for k in range(N)]),
    "frame: sparse": lambda: _with(pd.arrays.SparseArray(np.zeros(N))),
    "frame: same names": lambda: pd.DataFrame(X, columns=["a", "a", "b"]),
    "frame: names of numbers": lambda: pd.DataFrame(X),
    "frame: names mixed": lambda: pd.DataFrame(X, columns=["a", 1, None]),
    "frame: two levels of names": lambda: pd.DataFrame(
        X, columns=pd.MultiIndex.from_tuples([("a", 1), ("a", 2), ("b", 1)])
    ),
    "frame: no rows": lambda: _with(X[:, 0]).iloc[:0],
    "frame: no columns": lambda: pd.DataFrame(index=range(N)),
    "series": lambda: pd.Series(X[:, 0]),
    "polars": lambda: pl.DataFrame({"a": X[:, 0], "b": ["u", "v", "w"] * 8}),
    "polars: dates": lambda: pl.DataFrame({"a": X[:, 0], "b": _dates()}),
    "polars: lists": lambda: pl.DataFrame({"a": X[:, 0], "b": [[1, 2]] * N}),
    "polars: structs": lambda: pl.DataFrame({"a": X[:, 0], "b": [{"k": 1}] * N}),
    "polars: plan": lambda: pl.LazyFrame({"a": X[:, 0], "b": X[:, 1]}),
    "arrow": lambda: pa.table({"a": X[:, 0], "b": X[:, 1]}),
    "arrow: nulls": lambda: pa.table({"a": X[:, 0], "b": pa.nulls(N)}),
    "arrow: decimals": lambda: pa.table({"a": X[:, 0], "b": pa.array([decimal.Decimal("1.5")] * N)}),
    "arrow: lists": lambda: pa.table({"a": X[:, 0], "b": [[1]] * N}),
    "arrow: times": lambda: pa.table({"a": X[:, 0], "b": pa.array([datetime.time(1, 2)] * N)}),
    "arrow: binary": lambda: pa.table({"a": X[:, 0], "b": [b"x"] * N}),
    "arrow: durations": lambda: pa.table({"a": X[:, 0], "b": pa.array([datetime.timedelta(1)] * N)}),
    "arrow: an array": lambda: pa.array(X[:, 0]),
    "sparse": lambda: sp.csr_matrix(X),
    "sparse coo": lambda: sp.coo_array(X),
    "sparse long double": lambda: sp.csr_matrix(X.astype(np.longdouble)),
    "sparse complex": lambda: sp.csr_matrix(X + 1j),
    "sparse empty": lambda: sp.csr_matrix((0, 3)),
    "a generator": lambda: (row for row in X),
    "a function": lambda: len,
    "an object": lambda: object(),
    "a type": lambda: dict,
    "sequences": lambda: [X[:12], X[12:]],
    "sequences of texts": lambda: [np.array([["a"], ["b"]])] * 3,
    "sequences of dicts": lambda: [[{"a": 1.0}, {"a": 2.0}]] * 3,
    "sequences: unequal widths": lambda: [X[:12], X[12:, :2]],
}
"""What X may be called with, each made anew."""

TARGETS: dict[str, Any] = {
    "None": lambda: None,
    "a number": lambda: 3,
    "a text": lambda: "nowhere",
    "names": lambda: ("a", "b"),
    "names of nothing": lambda: (),
    "a list of names": lambda: ["a"],
    "too short": lambda: Y[:5],
    "too long": lambda: np.repeat(Y, 2),
    "nothing": lambda: [],
    "one class": lambda: np.zeros(N, dtype=int),
    "a class per row": lambda: np.arange(N),
    "numbers": lambda: X[:, 0],
    "NaN": lambda: np.where(np.arange(N) == 3, np.nan, Y),
    "infinity": lambda: np.where(np.arange(N) == 3, np.inf, Y),
    "None in it": lambda: [None, *Y[1:]],
    "huge integers": lambda: [2**70 + int(k) for k in Y],
    "huge and small": lambda: [2**70 if k else -1 for k in Y],
    "unsigned": lambda: Y.astype(np.uint64) + np.uint64(2**63),
    "long double": lambda: Y.astype(np.longdouble),
    "half": lambda: Y.astype(np.float16),
    "complex": lambda: Y + 1j,
    "texts": lambda: np.where(Y, "u", "v"),
    "text objects": lambda: np.where(Y, "u", "v").astype(object),
    "bytes": lambda: np.where(Y, b"u", b"v"),
    "booleans": lambda: Y > 0,
    "mixed": lambda: [1, "a"] * 12,
    "mixed objects": lambda: np.array([1, "a"] * 12, dtype=object),
    "dates": _dates,
    "datetimes": lambda: np.array(_dates(), dtype="datetime64[s]"),
    "timedeltas": lambda: np.arange(N).astype("timedelta64[s]"),
    "dicts": lambda: [{"a": 1}] * N,
    "a dict": lambda: {"a": list(Y)},
    "lists": lambda: [[1, 2], [3]] * 12,
    "objects": lambda: [object()] * N,
    "Decimals": lambda: [decimal.Decimal(int(k)) for k in Y],
    "a set": lambda: {1, 2},
    "a generator": lambda: (k for k in Y),
    "two columns": lambda: np.column_stack([Y, 1 - Y]),
    "one column": lambda: Y[:, None],
    "three dimensions": lambda: np.zeros((N, 2, 2)),
    "sparse": lambda: sp.csr_matrix(Y[:, None]),
    "series": lambda: pd.Series(Y),
    "series: category": lambda: pd.Series(pd.Categorical(np.where(Y, "u", "v"))),
    "series: dates": lambda: pd.Series(_dates()),
    "series: periods": lambda: pd.Series(pd.period_range("2024-01", periods=N, freq="M")),
    "series: nullable": lambda: pd.Series(pd.array([1, None] * 12, dtype="Int64")),
    "frame": lambda: pd.DataFrame({"t": Y, "u": 1 - Y}),
    "frame: mixed": lambda: pd.DataFrame({"t": Y, "u": np.where(Y, "u", "v")}),
    "polars": lambda: pl.Series(Y),
    "polars frame": lambda: pl.DataFrame({"t": Y}),
    "arrow": lambda: pa.array(Y),
    "arrow chunks": lambda: pa.chunked_array([Y[:10], Y[10:]]),
    "arrow lists": lambda: pa.array([[1]] * N),
    "arrow nulls": lambda: pa.nulls(N),
    "arrow table": lambda: pa.table({"t": Y}),
    "masked": lambda: np.ma.array(Y, mask=Y > 0),
    "a function": lambda: len,
}
"""What y may be called with."""

WEIGHTS: dict[str, Any] = {
    "a text": lambda: "nowhere",
    "a name": lambda: "a",
    "a number": lambda: 1.0,
    "too short": lambda: np.ones(3),
    "zeros": lambda: np.zeros(N),
    "negative": lambda: -np.ones(N),
    "NaN": lambda: np.full(N, np.nan),
    "infinity": lambda: np.full(N, np.inf),
    "huge": lambda: np.full(N, 1e308),
    "tiny": lambda: np.full(N, 5e-324),
    "texts": lambda: ["x"] * N,
    "dicts": lambda: [{}] * N,
    "dates": _dates,
    "objects": lambda: np.array([object()] * N),
    "complex": lambda: np.ones(N) + 1j,
    "long double": lambda: np.ones(N, dtype=np.longdouble),
    "huge integers": lambda: [2**70] * N,
    "two columns": lambda: np.ones((N, 2)),
    "a dict": lambda: {"a": 1},
    "None in it": lambda: [None, *[1.0] * (N - 1)],
    "booleans": lambda: Y > 0,
    "series": lambda: pd.Series(np.ones(N), index=range(5, 5 + N)),
    "polars": lambda: pl.Series(np.ones(N)),
    "arrow": lambda: pa.array(np.ones(N)),
    "a generator": lambda: (1.0 for _ in range(N)),
    "nested": lambda: [[1.0], [1.0, 2.0]] * 12,
}
"""What sample_weight may be called with."""

VALUES: dict[str, Any] = {
    "None": lambda: None,
    "True": lambda: True,
    "-1": lambda: -1,
    "0": lambda: 0,
    "3": lambda: 3,
    "10**9": lambda: 10**9,
    "10**30": lambda: 10**30,
    "-10**30": lambda: -(10**30),
    "1.5": lambda: 1.5,
    "1e308": lambda: 1e308,
    "5e-324": lambda: 5e-324,
    "nan": lambda: float("nan"),
    "inf": lambda: float("inf"),
    "numpy": lambda: np.float32(0.5),
    "long double": lambda: np.longdouble("1e400"),
    "an array of nothing": lambda: np.array(2),
    "complex": lambda: 1j,
    "a Decimal": lambda: decimal.Decimal(1),
    "a Fraction": lambda: fractions.Fraction(1, 2),
    "a text": lambda: "nonsense",
    "an empty text": lambda: "",
    "bytes": lambda: b"x",
    "a list": lambda: [1],
    "a list of nothing": lambda: [],
    "a list of texts": lambda: ["x"],
    "a list of lists": lambda: [[1], [1, 2]],
    "a tuple": lambda: (1, "a", None),
    "a dict": lambda: {"a": 1},
    "a set": lambda: {1},
    "an array": lambda: np.array([1.0, 2.0]),
    "a matrix": lambda: np.ones((3, 3)),
    "an array of NaN": lambda: np.full((2, 3), np.nan),
    "an array of texts": lambda: np.array([["a", "b", "c"]]),
    "a frame": lambda: pd.DataFrame(X),
    "a function": lambda: _zero,
    "an object": lambda: object(),
    "a date": lambda: datetime.date(2024, 1, 1),
    "a generator": lambda: (k for k in range(3)),
}
"""What a parameter may be set to."""

SKLEARN = str(Path(__import__("sklearn").__file__).parent)
GRAMIAN = str(Path(__import__("gramian").__file__).parent)


def judged(error: BaseException) -> str:
    """Return "refused" where an error is one line that this package or scikit-learn has written, and raise it otherwise."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    assert trace is not None
    path = trace.tb_frame.f_code.co_filename
    written = linecache.getline(path, trace.tb_lineno).strip().startswith("raise ")
    ours = path.startswith(GRAMIAN)
    if not written or not (ours or path.startswith(SKLEARN)):
        raise error
    if not isinstance(error, GramianError | ValueError | TypeError):
        raise error
    text = str(error)
    if ours and ("\n" in text or len(text) > 1000 or not text.strip()):
        raise Wrong(f"a message of {len(text.splitlines())} lines: {text[:300]!r}") from error
    return "refused"


class Arguments(Subject):
    """Every estimator with odd arguments."""

    name = "arguments"

    def case(self, rng: np.random.Generator, folder: Path) -> str:
        method = TRIED[rng.integers(len(TRIED))]
        known = method.parameters
        parameters = {key: value for key, value in PLAIN.items() if key in known}
        rows: Any = X
        target: Any = Y
        given: dict[str, Any] = {}
        drawn = rng.random()
        if drawn < 0.3:
            rows = self._drawn(rng, ROWS)
        elif drawn < 0.45:
            target = self._drawn(rng, TARGETS)
        elif drawn < 0.5 and "sample_weight" in signature(method.estimator.fit).parameters:
            given["sample_weight"] = self._drawn(rng, WEIGHTS)
        elif drawn < 0.95:
            parameters[list(known)[rng.integers(len(known))]] = self._drawn(rng, VALUES)
        else:
            rows, target = self._drawn(rng, ROWS), self._drawn(rng, TARGETS)
        # Odd rows are learned from, or met by a model that has learned from others.
        late = rows is not X and rng.random() < 0.4
        first, then = (X, rows) if late else (rows, X)
        return self.used(method.estimator, parameters, first, target, given, then=then, more=rng.random() < 0.3)

    @staticmethod
    def _drawn(rng: np.random.Generator, choices: dict[str, Any]) -> Any:
        return choices[list(choices)[rng.integers(len(choices))]]()

    @staticmethod
    def used(
        estimator: Any,
        parameters: dict[str, Any],
        rows: Any,
        target: Any,
        given: dict[str, Any],
        *,
        then: Any = X,
        more: bool = False,
    ) -> str:
        """Fit an estimator to rows and ask it for what it gives of others."""
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                model = estimator(**parameters)
                fit = model.partial_fit if more and hasattr(model, "partial_fit") else model.fit
                fit(rows, target, **given)
                for name in ("transform", "predict", "anomaly_score"):
                    if hasattr(model, name):
                        getattr(model, name)(then)
            except Exception as error:
                return judged(error)
        return "answered"
