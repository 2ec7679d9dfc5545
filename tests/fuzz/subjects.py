"""What is attacked: one class of inputs each, how one of them is harmed, and what it may answer.

An unharmed input must give the right answer. A harmed one is refused in one line, or gives an answer that means something:
counts that add up and are those of the rows that Arrow itself reads from it, features that are numbers.
"""

from __future__ import annotations

import datetime
import gzip
import io
import math
import zipfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.feather as feather
import pyarrow.parquet as pq
import scipy.sparse as sp

import gramian as gm
from gramian.errors import FileFormatError, GramianError
from gramian.moments.file import check_moments
from gramian.storage import container

from .arguments import Arguments, judged
from .base import Subject, Wrong
from .mutators import harmed_book, harmed_bytes, harmed_column, harmed_container, harmed_sparse, harmed_text, odd_header

UNHARMED = 0.04
"""Share of the cases in which nothing is harmed, so that a refusal of everything would not pass."""


def rows(n: int = 40) -> pa.Table:
    """Return a small table with every kind of column that is read."""
    rng = np.random.default_rng(1)
    color = rng.choice(["red", "green", "blue", None], n)
    start = datetime.datetime(2024, 1, 1)
    return pa.table(
        {
            "color": pa.array(color, pa.string()),
            "shape": pa.array(rng.choice(["disc", "box", "rod"], n)).dictionary_encode(),
            "code": pa.array(rng.choice(["é1", "ü2", "", "a longer text than the others"], n), pa.large_string()),
            "grade": pa.array(rng.integers(0, 6, n), pa.int32()),
            "member": pa.array(rng.random(n) < 0.4),
            "size": pa.array(np.round(rng.normal(size=n), 3), mask=rng.random(n) < 0.1),
            "cost": pa.array(np.round(1e4 + 100 * rng.normal(size=n), 2)),
            "day": pa.array([start + datetime.timedelta(hours=int(h)) for h in rng.integers(0, 5000, n)]),
        }
    )


def refused(error: GramianError) -> str:
    """Return "refused" where a message is one line that can be read."""
    text = str(error)
    if "\n" in text or "\x1b" in text or len(text) > 1000 or not text.strip():
        raise Wrong(f"a message of {len(text.splitlines())} lines: {text[:300]!r}") from error
    return "refused"


class Kept(Subject):
    """Files of moments, or of models: structure changed and the checksum written anew, or bytes changed."""

    def __init__(self) -> None:
        self.small = rows().to_pandas()
        self.originals = [self._stored(value) for value in self.values()]

    def values(self) -> list[Any]:
        """Return what is saved."""
        raise NotImplementedError

    def use(self, value: Any, rng: np.random.Generator) -> None:
        """Ask a value for what its kernels answer."""
        raise NotImplementedError

    def _stored(self, value: Any) -> tuple[bytes, dict[str, np.ndarray], dict[str, str]]:
        import tempfile

        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "x"
            gm.save(value, path)
            return path.read_bytes(), *container.read(path)

    def case(self, rng: np.random.Generator, folder: Path) -> str:
        # The last is the largest, and takes its time.
        n = len(self.originals)
        data, tensors, header = self.originals[rng.integers(n if rng.random() < 0.2 else n - 1)]
        path, drawn = folder / "kept", rng.random()
        if drawn < UNHARMED:
            path.write_bytes(data)
        elif drawn < 0.25:
            harmed = harmed_bytes(rng, data)
            path.write_bytes(harmed)
            if harmed != data:
                try:
                    gm.load(path)
                except GramianError as error:
                    return refused(error)
                raise Wrong("a file whose checksum does not fit was loaded")
        else:
            container.write(path, *harmed_container(rng, tensors, header))
        try:
            value = gm.load(path)
        except GramianError as error:
            if drawn < UNHARMED:
                raise Wrong(f"an unharmed file is refused: {error}") from error
            return refused(error)
        try:
            self.use(value, rng)
        except Exception as error:
            if isinstance(error, Wrong) or drawn < UNHARMED:
                raise
            return judged(error)
        return "right" if drawn < UNHARMED else "answered"


