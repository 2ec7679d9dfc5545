"""A method and its parameters, as the command line names them: `--method`, `-k` and `--set name=value`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from gramian.cli.wording import UsageError

if TYPE_CHECKING:
    from gramian.estimators.registry import Method

_WORDS = {"none": None, "null": None, "true": True, "false": False}


def value_of(text: str) -> Any:
    """Return the value that a text stands for: a number, a truth, None, a JSON list or object, else the text.

    Examples
    --------
    >>> [value_of(text) for text in ("3", "1e-3", "true", "None", "cv", "[0.5, 0.5]", '"3"')]
    [3, 0.001, True, None, 'cv', [0.5, 0.5], '3']
    """
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    if text.startswith(("[", "{", '"')):
        try:
            return json.loads(text)
        except ValueError:
            raise UsageError(f"{text!r} begins like a JSON value but is not one; check quotes and brackets") from None
    return text


def settings_of(pairs: Iterable[str], method: Method) -> dict[str, Any]:
    """Return the parameters that `name=value` texts set, each a parameter of the method."""
    parts = [pair.partition("=") for pair in pairs]
    for name, equals, _ in parts:
        if not equals:
            raise UsageError(f"--set takes NAME=VALUE; got {name!r}")
    known = method.parameters
    settings: dict[str, Any] = {}
    for name, _, text in parts:
        if name not in known:
            near = get_close_matches(name, known, n=1, cutoff=0.5)
            hint = f"did you mean {near[0]!r}?" if near else f"it has {', '.join(known)}"
            raise UsageError(f"method {method.name} has no parameter {name!r}; {hint}")
        if name in settings:
            raise UsageError(f"--set {name} is given twice; keep one")
        settings[name] = value_of(text)
    return settings


def chosen_method(name: str, among: Sequence[Method] | None = None) -> Method:
    """Return the method that a name, an alias or a class stands for; what is suggested is `among` some of them."""
    from gramian.errors import DataError
    from gramian.estimators.registry import find_method

    try:
        return find_method(name, among)
    except DataError as error:
        raise UsageError(error, " (gramian methods lists them)") from None


def built(method: Method, components: str | None, pairs: Iterable[str]) -> Any:
    """Return the estimator with its parameters, checked as far as that needs no data.

    Parameters
    ----------
    method : Method
    components : text of `-k`, if given
    pairs : texts of `--set`
    """
    from gramian.errors import DataError
    from gramian.parameters import check_parameters

    values = {**method.preset, **settings_of(pairs, method)}
    if components is not None:
        # Features to make, or columns to keep.
        name = next((name for name in ("n_components", "k") if name in method.parameters), None)
        if name is None:
            raise UsageError(f"method {method.name} takes no -k: it finds its number of features itself")
        if name in values:
            raise UsageError(f"-k and --set {name} are the same; keep one")
        values[name] = value_of(components)
    # The same command gives the same model, unless it asks for chance.
    if "random_state" in method.parameters:
        values.setdefault("random_state", 0)
    model = method.estimator(**values)
    try:
        check_parameters(model)
    except (DataError, TypeError) as error:
        raise UsageError(f"method {method.name}: ", error) from None
    return model
