"""`gramian merge`: moments of several passes, as if all had been one."""

from __future__ import annotations

from typing import Annotated

import typer

from gramian.cli.shared.options import Json, MomentsOut

EXAMPLES = ("gramian merge monday.moments tuesday.moments -o week.moments",)


def merge(
    files: Annotated[list[str], typer.Argument(metavar="MOMENTS", help="Moments files.")],
    output: MomentsOut,
    as_json: Json = False,
) -> None:
    """Add moments up, as if their data had been collected together.

    Levels are matched by label. Counts are exact; numbers agree to rounding.
    """
    import gramian as gm
    from gramian.cli.shared.describing import deliver_moments
    from gramian.cli.shared.outputs import check_output
    from gramian.cli.shared.sources import load_moments
    from gramian.design.schema import reconcile
    from gramian.errors import DataError

    check_output(output)
    parts = [load_moments(path) for path in files]
    for path, part in zip(files, parts, strict=True):
        try:
            reconcile(parts[0].schema, part.schema)
        except DataError as error:
            raise DataError(f"{files[0]} (left) and {path} (right): ", error) from None
    moments = gm.merge(parts)
    deliver_moments(moments, output, as_json=as_json)