class MomentsFiles(Kept):
    """Moments with folds, with weights, with sparse tables."""

    name = "moments"

    def values(self) -> list[Any]:
        rng = np.random.default_rng(0)
        wide = self.small.assign(id=rng.integers(0, 2**16 + 300, len(self.small)).astype(str))
        wide = wide.loc[np.repeat(np.arange(len(wide)), 50)].assign(
            zip=rng.integers(0, 3000, 50 * len(wide)).astype(str)
        )
        return [
            gm.collect(self.small),
            gm.collect(self.small, folds=2),
            gm.collect(self.small, sample_weight=rng.random(len(self.small))),
            gm.collect(wide[["id", "zip", "size"]]),
        ]

    def use(self, value: Any, rng: np.random.Generator) -> None:
        if not isinstance(value, gm.Moments):
            features(value, self.small)
            return
        for a in value.coded[:3]:
            for b in value.coded[:3]:
                table = value.crosstab(a, b, sparse=True)
                if table.min() < 0:
                    raise Wrong("a count below zero")
        if not np.isfinite(value.mean()).all():
            raise Wrong("a mean that is no number")
        if (value + value).n_rows != 2 * value.n_rows:
            raise Wrong("twice the moments are not twice the rows")


class ModelFiles(Kept):
    """Models of several families."""

    name = "models"

    def values(self) -> list[Any]:
        return self.fitted(self.small)

    @staticmethod
    def fitted(frame: Any) -> list[Any]:
        """Return models of a frame like `rows`."""
        small = frame.drop(columns="day")
        numbers = small[["cost"]].assign(grade=small["grade"].astype(float))
        return [
            gm.PCA(n_components=2).fit(small),
            gm.Whitening().fit(small),
            gm.FisherDiscriminant().fit(small, "shape"),
            gm.MahalanobisFeatures().fit(small, "cost"),
            gm.DensityEmbedding().fit(small),
            gm.ClassicalMDS(metric="gower").fit(small.iloc[:20]),
            gm.RandomFeatures(n_components=4, random_state=0).fit(small),
            gm.HebbianPCA(2, rule="sanger", random_state=0).fit(numbers),
            gm.VectorQuantizer(3, random_state=0).fit(numbers),
            gm.EchoStateFeatures(8, random_state=0).fit([numbers.to_numpy()]),
            gm.LiquidStateFeatures(27, random_state=0).fit([numbers.to_numpy()]),
            gm.NMF(n_components=2, random_state=0).fit(numbers),
            gm.MDSFDA(metric="euclidean").fit(numbers, small["shape"]),
            gm.DictionaryLearner(3, n_nonzero=1, random_state=0).fit(numbers),
            gm.SparseCoder(np.eye(2), n_nonzero=1).fit(numbers),
            gm.ELMClassifier(4, random_state=0).fit(small, "shape"),
            gm.ELMRegressor(4, direct_links=True, random_state=0).fit(small, "cost"),
            gm.EchoStateRegressor(5, random_state=0).fit(numbers, small["cost"]),
            gm.NeuralICA(2, random_state=0).fit(numbers),
            gm.LinearAutoencoder(2, random_state=0).fit(numbers),
            gm.JointTargetEncoder().fit(small, "cost"),
            gm.ForwardSelector(k=2).fit(small, "cost"),
        ]

    def use(self, value: Any, rng: np.random.Generator) -> None:
        if isinstance(value, gm.Moments):
            value.summary()
            return
        features(value, self.small)
        used_again(value, self.small)
        # A report takes longer than all of these.
        if rng.random() < 0.05:
            reported(value, self.small)


