"""`to_onnx`: a fitted model as one ONNX graph, with an input per source column.

Labels become codes by a `LabelEncoder`, whose default is the code of a level never seen; what a level adds is a row of a table
(`Gather`). Numbers come in as doubles and are centred before they are rounded to the type of the model, so that float32 loses
no digits of numbers far from zero.

*Inputs* have the shape (rows, 1):

- text for labels that are text; a missing value is `(missing)`, or the next name of its kind that no label has;
- int64 for labels that are whole numbers, bool for booleans; double for both where a missing value, NaN, was seen in fit;
- double for numbers, NaN where missing; durations are in seconds;
- int64 for dates and times: seconds since 1970, of a time of day since midnight; where missing `NaT` of numpy as int64.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from gramian.arrays.types import Array
from gramian.design.schema import MISSING
from gramian.errors import DataError, optional
from gramian.exports.description import Category, Codes, Description, Language, Number, described, written
from gramian.maps.formula import EXP_END, Choose, Function
from gramian.parameters import check
from gramian.storage.atomic import appearing

OPSET, ML_OPSET, IR_VERSION = 17, 4, 9
"""Versions that runtimes since 2023 read."""

NAT = -(2**63)
DAY = 86_400

TYPES = {"text": "STRING", "whole": "INT64", "offset": "INT64", "date": "INT64", "boolean": "BOOL", "double": "DOUBLE"}
"""Of inputs, by what they hold."""

OTHERS = {"transform": "features", "predict": "label", "predict_proba": "probabilities"}
"""What the output of a method is called; every other method gives `score`."""


def to_onnx(model: Any, path: Any = None, dtype: str = "float32", method: str = "transform") -> Any:
    """Return what a fitted model gives as an ONNX graph, and write it to a file where one is named.

    A level never seen adds nothing, as in `transform`. An infinite number raises in Python and is not defined here.

    Parameters
    ----------
    model : fitted estimator
        As in `to_sql`.
    path : str or path, optional
        Where to write the graph; the file appears when it is whole.
    dtype : {"float32", "float64"}
        Of weights, sums and outputs. Numbers come in as doubles either way.
    method : str
        `"transform"`, `"predict"`, `"predict_proba"`, `"decision_function"`, `"anomaly_score"` or `"score_samples"`.

    Returns
    -------
    onnx.ModelProto
        One input per source column, by name, of shape (rows, 1): text, int64, bool or double; dates as int64 seconds since
        1970. Outputs: `features` of `transform`; `label`, with `probabilities` and `score` where the model has them, of
        `predict` and `predict_proba`; `score` of the other methods.

    See Also
    --------
    to_sql, to_polars : other languages.
    check_export : whether the graph says the same.

    Examples
    --------
    >>> import gramian as gm
    >>> import pyarrow as pa
    >>> rows = pa.table({"city": ["Bonn", "Kiel", "Bonn", None], "rent": [510.0, 640.0, 930.0, 700.0]})
    >>> graph = gm.to_onnx(gm.Ridge(alpha=0).fit(rows, "rent"), method="predict").graph
    >>> [each.name for each in graph.input], [each.name for each in graph.output]
    (['city'], ['score'])
    """
    check("dtype", dtype, "float32", "float64")
    description = described(model, method)
    graph = _Graph(description, dtype, _onnx())
    outputs = graph.outputs(_beside(model, description))
    made = graph.model(outputs, model)
    if path is not None:
        with appearing(os.fspath(path)) as part:
            _onnx().save_model(made, part)
    return made


def _beside(model: Any, description: Description) -> dict[str, Description]:
    """Return what a graph gives beside its method: of a classifier label, probabilities and score together."""
    given = {description.method: description}
    if description.method in ("predict", "predict_proba") and hasattr(model, "classes_"):
        for method in ("predict", "predict_proba", "decision_function"):
            try:
                given[method] = described(model, method)
            except DataError:
                continue
    elif description.method == "predict" and hasattr(model, "anomaly_score"):
        given["anomaly_score"] = described(model, "anomaly_score")
    return given


def _onnx() -> Any:
    return optional("onnx", "to_onnx", "onnx", extra="exports")


def missing_text(category: Category) -> str:
    """Return the text that stands for a missing value of a column of text.

    Examples
    --------
    >>> import gramian as gm
    >>> from gramian.exports.description import described
    >>> missing_text(described(gm.PCA().fit({"a": ["x", "(missing)", "x"], "b": [1.0, 2.0, 4.0]})).categories[0])
    '(missing) (2)'
    """
    name, k, taken = MISSING, 1, set(category.keys)
    while name in taken:
        k += 1
        name = f"{MISSING} ({k})"
    return name


def input_kind(category: Category) -> str:
    """Return what an input of a category holds: "text", "whole", "boolean", "double" or "date"."""
    if category.part is not None:
        return "date"
    if category.family in ("text", "null"):
        return "text"
    missing = category.missing != category.unseen
    if category.edges is not None or missing or any(isinstance(key, float) for key in category.keys):
        return "double"
    return "whole" if category.family == "number" else "boolean"


def input_kinds(description: Description) -> dict[str, str]:
    """Return what each input holds: a column that is read as a number and as bins of it is one input."""
    kinds = {category.origin: input_kind(category) for category in description.categories if category.sides is None}
    kinds |= {number.origin: "offset" if number.offset else "double" for number in description.numbers}
    return {name: kinds[name] for name in description.origins}


_KEEPS_TYPE = {
    "Gather", "Add", "Sub", "Mul", "Div", "Log", "Concat", "MatMul", "Sum", "ReduceSum", "Tanh", "Sigmoid", "Relu", "Cos",
    "Sin", "Softmax", "Clip", "Exp", "Identity",
}  # fmt: skip
"""Operators that give what they are given first."""


class _Graph(Language[str]):
    """Collects the nodes of a graph; a value is the name of a tensor, (rows, width)."""

    def __init__(self, description: Description, dtype: str, onnx: Any) -> None:
        super().__init__(description)
        self._onnx, self._dtype = onnx, np.dtype(dtype)
        self._nodes: list[Any] = []
        self._constants: list[Any] = []
        self._known: dict[Any, str] = {}
        self._types: dict[str, Any] = {}
        kinds = self._held = input_kinds(description)
        self._inputs = [
            onnx.helper.make_tensor_value_info(name, getattr(onnx.TensorProto, TYPES[kind]), ["rows", 1])
            for name, kind in kinds.items()
        ]
        self._taken = set(kinds)

    def outputs(self, given: dict[str, Description]) -> list[Any]:
        """Write what every method gives, and return the outputs of the graph."""
        out, helper, proto = [], self._onnx.helper, self._onnx.TensorProto
        if self._description.formula is None:
            for value in list(self._inputs):
                name = self._node("Identity", [value.name], f"features_{value.name}")
                out.append(helper.make_tensor_value_info(name, value.type.tensor_type.elem_type, ["rows", 1]))
            return out
        for method, description in given.items():
            formula = description.formula
            assert formula is not None
            regression = method == "predict" and not any(isinstance(step, Choose) for step in formula.steps)
            found, name = written(self, formula), "score" if regression else OTHERS.get(method, "score")
            kind: Any = helper.np_dtype_to_tensor_dtype(self._dtype)
            shape: list[Any] = ["rows", len(description.names)]
            if name == "label":
                text = isinstance(formula.steps[-1].classes[0], str)  # type: ignore[union-attr]
                kind, shape = proto.STRING if text else proto.INT64, ["rows"]
                found = self._node("Reshape", [found, self._constant(np.array([-1]))])
            out.append(helper.make_tensor_value_info(self._node("Identity", [found], name), kind, shape))
        return out

    def model(self, outputs: list[Any], model: Any) -> Any:
        """Return the graph with these outputs."""
        helper = self._onnx.helper
        graph = helper.make_graph(self._nodes, type(model).__name__, self._inputs, outputs, self._constants)
        opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid("ai.onnx.ml", ML_OPSET)]
        made = helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION, producer_name="gramian")
        helper.set_model_props(made, {
            "gramian.method": self._description.method,
            "gramian.names": "\n".join(self._description.names),
            "gramian.missing": "\n".join(f"{c.origin}\t{missing_text(c)}" for c in self._description.categories
                                         if c.sides is None and input_kind(c) == "text"),
        })  # fmt: skip
        return made

    # What is read

    def by_level(self, category: int, table: Array) -> str:
        return self._rows_of(self._code(category), table)

    def by_pair(self, first: int, second: int, table: Array) -> str:
        return self._rows_of(self._cell(first, second), table.reshape(-1, 1))

    def by_seen_pair(self, first: int, second: int, rows: Codes, columns: Codes, values: Array) -> str:
        width = self._description.categories[second].unseen + 1
        place = self._encoder(self._cell(first, second), rows * width + columns, np.arange(len(values)), len(values))
        return self._rows_of(place, np.append(values, 0.0)[:, None])

    def number(self, number: Number) -> str:
        value = number.origin
        if number.offset:
            gap = self._whole("Equal", value, NAT)
            taken = self._cast(self._whole("Sub", value, int(number.offset)), np.float64)
            value = self._node("Where", [gap, self._constant(np.array([np.nan])), taken])
        return self._node("Log", [value]) if number.logarithm else value

    # Arithmetic

    def total(self, values: list[str], offset: Array) -> str:
        values = [self._typed(value) for value in values]
        constant = self._constant(np.asarray(offset, self._dtype)[None])
        if not values:
            # The offset alone, in each row.
            size = self._node("Shape", [self._inputs[0].name])
            ones = self._node("ConstantOfShape", [size], value=self._tensor(np.zeros(1, self._dtype)))
            return self._node("Add", [ones, constant])
        return self._node("Sum", [*values, constant])

    def product(self, value: str, matrix: Array) -> str:
        return self._node("MatMul", [self._typed(value), self._constant(np.asarray(matrix, self._dtype))])

    def pick(self, value: str, places: Codes) -> str:
        return self._node("Gather", [value, self._constant(np.asarray(places, np.int64))], axis=1)

    def join(self, values: list[str]) -> str:
        return self._node("Concat", values, axis=1)

    def combine(self, sign: str, left: Any, right: Any) -> str:
        names = {"+": "Add", "-": "Sub", "*": "Mul", "/": "Div"}
        a, b = self._alike(left, right)
        return self._node(names[sign], [a, b])

    def log(self, value: str) -> str:
        return self._node("Log", [value])

    def where(self, left: str, least: Any, above: Any, below: Any) -> str:
        left, least = self._alike(left, least)
        # Two arrays are of the type of what they are chosen by.
        above, below = self._alike(above, below, *([] if isinstance(above, str) or isinstance(below, str) else [left]))[
            :2
        ]
        return self._node("Where", [self._node("Greater", [left, least]), above, below])

    def filled(self, value: str) -> str:
        zero = self._constant(np.zeros(1, self._type(value)))
        return self._node("Where", [self._node("IsNaN", [value]), zero, value])

    def apply(self, function: Function, value: str) -> str:
        simple = {"tanh": "Tanh", "sigmoid": "Sigmoid", "relu": "Relu", "cos": "Cos"}
        if function == "cos" and self._type(value) == np.float64:
            # Runtimes know the sine of doubles before their cosine.
            return self._node("Sin", [self._node("Add", [value, self._constant(np.full(1, np.pi / 2))])])
        if function in simple:
            return self._node(simple[function], [value])
        if function == "softmax":
            return self._node("Softmax", [value], axis=1)
        if function == "proportion":
            return self._node("Div", [value, self._node("ReduceSum", [value, self._constant(np.array([1]))])])
        if function == "step":
            zero = self._constant(np.zeros(1, self._type(value)))
            return self._cast(self._node("GreaterOrEqual", [value, zero]), self._dtype)
        low, high = (-EXP_END, EXP_END) if function == "exp" else (0.0, 1.0)
        ends = [self._constant(np.array(end, self._type(value))) for end in (low, high)]
        cut = self._node("Clip", [value, *ends])
        return self._node("Exp", [cut]) if function == "exp" else cut

    def choose(self, value: str, step: Choose) -> str:
        classes = step.classes
        zero = self._constant(np.zeros(1, self._type(value)))
        if len(classes) == 2:
            test = "GreaterOrEqual" if step.at_least else "Greater"
            at = self._cast(self._node(test, [value, zero]), np.int64)
        else:
            at = self._node("ArgMax", [value], axis=1)
        if isinstance(classes[0], str):
            return self._node("Gather", [self._constant(classes.astype(object)), at])
        if classes.dtype.kind not in "iub":
            raise DataError(f"classes of type {classes.dtype} cannot be labels of ONNX; name them by text or integers")
        return self._node("Gather", [self._constant(classes.astype(np.int64)), at])

    # Codes

    def _code(self, category: int) -> str:
        kept = ("code", category)
        if kept not in self._known:
            known = self._description.categories[category]
            if known.sides is not None and known.cells is not None:
                width = self._description.categories[known.sides[1]].unseen + 1
                cells = known.cells[0] * width + known.cells[1]
                self._known[kept] = self._encoder(self._cell(*known.sides), cells, known.codes, known.unseen)
            else:
                self._known[kept] = self._interval(known) if known.edges is not None else self._level(known)
        return self._known[kept]

    def _level(self, known: Category) -> str:
        kind, keys, codes = input_kind(known), known.keys, known.codes
        if kind == "date":
            return self._part(known)
        if kind == "boolean":
            whole = self._cast(known.origin, np.int64)
            return self._encoder(whole, np.array([int(key) for key in keys], np.int64), codes, known.unseen)
        if kind == "text":
            texts = np.array([*keys, missing_text(known)], dtype=object)
            return self._encoder(known.origin, texts, np.append(codes, known.missing), known.unseen)
        if kind == "whole":
            return self._encoder(known.origin, np.array(keys, np.int64), codes, known.unseen)
        if not known.exact:
            raise DataError(
                f"column {known.origin!r} has labels beyond 2^53 and missing values, which no input of ONNX holds; use text"
            )
        doubles = np.array([*map(float, keys), np.nan])
        return self._encoder(known.origin, doubles, np.append(codes, known.missing), known.unseen)

    def _part(self, known: Category) -> str:
        """Return the code of a part of a date, from seconds."""
        seconds = known.origin
        day = self._floor(seconds, DAY)
        if known.part == "hour":
            value = self._floor(self._whole("Sub", seconds, self._whole("Mul", day, DAY)), 3600)
        elif known.part == "dayofweek":
            # The first day of 1970 was a Thursday.
            shifted = self._whole("Add", day, 3)
            value = self._whole("Sub", shifted, self._whole("Mul", self._floor(shifted, 7), 7))
        else:
            value = self._month(day)
        code = self._encoder(value, np.array(known.keys, np.int64), known.codes, known.unseen)
        gap = self._whole("Equal", seconds, NAT)
        return self._node("Where", [gap, self._constant(np.array([known.missing])), code])

    def _month(self, day: str) -> str:
        """Return the month of a day since 1970, in the calendar that starts its years in March."""
        shifted = self._whole("Add", day, 719_468)
        of_era = self._whole("Sub", shifted, self._whole("Mul", self._floor(shifted, 146_097), 146_097))
        leaps = [self._floor(of_era, size) for size in (1460, 36_524, 146_096)]
        years = self._whole("Sub", self._whole("Add", self._whole("Sub", of_era, leaps[0]), leaps[1]), leaps[2])
        year = self._floor(years, 365)
        leap = self._whole("Sub", self._floor(year, 4), self._floor(year, 100))
        before = self._whole("Add", self._whole("Mul", year, 365), leap)
        month = self._floor(self._whole("Add", self._whole("Mul", self._whole("Sub", of_era, before), 5), 2), 153)
        late = self._node("Greater", [month, self._constant(np.array([9]))])
        return self._node("Where", [late, self._whole("Sub", month, 9), self._whole("Add", month, 3)])

    def _whole(self, kind: str, left: str, right: Any) -> str:
        return self._node(kind, [left, right if isinstance(right, str) else self._constant(np.array([right]))])

    def _floor(self, value: str, by: int) -> str:
        """Return value // by: `Mod` has the sign of the divisor."""
        rest = self._whole("Mod", value, by)
        return self._whole("Div", self._whole("Sub", value, rest), by)

    def _interval(self, known: Category) -> str:
        assert known.edges is not None
        assert known.intervals is not None
        value = self._cast(known.origin, np.float64) if self._held[known.origin] == "offset" else known.origin
        place = self._constant(np.zeros((1, 1), np.int64))
        if len(known.edges):
            above = self._cast(self._node("GreaterOrEqual", [value, self._constant(known.edges[None])]), np.int64)
            place = self._node("ReduceSum", [above, self._constant(np.array([1]))])
        code = self._node("Gather", [self._constant(known.intervals), place])
        keys = np.array([*map(float, known.keys), np.nan])
        own = self._encoder(value, keys, np.append(known.codes, known.missing), -1)
        alone = self._node("Less", [own, self._constant(np.array([0]))])
        return self._node("Where", [alone, code, own])

    def _cell(self, first: int, second: int) -> str:
        width = self._description.categories[second].unseen + 1
        return self._whole("Add", self._whole("Mul", self._code(first), width), self._code(second))

    def _encoder(self, value: str, keys: Any, codes: Any, otherwise: int) -> str:
        """Return the code of a key, `otherwise` for others."""
        if not len(keys):
            # An encoder has a key.
            keys, codes = np.zeros(1, np.int64), np.full(1, otherwise)
        found = {"keys": keys, "values": np.asarray(codes, np.int64), "default": np.array([otherwise], np.int64)}
        tensors = {f"{name}_tensor": self._tensor(each) for name, each in found.items()}
        return self._node("LabelEncoder", [value], domain="ai.onnx.ml", **tensors)

    def _rows_of(self, code: str, table: Array) -> str:
        """Return the row of a table that a code, (rows, 1), stands for."""
        flat = self._node("Reshape", [code, self._constant(np.array([-1]))])
        return self._node("Gather", [self._constant(np.asarray(table, self._dtype)), flat])

    # Nodes

    def _node(self, kind: str, inputs: Sequence[str], name: str | None = None, **options: Any) -> str:
        if name is None:
            name = f"gm{len(self._nodes)}"
            while name in self._taken:
                name = f"{name}_"
        elif name in self._taken:
            raise DataError(f"the source column {name!r} has the name of an output; rename it before the fit")
        # What is written twice is computed once.
        shared = (kind, *inputs, *sorted((k, repr(v)) for k, v in options.items())) if "domain" not in options else None
        if shared is not None and shared in self._known and name.startswith("gm"):
            return self._known[shared]
        self._nodes.append(self._onnx.helper.make_node(kind, list(inputs), [name], **options))
        if shared is not None:
            self._known[shared] = name
        if kind == "Cast":
            self._types[name] = self._onnx.helper.tensor_dtype_to_np_dtype(options["to"])
        elif kind in _KEEPS_TYPE:
            self._types[name] = self._type(inputs[0])
        elif kind == "Where":
            self._types[name] = self._type(inputs[1])
        return name

    def _type(self, name: str) -> Any:
        """Return the type of floats of a tensor: inputs are doubles."""
        return self._types.get(name, np.dtype(np.float64))

    def _typed(self, value: str) -> str:
        return value if self._type(value) == self._dtype else self._cast(value, self._dtype)

    def _cast(self, value: str, dtype: Any) -> str:
        return self._node("Cast", [value], to=self._onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))

    def _alike(self, *values: Any) -> list[str]:
        """Return tensors and arrays as tensors of one type: that of the model, unless all of them are doubles."""
        kinds = {self._type(value) for value in values if isinstance(value, str)}
        kind = kinds.pop() if len(kinds) == 1 else self._dtype
        out = []
        for value in values:
            if isinstance(value, str):
                out.append(value if self._type(value) == kind else self._cast(value, kind))
            else:
                out.append(self._constant(np.asarray(value, kind)[None]))
        return out

    def _constant(self, values: Any) -> str:
        held = tuple(values) if values.dtype == object else values.tobytes()
        key = ("constant", values.dtype.str, values.shape, held)
        if key not in self._known:
            name = f"gmc{len(self._constants)}"
            while name in self._taken:
                name = f"{name}_"
            self._constants.append(self._tensor(values, name))
            self._known[key] = name
            self._types[name] = values.dtype
        return self._known[key]

    def _tensor(self, values: Any, name: str = "t") -> Any:
        if values.dtype == object:
            texts = [text.encode() for text in values]
            return self._onnx.helper.make_tensor(name, self._onnx.TensorProto.STRING, list(values.shape), texts)
        return self._onnx.numpy_helper.from_array(np.ascontiguousarray(values), name)
