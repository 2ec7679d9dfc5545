"""Arguments and options that several commands share, so that they read and complete alike everywhere."""

from __future__ import annotations

from typing import Annotated

import typer

from gramian.cli.shared.completion import columns, methods, parameters

Data = Annotated[
    list[str],
    typer.Argument(metavar="DATA", help="Parquet, CSV, .xlsx, Arrow or JSON-lines files, folders or quoted patterns."),
]
Model = Annotated[str, typer.Argument(metavar="MODEL", help="A file written by gramian fit.")]
MomentsOut = Annotated[str, typer.Option("--output", "-o", metavar="FILE", help="The moments file to write.")]
TableOut = Annotated[
    str, typer.Option("--output", "-o", metavar="FILE", help="The file to write: .parquet, .csv, .csv.gz or .arrow.")
]
Missing = Annotated[
    str,
    typer.Option("--missing", metavar="raise|fill", help="fill: a column that a file lacks is missing values there."),
]
Json = Annotated[bool, typer.Option("--json", help="Print machine-readable JSON instead.")]
Method = Annotated[
    str, typer.Option("--method", "-m", metavar="NAME", help="See gramian methods.", autocompletion=methods)
]
Target = Annotated[
    str | None, typer.Option("--target", metavar="COL", help="The column to predict.", autocompletion=columns)
]
Keep = Annotated[
    list[str] | None,
    typer.Option("--keep", metavar="COL", help="Copy a column through. Repeatable.", autocompletion=columns),
]
Exclude = Annotated[
    list[str] | None,
    typer.Option("--exclude", metavar="COL", help="Leave a column out. Repeatable.", autocompletion=columns),
]
Categorical = Annotated[
    list[str] | None,
    typer.Option(
        "--categorical", metavar="COL", help="Read a column as categories. Repeatable.", autocompletion=columns
    ),
]
Numeric = Annotated[
    list[str] | None,
    typer.Option("--numeric", metavar="COL", help="Read a column as numbers. Repeatable.", autocompletion=columns),
]
Weights = Annotated[
    str | None,
    typer.Option("--weights", metavar="COL", help="A column that says how often a row counts.", autocompletion=columns),
]
Column = Annotated[
    str | None,
    typer.Option(
        "--column", metavar="COL", help="For methods of distances: the column of objects.", autocompletion=columns
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="Set a parameter of the method (gramian methods NAME lists them). Repeatable.",
        autocompletion=parameters,
    ),
]
