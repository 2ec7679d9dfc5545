"""`gramian merge`: moments of several passes, as if all had been one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from gramian.cli.shared.options import Json, Missing, MomentsOut

if TYPE_CHECKING:
    from gramian.moments.value import Moments

EXAMPLES = ("gramian merge monday.moments tuesday.moments -o week.moments",)


def merge(
    files: Annotated[list[str], typer.Argument(metavar="MOMENTS", help="Moments files.")],
    output: MomentsOut,
    missing: Missing = "raise",
    as_json: Json = False,
) -> None:
    """Add moments up, as if their data had been collected together.

    Levels are matched by label. Counts are exact; numbers agree to rounding. A file that is named twice is refused.
    """
    import gramian as gm
    from gramian.cli.shared.describing import deliver_moments
    from gramian.cli.shared.outputs import check_output
    from gramian.cli.shared.sources import load_moments, refuse_repeated
    from gramian.errors import DataError

    check_output(output)
    refuse_repeated(files)
    parts = [load_moments(path) for path in files]
    for path, part in zip(files[1:], parts[1:], strict=True):
        try:
            _require_alike(parts[0], part, missing)
        except DataError as error:
            raise DataError(f"{files[0]} (left) and {path} (right): ", error) from None
    moments = gm.merge(parts, missing=missing)
    deliver_moments(moments, output, as_json=as_json)


def _require_alike(first: Moments, other: Moments, missing: str) -> None:
    """Raise where two files do not add up, before anything is added: the message can still name them."""
    from gramian.design.schema import reconcile
    from gramian.moments.algebra.missing_columns import agreed, filled

    one, two = filled([first, other]) if missing == "fill" else agreed([first, other])
    if one.columns and two.columns:
        reconcile(one.schema, two.schema)
