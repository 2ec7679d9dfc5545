"""`ELMClassifier` and `ELMRegressor`: a fixed random hidden layer, and outputs by ridge regression from its moments."""

from __future__ import annotations

from typing import Any, ClassVar, cast

import numpy as np
import numpy.typing as npt
from scipy.special import softmax
from sklearn.base import RegressorMixin
from sklearn.utils.metaestimators import available_if

from gramian.arrays.types import Array, exact_array
from gramian.errors import DataError, shown
from gramian.estimators.hidden_readout import HiddenReadout
from gramian.estimators.plots.drawings import Plots
from gramian.estimators.spine.estimator import Classifier, assign
from gramian.estimators.spine.fields import Fields, Optional, array, classes, constants, finite, projection, such_that
from gramian.estimators.spine.training import plain_target
from gramian.maps.formula import Apply, Formula, Layer, classified
from gramian.random.readout import Readout, among_declared, log_posteriors, nearest_probabilities


def _inputs(model: Any) -> int:
    """Return of how many columns the outputs are a regression."""
    return int(model._map.n_features + (0 if model.direct_ is None else len(model.direct_.design.mean)))


class ELMRegressor(Plots, RegressorMixin, HiddenReadout):
    """A network with a fixed random hidden layer whose outputs are a ridge regression, from moments (regression).

    Also known as extreme learning machine; with `direct_links` as random vector functional link network. The hidden weights are
    drawn by column and label and never trained, so that the outputs follow from the moments of hidden units: one pass over
    data of any size, categories without a one-hot matrix, `partial_fit`, and sums and differences of fitted machines.

    Parameters
    ----------
    n_hidden : int or tuple of int
        Hidden units; a tuple: of each layer.
    activation : None, "tanh", "sigmoid", "relu", "step" or "cos"
    direct_links : bool
        Whether the columns themselves are linked to the outputs too.
    ridge : "auto", "cv" or float
        In rows; `"auto"` by generalised cross-validation, `"cv"` by five folds of the same pass.
    hidden_weights : (p + 1, n_hidden) array, optional
        Weights over the design columns instead of random ones, the bias last; a list of matrices: of each layer. `n_hidden`
        is then theirs. With categories they belong to the levels of the first rows in order of first sight, which takes one
        more reading.
    projection : {"gaussian", "uniform", "sparse", "hadamard"}
        How weights are drawn.
    scale : float
        The standard deviation of net inputs, for columns of unit variance.
    forgetting : float, optional
        What the weight of all rows before is multiplied by at each `partial_fit`, however many rows it brings. For a factor f
        per row and calls of n rows give f**n; the rows of one call weigh the same.
    random_state : int, generator or None
    categorical_features : "from_dtype", "all", names, positions or mask
        Which columns are categories.

    Attributes
    ----------
    hidden_weights_ : (p + 1, n_hidden) array, a list of them for several layers
        Over `design_names_`, the bias last.
    coef_ : (units,) or (outputs, units) array
        Output weights, those of direct links, over `design_names_`, after those of the hidden units.
    intercept_ : float or array
        Outputs are `hidden_layer(X) @ coef_ + intercept_`, with direct links the design columns of X beside the hidden units.
    ridge_ : float
    selection_ : dict of arrays
        The curve behind a ridge that was chosen.
    moments_ : Moments
        Of hidden units and targets; a model file holds them too.
    direct_ : Projection or None
        What the columns themselves add to the outputs, with `direct_links`.
    projection_ : Projection
        From rows to the net inputs of the first hidden layer.
    design_ : Design
        What is read of a row: source columns and their levels.
    design_names_ : list of str
        One name per design column: a number, or a level of a category.
    n_features_in_ : int
        Number of source columns.
    feature_names_in_ : array of str
        Their names, where they have some.

    See Also
    --------
    ELMClassifier : the same for classes.
    RandomFeatures : the hidden layer alone.
    EchoStateRegressor : a hidden layer with a memory, for sequences.

    Notes
    -----
    Numbers are taken as they are: scale them first. A missing number and an unseen level add nothing to the hidden units.

    References
    ----------
    Pao, Park and Sobajic (1994), Neurocomputing 6; Huang, Zhu and Siew (2006), Neurocomputing 70.

    Examples
    --------
    >>> import gramian as gm
    >>> import numpy as np
    >>> V = np.array([[0.44, -0.09, -0.91, -0.92, 0.68, -0.94],
    ...               [-0.91, 0.02, -0.60, 0.71, 0.15, -0.83],
    ...               [-0.62, -0.81, 0.74, -0.82, -0.26, 0.80]])
    >>> X, z = [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [1.0, 0.0, -1.0, 0.0]
    >>> machine = gm.ELMRegressor(hidden_weights=V, activation="step", ridge=0.0).fit(X, z)
    >>> machine.predict(X).round(9) + 0.0
    array([ 1.,  0., -1.,  0.])
    """

    _plots: ClassVar[tuple[str, ...]] = ("predictions",)
    _fields: ClassVar[Fields] = {
        "coef_": (array(_inputs, finite=True), array("o", _inputs, finite=True)),
        "intercept_": lambda model: finite if model.coef_.ndim == 1 else array("o", finite=True),
        "direct_": (None, projection("p", lambda model: len(np.atleast_2d(model.coef_)))),
    }

    def _set_outputs(self, readout: Readout, n_units: int, features: list[str]) -> None:
        self.direct_, coefficients = self._link(readout.coefficients, n_units, features)
        single = coefficients.shape[1] == 1
        self.coef_ = np.ascontiguousarray(coefficients[:, 0] if single else coefficients.T)
        self.intercept_ = float(readout.intercept[0]) if single else readout.intercept

    def _formula(self, method: str) -> Formula | None:
        return self._of_outputs() if method == "predict" else None

    def predict(self, X: Any) -> Array:
        """Return the outputs of rows, (n_rows,) or (n_rows, outputs)."""
        outputs = self._outputs(X)
        return outputs[:, 0] if self.coef_.ndim == 1 else outputs


