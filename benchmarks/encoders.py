"""Encoders that turn a table into features, supervised and not: ours, and those that they are compared with.

Each takes training rows, test rows, the training target, the names of the numbers, the task and the number of dimensions,
and gives features of both, or None where it has no form for the task. Encoders that can are cross-fitted on the training
rows (`fit_transform`); numbers pass through, missing ones at the mean. The encoders of category_encoders take several
classes through its PolynomialWrapper; WOE has no form for numbers. For MCA numbers are cut into eight quantile bins. The
source's loop reads classes as 0, 1, 2, ..., as it has no other way.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd


def prepared(train: pd.DataFrame, test: pd.DataFrame, numeric: list[str]) -> tuple[pd.DataFrame, pd.DataFrame]:
    mean = train[numeric].mean()
    return train.fillna(mean), test.fillna(mean)


def ours(structure: str, **options: Any) -> Callable[..., tuple[np.ndarray, np.ndarray]]:
    def run(
        train: pd.DataFrame, test: pd.DataFrame, y: np.ndarray, numeric: list[str], task: str, d: int
    ) -> tuple[np.ndarray, np.ndarray]:
        import gramian as gm

        kind = "continuous" if task == "regression" else "multiclass"
        model = gm.MahalanobisFeatures(structure=structure, target_type=kind, **options)
        return model.fit_transform(train, y), model.transform(test)

    return run


def target_encoder(train: Any, test: Any, y: Any, numeric: list[str], task: str, d: int) -> Any:
    from sklearn.preprocessing import TargetEncoder

    kind = "continuous" if task == "regression" else "binary" if y.max() == 1 else "multiclass"
    return _encoded(TargetEncoder(target_type=kind, cv=_seeded(task)), train, test, y, numeric)


def _seeded(task: str) -> Any:
    from sklearn.model_selection import KFold, StratifiedKFold

    return (KFold if task == "regression" else StratifiedKFold)(5, shuffle=True, random_state=0)


def category_encoder(name: str) -> Callable[..., tuple[np.ndarray, np.ndarray] | None]:
    def run(
        train: pd.DataFrame, test: pd.DataFrame, y: np.ndarray, numeric: list[str], task: str, d: int
    ) -> tuple[np.ndarray, np.ndarray] | None:
        import category_encoders
        from category_encoders.wrapper import PolynomialWrapper

        if name == "WOEEncoder" and task == "regression":
            return None
        encoder = getattr(category_encoders, name)()
        if task != "regression" and y.max() > 1:
            encoder = PolynomialWrapper(encoder)
        return _encoded(encoder, train, test, pd.Series(y), numeric)

    return run


def _encoded(encoder: Any, train: Any, test: Any, y: Any, numeric: list[str]) -> tuple[np.ndarray, np.ndarray]:
    train, test = prepared(train.reset_index(drop=True), test.reset_index(drop=True), numeric)
    coded = [c for c in train if c not in numeric]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        inner = np.asarray(encoder.fit_transform(train[coded], y), dtype=float)
        outer = np.asarray(encoder.transform(test[coded]), dtype=float)
    return np.hstack([inner, train[numeric]]), np.hstack([outer, test[numeric]])


def one_hot(train: Any, test: Any, y: Any, numeric: list[str], task: str, d: int) -> Any:
    from sklearn.compose import ColumnTransformer
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    train, test = prepared(train, test, numeric)
    coded = [c for c in train if c not in numeric]
    table = ColumnTransformer(
        [("levels", OneHotEncoder(handle_unknown="ignore"), coded), ("numbers", StandardScaler(), numeric)]
    )
    return table.fit_transform(train), table.transform(test)


def truncated_svd(train: Any, test: Any, y: Any, numeric: list[str], task: str, d: int) -> Any:
    from sklearn.decomposition import TruncatedSVD

    inner, outer = one_hot(train, test, y, numeric, task, d)
    model = TruncatedSVD(d, random_state=0)
    return model.fit_transform(inner), model.transform(outer)


def mca(train: Any, test: Any, y: Any, numeric: list[str], task: str, d: int) -> Any:
    import prince

    train, test = prepared(train, test, numeric)
    train, test = train.copy(), test.copy()
    for name in numeric:
        edges = np.unique(np.quantile(train[name], np.linspace(0, 1, 9)[1:-1]))
        train[name], test[name] = (np.digitize(part[name], edges).astype(str) for part in (train, test))
    for name in train:
        # prince cannot place a level it has not seen.
        test[name] = test[name].where(test[name].isin(train[name].unique()), train[name].mode()[0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = prince.MCA(n_components=d, random_state=0).fit(train)
        return model.transform(train).to_numpy(), model.transform(test).to_numpy()


def source_loop(train: Any, test: Any, y: Any, numeric: list[str], task: str, d: int) -> Any:
    import gramian as gm

    options = {"gradient": "printed", "learning_rate": 0.01, "batch_size": 256, "max_epochs": 20}
    model = gm.MahalanobisFeatures(d, solver="sgd", sgd_options=options, target_type="continuous")
    return model.fit_transform(train, y.astype(float)), model.transform(test)


METHODS: dict[str, tuple[Callable[..., Any], str]] = {
    "canonical": (ours("canonical"), ""),
    "columns": (ours("columns"), ""),
    "columns, plain": (ours("columns", cv=None), ""),
    "TargetEncoder": (target_encoder, ""),
    "James-Stein": (category_encoder("JamesSteinEncoder"), "category_encoders"),
    "CatBoost": (category_encoder("CatBoostEncoder"), "category_encoders"),
    "WOE": (category_encoder("WOEEncoder"), "category_encoders"),
    "TruncatedSVD": (truncated_svd, ""),
    "MCA": (mca, "prince"),
    "source's loop": (source_loop, ""),
    "one-hot": (one_hot, ""),
}
