"""`gramian report` writes one HTML file about data, moments or models."""

from __future__ import annotations


def test_report_of_models_moments_and_data(gramian, folder):
    gramian("report", "density.model", "payments.moments", "--data", "later.parquet", "-o", "x.html").ok()
    assert (folder / "x.html").read_text().lstrip().lower().startswith("<!doctype html")
    found = gramian("report", "payments.parquet", "--target", "fraud", "-o", "y.html", "--json").ok().json
    assert found["output"] == "y.html"
    assert (folder / "y.html").stat().st_size > 10_000
