"""`methods`: what there is to fit, as a list that prints as a table."""

from __future__ import annotations

import html

from gramian.estimators.io.registry import METHODS, Method
from gramian.text_table import text_table

HEAD = ("method", "class", "takes", "gives", "what it is")


class Methods(tuple[Method, ...]):
    """Methods in the order in which they are shown; each knows its `estimator`, `parameters` and `summary`."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "\n".join(text_table(HEAD, [row_of(method) for method in self], width=120))

    def _repr_html_(self) -> str:
        rows = [HEAD, *(row_of(method) for method in self)]
        cells = [
            "".join(f"<{'td' if k else 'th'}>{html.escape(cell)}</{'td' if k else 'th'}>" for cell in row)
            for k, row in enumerate(rows)
        ]
        return f"<table>{''.join(f'<tr>{row}</tr>' for row in cells)}</table>"


def methods() -> Methods:
    """Return every method there is, with its class and what it takes and gives; it prints as a table.

    Returns
    -------
    tuple of Method
        Each with `name`, `aliases`, `class_name`, `estimator` (the class), `parameters` (their defaults) and `summary`.

    Examples
    --------
    >>> import gramian as gm
    >>> first = gm.methods()[0]
    >>> first.name, first.class_name, first.aliases[:2]
    ('pca', 'PCA', ('klt', 'karhunen-loeve'))
    >>> [method.name for method in gm.methods() if method.detects]
    ['density']
    """
    return Methods(METHODS)


def row_of(method: Method) -> tuple[str, ...]:
    """Return the cells of a method in the table."""
    other = f" Also: {', '.join(method.aliases)}." if method.aliases else ""
    return method.name, method.class_name, taken(method), given(method), method.summary + other


def taken(method: Method) -> str:
    """Return what `fit` takes, in words."""
    words = ["distances"] if method.takes_distances else ["rows", *["moments"] * method.takes_moments]
    return ", ".join(words) + "\n+ target" * method.needs_target


def given(method: Method) -> str:
    """Return what a fitted model gives, in words."""
    predicted = "numbers" if method.predicts_numbers else "classes" if method.needs_target else "groups"
    words = ["features"] * method.transforms + [predicted] * method.predicts
    return "\n".join(words + ["odd rows"] * method.detects)
