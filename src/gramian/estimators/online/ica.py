"""`NeuralICA`: independent components by the nonlinear form of Oja's rule, on rows that moments have made white."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np

from gramian.arrays.linalg import fix_signs
from gramian.arrays.threads import one_blas_thread
from gramian.arrays.types import Array
from gramian.errors import Argument, DataError, optional
from gramian.estimators.online.transformer import LEARNING, KeepsHistory, generator, refuse_schedule
from gramian.estimators.plots.drawings import Plots
from gramian.estimators.spine.fields import Fields, array, past, size, texts
from gramian.estimators.spine.inputs import is_path, open_rows
from gramian.estimators.spine.moments_estimator import ProjectionTransformer
from gramian.estimators.spine.training import row_weights
from gramian.linear.whitening import whitening
from gramian.maps.projection import Design, Projection
from gramian.moments.value import Moments
from gramian.online.ica import NONLINEARITIES, Separation, first_rotation, kinds_of, learn, orthogonal, turn
from gramian.online.rows import carried_over
from gramian.online.schedules import Schedule, recorded
from gramian.parameters import parameter, whole
from gramian.tables import open_table

SETTLED = 1.0
"""Degrees by which the last epoch may turn the rotation."""


@dataclass(eq=False, repr=False)
class NeuralICA(Plots, KeepsHistory, ProjectionTransformer):
    """Independent component analysis by a neural rule: sources that are as independent as rotation can make them.

    Rows are whitened from their moments; a rotation is then learnt by the nonlinear subspace rule
    dW = eta g(y) (x - W^T g(y))^T. By default there is no rate to tune, and each unit's g follows the sign of its kurtosis (see
    `gramian.online.ica`). Sources are found up to order, sign and scale, at most one of them Gaussian; here they have unit
    variance, the largest kurtosis first.

    Parameters
    ----------
    n_components : int, optional
        Sources, k; by default the rank. Fewer are found among the first k principal components.
    nonlinearity : {"auto", "tanh", "cube", "y-tanh"}
        "tanh" finds sub-Gaussian sources only, "cube" and "y-tanh" super-Gaussian ones only; "auto" chooses per unit.
    mode : {"minibatch", "online"}
        Update with `batch_size` rows at a time, or with each row in turn.
    learning_rate : "auto" or float
        Of one row. With a number the rule is applied as it is written, and W made orthogonal in the end.
    schedule : {"constant", "1/t", "robbins-monro"}
        How a given rate falls over the updates.
    n_epochs : int
        Times that `fit` learns the rows. It warns where the last time still turned the rotation by more than a degree.
    batch_size : int
    shuffle : bool
        Take the rows of `fit` in another random order each epoch.
    solver : {"neural", "fixed-point", "picard"}
        The rule; scikit-learn's FastICA; or Picard (package python-picard, extra `ica`).
    random_state : int, RandomState or None
        Of the first rotation and the order of rows.
    categorical_features : "from_dtype", "all", names, positions or mask
        Which columns are categories.

    Attributes
    ----------
    unmixing_ : (k, p) array
        Over `design_names_`: sources are `(x - mean_) @ unmixing_.T`. `components_` is the same array.
    mixing_ : (p, k) array
        The way back: rows are `mixing_ @ s + mean_`, exact where k is the rank.
    whitening_ : (k, p) array
        Makes the covariance of the rows (divided by their weight) the identity.
    weights_ : (k, k) array
        The rotation: `unmixing_ = weights_ @ whitening_`.
    kurtosis_ : (k,) array
        Of each source, 0 for a Gaussian.
    nonlinearities_ : list of str
        What each unit ended with; empty for the other solvers.
    history_ : dict of arrays
        One entry an epoch, or a call of `partial_fit`: `updates`, `weights`, `norms`, and `turned`, the degrees by which the
        rotation has moved since the entry before.
    components_, n_components_, mean_, moments_, n_features_in_, feature_names_in_, design_, design_names_, projection_
        As in every estimator from moments.

    See Also
    --------
    Whitening : what comes before the rotation.
    HebbianPCA : uncorrelated instead of independent features.

    References
    ----------
    Oja (1997), The nonlinear PCA learning rule in independent component analysis. Hyvarinen and Oja (2000), Independent
    component analysis: algorithms and applications.

    Examples
    --------
    >>> import gramian as gm
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> sources = np.column_stack([rng.uniform(-1, 1, 2000), rng.laplace(size=2000)])
    >>> model = gm.NeuralICA().fit(sources @ [[2.0, 1.0], [1.0, 1.0]])
    >>> model.nonlinearities_
    ['y-tanh', 'tanh']
    """

    n_components: int | None = parameter(None, whole())
    _: KW_ONLY
    nonlinearity: str = parameter("auto", *NONLINEARITIES)
    mode: str = parameter("minibatch", "online")
    learning_rate: float | str = "auto"
    schedule: str = "constant"
    n_epochs: int = 20
    batch_size: int = parameter(256, whole(2))
    shuffle: bool = True
    solver: str = parameter("neural", "fixed-point", "picard")
    random_state: Any = 0
    categorical_features: Any = "from_dtype"

    _parameters = LEARNING

    _plots: ClassVar[tuple[str, ...]] = ("sources", "learning", "loadings")
    _fields: ClassVar[Fields] = {
        "n_components_": size("k"),
        "whitening_ _dewhitening": array("k", "p", finite=True),
        "weights_": array("k", "k"),
        "unmixing_ components_": array("k", "p"),
        "mixing_": array("p", "k"),
        "kurtosis_": array("k"),
        "nonlinearities_": (texts(0), texts("k")),
        "_learnt": [array("k"), array("k"), float, int],
        "_history": past(updates=int, weights=array(None, None), norms=array(None), turned=float),
    }

    takes_moments = False
    """Moments make rows white; the rule needs the rows."""

    def _check_together(self) -> None:
        refuse_schedule(self)
        if self.solver == "picard":
            _picard()

    # Fitting

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Fit to rows, which are read twice: for their moments, and white into memory.

        Parameters
        ----------
        X : array, frame, Arrow data, path(s), or list of batches
            Any source of `gramian.collect` that can be read twice; not Moments, which have no rows.
        y : str or tuple of str, optional
            Columns of X that are not features; values are not looked at.
        sample_weight : array or str, optional
            One weight per row, one number for all rows, or the name of a column.
        """
        return self._fit(X, y, sample_weight)

    def _learn(self, X: Any, y: Any, sample_weight: Any) -> None:
        self._refuse_once(X)
        super()._learn(X, y, sample_weight)
        rows, weights = self._white(X, sample_weight)
        k = rows.shape[1]
        self._history = {}
        if self.solver != "neural":
            if sample_weight is not None:
                raise DataError(
                    Argument("solver", self.solver), " takes no weights; use ", Argument("solver", "neural")
                )
            self.weights_ = _solved(rows, self.solver, self.nonlinearity, generator(self.random_state, 0))
            self._state = Separation.at(self.weights_)
        else:
            state = Separation.at(first_rotation(k, generator(self.random_state, 0)))
            with one_blas_thread():
                for epoch in range(self.n_epochs):
                    order = np.arange(len(rows))
                    if self.shuffle:
                        order = generator(self.random_state, 1, epoch).permutation(len(rows))
                    state = self._once(state, rows[order], weights[order])
            self._state = state
            self._warn_unsettled(k)
        self._unmix(rows, weights)

    def _warn_unsettled(self, k: int) -> None:
        """Warn where the last epoch still turned the rotation, or where one epoch cannot tell."""
        turned = float(self._history["turned"][-1])
        if k < 2 or (self.n_epochs > 1 and turned <= SETTLED):
            return
        from sklearn.exceptions import ConvergenceWarning

        warnings.warn(
            f"NeuralICA had not settled when it stopped: the last of {self.n_epochs} epochs turned the rotation by "
            f"{turned:.2g} degrees; give it more n_epochs. Sources that are Gaussian never settle",
            ConvergenceWarning,
            stacklevel=8,
        )

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Learn more rows, each once and in their order; whitening is that of all rows seen.

        Parameters and result are those of `fit`.
        """
        return self._fit_more(X, y, sample_weight)

    def _learn_more(self, X: Any, y: Any, sample_weight: Any) -> None:
        if self.solver != "neural":
            raise DataError(
                Argument("solver", self.solver), " needs all rows at once; use fit, or ", Argument("solver", "neural")
            )
        self._refuse_once(X)
        before: tuple[Design, Array, Any] | None = None
        if "unmixing_" in self.__dict__:
            before = (self.projection_.design, self.unmixing_, list(self._learnt))
        super()._learn_more(X, y, sample_weight)
        self._finish()
        rows, weights = self._white(X, sample_weight)
        k = rows.shape[1]
        state = Separation.at(first_rotation(k, generator(self.random_state, 0)))
        if before is None:
            self._history = {}
        else:
            old, unmixing, (kurtosis, curvature, seen, updates) = before
            # What the sources were over the columns there are, seen from the new white rows.
            carried = carried_over(old, self._white_design(), unmixing) @ self._dewhitening.T
            known = len(carried)
            start = orthogonal(np.vstack([carried, state.weights])[:k]) if known < k else orthogonal(carried[:k])
            pad = (0, max(0, k - known))
            state = Separation(start, np.pad(kurtosis[:k], pad), np.pad(curvature[:k], pad), seen, updates)
        with one_blas_thread():
            self._state = self._once(state, rows, weights)
        self._unmix(rows, weights)

    def _refuse_once(self, X: Any) -> None:
        if hasattr(X, "__next__"):
            raise DataError(
                "NeuralICA reads its rows twice, and an iterator gives its batches once; pass a list of them"
            )

    def _gather_moments(self, moments: Moments, y: Any, sample_weight: Any) -> Moments:
        raise DataError("NeuralICA learns from rows, and Moments have none; pass the rows")

    def _solve(self) -> None:
        whitened = whitening(self._moments, self._features, method="pca", ddof=0)
        k = whitened.rank if self.n_components is None else int(self.n_components)
        if k > whitened.rank:
            raise DataError(
                Argument("n_components", k),
                f" is more than the rank of the {len(whitened.mean)} design columns, {whitened.rank}; ask for at most "
                f"{whitened.rank}",
            )
        self.whitening_ = np.ascontiguousarray(whitened.weights.T[:k])
        self._dewhitening = np.ascontiguousarray(whitened.inverse[:k])
        self.mean_ = self._white_design().as_given(whitened.mean)

    def _white_design(self) -> Design:
        return Design.of(self._moments, self._features)

    def _white(self, X: Any, sample_weight: Any) -> tuple[Array, Array]:
        """Return the rows, white, and how often each counts."""
        projection = self._project(self.whitening_.T)
        design = projection.design
        table = open_table(X) if is_path(X) else open_rows(self, X, design)
        rows = np.asarray(projection.apply(design.rows(table)))
        weights = row_weights(sample_weight, len(rows), X)
        return rows, np.ones(len(rows)) if weights is None else weights

    def _once(self, state: Separation, rows: Array, weights: Array) -> Separation:
        """Return the state after all rows in their order, and note it."""
        by_row = self.mode == "online"
        size = len(rows) if by_row else int(self.batch_size)
        before = orthogonal(state.weights)
        for start in range(0, len(rows), max(size, 1)):
            part, counted = rows[start : start + size], weights[start : start + size]
            if isinstance(self.learning_rate, str):
                state = turn(state, part, counted, nonlinearity=self.nonlinearity, by_row=by_row)
            else:
                schedule = Schedule(self.learning_rate, self.schedule)
                state = learn(state, part, counted, nonlinearity=self.nonlinearity, schedule=schedule, by_row=by_row)
        cosines = np.clip((orthogonal(state.weights) * before).sum(axis=1), -1.0, 1.0)
        turned = float(np.degrees(np.arccos(cosines.min(initial=1.0))))
        self._history = recorded(self._history, updates=state.updates, weights=state.weights, turned=turned)
        return state

    def _unmix(self, rows: Array, row_weights: Array) -> None:
        """Set what comes out: sources in order of kurtosis, their signs by the largest loading."""
        state = self.__dict__.pop("_state")
        rotation = orthogonal(state.weights)
        y = rows @ rotation.T
        kurtosis = row_weights @ y**4 / row_weights.sum() / (row_weights @ y**2 / row_weights.sum()) ** 2 - 3.0
        order = np.argsort(-np.abs(kurtosis), kind="stable")
        unmixing = rotation[order] @ self.whitening_
        signs = np.where((fix_signs(unmixing.T).T * unmixing).sum(axis=1) < 0, -1.0, 1.0)[:, None]
        self.weights_ = signs * rotation[order]
        self.unmixing_ = self.components_ = np.ascontiguousarray(signs * unmixing)
        self.mixing_ = np.ascontiguousarray((self.weights_ @ self._dewhitening).T)
        self.kurtosis_ = kurtosis[order]
        # Units are followed in the new order; a unit's statistics do not change with its sign.
        self._learnt = [state.kurtosis[order], state.curvature[order], state.weight, state.updates]
        names = {code: name for name, code in NONLINEARITIES.items()}
        followed = state.kurtosis[order] if self.solver == "neural" else self.kurtosis_[:0]
        self.nonlinearities_ = [names[int(kind)] for kind in kinds_of(self.nonlinearity, followed)]
        self.n_components_ = len(self.unmixing_)
        design = self._white_design()
        self.projection_ = Projection(design, self.unmixing_.T, np.zeros(len(self.unmixing_)), self.mixing_.T)


def _picard() -> Callable[..., Any]:
    return optional("picard", Argument("solver", "picard"), "python-picard", extra="ica").picard


def _solved(rows: Array, solver: str, nonlinearity: str, rng: np.random.Generator) -> Array:
    """Return the rotation of white rows that another library finds."""
    start = first_rotation(rows.shape[1], rng)
    cube = nonlinearity == "cube"
    if solver == "picard":
        _, rotation, _ = _picard()(
            rows.T, fun="cube" if cube else "tanh", whiten=False, centering=False, ortho=True, w_init=start
        )
        return orthogonal(np.asarray(rotation))
    from sklearn.decomposition import FastICA

    model = FastICA(whiten=False, fun="cube" if cube else "logcosh", w_init=start, max_iter=1000)
    return orthogonal(np.asarray(model.fit(rows).components_))
