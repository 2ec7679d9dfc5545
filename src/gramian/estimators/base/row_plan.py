"""What a map of rows reads: any source as a table, its columns, kinds, targets and weights settled before a row is read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from gramian.arrays.types import Array
from gramian.design.encoder import Encoder
from gramian.design.kinds import plan_columns, types_of
from gramian.design.schema import Schema
from gramian.engines.base import weight_values
from gramian.engines.collect import library_of
from gramian.errors import Argument, ColumnError, DataError, unknown_column
from gramian.estimators.base.inputs import (
    Table,
    categorical_names,
    names_categories,
    of_tables,
    open_training,
    refuse_dates,
    refuse_listed_names,
    refuse_repeated,
    require_columns,
    unseen_levels,
)
from gramian.estimators.base.learned import AllOrNothing
from gramian.estimators.spine.fields import Fields, texts
from gramian.maps.fitted_design import Design
from gramian.moments.value import Moments
from gramian.tables import ArrayTable, ArrowTable


@dataclass(frozen=True, eq=False)
class RowPlan:
    """A table to be read, and how.

    Attributes
    ----------
    table : ArrowTable or ArrayTable
    schema : Schema
        Features are categories or numbers; targets as they were asked for.
    attached : dict
        Target values given beside the table.
    weights : (n,) array or None
    weight_column : str or None
    named : bool
        Whether the columns have names of their own.
    library : str or None
        The dataframe library of the source.
    """

    table: Table
    schema: Schema
    attached: dict[str, pa.Array]
    weights: Array | None
    weight_column: str | None
    named: bool
    library: str | None

    def encoder(self, n_folds: int = 0, families: dict[str, str] | None = None) -> Encoder:
        """Return a fresh encoder of all columns."""
        return Encoder(
            self.schema,
            weight_column=self.weight_column,
            n_folds=n_folds,
            attached=self.attached,
            families=families,
            weights=self.weights,
        )

    def label_encoder(self) -> tuple[Encoder, bool]:
        """Return an encoder of the categories alone, and whether there are any."""
        columns = tuple(column for column in self.schema if column.form == "category" and not column.target)
        return Encoder(Schema(columns)), bool(columns)


def plan_rows(
    estimator: Any,
    X: Any,
    *,
    targets: Sequence[str] = (),
    attached: dict[str, pa.Array] | None = None,
    classes: bool = False,
    aside: Sequence[str] = (),
    sample_weight: Any = None,
    like: Schema | None = None,
) -> RowPlan:
    """Return how X is to be read.

    Parameters
    ----------
    estimator : estimator
        Its `categorical_features` names categories.
    X : any source
    targets : sequence of str
        Columns of X that are targets.
    attached : dict, optional
        Targets given as values.
    classes : bool
        Whether targets are classes; otherwise they are numbers.
    aside : sequence of str
        Columns of X that are no features, and not read.
    sample_weight : array or str, optional
    like : Schema, optional
        Of the rows before.
    """
    if isinstance(X, Moments):
        raise DataError(f"{type(estimator).__name__} maps rows, and Moments have none; pass rows or files")
    beside = attached or {}
    wanted = estimator.categorical_features
    seen = None
    if like is None:
        table, named = open_training(estimator, X, typed=names_categories(wanted), seen=None)
    else:
        seen = vars(estimator).get("_columns_in") or origins_of(like)
        typed = any(column.form == "category" and not column.target for column in like)
        table, named = open_training(estimator, X, typed=typed, seen=seen)
    weight_column = sample_weight if isinstance(sample_weight, str) else None
    weights = None if weight_column is not None or sample_weight is None else weight_values(sample_weight)
    names = list(table.schema.names) if isinstance(table, ArrowTable) else list(table.names)
    if named:
        refuse_listed_names(beside, names)
    require_columns(targets, table)
    refuse_repeated(targets)
    for name in [*aside, *([weight_column] if weight_column else [])]:
        if name not in names:
            raise unknown_column(name, names)
    if isinstance(table, ArrayTable):
        table = _typed_array(table, wanted, [*targets, *aside], weight_column, like)
    types = types_of(table.schema) if isinstance(table, ArrowTable) else dict.fromkeys(names, pa.float64())
    types |= {name: values.type for name, values in beside.items()}
    refuse_dates(targets, types)
    aims = [*targets, *beside]
    if like is not None:
        schema = plan_columns(types, like=like)
    else:
        features = [name for name in names if name not in [*targets, *aside, weight_column]]
        if not features:
            raise DataError("no feature columns are left beside the target")
        categorical = categorical_names(wanted, features)
        numeric = [n for n in features if n not in categorical and _plain_integer(types[n])]
        parts = [name for name in aims if name not in types]
        if parts and not classes:
            raise ColumnError(Argument("y", parts[0]), " is a category, and a regression needs numbers")
        read = [name for name in aims if name in types]
        schema = plan_columns(
            types,
            columns=[*features, *read],
            # Parts of dates are categories by themselves.
            categorical=[*categorical, *(read if classes else [])],
            numeric=[*numeric, *([] if classes else read)],
            targets=aims,
        )
    return RowPlan(table, schema, beside, weights, weight_column, named, library_of(X))


def origins_of(schema: Schema) -> list[str]:
    """Return the source columns of the features, each once."""
    return list(dict.fromkeys(column.origin for column in schema if not column.target))


def _plain_integer(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind))


def _typed_array(
    table: ArrayTable, wanted: Any, targets: Sequence[str], weight_column: str | None, like: Schema | None
) -> Table:
    """Return an array of floats as typed columns where a category, a target or a weight is among them."""
    if like is None:
        of_category = bool(categorical_names(wanted, table.names))
    else:
        of_category = any(column.form == "category" and not column.target for column in like)
    return table.as_arrow() if of_category or targets or weight_column else table


class RowMapEstimator(AllOrNothing, BaseEstimator):
    """An estimator that begins with a fixed map of rows.

    Attributes
    ----------
    n_features_in_ : int
        Source columns.
    feature_names_in_ : array of str
        Their names, where they have some.
    """

    _fields: ClassVar[Fields] = {
        "_columns_in": texts("q"),
    }

    random_state: Any
    categorical_features: Any

    def _note_columns(self, plan: RowPlan) -> None:
        """Keep which columns are features, as scikit-learn wants it kept."""
        self._columns_in = origins_of(plan.schema)
        self.n_features_in_ = len(self._columns_in)
        if plan.named:
            self.feature_names_in_ = np.array(self._columns_in, dtype=object)
        self._frames = plan.library

    def _refuse_other_columns(self, plan: RowPlan, like: Schema) -> None:
        if [c.name for c in plan.schema] != [c.name for c in like]:
            raise ColumnError(f"these rows have columns {plan.schema.names[:5]}, and before {like.names[:5]}")

    def _seed(self) -> int:
        """Return the number weights are drawn from; a generator given as `random_state` moves on."""
        if isinstance(self.random_state, int | np.integer) and not isinstance(self.random_state, bool):
            return int(self.random_state)
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    @property
    def design_(self) -> Design:
        """What is read of a row: source columns, their levels and means."""
        raise AttributeError(f"{type(self).__name__!r} object has no attribute 'design_'")

    def black_swans(self, X: Any) -> npt.NDArray[np.bool_]:
        """Return which values of X are levels never seen in fit, boolean (n_rows, n_features_in_)."""
        check_is_fitted(self)
        return unseen_levels(self, X)

    def __sklearn_tags__(self) -> Any:
        return of_tables(super().__sklearn_tags__())


__all__ = ["RowMapEstimator", "RowPlan", "plan_rows"]
