"""What `collect` is asked for, as one value: passed on whole, checked once, before any row is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from typing import Any

import numpy as np
import numpy.typing as npt

from gramian.arrays.memory import parse_bytes
from gramian.arrays.types import Array
from gramian.design.folds import check_folds
from gramian.engines.base import Engine
from gramian.engines.checkpoint import Checkpoint
from gramian.errors import Argument, DataError, shown
from gramian.moments.value import Moments
from gramian.parameters import check, whole

Names = str | Sequence[str] | None


@dataclass(frozen=True, kw_only=True, eq=False)
class CollectOptions:
    """The options of one pass; each is described in `gramian.collect`.

    Attributes
    ----------
    weight_column : str or None
        The column that `sample_weight` names.
    weights : array or None
        The values that `sample_weight` gives.
    target_missing : {"drop", "raise"} or None
        None stands for what `gramian.design.encoder.missing_targets` says.

    Examples
    --------
    >>> CollectOptions(folds=5, sample_weight="n").weight_column
    'n'
    """

    columns: Names = None
    exclude: Names = None
    categorical: Names = None
    numeric: Names = None
    targets: Names = None
    sample_weight: str | npt.ArrayLike | None = None
    like: Moments | str | PathLike[str] | None = None
    folds: int = 0
    fold_by: str | None = None
    random_state: int = 0
    engine: str | Engine | None = None
    n_jobs: int | None = None
    memory_limit: int | str | None = None
    progress: bool | None = None
    missing: str = "raise"
    csv: Mapping[str, Any] | None = None
    checkpoint: str | PathLike[str] | Checkpoint | None = None
    target_missing: str | None = None
    weight_column: str | None = field(init=False)
    weights: Array | None = field(init=False)

    def __post_init__(self) -> None:
        n_folds = check_folds(self.folds)
        seed: Any = self.random_state
        check("random_state", seed, whole(None))
        check("target_missing", self.target_missing, None, "drop", "raise")
        if self.fold_by is not None and not n_folds:
            raise DataError(Argument("fold_by"), " needs ", Argument("folds"), ", the number of folds")
        if self.checkpoint == "" or not isinstance(self.checkpoint, str | PathLike | Checkpoint | None):
            raise DataError(Argument("checkpoint"), f" takes the path of a file; got {shown(self.checkpoint)}")
        if self.memory_limit is not None:
            parse_bytes(self.memory_limit)
        named = isinstance(self.sample_weight, str)
        object.__setattr__(self, "folds", n_folds)
        object.__setattr__(self, "weight_column", self.sample_weight if named else None)
        object.__setattr__(
            self, "weights", None if named or self.sample_weight is None else weight_values(self.sample_weight)
        )

    @property
    def weighted(self) -> bool:
        """Whether rows count by a weight."""
        return self.sample_weight is not None

    @property
    def kept(self) -> Checkpoint | None:
        """Where progress is kept."""
        given = self.checkpoint
        return given if given is None or isinstance(given, Checkpoint) else Checkpoint(given)

    @property
    def model(self) -> Moments | None:
        """The moments whose columns and kinds are enforced."""
        like = self.like
        return like if like is None or isinstance(like, Moments) else Moments.load(like)


def weight_values(given: Any) -> Array:
    """Return weights given beside a table, one a row, as numbers."""
    try:
        weights = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise DataError("sample_weight must be a column name, or numbers, one a row") from None
    if weights.ndim != 1:
        raise DataError(f"sample_weight must be a column name or one value a row; got shape {weights.shape}")
    return weights
