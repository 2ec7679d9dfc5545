"""What the sections of a report are made from: moments, fitted models by role, and rows.

A report on models shows these models. A report on moments or on a table alone fits, from the same moments, what can be
fitted: principal components, the density embedding where there are rows to judge, and with a target the Mahalanobis
features and, for classes, Fisher's axes. Principal components are added to any report that has moments, for its scree. Where
columns have so many levels that this would take long, rare levels are pooled first, exactly.

Rows are read without reading the whole of a source. Of a small one every row is taken; of large data in memory, rows at seeded
positions; of large Parquet files, chunks of a few row groups, seeded too; of any other source, whose rows cannot be reached
without those before them, the first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from gramian.arrays.threads import cached_property
from gramian.engines.collect import collect
from gramian.engines.local import LocalEngine
from gramian.errors import DataError
from gramian.estimators.cross_fitting import take_rows
from gramian.estimators.density import DensityEmbedding
from gramian.estimators.fisher import FisherDiscriminant
from gramian.estimators.mahalanobis import MahalanobisFeatures
from gramian.estimators.pca import PCA
from gramian.estimators.spine.distance_estimator import DistanceTransformer
from gramian.estimators.spine.outputs import outputs_of
from gramian.maps.projection import Design
from gramian.moments.advice import identifiers, say_set_aside
from gramian.moments.covariance import design_sizes
from gramian.moments.value import Moments
from gramian.reporting.groups import Groups
from gramian.reporting.request import Request
from gramian.reporting.values import text
from gramian.tables import ArrayTable, ArrowTable, open_table
from gramian.tables.base import decoded, decoded_schema, typed
from gramian.tables.files.parquet import ParquetTable, sample_row_groups
from gramian.tables.schemas import subset

READ_ROWS = 262_144
"""Rows looked at: enough to meet what one row in ten thousand shows."""
READ_CELLS = 2**23
"""Rows times columns looked at."""
STRETCHES = 8
"""Row groups of a Parquet source that are read from."""


@dataclass(frozen=True, eq=False)
class Sample:
    """Rows of a source.

    Attributes
    ----------
    table : pyarrow.Table
        Without dictionaries.
    positions : (n,) array
        Where the rows stand in the source.
    n_rows : int or None
        Rows of the source, where that is known.
    words : str
        Which rows these are.
    """

    table: pa.Table
    positions: npt.NDArray[np.int64]
    n_rows: int | None
    words: str


def sample_rows(source: Any, columns: Sequence[str] | None = None, *, limit: int = READ_ROWS, seed: int = 0) -> Sample:
    """Return at most `limit` rows of a source.

    Parameters
    ----------
    source : any source of `collect`
    columns : sequence of str, optional
        By default all that are neither nested nor binary.
    limit : int
    seed : int

    Examples
    --------
    >>> found = sample_rows(pa.table({"x": list(range(100))}), limit=3)
    >>> found.table["x"].to_pylist() == found.positions.tolist(), found.words
    (True, '3 of 100 rows, at random')
    """
    table = open_table(source)
    arrow = typed(table)
    names = readable(arrow.schema) if columns is None else list(columns)
    limit = max(1, min(limit, READ_CELLS // max(len(names), 1)))
    n = table.n_rows
    if n is not None and n <= limit:
        rows = _read(arrow, names, n)
        return Sample(rows, np.arange(rows.num_rows), n, f"all {n:,} rows")
    if isinstance(table, ParquetTable):
        drawn = sample_row_groups(table, names, limit, STRETCHES, np.random.default_rng(seed))
        words = f"{drawn.rows.num_rows:,} of {drawn.n_rows:,} rows, from {drawn.n_groups} of the row groups"
        return Sample(drawn.rows, drawn.positions, drawn.n_rows, words)
    if n is not None and hasattr(source, "shape") and not table.one_shot:
        chosen = np.sort(np.random.default_rng(seed).choice(n, limit, replace=False))
        rows = _read(typed(open_table(take_rows(source, chosen))), names, limit)
        return Sample(rows, chosen, n, f"{limit:,} of {n:,} rows, at random")
    rows = _read(arrow, names, limit)
    if rows.num_rows < limit:
        return Sample(rows, np.arange(rows.num_rows), rows.num_rows, f"all {rows.num_rows:,} rows")
    whole = "" if n is None else f" of {n:,}"
    return Sample(rows, np.arange(limit), n, f"the first {limit:,}{whole} rows")


def readable(schema: pa.Schema) -> list[str]:
    """Return the columns that a cell of a table can show: neither nested nor binary."""
    never = (pa.types.is_nested, pa.types.is_binary, pa.types.is_large_binary, pa.types.is_fixed_size_binary)
    return [field.name for field in schema if not any(test(field.type) for test in never)]


def _read(table: ArrowTable, columns: list[str], limit: int) -> pa.Table:
    """Return the first rows of a table."""
    schema = decoded_schema(subset(table.schema, columns))
    return pa.Table.from_batches(LocalEngine().map(table, decoded, columns=columns, limit=limit), schema=schema)


Codes = npt.NDArray[np.int64]

WIDEST = 1200
"""Design columns up to which models are fitted for the report alone; its share of the time stays below a second."""
FEWEST_LEVELS = 8
"""Rare levels are not pooled below this many a column."""
CLASSES = 20
"""A target kept by level is read as classes up to this many."""
MOST_CLASSES = 64
"""Classes up to which they are told apart in the report."""
RANKED = 400
"""Columns compared with the target, at most."""
COLUMNS = 40
"""Columns of the source, beside those the models read, that a row shows."""


@dataclass(frozen=True, eq=False)
class Context:
    """Moments, models and rows, as the sections need them.

    Attributes
    ----------
    request : Request
    moments : Moments or None
        The request's, an integer target of few values read as classes; those of the sampled rows where it has none.
    of_sample : bool
        Whether the moments are those of the sampled rows.
    sample : Sample or None
    fitted : list of estimators
        Those fitted for the report.
    refused : dict
        Why a model that the report would have fitted is not there, by its class name.
    sections : dict
        What the sections so far have said: a later one may read an earlier one.
    """

    request: Request
    moments: Moments | None
    of_sample: bool
    sample: Sample | None
    fitted: list[Any] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)
    sections: dict[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def models(self) -> tuple[Any, ...]:
        """The models of the request, then those fitted for the report."""
        return (*self.request.models, *self.fitted)

    @property
    def target(self) -> str | None:
        """The column that the others are judged by."""
        return self.request.target

    @property
    def collected_target(self) -> str | None:
        """The target where it is among the collected columns."""
        return self.target if self.moments is not None and self.target in self.moments.schema else None

    def model(self, kind: type) -> Any:
        """Return the first model of a class, None where there is none."""
        return next((model for model in self.models if isinstance(model, kind)), None)

    def added(self, model: Any) -> bool:
        """Whether a model was fitted for the report alone."""
        return any(model is each for each in self.fitted)

    @cached_property
    def features(self) -> list[str]:
        """The collected columns that are neither the target nor identifiers."""
        if self.moments is None:
            return []
        return [name for name in self._offered if name not in self.identifiers]

    @cached_property
    def identifiers(self) -> dict[str, int]:
        """The columns that are set aside, and their numbers of levels."""
        if self.moments is None:
            return {}
        return identifiers(self.moments, self._offered)

    @property
    def _offered(self) -> list[str]:
        assert self.moments is not None
        return self.moments.schema.features_beside([] if self.target is None else [self.target])

    @cached_property
    def design(self) -> Design | None:
        """The levels that were seen, before any row of the sample was."""
        if self.request.moments is not None:
            return Design.of(self.request.moments, self.features)
        return next((model.design_ for model in self.models if hasattr(model, "design_")), None)

    @cached_property
    def classes(self) -> list[Any] | None:
        """The labels of the target where it is classes."""
        target = self.collected_target
        if self.moments is None or target is None or self.moments.kind(target) != "categorical":
            return None
        labels = self.moments.levels(target)
        return labels if 2 <= len(labels) <= MOST_CLASSES else None

    @cached_property
    def groups(self) -> Groups | None:
        """The target by level or bin of every feature, where there is a target and moments hold it."""
        if self.moments is None or self.collected_target is None:
            return None
        rows = None if self.sample is None else self.sample.table
        return Groups(self.moments, self.collected_target, self.features[:RANKED], rows)

    @cached_property
    def class_order(self) -> list[str]:
        """The classes as text, the most frequent first: the order of their colours everywhere."""
        if self.classes is not None and self.moments is not None and self.target is not None:
            counts = self.moments.counts(self.target)
            return [text(self.classes[k]) for k in np.argsort(-counts, kind="stable")]
        if self.target_values is None or pa.types.is_floating(self.target_values.type):
            return []
        # A label that only the rows have, which the models never knew.
        classes = sorted(self.target_values.value_counts().to_pylist(), key=lambda entry: -entry["counts"])
        return [text(entry["values"]) for entry in classes] if len(classes) <= CLASSES else []

    @cached_property
    def target_values(self) -> pa.ChunkedArray | None:
        """The target of the sampled rows, where it is a column of theirs."""
        if self.sample is None or self.target not in self.sample.table.column_names:
            return None
        return self.sample.table.column(self.target)

    @cached_property
    def about_objects(self) -> bool:
        """Whether the report is on models of distances alone, which know no columns."""
        models = self.request.models
        return bool(models) and all(isinstance(model, DistanceTransformer) for model in models)

    @cached_property
    def description(self) -> pa.Table | None:
        """The rows where they describe the training objects of a model of distances, one row each."""
        model = self.model(DistanceTransformer)
        if model is None or self.sample is None or self.sample.table.num_rows != len(model.embedding_):
            return None
        return self.sample.table

    @cached_property
    def object_classes(self) -> tuple[Codes | None, list[str]]:
        """The classes of the training objects of a model of distances, of its fit or of the target, and their labels."""
        model = self.model(DistanceTransformer)
        if hasattr(model, "class_codes_"):
            return model.class_codes_, [text(label) for label in model.classes_.tolist()]
        if self.description is None or self.target_values is None or not self.class_order:
            return None, []
        at = {label: k for k, label in enumerate(self.class_order)}
        return np.array([at[text(value)] for value in self.target_values.to_pylist()]), self.class_order

    @cached_property
    def scores(self) -> npt.NDArray[np.float64] | None:
        """How odd each sampled row is, where there is a detector."""
        detector = self.model(DensityEmbedding)
        if detector is None or self.sample is None or not self.sample.table.num_rows:
            return None
        return np.asarray(detector.anomaly_score(self.sample.table), dtype=np.float64)

    @cached_property
    def never_seen(self) -> npt.NDArray[np.bool_] | None:
        """Which sampled rows hold a value that the detector never saw, where there is a detector."""
        if self.scores is None or self.sample is None:
            return None
        return np.any(self.model(DensityEmbedding).black_swans(self.sample.table), axis=1)


def context_of(request: Request) -> Context:
    """Return what the sections of a report are made from."""
    sample = None if request.data is None else sample_rows(request.data, _columns(request))
    moments, of_sample = request.moments, False
    if moments is None and sample is not None and sample.table.num_rows and request.models:
        known = _needed(request)
        # Models of objects and distances or of sequences read no columns by name: what the rows hold describes these.
        by_name = any(outputs_of(model).columns is not None for model in request.models)
        names = [n for n in sample.table.column_names if n in known or not by_name]
        moments, of_sample = collect(sample.table.select(names)), True
    target = request.target
    if moments is not None and target is not None and target in moments.schema:
        form = moments.schema[target].form
        if form == "integer" and len(moments.levels(target)) <= CLASSES:
            moments = moments.as_categorical([target])
    if moments is not None and not moments.n_rows:
        raise DataError("the moments hold no rows; there is nothing to report")
    context = Context(request, moments, of_sample, sample)
    _fit_others(context)
    return context


def _columns(request: Request) -> list[str]:
    """Return the columns of the data that a report looks at: what the models read, the target, and some others."""
    table = open_table(request.data)
    schema = (table.as_arrow() if isinstance(table, ArrayTable) else table).schema
    needed = _needed(request)
    others = [name for name in readable(schema) if name not in needed]
    kept = needed | set(others[:COLUMNS])
    return [name for name in schema.names if name in kept]


def most_levels(moments: Moments, features: Sequence[str], target: str | None) -> int | None:
    """Return how many levels a column may have so that all of them make at most `WIDEST` design columns.

    None where nothing is to be pooled, or where pooling does not help: too many columns, or a target of more levels.

    Examples
    --------
    >>> wide = collect(pa.table({"id": [f"u{k}" for k in range(5000)], "color": ["red", "blue"] * 2500}))
    >>> most_levels(wide, ["id", "color"], None)
    1198
    """
    sizes = np.sort(design_sizes(moments, features))
    if sizes.sum() <= WIDEST:
        return None
    # With the k smallest columns whole, each of the others gets an equal share of what they leave.
    shares = [(WIDEST - sizes[:k].sum()) // (len(sizes) - k) for k in range(len(sizes))]
    most = int(next(share for k, share in enumerate(shares) if share < sizes[k]))
    classes = len(moments.levels(target)) if target is not None and moments.schema[target].by_level else 0
    return most if most >= max(FEWEST_LEVELS, classes) else None


def _needed(request: Request) -> set[str]:
    """Return the source columns that moments and models were made from, and the target."""
    needed = {column.origin for column in request.moments.schema} if request.moments is not None else set()
    for model in request.models:
        read = outputs_of(model).columns
        needed |= {str(name) for name in (getattr(model, "feature_names_in_", ()) if read is None else read)}
    return needed | set(request.keep) | ({request.target} if request.target is not None else set())


def _fit_others(context: Context) -> None:
    """Fit the models that a report shows beside those it is about, and note why some could not be."""
    moments, target = context.moments, context.collected_target
    # Beside a model of objects, components of the table that describes them would only be mistaken for its coordinates.
    wanted: list[Any] = [PCA()] if context.model(PCA) is None and not context.about_objects else []
    if not context.request.models:
        wanted += [DensityEmbedding()] if context.sample is not None else []
        wanted += [MahalanobisFeatures()] if target is not None else []
        wanted += [FisherDiscriminant()] if context.classes is not None else []
    if moments is not None and context.identifiers and context.features:
        # Before they are pooled, which would make features of them.
        say_set_aside(moments, context.identifiers)
        moments = moments.drop(list(context.identifiers))
    most = None if moments is None else most_levels(moments, context.features, target)
    if moments is not None and most is not None:
        moments = moments.pool(max_levels=most)
    for model in wanted:
        name = type(model).__name__
        if moments is None:
            context.refused[name] = "there are neither moments nor rows to fit it from"
            continue
        width = sum(design_sizes(moments, context.features))
        # Numbers of fewer rows than columns are kept as rows, and their components cost no more than these.
        if width > WIDEST and not (isinstance(model, PCA) and moments.n_rows <= WIDEST):
            context.refused[name] = (
                f"{width:,} design columns are more than a report solves for; fit {name} and pass it"
            )
            continue
        try:
            context.fitted.append(model.fit(moments, y=target))
        except DataError as error:
            # A constant table has no components; a target with gaps no classes. The report says so and goes on.
            context.refused[name] = str(error)
