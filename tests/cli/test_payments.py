"""Card payments: the same seed gives the same, and what is planted is what it is said to be."""

from __future__ import annotations

import numpy as np

import gramian as gm
from gramian.cli.payments import payments


def test_the_same_seed_gives_the_same_payments():
    a, b, c = (payments(3_000, seed) for seed in (1, 1, 2))
    assert a.earlier.equals(b.earlier)
    assert a.later.equals(b.later)
    assert not a.earlier.equals(c.earlier)


def test_planted_rows_are_what_they_are_said_to_be():
    made = payments(50_000, seed=0)
    moments = gm.collect(made.earlier)
    known = set(moments.levels("merchant"))
    new = np.array([name not in known for name in made.later["merchant"].to_pylist()])
    assert (new == made.new).all()
    pairs = {(a, b) for a, b in zip(made.earlier["entry"].to_pylist(), made.earlier["device"].to_pylist(), strict=True)}
    odd = made.later.filter(made.odd)
    assert not pairs & set(zip(odd["entry"].to_pylist(), odd["device"].to_pylist(), strict=True))
    # Every value of an odd row is one the year before had often: it is the company that is odd.
    for name in ("entry", "device", "currency", "issuer"):
        counts = dict(zip(moments.levels(name), moments.counts(name), strict=True))
        assert min(counts[value] for value in odd[name].to_pylist()) > 50
