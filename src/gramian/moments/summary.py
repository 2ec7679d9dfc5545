"""What moments have seen, column by column, as plain data: prints as a table, shows as HTML in a notebook."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gramian.arrays.memory import in_words
from gramian.design.schema import label_text
from gramian.moments.covariance import level_values
from gramian.text_table import text_table

if TYPE_CHECKING:
    from gramian.moments.value import Moments

_SHOWN = 40
_HEAD = ("column", "kind", "levels", "missing", "")


@dataclass(frozen=True)
class ColumnSummary:
    """One column: how much is missing, and its mean, spread and shape or its most frequent level.

    Skewness and kurtosis are of the observed values, M_3 / n over s^3 and M_4 / n over s^4 with s^2 = M_2 / n: 0 and 3 for a
    normal column; None where they are unknown or the column does not vary.
    """

    name: str
    kind: str
    levels: int | None
    missing: float
    mean: float | None
    std: float | None
    skewness: float | None
    kurtosis: float | None
    top: Any
    top_share: float | None
    target: bool

    def cells(self) -> tuple[str, ...]:
        """Return the row of the printed table."""
        kind = f"{self.kind} (target)" if self.target else self.kind
        levels = "" if self.levels is None else f"{self.levels:,}"
        missing = f"{self.missing:.1%}" if self.missing else ""
        if self.kind == "numeric":
            about = f"mean {self.mean:.6g}, std {self.std:.4g}" if self.mean is not None else "nothing observed"
            if self.skewness is not None:
                about += f", skewness {self.skewness:.3g}, kurtosis {self.kurtosis:.4g}"
        else:
            shown = label_text(self.top)
            shown = shown if len(shown) <= 30 else shown[:29] + "…"
            about = f"{shown}: {self.top_share:.1%}" if self.top_share is not None else "no levels"
        return (self.name, kind, levels, missing, about)


@dataclass(frozen=True)
class Summary:
    """Rows, weight, bytes and a line for each column."""

    n_rows: int
    total_weight: float
    n_design_columns: int
    n_folds: int
    nbytes: int
    columns: tuple[ColumnSummary, ...]
    rows_left_out: int = 0

    @property
    def heading(self) -> str:
        """One line over the table."""
        weight = f" of weight {self.total_weight:,.6g}" if isinstance(self.total_weight, float) else ""
        folds = f", {self.n_folds} folds" if self.n_folds else ""
        left_out = f" ({self.rows_left_out:,} more without a target were left out)" if self.rows_left_out else ""
        return (
            f"{self.n_rows:,} rows{weight}{left_out}, {len(self.columns)} columns, "
            f"{self.n_design_columns:,} design columns{folds}, {in_words(self.nbytes)}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain Python values."""
        own = {name: value for name, value in vars(self).items() if name != "columns"}
        return {**own, "columns": [dict(vars(column)) for column in self.columns]}

    def __str__(self) -> str:
        cells = [column.cells() for column in self.columns[:_SHOWN]]
        lines = [self.heading, "", *text_table(_HEAD, cells, right=(2, 3))]
        if len(self.columns) > _SHOWN:
            lines.append(f"... and {len(self.columns) - _SHOWN} more columns")
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        head = "".join(f"<th style='text-align:left'>{name}</th>" for name in _HEAD)
        rows = []
        for column in self.columns[:_SHOWN]:
            cells = "".join(f"<td style='text-align:left'>{html.escape(cell)}</td>" for cell in column.cells())
            rows.append(f"<tr>{cells}</tr>")
        more = f"<p>... and {len(self.columns) - _SHOWN} more columns</p>" if len(self.columns) > _SHOWN else ""
        return (
            f"<div><p><b>Moments</b>: {html.escape(self.heading)}</p>"
            f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>{more}</div>"
        )


def _shape(n: float, powers: Sequence[float] | npt.NDArray[np.float64]) -> dict[str, float | None]:
    """Return spread, skewness and kurtosis from the weight and the second to fourth central power sums."""
    second, third, fourth = map(float, powers)
    shape: dict[str, float | None] = {"std": float(np.sqrt(second / max(n - 1, 1)))}
    s = np.sqrt(second / n)
    known = s > 0 and np.isfinite(third) and np.isfinite(fourth)
    # Rounding can leave a spread so small that its powers vanish.
    if known and s**4 > 0:
        shape |= {"skewness": float(third / n / s**3), "kurtosis": float(fourth / n / s**4)}
    return shape


def summarise(moments: Moments) -> Summary:
    """Return the summary of some moments."""
    weight = float(moments.total_weight)
    means, _ = moments.numbers.imputed_mean(weight) if weight else (np.full(len(moments.numbers.names), np.nan), None)
    powers = moments.numbers.central(weight)
    observed = powers.weight
    columns = []
    for column in moments.schema:
        about: dict[str, Any] = dict.fromkeys(("levels", "mean", "std", "skewness", "kurtosis", "top", "top_share"))
        if column.form == "number":
            j = moments.number_at[column.name]
            missing = 1 - observed[j] / weight if weight else 0.0
            if observed[j] > 0:
                about["mean"] = float(means[j])
                about |= _shape(observed[j], powers.sums[:3, j])
        else:
            k = moments.coded_at[column.name]
            labels, counts = moments.labels[k], moments.pairs.level_weights[k]
            about["levels"] = len(labels)
            code = labels.missing_code
            missing = float(counts[code]) / weight if code is not None and weight else 0.0
            if column.form == "integer":
                mean, deviation = level_values(moments, k)
                seen = weight * (1 - missing)
                if seen > 0:
                    about["mean"] = mean
                    about |= _shape(seen, [float((counts * deviation**k).sum()) for k in (2, 3, 4)])
            elif len(counts):
                top = int(np.argmax(counts))
                about["top"], about["top_share"] = labels.to_list()[top], float(counts[top]) / weight
        columns.append(
            ColumnSummary(name=column.name, kind=column.kind, missing=float(missing), target=column.target, **about)
        )
    return Summary(
        n_rows=moments.n_rows,
        total_weight=moments.total_weight,
        n_design_columns=sum(
            1 if c.form != "category" else len(moments.labels[moments.coded_at[c.name]])
            for c in moments.schema
            if not c.target
        ),
        n_folds=len(moments.folds),
        nbytes=moments.nbytes,
        columns=tuple(columns),
        rows_left_out=moments.rows_left_out,
    )
