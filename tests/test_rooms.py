"""The rooms of the package: no folder is crowded, no module is long, and every folder has a folder of tests.

A module is a chapter, most of them 100 to 400 lines of code. The limits here are ceilings, not aims.
"""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

TESTS = Path(__file__).parent
PACKAGE = TESTS.parent / "src" / "gramian"
MODULES = sorted(path for path in PACKAGE.rglob("*.py") if not path.name.startswith("__"))

MOST_MODULES = 20
MOST_LINES = 700


def name_of(path: Path) -> str:
    """Return `a/b` for `src/gramian/a/b.py`."""
    return path.relative_to(PACKAGE).with_suffix("").as_posix()


def lines_beside_docstrings(tree: ast.Module, text: str) -> int:
    """Return how many lines of a module are no docstring: blank lines and comments count, as a reader scrolls them too."""
    docstrings = 0
    for node in ast.walk(tree):
        for each in getattr(node, "body", None) or [] if not isinstance(node, ast.Lambda | ast.IfExp) else []:
            if (
                isinstance(each, ast.Expr)
                and isinstance(each.value, ast.Constant)
                and isinstance(each.value.value, str)
            ):
                docstrings += (each.end_lineno or each.lineno) - each.lineno + 1
    return len(text.splitlines()) - docstrings


def test_no_folder_is_crowded():
    crowded = {folder: n for folder, n in Counter(path.parent for path in MODULES).items() if n > MOST_MODULES}
    assert crowded == {}


def test_no_module_is_long():
    texts = {name_of(path): path.read_text() for path in MODULES}
    # What is short with its docstrings is short without them.
    long = {name: text for name, text in texts.items() if text.count("\n") > MOST_LINES}
    lengths = {name: lines_beside_docstrings(ast.parse(text), text) for name, text in long.items()}
    assert {name: lines for name, lines in lengths.items() if lines > MOST_LINES} == {}


def test_every_folder_has_a_folder_of_tests():
    # Tests of a module may fill a folder of its name: those of a/b.py are in a/test_b.py or in a/b/.
    folders = {path.parent.relative_to(PACKAGE) for path in MODULES}
    assert {folder.as_posix() for folder in folders if not any((TESTS / folder).rglob("test_*.py"))} == set()
