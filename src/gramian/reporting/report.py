"""`report`: what was found, as one page that opens anywhere."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from gramian.design.kinds import names_of
from gramian.engines.base import Names
from gramian.errors import Argument, DataError
from gramian.moments.value import Moments
from gramian.parameters import check, whole
from gramian.reporting.page.render import frame, page
from gramian.reporting.request import VIEWS, request_of
from gramian.reporting.sections.summary import summarise
from gramian.storage.atomic import appearing


@dataclass(frozen=True, eq=False)
class Report:
    """A report: its contents as plain data, and the page that shows them.

    Attributes
    ----------
    summary : dict
        Everything the page shows, as texts, numbers, lists and dicts. The page computes nothing beyond it.
    """

    summary: dict[str, Any]
    _pages: list[str] = field(default_factory=list, repr=False)

    def html(self) -> str:
        """Return the page: one self-contained HTML document that makes no network request."""
        if not self._pages:
            self._pages.append(page(self.summary))
        return self._pages[0]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page to a file, which appears whole or not at all."""
        content = self.html()
        with appearing(path) as temporary, open(temporary, "w", encoding="utf-8") as file:
            file.write(content)

    def __repr__(self) -> str:
        return f"<Report: {self.summary['title']}; save('report.html') writes it>"

    def _repr_html_(self) -> str:
        return frame(self.summary)


def report(
    obj: Any,
    data: Any = None,
    target: str | None = None,
    *,
    exclude: Names = None,
    categorical: Names = None,
    numeric: Names = None,
    missing: str = "raise",
    keep: Names = None,
    since: Moments | str | os.PathLike[str] | None = None,
    view: str | None = None,
    title: str | None = None,
    command: str | None = None,
    max_rows: int = 2000,
    image_shape: tuple[int, int] | None = None,
) -> Report:
    """Return a report on moments, models or a table: save it as one HTML file, or look at it in a notebook.

    Parameters
    ----------
    obj : estimator, Moments, source of rows, or list of estimators and Moments
        A source is collected first.
    data : source of rows, optional
        Rows for the scatter, the anomalies and the confusion matrix. Of a file only some rows are read.
    target : str, optional
        The column that others are judged by; by default that of the models.
    exclude, categorical, numeric : str or list of str, optional
        Where a source is collected: columns to leave out, and kinds that are not to be inferred, as in `collect`.
    missing : {"raise", "fill"}
        As in `collect`: `"fill"` takes a column that a file of the rows lacks as missing values there.
    keep : str or list of str, optional
        Columns that name a row, such as an order number: shown beside odd rows, and no features.
    since : Moments or path, optional
        Earlier moments, or their file: the page then also says what changed since, as `gm.compare` does.
    view : {None, "tsne", "umap"}
        A neighbour map of the sampled rows, started from the principal components.
    title, command : str, optional
        Over the page, and how it was made.
    max_rows : int
        Rows in the scatter.
    image_shape : (int, int), optional
        Height and width under which the atoms of a dictionary are drawn as pictures.

    Returns
    -------
    Report

    Examples
    --------
    >>> import gramian as gm
    >>> import pyarrow as pa
    >>> table = pa.table({"color": ["red", "blue", "red"] * 20, "size": [1.5, 2.5, 3.5] * 20})
    >>> gm.report(gm.PCA().fit(table), table).summary["read"]["n_rows"]
    60
    """
    check("view", view, *VIEWS)
    check("max_rows", max_rows, whole())
    shape = None if image_shape is None else (image_shape[0], image_shape[1])
    for side in shape or ():
        check("image_shape", side, whole(words="two whole numbers, each"))
    asked = request_of(
        obj, data, target, exclude=exclude, categorical=categorical, numeric=numeric, missing=missing, keep=keep
    )
    if since is not None:
        aside = [*asked.keep, *(names_of(exclude, called="exclude") or ())]
        asked = replace(asked, **_earlier(since, aside))
    asked = replace(asked, view=view, title=title, command=command, max_rows=max_rows, image_shape=shape)
    return Report(summarise(asked))


def _earlier(since: Any, aside: Sequence[str]) -> dict[str, Any]:
    """Return earlier moments without the columns that are left aside, and their name."""
    if isinstance(since, Moments):
        before, named = since, {}
    elif isinstance(since, str | os.PathLike):
        before, named = Moments.load(since), {"since_name": os.path.basename(os.fspath(since))}
    else:
        got = type(since).__name__
        raise DataError(Argument("since"), f" takes Moments or the path of a moments file; got {got}")
    return {"since": before.drop([name for name in before.columns if before.schema[name].origin in aside]), **named}


def summary(*args: Any, **options: Any) -> dict[str, Any]:
    """Return what a report says, as plain data that `json.dumps` takes.

    Parameters are those of `report`.

    Examples
    --------
    >>> import gramian as gm
    >>> import pyarrow as pa
    >>> found = summary(gm.collect(pa.table({"color": ["red", "blue", "red"], "size": [1.5, 2.5, 3.5]})))
    >>> found["read"]["n_rows"], [column["name"] for column in found["read"]["columns"]]
    (3, ['color', 'size'])
    """
    return report(*args, **options).summary


report.summary = summary  # type: ignore[attr-defined]