def used_again(model: Any, frame: Any) -> None:
    """Ask a model for what it does beside features: names, loadings, sums, more rows; refusals are fine."""
    names = [str(name) for name in getattr(model, "feature_names_in_", ())]
    known = frame[[name for name in names if name in frame.columns]]
    uses: list[Callable[[], Any]] = [
        lambda: model.get_feature_names_out(),
        lambda: model.loadings(),
        lambda: model.summary(),
        lambda: model.path_,
        lambda: model.inverse_transform(model.transform(known)),
        lambda: model + model,
        lambda: model.partial_fit(known, frame["shape"] if hasattr(model, "classes_") else frame["cost"]),
    ]
    needed = ["get_feature_names_out", "loadings", "summary", "path_", "inverse_transform", "__add__", "partial_fit"]
    for name, use in zip(needed, uses, strict=True):
        if hasattr(model, name) and (names or name in needed[:2]):
            try:
                use()
            except Exception as error:
                judged(error)


def reported(model: Any, frame: Any) -> None:
    """Ask for a report on a model and rows."""
    try:
        gm.report(model, frame, max_rows=20).html()
    except Exception as error:
        judged(error)


def features(model: Any, frame: Any) -> None:
    """Ask a model for features of rows, and for scores where it has some."""
    if hasattr(model, "n_reservoir"):
        if not hasattr(model, "transform"):
            model.predict(frame[["cost", "grade"]])
            return
        model.transform([frame[["cost", "grade"]].to_numpy(dtype=float)])
        return
    asked = [name for name in ("transform", "anomaly_score", "predict", "predict_proba") if hasattr(model, name)]
    names = [str(name) for name in getattr(model, "feature_names_in_", frame.columns)]
    known = frame[[name for name in names if name in frame.columns]]
    for name in asked:
        answer = getattr(model, name)(known)
        # Of several targets there is an answer each.
        for found in map(np.asarray, answer if isinstance(answer, list) else [answer]):
            if len(found) != len(frame):
                raise Wrong(f"{name} gave {len(found)} rows for {len(frame)}")
            # Classes have any type.
            if found.dtype.kind == "f" and np.isnan(found).any():
                raise Wrong(f"{name} gave something that is no number")


class Tables(Subject):
    """Tables in some form: counted, and turned into features by a model."""

    def __init__(self) -> None:
        self.table = self.base()
        self.model = gm.PCA(n_components=2).fit(self.table)
        self.expected = np.column_stack(_columns(gm.transform_stream(self.model, self.table).read_all()))

    def base(self) -> pa.Table:
        """Return the rows that an unharmed input holds."""
        return rows()

    def judge(
        self,
        rng: np.random.Generator,
        source: Callable[[], Any],
        reference: Callable[[], pa.Table | None],
        *,
        unharmed: bool,
    ) -> str:
        """Collect what `source` gives, or transform it, or both, and compare counts with those of the rows of `reference`."""
        answers, drawn = 0, rng.random()
        self.n_jobs = None if rng.random() < 0.2 else 1
        both = unharmed or drawn > 0.85
        for step in [self._counted] * (both or drawn < 0.5) + [self._transformed] * (both or drawn >= 0.5):
            try:
                step(source(), reference, unharmed)
                answers += 1
            except GramianError as error:
                if unharmed:
                    raise Wrong(f"an unharmed input is refused: {error}") from error
                refused(error)
        return "right" if unharmed else "answered" if answers else "refused"

    def _counted(self, source: Any, reference: Callable[[], pa.Table | None], unharmed: bool) -> None:
        moments = gm.collect(source, n_jobs=self.n_jobs)
        try:
            check_moments(moments)
        except FileFormatError as error:
            raise Wrong(f"the moments contradict each other: {error}") from error
        table = self.table if unharmed else reference()
        if table is not None:
            compare(moments, table)

    def _transformed(self, source: Any, reference: Callable[[], pa.Table | None], unharmed: bool) -> None:
        found = np.column_stack(_columns(gm.transform_stream(self.model, source).read_all()))
        if not np.isfinite(found).all():
            raise Wrong("a feature that is no number")
        if unharmed and not np.allclose(found, self.expected, rtol=1e-9, atol=1e-9):
            raise Wrong("features of an unharmed input differ")


