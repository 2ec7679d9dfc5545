"""`NMF`: rows as sums of non-negative parts, where entries may be missing, weighted, and measured by several losses."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np

from gramian.arrays.types import Array
from gramian.errors import Argument, DataError, shown
from gramian.estimators.plots.drawings import Plots
from gramian.estimators.sparse.signals import SignalTransformer, counted_rows
from gramian.estimators.spine.estimator import Tags, rng_of
from gramian.estimators.spine.fields import Fields, Optional, array, finite
from gramian.parameters import array_of, number, parameter, whole
from gramian.sparse.atoms import as_dictionary
from gramian.sparse.nmf import LOSSES, FactorSums, Observed, add_batch, choose_ridge, codes_of, divergence, factorise


@dataclass(eq=False, repr=False)
class NMF(Plots, SignalTransformer):
    """Rows as sums of non-negative parts, ``X ~ codes @ dictionary_``; an entry that is NaN was not observed and takes no part.

    Parameters
    ----------
    n_components : int
        Parts.
    beta_loss : {"frobenius", "kullback-leibler", "itakura-saito"} or float
        What is minimised, with scikit-learn's meaning: half the squared error, or another beta-divergence.
    ridge : "auto" or float
        Holds coefficients that few entries speak for: counted in entries, a row of q observed ones shrinks by about
        q/(q + ridge). "auto": where entries are missing, the one of 0, 0.01, 0.1 and 1 whose fit is nearest to a tenth of the
        observed entries that it did not see; 0 where none is missing, or for other losses than `"frobenius"`.
    init : "svd", "random" or (k, p) array
        Where the atoms begin: at the positive parts of singular vectors, at a seeded draw, or as given.
    max_iter : int
        Iterations at most; with a `tol` above 0 it warns where they do not suffice.
    tol : float
        Fall of the loss in an iteration, relative to the loss, at which to stop.
    random_state : int, RandomState or None
        For `init="random"`.

    Attributes
    ----------
    dictionary_ : (k, p) array
        The parts.
    components_ : (k, p) array
        The same, under scikit-learn's name.
    history_ : array
        What was minimised, at the start and after each iteration: it never rises.
    n_iter_ : int
    reconstruction_err_ : float
        Root of twice the loss of the fit: with `"frobenius"` the length of the residual.
    ridge_ : float
        The ridge that was used.
    design_ : Design
        What is read of a row: the columns, by name.
    n_features_in_ : int
        Columns.
    feature_names_in_ : array of str
        Their names, where they have some.

    See Also
    --------
    DictionaryLearner : atoms and codes of both signs.

    Notes
    -----
    Squared error is minimised by exact steps in one coefficient after the other (HALS), the other losses by multiplicative
    steps; codes of new rows by the same, until they have settled. `fit_transform` is `fit` and then `transform`.

    References
    ----------
    A. Cichocki, A.-H. Phan (2009), Fast local algorithms for large scale nonnegative matrix and tensor factorizations.
    C. Fevotte, J. Idier (2011), Algorithms for nonnegative matrix factorization with the beta-divergence.

    Examples
    --------
    >>> import numpy as np
    >>> import gramian as gm
    >>> X = np.outer([1.0, 2.0, 3.0], [4.0, 1.0, 5.0])
    >>> X[2, 1] = np.nan
    >>> model = gm.NMF(1, ridge=0, tol=0).fit(X)
    >>> model.inverse_transform(model.transform(X))[2].round(3)
    array([12.,  3., 15.])
    """

    n_components: int = parameter(2, whole())
    _: KW_ONLY
    beta_loss: str | float = parameter("frobenius", *LOSSES, number())
    ridge: str | float = parameter("auto", number(least=0))
    init: Any = parameter("svd", "random", array_of("a matrix of atoms"))
    max_iter: int = parameter(200, whole())
    tol: float = parameter(1e-4, number(least=0))
    random_state: Any = 0

    _plots: ClassVar[tuple[str, ...]] = ("atoms", "learning")
    _fields: ClassVar[Fields] = {
        "history_": array(None),
        "ridge_": finite,
        "n_iter_": int,
        "reconstruction_err_": float,
        "_up": Optional(array("q", "k", finite=True), "batches"),
        "_down": Optional((array("q", "k", finite=True), array(None, "k", "k", finite=True)), "batches"),
        "_rows_seen": Optional(finite, "batches"),
    }

    _allow_nan = True
    _tags: ClassVar[Tags] = {"input_tags.positive_only": True}

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, entry_weight: Any = None) -> Any:
        """Find parts of rows in memory.

        Parameters
        ----------
        X : array, frame, Arrow data or path(s)
            Rows of numbers from 0; NaN where nothing was observed.
        y : str or tuple of str, optional
            Columns of X that are not features. Values are ignored.
        sample_weight : array or str, optional
            One weight per row (how often it counts), one number for all rows, or the name of a column.
        entry_weight : (n, p) array, optional
            One weight an entry; 0 is as good as NaN.

        Returns
        -------
        self
        """
        return self._fit(X, y, sample_weight, entry_weight)

    def _learn(self, X: Any, y: Any, sample_weight: Any, entry_weight: Any) -> None:
        self._find(*self._data(X, y, sample_weight, entry_weight))

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None, entry_weight: Any = None) -> Any:
        """Improve the parts by one more batch of rows; the first batch is fitted as it is.

        Parameters and result are those of `fit`.
        """
        return self._fit_more(X, y, sample_weight, entry_weight)

    def _learn_more(self, X: Any, y: Any, sample_weight: Any, entry_weight: Any) -> None:
        before = dict(vars(self))
        more = "dictionary_" in before
        data, weights = self._data(X, y, sample_weight, entry_weight, more=more)
        if not more:
            self._find(data, weights)
        elif before["ridge_"] == 0 and data.weights is not None:
            self.ridge_ = self._ridge(data, weights, self.dictionary_)
        sums = FactorSums(before["_up"], before["_down"], before["_rows_seen"]) if "_up" in before else None
        self.dictionary_, sums = add_batch(
            self.dictionary_, sums, data, beta=self._beta(), ridge=self.ridge_, row_weights=weights
        )
        self._up, self._down, self._rows_seen = sums.up, sums.down, float(sums.rows)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return minus the loss of rows, `beta_loss` between them and their codes times the parts; higher is better.

        Parameters
        ----------
        X : rows in memory
            NaN where nothing was observed: such entries take no part.
        y : ignored
        sample_weight : array, optional
            One weight per row.
        """
        values, _ = self._rows(X)
        data, codes = Observed.of(values, beta=self._beta()), self._codes(values)
        weights = data.weights
        counts = counted_rows(sample_weight, len(values))
        if counts is not None:
            weights = (np.ones_like(data.values) if weights is None else weights) * counts[:, None]
        return -float(divergence(data.values, weights, codes @ self._atoms(), self._beta()))

    @property
    def components_(self) -> Array:
        """The parts under scikit-learn's name."""
        return self._atoms()

    def _data(
        self, X: Any, y: Any, sample_weight: Any, entry_weight: Any, *, more: bool = False
    ) -> tuple[Observed, Array | None]:
        values, weights = self._training(X, y, sample_weight, more=more)
        data = Observed.of(values, entry_weight, beta=self._beta())
        if weights is not None and not weights.all():
            counted = weights > 0
            data = Observed(data.values[counted], None if data.weights is None else data.weights[counted])
            weights = weights[counted]
        data.require_rows()
        if not more:
            data.require_columns(self._signal_design.origins)
        return data, weights

    def _find(self, data: Observed, weights: Array | None) -> None:
        init: Any = self.init
        if not isinstance(init, str):
            init = as_dictionary(init, zero_atoms=True)
            if init.shape != (self.n_components, data.values.shape[1]) or (init < 0).any():
                raise DataError(
                    f"init has shape {init.shape} or negative values; {(self.n_components, data.values.shape[1])} non-negative "
                    f"numbers are needed, one atom per row"
                )
        self.ridge_ = self._ridge(data, weights, init)
        joint = data.weights
        if weights is not None:
            joint = (np.ones_like(data.values) if joint is None else joint) * weights[:, None]
        try:
            with np.errstate(over="ignore", invalid="ignore"):
                factors = factorise(
                    data,
                    self.n_components,
                    beta=self._beta(),
                    row_weights=weights,
                    init=init,
                    max_iter=self.max_iter,
                    tol=float(self.tol),
                    ridge=self.ridge_,
                    rng=rng_of(self.random_state),
                )
                left = divergence(data.values, joint, factors.codes @ factors.atoms, self._beta())
        except OverflowError:
            raise self._overflows() from None
        if not (np.isfinite(factors.atoms).all() and np.isfinite(left)):
            raise self._overflows()
        self.dictionary_, self.history_ = factors.atoms, factors.history
        self.n_iter_ = len(factors.history) - 1
        self._warn_unsettled()
        self.reconstruction_err_ = float(np.sqrt(2 * max(left, 0.0)))

    def _warn_unsettled(self) -> None:
        """Warn where the last of all iterations still lowered the loss, by scikit-learn's measure: the loss at the start."""
        fall = float(self.history_[-2] - self.history_[-1])
        if self.n_iter_ < self.max_iter or not fall > self.tol * self.history_[0] or self.tol == 0:
            return
        from sklearn.exceptions import ConvergenceWarning

        warnings.warn(
            f"NMF stopped after max_iter = {self.max_iter} iterations, before its loss had settled: the last one lowered it "
            f"by {fall / self.history_[0]:.2g} of the loss at the start, and tol is {self.tol:g}; give it a larger max_iter or "
            f"tol",
            ConvergenceWarning,
            stacklevel=9,
        )

    def _ridge(self, data: Observed, weights: Array | None, init: Any) -> float:
        if self.ridge != "auto":
            return float(self.ridge)
        return choose_ridge(data, self.n_components, row_weights=weights, init=init) if self._beta() == 2 else 0.0

    def _beta(self) -> float:
        return LOSSES[self.beta_loss] if isinstance(self.beta_loss, str) else float(self.beta_loss)

    def _codes(self, signals: Array) -> Array:
        data = Observed.of(signals, beta=self._beta())
        data.require_rows()
        with np.errstate(over="ignore", invalid="ignore"):
            codes = codes_of(data, self._atoms(), beta=self._beta(), ridge=self.ridge_)
        if not np.isfinite(codes).all():
            raise self._overflows()
        return codes

    def _overflows(self) -> DataError:
        return DataError(
            Argument("beta_loss", self.beta_loss),
            " takes powers of the values that floats cannot hold; choose one nearer to 2, or divide the values by their size",
        )

    def _check_together(self) -> None:
        if self.ridge not in ("auto", 0) and self._beta() != 2:
            raise DataError(
                "ridge has a meaning for ",
                Argument("beta_loss", "frobenius"),
                f" alone; leave it out; got {shown(self.ridge)}",
            )
