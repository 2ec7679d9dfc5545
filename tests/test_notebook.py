"""What a notebook shows: estimators, moments and reports have pictures, fitted attributes are short."""

import pytest

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")

CELLS = {
    "moments": """
        import numpy as np, pandas as pd, gramian as gm
        rng = np.random.default_rng(0)
        frame = pd.DataFrame({"color": rng.choice(list("abc"), 200), "x": rng.normal(size=200)})
        frame["sold"] = rng.random(200) < 0.3
        m = gm.collect(frame, targets="sold")
        m""",
    "estimator": "pca = gm.PCA(2).fit(m)\npca",
    "pipeline": """
        from sklearn.pipeline import make_pipeline
        from sklearn.linear_model import LogisticRegression
        make_pipeline(gm.MahalanobisFeatures(), LogisticRegression()).fit(frame[["color", "x"]], frame["sold"])""",
    "report": "gm.report(pca)",
    "methods": "gm.methods()",
    "attributes": """
        long = {k: len(repr(v)) for k, v in vars(gm.PCA(2).fit(m)).items() if k.endswith("_") and len(repr(v)) > 400}
        print(long)""",
}


@pytest.fixture(scope="module")
def shown():
    from textwrap import dedent

    cells = [nbformat.v4.new_code_cell(dedent(text).strip()) for text in CELLS.values()]
    notebook = nbformat.v4.new_notebook(cells=cells)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GRAMIAN_DOCS", "https://example.org/site/")
        nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    return {name: cell.outputs for name, cell in zip(CELLS, notebook.cells, strict=True)}


# The kernel's client closes its sockets late.
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        ("moments", "<table"),
        ("estimator", "https://example.org/site/reference/api/gramian.PCA.html"),
        ("pipeline", "https://example.org/site/reference/api/gramian.MahalanobisFeatures.html"),
        ("report", "<iframe"),
        ("methods", "<table"),
    ],
)
def test_a_cell_shows_html(shown, cell, words):
    (output,) = [each for each in shown[cell] if "data" in each]
    assert words in output["data"]["text/html"]


def test_fitted_attributes_print_briefly(shown):
    (output,) = shown["attributes"]
    assert output["text"].strip() == "{}"


def test_without_a_site_there_is_no_link(monkeypatch):
    import gramian as gm

    monkeypatch.delenv("GRAMIAN_DOCS", raising=False)
    assert gm.PCA()._get_doc_link() == ""
    assert 'href="https://scikit-learn.org' not in gm.PCA()._repr_html_()
