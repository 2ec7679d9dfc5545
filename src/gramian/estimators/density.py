"""`DensityEmbedding`: the bulk in one lump, rare combinations far out; and the categorical outlier detector."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from sklearn.base import OutlierMixin
from sklearn.utils.validation import check_is_fitted

from gramian.arrays.types import Array
from gramian.engines.collect import library_of
from gramian.errors import Argument, DataError, InParts, PythonOnly, UnsolvedError
from gramian.estimators.plots.drawings import Plots
from gramian.estimators.spine.estimator import assign, solve
from gramian.estimators.spine.fields import Fields, Optional, finite, such_that
from gramian.estimators.spine.inputs import is_path, open_rows
from gramian.estimators.spine.moments_estimator import ProjectionTransformer
from gramian.estimators.spine.outputs import Outputs
from gramian.estimators.spine.training import row_weights
from gramian.linear.density.detector import METHODS, Detector
from gramian.maps.formula import Choose, Formula, Scale
from gramian.maps.projection import Design, Projection
from gramian.maps.surprise.explain import explanation
from gramian.maps.surprise.score import PairScore
from gramian.moments.advice import near_zero
from gramian.moments.value import Moments
from gramian.parameters import check, number, parameter, whole
from gramian.tables import ArrayTable
from gramian.tables.base import home_of
from gramian.tables.returned import table as output_table

VERDICT = {"anomaly_score": pa.float64(), "outlier": pa.bool_(), "black_swans": pa.int64(), "only_unseen": pa.bool_()}
"""The columns of `judge`, and their types."""


class UncalibratedWarning(InParts, UserWarning):
    """A detector has no threshold yet."""


class DetectorOutputs(Outputs):
    """Of a detector, whose verdict is several columns."""

    tables: ClassVar = {"judge": VERDICT}


@dataclass(eq=False, repr=False)
class DensityEmbedding(Plots, OutlierMixin, ProjectionTransformer):
    """Features of least variance first, and a detector of odd rows and unseen values, from one pass.

    `transform` gives the eigenvectors of the inverse covariance as features, scaled so that the squared length of a row is its
    Mahalanobis distance: usual rows form one lump, rare combinations lie far out. `anomaly_score` says how odd a row is, by
    default as the mean over trees of its negative log likelihood (see `gramian.linear.density.detector`). Both come from the
    same moments, so days add and subtract: a detector over the last 7 days is fitted on `week + today - oldest`.

    Parameters
    ----------
    n_components : int, optional
        Features kept, those of least variance; by default the rank. Beyond the rank, up to the number of rows or design
        columns, features are always zero.
    method : "trees", "mahalanobis" or "walk"
        How odd rows are scored. `"trees"`: what is unlikely, as a value, a pair of values or a number given the others.
        `"mahalanobis"`: what lies far out in the embedding, its squared length; it finds clusters of odd rows that a
        likelihood excuses. `"walk"`: values that are rare for their column and keep company with such (coupled biased
        random walks); over categories alone, numbers add nothing.
    dependence : float
        How much pairs of values count in `"trees"`, beside how rare each value is alone: S + dependence (T - S), S the rarity
        and T the mean over trees. 2.0 finds common values in the wrong place better (data-entry errors, swapped fields) and
        rare classes worse. 0 is rarity alone.
    contamination : "auto" or float in (0, 0.5]
        Where `predict` draws the line. `"auto"`: at the score which one in a hundred rows drawn from the fitted model exceeds
        (see `gramian.linear.density.sampling`). That is about 1% of clean rows from a thousand rows on, and up to 5% after a
        fit to 50 rows of heavy-tailed numbers. A share: at the score which that share of the training rows exceeds; this
        takes rows, from `fit` on data or `calibrate(X)` after `fit(moments)`, which a warning asks for. For a number of alerts
        instead of a share, see `calibrate`.
    black_swan_penalty : "auto" or float
        What each level never seen in training adds to the score. `"auto"` is more than any row without one can score,
        so that a row with one black swan outranks all rows without, and a row with two outranks all with one.
    categorical_features : "from_dtype", "all", names, positions or mask
        Which columns are categories. Whole numbers that are not named here are numbers.

    Attributes
    ----------
    components_ : (k, p) array
        Over `design_names_`. The embedding is computed when it is first asked for: no score but `"mahalanobis"` needs it.
    precision_eigenvalues_ : (k,) array
        Eigenvalues of the inverse covariance, descending.
    mean_ : (p,) array
    offset_ : float
        `decision_function` is `score_samples - offset_`.
    n_components_ : int
    surprise_ : PairScore or SquaredLength
        The fitted score.
    projection_ : Projection
        From rows to features; see `loadings`.
    moments_ : Moments
        What was collected; other methods can be fitted from it without reading data again. A model file does not hold it.
    design_ : Design
        What is read of a row: source columns, their levels and means.
    design_names_ : list of str
        One name per design column: a number, or a level of a category.
    n_features_in_ : int
        Number of source columns.
    feature_names_in_ : array of str
        Their names, where they have some.

    See Also
    --------
    PCA : the directions of largest variance.
    sklearn.ensemble.IsolationForest : a detector for numbers.

    References
    ----------
    .. [1] Density Preserving Categorical Embedding: the eigenvectors of the inverse covariance of binary encoded categories.
    .. [2] Meila, M. and Jaakkola, T. (2006). Tractable Bayesian learning of tree belief networks. Statistics and Computing
       16(1) (`method="trees"`).
    .. [3] Pang, G., Cao, L. and Chen, L. (2016). Outlier detection in complex categorical data by modeling the feature value
       couplings. IJCAI (`method="walk"`).

    Examples
    --------
    >>> import gramian as gm
    >>> import pyarrow as pa
    >>> table = pa.table({"city": ["Bonn"] * 90 + ["Oslo"] * 90, "tongue": ["de"] * 90 + ["no"] * 89 + ["de"]})
    >>> model = gm.DensityEmbedding().fit(table)
    >>> int(model.anomaly_score(table).argmax())
    179
    >>> for text in model.explain(table.slice(179), top=1)["text"].to_pylist():
    ...     print(text)
    city=Oslo with tongue=de: seen 1 time, expected 45.5
    (what every row has)
    (other)
    >>> model.transform(table).shape
    (180, 2)
    """

    n_components: int | None = parameter(None, whole())
    _: KW_ONLY
    method: str = parameter("trees", *METHODS)
    dependence: float = parameter(1.0, number(least=0))
    contamination: float | str = parameter("auto", number(above=0, most=0.5, words="a share"))
    black_swan_penalty: float | str = parameter("auto", number(least=0))
    categorical_features: Any = "from_dtype"

    _plots: ClassVar[tuple[str, ...]] = ("reasons", "scores")
    _fields: ClassVar[Fields] = {
        "design_names_ projection_ mean_": None,
        "_counts": such_that(
            Moments, lambda counts, model: set(model._features) <= set(counts.schema.names), "moments of its features"
        ),
        "offset_": lambda model: finite if model.contamination == "auto" else Optional(finite),
    }

    row_outputs = DetectorOutputs
    _renamed_parameters: ClassVar[dict[str, str]] = {"score": "method"}
    """Names of parameters in files of earlier versions, and what they are called now."""

    # Fitting

    def _check_together(self) -> None:
        if self.dependence != 1 and self.method != "trees":
            raise DataError(
                Argument("dependence", self.dependence),
                " applies to ",
                Argument("method", "trees"),
                " only; remove it, or choose that method",
            )

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Fit to rows, files or moments.

        Parameters
        ----------
        X : array, frame, Arrow data, path(s), iterable of batches, or Moments
            Any source of `gramian.collect`. From Moments no data is read. With `contamination="auto"` the line is reliable from
            about a thousand rows on: fewer do not show the tails of numbers.
        y : str or tuple of str, optional
            Columns of X that are not features, a label for one. Values are ignored.
        sample_weight : array or str, optional
            One weight per row, one number for all rows, or the name of a column.

        Returns
        -------
        self
        """
        return self._fit(X, y, sample_weight)

    def _learn(self, X: Any, y: Any, sample_weight: Any) -> None:
        super()._learn(X, y, sample_weight)
        if self.contamination == "auto":
            return
        if not isinstance(X, Moments):
            self.calibrate(X, sample_weight)
            return
        warnings.warn(
            UncalibratedWarning(
                Argument("contamination", self.contamination),
                " needs rows to find the threshold, and Moments have none: call calibrate(X) before predict, or set ",
                Argument("contamination", "auto"),
            ),
            stacklevel=2,
        )

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Add more rows to what was seen; the solution is computed when it is first asked for.

        Parameters and result are those of `fit`. A threshold from `contamination` as a share does not follow: call
        `calibrate` with rows.
        """
        return super().partial_fit(X, y, sample_weight)

    def _finish(self) -> None:
        self._refuse_few_rows()
        self.__dict__.pop("_unsolved", None)
        self.__dict__.pop("_cached", None)
        self._set_aside()
        self._solve()

    def _solve(self) -> None:
        if self.contamination == "auto":
            self.offset_ = -self._detector.threshold
        else:
            _ = self._detector.score

    @property
    def _detector(self) -> Detector:
        """What is computed from the moments; kept until more rows are added."""
        if self.__dict__.get("_unsolved"):
            solve(self)
        kept: Detector | None = self.__dict__.get("_cached")
        if kept is None:
            penalty = None if self.black_swan_penalty == "auto" else float(self.black_swan_penalty)
            kept = Detector(
                self._moments, tuple(self._features), self.method, penalty, self.n_components, float(self.dependence)
            )
            self._cached = kept
        return kept

    def _beside_in_file(self) -> dict[str, Any]:
        """Return the moments of the features, all that a file need hold beside the threshold."""
        counts = self.moments_ if "moments_" in self.__dict__ else self._counts
        return {"_counts": replace(counts, folds=()).select(self._features)}

    @property
    def _moments(self) -> Moments:
        return near_zero(self.moments_ if "moments_" in self.__dict__ else self._counts)

    def __getstate__(self) -> Any:
        state = dict(super().__getstate__())
        state.pop("_cached", None)
        return state

    @property
    def surprise_(self) -> Any:
        """The fitted score."""
        return self._detector.score

    @property
    def projection_(self) -> Projection:
        """Rows to their features."""
        return self._detector.projection

    @property
    def components_(self) -> Array:
        """Eigenvectors of the inverse covariance."""
        return self._detector.embedding.components

    @property
    def precision_eigenvalues_(self) -> Array:
        """Eigenvalues of the inverse covariance, descending."""
        return self._detector.embedding.precision_eigenvalues

    @property
    def n_components_(self) -> int:
        """Number of features."""
        return len(self._detector.embedding.components)

    @property
    def mean_(self) -> Array:
        """Of the design columns."""
        design = self._detector.design
        return design.as_given(np.nan_to_num(design.mean, nan=0.0))

    @property
    def design_names_(self) -> list[str]:  # type: ignore[override]
        """One name per design column."""
        return list(self._detector.design.names)

    def __getattr__(self, name: str) -> Any:
        if name == "offset_" and "_features" in self.__dict__ and self.contamination != "auto":
            raise UnsolvedError(
                Argument("contamination", self.contamination),
                " needs rows to find the threshold: fit on rows instead of moments, ",
                PythonOnly("call calibrate(X) first, "),
                "or set ",
                Argument("contamination", "auto"),
            )
        return super().__getattr__(name)

    @property
    def design_(self) -> Design:
        """What the model reads: its columns, their levels and means."""
        return self._detector.design

    def calibrate(
        self, X: Any, sample_weight: Any = None, *, alerts: float | None = None, per_rows: float | None = None
    ) -> Any:
        """Set the threshold so that `predict` points out a share of these rows: `contamination`, or a budget of alerts.

        Parameters
        ----------
        X : any source of `gramian.collect`
            Files are read batch by batch.
        sample_weight : array or str, optional
            One weight per row, one number for all rows, or the name of a column.
        alerts : float, optional
            So many rows may be pointed out, in place of a share: `alerts=20, per_rows=10_000`. Of any `contamination`.
        per_rows : float, optional
            Among so many; by default among the rows of X.

        Returns
        -------
        self

        Examples
        --------
        >>> import gramian as gm
        >>> import pyarrow as pa
        >>> table = pa.table({"x": [float(k) for k in range(200)]})
        >>> model = gm.DensityEmbedding().fit(gm.collect(table)).calibrate(table, alerts=4)
        >>> int((model.predict(table) == -1).sum())
        4
        """
        check_is_fitted(self)
        check("alerts", alerts, None, number(above=0))
        check("per_rows", per_rows, None, number(above=0))
        if per_rows is not None and alerts is None:
            raise DataError(Argument("per_rows", per_rows), " goes with ", Argument("alerts"), "; pass both")
        if self.contamination == "auto" and alerts is None:
            raise DataError(
                Argument("contamination", "auto"),
                " takes its threshold from the moments; to calibrate to rows, set a share or pass ",
                Argument("alerts", 20),
            )
        scores = -self._scores_of_any(X)
        weights = row_weights(sample_weight, len(scores), X)
        weights = np.ones(len(scores)) if weights is None else weights
        share = float(self.contamination) if alerts is None else alerts / (per_rows or float(weights.sum()))
        if share >= 1:
            raise DataError(
                Argument("alerts", alerts), f" would be all of the {per_rows or weights.sum():,.0f} rows; ask for fewer"
            )
        assign(self, {"offset_": _lowest_inlier(scores, weights, share)})
        return self

    def _scores_of_any(self, X: Any) -> Array:
        if not is_path(X) and home_of(X) is None:
            return self.anomaly_score(X)
        from gramian.estimators.spine.files import transform_stream

        batches = transform_stream(self, X, method="anomaly_score")
        return np.concatenate([batch.column(0).to_numpy() for batch in batches])

    # Detection

    def _formula(self, method: str) -> Formula | None:
        if method == "transform":
            return super()._formula(method)
        score = self.surprise_
        if not isinstance(score, PairScore):
            return None
        if method == "anomaly_score":
            return Formula(score)
        if method == "score_samples":
            return Formula(score, (Scale(-1.0),))
        decision = Formula(score, (Scale(-1.0, -self._threshold()),))
        found = {"decision_function": decision, "predict": decision.then(Choose(np.array([-1, 1]), at_least=True))}
        return found.get(method)

    def anomaly_score(self, X: Any) -> Array:
        """Return how odd each row is, (n_rows,): its score, and the penalty of each unseen level."""
        check_is_fitted(self)
        score = self.surprise_
        return np.asarray(score.apply(score.design.rows(open_rows(self, X, score.design, method="anomaly_score"))))

    def judge(self, X: Any) -> dict[str, npt.NDArray[Any]]:
        """Return the verdict on each row, from one pass over the rows.

        Returns
        -------
        dict of (n_rows,) arrays
            `anomaly_score`; `outlier`, whether `predict` is -1; `black_swans`, the number of source columns that hold unseen
            levels; `only_unseen`, whether the row is an outlier because of these alone.
        """
        score, line = self.surprise_, -self._threshold()
        scores, swans, without = [np.empty(0)], [np.empty(0, np.int64)], [np.empty(0)]
        for rows in score.design.rows(open_rows(self, X, score.design, method="anomaly_score")):
            scores.append(score.apply_rows(rows))
            swans.append(score.design.unseen(rows).sum(axis=1))
            sizes = np.array([len(labels) for labels in score.design.labels])
            without.append(scores[-1] - score.penalty * (rows.codes == sizes[:, None]).sum(axis=0))
        joined = np.concatenate(scores)
        outlier = joined > line
        alone = outlier & (np.concatenate(without) <= line)
        return dict(zip(VERDICT, (joined, outlier, np.concatenate(swans), alone), strict=True))

    def score_samples(self, X: Any) -> Array:
        """Return `-anomaly_score`: higher is more normal."""
        return -self.anomaly_score(X)

    def score(self, X: Any, y: Any = None) -> float:
        """Return the mean of `score_samples`, by which a grid search can choose. `y` is ignored.

        Compare settings that score alike: another `method` or `black_swan_penalty` has another scale.
        """
        return float(self.score_samples(X).mean())

    def decision_function(self, X: Any) -> Array:
        """Return `score_samples - offset_`, below 0 for outliers."""
        check_is_fitted(self)
        return self.score_samples(X) - self._threshold()

    def predict(self, X: Any) -> npt.NDArray[np.int64]:
        """Return -1 for outliers and 1 for the others."""
        return np.where(self.decision_function(X) >= 0, 1, -1)

    def fit_predict(self, X: Any, y: Any = None, **fit_params: Any) -> npt.NDArray[np.int64]:
        """Fit, then return -1 for outliers among the same rows and 1 for the others."""
        if isinstance(X, Moments):
            raise DataError("fit_predict needs rows, and Moments have none; call fit, then predict rows")
        return self.fit(X, y, **fit_params).predict(X)

    def _threshold(self) -> float:
        return float(self.offset_)

    def explain(self, X: Any, top: int = 3) -> Any:
        """Return why rows are odd: the values, and pairs of values, that add most to their score.

        Parameters
        ----------
        X : rows in memory
        top : int
            Reasons a row.

        Returns
        -------
        table
            One row a reason: `row, columns, values, contribution, seen, expected, text`; `seen` and `expected` count training
            rows (for a number `expected` is the value). A reason contributes what it adds beyond the average of training
            rows. Two rows follow, `(what every row has)`, that average, and `(other)`, the rest: contributions of a row add
            up to its score.
        """
        library = "pyarrow" if isinstance(X, pa.Table | pa.RecordBatch) else library_of(X)
        return output_table(self.explain_columns(X, top), library=library or self._frames)

    def explain_columns(self, X: Any, top: int = 3) -> dict[str, Any]:
        """Return the columns of `explain` by name."""
        check_is_fitted(self)
        check("top", top, whole())
        if is_path(X):
            raise DataError(
                "explain takes rows in memory: read the file into a frame, or on the command line use gramian detect --explain"
            )
        detector, table = self._detector, cast("ArrayTable", open_rows(self, X, self.design_, as_table=True))
        return explanation(detector.score, detector.moments, detector.depends, table, int(top))


def _lowest_inlier(scores: Array, weights: Array, share: float) -> float:
    """Return just less than the lowest score left when rows of at most a share of the weight are taken from below.

    Examples
    --------
    >>> round(_lowest_inlier(np.array([4.0, 1.0, 3.0, 2.0]), np.ones(4), 0.25), 6)
    2.0
    """
    scores, weights = scores[weights > 0], weights[weights > 0]
    order = np.argsort(scores, kind="stable")
    passed = np.cumsum(weights[order])
    # A share of 0.1 of 300 rows is 30 rows: rounding must not make it 29.
    first = int(np.searchsorted(passed, share * passed[-1] * (1 + 1e-12), side="right"))
    lowest = float(scores[order[min(first, len(order) - 1)]])
    # The row that sets the threshold stays an inlier when it is scored again, in another batch with another rounding.
    return lowest - 1e-9 * max(1.0, abs(lowest))
