"""Influence functions: what of a target the features are to follow, as a linear map of its collected columns.

A target column enters the joint scatter as one number, or as one indicator per level. Every influence function h(y) used here
is then a column of a matrix H over those target columns, and the moments of h need no further pass: with C_t the cross scatter
of features and target columns and V_t the scatter of the latter,

    C = C_t H,        V = H^T V_t H.

- a continuous target: H = 1 (h is y itself);
- classes: H picks the indicators, sorted by label;
- `"slices"`: the indicator of each of ten slices of about equal weight (sliced inverse regression);
- `"ranks"`: the mid-rank of y as a share of the rows, so that no outlier decides;
- a callable: its values, one column per function.

The last three are functions of the value of y, so from moments they need y collected by level.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.linalg

from gramian.arrays.types import Array
from gramian.design.identifiers import FEW_LEVELS, is_identifier
from gramian.errors import Argument, Call, ColumnError, DataError, PythonOnly, shown
from gramian.moments.value import Moments
from gramian.parameters import FUNCTION, check

Influence = str | Callable[[Array], Any]

SLICES = 10
"""Slices of a numeric target."""

MAX_CLASSES = FEW_LEVELS
"""Integers of at most this many distinct values are classes where nothing is said."""

TYPES = ("auto", "continuous", "binary", "multiclass")
INFLUENCES = ("auto", "slices", "ranks", FUNCTION)


@dataclass(frozen=True, eq=False)
class TargetFunctions:
    """The influence functions of one or several targets.

    Attributes
    ----------
    columns : list of str
        Target columns, in the order in which their design columns are mapped.
    by_level : list of str
        Those of them that are to be read as categories.
    map : (q, m) array
        H: design columns of the targets to influence functions.
    names : list of str
        One name per function: the class's label, or the target's name.
    owner : (m,) array of int
        Which target each function belongs to.
    classes : list of lists
        Labels of each target that is read as classes, sorted; empty for the others.
    """

    columns: list[str]
    by_level: list[str]
    map: Array
    names: list[str]
    owner: npt.NDArray[np.intp]
    classes: list[list[Any]]

    @property
    def size(self) -> int:
        """Number of influence functions, m."""
        return int(self.map.shape[1])

    def read(self, moments: Moments) -> Moments:
        """Return the moments with the targets in the form that the map takes."""
        return moments.as_categorical(self.by_level) if self.by_level else moments

    def one_per_class(self) -> TargetFunctions:
        """Return the functions that a target encoder has: of two classes only the second."""
        keep = np.ones(self.size, dtype=bool)
        for target, labels in enumerate(self.classes):
            if len(labels) == 2:
                keep[np.flatnonzero(self.owner == target)[0]] = False
        names = [
            self.columns[self.owner[k]] if len(self.classes[self.owner[k]]) == 2 else self.names[k]
            for k in np.flatnonzero(keep)
        ]
        return TargetFunctions(self.columns, self.by_level, self.map[:, keep], names, self.owner[keep], self.classes)


def aim_of(
    moments: Moments,
    targets: Sequence[str],
    *,
    influence: Influence = "auto",
    target_type: str = "auto",
    any_values: bool = False,
) -> TargetFunctions:
    """Return the influence functions of some targets.

    Parameters
    ----------
    moments : Moments
    targets : sequence of str
    influence : "auto", "slices", "ranks" or callable
        A callable takes the distinct values of y and gives an array of as many rows.
    target_type : "auto", "continuous", "binary" or "multiclass"
    any_values : bool
        Whether a number may be the same in every row, and classes of one row each: a regression predicts them, which may be
        all that a stream has shown so far, and there is nothing else to follow.

    Raises
    ------
    DataError
        Where the target has missing values, one value or too few classes, is an identifier, or was not collected by level and
        needs to be.
    """
    check("target_type", target_type, *TYPES)
    check("influence", influence, *INFLUENCES)
    for name in targets:
        refuse_missing(moments, name)
        if any_values:
            continue
        if is_class(moments, name, target_type):
            refuse_identifier(moments, name, as_number=True)
        else:
            refuse_constant(moments, name)
    parts = [_one(moments, name, influence, target_type) for name in targets]
    owner = np.repeat(np.arange(len(parts)), [part[0].shape[1] for part in parts])
    return TargetFunctions(
        columns=list(targets),
        by_level=[name for name, part in zip(targets, parts, strict=True) if part[2]],
        map=scipy.linalg.block_diag(*[part[0] for part in parts]),
        names=[name for part in parts for name in part[1]],
        owner=owner,
        classes=[part[3] for part in parts],
    )


def is_class(moments: Moments, target: str, target_type: str) -> bool:
    """Whether a target is read as classes."""
    if target_type != "auto":
        return target_type != "continuous"
    form = moments.schema[target].form
    return form == "category" or (form == "integer" and len(moments.levels(target)) <= MAX_CLASSES)


def refuse_missing(moments: Moments, target: str) -> None:
    """Raise where a target is missing in some rows.

    What these rows add to the scatter of the features is not among the moments, so it cannot be taken away: a pass that knows
    the target leaves them out.
    """
    if moments.schema[target].by_level:
        rows = moments.pairs.level_rows[moments.coded_at[target]]
        missing = sum(int(n) for label, n in zip(moments.levels(target), rows, strict=True) if label is None)
        words = f"{missing:,} of {moments.n_rows:,} rows"
    else:
        missing = int(moments.numbers.names.index(target) in moments.numbers.missing)
        words = "some rows"
    if missing:
        raise ColumnError(
            f"target {target!r} is missing in {words}, and moments are sums from which rows cannot be taken out; read the data "
            "again: ",
            Call("collect", targets=[target]),
            " leaves those rows out",
        )


def refuse_constant(moments: Moments, target: str) -> None:
    """Raise where a target is the same in every row."""
    if moments.schema[target].by_level:
        present = [label for label, count in zip(moments.levels(target), moments.counts(target), strict=True) if count]
        if len(present) != 1:
            return
        value = present[0]
    else:
        at = moments.numbers.names.index(target)
        central = moments.numbers.central(float(moments.total_weight))
        value = float(moments.mean(target)[0])
        # Sums of deviations from an anchor that is not the value itself leave its rounding.
        if central.sums[0][at] > central.weight[at] * (4 * np.finfo(np.float64).eps * value) ** 2:
            return
    raise DataError(
        f"target {target!r} is {shown(value)} in every row: there is nothing to follow; name another column"
    )


def refuse_identifier(moments: Moments, target: str, *, as_number: bool = False) -> None:
    """Raise where a target of classes tells rows apart instead: its classes of one row make it an identifier.

    Of such a class nothing can be learned, and the algebra grows with the number of classes.

    Parameters
    ----------
    moments : Moments
    target : str
    as_number : bool
        Whether the method takes numbers as well.
    """
    if not moments.schema[target].by_level:
        return
    rows = np.asarray(moments.pairs.level_rows[moments.coded_at[target]])
    classes, alone = int(np.count_nonzero(rows)), int(np.count_nonzero(rows == 1))
    # A class of two rows can still be learned of; classes of one row alone decide.
    if is_identifier(alone, moments.n_rows):
        number = as_number and moments.labels[moments.coded_at[target]].family == "number"
        raise DataError(
            f"target {target!r} has {classes:,} classes in {moments.n_rows:,} rows, {alone:,} of them of one row: nothing can "
            "be learned of these, as of an identifier; name another column, or a coarser one",
            *([", or take it as a number with ", Argument("target_type", "continuous")] if number else []),
        )


def _one(
    moments: Moments, target: str, influence: Influence, target_type: str
) -> tuple[Array, list[str], bool, list[Any]]:
    """Return the map of one target, the names of its functions, whether it is read by level, and its classes."""
    form = moments.schema[target].form
    classes = is_class(moments, target, target_type)
    if classes and influence != "auto":
        raise DataError(
            Argument("influence", influence), f" is for a continuous target, and {target!r} is read as classes"
        )
    if form == "number":
        if classes:
            raise DataError(
                f"target {target!r} was collected as a number, so its classes are not known; collect it again with ",
                Argument("categorical", [target]),
            )
        if influence != "auto":
            raise DataError(
                Argument("influence", influence),
                f" needs the distinct values of {target!r}, and these moments hold it as a plain number; ",
                PythonOnly("pass y as values, or "),
                "bin it and collect it with ",
                Argument("categorical", [target]),
            )
        return np.ones((1, 1)), [target], False, []
    labels = moments.levels(target)
    counts = np.asarray(moments.counts(target), dtype=np.float64)
    if classes:
        return _class_map(target, labels, counts, target_type)
    if form == "category":
        raise DataError(f"target {target!r} is a category; ", Argument("target_type", "continuous"), " needs a number")
    if influence == "auto":
        return np.ones((1, 1)), [target], False, []
    offset, values = moments.labels[moments.coded_at[target]].numbers
    # Ranks and slices tell apart what float64 would round together.
    functions = _functions(values + offset if callable(influence) else values, counts, influence, target)
    names = [target] if functions.shape[1] == 1 else [f"{target}_{k}" for k in range(functions.shape[1])]
    return functions, names, True, []


def _class_map(
    target: str, labels: list[Any], counts: Array, target_type: str
) -> tuple[Array, list[str], bool, list[Any]]:
    present = [k for k in range(len(labels)) if counts[k] > 0]
    try:
        order = sorted(present, key=lambda k: labels[k])
    except TypeError:
        order = sorted(present, key=lambda k: str(labels[k]))
    if len(order) < 2:
        raise DataError(f"target {target!r} has less than 2 classes: only {shown([labels[k] for k in order])}")
    if target_type == "binary" and len(order) > 2:
        raise DataError(
            f"target {target!r} has {len(order)} classes; ", Argument("target_type", "binary"), " takes two"
        )
    functions = np.zeros((len(labels), len(order)))
    functions[order, np.arange(len(order))] = 1.0
    return functions, [str(labels[k]) for k in order], True, [labels[k] for k in order]


def _functions(values: Array, counts: Array, influence: Influence, target: str) -> Array:
    if callable(influence):
        return checked_functions(influence, values, target)
    place = mid_ranks(values, counts)
    if influence == "ranks":
        return place[:, None]
    slice_of = slices_of(place)
    return (slice_of[:, None] == np.unique(slice_of[counts > 0])).astype(np.float64)


def mid_ranks(values: npt.ArrayLike, counts: npt.ArrayLike | None = None) -> Array:
    """Return the mid-rank of each value as a share of all rows, between 0 and 1.

    Examples
    --------
    >>> mid_ranks([10.0, 30.0, 20.0, 20.0])
    array([0.125, 0.875, 0.5  , 0.5  ])
    """
    given = np.asarray(values, dtype=np.float64)
    weight = np.ones(len(given)) if counts is None else np.asarray(counts, dtype=np.float64)
    distinct, code = np.unique(given, return_inverse=True)
    mass = np.bincount(code, weight, len(distinct))
    return ((np.cumsum(mass) - mass / 2) / mass.sum())[code]


def slices_of(ranks: Array) -> npt.NDArray[np.intp]:
    """Return the slice of each mid-rank; equal values share a slice."""
    return np.minimum((ranks * SLICES).astype(np.intp), SLICES - 1)


def checked_functions(influence: Callable[[Array], Any], values: Array, target: str) -> Array:
    """Return the values of a callable as a finite (n, m) matrix."""
    functions = np.asarray(influence(values), dtype=np.float64)
    functions = functions[:, None] if functions.ndim == 1 else functions
    if functions.ndim != 2 or len(functions) != len(values) or not np.isfinite(functions).all():
        raise DataError(
            f"influence must give finite numbers, one row per value of {target!r}: for {len(values)} values it gave an "
            f"array of shape {functions.shape}"
        )
    return functions
