"""`gramian select` shows the columns worth keeping, from data and from moments."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.csv as pcsv
import pyarrow.parquet as pq

import gramian as gm


def test_every_criterion_is_shown_without_a_method(gramian):
    done = gramian("select", "payments.moments", "--target", "fraud", "--exclude", "city").ok()
    assert done.out.splitlines()[0].split()[:3] == ["column", "kind", "beyond_chance"]
    rows = gramian("select", "payments.moments", "--target", "fraud", "--exclude", "city", "--json").ok().json
    assert {"column", "kind", "variance", "correlation", "p_value", "forward"} <= set(rows[0])
    assert "fraud" not in [row["column"] for row in rows]


def test_a_method_selects_from_data_and_from_moments_alike(gramian, folder):
    wanted = ["--target", "fraud", "-m", "forward", "-k", "3", "--exclude", "city", "--json"]
    a = gramian("select", "payments.moments", *wanted).ok().json
    b = gramian("select", "payments.parquet", *wanted, "--exclude", "payment").ok().json
    assert a["kept"] == b["kept"]
    assert len(a["kept"]) == 3
    assert len(a["path"]["column"]) == 3


def test_the_selector_is_a_model_that_hands_columns_through(gramian, folder):
    arguments = [
        "--target",
        "fraud",
        "-m",
        "mrmr",
        "-k",
        "2",
        "--exclude",
        "payment",
        "--include",
        "when",
        "-o",
        "s.model",
    ]
    gramian("select", "payments.parquet", *arguments).ok()
    gramian("transform", "s.model", "payments.parquet", "-o", "kept.parquet").ok()
    kept = pq.read_table(folder / "kept.parquet")
    assert kept.column_names == list(gm.load(folder / "s.model").get_feature_names_out())
    assert kept.equals(pq.read_table(folder / "payments.parquet").select(kept.column_names))


def test_wrong_usage_is_one_line(gramian):
    said = gramian("select", "payments.moments", "-m", "forward").at_fault(2)
    assert said == "method forward needs a target: name a column with --target"
    assert "columns are ranked for a target" in gramian("select", "payments.moments").at_fault(2)
    assert "method pca selects no columns" in gramian("select", "payments.moments", "-m", "pca").at_fault(2)
    assert "-k needs a method" in gramian("select", "payments.moments", "--target", "fraud", "-k", "3").at_fault(2)
    many = gramian("select", "payments.moments", "--target", "fraud", "-m", "pearson", "-k", "99").at_fault(1)
    assert "99 columns are asked for and there are 13" in many
    named = gramian("select", "payments.moments", "--target", "fraud", "-m", "pearson", "--include", "nope").at_fault(1)
    assert named.startswith("--include: column 'nope' is not in the table")


def test_columns_that_stay_are_named_as_they_were_given(gramian):
    asked = ("select", "payments.moments", "--target", "fraud", "-m", "pearson", "-k", "1")
    target = gramian(*asked, "--include", "fraud").at_fault(1)
    assert target.startswith("--include names 'fraud', which is the target")
    assert gramian(*asked, "--set", "include=nope").at_fault(1).startswith("--set include: column 'nope' is not in")
    many = gramian(*asked, "--include", "city", "--include", "when").at_fault(1)
    assert many == "--include names 2 columns, more than -k 1; leave some out, or raise -k"
    both = gramian(*asked, "--include", "city", "--set", "include=when").at_fault(2)
    assert both == "--include and --set include both name columns that stay; use one of them"


def test_the_table_says_how_many_stay(gramian):
    done = gramian("select", "payments.moments", "--target", "fraud", "-m", "independence", "--exclude", "city").ok()
    assert done.out.rstrip().endswith("columns stay")
    assert np.char.count(done.out, "yes") >= 1


def test_columns_that_are_not_shown_are_counted(gramian, folder):
    rng = np.random.default_rng(0)
    pq.write_table(pa.table({f"x{j}": rng.standard_normal(50) for j in range(43)}), folder / "many.parquet")
    said = gramian("select", "many.parquet", "--target", "x0").ok().out
    assert "... and 2 more columns; --json lists all" in said


def test_suggestions_are_methods_of_selection(gramian):
    said = gramian("select", "payments.moments", "--target", "fraud", "-m", "nope").at_fault(2)
    assert "there is no method 'nope'; there are variance, pearson" in said
    assert "'forward'" in gramian("select", "payments.moments", "--target", "fraud", "-m", "forwards").at_fault(2)


# A totals row below the table


def with_totals(folder):
    """Write a sheet whose last row sums the numbers up and has no customer's answer; return the rows without it."""
    rng = np.random.default_rng(5)
    n = 80
    rows = {
        "region": rng.choice(["north", "south", "west"], n).tolist(),
        "sales": rng.lognormal(5, 1, n).round(2).tolist(),
        "items": rng.integers(1, 90, n).tolist(),
        "bought": rng.choice(["yes", "no"], n).tolist(),
    }
    below = {name: [*values, sum(values) if name in ("sales", "items") else None] for name, values in rows.items()}
    pcsv.write_csv(pa.table(below), folder / "sheet.csv")
    pcsv.write_csv(pa.table(rows), folder / "clean.csv")


