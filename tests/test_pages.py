"""The code blocks of README and of the site run, page by page, in a folder that holds the files they read."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

import gramian as gm
from gramian.cli.payments import payments

DOCS = Path(__file__).parents[1] / "docs"
PAGES = sorted([DOCS.parent / "README.md", *DOCS.glob("*.md"), *DOCS.glob("howto/*.md"), *DOCS.glob("start/*.md")])
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
ELSEWHERE = ("s3://", "ibis.postgres")  # storage of a cloud and servers: tests/engines and tests/tables have local ones
N = 400


def write_files(folder):
    """Write the files that the pages name, each small."""
    rng = np.random.default_rng(0)
    made = payments(4_000, 0)
    pq.write_table(made.earlier, folder / "payments.parquet")
    for name in ("later", "today"):
        pq.write_table(made.later, folder / f"{name}.parquet")
    (folder / "days").mkdir()
    for day, rows in (("monday", made.earlier), ("tuesday", made.later)):
        pq.write_table(rows, folder / "days" / f"{day}.parquet")
    color, shop, region = (rng.choice(list(names), N) for names in (["red", "blue", "green"], "abcdefgh", "NSEW"))
    key, product = rng.integers(0, 40, N).astype(str), rng.integers(0, 9, N).astype(str)
    age, income = rng.integers(18, 80, N), rng.normal(size=N)
    price = 2 * (color == "red") + rng.normal(size=N)
    yes = rng.random(N) < np.where(shop < "d", 0.2, 0.6)
    people = {"age": age, "region": region, "shop": shop, "income": income}
    files = {
        "sales": {"customer": key, "product": product, "color": color, "shop": shop, "price": price, "amount": price},
        "visits": {**people, "bought": np.where(yes, "yes", "no")},
        "people": {**people, "paid": np.where(yes, "yes", "no")},
        "tomorrow": {**people, "paid": np.where(yes, "yes", "no")},
        "survey": {**people, "party": rng.choice(["left", "right"], N)},
        "new": {**people, "party": rng.choice(["left", "right"], N)},
        "insurance": {
            "age": age,
            "bmi": 30 + 5 * income,
            "smoker": np.where(yes, "yes", "no"),
            "charges": 3.0 * yes * (income > 0) + age / 50,
        },
        "claims": {
            "zone": rng.choice(["city", "coast", "hills"], N),
            "years": rng.uniform(0.5, 2, N),
            "claims": rng.poisson(0.4, N),
        },
    }
    if folder.name == "joins":
        del files["sales"]["price"]
        files["sales"] |= {"sale": np.arange(N), "returned": yes}
        files["today"] = files["sales"]
        files["customers"] = {"customer": np.arange(40).astype(str), "region": rng.choice(list("NSEW"), 40)}
        files["products"] = {
            "product": np.arange(9).astype(str),
            "brand": rng.choice(list("xyz"), 9),
            "price": rng.normal(size=9),
        }
        files["catalogue"], files["regions"] = files["products"], {"region": list("NSEW"), "wet": list("yynn")}
        for name in ("survey", "credit"):
            files[name] = {"customer": np.arange(40).astype(str), name: rng.normal(size=40)}
    else:
        files["customers"] = {**people, "churn": np.where(yes, "yes", "no")}
    if folder.name == "additive":
        files["new"] = files["insurance"]
    for name, columns in files.items():
        frame = pd.DataFrame(columns)
        frame.to_parquet(folder / f"{name}.parquet", index=False)
        frame.to_csv(folder / f"{name}.csv", index=False)


def names_of(page, folder):
    """Return the names that a page speaks of without saying where they come from."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 12))
    y = np.where(X[:, 0] > 0, "a", "b")
    if page == "additive":
        return {"rows": pd.read_parquet(folder / "insurance.parquet").head(3)}
    if page == "mahalanobis":
        return {"new_rows": pd.read_parquet(folder / "customers.parquet").drop(columns="churn")}
    if page == "mca":
        return {"new": pd.read_parquet(folder / "new.parquet")}
    if page == "density":
        return {"days": sorted((folder / "days").glob("*")), "today": pq.read_table(folder / "today.parquet")}
    if page == "distances":
        words = [f"Sven{'son' * k}{'berg' * j}" for k in range(4) for j in range(4)]
        rows = gm.pairwise_distances(words, metric="levenshtein", power=0.5)[:2]
        return {"words": words, "y": ["a", "b"] * 8, "rows": rows}
    if page == "online":
        (folder / "logs").mkdir()
        pd.DataFrame(X).rename(columns=str).to_parquet(folder / "logs" / "1.parquet")
        frame = pd.DataFrame(X[:5]).rename(columns=str)
        return {"X": X, "today": frame, "new_rows": frame}
    if page == "plots":
        return {"frame": pd.read_parquet(folder / "sales.parquet").drop(columns=["customer", "amount"])}
    if page == "random":
        rows = pq.read_table(folder / "payments.parquet")
        first, second = gm.ELMClassifier(50, random_state=0), gm.ELMClassifier(50, random_state=0)
        monday, tuesday = (
            each.fit(day, y="fraud") for each, day in ((first, rows.slice(0, 900)), (second, rows.slice(900)))
        )
        gm.save(gm.ELMClassifier(1000, random_state=0).fit(rows.slice(0, 900), y="fraud"), folder / "site_b.elm")
        series = np.cumsum(X[:, :2], axis=0)
        trains = [rng.random((50, 3)) < 0.1 for _ in range(3)]
        given = {"frame": pd.DataFrame(X).rename(columns=str), "X": X, "new_rows": rows.slice(0, 5), "rows": rows}
        given |= {"monday": monday, "tuesday": tuesday, "week": monday + tuesday, "trains": trains}
        return given | {"sequences": [series[:90], series[90:]], "series": series, "other": series[:150]}
    if page == "sparse":
        atoms = np.vstack([np.eye(2), -np.eye(2), [[0.6, 0.8]]])
        codes = {
            name: np.array(code)
            for name, code in (("a", [0, 0, 1, 0, 0]), ("b", [-1, 0, 0, 0, 0]), ("c", [-1, -0.05, 0, 0, 0]))
        }
        return {"atoms": atoms, "rows": X[:, :2], "patches": rng.normal(size=(500, 16)), **codes}
    return {"X": X, "y": y}


# Dask itself uses what pandas is about to remove; a plot of a small detector has few rows.
@pytest.mark.filterwarnings("ignore:The inplace keyword")
@pytest.mark.parametrize("page", [page for page in PAGES if BLOCK.search(page.read_text())], ids=lambda page: page.stem)
def test_the_code_of_a_page_runs(page, tmp_path, monkeypatch):
    if page.stem == "production":
        pytest.skip("tests/test_production.py runs it, with files of its own")
    folder = tmp_path / page.stem
    folder.mkdir()
    write_files(folder)
    monkeypatch.chdir(folder)
    names = {"gm": gm, **names_of(page.stem, folder)}
    for block in BLOCK.findall(page.read_text()):
        if not any(word in block for word in ELSEWHERE):
            exec(compile(block, str(page), "exec"), names)
