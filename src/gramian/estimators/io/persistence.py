"""`save` and `load`: one safe file for moments and for every estimator.

A model file holds the class's name (looked up in a fixed list, never imported by path), its parameters, and its fitted
attributes, without the moments it was fitted from unless it goes on from them (extreme learning machines). Loading builds
only the values that `gramian.maps.state` lists.
"""

from __future__ import annotations

import datetime
import json
import os
from collections.abc import Mapping
from typing import Any

from sklearn.utils.validation import check_is_fitted

from gramian.errors import Call, DataError, FileFormatError, GramianError
from gramian.estimators.io.registry import estimator_classes
from gramian.estimators.spine import fields
from gramian.estimators.spine.estimator import assign, solve
from gramian.maps import state
from gramian.moments import file as moments_file
from gramian.moments.value import Moments
from gramian.parameters import check_parameters
from gramian.storage import container


def save(model: Any, path: str | os.PathLike[str], metadata: Mapping[str, str] | None = None) -> None:
    """Write moments or a fitted estimator to one checksummed file, which appears whole or not at all.

    Parameters
    ----------
    model : Moments or estimator
        Fitted, and one of this package.
    path : path
        A symbolic link is written through.
    metadata : mapping of texts, optional
        Notes to keep in the header.

    See Also
    --------
    load : the way back.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import gramian as gm
    >>> model = gm.PCA(n_components=1).fit([[1.0, 2.0], [2.0, 4.0], [4.0, 7.0]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     gm.save(model, pathlib.Path(folder) / "pca.model", metadata={"note": "three rows"})
    ...     gm.load(pathlib.Path(folder) / "pca.model").transform([[1.0, 2.0]]).shape
    (1, 1)
    """
    if isinstance(model, Moments):
        model.save(path, metadata)
        return
    container.write(path, *_parts(model, metadata))


def to_bytes(model: Any) -> bytes:
    """Return what `save` would write of an estimator: how models travel between processes.

    Examples
    --------
    >>> import gramian as gm
    >>> model = gm.PCA(n_components=1).fit([[1.0, 2.0], [2.0, 4.0], [4.0, 7.0]])
    >>> from_bytes(to_bytes(model)).transform([[1.0, 2.0]]).shape
    (1, 1)
    """
    return container.write_bytes(*_parts(model, None))


def can_be_saved(model: Any) -> bool:
    """Whether an estimator is one of this package, which a file can hold."""
    return estimator_classes().get(type(model).__name__) is type(model)


def _parts(model: Any, metadata: Mapping[str, str] | None) -> tuple[state.Tensors, dict[str, str]]:
    """Return the arrays and the header of a file of an estimator."""
    name = type(model).__name__
    if not can_be_saved(model):
        raise DataError(Call("save"), f" takes Moments or an estimator of this package; got {name}")
    check_is_fitted(model)
    if vars(model).get("_unsolved"):
        solve(model)
    parameters = model.get_params(deep=False)
    fitted = fields.held(model) | getattr(model, "_beside_in_file", dict)()
    tensors: state.Tensors = {}
    return tensors, {
        "kind": "model",
        "class": name,
        "version": moments_file.package_version(),
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "parameters": json.dumps(state.pack(parameters, tensors, "parameters")),
        "state": json.dumps(state.pack(fitted, tensors, "state")),
        "metadata": json.dumps(moments_file.checked_notes(metadata)),
    }


def load(path: str | os.PathLike[str]) -> Any:
    """Read moments or an estimator written by `save`; nothing in the file is executed.

    Parameters
    ----------
    path : path

    Returns
    -------
    Moments or estimator
        A model as it was fitted, without the moments that it was fitted from; an extreme learning machine has them, so that
        what two files hold can be added.

    Raises
    ------
    FileFormatError
        In one line, where the file is damaged, from a newer release, or none of ours.

    See Also
    --------
    save : the way there.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import gramian as gm
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     gm.save(gm.collect([[1.0], [3.0]]), pathlib.Path(folder) / "two.moments")
    ...     gm.load(pathlib.Path(folder) / "two.moments").mean()
    array([2.])
    """
    header = container.read_header(path)
    if header.get("kind") == "moments":
        return Moments.load(path)
    if header.get("kind") == "checkpoint":
        again = Call("collect", checkpoint=os.fspath(path))
        raise FileFormatError(
            f"{os.fspath(path)!r} keeps the progress of a pass; the same ", again, " goes on from there"
        )
    return _whole(*container.read(path), os.fspath(path))


def from_bytes(data: bytes, name: str = "the bytes") -> Any:
    """Return an estimator from what `to_bytes` gave; `name` is what errors call it."""
    return _whole(*container.read_bytes(data, name), name)


def _whole(tensors: state.Tensors, header: Mapping[str, str], name: str) -> Any:
    known = estimator_classes().get(header.get("class", ""))
    if header.get("kind") != "model" or known is None:
        raise FileFormatError(
            f"{name!r} holds a {(header.get('class') or header.get('kind', 'value'))[:60]}, which this release does not know; "
            f"upgrade gramian"
        )
    try:
        parameters = state.unpack(json.loads(header["parameters"]), tensors)
        renamed = getattr(known, "_renamed_parameters", {})
        parameters = {renamed.get(key, key): value for key, value in parameters.items()}
        model = known(**parameters)
        check_parameters(model)
        fields.restore(model, state.unpack(json.loads(header["state"]), tensors))
        getattr(model, "_take_up", tuple)()
        # What was built from the file is learned as well.
        assign(model, {key: value for key, value in vars(model).items() if key not in parameters})
    except moments_file.MEANINGLESS as error:
        words = str(error) if isinstance(error, GramianError) else moments_file.one_line(error)
        # A text in a file may have any length.
        raise FileFormatError(f"{name!r} does not describe a {known.__name__}: {words[:300]}") from None
    return model
