"""Progress: silent while work is short, on standard error, and ended where the work fails."""

from __future__ import annotations

import pytest

from gramian import progress
from gramian.distances.metrics.pairwise import pairwise_distances
from gramian.progress import Progress

WORDS = ["Smith", "Smyth", "Schmidt", "Jones"] * 20


def test_short_work_and_unwanted_progress_stay_silent(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with Progress(True, 10) as shown:
        shown.advance(10)
    monkeypatch.setattr(progress, "SHOW_AFTER", 0.0)
    for wanted in (False, None):  # standard error is no terminal here
        with Progress(wanted, 10) as shown:
            shown.advance(10)
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("total", [5_000_000, None])
def test_line_says_what_how_many_and_how_fast(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, total: int | None
) -> None:
    monkeypatch.setattr(progress, "SHOW_AFTER", 0.0)
    with Progress(True, total, "distances", "pairs") as shown:
        shown.advance(4_000_000)
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("distances")
    for part in ("4,000,000", "pairs", "pairs/s", *(["of 5,000,000"] if total else [])):
        assert part in " ".join(err.split())


def test_every_pair_is_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    counted = []
    advance = Progress.advance
    monkeypatch.setattr(Progress, "advance", lambda self, count: counted.append(count) or advance(self, count))
    pairwise_distances(WORDS, metric="levenshtein")
    assert sum(counted) == 80 * 81 / 2
    counted.clear()
    pairwise_distances(WORDS[:7], WORDS, metric="levenshtein")
    assert sum(counted) == 7 * 80


def test_line_is_ended_where_the_work_fails(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "SHOW_AFTER", 0.0)
    calls = []

    def gap(a: str, b: str) -> float:
        calls.append(a)
        if len(calls) > 1500:
            raise RuntimeError("the metric gave up")
        return float(a != b)

    with pytest.raises(RuntimeError, match="gave up"):
        pairwise_distances(WORDS, metric=gap, progress=True)
    out, err = capsys.readouterr()
    assert out == ""
    assert "pairs" in err
    assert err.endswith("\n")
