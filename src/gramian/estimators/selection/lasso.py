"""`LassoSelector`: the columns of a Lasso in which a category enters or leaves as one."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np

from gramian.arrays.types import Array
from gramian.estimators.selection.selector import Chosen, ColumnSelector
from gramian.estimators.spine.fields import Fields, array, table
from gramian.moments.value import Moments
from gramian.parameters import OFTEN, TRUTH, number, parameter
from gramian.selection.held_out import Curve, held_out_curve
from gramian.selection.lasso.path import LassoProblem, alpha_grid, entry_alphas, lasso_path
from gramian.selection.problem import Problem


@dataclass(eq=False, repr=False)
class LassoSelector(ColumnSelector):
    """Keeps the columns to which a Lasso gives coefficients: all levels of a category together.

    The whole path comes from the second moments, with a penalty a source column (group Lasso); with `alpha="cv"` the penalty is
    the one that predicts left-out folds best. Numbers alone with `scale=False` are scikit-learn's Lasso and ElasticNet.

    Parameters
    ----------
    alpha : "cv" or float
        The penalty, in scikit-learn's meaning.
    k : int, optional
        Keep the first k columns that enter along the path, whatever the penalty; `alpha` is then not looked at.
    l1_ratio : float
        Of the elastic net: above 0 and at most 1.
    scale : bool
        Whether numbers have unit variance and levels are divided by the roots of their shares before they are penalised.
        Without, what is selected depends on the units.
    rule : {"best", "1se"}
        For `"cv"`: the best score, or the largest penalty within one standard error of it.
    n_alphas : int
        Penalties on the path.
    eps : float
        The last of them over the first.
    target_type : {"auto", "continuous", "binary", "multiclass"}
    include : name, position or list of them, optional
        Columns that stay; their coefficients are penalised like those of others.
    categorical_features : "from_dtype", "all", names, positions or mask
        Which columns are categories.

    Attributes
    ----------
    alpha_ : float
        The penalty chosen; NaN where k decides.
    alphas_ : array
    scores_ : array
        The largest penalty at which a column has coefficients, 0 where it never has.
    coef_ : (m, p) array
        At `alpha_`, over `design_names_`, of the columns as they are; m functions of the target.
    mse_path_ : array
        For `"cv"`: held-out mean squared error over that of the training means, one an alpha.
    path_ : table
        alpha, column, size (of its coefficients in the units of the penalty), and for `"cv"` the held-out score with its
        standard error: one row a penalty and column inside.

    See Also
    --------
    ForwardSelector : columns one by one, without a penalty on their coefficients.
    RecursiveEliminator : the other way round.

    Notes
    -----
    A category of at least half as many levels as rows is never chosen, and set aside before any matrix is formed.

    References
    ----------
    .. [1] Tibshirani, R. (1996). Regression shrinkage and selection via the lasso. JRSS B 58(1).
    .. [2] Yuan, M. and Lin, Y. (2006). Model selection and estimation in regression with grouped variables. JRSS B 68(1).

    Examples
    --------
    >>> import gramian as gm
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((300, 6))
    >>> y = 2 * X[:, 4] - X[:, 1] + rng.standard_normal(300)
    >>> gm.LassoSelector(alpha=0.3).fit(X, y).get_support(indices=True)
    array([1, 4])
    >>> gm.LassoSelector(rule="1se").fit(X, y).get_support(indices=True)
    array([1, 4])
    """

    alpha: float | str = parameter("cv", number(above=0))
    _: KW_ONLY
    k: int | None = None
    l1_ratio: float = parameter(1.0, number(above=0, most=1))
    scale: bool = parameter(True, *TRUTH)
    rule: str = parameter("best", "1se")
    n_alphas: int = parameter(100, OFTEN)
    eps: float = parameter(1e-3, number(above=0, below=1))
    target_type: str = "auto"
    include: Any = None
    categorical_features: Any = "from_dtype"

    _fields: ClassVar[Fields] = {
        "path_columns_": table("alpha", "column", "size", worded=("column",)),
        "alpha_": float,
        "alphas_ mse_path_": array(None),
        "coef_": array(None, "p", finite=True),
    }

    def _wants_folds(self) -> bool:
        return isinstance(self.alpha, str) and self.k is None

    def _choose(self, moments: Moments, include: list[int]) -> Chosen:
        problem = self._problem(moments)
        lasso = LassoProblem.of(problem, self.scale)
        alphas, at, curve = self._penalties(problem, lasso)
        path = lasso_path(lasso, alphas, self.l1_ratio, most=self.k)
        alphas = alphas[: len(path)]
        entered = entry_alphas(lasso, alphas, path)
        if self.k is None:
            inside = lasso.norms(path[at]) > 0
            self.alpha_ = float(alphas[at])
        else:
            inside = self._first(lasso, entered, path, include, self.k)
            at, self.alpha_ = len(path) - 1, float("nan")
        support = np.array(inside)
        support[include] = True
        self.alphas_ = alphas
        self.mse_path_ = np.empty(0) if curve is None else 1 - curve.score
        self.coef_ = lasso.as_given(path[at]).T
        return Chosen(support, entered, path=self._steps(lasso, alphas, path, self._sources, curve))

    def _penalties(self, problem: Problem, lasso: LassoProblem) -> tuple[Array, int, Curve | None]:
        """Return the penalties, which of them is chosen, and the held-out scores where they chose it."""
        alphas = alpha_grid(lasso, self.l1_ratio, count=int(self.n_alphas), eps=float(self.eps))
        if self.k is not None:
            # Down to almost least squares, so that k columns enter where they can.
            more = alphas[-1] * np.geomspace(1, 1e-3, len(alphas) + 1)[1:] if len(alphas) > 1 else alphas[:0]
            return np.concatenate([alphas, more]), 0, None
        if not isinstance(self.alpha, str):
            before = alphas[alphas > self.alpha]
            return np.append(before, float(self.alpha)), len(before), None

        def models(train: Problem) -> list[Array]:
            own = LassoProblem.of(train, self.scale)
            return [own.as_given(each) for each in lasso_path(own, alphas, self.l1_ratio)]

        curve = held_out_curve(problem, models, "alpha='cv'")
        return alphas, curve.best(self.rule), curve

    def _first(self, lasso: LassoProblem, entered: Array, path: Array, include: list[int], count: int) -> Array:
        """Return the included columns and the first to enter, as many as k in all; of those at one penalty the larger first."""
        forced = np.isin(np.arange(len(entered)), include)
        at_entry = np.zeros(len(entered))
        for k in range(len(path)):
            size = lasso.norms(path[k])
            at_entry = np.where((at_entry == 0) & (size > 0), size, at_entry)
        order = np.lexsort((np.arange(len(entered)), -at_entry, -entered, ~forced))
        out = np.zeros(len(entered), dtype=bool)
        out[order[:count]] = True
        return out

    def _steps(
        self, lasso: LassoProblem, alphas: Array, path: Array, names: list[str], curve: Curve | None
    ) -> dict[str, Any]:
        sizes = np.array([lasso.norms(each) for each in path])
        at, column = np.nonzero(sizes)
        out: dict[str, Any] = {"alpha": alphas[at], "column": [names[j] for j in column], "size": sizes[at, column]}
        if curve is not None:
            out["cv_score"], out["cv_error"] = curve.score[at], curve.error[at]
        return out
