"""Means and covariances over design columns, assembled from moments.

A design column is a level of a category (0/1), or a number. With n_a the weight of level a, N_ab of the pair, W the total:

    scatter(a, b) = N_ab - n_a n_b / W                      levels (the diagonal block of a column is diag(n))
    scatter(a, j) = T_aj - n_a t_j / W                      level and number, T and t sums of imputed deviations
    scatter(i, j) = A^T C A                                 numbers, imputed at their means

An integer kept by level is the number z = sum_l (v_l - mean) 1_l of its levels, missing at 0: its rows are E^T scatter with
E = (v_l - mean). Unweighted counts are combined in exact integers, (W N_ab - n_a n_b) / W, as long as they fit.

Sums of fractional weights depend on the order of summation, so n_a and W of the same rows differ by rounding. The scatter of
a level is therefore n_a (n_b + n_c + ...) / W over the other levels of its column, where nothing cancels: 0 where it is the
only one. A design column without scatter has none with any other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gramian.arrays import sparse as sp
from gramian.arrays.memory import refuse_beyond
from gramian.arrays.threads import each_block
from gramian.arrays.types import Array
from gramian.errors import Argument, DataError

if TYPE_CHECKING:
    from gramian.moments.value import Moments


def design_sizes(moments: Moments, names: Sequence[str]) -> list[int]:
    """Return how many design columns each source column has."""
    sizes = dict(zip(moments.coded, moments.pairs.sizes, strict=True))
    return [sizes[name] if moments.schema[name].form == "category" else 1 for name in names]


def level_values(moments: Moments, k: int) -> tuple[float, Array]:
    """Return the mean of a by-level integer over observed rows, and each level's deviation from it (0 if missing)."""
    offset, values = moments.labels[k].numbers
    counts = np.asarray(moments.pairs.level_weights[k], dtype=np.float64)
    absent = np.isnan(values)
    seen = counts[~absent].sum()
    if seen <= 0:
        return float("nan"), np.zeros(len(values))
    start = values[~absent][0]
    shifted = np.where(absent, 0.0, values - start)
    mean = float((shifted * counts).sum() / seen)
    return float(offset + (start + mean)), np.where(absent, 0.0, shifted - mean)


def sums_by_level(moments: Moments, k: int) -> Array:
    """Return the sums of all numbers about their means over the levels of a column kept by level, (levels, numbers)."""
    weight = float(moments.total_weight)
    _, deviation = moments.numbers.imputed_mean(weight)
    sums = moments.numbers.imputed_sums(moments.sums[k], weight)
    return sums - np.outer(moments.pairs.level_weights[k], deviation)


def mean(moments: Moments, names: Sequence[str]) -> Array:
    """Return the mean of each design column: a level's share, a number's mean over observed rows."""
    weight = float(moments.total_weight)
    if weight <= 0:
        raise DataError("moments of no rows have no mean")
    number_means, _ = moments.numbers.imputed_mean(weight)
    if list(names) == list(moments.numbers.names):
        return number_means
    of_number = dict(zip(moments.numbers.names, number_means, strict=True))
    parts = []
    for name in names:
        form = moments.schema[name].form
        if form == "number":
            parts.append(np.array([of_number[name]]))
        elif form == "integer":
            parts.append(np.array([level_values(moments, moments.coded_at[name])[0]]))
        else:
            parts.append(moments.pairs.level_weights[moments.coded_at[name]] / weight)
    return np.concatenate(parts) if parts else np.empty(0)


def grid(rows: npt.NDArray[np.intp], columns: npt.NDArray[np.intp]) -> tuple[Any, ...]:
    """Return an index of the cells in these rows and columns: slices where they are consecutive, which copy much faster.

    Examples
    --------
    >>> grid(np.array([2, 3]), np.array([0, 1, 2]))
    (slice(2, 4, None), slice(0, 3, None))
    >>> np.arange(9).reshape(3, 3)[grid(np.array([0, 2]), np.array([1]))].tolist()
    [[1], [7]]
    """
    if all(len(at) and at[-1] - at[0] == len(at) - 1 and bool((np.diff(at) == 1).all()) for at in (rows, columns)):
        return slice(int(rows[0]), int(rows[-1]) + 1), slice(int(columns[0]), int(columns[-1]) + 1)
    return np.ix_(rows, columns)


