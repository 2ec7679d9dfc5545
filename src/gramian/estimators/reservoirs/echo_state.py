"""`EchoStateFeatures`, `EchoStateRegressor`: states of a fixed recurrent reservoir over sequences, and outputs fitted."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from gramian.arrays.types import Array
from gramian.engines.collect import collect
from gramian.errors import DataError, EchoStateWarning
from gramian.estimators.plots.drawings import Plots
from gramian.estimators.reservoirs.sequence_features import (
    SequenceTransformer,
    as_sequence,
    as_sequences,
    is_flat_list,
    is_sequences,
    matrix_of,
    refuse_long_washout,
    refuse_none,
)
from gramian.estimators.spine.estimator import Estimator, Tags, rng_of
from gramian.estimators.spine.fields import Fields, array, finite, such_that, table, texts
from gramian.estimators.spine.moments_estimator import FOLDS
from gramian.estimators.spine.outputs import SequenceOutputs
from gramian.moments.value import Moments
from gramian.parameters import OFTEN, RIDGE, TRUTH, check, number, parameter, whole
from gramian.random.readout import read_out, read_out_path
from gramian.random.reservoirs import echo_state as reservoirs


@dataclass(eq=False, repr=False)
class EchoStateUnits:
    """The parameters and weights of a reservoir."""

    n_reservoir: int = parameter(500, OFTEN)
    _: KW_ONLY
    spectral_radius: float = parameter(0.9, number(least=0))
    leak: float = parameter(1.0, number(above=0, most=1))
    input_scaling: float = parameter(1.0, number(above=0, most=1e150))
    washout: int = parameter(0, whole(0))
    connectivity: int = parameter(10, whole())
    bias_scaling: float = parameter(0.2, number(least=0, most=1e150))
    activation: str | None = parameter("tanh", *reservoirs.ACTIVATIONS)
    random_state: Any = 0

    _fields: ClassVar[Fields] = {
        "_columns": array("n_reservoir", "d", dtype="u4", below="n_reservoir"),
        "_values": array("n_reservoir", "d", finite=True),
        "bias_": array("n_reservoir", finite=True),
    }

    def _check_together(self) -> None:
        if self.spectral_radius >= 1:
            warnings.warn(
                f"spectral_radius={self.spectral_radius:g} is 1 or more: states may depend on where the reservoir began, "
                f"however long the sequence; use less than 1 unless the inputs are strong",
                EchoStateWarning,
                stacklevel=7,
            )

    def _draw(self, channels: int, rng: np.random.Generator) -> None:
        names = ("spectral_radius", "connectivity", "input_scaling", "bias_scaling", "leak", "activation")
        drawn = reservoirs.Reservoir.drawn(
            self.n_reservoir, channels, rng, **{name: getattr(self, name) for name in names}
        )
        self._columns, self._values = drawn.columns, drawn.values
        self.input_weights_, self.bias_ = drawn.input_weights, drawn.bias

    @property
    def _reservoir(self) -> reservoirs.Reservoir:
        return reservoirs.Reservoir(
            self._columns, self._values, self.input_weights_, self.bias_, float(self.leak), self.activation
        )

    @property
    def reservoir_(self) -> sp.csr_array:
        """The recurrent weights, (n_reservoir, n_reservoir), sparse."""
        check_is_fitted(self)
        return reservoirs.as_sparse(self._columns, self._values)


@dataclass(eq=False, repr=False)
class EchoStateFeatures(Plots, EchoStateUnits, SequenceTransformer):
    """Features of sequences from the states of a fixed recurrent reservoir (echo state network).

    The state of step t is x(t) = (1 - leak) x(t - 1) + leak tanh(W x(t - 1) + W_in u(t) + b), from x(0) = 0. Sequences may
    differ in length; each is run in a thread, and one's features do not depend on the others.

    Parameters
    ----------
    n_reservoir : int
        Units.
    spectral_radius : float
        The largest absolute eigenvalue of W; below 1 the initial state is forgotten.
    leak : float
        Above 0 and at most 1: how fast a unit follows its input.
    input_scaling : float
        W_in is uniform between minus and plus this.
    washout : int
        Steps at the beginning that are left out.
    connectivity : int
        Units that each unit listens to.
    bias_scaling : float
        b is uniform between minus and plus this.
    activation : {"tanh", "relu", None}
    random_state : int, generator or None
    pool : {"last", "mean", "model", None}
        The last state; the mean state; the ridge regression of the next input on the state, one per sequence (its "model"); or
        every state, one row per step.

    Attributes
    ----------
    reservoir_ : (n_reservoir, n_reservoir) sparse array
        W.
    input_weights_ : (n_reservoir, channels) array
    bias_ : (n_reservoir,) array
    n_features_in_ : int
        Channels; of rows of a table the columns, which are the steps.
    feature_names_in_ : array of str
        Only for rows of a table with names: those of its columns.

    See Also
    --------
    EchoStateRegressor : outputs fitted to the states.
    LiquidStateFeatures : a reservoir of spiking units.

    References
    ----------
    Jaeger (2001), GMD report 148; Chen, Tino, Rodan and Yao (2014), IEEE TNNLS 25.

    Examples
    --------
    >>> import gramian as gm
    >>> import numpy as np
    >>> sequences = [np.sin(np.arange(40.0)), np.cos(np.arange(25.0))]
    >>> gm.EchoStateFeatures(30).fit_transform(sequences).shape
    (2, 30)
    >>> [states.shape for states in gm.EchoStateFeatures(30, pool=None, washout=5).fit_transform(sequences)]
    [(35, 30), (20, 30)]
    """

    _: KW_ONLY
    pool: str | None = parameter("last", *reservoirs.POOLS)

    _plots: ClassVar[tuple[str, ...]] = ("states",)

    def _needed_steps(self) -> int:
        # The model of a sequence needs two pairs of a state and the next input.
        return 3 if self.pool == "model" else 1

    def _feature_count(self, channels: int) -> int:
        return (self.n_reservoir + 1) * channels if self.pool == "model" else self.n_reservoir

    def states(self, X: Any) -> list[Array]:
        """Return the states of the reservoir over time, one (time, n_reservoir) array per sequence."""
        check_is_fitted(self)
        return [self._reservoir.states(part) for part in self._read(X, None, reset=False)]

    def _features_of(self, sequences: list[Array]) -> list[Array]:
        return reservoirs.sequence_features(self._reservoir, sequences, self.pool, self.washout)


def _inputs(model: Any) -> int:
    """Return of how many columns the outputs are a regression."""
    return int(model.n_reservoir + (model.n_features_in_ if model.direct_links else 0))


@dataclass(eq=False, repr=False)
class EchoStateRegressor(Plots, EchoStateUnits, Estimator, RegressorMixin, BaseEstimator):
    """Predictions step by step, and forecasts, by ridge regression on the states of a fixed recurrent reservoir.

    The states go through one pass of moments, a few thousand steps at a time, so that memory does not grow with the length
    of the sequence; the ridge is that of every readout here.

    Parameters
    ----------
    n_reservoir, spectral_radius, leak, input_scaling
        As in `EchoStateFeatures`.
    washout : int
        Steps at the beginning of each sequence that are not learned from.
    connectivity, bias_scaling, activation
        As in `EchoStateFeatures`.
    random_state : int, generator or None
    ridge : "auto", "cv" or float
        In rows (steps). `"auto"`: by generalised cross-validation where there is a target; where the sequence predicts itself,
        by runs over stretches of it that feed on themselves, since the best next step may not be the best forecast. `"cv"`:
        by five folds of steps.
    direct_links : bool
        Whether the readout sees the input beside the state.

    Attributes
    ----------
    coef_ : (units,) or (outputs, units) array
        On the states, then on the inputs where they are linked directly.
    intercept_ : float or array
    ridge_ : float
    reservoir_ : (n_reservoir, n_reservoir) sparse array
    input_weights_ : (n_reservoir, channels) array
    bias_ : (n_reservoir,) array
    selection_ : dict of arrays
        The curve behind a ridge that was chosen.
    n_features_in_ : int
        Channels.
    feature_names_in_ : array of str
        Only for tables with names: those of the channels.

    See Also
    --------
    EchoStateFeatures : the states alone.
    ELMRegressor : rows instead of sequences.

    References
    ----------
    Jaeger and Haas (2004), Science 304.

    Examples
    --------
    >>> import gramian as gm
    >>> import numpy as np
    >>> wave = np.sin(np.arange(400) / 5)
    >>> model = gm.EchoStateRegressor(50, washout=50).fit(wave[:300])
    >>> np.abs(model.forecast(100) - wave[300:]).max() < 0.01
    np.True_
    """

    _: KW_ONLY
    ridge: float | str = parameter("auto", *RIDGE)
    direct_links: bool = parameter(True, *TRUTH)

    _plots: ClassVar[tuple[str, ...]] = ("forecast",)
    _fields: ClassVar[Fields] = {
        "input_weights_": array("n_reservoir", "q", finite=True),
        "_feeds_itself": bool,
        "_last_state": array("n_reservoir", finite=True),
        "_last_input": array("q", finite=True),
        "coef_": such_that(
            (array(_inputs, finite=True), array("o", _inputs, finite=True)),
            lambda coef, model: not model._feeds_itself or len(np.atleast_2d(coef)) == model.n_features_in_,
            "coefficients of its units",
        ),
        "intercept_": lambda model: finite if model.coef_.ndim == 1 else array("o", finite=True),
        "ridge_": float,
        "selection_": table(),
        "_output_names": (texts(0), texts("o")),
    }

    row_outputs = SequenceOutputs
    _tags: ClassVar[Tags] = {"target_tags.required": False, "target_tags.multi_output": True}

    # Fitting

    def fit(self, sequence: Any, target: Any = None) -> Any:
        """Fit to one sequence, or to several.

        Parameters
        ----------
        sequence : (time,) or (time, channels) array, frame or file; a list of them, or a 3-d array
            Rows are steps. A list of 1-d arrays is sequences of one channel; lists within a list are one table.
        target : (time,) or (time, outputs) array, or a list of them, or str, optional
            What to predict at each step, or a column of `sequence`. By default the next value of the sequence itself, which is
            what `forecast` needs.
        """
        return self._fit(sequence, target)

    def _learn(self, sequence: Any, target: Any) -> None:
        named = target if isinstance(target, str) else None
        sequences, column = self._sequences(sequence, named, reset=True)
        self._feeds_itself = target is None
        lengths = [len(part) for part in sequences]
        if target is None:
            # The last step of a sequence has no next value to learn from.
            refuse_long_washout(lengths, self.washout, 2)
            targets = [part[1:] for part in sequences]
            flat = _is_flat(sequence)
            if _is_several(sequence):
                flat = all(np.ndim(part) == 1 for part in sequence)
            elif not isinstance(sequence, np.ndarray | list):
                # A column of a table is a sequence of single values as well.
                flat = True
        else:
            refuse_long_washout(lengths, self.washout, 1)
            targets, flat = self._targets(target if column is None else column, sequences, listed=_is_several(sequence))
        self._draw(self.n_features_in_, rng_of(self.random_state))
        runs = reservoirs.free_runs_of(sequences, self.washout) if target is None and self.ridge == "auto" else []
        moments, width = self._moments(sequences, targets, runs)
        names = moments.columns
        if runs:
            path = read_out_path(moments, names[:width], names[width:], floor="rounding")
            readout = reservoirs.best_running(self._reservoir, path, runs, bool(self.direct_links))
        else:
            readout = read_out(
                moments, names[:width], names[width:], ridge=self.ridge, target_type="continuous", floor="rounding"
            )
        single = flat and readout.coefficients.shape[1] == 1
        self.coef_ = np.ascontiguousarray(readout.coefficients[:, 0] if single else readout.coefficients.T)
        self.intercept_ = float(readout.intercept[0]) if single else readout.intercept
        self.ridge_, self.selection_ = readout.ridge, readout.selection
        self._output_names = self._names_of(target, 1 if self.coef_.ndim == 1 else len(self.coef_))

    def _names_of(self, target: Any, outputs: int) -> list[str]:
        """Return what the outputs are called, none where there is one."""
        if outputs == 1:
            return []
        if target is None:
            return [str(name) for name in getattr(self, "feature_names_in_", range(outputs))]
        return [str(name) for name in getattr(target, "columns", range(outputs))]

    def _sequences(self, X: Any, target: str | None = None, *, reset: bool) -> tuple[list[Array], Array | None]:
        """Return the sequences, and the target column where one is named."""
        refuse_none(X)
        if _is_several(X):
            sequences = as_sequences(X, channels=None if reset else self.n_features_in_)
            self.n_features_in_ = sequences[0].shape[1]
            return sequences, None
        if _is_flat(X):
            single = as_sequence(X, "the sequence")
            if not reset and self.n_features_in_ != 1:
                raise DataError(
                    f"the sequence has 1 dimension, and {self.n_features_in_} channels are expected. Reshape your data to "
                    f"(time, channels)"
                )
            self.n_features_in_ = 1
            return [single], None
        rows, column = matrix_of(self, X, target, reset=reset)
        return [as_sequence(rows, "the sequence")], column

    def _targets(self, target: Any, sequences: list[Array], *, listed: bool) -> tuple[list[Array], bool]:
        """Return the target of each sequence, and whether they are single values per step."""
        several = len(sequences) > 1 or is_sequences(target) or (listed and is_flat_list(target))
        parts = list(target) if several else [target]
        if len(parts) != len(sequences):
            raise DataError(
                f"there are {len(sequences)} sequences and {len(parts)} targets; give one target per sequence"
            )
        targets = [as_sequence(part, "y") for part in parts]
        for k, (part, sequence) in enumerate(zip(targets, sequences, strict=True)):
            if len(part) != len(sequence):
                raise DataError(
                    f"sequence {k} has {len(sequence)} steps and its target {len(part)}; give one value per step"
                )
        return targets, all(np.asarray(part).ndim == 1 for part in parts)

    def _moments(
        self, sequences: list[Array], targets: list[Array], runs: list[reservoirs.FreeRun]
    ) -> tuple[Moments, int]:
        """Return the moments of states, inputs and targets, and how many of the columns are features."""
        reservoir = self._reservoir

        def chunks() -> Iterator[Array]:
            for k, (sequence, target) in enumerate(zip(sequences, targets, strict=True)):
                for start, states in reservoir.walk(sequence, k):
                    for run in runs:
                        if run.sequence == k and start <= run.step < start + len(states):
                            run.state = states[run.step - start].copy()
                    begin, stop = max(start, self.washout), min(start + len(states), len(target))
                    if begin < stop:
                        beside = [sequence[begin:stop]] if self.direct_links else []
                        yield np.hstack([states[begin - start : stop - start], *beside, target[begin:stop]])
                # Where a forecast goes on from.
                self._last_state, self._last_input = states[-1].copy(), sequence[-1].copy()

        folds = FOLDS if isinstance(self.ridge, str) and self.ridge == "cv" else 0
        width = self.n_reservoir + (self.n_features_in_ if self.direct_links else 0)
        return collect(chunks(), folds=folds, progress=False), width

    # What comes out

    def predict(self, sequence: Any) -> Any:
        """Return the output of each step, from a reservoir at rest: (time,) or (time, outputs), a list for a list."""
        check_is_fitted(self)
        predicted = [self._outputs(part, k) for k, part in enumerate(self._sequences(sequence, reset=False)[0])]
        if not _is_several(sequence):
            return predicted[0]
        return np.stack(predicted) if isinstance(sequence, np.ndarray) and sequence.ndim == 3 else predicted

    def _outputs(self, sequence: Array, which: int) -> Array:
        coefficients, n = np.atleast_2d(self.coef_), self.n_reservoir
        parts = []
        for start, states in self._reservoir.walk(sequence, which):
            out = states @ coefficients[:, :n].T
            if self.direct_links:
                out += sequence[start : start + len(states)] @ coefficients[:, n:].T
            parts.append(out)
        outputs = np.concatenate(parts) + self.intercept_
        return outputs[:, 0] if self.coef_.ndim == 1 else outputs

    def forecast(self, n_steps: int, after: Any = None) -> Array:
        """Return the next values of the sequence, each fed back as the input of the step after.

        Parameters
        ----------
        n_steps : int
        after : (time,) or (time, channels) array, optional
            The sequence to go on from; by default the one fitted, the last of several.
        """
        check_is_fitted(self)
        check("n_steps", n_steps, whole())
        if not self._feeds_itself:
            raise DataError(
                "forecast feeds predictions back as inputs: fit without a target, to predict the next value"
            )
        state, inputs = self._last_state, self._last_input
        if after is not None:
            history = self._sequences(after, reset=False)[0][-1]
            for _, states in self._reservoir.walk(history):
                state = states[-1]
            inputs = history[-1]
        ahead = self._reservoir.free_run(
            int(n_steps),
            state,
            inputs,
            np.atleast_2d(self.coef_),
            np.atleast_1d(self.intercept_),
            bool(self.direct_links),
        )
        return ahead[:, 0] if self.coef_.ndim == 1 else ahead


def _is_several(X: Any) -> bool:
    """Whether X is a list of sequences or a 3-d array; 1-d arrays of a list are sequences also where they are equally long."""
    return is_sequences(X) or is_flat_list(X)


def _is_flat(X: Any) -> bool:
    """Whether X is one sequence of single values."""
    named = isinstance(X, str) or hasattr(X, "columns") or hasattr(X, "schema")
    return not named and not _is_several(X) and np.asarray(X).ndim == 1
