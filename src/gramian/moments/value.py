"""`Moments`: what one pass over a table leaves behind, as a value."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from gramian.arrays import sparse as sp
from gramian.arrays.memory import refuse_beyond
from gramian.arrays.threads import cached_property
from gramian.design.schema import Labels, Schema, names_of_design
from gramian.errors import Argument, Call, ColumnError, DataError, PythonOnly
from gramian.moments import covariance as dense
from gramian.moments.algebra import combine, joins, levels, missing_columns
from gramian.moments.algebra.feasibility import Peak
from gramian.moments.state.numbers import Numbers
from gramian.moments.state.pair_counts import PairCounts
from gramian.parameters import check

if TYPE_CHECKING:
    from gramian.moments.summary import Summary

Names = str | Sequence[str] | None


@dataclass(frozen=True, eq=False, repr=False)
class Moments:
    """First and second moments of a table: every level and pair of levels counted, every number summed.

    Made by `gramian.collect`, `Moments.load` and the operations here; none of them changes a value in place.

    Attributes
    ----------
    schema : Schema
        The collected columns.
    n_rows : int
        Rows seen.
    total_weight : int or float
        Their weight: `n_rows` where no weights were given, a float otherwise.
    folds : tuple of Moments
        Moments of each fold, where `collect(folds=k)` asked for them.
    rows_left_out : int
        Rows that were read but not counted, because a column of `collect(targets=...)` is missing there.
    offsets : mapping
        What was taken off columns of integers beyond 2^53; empty but for those who solve (`gramian.moments.advice`).
    labels, pairs, numbers, sums
        The state itself: labels and counts of the by-level columns, moments of the numbers, and the sums of the
        numbers by level. See `docs/architecture.md`.

    Examples
    --------
    >>> import gramian as gm
    >>> import pyarrow as pa
    >>> m = gm.collect(pa.table({"color": ["red", "blue", "red"], "size": [1.5, 2.5, 3.5]}))
    >>> m.design_names
    ['color_red', 'color_blue', 'size']
    >>> m.counts("color")
    array([2, 1])
    >>> m.mean(["size"])
    array([2.5])
    >>> m + m == m * 2
    False
    >>> (m + m).n_rows, (m * 2).n_rows, (m * 2).total_weight
    (6, 3, 6.0)
    """

    schema: Schema = field(default_factory=Schema)
    n_rows: int = 0
    total_weight: int | float = 0
    labels: tuple[Labels, ...] = ()
    pairs: PairCounts = field(default_factory=PairCounts)
    numbers: Numbers = field(default_factory=lambda: Numbers.empty(()))
    sums: tuple[npt.NDArray[np.float64], ...] = ()
    folds: tuple[Moments, ...] = ()
    library: str | None = None
    peak: Peak = field(default_factory=Peak)
    offsets: Mapping[str, float] = field(default_factory=dict)
    rows_left_out: int = 0

    __hash__ = None  # type: ignore[assignment]

    @classmethod
    def empty(cls) -> Moments:
        """Return the moments of no rows and no columns, the identity of `+`.

        Returns
        -------
        Moments

        Examples
        --------
        >>> import gramian as gm
        >>> m = gm.collect([[1.0], [2.0]])
        >>> gm.Moments.empty() + m == m
        True
        """
        return cls()

    # What has been seen

    @property
    def columns(self) -> list[str]:
        """Names of the collected columns, targets included."""
        return self.schema.names

    @property
    def targets(self) -> list[str]:
        """Names of the columns that are never features."""
        return [column.name for column in self.schema if column.target]

    @property
    def weighted(self) -> bool:
        """Whether rows were weighted, or weights scaled."""
        return isinstance(self.total_weight, float)

    @property
    def nbytes(self) -> int:
        """Bytes held, labels and folds included."""
        own = self.pairs.nbytes + self.numbers.nbytes + sum(s.nbytes for s in self.sums)
        text = sum(labels.values.nbytes + labels.pooled.nbytes for labels in self.labels)
        return own + text + sum(fold.nbytes for fold in self.folds)

    @cached_property
    def coded(self) -> list[str]:
        """Names of the columns collected by level, in schema order."""
        return list(self.schema.coded)

    @cached_property
    def coded_at(self) -> dict[str, int]:
        """Where each column collected by level stands among them."""
        return {name: k for k, name in enumerate(self.coded)}

    @cached_property
    def number_at(self) -> dict[str, int]:
        """Where each column collected as a number stands among them."""
        return {name: j for j, name in enumerate(self.numbers.names)}

    def kind(self, column: str) -> Literal["categorical", "numeric"]:
        """Return what kind of column this is.

        Parameters
        ----------
        column : str

        Returns
        -------
        "categorical" or "numeric"

        Examples
        --------
        >>> import gramian as gm
        >>> import pyarrow as pa
        >>> m = gm.collect(pa.table({"color": ["red", "blue", "red"], "size": [1.5, 2.5, 3.5]}))
        >>> m.kind("color"), m.kind("size")
        ('categorical', 'numeric')
        """
        return self.schema[column].kind

    def _coded_position(self, column: str) -> int:
        described = self.schema[column]
        if described.form == "number":
            raise ColumnError(
                f"column {described.name!r} was collected as a number, it has no levels; collect it with ",
                Argument("categorical", [described.name]),
                " to count them",
            )
        return self.coded_at[described.name]

    def levels(self, column: str) -> list[Any]:
        """Return the labels of a column in code order: None is the missing level, `"(rare)"` the pooled one.

        Parameters
        ----------
        column : str
            Collected by level: a category, or an integer of at most 64 distinct values.

        Returns
        -------
        list

        Examples
        --------
        >>> import gramian as gm
        >>> import pyarrow as pa
        >>> m = gm.collect(pa.table({"color": ["red", "blue", "red"], "size": [1.5, 2.5, 3.5]}))
        >>> m.levels("color")
        ['red', 'blue']
        """
        return self.labels[self._coded_position(column)].to_list()

    @cached_property
    def design_names(self) -> list[str]:
        """One name per design column of the features: `age`, `color_red`; a name that is taken gets a number."""
        return self.design_names_of(self.schema.features)

    def design_names_of(self, columns: Sequence[str]) -> list[str]:
        """Return one name per design column of the given columns.

        Parameters
        ----------
        columns : sequence of str

        Returns
        -------
        list of str

        Examples
        --------
        >>> import gramian as gm
        >>> import pyarrow as pa
        >>> m = gm.collect(pa.table({"color": ["red", "blue", "red"], "size": [1.5, 2.5, 3.5]}))
        >>> m.design_names_of(["size", "color"])
        ['size', 'color_red', 'color_blue']
        """
        if list(columns) == list(self.numbers.names):
            return list(columns)
        kept = [self.schema[name] for name in columns]
        return names_of_design(kept, (self.labels[self.coded_at[c.name]] for c in kept if c.form == "category"))

    def counts(self, column: str) -> npt.NDArray:
        """Return the weight of each level, in code order: int64 rows where no weights were given.

        Parameters
        ----------
        column : str
            Collected by level.

        Returns
        -------
        array

        Examples
        --------
        >>> import gramian as gm
        >>> import pyarrow as pa
        >>> m = gm.collect(pa.table({"color": ["red", "blue", "red"], "size": [1.5, 2.5, 3.5]}))
        >>> m.counts("color")
        array([2, 1])
        """
        return self.pairs.level_weights[self._coded_position(column)].copy()

    def crosstab(self, a: str, b: str, labels: bool = False, sparse: bool = False) -> Any:
        """Return the exact contingency table of two columns.

        Parameters
        ----------
        a, b : str
            Columns collected by level; levels of `a` in rows.
        labels : bool
            Return a table with the labels: of the library set by scikit-learn's `transform_output`, else of the
            library the data came from, else pyarrow.
        sparse : bool
            Return a `scipy.sparse.csr_array`.

        Returns
        -------
        (levels of a, levels of b) array, sparse array or table
            int64 where no weights were given.

        Examples
        --------
        >>> import gramian as gm
        >>> import pyarrow as pa
        >>> m = gm.collect(pa.table({"color": ["red", "blue", "red"], "shape": ["box", "box", "disc"]}))
        >>> m.crosstab("color", "shape")
        array([[1, 1],
               [1, 0]])
        """
        i, j = self._coded_position(a), self._coded_position(b)
        block = self.pairs.block(i, j)
        kind = np.float64 if self.weighted else np.int64
        if sparse:
            return sp.csr_array(block, dtype=kind, copy=True)
        rows, cols = block.shape
        refuse_beyond(8 * rows * cols, what=f"crosstab({a!r}, {b!r})", way_out="pass sparse=True")
        table = (block.toarray() if sp.issparse(block) else block).astype(kind)
        if not labels:
            return table
        from gramian.tables.returned import labelled_table

        heads = self.labels[j].names()
        return labelled_table(table, (a, self.levels(a)), (b, self.levels(b)), heads, library=self.library)

    def summary(self) -> Summary:
        """Return what was seen, column by column, as plain data that prints as a table.

        Returns
        -------
        Summary

        Examples
        --------
        >>> import gramian as gm
        >>> import pyarrow as pa
        >>> m = gm.collect(pa.table({"color": ["red", "blue", "red"], "size": [1.5, 2.5, 3.5]}))
        >>> print(m.summary())  # doctest: +ELLIPSIS
        3 rows...
        """
        from gramian.moments.summary import summarise

        return summarise(self)

    def __repr__(self) -> str:
        weight = f", weight {self.total_weight:g}" if self.weighted else ""
        folds = f", {len(self.folds)} folds" if self.folds else ""
        return f"<Moments of {self.n_rows:,} rows{weight}, {len(self.schema)} columns{folds}>"

    def _repr_html_(self) -> str:
        return self.summary()._repr_html_()

    # Linear algebra over the design columns

    def _named(self, columns: Names) -> list[str]:
        return self.schema.features if columns is None else self.schema.resolve(columns)

    def mean(self, columns: Names = None) -> npt.NDArray[np.float64]:
        """Return the mean of each design column: a level's share, a number's mean over its observed values.

        Parameters
        ----------
        columns : str or list of str, optional
            Source columns; by default every feature.

        Returns
        -------
        (p,) array

        Examples
        --------
        >>> import gramian as gm
        >>> import pyarrow as pa
        >>> m = gm.collect(pa.table({"color": ["red", "blue", "red"], "size": [1.5, 2.5, 3.5]}))
        >>> m.mean().round(3)
        array([0.667, 0.333, 2.5  ])
        """
        return dense.mean(self, self._named(columns))

    def covariance(self, columns: Names = None, ddof: float = 1) -> npt.NDArray[np.float64]:
        """Return the covariance of the design columns, missing numbers imputed at their means.

        Parameters
        ----------
        columns : str or list of str, optional
            Source columns; by default every feature.
        ddof : float
            The scatter is divided by `total_weight - ddof`.

        Returns
        -------
        (p, p) array

        Raises
        ------
        MemoryLimitError
            Before anything is allocated, where it does not fit.

        Examples
        --------
        >>> import gramian as gm
        >>> gm.collect([[1.0, 2.0], [3.0, 6.0]]).covariance()
        array([[2., 4.],
               [4., 8.]])
        """
        return dense.covariance(self, self._named(columns), ddof)

    def correlation(self, columns: Names = None) -> npt.NDArray[np.float64]:
        """Return the correlation of the design columns; NaN where a column does not vary.

        Parameters
        ----------
        columns : str or list of str, optional
            Source columns; by default every feature.

        Returns
        -------
        (p, p) array

        Examples
        --------
        >>> import gramian as gm
        >>> gm.collect([[1.0, 2.0], [3.0, 6.0]]).correlation()
        array([[1., 1.],
               [1., 1.]])
        """
        return dense.correlation(self, self._named(columns))

    # After the pass

    def from_library(self, library: str | None) -> Moments:
        """Return the moments with a note of the library whose tables they return.

        Parameters
        ----------
        library : "pandas", "polars" or None

        Returns
        -------
        Moments

        Examples
        --------
        >>> import gramian as gm
        >>> import pyarrow as pa
        >>> m = gm.collect(pa.table({"color": ["red", "blue", "red"], "size": [1.5, 2.5, 3.5]}))
        >>> type(m.from_library("pandas").crosstab("color", "color", labels=True)).__name__
        'DataFrame'
        """
        return replace(self, library=library, folds=tuple(replace(fold, library=library) for fold in self.folds))

    def in_schema_order(self) -> Moments:
        """Return the moments with numbers in the order of the schema.

        Returns
        -------
        Moments

        Examples
        --------
        >>> import gramian as gm
        >>> import pyarrow as pa
        >>> m = gm.collect(pa.table({"color": ["red", "blue", "red"], "size": [1.5, 2.5, 3.5]}))
        >>> m.in_schema_order() == m
        True
        """
        return levels.in_schema_order(self)

    def select(self, cols: str | Iterable[str]) -> Moments:
        """Return the moments of these columns alone, in this order; a date's name stands for its parts.

        Parameters
        ----------
        cols : str or iterable of str

        Returns
        -------
        Moments

        Examples
        --------
        >>> import gramian as gm
        >>> import pyarrow as pa
        >>> m = gm.collect(pa.table({"color": ["red", "blue", "red"], "size": [1.5, 2.5, 3.5]}))
        >>> m.select(["size"]).columns
        ['size']
        """
        return levels.select(self, self.schema.resolve(cols))

    def drop(self, cols: str | Iterable[str]) -> Moments:
        """Return the moments without these columns.

        Parameters
        ----------
        cols : str or iterable of str

        Returns
        -------
        Moments

        Examples
        --------
        >>> import gramian as gm
        >>> import pyarrow as pa
        >>> m = gm.collect(pa.table({"color": ["red", "blue", "red"], "size": [1.5, 2.5, 3.5]}))
        >>> m.drop("size").columns
        ['color']
        """
        gone = set(self.schema.resolve(cols))
        return self.select([name for name in self.columns if name not in gone])

    def as_categorical(self, cols: str | Iterable[str]) -> Moments:
        """Return the moments with integers that were collected by level read as categories.

        Columns that are named here are features however many levels they have (`docs/identifiers.md`).

        Parameters
        ----------
        cols : str or iterable of str
            Integer columns of at most 64 distinct values, or categories.

        Returns
        -------
        Moments

        Examples
        --------
        >>> import gramian as gm
        >>> import pyarrow as pa
        >>> m = gm.collect(pa.table({"rooms": [2, 3, 2]}))
        >>> m.design_names, m.as_categorical("rooms").design_names
        (['rooms'], ['rooms_2', 'rooms_3'])
        """
        return levels.as_categorical(self, self.schema.resolve(cols))

    def pool(self, min_count: int | None = None, max_levels: int | None = None) -> Moments:
        """Return the moments with the rare levels of each categorical feature folded into one, `(rare)`.

        Pooled labels are remembered: moments added later fold alike, and they are known, not unseen. Targets and
        numbers are left alone.

        Parameters
        ----------
        min_count : int, optional
            Levels of fewer rows are pooled. A row of weight w counts as w rows.
        max_levels : int, optional
            At most this many levels are left per column, `(rare)` included: those of most rows, ties by label.

        Returns
        -------
        Moments

        Examples
        --------
        >>> import gramian as gm
        >>> import pyarrow as pa
        >>> m = gm.collect(pa.table({"color": ["red", "blue", "red", "green"]}))
        >>> m.pool(min_count=2).levels("color")
        ['red', '(rare)']
        """
        return levels.pool(self, min_count, max_levels)

    def attach(
        self,
        key: str,
        table: Any,
        columns: Names = None,
        prefix: str = "",
        keep_key: bool = False,
        *,
        exclude: Names = None,
        categorical: Names = None,
        numeric: Names = None,
    ) -> Moments:
        """Return the moments as if a table had been left-joined on a key before the pass.

        Nothing is joined and no row of the facts is read. Counts are exactly those of the joined table, and numbers agree
        to rounding. Kinds are inferred as in `collect`. Attach several tables one after the other; a column that came with
        one table can be the key of the next. See `docs/joins.md`.

        Parameters
        ----------
        key : str
            A column that was collected by level, and a column of the table. For integers pass
            `collect(..., categorical=[key])`. Pooled columns are refused.
        table : any source of `collect`
            One row per key; duplicates are refused. A key without a row, and a missing key, have missing values in every
            column of the table.
        columns : str or list of str, optional
            The columns to attach; by default all but the key.
        prefix : str
            Put before the name of each of them.
        keep_key : bool
            Keep the key as a column. It is left out by default: it says all that the table's columns say.
        exclude, categorical, numeric : str or list of str, optional
            As in `collect`, of the columns of the table.

        Returns
        -------
        Moments
            With the columns of the table last, weights and folds as they were.

        Examples
        --------
        >>> import gramian as gm
        >>> import pyarrow as pa
        >>> sales = pa.table({"shop": ["a", "b", "a", "c"], "paid": [1.0, 2.0, 3.0, 4.5]})
        >>> shops = pa.table({"shop": ["a", "b"], "city": ["Bern", "Genf"], "staff": [4, 2]})
        >>> m = gm.collect(sales).attach("shop", shops)
        >>> m.columns, m.levels("city"), m.mean("staff")
        (['paid', 'city', 'staff'], ['Bern', 'Genf', None], array([3.33333333]))
        """
        return joins.attach(
            self, key, table, columns, prefix, keep_key, exclude=exclude, categorical=categorical, numeric=numeric
        )

    def without_fold(self, fold: int) -> Moments:
        """Return the moments of every other fold, added up (nothing is subtracted, so nothing cancels).

        Parameters
        ----------
        fold : int
            Counted from 0.

        Returns
        -------
        Moments

        Examples
        --------
        >>> import gramian as gm
        >>> m = gm.collect([[1.0], [2.0], [3.0], [4.0]], folds=2)
        >>> m.without_fold(0).n_rows, m.without_fold(0) == m.folds[1]
        (2, True)
        """
        if not self.folds:
            raise DataError("these moments have no folds; ", Call("collect", folds=5), " keeps them")
        if not 0 <= fold < len(self.folds):
            raise DataError(f"fold {fold} is not there: folds go from 0 to {len(self.folds) - 1}")
        return combine.total([part for k, part in enumerate(self.folds) if k != fold])

    # A monoid with subtraction

    def __add__(self, other: Moments) -> Moments:
        if not isinstance(other, Moments):
            return NotImplemented
        return combine.add(self, other)

    def __radd__(self, other: object) -> Moments:
        # `sum(moments)` starts from 0.
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def __sub__(self, other: Moments) -> Moments:
        if not isinstance(other, Moments):
            return NotImplemented
        return combine.take_away(self, other)

    def __mul__(self, factor: float) -> Moments:
        if not isinstance(factor, int | float | np.number) or isinstance(factor, bool):
            return NotImplemented
        return combine.scale(self, float(factor))

    __rmul__ = __mul__

    def __eq__(self, other: object) -> bool:
        return combine.equals(self, other) if isinstance(other, Moments) else NotImplemented

    def isclose(self, other: Moments, rtol: float = 1e-9) -> bool:
        """Return whether labels and rows are equal and numbers agree to `rtol` of their spread.

        Parameters
        ----------
        other : Moments
        rtol : float
            What two numbers may differ by, as a share of their spread.

        Returns
        -------
        bool

        Examples
        --------
        >>> import gramian as gm
        >>> m = gm.collect([[0.1], [0.2], [0.3]])
        >>> (m + m - m).isclose(m)
        True
        """
        return combine.isclose(self, other, rtol)

    # Travel

    def save(self, path: str | PathLike[str], metadata: Mapping[str, str] | None = None) -> None:
        """Write one checksummed file, which appears whole or not at all.

        The file holds every label and every pair count, ones included: it is not anonymous.

        Parameters
        ----------
        path : path
            A symbolic link is written through.
        metadata : mapping of texts, optional
            Notes to keep in the header.

        Examples
        --------
        >>> import tempfile, pathlib
        >>> import gramian as gm
        >>> m = gm.collect([[1.0], [3.0]])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     m.save(pathlib.Path(folder) / "two.moments")
        ...     gm.Moments.load(pathlib.Path(folder) / "two.moments") == m
        True
        """
        from gramian.moments.file import save

        save(self, path, metadata)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Moments:
        """Read a file written by `save` and return its moments; nothing in it is executed.

        Parameters
        ----------
        path : path

        Returns
        -------
        Moments

        Examples
        --------
        >>> import tempfile, pathlib
        >>> import gramian as gm
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     gm.collect([[1.0], [3.0]]).save(pathlib.Path(folder) / "two.moments")
        ...     gm.Moments.load(pathlib.Path(folder) / "two.moments").n_rows
        2
        """
        from gramian.moments.file import load

        return load(path)


def merge(moments: Iterable[Moments], missing: str = "raise") -> Moments:
    """Return the moments of all parts together, as if collected in one pass.

    Parameters
    ----------
    moments : iterable of Moments
        Levels are matched by label.
    missing : {"raise", "fill"}
        A column that one part lacks: `"fill"` takes it as missing values there, exactly as `collect` does of files;
        `"raise"` is an error that names this option.

    Returns
    -------
    Moments
        Of nothing, the empty moments.

    Examples
    --------
    >>> import gramian as gm
    >>> import pyarrow as pa
    >>> days = [gm.collect(pa.table({"color": ["red"] * n})) for n in (1, 2, 3)]
    >>> gm.merge(days).n_rows
    6
    """
    parts = list(moments)
    wrong = [part for part in parts if not isinstance(part, Moments)]
    if wrong:
        raise DataError(
            Call("merge"), f" takes Moments; got {type(wrong[0]).__name__}", PythonOnly(": load() files first")
        )
    check("missing", missing, "raise", "fill")
    if missing == "fill":
        parts = missing_columns.filled([part for part in parts if len(part.schema) or part.n_rows])
    return combine.total(parts) if parts else Moments.empty()


__all__ = ["Moments", "merge"]
