"""The rooms of the package: no folder is crowded, no module is long, and every module has a test beside it.

`src/gramian/a/b.py` has its twin in `tests/a/test_b.py`, which imports the module or calls something that it defines.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path

TESTS = Path(__file__).parent
PACKAGE = TESTS.parent / "src" / "gramian"
MODULES = sorted(path for path in PACKAGE.rglob("*.py") if not path.name.startswith("__"))

MOST_MODULES = 14
MOST_LINES = 400


def name_of(path: Path) -> str:
    """Return `a/b` for `src/gramian/a/b.py`."""
    return path.relative_to(PACKAGE).with_suffix("").as_posix()


def twin_of(path: Path) -> Path:
    return TESTS / path.relative_to(PACKAGE).with_name(f"test_{path.name}")


def defined_in(tree: ast.Module) -> set[str]:
    """Return the names of functions, classes and constants at the top of a module."""
    names = set()
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign):
            names |= {target.id for target in node.targets if isinstance(target, ast.Name)}
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names.add(node.target.id)
    return names


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


def has_twin(path: Path) -> bool:
    """Whether the test beside a module is there and uses it."""
    twin = twin_of(path)
    if not twin.exists():
        return False
    text = twin.read_text()
    dotted = "gramian." + name_of(path).replace("/", ".")
    package, _, own = dotted.rpartition(".")
    if re.search(rf"\b{re.escape(dotted)}\b", text) or re.search(
        rf"from {re.escape(package)} import [^\n]*\b{own}\b", text
    ):
        return True
    return bool(defined_in(ast.parse(path.read_text())) & set(re.findall(r"\w+", text)))


def test_no_folder_is_crowded():
    crowded = {folder: n for folder, n in Counter(path.parent for path in MODULES).items() if n > MOST_MODULES}
    assert crowded == {}


def test_no_module_is_long():
    texts = {name_of(path): path.read_text() for path in MODULES}
    lengths = {name: lines_beside_docstrings(ast.parse(text), text) for name, text in texts.items()}
    assert {name: lines for name, lines in lengths.items() if lines > MOST_LINES} == {}


def test_every_module_has_a_twin():
    missing = [str(twin_of(path).relative_to(TESTS.parent)) for path in MODULES if not has_twin(path)]
    assert missing == [], "write these, each using its module"
