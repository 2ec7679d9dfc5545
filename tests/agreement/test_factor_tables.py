"""The tables of MCA and FAMD against prince, published values and the definition."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from tests.agreement.test_prince import generated

import gramian as gm
from gramian.errors import DataError

prince = pytest.importorskip("prince")

# Greenacre, Theory and Applications of Correspondence Analysis, 1984, table 3.1: five groups of staff and how much they smoke.
STAFF = pd.DataFrame(
    [[4, 2, 3, 2], [4, 3, 7, 4], [25, 10, 12, 4], [18, 24, 33, 13], [10, 6, 7, 2]],
    index=["SM", "JM", "SE", "JE", "SC"],
    columns=["none", "light", "medium", "heavy"],
)


def people(counts):
    """Return one row per person of a contingency table."""
    rows = [(a, b) for a in counts.index for b in counts.columns for _ in range(counts.loc[a, b])]
    return pd.DataFrame(rows, columns=["staff", "smoking"])


def quietly(kind, frame, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return kind(engine="scipy", **options).fit(frame)


def wide(table, value, rows=("column", "level")):
    """Return one column per feature."""
    names = list(table["feature"].unique())
    parts = [table[table["feature"] == name][value].to_numpy(float) for name in names]
    heads = table[table["feature"] == names[0]]
    if rows is None:
        return np.column_stack(parts)
    return pd.DataFrame(np.column_stack(parts), index=[f"{c}__{v}" for c, v in heads[list(rows)].to_numpy()])


def same_up_to_sign(mine, other):
    signs = np.sign((mine * other).sum(axis=0))
    np.testing.assert_allclose(mine * signs, other, atol=1e-9)


@pytest.fixture
def mca():
    frame = generated()[["a", "b", "c"]]
    return frame, gm.PCA(4).fit(frame)


def test_corrected_inertia_of_two_columns_is_that_of_their_published_table():
    inertia = gm.PCA().fit(people(STAFF)).inertia()
    np.testing.assert_allclose(inertia["benzecri"][:3], [0.074759, 0.010017, 0.000414], atol=5e-7)
    np.testing.assert_allclose(inertia["benzecri_share"][:3], [0.8776, 0.1176, 0.0049], atol=5e-5)
    np.testing.assert_allclose(inertia["greenacre_share"][:3], [0.8776, 0.1176, 0.0049], atol=5e-5)


# Printed by FactoMineR 2 (R) for two of its own sets, which prince ships too: MCA(poison, quanti.sup=1:2, quali.sup=3:4) and
# PCA(decathlon, quanti.sup=11:12, quali.sup=13).
POISON = [0.33523140, 0.12913979, 0.10734849, 0.09587950, 0.07883277, 0.07108981]
POISON += [0.06016580, 0.05577301, 0.04120578, 0.01304158, 0.01229208]
POISON_LEVELS = {
    "Nausea_n": (0.2673909, 0.12139029, 0.3090033),
    "Nausea_y": (-0.9581506, -0.43498187, 0.3090033),
    "Vomit_n": (0.4790279, -0.40919465, 0.5953620),
    "Vomit_y": (-0.7185419, 0.61379197, 0.5953620),
    "Abdo_n": (1.3180221, -0.03574501, 0.8457372),
    "Abdo_y": (-0.6411999, 0.01738946, 0.8457372),
}
"""Coordinates on two components, and the sum of both squared cosines."""
POISON_ROWS = [(-0.4525811, -0.26415072), (0.8361700, -0.03193457), (-0.4481892, 0.13538726)]
DECATHLON = [
    3.2719055,
    1.7371310,
    1.4049167,
    1.0568504,
    0.6847735,
    0.5992687,
    0.4512353,
    0.3968766,
    0.2148149,
    0.1822275,
]


def published(name):
    return pd.read_csv(Path(prince.__file__).parent / "datasets" / f"{name}.csv")


def test_tables_of_mca_are_those_that_factominer_prints():
    data = published("poison")
    frame = data.iloc[:, 4:]
    model = gm.PCA().fit(gm.collect(data.drop(columns=["Age", "Time"]), targets=["Sick", "Sex"]))
    np.testing.assert_allclose(model.inertia()["eigenvalue"], POISON, atol=5.1e-9)
    columns = model.column_coordinates()
    first = columns[columns["feature"].isin(["pca0", "pca1"])]
    two = first.pivot(index="level", columns="feature", values="coordinate")
    wanted = pd.DataFrame(POISON_LEVELS, index=["pca0", "pca1", "squared_cosine"]).T
    signs = np.sign((two.loc[wanted.index] * wanted[["pca0", "pca1"]]).sum())
    np.testing.assert_allclose(two.loc[wanted.index] * signs, wanted[["pca0", "pca1"]], atol=5.1e-8)
    cosines = first.groupby("level")["squared_cosine"].sum()
    np.testing.assert_allclose(cosines[wanted.index], wanted["squared_cosine"], atol=5.1e-8)
    rows = wide(model.row_coordinates(frame), "coordinate", rows=None)[:3, :2]
    np.testing.assert_allclose(rows * signs.to_numpy(), POISON_ROWS, atol=5.1e-8)


def test_tables_of_pca_are_those_that_factominer_prints():
    model = gm.PCA(scale=True, ddof=0).fit(published("decathlon").iloc[:, 1:11])
    np.testing.assert_allclose(model.inertia()["eigenvalue"], DECATHLON, atol=5.1e-8)
    columns = model.column_coordinates()
    contribution = columns[columns["feature"] == "pca0"]["contribution"].to_numpy()
    np.testing.assert_allclose(100 * contribution[:5], [18.3, 16.8, 11.8, 10, 14.1], atol=0.051)


@pytest.mark.parametrize("correction", [None, "benzecri", "greenacre"])
def test_inertia_of_mca_is_that_of_prince(mca, correction):
    frame, model = mca
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        other = prince.MCA(n_components=5, engine="scipy", correction=correction).fit(frame)
        values, shares = np.asarray(other.eigenvalues_)[:4], np.asarray(other.percentage_of_variance_)[:4] / 100
    inertia = model.inertia()
    np.testing.assert_allclose(inertia["benzecri" if correction else "eigenvalue"], values, atol=1e-9)
    np.testing.assert_allclose(inertia[f"{correction}_share" if correction else "share"], shares, atol=1e-9)


def test_columns_and_rows_of_mca_are_those_of_prince(mca):
    frame, model = mca
    other = quietly(prince.MCA, frame, n_components=4)
    table = model.column_coordinates()
    for value, theirs in (
        ("coordinate", other.column_coordinates(frame)),
        ("squared_cosine", other.column_cosine_similarities(frame)),
        ("contribution", other.column_contributions_),
    ):
        mine = wide(table, value)
        (same_up_to_sign if value == "coordinate" else np.testing.assert_allclose)(
            mine.to_numpy(), theirs.loc[mine.index].to_numpy()
        )
    rows = model.row_coordinates(frame)
    same_up_to_sign(wide(rows, "coordinate", None), other.row_coordinates(frame).to_numpy())
    np.testing.assert_allclose(wide(rows, "squared_cosine", None), other.row_cosine_similarities(frame), atol=1e-9)
    np.testing.assert_allclose(wide(rows, "contribution", None), other.row_contributions_, atol=1e-9)


def test_supplementary_rows_of_mca_are_those_of_prince(mca):
    frame, model = mca
    new = frame.sample(20, random_state=1)
    other = quietly(prince.MCA, frame, n_components=4)
    same_up_to_sign(wide(model.row_coordinates(new), "coordinate", None), other.row_coordinates(new).to_numpy())


def test_columns_of_famd_are_those_of_prince():
    frame = generated()
    other = quietly(prince.FAMD, frame, n_components=3)
    model = gm.PCA(3).fit(frame)
    np.testing.assert_allclose(model.inertia()["eigenvalue"], other.eigenvalues_, atol=1e-9)
    table = model.column_coordinates()
    contribution = wide(table, "contribution")
    # prince calls the levels a_x, and the numbers by their names.
    names = [name.removesuffix("__None").removesuffix("__nan").replace("__", "_") for name in contribution.index]
    np.testing.assert_allclose(contribution.to_numpy(), other.column_contributions_.loc[names].to_numpy(), atol=1e-9)
    numbers = table[table["level"].isna()]
    same_up_to_sign(wide(numbers, "coordinate").to_numpy(), other.column_coordinates_.loc[["s", "t"]].to_numpy())


def test_levels_of_famd_are_at_the_mean_of_their_rows():
    frame = generated()
    model = gm.PCA(3).fit(frame)
    z = model.transform(frame)
    table = model.column_coordinates()
    at = wide(table[table["column"] == "b"], "coordinate")
    for level in "uvw":
        np.testing.assert_allclose(at.loc[f"b__{level}"], z[frame["b"] == level].mean(axis=0), atol=1e-10)


@pytest.mark.parametrize("columns", [["a", "b"], ["a", "b", "s"]])
def test_supplementary_columns_are_placed_by_their_rows(columns):
    frame = generated()
    moments = gm.collect(frame[[*columns, "c", "t"]], targets=["c", "t"])
    model = gm.PCA(2).fit(moments)
    rows = wide(model.row_coordinates(frame[columns]), "coordinate", None)
    table = model.column_coordinates(["c", "t"])
    more = table[table["column"].isin(["c", "t"])]
    assert more["contribution"].isna().all()
    z = model.transform(frame[columns])
    for name, level in (("c", "high"), ("c", "low"), ("t", None)):
        own = more[(more["column"] == name) & ((more["level"] == level) if level else more["level"].isna())]
        indicator = (frame[name] == level) if level else frame[name]
        correlation = np.array([np.corrcoef(z[:, k], indicator)[0, 1] for k in range(2)])
        np.testing.assert_allclose(own["squared_cosine"].astype(float), correlation**2, atol=1e-9)
        if level is None:
            np.testing.assert_allclose(own["coordinate"].astype(float), correlation, atol=1e-9)
            continue
        middle = rows[frame[name] == level].mean(axis=0)
        # In MCA levels are at the mean of their rows over the root of the eigenvalue.
        unit = 1.0 if "s" in columns else np.sqrt(model.inertia()["eigenvalue"].to_numpy())
        np.testing.assert_allclose(own["coordinate"].astype(float), middle / unit, atol=1e-9)


def test_supplementary_columns_of_famd_are_those_of_prince():
    frame = generated()
    other = prince.FAMD(n_components=2, engine="scipy")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        other.fit(frame, supplementary_columns=["c", "t"])
    model = gm.PCA(2).fit(gm.collect(frame, targets=["c", "t"]))
    table = model.column_coordinates(["c", "t"])
    t = wide(table[table["column"] == "t"], "coordinate").to_numpy()
    same_up_to_sign(t, other.column_coordinates_.loc[["t"]].to_numpy())


def test_tables_without_moments_and_of_numbers(tmp_path, mca):
    frame, model = mca
    gm.save(model, tmp_path / "m")
    again = gm.load(tmp_path / "m")
    with config_context(transform_output="pandas"):
        pd.testing.assert_frame_equal(
            again.column_coordinates(), model.column_coordinates(), check_dtype=False, rtol=1e-9
        )
        pd.testing.assert_frame_equal(
            again.inertia().drop(columns="greenacre_share"), model.inertia().drop(columns="greenacre_share")
        )
    with pytest.raises(DataError, match="holds no moments"):
        again.column_coordinates("a")
    with pytest.raises(DataError, match="took part in the fit"):
        model.column_coordinates("a")
    numbers = frame.assign(x=np.arange(len(frame)) % 7 + 0.5, y=np.arange(len(frame)) % 3 + 0.25)[["x", "y"]]
    plain = gm.PCA().fit(numbers)
    assert plain.inertia()["eigenvalue"].tolist() == pytest.approx(plain.explained_variance_.tolist())
    found = wide(plain.column_coordinates(), "squared_cosine").to_numpy()
    z = plain.transform(numbers)
    np.testing.assert_allclose(
        found, [[np.corrcoef(numbers[c], z[:, k])[0, 1] ** 2 for k in range(2)] for c in ("x", "y")], atol=1e-9
    )


def test_squared_cosines_sum_to_one_and_contributions_too():
    frame = generated()
    model = gm.PCA().fit(frame)
    np.testing.assert_allclose(wide(model.row_coordinates(frame), "squared_cosine", None).sum(axis=1), 1.0)
    np.testing.assert_allclose(wide(model.column_coordinates(), "contribution").sum(axis=0), 1.0)
    np.testing.assert_allclose(wide(model.row_coordinates(frame), "contribution", None).sum(axis=0), 1.0)


def test_the_summary_and_the_advice_name_what_there_is(mca):
    frame, model = mca
    text = model.summary()
    assert text.startswith("MCA: 300 rows, 3 columns, 8 levels, 4 components")
    assert "greenacre share" in text
    assert "c = high" in text
    advice = model.suggest_n_components()
    assert advice["rule"].tolist() == ["elbow", "parallel", "mle", "cv", "cv-target"]
    assert advice["n_components"].isna().tolist() == [False, False, False, True, True]
    folds = gm.PCA().fit(gm.collect(generated(), folds=3), y="a").suggest_n_components()
    assert folds["n_components"].notna().all()
    for rule, kept in zip(advice["rule"][:3], advice["n_components"][:3], strict=True):
        assert gm.PCA(rule).fit(frame).n_components_ == kept