def _has_one_target(model: Any) -> bool:
    # Not by attribute: `__getattr__` would solve.
    return not isinstance(model.__dict__.get("classes_"), list)


def _targets(model: Any) -> list[npt.NDArray]:
    """Return the classes of each target."""
    return model.classes_ if isinstance(model.classes_, list) else [model.classes_]


def _outputs(model: Any) -> int:
    """Return how many functions there are: one for two classes of a target, else one per class."""
    return sum(1 if len(labels) == 2 else len(labels) for labels in _targets(model))


class ELMClassifier(Plots, Classifier, HiddenReadout):
    """A network with a fixed random hidden layer whose outputs are a ridge regression, from moments (classification).

    The outputs of two classes are a regression of their indicator, an estimate of the class probability. Those of three or more
    are log posteriors: a Gaussian discriminant of the regressions of all indicators, at what rows left out would get, since the
    largest of these regressions alone can mask a class that lies between others. See `ELMRegressor` for the hidden layer and
    for what it is called elsewhere.

    Parameters
    ----------
    n_hidden : int or tuple of int
        Hidden units; a tuple: of each layer.
    activation : None, "tanh", "sigmoid", "relu", "step" or "cos"
    direct_links : bool
        Whether the columns themselves are linked to the outputs too.
    ridge : "auto", "cv" or float
        In rows; `"auto"` by generalised cross-validation, `"cv"` by five folds of the same pass.
    hidden_weights : (p + 1, n_hidden) array, optional
        Weights over the design columns instead of random ones, the bias last; a list of matrices: of each layer. `n_hidden`
        is then theirs. With categories they belong to the levels of the first rows in order of first sight, which takes one
        more reading.
    projection : {"gaussian", "uniform", "sparse", "hadamard"}
        How weights are drawn.
    scale : float
        The standard deviation of net inputs, for columns of unit variance.
    forgetting : float, optional
        What the weight of all rows before is multiplied by at each `partial_fit`, however many rows it brings. For a factor f
        per row and calls of n rows give f**n; the rows of one call weigh the same.
    random_state : int, generator or None
    categorical_features : "from_dtype", "all", names, positions or mask
        Which columns are categories.

    Attributes
    ----------
    classes_ : array, a list of them for several targets
    hidden_weights_ : (p + 1, n_hidden) array, a list of them for several layers
        Over `design_names_`, the bias last.
    coef_ : (c, units) array, (1, units) for two classes
        Output weights, those of direct links, over `design_names_`, after those of the hidden units: of log posteriors; of two
        classes of the indicator of the second less that of the first.
    intercept_ : (c,) or (1,) array
        Minus infinity for a class named in `partial_fit` that has no rows yet.
    ridge_ : float
    selection_ : dict of arrays
        The curve behind a ridge that was chosen.
    moments_ : Moments
        Of hidden units and targets; a model file holds them too.
    direct_ : Projection or None
        What the columns themselves add to the outputs, with `direct_links`.
    projection_ : Projection
        From rows to the net inputs of the first hidden layer.
    design_ : Design
        What is read of a row: source columns and their levels.
    design_names_ : list of str
        One name per design column: a number, or a level of a category.
    n_features_in_ : int
        Number of source columns.
    feature_names_in_ : array of str
        Their names, where they have some.

    See Also
    --------
    ELMRegressor : the same for numbers.
    RandomFeatures : the hidden layer alone.
    FisherDiscriminant : a discriminant of the columns themselves.

    References
    ----------
    .. [1] Huang, G.-B., Zhu, Q.-Y. and Siew, C.-K. (2006). Extreme learning machine: theory and applications.
       Neurocomputing 70.
    .. [2] Pao, Y.-H., Park, G.-H. and Sobajic, D. J. (1994). Learning and generalization characteristics of the random vector
       functional-link net. Neurocomputing 6.
    .. [3] Hastie, T., Tibshirani, R. and Buja, A. (1994). Flexible discriminant analysis by optimal scoring. JASA 89.

    Examples
    --------
    >>> import gramian as gm
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (400, 2))
    >>> y = np.where(X[:, 0] * X[:, 1] > 0, "same", "opposite")
    >>> a = gm.ELMClassifier(50, scale=3.0).fit(X[:200], y[:200])
    >>> b = gm.ELMClassifier(50, scale=3.0).fit(X[200:], y[200:])
    >>> (a + b).score(X, y) > 0.9
    True
    """

    _plots: ClassVar[tuple[str, ...]] = ("predictions",)
    _fields: ClassVar[Fields] = {
        "classes_": (classes(), [classes()]),
        "coef_": array(_outputs, _inputs, finite=True),
        "intercept_": constants(_outputs),
        "direct_": (None, projection("p", _outputs)),
        "_posterior": such_that(
            [bool], lambda found, model: len(found) == len(_targets(model)), "a list, one per target"
        ),
        "_declared": Optional(classes()),
    }

    _classes = True
    _declared: npt.NDArray | None = None

    def partial_fit(  # type: ignore[override]
        self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None
    ) -> Any:
        """Add more rows to what was seen; the outputs are solved for when they are first asked for.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`. With `forgetting`, the weight of all rows before is multiplied by it first.
        classes : array, optional
            The classes that may occur, of a single target; others in `y` raise. All of them are in `classes_` from then on, and
            one without rows has the probability 0.
        """
        return self._fit_more(X, y, sample_weight, classes)

    def _learn_more(self, X: Any, y: Any, sample_weight: Any, classes: Any = None) -> None:
        if classes is not None:
            self._declare(classes)
        if self._declared is not None and y is not None and not isinstance(y, str | tuple):
            # What is named is known once it is read.
            self._refuse_undeclared(np.unique(np.asarray(plain_target(y))).tolist())
        super()._learn_more(X, y, sample_weight)
        if self._declared is not None:
            if len(self._state.targets) != 1:
                raise DataError("classes are those of one target, and there are several; leave them out")
            self._refuse_undeclared(self.moments_.levels(self._state.targets[0]))

    def _declare(self, classes: Any) -> None:
        declared = exact_array(sorted(set(np.asarray(plain_target(classes)).ravel().tolist())))
        if len(declared) < 2:
            raise DataError(f"classes has less than 2 classes: only {shown(declared.tolist())}")
        before = self._declared
        if before is not None and before.tolist() != declared.tolist():
            raise DataError(
                f"classes are {shown(declared.tolist())}, and before they were {shown(before.tolist())}; "
                f"they are settled by the first partial_fit"
            )
        self._declared = declared

    def _refuse_undeclared(self, labels: list[Any]) -> None:
        strange = [label for label in labels if label not in set(cast(Array, self._declared).tolist())]
        if strange:
            raise DataError(f"y holds {shown(strange[0])}, which is not in classes")

    def _combined(self, other: Any, sign: str) -> Any:
        result = super()._combined(other, sign)
        both = [side._declared for side in (self, other)]
        if any(each is not None for each in both):
            seen = [each if each is not None else result.moments_.levels(result._state.targets[0]) for each in both]
            labels = sorted({label for each in seen for label in np.asarray(each).tolist()})
            assign(result, {"_declared": exact_array(labels)})
        return result

    def _solve(self) -> None:
        if self.moments_.n_rows < 2:
            raise DataError(f"ELMClassifier needs at least 2 rows; got n_samples = {self.moments_.n_rows}")
        super()._solve()

    def _read_out(self, columns: list[str]) -> Readout:
        if self._declared is not None:
            target = self._state.targets[0]
            present = [
                label
                for label, count in zip(self.moments_.levels(target), self.moments_.counts(target), strict=True)
                if count
            ]
            if len(present) == 1:
                # One class of several: every row has it.
                means = self.moments_.mean(columns)
                return Readout(np.zeros((len(means), 1)), np.ones(1), means, 0.0, {}, [present], [None])
        return super()._read_out(columns)

    def _set_outputs(self, readout: Readout, n_units: int, features: list[str]) -> None:
        classes = [exact_array(labels) for labels in readout.classes]
        coefficients, intercept = log_posteriors(readout)
        self._posterior = [each is not None for each in readout.discriminants]
        if self._declared is not None and len(self._declared) > len(classes[0]):
            absent = -np.inf if self._posterior[0] else 0.0
            coefficients, intercept = among_declared(classes[0], self._declared, coefficients, intercept, absent)
            classes = [self._declared]
        # Of two classes there is one function, the indicator of the second: 2 P - 1 is what it is more than the first.
        factor = np.concatenate([[2.0] if len(labels) == 2 else np.ones(len(labels)) for labels in classes])
        self.direct_, coefficients = self._link(coefficients * factor, n_units, features)
        self.coef_ = np.ascontiguousarray(coefficients.T)
        self.intercept_ = intercept * factor - (factor == 2.0)
        self.classes_ = classes[0] if len(classes) == 1 else classes

    def _by_target(self, outputs: Array) -> list[Array]:
        """Return the outputs of each target."""
        ends = np.cumsum([1 if len(labels) == 2 else len(labels) for labels in _targets(self)])
        return np.split(outputs, ends[:-1], axis=1)

    def _formula(self, method: str) -> Formula | None:
        if isinstance(self.classes_, list):
            return None
        outputs, two = self._of_outputs(), len(self.classes_) == 2
        if method != "predict_proba" or self._posterior[0]:
            return classified(outputs, self.classes_, method)
        # The nearest probabilities of two numbers that add up to 1 are these, cut.
        half = Layer(np.array([[-0.5, 0.5]]), np.array([0.5, 0.5]))
        return outputs.then(half, Apply("share")) if two else None

    @available_if(_has_one_target)
    def decision_function(self, X: Any) -> Array:
        """Return the log posterior of each class up to a constant, (n, c); for two classes P(second) - P(first), (n,)."""
        outputs = self._outputs(X)
        return outputs[:, 0] if outputs.shape[1] == 1 else outputs

    def predict_proba(self, X: Any) -> Any:
        """Return estimates of the class probabilities, (n, c); a list of them for several targets."""
        probabilities = []
        for k, outputs in enumerate(self._by_target(self._outputs(X))):
            if self._posterior[k]:
                probabilities.append(softmax(outputs, axis=1))
                continue
            if outputs.shape[1] == 1:
                second = (outputs[:, 0] + 1) / 2
                outputs = np.column_stack([1 - second, second])
            probabilities.append(nearest_probabilities(outputs))
        return probabilities if isinstance(self.classes_, list) else probabilities[0]

    def predict(self, X: Any) -> npt.NDArray:
        """Return the most probable class of each row; of several targets a column each, as objects where types differ."""
        outputs_of_all = self._outputs(X)
        predicted = []
        for labels, outputs in zip(_targets(self), self._by_target(outputs_of_all), strict=True):
            best = (outputs[:, 0] > 0).astype(int) if outputs.shape[1] == 1 else outputs.argmax(axis=1)
            predicted.append(labels[best])
        if not isinstance(self.classes_, list):
            return predicted[0]
        # Numpy would make texts of numbers that stand beside texts.
        alike = len({labels.dtype.kind for labels in predicted}) == 1
        return np.column_stack(predicted if alike else [labels.astype(object) for labels in predicted])
