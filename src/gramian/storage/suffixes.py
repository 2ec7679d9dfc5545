"""The suffixes of table files, in one list: what each is read as, and which can be written.

Importing this module imports nothing else, so that a wrong suffix can be refused before anything heavy is loaded.
"""

from __future__ import annotations

READ_AS = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".tsv": "csv",
    ".arrow": "ipc",
    ".arrows": "ipc",
    ".feather": "ipc",
    ".ipc": "ipc",
    ".jsonl": "json",
    ".ndjson": "json",
    ".json": "json",
    ".xlsx": "excel",
    ".xlsm": "excel",
}
"""The format that a suffix stands for."""

COMPRESSED = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}
"""What may follow the suffix of a text format."""

WRITTEN_AS = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".csv.gz": "csv",
    ".arrow": "ipc",
    ".feather": "ipc",
    ".ipc": "ipc",
}
"""The format that a table is written in."""


def written_as(path: str) -> str | None:
    """Return the format that a file of this name is written in, None where it names none.

    Examples
    --------
    >>> written_as("scores.CSV.gz"), written_as("scores.xlsx")
    ('csv', None)
    """
    return next((kind for suffix, kind in WRITTEN_AS.items() if path.lower().endswith(suffix)), None)
