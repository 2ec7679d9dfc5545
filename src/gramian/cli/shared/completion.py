"""What the shell offers after a tab: methods, their parameters, and the columns of the data named so far."""

from __future__ import annotations

from typing import Any

import typer


def methods(incomplete: str) -> list[str]:
    """Return methods that begin like this; other names they have, where no method does."""
    from gramian.estimators.io.registry import METHODS

    names = [method.name for method in METHODS if method.name.startswith(incomplete)]
    return names or [alias for method in METHODS for alias in method.aliases if alias.startswith(incomplete)]


def parameters(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return `name=` for the parameters of the method named so far."""
    from gramian.errors import DataError
    from gramian.estimators.io.registry import find_method

    try:
        known = find_method(ctx.params.get("method") or "").parameters
    except DataError:
        return []
    return [f"{name}=" for name in known if name.startswith(incomplete)]


def columns(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return columns of the data named so far that begin like this."""
    try:
        known = _columns_of(_paths(ctx))
    except Exception:
        # Half a command line names half a file: there is nothing to offer, and nobody to tell.
        return []
    return [name for name in known if name.startswith(incomplete)]


def _paths(ctx: typer.Context) -> list[str]:
    """Return the paths typed so far; while the last option lacks its value they are not yet sorted into arguments."""
    paths: list[str] = []
    given: list[Any] = [ctx.params.get(name) for name in ("source", "model", "data")]
    for each in [*given, ctx.args]:
        paths += [each] if isinstance(each, str) else [str(path) for path in each or ()]
    return [path for path in paths if not path.startswith("-")]


def _columns_of(paths: list[str]) -> list[str]:
    from gramian.cli.shared.sources import column_names, kind_of

    data = [path for path in paths if kind_of(path) == "data"]
    return column_names(data or paths[:1])
