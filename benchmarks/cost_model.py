"""The cost model of docs/scale.md: its constants measured, what it predicts compared, and what it says of a cluster.

A pass over N rows in P partitions on M machines of c cores, whose moments take S bytes, takes

    max(N b / (M B), N / (M c) * t_row)  +  P / (M c) * t_send(S)  +  additions in a row * (t_add(S) + S / B)

where a row has b bytes in its files and a machine's network carries B bytes a second. It moves P S bytes between machines and
S to whoever asked. `t_row` is reading, encoding and counting of one row by one core, `t_send` writing the moments of a
partition as bytes, `t_add` opening two moments from bytes, adding them and writing the sum.
All three are processor time of one core, which busy neighbours change least.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache

import numpy as np
import pyarrow as pa

from benchmarks import cases, measure, synthetic
from benchmarks.report import Row

CLUSTER_ROWS, MACHINES, CORES = 10**12, 1000, 16
PARTITION_ROWS = 10**7
NETWORK = 1.25e9
"""Bytes a second that a machine of the cluster sends: 10 Gbit/s."""
FAN_IN = 32


@cache
def _seconds(path: str, times: int) -> float:
    import gramian as gm

    return measure.cpu_seconds(lambda: gm.collect([path] * times, n_jobs=1, progress=False), 2)


def predicted(run: cases.Run) -> Iterator[Row]:
    """Time of rows and of sums: what the cost model says from small runs against larger ones; a cluster."""
    import gramian as gm
    from gramian.moments.file import from_bytes, to_bytes

    n = run.rows(1_000_000)
    path = str(synthetic.zipf_file(n))
    one, three = _seconds(path, 1), _seconds(path, 3)
    t_row = (three - one) / (2 * n)
    told, took = one + 7 * n * t_row, _seconds(path, 8)
    yield Row("h", f"{8 * n:,} rows, one thread", "told from 1 and 3 times the file", took / told, at_most=1.2,
              ours_seconds=took, peer_seconds=told, floor=f"{1e9 * t_row:.0f} ns a row")  # fmt: skip

    moments = gm.collect(path)
    data = to_bytes(moments)
    t_send = measure.cpu_seconds(lambda: to_bytes(moments), 5)
    t_add = measure.cpu_seconds(lambda: to_bytes(from_bytes(data) + from_bytes(data)), 5)
    told, took = 15 * t_add, measure.cpu_seconds(lambda: _sum_one_by_one([data] * 16), 3)
    yield Row("h", f"16 moments of {len(data) / 1e6:.1f} MB added up", "told from adding two", took / told, at_most=1.5,
              ours_seconds=took, peer_seconds=told, floor=f"{1e3 * t_add:.0f} ms an addition")  # fmt: skip

    small, large = _per_cell(500), _per_cell(2000)
    told, took = 16 * small[1], large[1]
    yield Row("h", "an addition, 2,000 levels", "16 times that of 500", took / told, at_most=1.5,
              ours_seconds=took, peer_seconds=told, floor=f"{1e9 * took / large[0]:.1f} ns a byte")  # fmt: skip

    n_parts = CLUSTER_ROWS // PARTITION_ROWS
    read = CLUSTER_ROWS / MACHINES * os.path.getsize(path) / n / NETWORK
    rows = CLUSTER_ROWS / (MACHINES * CORES) * t_row + n_parts / (MACHINES * CORES) * t_send
    yield Row("h", "10^12 rows on 1,000 machines: files", "10 Gbit/s each", read, unit="s",
              floor=f"{os.path.getsize(path) / n:.0f} bytes a row")  # fmt: skip
    in_a_row = 2 * FAN_IN + n_parts / FAN_IN**2
    sums = in_a_row * (t_add + len(data) / NETWORK)
    yield Row("h", "10^12 rows on 1,000 machines: rows", f"{CORES} cores each", rows, unit="s",
              floor=f"{n_parts:,} partitions")  # fmt: skip
    yield Row("h", "10^12 rows on 1,000 machines: sums", "three levels of 32", sums, unit="s",
              floor=f"{n_parts * len(data) / 1e9:.0f} GB moved in all")  # fmt: skip


def _sum_one_by_one(parts: list[bytes]) -> bytes:
    from gramian.moments.file import from_bytes, to_bytes

    total = parts[0]
    for part in parts[1:]:
        total = to_bytes(from_bytes(total) + from_bytes(part))
    return total


def _per_cell(n_levels: int) -> tuple[int, float]:
    """Return the bytes of the moments of four columns with so many levels together, and the seconds of an addition."""
    import gramian as gm
    from gramian.moments.file import from_bytes, to_bytes

    rng = np.random.default_rng(n_levels)
    each = n_levels // 4
    columns = {f"c{k}": pa.array([f"l{v}" for v in rng.permutation(100 * each) % each]) for k in range(4)}
    data = to_bytes(gm.collect(pa.table(columns)))
    return len(data), measure.cpu_seconds(lambda: to_bytes(from_bytes(data) + from_bytes(data)), 5)
