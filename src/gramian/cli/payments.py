"""Card payments, generated: fifteen months of them, with habits, fraud, planted oddities and values never seen before.

Everybody lives in a city, banks near it and mostly pays near it. A merchant has a category, which says when people come,
how they pay and how much. Fraud prefers some merchants, the night, payments from afar and prepaid cards. In the last
three months a few rows are planted: combinations of common values that do not belong together, and merchants that
nobody has paid before.

Beside them stands what one would do without this package, for the demo to compare itself with: one-hot columns and plain
frequencies.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline, make_union
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

from gramian.arrays.types import Array

Codes = dict[str, npt.NDArray[Any]]
"""Column -> codes or numbers, one a row."""

HOMES = {
    "DE": ("EUR", ("Berlin", "Bremen", "Köln", "Leipzig", "München")),
    "FR": ("EUR", ("Lille", "Lyon", "Nantes", "Paris", "Toulouse")),
    "ES": ("EUR", ("Bilbao", "Madrid", "Málaga", "Sevilla", "Valencia")),
    "GB": ("GBP", ("Bristol", "Glasgow", "Leeds", "London", "York")),
    "US": ("USD", ("Austin", "Boston", "Chicago", "Denver", "Seattle")),
    "PL": ("PLN", ("Gdańsk", "Kraków", "Łódź", "Poznań", "Warszawa")),
    "JP": ("JPY", ("Kobe", "Kyoto", "Osaka", "Sapporo", "Tokyo")),
    "BR": ("BRL", ("Belém", "Curitiba", "Manaus", "Recife", "Santos")),
}
"""Country -> its money, its cities."""

CATEGORIES = {
    "grocery": (18, 3.2, False),
    "bakery": (9, 2.0, False),
    "fuel": (16, 3.8, False),
    "restaurant": (20, 3.5, False),
    "pharmacy": (14, 2.9, False),
    "clothing": (16, 4.0, True),
    "electronics": (17, 5.0, True),
    "travel": (13, 5.6, True),
    "hotel": (21, 5.3, False),
    "streaming": (20, 2.3, True),
    "games": (22, 2.9, True),
    "jewellery": (15, 5.5, False),
    "transport": (8, 1.8, False),
    "utilities": (10, 4.4, True),
    "donation": (12, 3.0, True),
    "cash": (13, 4.6, False),
}
"""Category -> the hour most people come, the logarithm of the usual amount, whether people pay online."""

ENTRIES = ("chip", "contactless", "online", "swipe", "phone order")
ENTRY_SHARES = ((0.45, 0.42, 0.02, 0.10, 0.01), (0.03, 0.02, 0.88, 0.01, 0.06))
DEVICES = ("terminal", "handset", "browser", "watch", "kiosk", "call centre")
DEVICE_SHARES = (
    (0.86, 0.00, 0.00, 0.00, 0.14, 0.00),
    (0.50, 0.36, 0.00, 0.12, 0.02, 0.00),
    (0.00, 0.45, 0.55, 0.00, 0.00, 0.00),
    (0.90, 0.00, 0.00, 0.00, 0.10, 0.00),
    (0.00, 0.05, 0.00, 0.00, 0.00, 0.95),
)
CARDS = ("debit", "credit", "prepaid", "business")
COLOURS = ("Amber", "Blue", "Copper", "Golden", "Green", "Grey", "Ivory", "Olive", "Pearl", "Red", "Rose", "Silver")
THINGS = ("Anchor", "Barn", "Bridge", "Castle", "Crown", "Falcon", "Garden", "Harbour", "Mill", "Oak", "Star", "Tower")

N_MERCHANTS, N_DAYS, N_BANKS = 300, 456, 3
"""Merchants in all; days from the first of January 2024; banks a country."""

TARGET, ROW = "fraud", "payment"


@dataclass(frozen=True)
class Payments:
    """Generated payments.

    Attributes
    ----------
    earlier, later : pyarrow.Table
        A year, and the three months after it.
    odd, new : boolean arrays
        Which rows of `later` were planted: odd combinations, and merchants never seen.
    """

    earlier: pa.Table
    later: pa.Table
    odd: npt.NDArray[np.bool_]
    new: npt.NDArray[np.bool_]


def payments(n_rows: int, seed: int) -> Payments:
    """Return generated payments, the same for the same seed.

    Parameters
    ----------
    n_rows : int
        Of both parts together.
    seed : int

    Examples
    --------
    >>> made = payments(1_000, seed=0)
    >>> made.earlier.num_rows, made.later.num_rows, bool(made.odd.any())
    (800, 200, True)
    """
    rng = np.random.default_rng(seed)
    codes, risk = _habits(n_rows, rng)
    fraud = rng.random(n_rows) < 1 / (1 + np.exp(-risk))
    n_earlier = n_rows - n_rows // 5
    odd, new = _plant(codes, n_earlier, rng)
    table = _table(codes, fraud, new, rng)
    return Payments(table.slice(0, n_earlier), table.slice(n_earlier), odd[n_earlier:], new[n_earlier:])


def _falling(n: int, power: float) -> npt.NDArray[np.float64]:
    """Return n shares that fall like a power of their rank."""
    weights = np.arange(1, n + 1) ** -power
    return np.asarray(weights / weights.sum())


def _drawn(shares: npt.ArrayLike, which: npt.NDArray[Any], rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """Return one draw per row, from the line of shares that the row has."""
    out = np.empty(len(which), dtype=np.int64)
    for line, weights in enumerate(np.asarray(shares, dtype=np.float64)):
        rows = np.flatnonzero(which == line)
        out[rows] = rng.choice(len(weights), len(rows), p=weights / weights.sum())
    return out


def _habits(n: int, rng: np.random.Generator) -> tuple[Codes, npt.NDArray[np.float64]]:
    """Return payments in the order of time, and the log-odds of fraud of each."""
    n_homes = len(HOMES)
    hours, sizes, online = (np.array(part) for part in zip(*CATEGORIES.values(), strict=True))
    category_of = rng.integers(len(CATEGORIES), size=N_MERCHANTS)
    country_of = rng.choice(n_homes, N_MERCHANTS, p=_falling(n_homes, 0.7))
    popularity = rng.permutation(_falling(N_MERCHANTS, 0.9))
    near = country_of == np.arange(n_homes)[:, None]

    city = rng.choice(5 * n_homes, n, p=np.outer(_falling(n_homes, 0.6), _falling(5, 0.8)).ravel())
    home = city // 5
    merchant = _drawn(popularity * np.where(near, 1.0, 0.02), home, rng)
    category, country = category_of[merchant], country_of[merchant]
    entry = _drawn(ENTRY_SHARES, online[category].astype(np.int64), rng)
    issuer = N_BANKS * home + rng.choice(N_BANKS, n, p=[0.55, 0.3, 0.15])
    card = _drawn(rng.dirichlet([6.0, 3.0, 0.7, 1.0], size=N_BANKS * n_homes), issuer, rng)
    hour = np.clip(np.round(hours[category] + rng.normal(0, 3.2, n)), 0, 23).astype(np.int64)
    size, gap = rng.normal(size=n), rng.exponential(22.0, n)
    codes = {
        "when": np.sort(rng.integers(0, N_DAYS, n)) * 86_400 + hour * 3_600 + rng.integers(0, 3_600, n),
        "merchant": merchant,
        "category": category,
        "country": country,
        "currency": country,
        "entry": entry,
        "device": _drawn(DEVICE_SHARES, entry, rng),
        "card": card,
        "issuer": issuer,
        "city": city,
        "log_amount": sizes[category] + 0.55 * size,
        "log_balance": rng.normal(7.4, 0.9, n),
        "log_gap": np.log1p(gap),
    }
    risk = (
        -4.4
        + rng.normal(0, 0.9, N_MERCHANTS)[merchant]
        + 1.6 * (home != country)
        + 1.3 * ((hour < 6) | (hour > 22))
        + np.array([0.0, -0.4, 0.8, 0.6, 1.2])[entry]
        + np.array([0.0, 0.2, 1.7, -0.5])[card]
        + 0.55 * size
        + 0.9 * np.exp(-gap / 3.0)
    )
    return codes, risk


def _plant(codes: Codes, n_earlier: int, rng: np.random.Generator) -> tuple[npt.NDArray, npt.NDArray]:
    """Plant odd combinations and new merchants among the later rows; return where."""
    n = len(codes["merchant"])
    n_odd, n_new = max(1, (n - n_earlier) // 400), max(1, (n - n_earlier) // 1_000)
    places = n_earlier + rng.choice(n - n_earlier, n_odd + n_new, replace=False)
    odd, new = np.zeros(n, dtype=bool), np.zeros(n, dtype=bool)
    odd[places[:n_odd]], new[places[n_odd:]] = True, True
    # Each value of an odd row is one that other rows have: only the combination is wrong. Money and banks are those of
    # another country, and the device is one that the entry never comes with.
    for column, n_codes in (("currency", len(HOMES)), ("issuer", N_BANKS * len(HOMES))):
        codes[column] = codes[column].copy()
        codes[column][odd] = (codes[column][odd] + n_codes // 2) % n_codes
    impossible = (np.asarray(DEVICE_SHARES) == 0).astype(np.float64)
    codes["device"][odd] = _drawn(impossible, codes["entry"][odd], rng)
    return odd, new


def _table(codes: Codes, fraud: npt.NDArray, new: npt.NDArray, rng: np.random.Generator) -> pa.Table:
    n = len(fraud)
    pairs = [f"{colour} {thing}" for colour in COLOURS for thing in THINGS]
    merchants = [*pairs, *(f"{name} {kind}" for name in pairs for kind in ("& Sons", "Online"))][:N_MERCHANTS]
    newcomers = [f"Newcomer {k + 1}" for k in range(int(new.sum()))]
    merchant = codes["merchant"].copy()
    merchant[new] = N_MERCHANTS + np.arange(len(newcomers))
    cities = [city for _, names in HOMES.values() for city in names]
    banks = [f"{country} bank {k + 1}" for country in HOMES for k in range(N_BANKS)]
    columns = {
        ROW: pa.array(np.arange(1, n + 1)),
        "when": pa.array(np.datetime64("2024-01-01", "s") + codes["when"]),
        "merchant": _labelled(merchant, [*merchants, *newcomers]),
        "category": _labelled(codes["category"], list(CATEGORIES)),
        "country": _labelled(codes["country"], list(HOMES)),
        "currency": _labelled(codes["currency"], [money for money, _ in HOMES.values()]),
        "entry": _labelled(codes["entry"], ENTRIES),
        "device": _labelled(codes["device"], DEVICES),
        "card": _labelled(codes["card"], CARDS),
        "issuer": _labelled(codes["issuer"], banks),
        "city": _labelled(codes["city"], cities, missing=rng.random(n) < 0.01),
        "log_amount": pa.array(codes["log_amount"].round(2)),
        "log_balance": pa.array(codes["log_balance"].round(2), mask=rng.random(n) < 0.02),
        "log_gap": pa.array(codes["log_gap"].round(2)),
        TARGET: pa.array(fraud.astype(np.int64)),
    }
    return pa.table(columns)


def _labelled(codes: npt.NDArray, labels: Any, missing: npt.NDArray | None = None) -> pa.Array:
    column = pa.DictionaryArray.from_arrays(pa.array(codes, mask=missing), pa.array(labels))
    return column.dictionary_decode()


# Baselines


def plain_columns(table: pa.Table, exclude: list[str]) -> tuple[list[pa.ChunkedArray], Array]:
    """Return categories (dates as day of week, month and hour), and numbers with the mean where one is missing."""
    categories: list[pa.ChunkedArray] = []
    numbers: list[Array] = []
    for name in table.column_names:
        column = table[name]
        if name in exclude:
            continue
        if pa.types.is_timestamp(column.type):
            categories += [pc.day_of_week(column), pc.month(column), pc.hour(column)]
        elif pa.types.is_floating(column.type):
            values = column.to_numpy()
            numbers.append(np.where(np.isnan(values), np.nanmean(values), values))
        else:
            categories.append(column)
    return categories, np.column_stack(numbers)


def one_hot_logistic(exclude: list[str]) -> Pipeline:
    """Return logistic regression on one-hot columns and standardised numbers of tables, as most people would begin."""

    def categories(table: pa.Table) -> npt.NDArray[Any]:
        return np.column_stack([column.to_numpy().astype(object) for column in plain_columns(table, exclude)[0]])

    def numbers(table: pa.Table) -> Array:
        return plain_columns(table, exclude)[1]

    return make_pipeline(
        make_union(
            make_pipeline(FunctionTransformer(categories), OneHotEncoder(handle_unknown="ignore")),
            make_pipeline(FunctionTransformer(numbers), StandardScaler()),
        ),
        LogisticRegression(max_iter=200),
    )


def rarity(known: pa.Table, table: pa.Table, exclude: list[str]) -> Array:
    """Return how rare the values of each row are: the sum over columns of minus the logarithm of a value's share.

    Shares are of a table that is known; a value never seen in it counts as seen once.
    """
    total = np.zeros(table.num_rows)
    columns = zip(plain_columns(known, exclude)[0], plain_columns(table, exclude)[0], strict=True)
    for before, column in columns:
        counted = pc.value_counts(before)
        shares = np.append(counted.field("counts").to_numpy(), 1) / known.num_rows
        at = pc.fill_null(pc.index_in(column, counted.field("values")), len(shares) - 1)
        total -= np.log(shares[at.to_numpy()])
    return total