NOTE = "gramian: note: left out 1 of 81 rows: target 'bought' is missing there\n"


def test_a_totals_row_without_a_target_changes_no_ranking(gramian, folder):
    with_totals(folder)
    found = gramian("select", "sheet.csv", "--target", "bought", "--json")
    assert found.err == NOTE
    assert found.json == gramian("select", "clean.csv", "--target", "bought", "--json").ok().json
    for method in ("forward", "pearson", "mutual-information"):
        arguments = ["--target", "bought", "-m", method, "-k", "2", "--json"]
        found = gramian("select", "sheet.csv", *arguments)
        assert (found.code, found.err) == (0, NOTE)
        assert found.json == gramian("select", "clean.csv", *arguments).ok().json


def test_a_totals_row_changes_no_model_and_no_report(gramian, folder):
    with_totals(folder)
    for method in ("fisher", "mahalanobis", "elm", "mdsfda"):
        more = ["--set", "metric=gower"] if method == "mdsfda" else []
        done = gramian("fit", "sheet.csv", "--target", "bought", "-m", method, *more, "-o", "a.model", "--json")
        notes = [line for line in done.err.splitlines(keepends=True) if "units are saturated" not in line]
        assert (done.code, "".join(notes)) == (0, NOTE)
        whole = gramian("fit", "clean.csv", "--target", "bought", "-m", method, *more, "-o", "b.model", "--json")
        assert whole.code == 0
        if method not in ("elm", "mahalanobis"):
            # The others choose by folds that go by position.
            assert done.json["learned"] == whole.json["learned"]
    found = gramian("report", "sheet.csv", "--target", "bought", "-o", "sheet.html", "--json")
    assert found.err == NOTE
    ranked = gramian("report", "clean.csv", "--target", "bought", "-o", "r.html", "--json").ok().json["ranking"]
    assert found.json["ranking"] == ranked
    assert found.json["read"]["rows_left_out"] == 1
    assert "1 more without a target left out" in (folder / "sheet.html").read_text()


def test_rows_without_a_target_are_refused_where_asked(gramian, folder):
    with_totals(folder)
    calls = {
        "select": [],
        "fit": ["-m", "fisher", "-o", "a.model"],
        "report": ["-o", "r.html"],
        "collect": ["-o", "a.moments"],
    }
    for command, more in calls.items():
        target = "--targets" if command == "collect" else "--target"
        said = gramian(command, "sheet.csv", target, "bought", *more, "--target-missing", "raise").at_fault(1)
        assert said.startswith("target column 'bought' has missing values, 1 among 81 rows")
        assert said.endswith("leave those rows out with --target-missing drop")
    wrong = gramian("select", "sheet.csv", "--target", "bought", "--target-missing", "keep").at_fault(2)
    assert wrong == "--target-missing is drop or raise; got 'keep'"


def test_moments_with_a_gap_in_the_target_name_the_command_that_leaves_it_out(gramian, folder):
    with_totals(folder)
    gramian("collect", "sheet.csv", "-o", "a.moments").ok()
    said = gramian("select", "a.moments", "--target", "bought").at_fault(1)
    assert said.startswith("target 'bought' is missing in 1 of 81 rows")
    assert "gramian collect --targets bought leaves those rows out" in said
    ranked = gramian("report", "a.moments", "--target", "bought", "-o", "r.html", "--json").ok().json
    assert "ranking" not in ranked
    assert "missing in 1 of 81 rows" in str(ranked)
    assert gramian("collect", "sheet.csv", "--targets", "bought", "-o", "b.moments").err == NOTE
    clean = gramian("select", "clean.csv", "--target", "bought", "--json").ok().json
    assert gramian("select", "b.moments", "--target", "bought", "--json").ok().json == clean


def test_inspect_points_a_totals_row_out(gramian, folder):
    with_totals(folder)
    line = "the last row looks like a total: its sales, items are the sum of the other rows"
    assert line in gramian("inspect", "sheet.csv").ok().out
    assert gramian("inspect", "sheet.csv", "--json").ok().json["totals"] == ["sales", "items"]
    assert "looks like a total" not in gramian("inspect", "clean.csv").ok().out