def scatter(moments: Moments, names: Sequence[str]) -> Array:
    """Return the centred scatter matrix over the design columns of `names`."""
    sizes = design_sizes(moments, names)
    p = sum(sizes)
    out = room_for(p)
    starts = dict(zip(names, np.cumsum([0, *sizes[:-1]]), strict=True)) if names else {}
    at = {name: np.arange(starts[name], starts[name] + size) for name, size in zip(names, sizes, strict=True)}
    coded = [name for name in names if name in moments.coded_at]
    numeric = [name for name in names if name not in moments.coded_at]
    _fill_levels(moments, coded, at, out)
    _fill_numbers(moments, coded, numeric, at, out)
    if moments.weighted:
        _settle_levels(moments, [name for name in coded if moments.schema[name].form == "category"], at, out)
    return out


def level_scatter(counts: npt.NDArray, weight: float) -> Array:
    """Return the scatter of each level of a column by itself.

    Parameters
    ----------
    counts : (levels,) array
        Their weights.
    weight : float
        Of all rows.

    Examples
    --------
    >>> level_scatter(np.array([1.0, 3.0]), 4.0)
    array([0.75, 0.75])
    >>> level_scatter(np.array([0.1 + 0.2]), 0.3)
    array([0.])
    """
    n = np.asarray(counts, dtype=np.float64)
    if not len(n):
        return n
    largest = int(np.argmax(n))
    others = n.sum() - n
    others[largest] = n[:largest].sum() + n[largest + 1 :].sum()
    return np.asarray(n * (others / weight))


def _settle_levels(moments: Moments, names: Sequence[str], at: dict[str, npt.NDArray[np.intp]], out: Array) -> None:
    """Write the scatters of levels where weights are summed in different orders, and 0 all along those of none."""
    weight = float(moments.total_weight)
    for name in names:
        own = level_scatter(moments.pairs.level_weights[moments.coded_at[name]], weight)
        out[at[name], at[name]] = own
        still = at[name][own == 0]
        out[still] = 0.0
        out[:, still] = 0.0


def room_for(p: int) -> Array:
    """Return p x p zeros, or raise before memory is gone."""
    way_out = "name fewer columns, or pool() rare levels first"
    refuse_beyond(8 * p * p, what=f"a dense matrix of {p} x {p} design columns", way_out=way_out)
    return np.zeros((p, p))


def _expansion(moments: Moments, k: int) -> Array | None:
    """Return E, (levels x 1) for an integer kept by level, None for a category, whose levels are design columns."""
    if moments.schema[moments.coded[k]].form == "category":
        return None
    return level_values(moments, k)[1][:, None]


def centred_counts(
    block: npt.NDArray, rows: npt.NDArray, cols: npt.NDArray, weight: float, out: Array | None = None
) -> Array:
    """Return N - n m^T / W, in exact integers where they fit; a few rows at a time, so that nothing else takes memory."""
    out = np.empty(block.shape) if out is None else out
    exact = block.dtype.kind == "i" and weight < 2**31
    rows, cols = (rows, cols) if exact else (np.asarray(rows, dtype=np.float64), cols / weight)

    def centre(tile: slice) -> None:
        expected = np.multiply.outer(rows[tile], cols)
        if exact:
            np.divide(np.subtract(block[tile] * np.int64(weight), expected), weight, out=out[tile])
        else:
            np.subtract(block[tile], expected, out=out[tile])

    each_block(centre, out)
    return out


def _fill_levels(moments: Moments, coded: Sequence[str], at: dict[str, npt.NDArray[np.intp]], out: Array) -> None:
    pairs, weight = moments.pairs, float(moments.total_weight)
    index = {name: moments.coded_at[name] for name in coded}
    inside = set(pairs.narrow)
    narrow = [name for name in coded if index[name] in inside]
    if narrow:
        levels = pairs.slots(index[n] for n in narrow)
        counts = np.concatenate([pairs.level_weights[index[n]] for n in narrow])
        place = grid(*[np.concatenate([at[n] for n in narrow])] * 2)
        expansions = [_expansion(moments, index[n]) for n in narrow]
        plain = all(e is None for e in expansions)
        here = out[place] if plain and isinstance(place[0], slice) else None
        block = centred_counts(pairs.matrix[grid(levels, levels)], counts, counts, weight, here)
        if not plain:
            pieces = [
                sp.eye_array(pairs.sizes[index[n]]) if e is None else e for n, e in zip(narrow, expansions, strict=True)
            ]
            expand = sp.csr_array(sp.block_diag(pieces))
            block = expand.T @ (expand.T @ block).T
        if here is None:
            out[place] = block
    wide = [name for name in coded if name not in set(narrow)]
    for position, name in enumerate(wide):
        k = index[name]
        n = np.asarray(pairs.level_weights[k])
        own = centred_counts(np.diag(n), n, n, weight)
        _place(out, at[name], at[name], _expand(own, _expansion(moments, k), _expansion(moments, k)))
        for other in [*narrow, *wide[position + 1 :]]:
            j = index[other]
            cells = pairs.block(k, j)
            block = centred_counts(cells.toarray() if sp.issparse(cells) else cells, n, pairs.level_weights[j], weight)
            _place(out, at[name], at[other], _expand(block, _expansion(moments, k), _expansion(moments, j)))


