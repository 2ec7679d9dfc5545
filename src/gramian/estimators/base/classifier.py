"""What classifiers share: the share of rows that `predict` gets right, whatever holds their classes."""

from __future__ import annotations

from typing import Any

from sklearn.base import ClassifierMixin

from gramian.estimators.base.inputs import plain_target


class Classifier(ClassifierMixin):
    """A classifier of scikit-learn whose score compares classes as they are."""

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the share of rows, each by its weight, whose class is predicted."""
        return float(super().score(X, plain_target(y), sample_weight))
