"""What the pool says: means over sources with their standard errors, by group, and every source on which we are behind."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.detectors import OURS
from benchmarks.pool import GROUPS, SOLVED, ProblemMeans, Sources, group, mean_and_error, solvable, source_means
from benchmarks.report import Row

LEAST = 5e-4
"""Differences below this are ties: the third decimal is what tables show."""


def show(problems: ProblemMeans, seconds: dict[str, float]) -> None:
    """Print the means, the sources one by one, and the losses."""
    detectors = list(dict.fromkeys(d for found in problems.values() for d in found))
    sources = source_means(problems)
    _overview(sources, detectors, seconds, f"all {len(problems)} problems of {len(sources)} sources")
    some = solvable(problems)
    dropped = sorted(name for source, name in problems if (source, name) not in some)
    if dropped:
        kept = source_means({key: found for key, found in problems.items() if key in some})
        _overview(kept, detectors, {}, f"the {len(some)} problems on which some detector reaches an AUC of {SOLVED}")
        print(f"left out there: {', '.join(dropped)}")
    for measure, which in (("AUC", 0), ("average precision", 1)):
        print(f"\n{measure + ' by source':22}" + "".join(f"{d:>15}" for d in detectors))
        for one in GROUPS:
            for source in sorted(s for s in sources if group(s) == one):
                found = sources[source]
                best = max(found[d][which] for d in detectors)
                cells = [f"{found[d][which]:.3f}" + ("*" if found[d][which] > best - LEAST else " ") for d in detectors]
                print(f"  {source:20}" + "".join(f"{c:>15}" for c in cells))
    _losses(sources, detectors)


def _overview(sources: Sources, detectors: list[str], seconds: dict[str, float], title: str) -> None:
    print(f"\n{title}: AUC / average precision, mean over sources (standard error)")
    sizes = [sum(group(s) == one for s in sources) for one in GROUPS]
    heads = [f"{one} ({size})" for one, size in zip(GROUPS, sizes, strict=True) if size]
    print(f"  {'':15}{'all':>29}" + "".join(f"{h:>17}" for h in heads) + f"{'seconds':>10}")
    for d in detectors:
        cells = []
        for chosen in [set(sources), *({s for s in sources if group(s) == one} for one in GROUPS)]:
            if chosen:
                (auc, e_auc), (ap, e_ap) = (mean_and_error([sources[s][d][i] for s in sorted(chosen)]) for i in (0, 1))
                cells.append((f"{auc:.3f} ({e_auc:.3f})", f"{ap:.3f} ({e_ap:.3f})", f"{auc:.3f} / {ap:.3f}"))
        spent = f"{seconds[d]:10.1f}" if d in seconds else ""
        print(f"  {d:15}{cells[0][0] + ' / ' + cells[0][1]:>29}" + "".join(f"{c[2]:>17}" for c in cells[1:]) + spent)


def _losses(sources: Sources, detectors: list[str]) -> None:
    for mine in [d for d in OURS if d in detectors]:
        print(f"\nahead of {mine} on a source, by more than {LEAST}:")
        for d in (d for d in detectors if d != mine):
            for measure, which in (("AUC", 0), ("AP", 1)):
                lost = [
                    (f[d][which] - f[mine][which], s)
                    for s, f in sources.items()
                    if f[d][which] > f[mine][which] + LEAST
                ]
                said = ", ".join(f"{s} {gap:+.3f}" for gap, s in sorted(lost, reverse=True))
                print(f"  {d:15} {measure:3} {len(lost):2} of {len(sources)}: {said or 'none'}")


def verdicts(problems: ProblemMeans) -> Iterator[Row]:
    """Yield our mean AUC and AP, then their gain over each other detector: the mean difference over sources, with its error."""
    sources = source_means(problems)
    detectors = list(dict.fromkeys(d for found in problems.values() for d in found))
    if "trees" not in detectors:
        return
    for measure, which in (("AUC", 0), ("AP", 1)):
        for d in (d for d in detectors if d != "trees"):
            gains = [f["trees"][which] - f[d][which] for f in sources.values()]
            gain, error = mean_and_error(gains)
            wins = sum(g > 0 for g in gains)
            note = f"standard error {error:.3f}, ahead on {wins} of {len(gains)} sources"
            yield Row("a", f"trees: mean {measure} above", d, gain, unit="", at_least=0.0, floor=note)
