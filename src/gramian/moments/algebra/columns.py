"""Which columns moments are of, and in which order: rows and columns of what is kept are picked, and nothing is computed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from gramian.arrays.types import Array
from gramian.moments.state.numbers import Numbers

if TYPE_CHECKING:
    from gramian.moments.value import Moments


def select(moments: Moments, names: Sequence[str]) -> Moments:
    """Return the moments of these columns alone, in this order."""
    schema = moments.schema.take(names)
    coded = [moments.coded_at[name] for name in schema.coded]
    order = _places(moments.numbers, schema.numbers)
    sizes = moments.pairs.sizes
    return replace(
        moments,
        schema=schema,
        labels=tuple(moments.labels[k] for k in coded),
        pairs=moments.pairs.transform(coded, [None] * len(coded), [sizes[k] for k in coded]),
        numbers=moments.numbers.select(order),
        sums=tuple(_sums_of(moments.sums[k], moments.numbers, order) for k in coded),
        folds=tuple(select(fold, names) for fold in moments.folds),
    )


def in_schema_order(moments: Moments) -> Moments:
    """Return the moments with numbers in the order of the schema."""
    order = _places(moments.numbers, moments.schema.numbers)
    if order == list(range(len(order))):
        return moments
    sums = tuple(_sums_of(s, moments.numbers, order) for s in moments.sums)
    return replace(moments, numbers=moments.numbers.select(order), sums=sums)


def _places(numbers: Numbers, names: Sequence[str]) -> list[int]:
    at = {name: j for j, name in enumerate(numbers.names)}
    return [at[name] for name in names]


def _sums_of(sums: Array, numbers: Numbers, order: Sequence[int]) -> Array:
    """Return category sums of the chosen numbers, indicators after them."""
    p, indicator = len(numbers.names), {j: k for k, j in enumerate(numbers.missing)}
    return sums[:, [*order, *(p + indicator[j] for j in order if j in indicator)]]
