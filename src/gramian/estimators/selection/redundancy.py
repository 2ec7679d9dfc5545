"""Filters that look at columns beside each other: redundancy, and relevance against redundancy (mRMR)."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np

from gramian.arrays.types import Array
from gramian.estimators.selection.selector import Chosen, ColumnSelector
from gramian.estimators.spine.fields import Fields, array, table
from gramian.moments.value import Moments
from gramian.parameters import declared, number
from gramian.selection.filters.information import Information, information_with_target
from gramian.selection.filters.mrmr import RELEVANT, SCHEMES, as_correlation, most_relevant
from gramian.selection.filters.redundancy import MEASURES, redundancy
from gramian.selection.filters.univariate import correlations
from gramian.selection.problem import best_part, owner_of, places


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

    threshold: float = 0.9
    _: KW_ONLY
    measure: str = "correlation"
    target_type: str = "auto"
    include: Any = None
    categorical_features: Any = "from_dtype"

    _fields: ClassVar[Fields] = {
        "explained_by_": array("q", dtype="O"),
        "path_columns_": table("column", "kept", "explained", "by", worded=("column", "by")),
    }

    _needs_target = False

    _parameters = declared(threshold=number(least=0, most=1), measure=MEASURES)

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
    scheme: str = "difference"
    target_type: str = "auto"
    include: Any = None
    categorical_features: Any = "from_dtype"

    _fields: ClassVar[Fields] = {
        "ranking_": array("q", dtype="i8"),
        "path_columns_": table("step", "column", "relevance", "redundancy", "score", worded=("column",)),
    }

    _parameters = declared(scheme=SCHEMES)

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
