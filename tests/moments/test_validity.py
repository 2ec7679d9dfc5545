"""Files whose checksum is right and whose content is not: every one is refused in one line, or means what it says.

A mutation changes the structure of a file (an entry of an array, its shape or type, an entry of the description) and writes the
checksum anew, as whoever means harm would.
"""

import json
import os
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import gramian as gm
from gramian.errors import FileFormatError, GramianError
from gramian.moments.algebra.feasibility import Peak
from gramian.moments.file import check_moments, check_possible
from gramian.storage import container

from ..fuzz.mutators import harmed_container

QUICK = 150


def frame(rng, n=300):
    return pd.DataFrame({
        "color": rng.choice(["red", "blue", None], n),
        "id": rng.integers(0, 2**16 + 300, n).astype(str),
        "zip": rng.integers(0, 3000, n).astype(str),
        "size": np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n)),
        "rooms": rng.integers(1, 6, n),
        "kind": rng.choice(["a", "b"], n),
    })  # fmt: skip


@pytest.fixture(scope="module")
def originals(tmp_path_factory):
    """Files of moments, with and without folds and weights, and of models."""
    rng = np.random.default_rng(0)
    folder, data = tmp_path_factory.mktemp("files"), frame(rng, 3000)
    small = data.drop(columns=["id", "zip"]).iloc[:300]
    values = {
        "plain": gm.collect(data),
        "folds": gm.collect(small, folds=2),
        "weighted": gm.collect(small.drop(columns="rooms"), sample_weight=rng.random(300)),
        "pca": gm.PCA().fit(small),
        "fisher": gm.FisherDiscriminant().fit(small, "kind"),
        "density": gm.DensityEmbedding().fit(small),
        "gower": gm.ClassicalMDS(metric="gower").fit(small.iloc[:20]),
    }
    for name, value in values.items():
        gm.save(value, folder / name)
    return {name: (folder / name, container.read(folder / name)) for name in values}, small


def use(value, small):
    """Ask a value that was loaded what its kernels answer."""
    if isinstance(value, gm.Moments):
        coded = value.coded
        for a in coded[:3]:
            for b in coded[:3]:
                value.crosstab(a, b, sparse=True).sum()
        value.mean()
        assert (value + value).n_rows == 2 * value.n_rows
        return
    value.transform(small)
    if hasattr(value, "anomaly_score"):
        value.anomaly_score(small)


def attack(originals, seed, path):
    """Return how one mutated file ends: "refused", "used", or "refused later"."""
    files, small = originals
    rng = np.random.default_rng(seed)
    name = list(files)[rng.integers(len(files))]
    container.write(path, *harmed_container(rng, *files[name][1]))
    try:
        value = gm.load(path)
    except FileFormatError as error:
        return "refused" if "\n" not in str(error) and len(str(error)) < 1000 else f"at length, seed {seed}"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            use(value, small)
    except (GramianError, ValueError, AttributeError):
        return "refused later"
    return "used"


@pytest.mark.hypothesis
def test_mutated_files_are_refused_or_mean_what_they_say(originals, tmp_path):
    # The same files in every run of the tests; others in each round of `make fuzz`.
    fuzz = os.environ.get("GRAMIAN_HYPOTHESIS") == "fuzz"
    first = int.from_bytes(os.urandom(5)) if fuzz else 0
    found = [attack(originals, first + k, tmp_path / "mutant") for k in range(1000 if fuzz else QUICK)]
    assert set(found) <= {"refused", "used", "refused later"}
    assert found.count("refused") > len(found) / 2


def test_the_originals_are_fine(originals):
    for path, _ in originals[0].values():
        value = gm.load(path)
        if isinstance(value, gm.Moments):
            check_moments(value)
    use(gm.load(originals[0]["plain"][0]), originals[1])


