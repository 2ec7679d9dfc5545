"""Messages: what they are made of, that they survive travel, and that no layer spells an argument as text."""

from __future__ import annotations

import ast
import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import gramian as gm
from gramian import errors
from gramian.errors import Argument, Call, DataError, GramianError, Message, PythonOnly, Value, shown


@pytest.mark.parametrize(
    ("error", "also"),
    [
        (errors.DataError, ValueError),
        (errors.ColumnError, ValueError),
        (errors.FileFormatError, ValueError),
        (errors.SourceNotFoundError, FileNotFoundError),
        (errors.MemoryLimitError, MemoryError),
        (errors.MissingPackageError, ImportError),
    ],
)
def test_errors_are_caught_as_python_people_do(error: type[Exception], also: type[Exception]) -> None:
    assert issubclass(error, also)
    assert issubclass(error, errors.GramianError)
    assert str(error("one line")) == "one line"


def test_the_nearest_name_is_suggested() -> None:
    assert "did you mean 'color'?" in str(errors.unknown_column("colour", ["age", "color"]))


def test_few_names_are_listed_where_none_is_near() -> None:
    message = str(errors.unknown_column("zzz", ["age", "color"]))
    assert "'age', 'color'" in message
    assert "did you mean" not in message


def test_many_names_are_counted() -> None:
    message = str(errors.unknown_column("zzz", [f"column{k}" for k in range(100)]))
    assert "100 columns" in message
    assert "column50" not in message


def test_no_names_are_said_to_be_none() -> None:
    assert "no columns" in str(errors.unknown_column("a", []))


def test_values_of_numpy_are_shown_as_what_they_hold() -> None:
    assert shown(np.int64(9)) == "9"
    assert shown(np.str_("y")) == "'y'"
    assert (
        shown((np.bool_(True), [np.float32(0.5)], {np.str_("a"): np.array([1, 2])})) == "(True, [0.5], {'a': [1, 2]})"
    )


@pytest.mark.parametrize(
    "fail",
    [
        lambda X, y: gm.FisherDiscriminant().partial_fit(X, y, classes=[0, 1]),
        lambda X, y: gm.FisherDiscriminant().partial_fit(X, np.array(["y"] * 6), classes=["a", "b"]),
        lambda X, y: gm.FisherDiscriminant().fit(X, np.full(6, np.int64(9))),
        lambda X, y: gm.FisherDiscriminant(shrinkage=np.float64(2)).fit(X, y),
        lambda X, y: gm.MDSFDA(metric="euclidean").fit(X, np.array(["y"] * 6)),
        lambda X, y: gm.MDSFDA(metric="euclidean").fit(X, np.array([1, 1, 1, 1, 1, 9])),
        lambda X, y: gm.PCA(np.float64(1.5)).fit(X),
        lambda X, y: gm.PCA(n_components=np.int64(-3)).fit(X),
        lambda X, y: gm.DensityEmbedding(contamination=np.float64(0.9)).fit(X),
        lambda X, y: gm.MahalanobisFeatures(ridge=np.float64(-1)).fit(X, y),
        lambda X, y: gm.MahalanobisFeatures(cv=np.int64(1)).fit(X, y),
        lambda X, y: gm.ClassicalMDS(np.int64(0), metric="euclidean").fit(X),
        lambda X, y: gm.collect(X, columns=np.array(["y"])),
        lambda X, y: gm.collect(X, folds=np.int64(300)),
        lambda X, y: gm.collect(X).levels(np.str_("y")),
        lambda X, y: gm.collect(X).pool(min_count=np.int64(0)),
        lambda X, y: gm.PCA(categorical_features=[np.int64(9)]).fit(X),
        lambda X, y: gm.PCA(categorical_features=np.array(["y"])).fit(X),
        lambda X, y: gm.FisherDiscriminant().fit(pa.table({"a": [1.0, 2.0]}), np.str_("y")),
    ],
)
def test_no_message_shows_how_numpy_prints(fail: Any) -> None:
    X = np.arange(12.0).reshape(6, 2)
    with pytest.raises(GramianError) as raised:
        fail(X, np.array([0, 1, 9] * 2))
    assert "np." not in str(raised.value)


