"""Filters, and every criterion side by side.

Some filters score each column by itself: variance, correlation, mutual information, the test of independence. Others look at
columns beside each other: redundancy, and relevance against redundancy (mRMR). `rank_columns` shows what all of them say.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar

import numpy as np

from gramian.arrays.types import Array
from gramian.engines.collect import collect, library_of
from gramian.errors import DataError
from gramian.estimators.selection.selector import Chosen, ColumnSelector, best_of, check_one_rule
from gramian.estimators.spine.fields import Fields, array, table
from gramian.estimators.spine.inputs import refuse_repeated
from gramian.estimators.spine.training import named_targets, refuse_dates, require_columns
from gramian.linear.regression.targets import is_class, refuse_identifier
from gramian.moments.advice import identifiers, near_zero, only_identifiers, say_set_aside
from gramian.moments.value import Moments
from gramian.parameters import number, parameter
from gramian.selection.filters.information import CORRECTIONS, Information, information_with_target
from gramian.selection.filters.mrmr import RELEVANT, SCHEMES, as_correlation, most_relevant
from gramian.selection.filters.redundancy import MEASURES, redundancy
from gramian.selection.filters.univariate import CONTROLS, adjusted, correlations, tests, variances
from gramian.selection.problem import best_part, least_p_value, owner_of, places
from gramian.selection.ranking import asked_criteria, criteria_table
from gramian.tables import open_table
from gramian.tables.base import typed
from gramian.tables.returned import table as output_table


class _Filter(ColumnSelector):
    """Keeps the k best columns, or those that pass a criterion."""

    def _judge(self, moments: Moments) -> Chosen:
        """Return which columns pass, and what the k best are the best by."""
        raise NotImplementedError

    def _choose(self, moments: Moments, include: list[int]) -> Chosen:
        judged, k = self._judge(moments), self.k
        worth = judged.scores if judged.worth is None else judged.worth
        support = judged.support if k is None else best_of(worth, k, include, ties=judged.ties)
        support[include] = True
        return replace(judged, support=support)


@dataclass(eq=False, repr=False)
class VarianceFilter(_Filter):
    """Keeps the columns that vary: numbers by their population variance, categories by the Gini-Simpson index.

    A number over its observed values, divided by n, as scikit-learn's VarianceThreshold has it. A category of level shares
    f has 1 - sum f^2, the chance that two rows differ.

    Parameters
    ----------
    threshold : float
        A column stays where its variance is larger.
    k : int, optional
        Keep this many, the largest; `threshold` is then not looked at.
    include : name, position or list of them, optional
        Columns that stay.
    categorical_features : "from_dtype", "all", names, positions or mask
        Which columns are categories.

    Attributes
    ----------
    scores_ : array
        Variance of a number, Gini-Simpson index of a category.

    See Also
    --------
    PearsonFilter : keeps columns by how they go with a target.
    RedundancyFilter : drops columns that others explain.

    References
    ----------
    .. [1] Lecture notes on dimension reduction: the variance threshold.
    .. [2] Gini, C. (1912). Variabilita e mutabilita. Simpson, E. H. (1949). Measurement of diversity. Nature 163.

    Examples
    --------
    >>> import gramian as gm
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"color": ["red", "blue", "red", "red"], "size": [1.0, 2.0, 3.0, 4.0], "unit": ["cm"] * 4})
    >>> model = gm.VarianceFilter().fit(frame)
    >>> model.get_feature_names_out(), model.scores_
    (array(['color', 'size'], dtype=object), array([0.375, 1.25 , 0.   ]))
    """

    threshold: float = parameter(0.0, number(least=0, words="a variance"))
    _: KW_ONLY
    k: int | None = None
    include: Any = None
    categorical_features: Any = "from_dtype"

    _takes_target = _needs_target = False

    def _judge(self, moments: Moments) -> Chosen:
        values = variances(moments, self._features)
        scores = values[best_part(owner_of(moments, self._features), values)]
        return Chosen(scores > self.threshold, scores)


@dataclass(eq=False, repr=False)
class PearsonFilter(_Filter):
    """Keeps the columns that go with the target: Pearson's r, the correlation ratio, Cramer's V.

    Two numbers are measured by r, a number and a category by the correlation ratio eta, two categories by Cramer's V;
    several targets by the root of the mean squared canonical correlation. A column goes with anything by chance, the more so
    the more levels it has; that much is taken off, also of two numbers (adjusted R^2), so that columns of all kinds compare.
    Columns are compared by absolute value.

    Parameters
    ----------
    k : int, optional
        Keep this many.
    threshold : float, optional
        Keep those of at least this absolute score.
    alpha : float, optional
        Keep those whose p-value, adjusted for the false discovery rate, is at most alpha; 0.05 where none of the three is
        given.
    correction : "chance" or None
        Whether scores are less what chance gives; None: the measures as textbooks have them.
    target_type : {"auto", "continuous", "binary", "multiclass"}
    include : name, position or list of them, optional
        Columns that stay.
    categorical_features : "from_dtype", "all", names, positions or mask
        Which columns are categories.

    Attributes
    ----------
    scores_ : array
        Signed where both sides are one number.
    p_values_ : array
        Of F (of chi-squared for two categories), as textbooks have them. For rare classes and heavy tails see
        `IndependenceFilter`.

    See Also
    --------
    IndependenceFilter : p-values that hold for rare classes and heavy tails.
    MutualInformationFilter : any shape of dependence between columns collected by level.

    References
    ----------
    .. [1] Cramer, H. (1946). Mathematical methods of statistics. Princeton.
    .. [2] Bergsma, W. (2013). A bias-correction for Cramer's V and Tschuprow's T. Journal of the Korean Statistical
       Society 42(3).
    .. [3] Benjamini, Y. and Hochberg, Y. (1995). Controlling the false discovery rate. JRSS B 57(1).

    Examples
    --------
    >>> import gramian as gm
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"up": [1.0, 2.0, 3.0, 4.0], "down": [4.0, 3.0, 2.5, 1.0], "noise": [1.0, -1.0, 0.5, 0.0]})
    >>> gm.PearsonFilter(threshold=0.9).fit(frame, [1.0, 2.0, 3.0, 4.5]).scores_.round(3)
    array([ 0.992, -0.99 ,  0.   ])
    """

    k: int | None = None
    _: KW_ONLY
    threshold: float | None = parameter(None, number(least=0, most=1))
    alpha: float | None = parameter(None, number(least=0, most=1))
    correction: str | None = parameter("chance", None)
    target_type: str = "auto"
    include: Any = None
    categorical_features: Any = "from_dtype"

    def _check_together(self) -> None:
        check_one_rule(k=self.k, threshold=self.threshold, alpha=self.alpha)

    def _judge(self, moments: Moments) -> Chosen:
        problem = self._problem(moments)
        correlation = correlations(problem)
        values = correlation.plain if self.correction is None else correlation.beyond_chance
        scores = values[best_part(problem.owner, np.abs(values))]
        p_values = least_p_value(problem.owner, correlation.p_values)
        if self.threshold is None:
            passes = adjusted(p_values, "fdr") <= (0.05 if self.alpha is None else self.alpha)
        else:
            passes = np.abs(scores) >= self.threshold
        return Chosen(passes, scores, p_values, worth=np.abs(scores))


@dataclass(eq=False, repr=False)
class MutualInformationFilter(_Filter):
    """Keeps the columns that have information about the target, in nats less what chance shows.

    For two columns collected by level (categories, integers of at most 64 values) the information is that of their
    contingency table, exact and of any shape; where one side is a plain number, whose values are not kept, that of jointly
    normal variables, -1/2 log(1 - R^2), which sees slopes and differences of means alone. Bin such a number, and give the
    bins as a category, to see any shape.

    Parameters
    ----------
    k : int, optional
        Keep this many.
    threshold : float, optional
        Keep those above this many nats; 0 where neither is given.
    correction : {"held-out", "chance", "miller-madow", None}
        What is taken off for chance: twice the mean over all permutations, which is what a column tells of new rows, so that
        many levels do not pay; that mean, exact for every table, so that unrelated columns have none on average; Miller and
        Madow's correction; or nothing.
    target_type : {"auto", "continuous", "binary", "multiclass"}
    include : name, position or list of them, optional
        Columns that stay.
    categorical_features : "from_dtype", "all", names, positions or mask
        Which columns are categories.

    Attributes
    ----------
    scores_ : array
        Nats, less what `correction` takes off.

    See Also
    --------
    MRMRFilter : the same information, less what columns share.
    IndependenceFilter : a test instead of a score.

    References
    ----------
    .. [1] Vinh, N. X., Epps, J. and Bailey, J. (2010). Information theoretic measures for clusterings comparison: variants,
       properties, normalization and correction for chance. JMLR 11.
    .. [2] Miller, G. (1955). Note on the bias of information estimates.

    Examples
    --------
    >>> import gramian as gm
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"id": [f"i{k}" for k in range(40)], "color": ["red", "blue"] * 20})
    >>> model = gm.MutualInformationFilter(1).fit(frame, ["yes", "no"] * 20)
    >>> model.get_feature_names_out(), model.scores_.round(3)
    (array(['color'], dtype=object), array([ -inf, 0.667]))
    """

    k: int | None = None
    _: KW_ONLY
    threshold: float | None = parameter(None, number(words="a number of nats"))
    correction: str | None = parameter("held-out", *CORRECTIONS)
    target_type: str = "auto"
    include: Any = None
    categorical_features: Any = "from_dtype"

    def _check_together(self) -> None:
        check_one_rule(k=self.k, threshold=self.threshold)

    def _judge(self, moments: Moments) -> Chosen:
        problem = self._problem(moments)
        information = information_with_target(problem, self.correction)
        scores = information[best_part(problem.owner, information)]
        return Chosen(scores > (self.threshold or 0.0), scores)


@dataclass(eq=False, repr=False)
class IndependenceFilter(_Filter):
    """Keeps the columns that are not independent of the target, by a permutation test.

    The statistic is (n - 1) times the sum of the squared canonical correlations of column and target; its law over all
    permutations comes from the margins and tails of both, so that columns of many levels, rare classes and heavy tails are
    judged alike. Where a rare class meets rare levels random tables of the same margins are drawn, with a fixed seed.

    Parameters
    ----------
    alpha : float
        Keep the columns whose adjusted p-value is at most this.
    control : {"fdr", "bonferroni", "none"}
        What alpha bounds: the expected share of false ones among those kept (Benjamini and Hochberg); the chance of any
        false one; the chance of a false one, a column.
    k : int, optional
        Keep this many, those of the least p-values; alpha is then not looked at.
    target_type : {"auto", "continuous", "binary", "multiclass"}
    include : name, position or list of them, optional
        Columns that stay.
    categorical_features : "from_dtype", "all", names, positions or mask
        Which columns are categories.

    Attributes
    ----------
    scores_ : array
        The statistic over its mean under independence, 1 on average where there is nothing.
    p_values_, adjusted_p_values_ : arrays

    See Also
    --------
    independence_test : the same test for one column or several together.
    PearsonFilter : textbook measures and their p-values.

    References
    ----------
    .. [1] Strasser, H. and Weber, C. (1999). On the asymptotic theory of permutation statistics.
    .. [2] Kazi-Aoual, F., Hitier, S., Sabatier, R. and Lebreton, J.-D. (1995). Refined approximations to permutation tests for
       multivariate inference. Computational Statistics and Data Analysis 20(6).

    Examples
    --------
    >>> import gramian as gm
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"color": ["red", "red", "blue", "blue"] * 25, "shape": ["box", "disc"] * 50})
    >>> gm.IndependenceFilter().fit(frame, ["yes", "yes", "no", "no"] * 25).get_feature_names_out()
    array(['color'], dtype=object)
    """

    alpha: float = parameter(0.05, number(least=0, most=1))
    _: KW_ONLY
    control: str = parameter("fdr", *CONTROLS)
    k: int | None = None
    target_type: str = "auto"
    include: Any = None
    categorical_features: Any = "from_dtype"

    _fields: ClassVar[Fields] = {"adjusted_p_values_": array("q")}

    def _judge(self, moments: Moments) -> Chosen:
        problem = self._problem(moments)
        tested = tests(problem)
        p_values = least_p_value(problem.owner, tested.p_values)
        ratio = tested.statistics / np.maximum(tested.df, 1)
        scores = ratio[best_part(problem.owner, -tested.p_values)]
        held = adjusted(p_values, self.control)
        # Beyond the range of floats p-values are all 0: there the statistics decide.
        more = {"adjusted_p_values_": (held, 1.0)}
        return Chosen(held <= self.alpha, scores, p_values, more=more, worth=-p_values, ties=scores)


@dataclass(eq=False, repr=False)
class RedundancyFilter(ColumnSelector):
    """Drops the columns that others explain, and says by which.

    Columns are looked at in order: by how strongly they go with the target where there is one, otherwise as they stand in the
    table. A column is dropped where the columns kept before it explain it to the degree `threshold`. What chance explains does
    not count, so a column of as many levels as rows explains no other. A column that does not vary is explained by none and
    stays: `VarianceFilter` drops it.

    Parameters
    ----------
    threshold : float
        Between 0 and 1.
    measure : {"correlation", "canonical", "uncertainty"}
        ``|r|``, correlation ratio or Cramer's V with one kept column; the canonical correlation with all kept columns jointly,
        of a number its multiple correlation; or the share of the column's entropy that one kept column removes, which has a
        direction: a city explains its country, not the reverse.
    target_type : {"auto", "continuous", "binary", "multiclass"}
    include : name, position or list of them, optional
        Columns that stay. They are looked at first.
    categorical_features : "from_dtype", "all", names, positions or mask
        Which columns are categories.

    Attributes
    ----------
    scores_ : array
        1 less the degree to which a column is explained by those kept before it.
    explained_by_ : array of str
        The kept column that explains most of each, empty where none does.
    path_ : table
        In the order looked at: column, kept, explained, by.

    See Also
    --------
    MRMRFilter : weighs redundancy against relevance to a target.
    VarianceFilter : drops columns that do not vary.

    References
    ----------
    .. [1] Yu, L. and Liu, H. (2004). Efficient feature selection via analysis of relevance and redundancy. JMLR 5.

    Examples
    --------
    >>> import gramian as gm
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"cm": [1.0, 2.0, 3.0, 5.0], "inch": [0.4, 0.8, 1.2, 2.0], "kg": [3.0, 1.0, 2.0, 2.5]})
    >>> model = gm.RedundancyFilter().fit(frame)
    >>> model.get_feature_names_out(), model.explained_by_
    (array(['cm', 'kg'], dtype=object), array(['', 'cm', ''], dtype=object))
    """

    threshold: float = parameter(0.9, number(least=0, most=1))
    _: KW_ONLY
    measure: str = parameter("correlation", *MEASURES)
    target_type: str = "auto"
    include: Any = None
    categorical_features: Any = "from_dtype"

    _fields: ClassVar[Fields] = {
        "explained_by_": array("q", dtype="O"),
        "path_columns_": table("column", "kept", "explained", "by", worded=("column", "by")),
    }

    _needs_target = False

    def _choose(self, moments: Moments, include: list[int]) -> Chosen:
        columns, owner = self._features, owner_of(moments, self._features)
        forced = np.isin(owner, include)
        first = np.zeros(len(columns))
        if self._targets:
            first = np.abs(correlations(self._problem(moments)).beyond_chance)
        order = np.lexsort((np.arange(len(columns)), places(first), ~forced))
        result = redundancy(
            moments,
            columns,
            [int(j) for j in order],
            threshold=float(self.threshold),
            measure=self.measure,
            stay=set(np.flatnonzero(forced).tolist()),
        )
        # A date stays where one of its parts does.
        best = best_part(owner, result.kept - result.explained / 2)
        by = np.array(["" if j < 0 else moments.schema[columns[j]].origin for j in result.by], dtype=object)
        path = {
            "column": [columns[j] for j in order],
            "kept": result.kept[order],
            "explained": result.explained[order],
            "by": [by[j] or None for j in order],
        }
        more = {"explained_by_": (by[best], "")}
        return Chosen(result.kept[best], 1 - result.explained[best], path=path, more=more)


@dataclass(eq=False, repr=False)
class MRMRFilter(ColumnSelector):
    """Keeps columns of maximum relevance to the target and minimum redundancy among each other (mRMR).

    Columns enter one by one, each the best by its relevance less (or over) its mean redundancy with those inside. Both are
    mutual information less twice what chance shows (as in `MutualInformationFilter`), as the correlation that two normal
    variables of that information would have, so that numbers and categories are on one scale from 0 to 1. Columns without
    relevance, near-identifiers among them, come last.

    Parameters
    ----------
    k : int, optional
        Columns to keep; where it is not given half of them, and of those without relevance none.
    scheme : {"difference", "quotient"}
        Relevance less redundancy, or over it.
    target_type : {"auto", "continuous", "binary", "multiclass"}
    include : name, position or list of them, optional
        Columns that enter first.
    categorical_features : "from_dtype", "all", names, positions or mask
        Which columns are categories.

    Attributes
    ----------
    scores_ : array
        Relevance of each column with the target.
    ranking_ : array of int
        1 for the first that entered; 0 for those that did not.
    path_ : table
        In the order of entry: step, column, relevance, redundancy, score.

    See Also
    --------
    MutualInformationFilter : relevance alone.
    ForwardSelector : what a column adds to a fit, instead of pairs of columns.

    References
    ----------
    .. [1] Peng, H., Long, F. and Ding, C. (2005). Feature selection based on mutual information: criteria of max-dependency,
       max-relevance and min-redundancy. IEEE TPAMI 27(8).

    Examples
    --------
    >>> import gramian as gm
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> a, b = rng.standard_normal((2, 500))
    >>> X = np.column_stack([a, a + 0.1 * rng.standard_normal(500), b])
    >>> gm.MRMRFilter(2).fit(X, a + 0.5 * b).get_support()
    array([ True, False,  True])
    """

    k: int | None = None
    _: KW_ONLY
    scheme: str = parameter("difference", *SCHEMES)
    target_type: str = "auto"
    include: Any = None
    categorical_features: Any = "from_dtype"

    _fields: ClassVar[Fields] = {
        "ranking_": array("q", dtype="i8"),
        "path_columns_": table("step", "column", "relevance", "redundancy", "score", worded=("column",)),
    }

    def _choose(self, moments: Moments, include: list[int]) -> Chosen:
        problem = self._problem(moments)
        count = len(self._sources)
        relevance = as_correlation(information_with_target(problem, "held-out"))
        best = best_part(problem.owner, relevance)
        relevant = int(np.count_nonzero(relevance[best] > RELEVANT))
        k = max(min(count // 2, relevant), 1) if self.k is None else self.k
        information = Information(problem.moments, problem.columns, "held-out")

        def row(j: int) -> Array:
            return as_correlation(information.row(j))

        picked = most_relevant(
            relevance,
            row,
            max(k, len(include)) - len(include),
            n=problem.n,
            scheme=self.scheme,
            include=[int(best[j]) for j in include],
            same=problem.owner,
        )
        entered = problem.owner[picked.order]
        ranking = np.zeros(count, dtype=np.int64)
        ranking[entered] = np.arange(1, len(entered) + 1)
        path = {
            "step": list(range(1, len(entered) + 1)),
            "column": [self._sources[j] for j in entered],
            "relevance": picked.relevance,
            "redundancy": picked.redundancy,
            "score": picked.score,
        }
        return Chosen(ranking > 0, relevance[best], path=path, more={"ranking_": (ranking, 0)})


def rank_columns(
    source_or_moments: Any,
    target: str | Sequence[str],
    methods: str | Sequence[str] | None = None,
    *,
    target_missing: str | None = None,
) -> Any:
    """Return a table of how each column goes with the target, by every criterion, one row per source column.

    The columns of strongest evidence come first. A pass over the source is made, none over moments.

    Parameters
    ----------
    source_or_moments : Moments, or any source of `collect`
    target : str or sequence of str
        Column or columns that the others are ranked for.
    methods : str or sequence of str, optional
        Some of `"variance"`, `"pearson"`, `"mutual-information"`, `"independence"`, `"redundancy"`, `"mrmr"`, `"forward"`,
        `"lasso"`, `"rfe"`; by default all but the last, whose cost grows with the cube of the columns.
    target_missing : {"drop", "raise"}, optional
        As in `collect`: rows of a source in which a target is missing are left out (the default), or refused. Moments are
        refused either way: their rows cannot be told apart.

    Returns
    -------
    table
        Of the library that the data came from (or that scikit-learn's `transform_output` names). `column`, `kind`;
        `variance` (Gini-Simpson for a category); `correlation` (r with its sign, correlation ratio or Cramer's V, as
        `measure` says) and the same `beyond_chance`; `information` in nats beyond chance; `p_value` of independence and
        `q_value`, adjusted for the false discovery rate; `redundancy`, how far a stronger column explains it, and which:
        `explained_by`; and the order of entry in `mrmr`, `forward` (while columns improve the expected prediction) and
        `lasso`, null beyond the first 50. Identifiers (`docs/identifiers.md`) are measured one by one, and have no place
        among the others: these last columns are null for them. `forward` and `lasso` compare at most 9,000 levels: the
        widest columns beyond that are null there, and a line in the log names them.

    Examples
    --------
    >>> import gramian as gm
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"id": [f"i{k}" for k in range(60)], "color": ["red", "red", "blue"] * 20,
    ...                       "size": [1.0, 2.0, 3.0] * 20, "sold": ["yes", "no", "no"] * 20})
    >>> gm.rank_columns(frame, "sold")[["column", "measure", "beyond_chance"]].round(3)
      column measure  beyond_chance
    0   size     eta          0.864
    1  color       V          0.487
    2     id       V          0.000
    """
    if target is None:
        raise DataError("rank_columns needs a target: the name of a column, or several names")
    names = [target] if isinstance(target, str) or not isinstance(target, Iterable) else list(target)
    no_names = DataError(
        f"target is the name of a column, or several names; got {len(names)} values of type {type(target).__name__}"
    )
    if not names or not all(isinstance(name, str) for name in names):
        raise no_names
    asked = asked_criteria(methods)
    if isinstance(source_or_moments, Moments):
        moments = source_or_moments
    else:
        table = typed(open_table(source_or_moments))
        if len(names) > len(table.schema):
            # Labels of rows, not names.
            raise no_names
        require_columns(names, table)
        refuse_repeated(names)
        refuse_dates(names, table)
        moments = collect(table, targets=names, target_missing=target_missing)
        moments = moments.from_library(library_of(source_or_moments))
    if len(names) > len(moments.schema):
        raise no_names
    targets = named_targets(tuple(names), moments.schema)
    for name in targets:
        if is_class(moments, name, "auto"):
            refuse_identifier(moments, name)
    features = moments.schema.features_beside(targets)
    if not features:
        raise DataError("no feature columns are left beside the target")
    aside = identifiers(moments, features)
    if len(aside) == len(features):
        raise only_identifiers(aside, moments.n_rows)
    say_set_aside(moments, aside)
    criteria = criteria_table(near_zero(moments, targets), features, targets, asked, aside)
    return output_table(criteria, library=moments.library)
