"""Pictures of rows: neighbours stay neighbours, the same seed gives the same picture, and a saved one places new rows alike."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.neighbors import NearestNeighbors
from sklearn.utils.estimator_checks import parametrize_with_checks

import gramian as gm
from gramian.errors import DataError
from gramian.estimators.neighbour_maps import _PLACERS, TSNEMap, UMAPMap


@pytest.fixture(scope="module", autouse=True)
def _libraries() -> None:
    """Not when tests are collected: importing UMAP compiles for a second, in every worker."""
    pytest.importorskip("openTSNE", reason="openTSNE is not installed: pip install 'gramian[views]'")
    pytest.importorskip("umap.umap_", reason="umap-learn is not installed: pip install 'gramian[views]'")


MAPS = [TSNEMap(perplexity=8, random_state=0), UMAPMap(n_neighbors=8, random_state=0)]
NAMES = [type(model).__name__ for model in MAPS]


@parametrize_with_checks(MAPS)
def test_scikit_learn_check(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    """Three groups of rows that differ in a category and a number; and a column that is noise."""
    rng = np.random.default_rng(3)
    group = np.repeat([0, 1, 2], 30)
    return pd.DataFrame(
        {
            "color": np.array(["red", "green", "blue"])[group],
            "shape": np.array(["round", "square", "long"])[group],
            "size": 4.0 * group + rng.normal(size=90),
            "noise": rng.choice(["a", "b"], 90),
            "group": np.array(["u", "v", "w"])[group],
        }
    )


@pytest.mark.parametrize("model", MAPS, ids=NAMES)
def test_neighbours_in_the_picture_are_of_one_group(model, table: pd.DataFrame) -> None:
    placed = model.fit_transform(table, y="group")
    _, near = NearestNeighbors(n_neighbors=4).fit(placed).kneighbors(placed)
    own = table["group"].to_numpy()
    assert (own[near[:, 1:]] == own[:, None]).mean() > 0.95
    assert model.get_feature_names_out().tolist() == [f"{type(model).__name__.lower()}{k}" for k in (0, 1)]


@pytest.mark.parametrize("model", MAPS, ids=NAMES)
def test_the_same_seed_gives_the_same_picture(model, table: pd.DataFrame) -> None:
    first = model.fit_transform(table, y="group").copy()
    assert np.array_equal(model.fit_transform(table, y="group"), first)


@pytest.mark.parametrize("model", MAPS, ids=NAMES)
def test_features_are_the_principal_components(model, table: pd.DataFrame) -> None:
    model.fit(table, y="group")
    components = gm.PCA().fit(table, y="group").transform(table)
    assert model.features_ == pytest.approx(components[:, : model.features_.shape[1]], abs=1e-9)


@pytest.mark.parametrize("model", MAPS, ids=NAMES)
def test_a_new_row_lands_among_its_like_and_so_it_does_after_building_the_placer_again(
    model, table: pd.DataFrame
) -> None:
    model.fit(table, y="group")
    new = table.iloc[[5, 40, 75]].drop(columns="group")
    placed = model.transform(new)
    _, near = NearestNeighbors(n_neighbors=3).fit(model.embedding_).kneighbors(placed)
    assert (table["group"].to_numpy()[near] == np.array([["u"], ["v"], ["w"]])).all()
    # What the library built is forgotten, as it is in a file: from features and picture it is built again.
    del _PLACERS[model]
    _, again = NearestNeighbors(n_neighbors=3).fit(model.embedding_).kneighbors(model.transform(new))
    assert (table["group"].to_numpy()[again] == np.array([["u"], ["v"], ["w"]])).all()


def test_a_map_of_files_is_the_map_of_their_rows(table: pd.DataFrame, tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    table.to_parquet(path)
    model = TSNEMap(perplexity=8, random_state=0)
    assert model.fit(str(path), y="group").embedding_ == pytest.approx(model.fit_transform(table, y="group"))


def test_moments_have_no_rows_to_place(table: pd.DataFrame) -> None:
    with pytest.raises(DataError, match="Moments have none"):
        TSNEMap().fit(gm.collect(table))


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (TSNEMap(perplexity=0.5), "perplexity"),
        (TSNEMap(n_components=0), "n_components"),
        (UMAPMap(n_neighbors=1), "n_neighbors"),
        (UMAPMap(min_dist=-1), "min_dist"),
        (UMAPMap(n_features=2.5), "n_features"),  # type: ignore[arg-type]
    ],
)
def test_a_parameter_out_of_range_is_named(model, said: str, table: pd.DataFrame) -> None:
    with pytest.raises(DataError, match=said):
        model.fit(table)


@pytest.mark.parametrize(("package", "name"), [("openTSNE", "TSNEMap"), ("umap", "UMAPMap")])
def test_a_missing_package_is_named_with_the_way_to_install_it(package: str, name: str, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    distribution = {"umap": "umap-learn"}.get(package, package)
    with pytest.raises(ImportError, match=rf"pip install {distribution} \(the extra 'views'\)") as raised:
        getattr(gm, name)().fit([[0.0, 1.0], [1.0, 0.5], [2.0, 0.0], [3.0, 1.5], [4.0, 2.0]])
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("model", MAPS, ids=NAMES)
def test_a_saved_map_places_new_rows_where_it_did(model, table: pd.DataFrame, tmp_path: Path) -> None:
    model.fit(table, y="group")
    gm.save(model, tmp_path / "map.model")
    loaded = gm.load(tmp_path / "map.model")
    assert np.array_equal(loaded.embedding_, model.embedding_)
    new = table.iloc[[5, 40, 75]].drop(columns="group")
    _, near = NearestNeighbors(n_neighbors=3).fit(model.embedding_).kneighbors(loaded.transform(new))
    assert (table["group"].to_numpy()[near] == np.array([["u"], ["v"], ["w"]])).all()