def test_a_message_is_its_parts_in_pythons_words() -> None:
    error = errors.ColumnError(
        "leave it out with ", Argument("exclude", [np.str_("a")]), PythonOnly(" or ", Call("drop"))
    )
    assert str(error) == "leave it out with exclude=['a'] or drop()"
    assert str(errors.DataError("day.csv: ", error)) == f"day.csv: {error}"
    assert str(errors.DataError(Argument("cv", None), Argument("folds"), Value("auto"))) == "cv=Nonefolds='auto'"
    assert str(errors.SourceNotFoundError("no ", Argument("data"))) == "no data="


@pytest.mark.parametrize(
    "message",
    [errors.DataError("a ", Argument("b", 1)), errors.SourceNotFoundError("a ", "b"), Message("a ", Argument("b", 1))],
)
def test_messages_travel_between_processes(message: Any) -> None:
    again = pickle.loads(pickle.dumps(message))
    assert type(again) is type(message)
    assert str(again) == str(message)
    assert [str(part) for part in again.parts] == [str(part) for part in message.parts]


_SPELLED = re.compile(r"(?<![\w.(])[a-z]\w*=(?!=)|\b(collect|pool|save|merge|select|drop|preview|as_categorical)\(")
_MESSAGES = {"DataError", "ColumnError", "UnsolvedError", "FileFormatError", "MemoryLimitError", "SourceNotFoundError"}


def test_no_message_spells_an_argument_as_text() -> None:
    """The command line could not name the option that stands for it."""
    spelled = []
    for path in Path(gm.__file__).parent.rglob("*.py"):
        for call in ast.walk(ast.parse(path.read_text())):
            if isinstance(call, ast.Call) and getattr(call.func, "id", "") in _MESSAGES:
                texts = [n.value for part in call.args for n in _outside_parts(part) if isinstance(n, ast.Constant)]
                spelled += [f"{path.name}: {t}" for t in texts if isinstance(t, str) and _SPELLED.search(t)]
    assert spelled == []


def _outside_parts(node: ast.AST) -> list[ast.AST]:
    if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "PythonOnly":
        return []
    return [node, *(each for child in ast.iter_child_nodes(node) for each in _outside_parts(child))]


@pytest.mark.parametrize(
    "kind", [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.GramianError)]
)
def test_errors_travel_as_dask_sends_them(kind: Any) -> None:
    pickling = pytest.importorskip("tblib.pickling_support")
    error = kind("a ", Argument("b", 1))
    make, given = pickling.pickle_exception(error)[:2]
    again = make(*given)
    assert type(again) is kind
    assert str(again) == "a b=1"


def test_a_message_can_be_read_whatever_it_names():
    name = "n" * 100_000
    for call in (
        lambda: gm.collect(pa.table({"x": [1.0]}), exclude=[name]),
        lambda: gm.collect(pa.table({name: pa.array([[1]])})),
        lambda: gm.collect(f"{name}.csv"),
    ):
        with pytest.raises(gm.errors.GramianError) as caught:
            call()
        assert len(str(caught.value)) < 1000
        assert " [...] " in str(caught.value)


def test_what_a_terminal_would_obey_is_shown_as_it_is_written_in_python() -> None:
    name = "a\x1b[31mb\nc\u202ed\x9b"
    written = r"a\x1b[31mb\nc\u202ed\u009b"
    error = DataError(f"column {name} is odd; pass ", Argument("exclude", ["Köln 😀"]))
    assert str(error) == f"column {written} is odd; pass exclude=['Köln 😀']"
    assert str(Message("column ", name)) == f"column {written}"
    assert pickle.loads(pickle.dumps(Message("column ", name))).parts == ("column ", name)
