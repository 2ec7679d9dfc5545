"""`gramian subtract`: moments as if some of the rows had never been seen."""

from __future__ import annotations

from typing import Annotated

import typer

from gramian.cli.shared.options import Json, MomentsOut

EXAMPLES = ("gramian subtract week.moments monday.moments -o rest.moments",)


def subtract(
    whole: Annotated[str, typer.Argument(metavar="WHOLE", help="A moments file.")],
    part: Annotated[str, typer.Argument(metavar="PART", help="A moments file of some of its rows.")],
    output: MomentsOut,
    as_json: Json = False,
) -> None:
    """Take moments away, as if PART had never been in WHOLE."""
    from gramian.cli.shared.describing import deliver_moments
    from gramian.cli.shared.outputs import check_output
    from gramian.cli.shared.sources import load_moments
    from gramian.errors import DataError

    check_output(output)
    total, less = load_moments(whole), load_moments(part)
    try:
        moments = total - less
    except DataError as error:
        raise DataError(f"{part} cannot be taken from {whole}: ", error) from None
    deliver_moments(moments, output, as_json=as_json)
