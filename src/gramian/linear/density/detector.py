"""`Detector`: everything that a fitted detector computes from its moments, each thing when it is first asked for.

The moments are all that need be kept, and a file of them is all that need be saved: tables for scoring, the embedding and
reasons in words follow from the counts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gramian.caching import cached_property
from gramian.linear.components import check_fits
from gramian.linear.density.dependence import Dependence, dependence
from gramian.linear.density.embedding import DensitySolution, density_embedding
from gramian.linear.density.threshold import threshold
from gramian.linear.density.trees import tree_score
from gramian.linear.density.walk import walk_score
from gramian.linear.layout import Layout, layout_of
from gramian.maps.frozen_encoder import Design
from gramian.maps.projection import Projection
from gramian.maps.surprise.length import SquaredLength
from gramian.maps.surprise.score import PairScore
from gramian.maps.surprise.words import NumberFacts
from gramian.moments.value import Moments

METHODS = ("trees", "mahalanobis", "walk")


@dataclass(frozen=True, eq=False)
class Detector:
    """A score of odd rows, its threshold, and an embedding.

    Attributes
    ----------
    moments : Moments
    columns : tuple of str
        The features.
    kind : str
        One of `METHODS`.
    penalty : float or None
        What an unseen level adds; None: more than any row without one can score.
    n_components : int or None
        Features of the embedding; None: the rank.
    pair_weight : float
        What pairs of values count in `"trees"`.
    """

    moments: Moments
    columns: tuple[str, ...]
    kind: str
    penalty: float | None
    n_components: int | None
    pair_weight: float = 1.0

    def __post_init__(self) -> None:
        # The embedding is computed when it is first asked for, which is late to hear of this.
        check_fits(self.n_components, self.moments.n_rows, self.layout.width)

    @cached_property
    def layout(self) -> Layout:
        """Where the columns stand among the design columns."""
        return layout_of(self.moments, self.columns)

    @cached_property
    def design(self) -> Design:
        """What is read of a row."""
        return Design.of(self.moments, self.columns)

    @cached_property
    def depends(self) -> Dependence:
        """What every two columns tell about each other."""
        return dependence(self.moments, self.layout)

    @cached_property
    def score(self) -> PairScore | SquaredLength:
        """The score of rows."""
        score: PairScore | SquaredLength
        if self.kind == "mahalanobis":
            score = SquaredLength(self.projection, self.depends.scale)
        elif self.kind == "walk":
            score = walk_score(self.moments, self.columns)
        else:
            score = tree_score(self.moments, self.columns, depends=self.depends, pair_weight=self.pair_weight)
        return score.with_penalty(self.penalty)

    @cached_property
    def threshold(self) -> float:
        """The score beyond which one in a hundred rows of the model lies."""
        return threshold(self.score, self.moments, self.depends)

    @cached_property
    def embedding(self) -> DensitySolution:
        """The eigenvectors of the inverse covariance."""
        return density_embedding(self.moments, self.columns, n_components=self.n_components)

    @cached_property
    def projection(self) -> Projection:
        """Rows to their features in the embedding."""
        projection = self.embedding
        return Projection(self.design, projection.weights, np.zeros(len(projection.components)), projection.inverse)

    @cached_property
    def facts(self) -> NumberFacts:
        """What numbers are like, for reasons in words."""
        known = self.depends
        return NumberFacts(
            known.centre, known.scale, known.bend, known.observed / float(self.moments.total_weight), known.correlation,
            known.left, known.level_means, known.left_by_level, known.seen_means, known.seen_rows,
        )  # fmt: skip
