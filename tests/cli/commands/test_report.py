"""`gramian report` writes one HTML file about data, moments or models."""

from __future__ import annotations


def test_report_of_models_moments_and_data(gramian, folder):
    gramian("report", "density.model", "payments.moments", "--data", "later.parquet", "-o", "x.html").ok()
    assert (folder / "x.html").read_text().lstrip().lower().startswith("<!doctype html")
    found = gramian("report", "payments.parquet", "--target", "fraud", "-o", "y.html", "--json").ok().json
    assert found["output"] == "y.html"
    assert (folder / "y.html").stat().st_size > 10_000


def test_columns_of_a_report_on_data_are_chosen(gramian, folder):
    (folder / "a.csv").write_text("code,name,size\n" + "".join(f"{k % 3 + 1},secret{k},{k}\n" for k in range(60)))
    chosen = ["--exclude", "name", "--categorical", "code"]
    found = gramian("report", "a.csv", *chosen, "-o", "x.html", "--json").ok().json
    kinds = {column["name"]: column["kind"] for column in found["read"]["columns"]}
    assert kinds == {"code": "categorical", "size": "numeric"}
    assert "secret" not in (folder / "x.html").read_text()
    said = gramian("report", "payments.moments", "--exclude", "city", "-o", "y.html").at_fault(1)
    assert said.startswith("--exclude city is for a report on data")


def test_rows_of_files_that_differ_are_shown_where_asked(gramian, folder):
    (folder / "a.csv").write_text("color,size\n" + "red,1\nblue,2\n" * 30)
    (folder / "b.csv").write_text("color,weight\n" + "red,1.5\ngreen,2\n" * 30)
    assert "--missing fill" in gramian("report", "a.csv", "b.csv", "-o", "x.html").at_fault(1)
    found = gramian("report", "a.csv", "b.csv", "--missing", "fill", "-o", "x.html", "--json").ok().json
    assert [column["name"] for column in found["read"]["columns"]] == ["color", "size", "weight"]
    said = gramian("collect", "a.csv", "-o", "a.moments").ok().out
    assert "an id?" not in said


def test_a_report_says_what_changed_since_earlier_moments(gramian, folder):
    found = gramian("report", "later.parquet", "--since", "payments.moments", "-o", "x.html", "--json").ok().json
    assert found["drift"]["since"] == "payments.moments"
    assert found["drift"]["tested"] > 10
    told = gramian("report", "later.parquet", "--since", "payments.parquet", "-o", "x.html").at_fault(1)
    assert "gramian collect payments.parquet -o payments.moments" in told
