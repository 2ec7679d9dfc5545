"""`python -m tests.fuzz --cases 100000 --workers 2`: counts by class, and status 1 where anything failed."""

from __future__ import annotations

import argparse
import signal
import sys
import time

from .base import NAMES
from .driver import run


def main() -> int:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--cases", type=int, default=1_000_000_000, help="how many at most")
    parser.add_argument("--seconds", type=float, help="begin no more after this time")
    parser.add_argument("--workers", type=int, default=2, help="children at a time")
    parser.add_argument("--first", type=int, help="the first seed; by default one of the clock")
    parser.add_argument("--only", action="append", default=[], choices=NAMES, help="repeatable")
    parser.add_argument("--limit", type=float, default=30.0, help="seconds that a case may take")
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    first = given.first if given.first is not None else time.time_ns() % 10**12
    began = time.monotonic()
    tally = run(
        first=first,
        cases=given.cases,
        workers=given.workers,
        seconds=given.seconds,
        limit=given.limit,
        chosen=tuple(given.only),
    )
    print(tally.table())
    print(f"{tally.cases:,} cases from seed {first} in {time.monotonic() - began:.0f} s; {len(tally.failures)} failed")
    seen: dict[tuple[str, str, str], int] = {}
    for note in tally.failures:
        kind = (note["class"], note["how"], note["where"][-3].strip() if len(note["where"]) > 2 else "")
        seen[kind] = seen.get(kind, 0) + 1
        if seen[kind] <= 2:
            only = " ".join(f"--only {name!r}" for name in given.only)
            print(f"\n{note['class']}, {note['how']}: {note['words']}")
            print(f"  again: python -m tests.fuzz --first {note['seed']} --cases 1 {only}".rstrip())
            print("\n".join(f"  | {line}" for line in note["where"]))
    return 1 if tally.failures else 0


if __name__ == "__main__":
    sys.exit(main())