def _columns(table: pa.Table) -> list[np.ndarray]:
    return [column.to_numpy() for column in table.columns]


def compare(moments: gm.Moments, table: pa.Table) -> None:
    """Raise where moments are not those of the rows of a table."""
    if moments.n_rows != table.num_rows:
        raise Wrong(f"{moments.n_rows} rows were counted of {table.num_rows}")
    kinds = {f.name: f.type.value_type if pa.types.is_dictionary(f.type) else f.type for f in table.schema}
    for column in moments.schema:
        kind = kinds.get(column.origin)
        if kind is None or column.part is not None:
            continue
        values = table.column(column.origin).to_pylist()
        if column.name in moments.coded and not pa.types.is_floating(kind):
            counts = dict(zip(moments.levels(column.name), moments.counts(column.name).tolist(), strict=True))
            if {k: n for k, n in counts.items() if n} != dict(Counter(values)):
                raise Wrong(f"column {column.origin!r} was counted wrongly")
        elif column.form == "number" and pa.types.is_floating(kind):
            there = [v for v in values if v is not None and not math.isnan(v)]
            largest = max(map(abs, there), default=0.0)
            if there and largest < 1e150:
                mean = moments.mean([column.name])[0]
                if not abs(mean - math.fsum(there) / len(there)) <= 1e-9 * largest:
                    raise Wrong(f"the mean of column {column.origin!r} is {mean}")


class ArrowFiles(Tables):
    """Arrow IPC files and streams, plain and compressed, bytes harmed."""

    name = "arrow files"

    def __init__(self) -> None:
        super().__init__()
        self.originals = []
        for compression in ("uncompressed", "lz4", "zstd"):
            sink = io.BytesIO()
            feather.write_feather(self.table, sink, compression=compression, chunksize=25)
            self.originals.append((".arrow", sink.getvalue()))
        for opener, suffix in ((pa.ipc.new_stream, ".arrows"), (pa.ipc.new_file, ".arrow")):
            sink = io.BytesIO()
            with opener(sink, self.table.schema) as writer:
                writer.write_table(self.table, max_chunksize=30)
            self.originals.append((suffix, sink.getvalue()))

    def case(self, rng: np.random.Generator, folder: Path) -> str:
        suffix, data = self.originals[rng.integers(len(self.originals))]
        unharmed = rng.random() < UNHARMED
        data = data if unharmed else harmed_bytes(rng, data)
        path = folder / f"table{suffix}"
        path.write_bytes(data)

        def reference() -> pa.Table | None:
            opener = pa.ipc.open_file if data[:6] == b"ARROW1" else pa.ipc.open_stream
            try:
                table = opener(pa.py_buffer(data)).read_all()
                table.validate(full=True)
            except (pa.ArrowException, OSError):
                return None
            return table

        return self.judge(rng, lambda: path, reference, unharmed=unharmed)


