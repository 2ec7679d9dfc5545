"""Filters that score each column by itself: variance, correlation, mutual information, the test of independence."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar

import numpy as np

from gramian.estimators.selection.selector import Chosen, ColumnSelector, best_of, check_one_rule
from gramian.estimators.spine.fields import Fields, array
from gramian.moments.value import Moments
from gramian.parameters import declared, number
from gramian.selection.filters.information import CORRECTIONS, information_with_target
from gramian.selection.filters.univariate import CONTROLS, adjusted, correlations, tests, variances
from gramian.selection.problem import best_part, least_p_value, owner_of


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

    threshold: float = 0.0
    _: KW_ONLY
    k: int | None = None
    include: Any = None
    categorical_features: Any = "from_dtype"

    _parameters = declared(threshold=number(least=0, words="a variance"))

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
    threshold: float | None = None
    alpha: float | None = None
    correction: str | None = "chance"
    target_type: str = "auto"
    include: Any = None
    categorical_features: Any = "from_dtype"

    _parameters = declared(
        threshold=(None, number(least=0, most=1)), alpha=(None, number(least=0, most=1)), correction=("chance", None)
    )

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
    threshold: float | None = None
    correction: str | None = "held-out"
    target_type: str = "auto"
    include: Any = None
    categorical_features: Any = "from_dtype"

    _parameters = declared(threshold=(None, number(words="a number of nats")), correction=CORRECTIONS)

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

    alpha: float = 0.05
    _: KW_ONLY
    control: str = "fdr"
    k: int | None = None
    target_type: str = "auto"
    include: Any = None
    categorical_features: Any = "from_dtype"

    _parameters = declared(alpha=number(least=0, most=1), control=CONTROLS)

    _fields: ClassVar[Fields] = {
        "adjusted_p_values_": array("q"),
    }

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
