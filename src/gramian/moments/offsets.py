"""Integers beyond 2^53 counted from an offset, so that float64 holds what is left of them.

Between 2^62 and 2^63 neighbouring float64 are 1,024 apart: as plain floats the values 2^62 + 3i would have no variance. Sums
are exact all the same, because the offset, which becomes the anchor, is taken off in integer arithmetic. What is computed
from means (intercepts, distances between classes) would lose it again, so whoever solves is given the moments of x - offset,
and the map that comes out reads rows less the same offset. Covariances are those of x. Targets counted by level keep their
labels: these name classes, and deviations of levels are exact without an offset.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from gramian.design.labels import Labels
from gramian.design.numbers import number_values

if TYPE_CHECKING:
    from gramian.moments.value import Moments

LARGE = 2.0**52
"""Anchors from here on are taken for offsets: beyond, values need not be exact, and below they always are."""
_LARGEST = 2.0**64


def near_zero(moments: Moments, targets: Collection[str] = ()) -> Moments:
    """Return the moments of the same rows with large numbers less their offsets, and a note of these.

    Labels of the targets stay as they are.
    """
    offsets = {
        name: float(anchor)
        for name, anchor in zip(moments.numbers.names, moments.numbers.anchors, strict=True)
        if LARGE <= abs(anchor) < _LARGEST
    }
    for name, labels in zip(moments.coded, moments.labels, strict=True):
        if moments.schema[name].form == "integer" and name not in targets:
            offset, _ = labels.numbers
            offsets |= {name: offset} if offset else {}
    return _less(moments, offsets) if offsets else moments


def _less(moments: Moments, offsets: Mapping[str, float]) -> Moments:
    taken = np.array([offsets.get(name, 0.0) for name in moments.numbers.names])
    labels = [
        _labels_less(labels, offsets[name]) if name in offsets else labels
        for name, labels in zip(moments.coded, moments.labels, strict=True)
    ]
    return replace(
        moments,
        numbers=replace(moments.numbers, anchors=moments.numbers.anchors - taken),
        labels=tuple(labels),
        folds=tuple(_less(fold, offsets) for fold in moments.folds),
        offsets=dict(offsets),
    )


def _labels_less(labels: Labels, offset: float) -> Labels:
    return replace(labels, values=pa.array(number_values(labels.values, offset), pa.float64(), from_pandas=True))
