"""What one would do without this package, for the demo to compare itself with: one-hot columns and plain frequencies."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from gramian.arrays.types import Array


def plain_columns(table: pa.Table, exclude: list[str]) -> tuple[list[pa.ChunkedArray], Array]:
    """Return categories (dates as day of week, month and hour), and numbers with the mean where one is missing."""
    categories: list[pa.ChunkedArray] = []
    numbers: list[Array] = []
    for name in table.column_names:
        column = table[name]
        if name in exclude:
            continue
        if pa.types.is_timestamp(column.type):
            categories += [pc.day_of_week(column), pc.month(column), pc.hour(column)]
        elif pa.types.is_floating(column.type):
            values = column.to_numpy()
            numbers.append(np.where(np.isnan(values), np.nanmean(values), values))
        else:
            categories.append(column)
    return categories, np.column_stack(numbers)


class OneHotLogistic:
    """Logistic regression on one-hot columns and standardised numbers, as most people would begin."""

    def __init__(self, exclude: list[str], target: str) -> None:
        self._exclude, self._target = exclude, target

    def fit(self, table: pa.Table) -> OneHotLogistic:
        """Fit to a table that has the target."""
        from sklearn.linear_model import LogisticRegression
        from sklearn.preprocessing import OneHotEncoder, StandardScaler

        self._encoder, self._scaler = OneHotEncoder(handle_unknown="ignore"), StandardScaler()
        categories, numbers = self._columns(table)
        self._encoder.fit(categories)
        self._scaler.fit(numbers)
        wide = self._wide(categories, numbers)
        self.n_columns = wide.shape[1]
        self._model = LogisticRegression(max_iter=200).fit(wide, table[self._target].to_numpy())
        return self

    def _columns(self, table: pa.Table) -> tuple[npt.NDArray[Any], Array]:
        categories, numbers = plain_columns(table, self._exclude)
        return np.column_stack([column.to_numpy().astype(object) for column in categories]), numbers

    def _wide(self, categories: npt.NDArray[Any], numbers: Array) -> Any:
        import scipy.sparse as sp

        return sp.hstack([self._encoder.transform(categories), self._scaler.transform(numbers)]).tocsr()

    def decision_function(self, table: pa.Table) -> Array:
        """Return the log-odds of the target."""
        return np.asarray(self._model.decision_function(self._wide(*self._columns(table))))


class RarityScore:
    """The sum over columns of minus the logarithm of a value's share: rare values make a row odd, whatever they occur with."""

    def __init__(self, exclude: list[str]) -> None:
        self._exclude = exclude

    def fit(self, table: pa.Table) -> RarityScore:
        """Count the values of each column."""
        self._counts = [pc.value_counts(column) for column in plain_columns(table, self._exclude)[0]]
        self._n = table.num_rows
        return self

    def score(self, table: pa.Table) -> Array:
        """Return how rare the values of each row are; one never seen counts as seen once."""
        total = np.zeros(table.num_rows)
        for column, counted in zip(plain_columns(table, self._exclude)[0], self._counts, strict=True):
            shares = np.append(counted.field("counts").to_numpy() / self._n, 1 / self._n)
            at = pc.fill_null(pc.index_in(column, counted.field("values")), len(shares) - 1)
            total -= np.log(shares[at.to_numpy()])
        return total