class ArrowMemory(Tables):
    """Arrow data handed over in memory, its buffers harmed: tables, batches, readers, C streams, datasets, pandas."""

    name = "arrow memory"

    def case(self, rng: np.random.Generator, folder: Path) -> str:
        unharmed = rng.random() < UNHARMED
        batch = self.table.combine_chunks().to_batches()[0]
        if not unharmed:
            at = int(rng.integers(batch.num_columns))
            column = harmed_column(rng, batch.column(at))
            if len(column) == batch.num_rows:
                columns = [column if k == at else each for k, each in enumerate(batch.columns)]
                batch = pa.RecordBatch.from_arrays(columns, names=batch.schema.names)
            else:
                batch = pa.RecordBatch.from_arrays([column], names=[batch.schema.names[at]])
        how = rng.integers(7)

        def source() -> Any:
            table = pa.Table.from_batches([batch])
            return [
                lambda: table,
                lambda: batch,
                lambda: pa.RecordBatchReader.from_batches(batch.schema, [batch]),
                lambda: _Exported(table),
                lambda: ds.dataset(table),
                lambda: [batch, batch],
                lambda: (each for each in [batch]),
            ][how]()

        def reference() -> pa.Table | None:
            table = pa.Table.from_batches([batch] * (2 if how == 5 else 1))
            try:
                table.validate(full=True)
            except pa.ArrowException:
                raise Wrong("a damaged column was used") from None
            return table

        if unharmed and how == 5:
            return "right"
        return self.judge(rng, source, reference, unharmed=unharmed)


