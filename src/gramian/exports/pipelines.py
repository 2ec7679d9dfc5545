"""`register`: our steps within a Pipeline of scikit-learn, exported as a whole by skl2onnx.

skl2onnx asks a converter for the nodes of one step. The nodes are those of `to_onnx`; here its inputs are tied to what the step
is given: one variable per column, or, within a ColumnTransformer, one matrix of columns of one type.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, is_classifier, is_regressor

from gramian.errors import DataError, optional
from gramian.estimators.registry import METHODS
from gramian.estimators.spine.inputs import columns_in
from gramian.exports.description import described
from gramian.exports.onnx import OPSET, TYPES, input_kinds, to_onnx

ML_OPSET = 2
"""The version of `LabelEncoder` that skl2onnx knows."""


_OPTIONS = {"zipmap": [True, False, "columns"], "nocl": [True, False]}


def register() -> list[str]:
    """Register a converter for every estimator with skl2onnx, and return their names.

    Afterwards `skl2onnx.to_onnx(pipeline, rows)` exports a Pipeline that contains them. A column of numbers must be double or
    float, and a column of categories of the type that `to_onnx` says.

    Examples
    --------
    >>> "PCA" in register()
    True
    """
    update = optional("skl2onnx", "an export of a Pipeline", "skl2onnx", extra="exports").update_registered_converter
    for method in METHODS:
        options = _OPTIONS if issubclass(method.estimator, ClassifierMixin) else None
        update(method.estimator, f"Gramian{method.class_name}", _shapes, _convert, options=options)
    return [method.class_name for method in METHODS]


def _method_of(model: Any) -> str:
    return "predict" if is_classifier(model) or is_regressor(model) else "transform"


def _shapes(operator: Any) -> None:
    from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType, Int64TensorType, StringTensorType

    model = operator.raw_operator
    rows, single = operator.inputs[0].get_first_dimension(), _single(operator)
    floats = FloatTensorType if single else DoubleTensorType
    method = _method_of(model)
    if is_classifier(model):
        labels = StringTensorType if isinstance(model.classes_[0], str) else Int64TensorType
        operator.outputs[0].type = labels([rows])
        operator.outputs[1].type = floats([rows, len(model.classes_)])
    else:
        operator.outputs[0].type = floats([rows, len(described(model, method).names)])


def _single(operator: Any) -> bool:
    """Whether the step is in single precision: unless one of its inputs is double."""
    return not any(type(each.type).__name__ == "DoubleTensorType" for each in operator.inputs)


def _convert(scope: Any, operator: Any, container: Any) -> None:
    from onnx import TensorProto

    model = operator.raw_operator
    method, operation = _method_of(model), scope.get_unique_operator_name
    graph = to_onnx(model, dtype="float32" if _single(operator) else "float64", method=method).graph
    names: dict[str, str] = {}

    def unique(tensor: str) -> str:
        if tensor not in names:
            names[tensor] = scope.get_unique_variable_name(f"gramian_{tensor}")
        return names[tensor]

    kinds = input_kinds(described(model, method))
    for origin, variable, place in _given(operator, columns_in(model, model.design_)):
        if origin not in kinds:
            continue
        source = variable.full_name
        if place is not None:
            at, column = unique(f"place_{origin}"), unique(f"column_{origin}")
            container.add_initializer(at, TensorProto.INT64, [1], [place])
            container.add_node("Gather", [source, at], column, op_version=1, name=operation("Gather"), axis=1)
            source = column
        kind = getattr(TensorProto, TYPES[kinds[origin]])
        if kind == TensorProto.STRING:
            names[origin] = source
        else:
            container.add_node("Cast", source, unique(origin), op_version=9, name=operation("Cast"), to=kind)
    outputs = ["label", "probabilities"] if is_classifier(model) else [graph.output[0].name]
    names |= {name: variable.full_name for name, variable in zip(outputs, operator.outputs, strict=True)}
    for constant in graph.initializer:
        constant.name = unique(constant.name)
        container.initializers.append(constant)
    for node in graph.node:
        node.name = operation(f"Gramian{node.op_type}")
        node.input[:] = [unique(each) for each in node.input]
        node.output[:] = [unique(each) for each in node.output]
        if node.op_type == "LabelEncoder":
            _write_lists(scope, container, node)
        container.nodes.append(node)
    container.node_domain_version_pair_sets |= {("", OPSET), ("ai.onnx.ml", ML_OPSET)}


def _given(operator: Any, origins: list[str]) -> Iterator[tuple[str, Any, int | None]]:
    """Yield each column of the fit with the variable that holds it, and its place where that holds several."""
    given = []
    for variable in operator.inputs:
        width = variable.type.shape[1] if len(variable.type.shape) > 1 else 1
        width = len(origins) if width is None else width
        given += [(variable, place if width > 1 else None) for place in range(width)]
    if len(given) != len(origins):
        raise DataError(f"a step was fitted on {len(origins)} columns and is given {len(given)} in this Pipeline")
    by_name = {variable.raw_name: (variable, place) for variable, place in given}
    # Variables of their own are known by name; the columns of a matrix by their place.
    named = set(origins) <= set(by_name)
    for origin, found in zip(origins, given, strict=True):
        yield (origin, *(by_name[origin] if named else found))


def _write_lists(scope: Any, container: Any, node: Any) -> None:
    """Write the keys and codes of an encoder as lists, which is how the domain version that skl2onnx knows has them."""
    from onnx import TensorProto, helper, numpy_helper

    tensors = {each.name: each.t for each in node.attribute}
    keys = numpy_helper.to_array(tensors["keys_tensor"])
    kind = {"O": "strings", "i": "int64s", "f": "floats"}[keys.dtype.kind]
    if kind == "floats":
        if not ((keys == keys.astype(np.float32)) | np.isnan(keys)).all():
            raise DataError("a column of categories has labels that float32 does not hold; fit it as text")
        cast = scope.get_unique_variable_name("gramian_single")
        container.add_node("Cast", node.input[0], cast, op_version=9, name=scope.get_unique_operator_name("Cast"),
                           to=TensorProto.FLOAT)  # fmt: skip
        node.input[0] = cast
    del node.attribute[:]
    codes = [int(code) for code in numpy_helper.to_array(tensors["values_tensor"])]
    listed = keys.tolist()
    node.attribute.extend([
        helper.make_attribute(f"keys_{kind}", listed),
        helper.make_attribute("values_int64s", codes),
        helper.make_attribute("default_int64", int(numpy_helper.to_array(tensors["default_tensor"])[0])),
    ])  # fmt: skip
