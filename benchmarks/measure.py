"""Time and peak memory: the best of several calls, interleaved pairs, and a call alone in a child process.

Machines drift while a benchmark runs. `interleaved` therefore calls two contestants in turn and takes the
median of the ratios of neighbouring calls, which one slow minute hardly moves.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from statistics import median

Call = Callable[[], object]


@dataclass(frozen=True)
class Pair:
    """The best seconds of two contestants and the median over neighbouring calls of first / second."""

    first: float
    second: float
    ratio: float


@dataclass(frozen=True)
class Alone:
    """Seconds, peak bytes of the whole process, and the JSON value of one call in a process of its own.

    `bare` is the peak before the call: the interpreter, what was imported, and whatever making the contestant took.
    """

    seconds: float
    peak: int
    value: object
    bare: int = 0


def seconds_of(call: Call) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def best(call: Call, repeat: int) -> float:
    """Return the least seconds of `repeat` calls, after one that is not counted."""
    call()
    return min(seconds_of(call) for _ in range(repeat))


def cpu_seconds(call: Call, repeat: int) -> float:
    """Return the least processor time of `repeat` calls, all threads together, after one that is not counted.

    Beside busy neighbours it says more than the time on the clock.
    """

    def one() -> float:
        start = time.process_time()
        call()
        return time.process_time() - start

    call()
    return min(one() for _ in range(repeat))


def interleaved(first: Call, second: Call, repeat: int) -> Pair:
    """Time two contestants in turn, `repeat` times each, after one uncounted call of each."""
    first()
    second()
    times = [(seconds_of(first), seconds_of(second)) for _ in range(repeat)]
    return Pair(min(a for a, _ in times), min(b for _, b in times), median(a / b for a, b in times))


class Neighbours:
    """How many cores' worth of time other processes have taken since this was made; 0 where that is unknown.

    A busy neighbour does not slow both sides alike: threads that wait for each other at every step, as in BLAS and
    OpenMP, suffer several times more than independent ones. A ratio measured beside one is worth little.
    """

    def __init__(self) -> None:
        self._start = self._clock()

    def cores(self) -> float:
        """Return the mean number of cores that others, the host of a virtual machine included, have used."""
        (wall, others), (now, others_now) = self._start, self._clock()
        return max(0.0, others_now - others) / max(now - wall, 1e-9)

    @staticmethod
    def _clock() -> tuple[float, float]:
        stat = Path("/proc/stat")
        if not stat.exists():
            return time.perf_counter(), 0.0
        user, nice, system, _idle, _wait, irq, soft, steal = map(int, stat.read_text().split()[1:9])
        busy = (user + nice + system + irq + soft + steal) / os.sysconf("SC_CLK_TCK")
        return time.perf_counter(), busy - sum(os.times()[:4])


def peak_bytes() -> int:
    """Return the peak resident memory of this process.

    Linux hands `ru_maxrss` on from the parent when a process is started, so a small child of a large parent
    reports the parent's peak. `VmHWM` starts afresh with the program.
    """
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def alone(maker: str, *arguments: object, env: Mapping[str, str] | None = None, limit: float | None = None) -> Alone:
    """Make and run a contestant, ``"module:function"`` with arguments that JSON can hold, in a child process.

    The function returns the call to be timed; making it (loading data, importing a peer) is not timed, but
    the memory that it takes counts towards the peak. A process that takes more than `limit` seconds is ended, and
    `subprocess.TimeoutExpired` raised.
    """
    output = child([sys.executable, "-m", "benchmarks.measure", maker, json.dumps(arguments)], env, limit)
    return Alone(**json.loads(output.splitlines()[-1]))


def process_seconds(code: str, env: Mapping[str, str] | None = None) -> float:
    """Return the seconds that a fresh interpreter takes for some code, its own start included."""
    return seconds_of(lambda: child([sys.executable, "-c", code], env))


def child(command: list[str], env: Mapping[str, str] | None, limit: float | None = None) -> str:
    around = {**os.environ, **(env or {})}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=around, timeout=limit)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command[1:])} failed:\n{done.stderr.strip()}")
    return done.stdout


def main(maker: str, arguments: str) -> None:
    module, function = maker.split(":")
    call = getattr(import_module(module), function)(*json.loads(arguments))
    bare, start = peak_bytes(), time.perf_counter()
    value = call()
    seconds = time.perf_counter() - start
    plain = value if isinstance(value, int | float | str | None) else None
    print(json.dumps({"seconds": seconds, "peak": peak_bytes(), "value": plain, "bare": bare}))


if __name__ == "__main__":
    main(*sys.argv[1:])
