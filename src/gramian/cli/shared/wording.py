"""Messages of the library in the words of the command line: what is `exclude=["a"]` in Python is `--exclude a` here."""

from __future__ import annotations

import re
import shlex

_OPTIONS = {
    "exclude": "--exclude",
    "numeric": "--numeric",
    "categorical": "--categorical",
    "targets": "--targets",
    "keep": "--keep",
    "like": "--like",
    "folds": "--folds",
    "fold_by": "--fold-by",
    "sample_weight": "--weights",
    "n_components": "-k",
}
"""Argument -> option."""

_PHRASES = {
    "choose others with columns=, ": "",
    "with exclude= or columns= (preview() shows them), or collect in parts and pool() each before adding": (
        "with --exclude (gramian inspect shows them)"
    ),
    "name some in columns= or fewer in exclude=": "name fewer in --exclude",
    "collect(folds=5) keeps them": "gramian collect --folds 5 keeps them",
    "leave n_components=None": "leave -k out",
    "name the column to predict as y": "name the column to predict with --target",
    "expected one written by save()": "expected one written by gramian collect or gramian fit",
    "collect it again with": "gramian collect it again with",
    "collect both with like=, or use as_categorical() on both": "collect both with --like",
    "select() the common columns first, or collect with like=": "collect both with --like",
    "call calibrate(X) first, or set contamination='auto'": (
        "fit it on data instead of moments, or with --set contamination=auto"
    ),
    ", or pool() rare levels first": "",
    "; pool(min_count=": "; in Python, Moments.pool(min_count=",
    "pass y as values, or bin it": "bin it",
    "open it with gramian.load": "gramian collect makes moments",
}
"""Next steps that are calls in Python and something else here."""


def one_line(text: str) -> str:
    """Return a message with its line breaks taken out.

    Examples
    --------
    >>> one_line(" two   words ")
    'two words'
    """
    return " ".join(text.split())


def in_options(text: str) -> str:
    """Return a message with arguments named as options.

    Examples
    --------
    >>> in_options("column 'a b' holds list<int64>; pass exclude=['a b'], or turn it into plain columns first")
    "column 'a b' holds list<int64>; pass --exclude 'a b', or turn it into plain columns first"
    >>> in_options("fold_by= needs folds=, the number of folds")
    '--fold-by needs --folds, the number of folds'
    >>> in_options("n_components=90 is more than the rank of the data, which is 12")
    '-k 90 is more than the rank of the data, which is 12'
    >>> in_options("ridge='cv' needs moments with folds: collect(folds=5) keeps them in the same pass")
    '--set ridge=cv needs moments with folds: gramian collect --folds 5 keeps them in the same pass'
    """
    for python, words in _PHRASES.items():
        text = text.replace(python, words)
    text = re.sub(r"\b(\w+)=\[(['\"])(.*?)\2\]", _with_column, text)
    text = re.sub(
        r"\b(ridge|contamination|metric|structure|solver|influence|shrinkage)='([\w-]+)'", r"--set \1=\2", text
    )
    return re.sub(rf"(?<![-\w])({'|'.join(_OPTIONS)})=([\w.]*)", _with_value, text)


def _with_column(found: re.Match[str]) -> str:
    option = _OPTIONS.get(found[1])
    return f"{option} {shlex.quote(found[3])}" if option else found[0]


def _with_value(found: re.Match[str]) -> str:
    return f"{_OPTIONS[found[1]]} {found[2]}".rstrip()
