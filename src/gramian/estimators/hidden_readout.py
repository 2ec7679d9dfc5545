"""A fixed random hidden layer, and outputs by ridge regression from its moments: what both machines share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from sklearn.base import BaseEstimator, clone
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from gramian.arrays.types import Array
from gramian.design.schema import Column, Labels, positions
from gramian.engines.collect import note_left_out
from gramian.errors import DataError, type_words
from gramian.estimators.hidden_layers import HiddenLayers
from gramian.estimators.spine import fields
from gramian.estimators.spine.estimator import SolvesLater, Tags
from gramian.estimators.spine.fields import Fields, Optional, array, such_that, table, texts
from gramian.estimators.spine.inputs import columns_in, open_rows
from gramian.estimators.spine.moments_estimator import FOLDS
from gramian.estimators.spine.training import no_target, note_columns, read, target_outputs, target_shape
from gramian.linear.regression.targets import refuse_identifier
from gramian.maps.formula import Apply, Formula, Layer, Plus, Step
from gramian.maps.projection import Design, Projection
from gramian.moments.value import Moments
from gramian.parameters import RIDGE, TRUTH, Kind, array_of, number, parameter, whole
from gramian.random.drawing import PROJECTIONS
from gramian.random.elm import hidden_names, refuse_fractions
from gramian.random.features import ACTIVATIONS, RandomMap
from gramian.random.readout import Readout, read_out

_LAYERS = Kind(
    "a tuple of them, one per layer",
    lambda value: isinstance(value, tuple | list) and len(value) > 0 and all(map(whole().accepts, value)),
)
_WITHOUT_MOMENTS = "this model was loaded from a file without its moments, or its parameters were changed after the fit"


def _chained(first: Projection, deeper: list[Array]) -> bool:
    """Whether each layer takes as many units as the one before has, and a bias."""
    sizes = [first.n_features, *(each.shape[1] for each in deeper)]
    return all(each.shape[0] == size + 1 for size, each in zip(sizes, deeper, strict=False))


@dataclass(eq=False, repr=False)
class HiddenReadout(SolvesLater, BaseEstimator):
    """What both machines share: the pass, the sums and differences of machines, the readout.

    Attributes
    ----------
    moments_ : Moments
        Of hidden units and targets.
    projection_ : Projection
        The net inputs of the first hidden layer.
    """

    n_hidden: Any = parameter(500, whole(), _LAYERS)
    _: KW_ONLY
    activation: str | None = parameter("tanh", *ACTIVATIONS)
    direct_links: bool = parameter(False, *TRUTH)
    ridge: float | str = parameter("auto", *RIDGE)
    hidden_weights: Any = parameter(None, array_of("a matrix of numbers, or a list of them"))
    projection: str = parameter("gaussian", *PROJECTIONS)
    scale: float = parameter(1.0, number(above=0))
    forgetting: float | None = parameter(None, number(above=0, most=1, words="a factor"))
    random_state: Any = 0
    categorical_features: Any = "from_dtype"

    _fields: ClassVar[Fields] = {
        "projection_": fields.projection("p", "h"),
        "_deeper": such_that(
            [array(None, None, finite=True)],
            lambda deeper, model: _chained(model.projection_, deeper),
            "a chain of layers",
        ),
        "ridge_": float,
        "selection_": table(),
        "direct_": (None, fields.projection("p", None)),
        "_output_names": texts(),
        "_saved": Optional(
            {
                "moments": Moments,
                "schema": [Column],
                "counts": [array(None, dtype="i8", least=0)],
                "seed": int,
                "known": [Labels],
            }
        ),
    }

    _classes = False
    _tags: ClassVar[Tags] = {"target_tags.required": True, "target_tags.multi_output": True}
    _kept_current = SolvesLater._kept_current | {"projection_"}

    def _sizes(self) -> Sequence[Any]:
        return self.n_hidden if isinstance(self.n_hidden, tuple | list) else (self.n_hidden,)

    # Fitting

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Fit to rows or files, in one pass.

        Parameters
        ----------
        X : array, frame, Arrow data, path(s) or iterable of batches
        y : array, str or tuple of str
            Values, or names of columns of X, which are then not features.
            Rows in which a named column is missing are left out; missing values in an array raise.
        sample_weight : array or str, optional
            One weight per row, one number for all rows, or the name of a column.
        """
        return self._fit(X, y, sample_weight)

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Add more rows to what was seen; the outputs are solved for when they are first asked for.

        Parameters and result are those of `fit`. With `forgetting`, the weight of all rows before is multiplied by it first.
        """
        return self._fit_more(X, y, sample_weight)

    def _learn(self, X: Any, y: Any, sample_weight: Any) -> None:
        self._take(X, y, sample_weight, final=True)
        for target in self._state.targets if self._classes else []:
            # A stream may begin with a row a class; `partial_fit` does not ask.
            refuse_identifier(self.moments_, target)
        self._finish()

    def _learn_more(self, X: Any, y: Any, sample_weight: Any) -> None:
        if "projection_" in self.__dict__ and "moments_" not in self.__dict__:
            raise DataError(f"{_WITHOUT_MOMENTS}; fit it again to add rows")
        self._take(X, y, sample_weight)
        self._outdated()

    def _take(self, X: Any, y: Any, sample_weight: Any, *, final: bool = False) -> None:
        """Add the moments of rows to those before."""
        if y is None:
            raise no_target(self)
        before: HiddenLayers | None = self.__dict__.get("_state")
        columns = None if before is None else before.columns
        training = read(self, X, y, sample_weight, targets=self._values, before=columns)
        if before is None:
            self._output_names = _several(y)
        n_folds = FOLDS if isinstance(self.ridge, str) and self.ridge == "cv" else 0
        layers, moments = HiddenLayers.collected(self, training, n_folds=n_folds, before=before, final=final)
        note_left_out(moments)
        if before is None:
            self._state, self.moments_ = layers, moments
        else:
            past = self.moments_ if self.forgetting is None else self.moments_ * self.forgetting
            self._state, self.moments_ = before + layers, past + moments
        self._set_map()

    def _set_map(self) -> None:
        self.projection_ = self._state.map.projection
        self._deeper = list(self._state.map.deeper)

    @property
    def _map(self) -> RandomMap:
        return RandomMap(self.projection_, self.activation, tuple(self._deeper))

    def _values(self, y: Any) -> dict[str, pa.Array]:
        """Return target values by the column they are collected under."""
        outputs = target_outputs(y)
        if self._classes:
            for values in outputs.values():
                refuse_fractions(values, "y")
                # Each by itself: one array of several types cannot be sorted.
                check_classification_targets(values.to_numpy(zero_copy_only=False))
            return outputs
        return {name: _numbers(values) for name, values in outputs.items()}

    def _finish(self) -> None:
        self.__dict__.pop("_unsolved", None)
        self._solve()

    def _solve(self) -> None:
        units = hidden_names(self._state.map.n_features)
        features = [column.name for column in self._state.columns] if self.direct_links else []
        readout = self._read_out([*units, *features])
        self.ridge_ = readout.ridge
        self.selection_ = readout.selection
        self._set_outputs(readout, len(units), features)

    def _read_out(self, columns: list[str]) -> Readout:
        """Return the ridge regression of the targets on these columns."""
        return read_out(
            self.moments_,
            columns,
            self._state.targets,
            ridge=self.ridge,
            target_type="multiclass" if self._classes else "continuous",
            n_units=self._state.map.n_features,
        )

    def _set_outputs(self, readout: Readout, n_units: int, features: list[str]) -> None:
        raise NotImplementedError

    def _link(self, coefficients: Array, n_units: int, features: list[str]) -> tuple[Projection | None, Array]:
        """Return what the features themselves add to the outputs, and all coefficients, these over `design_names_`.

        With m the means of the design columns and w their coefficients, x w = m w + (x - m) w. The first is the offset of the
        projection, so that a level never seen and a missing number count as the mean, and the intercept is that of columns
        as they are.
        """
        if not features:
            return None, coefficients
        # In the order of levels of the hidden layer: rows are encoded once for both.
        known, own = Design.of(self.moments_, features), self.projection_.design
        place = np.concatenate([_places(known, own, column) for column in own.columns])
        means = np.where(place >= 0, known.mean[place], 0.0)
        weights = np.where(place[:, None] >= 0, coefficients[n_units:][place], 0.0)
        link = Projection(replace(own, mean=means), weights, np.nan_to_num(means) @ weights)
        return link, np.vstack([coefficients[:n_units], weights])

    # Files

    def _beside_in_file(self) -> dict[str, Any]:
        """Return what a file holds beside parameters and fitted attributes: moments, so that machines of two files add."""
        return {"_saved": self._state.saved(self.moments_)} if "moments_" in self.__dict__ else {}

    def _take_up(self) -> None:
        """Go on from the moments of a file."""
        saved = self.__dict__.pop("_saved", None)
        if saved is None:
            return
        moments, columns = saved["moments"], saved["schema"]
        wanted = [*hidden_names(self._map.n_features), *(c.name for c in columns if self.direct_links or c.target)]
        if moments.schema.names != wanted:
            raise DataError("its moments are not those of its hidden units and targets")
        state = HiddenLayers.restored(self, saved, self._map)
        if state is not None:
            self._state, self.moments_ = state, moments

    # Adding and taking away

    def __add__(self, other: Any) -> Any:
        return self._combined(other, "+") if isinstance(other, type(self)) else NotImplemented

    def __sub__(self, other: Any) -> Any:
        return self._combined(other, "-") if isinstance(other, type(self)) else NotImplemented

    def _combined(self, other: HiddenReadout, sign: str) -> Any:
        for side in (self, other):
            check_is_fitted(side)
            if "moments_" not in side.__dict__:
                raise DataError(f"{_WITHOUT_MOMENTS}; fit it again to add or subtract")
        if self.direct_links != other.direct_links:
            raise DataError("one of these machines has direct_links and the other has none; fit both alike")
        self._state.refuse_other_map(other._state)
        whole, part = self.moments_, other.moments_
        moments = whole + part if sign == "+" else whole - part
        if not moments.n_rows:
            raise DataError("the difference of these machines has no rows")
        state = self._state + other._state if sign == "+" else self._state - other._state

        def combine(result: Any) -> None:
            result.moments_, result._state = moments, state
            result._set_map()
            note_columns(
                result, columns_in(self, self.design_), named="feature_names_in_" in self.__dict__, library=self._frames
            )
            result._output_names, result._unsolved = self._output_names, True

        result = clone(self)
        result._fit_by(combine)
        return result

    # What comes out

    @property
    def hidden_weights_(self) -> Any:
        """The weights of the hidden layer over `design_names_`, the bias last; a list of them for several layers."""
        check_is_fitted(self)
        first = np.vstack([self.projection_.weights, self.projection_.offset])
        return [first, *self._deeper] if self._deeper else first

    @property
    def design_names_(self) -> list[str]:
        """One name per design column: a number, or a level of a category."""
        check_is_fitted(self)
        return list(self.projection_.design.names)

    def hidden_layer(self, X: Any) -> Array:
        """Return what the (last) hidden units make of rows, (n_rows, units)."""
        check_is_fitted(self)
        layers = self._map
        return layers.apply(layers.design.rows(open_rows(self, X, layers.design)))

    def _of_outputs(self) -> Formula:
        """Return the outputs as a formula of the row."""
        steps: list[Step] = []
        for weights in self._deeper:
            steps += [*self._activation, Layer(weights[:-1], weights[-1])]
        coefficients = np.atleast_2d(self.coef_)[:, : self._map.n_features]
        steps += [*self._activation, Layer(coefficients.T, np.atleast_1d(self.intercept_))]
        return Formula(self.projection_, (*steps, *([] if self.direct_ is None else [Plus(self.direct_)])))

    @property
    def _activation(self) -> list[Step]:
        return [] if self.activation is None else [Apply(self.activation)]  # type: ignore[arg-type]

    def _outputs(self, X: Any) -> Array:
        """Return the outputs of rows, (n, m)."""
        check_is_fitted(self)
        coefficients = np.atleast_2d(self.coef_)
        layers = self._map
        n_units = layers.n_features
        parts = [np.empty((0, len(coefficients)))]
        for rows in layers.design.rows(open_rows(self, X, layers.design)):
            out = np.empty((len(rows), len(coefficients)))
            for at, hidden in layers.blocks(rows):
                out[at] = hidden @ coefficients[:, :n_units].T
            parts.append(out)
        outputs = np.concatenate(parts) + self.intercept_
        if self.direct_ is not None:
            outputs += self.direct_.apply(self.direct_.design.rows(open_rows(self, X, layers.design)))
        return outputs


def _places(known: Design, wanted: Design, column: Column) -> Array:
    """Return where the design columns of a column stand in another design of the same columns, -1 where they do not."""
    start = known.spans[column.name].start
    if column.form != "category":
        return np.array([start], dtype=np.intp)
    at = [each.name for each in wanted.categorical].index(column.name)
    places = positions(wanted.labels[at].values, known.labels[at].values)
    return np.where(places >= 0, places + start, -1)


def _several(y: Any) -> list[str]:
    """Return the names of several targets, none where there is one."""
    if isinstance(y, str | tuple):
        return list(y) if isinstance(y, tuple) and len(y) > 1 else []
    shape = getattr(y, "shape", None) or target_shape(y)
    if len(shape) < 2 or shape[1] < 2:
        return []
    return [str(name) for name in getattr(y, "columns", range(shape[1]))]


def _numbers(values: pa.Array) -> pa.Array:
    try:
        return values.cast(pa.float64(), safe=False)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise DataError(
            f"y holds {type_words(values.type)}, and a regression needs numbers; for classes use ELMClassifier"
        ) from None
