"""Principal directions learned as rows arrive.

`HebbianPCA` learns by local rules. `LinearAutoencoder` learns a code of few numbers from which rows are rebuilt, by gradient in
minibatches.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np

from gramian.arrays.linalg import fix_signs
from gramian.arrays.types import Array
from gramian.errors import Argument, DataError, LearningWarning
from gramian.estimators.online.transformer import (
    AT_ONCE,
    OnlineTransformer,
    batch_rows,
    blocks,
    generator,
    noted,
    refuse_schedule,
    way_back,
)
from gramian.estimators.plots.drawings import Plots
from gramian.estimators.spine.fields import Fields, Optional, array, finite
from gramian.online import hebbian
from gramian.online.amnesic import GUARDS, directions_of, learn_batch, learn_rows
from gramian.online.rows import Batch, DesignRows
from gramian.online.schedules import Patience, Schedule, angle_between, batch_components, recorded
from gramian.parameters import TRUTH, array_of, as_numbers, number, parameter

_NARROW = 128
"""Design columns up to which the batch solution is always worth finding."""


@dataclass(eq=False, repr=False)
class HebbianPCA(Plots, OnlineTransformer):
    """Principal components by Hebbian learning: Hebb's, Oja's and Sanger's rules, the subspace rule and CCIPCA.

    Rows are centred first. With a learning rate of your own the rules are those of the textbook; by default there is no rate
    to tune: every unit counts it in its own variance, and ten guard units more than asked for let components of nearly equal
    variance settle (see `gramian.online.amnesic`). Categories are learnt as codes: an update touches the levels of a row.

    Parameters
    ----------
    n_components : int
        Units, k.
    rule : {"oja", "hebb", "sanger", "subspace", "ccipca"}
        "oja": the first component. "sanger": k components in order. "subspace": a basis of their span. "ccipca": components in
        order, without a rate. "hebb": the first component, growing without bound: it stops with a warning before overflow.
        At the automatic rate "oja", "sanger" and "subspace" find the components in order.
    mode : {"minibatch", "online", "batch"}
        Update with the sum over `batch_size` rows, with each row in turn, or with the sum over all rows once an epoch.
    learning_rate : "auto" or float
        Of one row, in every mode. For "hebb" the automatic rate lets the weights grow by at most the factor e an epoch.
    schedule : {"constant", "1/t", "robbins-monro"}
        How a given rate falls over the updates.
    n_epochs : int
        Times that `fit` reads the rows.
    init : (k, p) array, optional
        First weights, over `design_names_`. By default random, or at the automatic rate from the first rows.
    shuffle : bool
        Take the rows of `fit` in another random order each epoch.
    forgetting : float, optional
        For data that drifts: what a row's weight falls to with each later row. 0.999 remembers about 1,000 rows. The row that
        has r rows after it weighs `forgetting**r`, in the mean and, at the automatic rate, in the covariance that is learnt,
        however the rows are divided among calls of `partial_fit`. `fit` takes its mean over all rows alike, and forgets in the
        order in which rows are learnt. A constant rate of your own forgets by itself: there `forgetting` is for the mean alone.
        `rule="ccipca"` with `mode="online"` is the published recursion, an approximation: the mean that it takes off moves with
        each call, so its result depends a little on the division.
    batch_size : "auto" or int
        Rows of a minibatch. By default 256, and more where rows have few entries among many columns, so that an update costs no
        more than its rows do (at most an eighth of the rows there are).
    tol : float, optional
        Stop once the variance of the features has not risen by this share of itself for three epochs. By default all epochs
        are made.
    random_state : int, RandomState or None
        Of the order of rows and the first weights.
    categorical_features : "from_dtype", "all", names, positions or mask
        Which columns are categories.

    Attributes
    ----------
    weights_ : (k, p) array
        Over `design_names_`: features are `(x - mean_) @ weights_.T`. `components_` is the same array.
    explained_variance_ : (k,) array
        Mean square of each feature over the rows of the last call; at the automatic rate its running mean.
    history_ : dict of arrays
        One entry an epoch, or a call of `partial_fit`, and one before the first where there are first weights: `updates`,
        `weights` (entries, k, p), `norms` (entries, k), and `angle`, the largest principal angle to the batch solution in
        degrees, where it is known: `fit` finds it where that costs less than the epochs do. Of very many entries every second
        is left out.
    reference_ : (k, p) array or None
        That batch solution.
    n_updates_ : int
    components_, n_components_, n_epochs_, mean_, n_samples_seen_
        As in every estimator of rows.
    n_features_in_, feature_names_in_, design_, design_names_, projection_
        As in every estimator of rows.

    See Also
    --------
    PCA : the batch solution, from moments.
    LinearAutoencoder : the same span by a gradient.
    NeuralICA : independent instead of uncorrelated features.

    References
    ----------
    Oja (1982), A simplified neuron model as a principal component analyzer. Sanger (1989), Optimal unsupervised learning in a
    single-layer linear feedforward neural network. Weng, Zhang and Hwang (2003), Candid covariance-free incremental PCA.

    Examples
    --------
    The batch form of Oja's rule on six points, two epochs:

    >>> import gramian as gm
    >>> X = [[0, 1], [3, 5], [5, 4], [5, 6], [8, 7], [9, 7]]
    >>> gm.HebbianPCA(mode="batch", learning_rate=0.01, n_epochs=2, init=[[-1, 0]]).fit(X).weights_.round(6)
    array([[-0.854344, -0.495973]])
    >>> gm.HebbianPCA().fit(X).weights_.round(6)
    array([[0.830888, 0.55644 ]])
    """

    n_components: int = 1
    _: KW_ONLY
    rule: str = parameter("oja", *hebbian.RULES, "ccipca")
    mode: str = parameter("minibatch", *hebbian.MODES)
    learning_rate: float | str = "auto"
    schedule: str = "constant"
    n_epochs: int = 20
    init: Any = parameter(None, array_of("an array of numbers"))
    shuffle: bool = True
    forgetting: float | None = parameter(None, number(above=0, below=1))
    batch_size: int | str = "auto"
    tol: float | None = parameter(None, number(least=0))
    random_state: Any = 0
    categorical_features: Any = "from_dtype"

    _plots: ClassVar[tuple[str, ...]] = ("learning", "loadings")

    _fields: ClassVar[Fields] = {
        "weights_ components_": array("k", "p"),
        "explained_variance_": array("k"),
        "reference_": (None, array(None, "p", finite=True)),
        "_stopped": bool,
        "_history": lambda model: noted(angle=Optional(float) if model.reference_ is None else float),
        "_weights": Optional(array("k", "p", finite=True), "rule"),
        "_first _rate": Optional(finite, "rule"),
    }

    def _check_together(self) -> None:
        refuse_schedule(self)
        if self.rule in ("oja", "hebb") and self.n_components > 1:
            raise DataError(
                Argument("rule", self.rule),
                " learns one component, and ",
                Argument("n_components", self.n_components),
                "; use ",
                Argument("rule", "sanger"),
                ", 'subspace' or 'ccipca' for more",
            )
        if self.rule == "ccipca" and not isinstance(self.learning_rate, str):
            raise DataError(
                Argument("rule", "ccipca"), " has no learning rate; leave ", Argument("learning_rate", "auto")
            )
        f = self.forgetting
        if f is not None and f < 0.5:
            raise DataError(
                Argument("forgetting", f),
                f" keeps {f:.0%} of all that was seen with each row; to lose that much write {1 - f:g}",
            )

    # Which of the two ways to learn

    _ruled = ("_weights",)

    @property
    def _automatic(self) -> bool:
        return isinstance(self.learning_rate, str) and self.rule != "hebb"

    @property
    def _size(self) -> int:
        """Units that are learnt, guard units included."""
        if self.rule == "ccipca" and self.mode == "online":
            return int(self.n_components)
        return int(self.n_components) + GUARDS

    def _rows_at_once(self, rows: DesignRows, p: int) -> int:
        if self.mode == "batch":
            return len(rows)
        units = min(self._size, p) if self._automatic else int(self.n_components)
        size = batch_rows(self.batch_size, rows, p, units)
        if self.forgetting is None:
            return size
        # Directions turn with each update: four of them within what is remembered follow rows that drift.
        return max(1, min(size, int(0.25 / (1 - self.forgetting))))

    # Learning

    def _start(self, rows: DesignRows, mean: Array) -> None:
        p, k = len(mean), int(self.n_components)
        self._refuse_many(p)
        first = None
        if self.init is not None:
            first = as_numbers("init", self.init)
            if first.shape != (k, p):
                raise DataError(f"init has shape {first.shape}; it is (n_components, design columns) = ({k}, {p})")
            if not np.isfinite(first).all():
                raise DataError("init holds NaN or infinity; every first weight is a number")
        self._updates, self._stopped = 0, False
        if self._automatic:
            self._directions = np.empty((0, p)) if first is None else directions_of(first)[0]
            self._variances = np.zeros(len(self._directions))
            self._learnt = 0.0
            return
        self._weights = hebbian.first_weights(k, p, generator(self.random_state, 0)) if first is None else first
        self._first = float(np.square(self._weights).sum(axis=1).max())
        self._rate = self.learning_rate
        if isinstance(self._rate, str):
            total = sum(float(part.weights @ part.squares()) for part in blocks(rows, mean))
            self._rate = 1.0 / total if total > 0 else 1.0
        self._note()

    def _epoch(self, rows: DesignRows, mean: Array, epoch: int) -> bool:
        if epoch == 0:
            self._find_reference(rows, mean)
        rng, order = self._shuffled(rows, epoch)
        size = AT_ONCE if self.mode == "batch" else self._rows_at_once(rows, len(mean))
        whole = self.mode == "batch" and self._automatic
        batches = (rows.batch(order[s : s + size], mean) for s in range(0, len(rows), size))
        self._update(((batch, None) for batch in batches), rng, anew=whole)
        self._note()
        if self._stopped:
            return True
        if self.tol is None:
            return False
        share = float(np.log(max(self._variance(rows, mean).sum(), np.finfo(float).tiny)))
        if epoch == 0:
            self._patience = Patience(float(self.tol), 3)
        self._patience = self._patience.after(share)
        return self._patience.over

    def _more(self, batches: Iterator[tuple[Batch, Array]]) -> None:
        self.__dict__.setdefault("reference_", None)
        self._update(batches, generator(self.random_state, 2, self._updates), anew=False)
        self._note()

    def _update(self, batches: Iterable[tuple[Batch, Array | None]], rng: np.random.Generator, *, anew: bool) -> None:
        if not self._automatic:
            self._by_rule(batch for batch, _ in batches)
            return
        state, size = self._amnesic, min(self._size, self._directions.shape[1])
        if self.mode == "batch":
            parts, shifts = zip(*batches, strict=True)
            shift = None if anew else shifts[0]
            state = learn_batch(state, parts, size, rng=rng, shift=shift, forgetting=self.forgetting, anew=anew)
            self._updates += 1
        else:
            for batch, shift in batches:
                if self.mode == "online":
                    rotate = self.rule != "ccipca"
                    state = learn_rows(state, batch, size, shift=shift, forgetting=self.forgetting, rotate=rotate)
                else:
                    state = learn_batch(state, [batch], size, rng=rng, shift=shift, forgetting=self.forgetting)
                self._updates += len(batch) if self.mode == "online" else 1
        self._keep(state)

    def _by_rule(self, batches: Iterable[Batch]) -> None:
        state = hebbian.Hebbian(self._weights, self._updates, self._stopped, self._first)
        state = hebbian.learn(
            state, batches, rule=self.rule, mode=self.mode, schedule=Schedule(float(self._rate), self.schedule)
        )
        if state.stopped and not self._stopped:
            warnings.warn(
                f"Hebb's rule grows without bound: after {state.updates:,} updates a weight passed {hebbian.LARGEST:.0e}, and "
                f"learning stopped; rule='oja' settles at length 1",
                LearningWarning,
                stacklevel=2,
            )
        self._weights, self._updates, self._stopped = state.weights, state.updates, state.stopped

    # What comes out

    def _present(self) -> Array:
        """Return the weights (k, p) as they stand: zero for units that no row has reached."""
        return self._leading() if self._automatic else self._weights

    def _note(self) -> None:
        weights = self._present()
        reference: Array | None = self.__dict__.get("reference_")
        more = {} if reference is None else {"angle": angle_between(weights, reference)}
        self._history = recorded(self._history, updates=self._updates, weights=weights, **more)

    def _find_reference(self, rows: DesignRows, mean: Array) -> None:
        p, k = len(mean), int(self.n_components)
        self.reference_ = None
        units = min(p, self._size) if self._automatic else k
        # Its p x p scatter costs p a number, the epochs 4 k each.
        if p <= max(_NARROW, 2 * self.n_epochs * units):
            components = batch_components(blocks(rows, mean), k)
            if self._history:
                self._history = {**self._history, "angle": [angle_between(self._present(), components)]}
            self.reference_ = components

    def _variance(self, rows: DesignRows, mean: Array) -> Array:
        """Return the mean square of each feature over some rows; at the automatic rate its running mean."""
        k = int(self.n_components)
        if self._automatic:
            variances = self._variances[:k]
            return np.pad(variances, (0, k - len(variances)))
        total, weight = np.zeros(k), 0.0
        for batch in blocks(rows, mean):
            total += batch.weights @ batch.outputs(self._weights) ** 2
            weight += float(batch.weights.sum())
        return total / weight

    def _weights_now(self) -> tuple[Array, Array | None]:
        weights = self._present()
        if not self._automatic and self.init is None:
            turned = fix_signs(weights.T).T
            signs = np.where((turned * weights).sum(axis=1) < 0, -1.0, 1.0)[:, None]
            self._history = {**self._history, "weights": [signs * part for part in self._history["weights"]]}
            # The rules are odd: learning goes on from -w as it would from w.
            self._weights = weights = signs * weights
        self.weights_ = self.components_ = np.ascontiguousarray(weights)
        return self.weights_, way_back(self.weights_)

    def _describe(self, rows: DesignRows, mean: Array) -> None:
        self.__dict__.pop("_patience", None)
        self.n_components_ = int(self.n_components)
        self.n_updates_ = self._updates
        with np.errstate(over="ignore"):
            self.explained_variance_ = self._variance(rows, mean)


@dataclass(eq=False, repr=False)
class LinearAutoencoder(Plots, OnlineTransformer):
    """A linear autoencoder: features from which rows are rebuilt with the least squared error.

    Rows are centred first; the code is y = W x, its reconstruction V^T y. The best code spans the first k principal components.
    By default the gradient is divided by its curvature, so that there is no rate to tune (see `gramian.online.hebbian`),
    and the code is the components themselves; with a rate of your own it is some basis of their span.

    Parameters
    ----------
    n_components : int
        Numbers in the code, k.
    tied : bool
        Whether the decoder is the encoder transposed, or learnt beside it. At the automatic rate both come out the same.
    learning_rate : "auto" or float
        Of the gradient of half the mean squared error of a minibatch.
    schedule : {"constant", "1/t", "robbins-monro"}
        How a given rate falls over the updates.
    n_epochs : int
        Times that `fit` reads the rows.
    batch_size : "auto" or int
        Rows of a minibatch, by default as in `HebbianPCA`.
    shuffle : bool
        Take the rows of `fit` in another random order each epoch.
    random_state : int, RandomState or None
        Of the order of rows and the first weights.
    categorical_features : "from_dtype", "all", names, positions or mask
        Which columns are categories.

    Attributes
    ----------
    encoder_ : (k, p) array
        Over `design_names_`: features are `(x - mean_) @ encoder_.T`.
    decoder_ : (k, p) array
        Rows are rebuilt as `z @ decoder_ + mean_`.
    reconstruction_error_ : float
        Mean over the rows of the last call of ``|x - reconstruction|^2``.
    history_ : dict of arrays
        One entry an epoch, or a call of `partial_fit`: `updates`, `weights` (of the encoder), `norms`, `error`.
    n_updates_ : int
    n_components_, n_epochs_, mean_, n_samples_seen_, n_features_in_, feature_names_in_, design_, design_names_, projection_
        As in every estimator of rows.

    See Also
    --------
    HebbianPCA : the same components by Hebbian rules.
    PCA : the batch solution, from moments.

    References
    ----------
    Baldi and Hornik (1989), Neural networks and principal component analysis: learning from examples without local minima.

    Examples
    --------
    >>> import gramian as gm
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(500, 3)) * [3.0, 1.0, 0.1]
    >>> model = gm.LinearAutoencoder(2).fit(X)
    >>> model.reconstruct(X).shape, round(model.reconstruction_error_, 3)
    ((500, 3), 0.01)
    """

    n_components: int = 2
    _: KW_ONLY
    tied: bool = parameter(True, *TRUTH)
    learning_rate: float | str = "auto"
    schedule: str = "constant"
    n_epochs: int = 20
    batch_size: int | str = "auto"
    shuffle: bool = True
    random_state: Any = 0
    categorical_features: Any = "from_dtype"

    _plots: ClassVar[tuple[str, ...]] = ("learning", "loadings")

    _fields: ClassVar[Fields] = {
        "encoder_ decoder_": array("k", "p"),
        "reconstruction_error_": float,
        "_history": noted(error=float),
        "_encoder _decoder": Optional(array("k", "p", finite=True), "rule"),
    }

    def _check_together(self) -> None:
        refuse_schedule(self)

    _ruled = ("_encoder", "_decoder")

    @property
    def _automatic(self) -> bool:
        return isinstance(self.learning_rate, str)

    def _rows_at_once(self, rows: DesignRows, p: int) -> int:
        return batch_rows(self.batch_size, rows, p, min(int(self.n_components) + GUARDS * self._automatic, p))

    # Learning

    def _start(self, rows: DesignRows, mean: Array) -> None:
        p, k = len(mean), int(self.n_components)
        self._refuse_many(p)
        self._updates = 0
        if self._automatic:
            self._directions, self._variances, self._learnt = np.empty((0, p)), np.empty(0), 0.0
            return
        # Half of unit length: on the way from there the error falls from the first step on.
        self._encoder = self._decoder = 0.5 * hebbian.first_weights(k, p, generator(self.random_state, 0))

    def _epoch(self, rows: DesignRows, mean: Array, epoch: int) -> bool:
        rng, order = self._shuffled(rows, epoch)
        size = self._rows_at_once(rows, len(mean))
        self._update(((rows.batch(order[s : s + size], mean), None) for s in range(0, len(rows), size)), rng)
        self._note(self._error(rows, mean))
        return False

    def _more(self, batches: Iterator[tuple[Batch, Array]]) -> None:
        self._update(batches, generator(self.random_state, 2, self._updates))

    def _update(self, batches: Iterable[tuple[Batch, Array | None]], rng: np.random.Generator) -> None:
        if not self._automatic:
            state = hebbian.Autoencoder(self._encoder, self._decoder, self._updates)
            schedule = Schedule(self.learning_rate, self.schedule)  # type: ignore[arg-type]
            state = hebbian.learn_autoencoder(state, (batch for batch, _ in batches), schedule, tied=bool(self.tied))
            self._encoder, self._decoder, self._updates = state.encoder, state.decoder, state.updates
            return
        size = min(int(self.n_components) + GUARDS, self._directions.shape[1])
        amnesic = self._amnesic
        for batch, shift in batches:
            amnesic = learn_batch(amnesic, [batch], size, rng=rng, shift=shift)
            self._updates += 1
        self._keep(amnesic)

    # What comes out

    def _pair(self) -> tuple[Array, Array]:
        if not self._automatic:
            return self._encoder, self._decoder
        leading = self._leading()
        return leading, leading

    def _error(self, rows: DesignRows, mean: Array) -> float:
        return hebbian.reconstruction_error(*self._pair(), blocks(rows, mean))

    def _note(self, error: float) -> None:
        self._history = recorded(self._history, updates=self._updates, weights=self._pair()[0], error=error)

    def _weights_now(self) -> tuple[Array, Array | None]:
        encoder, decoder = self._pair()
        self.encoder_, self.decoder_ = np.ascontiguousarray(encoder), np.ascontiguousarray(decoder)
        return self.encoder_, self.decoder_

    def _describe(self, rows: DesignRows, mean: Array) -> None:
        self.n_components_ = int(self.n_components)
        self.n_updates_ = self._updates
        self.reconstruction_error_ = self._error(rows, mean)
        if not self._history or self._history["updates"][-1] != self._updates:
            self._note(self.reconstruction_error_)

    def reconstruct(self, X: Any, design: bool = False) -> Any:
        """Return rows rebuilt from their codes: source columns, or design columns where asked for.

        Parameters
        ----------
        X : rows in memory
        design : bool
            As in `inverse_transform`.
        """
        from sklearn import config_context

        with config_context(transform_output="default"):
            features = np.asarray(self.transform(X))
        return self.inverse_transform(features, design=design)