def test_indices_outside_a_sparse_table_are_refused(originals, tmp_path):
    """They ended the process where a table was asked for."""
    _, (tensors, header) = originals[0]["plain"]
    name = next(name for name in tensors if name.endswith(".indices"))
    wrong = tensors[name].copy()
    wrong[len(wrong) // 2] = 2**30
    container.write(tmp_path / "bad", {**tensors, name: wrong}, header)
    with pytest.raises(FileFormatError, match="index outside"):
        gm.load(tmp_path / "bad")


def test_weights_and_means_cut_alike_are_refused(originals, tmp_path):
    """They returned what memory happened to hold."""
    _, (tensors, header) = originals[0]["pca"]
    state = json.loads(header["state"])
    cut = {}
    for name, values in tensors.items():
        if name.endswith(("projection_.weights", "design.mean")):
            cut[name] = values[:-1]
    text = json.dumps(state)
    for name in cut:
        text = text.replace(
            json.dumps({"array": name, "shape": list(tensors[name].shape)}),
            json.dumps({"array": name, "shape": list(cut[name].shape)}),
        )
    assert len(cut) == 2
    container.write(tmp_path / "bad", {**tensors, **cut}, {**header, "state": text})
    with pytest.raises(FileFormatError, match="do not fit each other"):
        gm.load(tmp_path / "bad")


def test_a_deep_header_is_refused_before_the_checksum(originals, tmp_path):
    path = tmp_path / "deep"
    deep = b'{"__metadata__":' + b"[" * 200_000 + b"]" * 200_000 + b"}"
    path.write_bytes(len(deep).to_bytes(8, "little") + deep)
    with pytest.raises(FileFormatError):
        gm.load(path)


@pytest.mark.parametrize(
    "change",
    [
        {"n_rows": -1},
        {"n_rows": 2**63},
        {"n_rows": True},
        {"total_weight": float("nan")},
        {"library": "os"},
        {"total_weight": 299},
        {"peak": Peak(rows=10**30)},
        {"peak": Peak(weight=float("nan"))},
        {"labels": ()},
        {"sums": ()},
    ],
)
def test_parts_that_contradict_each_other_are_refused(change):
    moments = gm.collect(frame(np.random.default_rng(1))[["color", "size"]])
    with pytest.raises((FileFormatError, LookupError, ValueError)):
        check_moments(replace(moments, **change))


def folded(rng):
    return gm.collect(frame(rng)[["color", "kind", "rooms", "size"]], folds=2)


def moved(array, place, by):
    array = array.copy()
    array[place] += by
    return array


@pytest.mark.parametrize(
    ("change", "words"),
    [
        # Two cells of a pair, either side of the diagonal: margins no longer hold.
        (lambda m: {"matrix": moved(moved(m.pairs.matrix, (0, 4), 1), (4, 0), 1)}, "do not add up to their levels"),
        (lambda m: {"matrix": moved(moved(m.pairs.matrix, (0, 1), 1), (1, 0), 1)}, "do not add up to their levels"),
    ],
)
def test_pairs_that_do_not_add_up_to_their_levels_are_refused(rng, change, words):
    moments = folded(rng)
    check_moments(moments)
    with pytest.raises(FileFormatError, match=words):
        check_moments(replace(moments, pairs=replace(moments.pairs, **change(moments))))


def test_a_sparse_table_has_both_of_its_margins(rng):
    data = frame(rng, 3000)[["id", "zip"]]
    moments = gm.collect(data)
    ((pair, block),) = moments.pairs.blocks.items()
    block = block.copy()
    # A row keeps its sum where one of its counts goes to another level.
    columns = block.indices[: block.indptr[1]]
    block.indices[0] = (columns.max() + 1) % block.shape[1] if len(columns) == 1 else block.indices[0]
    with pytest.raises(FileFormatError, match="does not match their levels"):
        check_moments(replace(moments, pairs=replace(moments.pairs, blocks={pair: block})))


def test_folds_add_up_to_the_whole(rng):
    moments = folded(rng)
    first, second = moments.folds
    for folds in ((first, first), (first,), (first, second, second)):
        with pytest.raises(FileFormatError, match="folds do not add up"):
            check_moments(replace(moments, folds=folds))


def test_moments_that_no_rows_have_are_refused(rng):
    moments = gm.collect(frame(rng)[["color", "size"]])
    check_possible(moments)
    numbers = moments.numbers
    for wrong in (replace(numbers, scatter=-numbers.scatter), replace(numbers, sums=numbers.sums * 1e160)):
        with pytest.raises(FileFormatError):
            check_possible(replace(moments, numbers=wrong))
    wide = gm.collect(rng.normal(size=(3, 600)))
    check_possible(wide)
    with pytest.raises(FileFormatError, match="beyond float64"):
        check_possible(replace(wide, numbers=replace(wide.numbers, rows=wide.numbers.rows * 1e160)))
    far = replace(moments, sums=(moments.sums[0] * 1e6,))
    with pytest.raises(FileFormatError, match="no rows have such sums"):
        check_possible(far)


def test_what_subtraction_leaves_of_weights_comes_back_from_a_file(rng, tmp_path):
    data = frame(rng, 3000)
    weights = rng.random(3000) * 10.0 ** rng.integers(-6, 6, 3000)
    for n in (2950, 2999):
        left = gm.collect(data, sample_weight=weights) - gm.collect(data[:n], sample_weight=weights[:n])
        left.save(tmp_path / "left")
        assert gm.load(tmp_path / "left").isclose(left)


def test_a_name_of_any_length_is_refused_in_a_short_line(rng, tmp_path):
    gm.save(gm.collect(frame(rng)[["size"]]), tmp_path / "m")
    tensors, header = container.read(tmp_path / "m")
    header["state"] = json.dumps({**json.loads(header["state"]), "library": "x" * 10**6})
    container.write(tmp_path / "m", tensors, header)
    with pytest.raises(FileFormatError, match="tables are to be of") as caught:
        gm.load(tmp_path / "m")
    assert len(str(caught.value)) < 1000


def test_pointers_of_a_sparse_table_whose_differences_wrap_are_refused(rng):
    moments = gm.collect(frame(rng, 3000)[["id", "zip"]])
    ((pair, block),) = moments.pairs.blocks.items()
    block = block.copy()
    block.indptr = block.indptr.astype(np.int32)
    block.indptr[1:4] = [2**31 - 1, -(2**31), -(2**30)]
    with pytest.raises(FileFormatError, match="rows out of order"):
        check_moments(replace(moments, pairs=replace(moments.pairs, blocks={pair: block})))