class _Exported:
    """Something of another library that exports an Arrow stream."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self._table.__arrow_c_stream__(requested_schema)


class ParquetFiles(Tables):
    """Parquet files, bytes harmed anywhere or in the footer alone."""

    name = "parquet"

    def __init__(self) -> None:
        super().__init__()
        self.originals = []
        for options in (
            {"compression": "none"},
            {"compression": "snappy", "row_group_size": 25},
            {"compression": "zstd", "data_page_version": "2.0", "write_page_checksum": True},
            {"compression": "none", "use_dictionary": False, "row_group_size": 30},
            {"compression": "none", "version": "1.0", "write_statistics": False, "store_schema": False},
        ):
            sink = io.BytesIO()
            pq.write_table(self.table, sink, **options)
            self.originals.append(sink.getvalue())

    def case(self, rng: np.random.Generator, folder: Path) -> str:
        data = self.originals[rng.integers(len(self.originals))]
        unharmed = rng.random() < UNHARMED
        if not unharmed and rng.random() < 0.4:
            footer = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
            harmed = harmed_bytes(rng, data[footer:-8])
            data = data[:footer] + harmed + len(harmed).to_bytes(4, "little") + data[-4:]
        elif not unharmed:
            data = harmed_bytes(rng, data)
        path = folder / "table.parquet"
        path.write_bytes(data)

        def reference() -> pa.Table | None:
            try:
                table = pq.read_table(pa.BufferReader(data))
                table.validate(full=True)
            except (pa.ArrowException, OSError, ValueError):
                return None
            return table

        return self.judge(rng, lambda: path, reference, unharmed=unharmed)


class Text(Tables):
    """What CSV files and JSON lines share."""

    def base(self) -> pa.Table:
        # In quotes nothing is a text, and not a missing one.
        table = rows().drop_columns(["day", "code"])
        texts = [table["color"].fill_null("none"), table["shape"].cast(pa.string())]
        return table.set_column(0, "color", texts[0]).set_column(1, "shape", texts[1])

    def files(self) -> list[tuple[str, bytes]]:
        """Return suffixes and unharmed content."""
        raise NotImplementedError

    def __init__(self) -> None:
        super().__init__()
        self.originals = self.files()

    def case(self, rng: np.random.Generator, folder: Path) -> str:
        suffix, data = self.originals[rng.integers(len(self.originals))]
        unharmed = rng.random() < UNHARMED
        zipped = rng.random() < 0.1
        if not unharmed and not zipped:
            data = odd_header(rng, data) if rng.random() < 0.15 else harmed_text(rng, data)
        if zipped:
            data = gzip.compress(data, 1)
            data = data if unharmed else harmed_bytes(rng, data)
            suffix += ".gz"
        path = folder / f"table{suffix}"
        path.write_bytes(data)
        return self.judge(rng, lambda: path, lambda: None, unharmed=unharmed)


class CsvFiles(Text):
    """CSV files of several dialects."""

    name = "csv"

    def files(self) -> list[tuple[str, bytes]]:
        out = []
        for delimiter, decimal, encoding, quoted in (
            (",", ".", "utf-8", False),
            (";", ",", "utf-8-sig", False),
            ("\t", ".", "utf-8", True),
            ("|", ".", "latin-1", False),
        ):
            frame = self.table.to_pandas()
            text = frame.to_csv(index=False, sep=delimiter, decimal=decimal, quoting=1 if quoted else 0)
            # In quotes nothing is a text: a number that is missing has none.
            text = text.replace('""', "")
            out.append((".tsv" if delimiter == "\t" else ".csv", text.encode(encoding)))
        return out


class JsonLines(Text):
    """JSON lines."""

    name = "json lines"

    def files(self) -> list[tuple[str, bytes]]:
        frame = self.table.to_pandas()
        return [(".jsonl", frame.to_json(orient="records", lines=True).encode())]


class Spreadsheets(Text):
    """Spreadsheets: bytes of the archive harmed, or cells far out, odd dimensions and damaged parts in a whole one."""

    name = "spreadsheets"

    def files(self) -> list[tuple[str, bytes]]:
        import openpyxl

        book = openpyxl.Workbook()
        book.active.append(self.table.column_names)
        for row in self.table.to_pylist():
            book.active.append(list(row.values()))
        sink = io.BytesIO()
        book.save(sink)
        return [(".xlsx", sink.getvalue())]

    def case(self, rng: np.random.Generator, folder: Path) -> str:
        suffix, data = self.originals[0]
        unharmed = rng.random() < UNHARMED
        if not unharmed and rng.random() < 0.3:
            data = harmed_bytes(rng, data)
        elif not unharmed:
            with zipfile.ZipFile(io.BytesIO(data)) as archive:
                parts = harmed_book(rng, {name: archive.read(name) for name in archive.namelist()})
            sink = io.BytesIO()
            with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as archive:
                for name, content in parts.items():
                    archive.writestr(name, content)
            data = sink.getvalue()
        path = folder / f"table{suffix}"
        path.write_bytes(data)
        # What a cell holds is for the library that reads it to say.
        return self.judge(rng, lambda: path, lambda: None, unharmed=unharmed)


class SparseMatrices(Subject):
    """Sparse matrices of scipy whose indices lead anywhere: counted, learnt from, turned into features."""

    name = "sparse matrices"

    def __init__(self) -> None:
        rng = np.random.default_rng(2)
        self.matrix = sp.csr_array(np.where(rng.random((30, 6)) < 0.3, rng.normal(size=(30, 6)), 0.0))
        self.models = [gm.PCA(2).fit(self.matrix), gm.VarianceFilter().fit(self.matrix)]

    def case(self, rng: np.random.Generator, folder: Path) -> str:
        unharmed = rng.random() < UNHARMED
        matrix = self.matrix if unharmed else harmed_sparse(rng, self.matrix)
        model = self.models[rng.integers(2)]
        try:
            moments = gm.collect(matrix)
            model.transform(matrix)
            gm.HebbianPCA(1, n_epochs=1, random_state=0).fit(matrix)
        except GramianError as error:
            if unharmed:
                raise Wrong(f"an unharmed matrix is refused: {error}") from error
            return refused(error)
        dense = np.asarray(matrix.todense(), dtype=float)
        if np.isnan(dense).any():
            return "answered"
        if not np.allclose(moments.mean(), dense.mean(axis=0), rtol=1e-9, atol=1e-12 * max(1.0, np.abs(dense).max())):
            raise Wrong("the means are not those of the matrix")
        return "right" if unharmed else "answered"


SUBJECTS: dict[str, type[Subject]] = {
    subject.name: subject
    for subject in (
        MomentsFiles,
        ModelFiles,
        ArrowFiles,
        ArrowMemory,
        ParquetFiles,
        CsvFiles,
        JsonLines,
        Spreadsheets,
        SparseMatrices,
        Arguments,
    )
}
