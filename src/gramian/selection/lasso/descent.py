"""Block coordinate descent for the Lasso on second moments: the compiled loops.

Of the objective 1/2 tr(B^T S B) - tr(B^T C) + sum_g t_g |B_g| + ridge/2 |B|^2 the gradient of the first two terms is -G,
with G = C - S B. For group g, with c_g an upper bound of the eigenvalues of S_gg,

    Z = G_g + c_g B_g,      B_g <- (1 - t_g / |Z|)_+ Z / (c_g + ridge),

which is the exact minimum where S_gg = c_g I (a number; a category in unit columns) and a step that never increases the
objective otherwise. G is kept up to date over the columns at hand, so that an untouched group costs nothing.
"""

from __future__ import annotations

import numpy as np

from gramian.arrays.types import Array
from gramian.compiling import kernel


@kernel(
    "int64(float64[:,::1], float64[::1], float64[::1], float64[::1], float64[::1], float64, float64, int64)",
)
def descend(
    scatter: Array,
    gradient: Array,
    coefficients: Array,
    bound: Array,
    penalty: Array,
    ridge: float,
    tol: float,
    epochs: int,
) -> int:  # pragma: no cover - compiled
    """Descend over single columns and one function until no step moves a gradient by more than `tol`; return the epochs."""
    p = len(coefficients)
    for epoch in range(epochs):
        largest = 0.0
        for j in range(p):
            if bound[j] <= 0.0:
                continue
            z = gradient[j] + bound[j] * coefficients[j]
            size = abs(z) - penalty[j]
            new = 0.0
            if size > 0.0:
                new = np.sign(z) * size / (bound[j] + ridge)
            step = new - coefficients[j]
            if step != 0.0:
                coefficients[j] = new
                row = scatter[j]
                for i in range(p):
                    gradient[i] -= row[i] * step
                largest = max(largest, bound[j] * abs(step))
        if largest <= tol:
            return epoch + 1
    return epochs


@kernel(
    "int64(float64[:,::1], float64[:,::1], float64[:,::1], int64[::1], float64[::1], float64[::1], float64[::1], float64[::1], "
    "boolean[::1], float64, float64, int64)",
)
def descend_in_groups(
    scatter: Array,
    gradient: Array,
    coefficients: Array,
    starts: Array,
    bound: Array,
    penalty: Array,
    own: Array,
    root: Array,
    is_split: Array,
    ridge: float,
    tol: float,
    epochs: int,
) -> int:  # pragma: no cover - compiled
    """Descend over groups `starts[g]:starts[g + 1]` of columns and several functions; otherwise as `descend`.

    The block of a split group is diag(own) - root root^T. It is not read, so that a wide category costs what the others do.
    """
    p, m = coefficients.shape
    for epoch in range(epochs):
        largest = 0.0
        for g in range(len(bound)):
            if bound[g] <= 0.0:
                continue
            first, end = starts[g], starts[g + 1]
            total = 0.0
            for k in range(first, end):
                for c in range(m):
                    z = gradient[k, c] + bound[g] * coefficients[k, c]
                    total += z * z
            norm = np.sqrt(total)
            shrink = 0.0
            if norm > penalty[g]:
                shrink = (1.0 - penalty[g] / norm) / (bound[g] + ridge)
            moved = 0.0
            # All steps of the group are taken from the same gradient: first the values, then what they change.
            steps, along = np.empty((end - first, m)), np.zeros(m)
            for k in range(first, end):
                for c in range(m):
                    step = shrink * (gradient[k, c] + bound[g] * coefficients[k, c]) - coefficients[k, c]
                    coefficients[k, c] += step
                    steps[k - first, c] = step
                    along[c] += root[k] * step
                    moved += step * step
            if moved == 0.0:
                continue
            for k in range(first, end):
                row, each = scatter[k], steps[k - first]
                # The functions of one column lie side by side.
                for i in range(first):
                    for c in range(m):
                        gradient[i, c] -= row[i] * each[c]
                for i in range(end, p):
                    for c in range(m):
                        gradient[i, c] -= row[i] * each[c]
                if is_split[g]:
                    for c in range(m):
                        gradient[k, c] -= own[k] * each[c] - root[k] * along[c]
                else:
                    for i in range(first, end):
                        for c in range(m):
                            gradient[i, c] -= row[i] * each[c]
            largest = max(largest, bound[g] * np.sqrt(moved))
        if largest <= tol:
            return epoch + 1
    return epochs