def _expand(block: Array, left: Array | None, right: Array | None) -> Array:
    if left is not None:
        block = left.T @ block
    return block if right is None else block @ right


def _place(out: Array, rows: npt.NDArray[np.intp], cols: npt.NDArray[np.intp], block: Array) -> None:
    out[grid(rows, cols)] = block
    out[grid(cols, rows)] = block.T


def _fill_numbers(
    moments: Moments, coded: Sequence[str], numeric: Sequence[str], at: dict[str, npt.NDArray[np.intp]], out: Array
) -> None:
    if not numeric:
        return
    columns = [moments.number_at[name] for name in numeric]
    place = np.concatenate([at[name] for name in numeric])
    out[grid(place, place)] = moments.numbers.select(columns).imputed_scatter(float(moments.total_weight))
    for name in coded:
        k = moments.coded_at[name]
        _place(out, at[name], place, _expand(sums_by_level(moments, k)[:, columns], _expansion(moments, k), None))


def divisor_of(moments: Moments, ddof: float, what: str = "a covariance") -> float:
    """Return the total weight less `ddof`, by which a scatter becomes a covariance.

    Raises
    ------
    DataError
        Where nothing is left. Weights scaled to add up to 1 do so to their rounding, that of single precision too: what is
        left of those is no number of rows either.
    """
    weight = float(moments.total_weight)
    if weight <= 0:
        raise DataError(f"moments of no rows leave nothing for {what}; collect some rows first")
    if weight - ddof > 1e-6 * ddof:
        return weight - ddof
    needed = f"{what} with ddof={ddof:g} needs a total weight above {ddof:g}; got n_samples={moments.n_rows}"
    if not moments.weighted:
        raise DataError(needed)
    raise DataError(
        f"{needed} of total weight {weight:g}: a weight means repeated rows, so scale weights to add up "
        "to the number of rows they stand for, or pass ",
        Argument("ddof", 0),
        " where there is one",
    )


def covariance(moments: Moments, names: Sequence[str], ddof: float) -> Array:
    """Return the scatter divided by the total weight less `ddof`."""
    divisor = divisor_of(moments, ddof)
    out = scatter(moments, names)
    out /= divisor
    return out


def correlation(moments: Moments, names: Sequence[str]) -> Array:
    """Return the correlation matrix; NaN in the rows of columns that do not vary, as in numpy."""
    out = scatter(moments, names)
    spread = np.sqrt(np.maximum(np.diagonal(out), 0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        out /= spread
        out /= spread[:, None]
    _refuse_beyond_one(moments, names, out)
    # Beyond 1 by rounding alone.
    np.clip(out, -1.0, 1.0, out=out)
    np.fill_diagonal(out, 1.0)
    # Rounding leaves dust in the covariances of a column that does not vary; divided by 0 it is neither 0 nor 1.
    constant = ~(spread > 0)
    out[constant] = np.nan
    out[:, constant] = np.nan
    return out


def _refuse_beyond_one(moments: Moments, names: Sequence[str], largest: Array) -> None:
    """Raise where a correlation exceeds 1 by more than six digits allow: then the moments have lost theirs."""
    with np.errstate(invalid="ignore"):
        beyond = np.isfinite(largest) & (np.abs(largest) > 1 + 1e-6)
    if beyond.any():
        i, j = map(int, np.argwhere(beyond)[0])
        design = moments.design_names_of(names)
        raise DataError(
            f"the correlation of {design[i]!r} and {design[j]!r} comes out as {largest[i, j]:.4g}: subtraction of much larger "
            f"values has left nothing but rounding of them; collect these rows anew"
        )
