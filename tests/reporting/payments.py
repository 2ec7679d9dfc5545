"""Card payments: categories of many sizes, dates, numbers with gaps, a target, and rows that do not belong."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

CITIES = {
    "Berlin": "DE", "Hamburg": "DE", "Munich": "DE", "Vienna": "AT", "Graz": "AT", "Paris": "FR", "Lyon": "FR",
    "Oslo": "NO", "Bergen": "NO", "Madrid": "ES", "Seville": "ES", "Rome": "IT", "Milan": "IT", "London": "GB",
    "Leeds": "GB", "New York": "US", "Boston": "US", "Tokyo": "JP",
}  # fmt: skip
CURRENCY = {"GB": "GBP", "US": "USD", "JP": "JPY", "NO": "NOK"}
KINDS = ["groceries", "fuel", "restaurant", "travel", "electronics", "clothing", "gambling", "pharmacy", "streaming"]
ODD = {"city": "Bergen", "country": "JP", "currency": "GBP", "kind": "gambling", "channel": "chip"}
"""A payment of cities and countries that do not go together."""


def payments(n: int = 6000, *, seed: int = 0, n_odd: int = 12) -> pa.Table:
    """Return `n` payments, the first `n_odd` rows at seeded places odd; the column `odd` says which."""
    rng = np.random.default_rng(seed)
    cities = np.array(list(CITIES))
    city = cities[rng.choice(len(cities), n, p=_falling(len(cities)))]
    country = np.array([CITIES[c] for c in city])
    currency = np.array([CURRENCY.get(c, "EUR") for c in country])
    at = rng.choice(len(KINDS), n, p=_falling(len(KINDS)))
    kind = np.array(KINDS)[at]
    merchant = np.array([f"{k}-{m:02d}" for k, m in zip(kind, rng.integers(0, 14, n), strict=True)])
    channel = np.where(
        rng.random(n) < 0.35, "online", rng.choice(["chip", "contactless", "swipe"], n, p=[0.4, 0.5, 0.1])
    )
    card = rng.choice(["debit", "credit", "prepaid"], n, p=[0.6, 0.33, 0.07])
    start = np.datetime64("2025-01-01T00:00:00")
    hour = np.clip(rng.normal(14, 4.5, n), 0, 23).astype(int)
    when = start + (rng.integers(0, 365, n) * 24 + hour).astype("timedelta64[h]") + rng.integers(0, 3600, n)
    amount = np.exp(rng.normal(2.6 + 0.28 * at, 0.8, n))
    balance = rng.gamma(2.0, 900.0, n) + 3 * amount
    age = rng.integers(18, 88, n).astype(float)
    risk = -4.6 + 1.7 * (channel == "online") + 1.6 * (kind == "gambling") + 1.3 * (card == "prepaid")
    risk += 0.9 * (kind == "electronics") + 0.5 * np.log(amount / 20) + 0.8 * (hour < 6)
    fraud = rng.random(n) < 1 / (1 + np.exp(-risk))
    odd = np.zeros(n, dtype=bool)
    odd[rng.choice(n, n_odd, replace=False)] = True
    columns = {"city": city, "country": country, "currency": currency, "kind": kind, "channel": channel}
    columns = {name: np.where(odd, ODD[name], values) for name, values in columns.items()}
    return pa.table(
        {
            **{name: pa.array(values) for name, values in columns.items()},
            "merchant": pa.array(merchant),
            "card": pa.array(card),
            "loyalty": pa.array(rng.choice(["gold", "silver", "basic"], n), mask=rng.random(n) < 0.12),
            "instalments": pa.array(rng.choice([1, 1, 1, 2, 3, 6, 12], n)),
            "amount": pa.array(amount.round(2)),
            "balance": pa.array(balance.round(2), mask=rng.random(n) < 0.06),
            "age": pa.array(age, mask=rng.random(n) < 0.02),
            "fraud": pa.array(np.where(fraud, "yes", "no")),
            "odd": pa.array(odd),
            "when": pa.array(when.astype("datetime64[s]")),
        }
    )


def _falling(k: int) -> np.ndarray:
    share = 1.0 / np.arange(1, k + 1) ** 0.8
    return share / share.sum()
