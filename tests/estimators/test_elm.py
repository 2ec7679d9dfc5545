import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.linear_model import Ridge

import gramian as gm
from gramian.errors import DataError

# Exercise 11 of the lecture: bias first in each row of V, and in w.
V = np.array(
    [
        [-0.62, 0.44, -0.91],
        [-0.81, -0.09, 0.02],
        [0.74, -0.91, -0.60],
        [-0.82, -0.92, 0.71],
        [-0.26, 0.68, 0.15],
        [0.80, -0.94, -0.83],
    ]
)
W = np.array([0.0, 0.0, 0.0, -1.0, 0.0, 0.0, 2.0])
CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
OUTPUTS = np.array([1.0, 0.0, -1.0, 0.0])


@pytest.fixture
def mixed(rng):
    n = 600
    frame = pd.DataFrame(
        {
            "color": rng.choice(["red", "blue", "green"], n),
            "size": rng.standard_normal(n),
            "shape": rng.choice(["round", "square"], n),
        }
    )
    classes = np.where(
        (frame["color"] == "red") ^ (frame["shape"] == "round"), "p", np.where(frame["size"] > 0, "q", "r")
    )
    return frame, classes


def test_exercise_11():
    hidden = V[:, [1, 2, 0]].T
    units = gm.RandomFeatures(weights=hidden, activation="step").fit(CORNERS).transform(CORNERS)
    np.testing.assert_array_equal(units @ W[1:] + W[0], OUTPUTS)
    machine = gm.ELMRegressor(hidden_weights=hidden, activation="step", ridge=0.0).fit(CORNERS, OUTPUTS)
    np.testing.assert_allclose(machine.predict(CORNERS), OUTPUTS, atol=1e-12)
    np.testing.assert_array_equal(machine.hidden_weights_, hidden)
    np.testing.assert_array_equal(machine.hidden_layer(CORNERS), units)
    machine.coef_, machine.intercept_ = W[1:], W[0]
    np.testing.assert_array_equal(machine.predict(CORNERS), OUTPUTS)


@pytest.mark.parametrize("direct", [False, True])
def test_it_is_ridge_regression_on_the_hidden_layer(rng, direct):
    X = rng.standard_normal((300, 4))
    Y = np.column_stack([np.sin(X[:, 0]) + 5.0, X[:, 1] * X[:, 2] - 100.0])
    machine = gm.ELMRegressor(20, ridge=0.7, direct_links=direct).fit(X, Y)
    weights = machine.hidden_weights_
    H = np.tanh(X @ weights[:-1] + weights[-1])
    H = np.hstack([H, X]) if direct else H
    scaled = (H - H.mean(axis=0)) / H.std(axis=0)
    expected = Ridge(alpha=0.7).fit(scaled, Y).predict(scaled)
    np.testing.assert_allclose(machine.predict(X), expected, atol=1e-9)
    assert machine.coef_.shape == (2, H.shape[1])
    alone = gm.ELMRegressor(20, ridge=0.7, direct_links=direct).fit(X, Y[:, 1])
    np.testing.assert_allclose(alone.predict(X), expected[:, 1], atol=1e-9)


def explicit_outputs(machine, frame):
    """Outputs from what a machine shows: hidden units, the design columns, `coef_` and `intercept_`."""
    columns = []
    for name in machine.design_names_:
        source, _, level = name.partition("_")
        columns.append((frame[source] == level) if level else frame[source])
    design = np.column_stack(columns).astype(float)
    outputs = np.hstack([machine.hidden_layer(frame), design]) @ np.atleast_2d(machine.coef_).T + machine.intercept_
    return outputs[:, 0] if outputs.shape[1] == 1 else outputs


LINKED = {"n_hidden": 12, "direct_links": True, "ridge": 1.0, "scale": 0.1}


@pytest.mark.parametrize("how", ["fit", "partial_fit", "sum", "difference", "file", "several"])
def test_hidden_units_columns_coefficients_and_intercept_add_up_to_the_outputs(mixed, tmp_path, how):
    frame, classes = mixed
    frame = frame.assign(size=frame["size"] + 8.0)
    y = 3.0 * frame["size"] + (frame["color"] == "red") + 20.0
    turned, back = frame[::-1], y[::-1]
    weights = np.where(np.arange(len(frame)) % 3 == 0, 2.5, 1.0)
    if how == "several":
        y = np.column_stack([y, -y + frame["size"] ** 2])
    machine = gm.ELMRegressor(**LINKED)
    if how == "partial_fit":
        machine.partial_fit(turned[:200], back[:200]).partial_fit(turned[200:], back[200:])
    elif how == "sum":
        machine = machine.fit(frame[:300], y[:300]) + gm.ELMRegressor(**LINKED).fit(turned[:300], back[:300])
    elif how == "difference":
        machine = gm.ELMRegressor(**LINKED).fit(frame, y) - machine.fit(frame[:100], y[:100])
    else:
        machine.fit(frame, y, sample_weight=weights)
    if how == "file":
        gm.save(machine, tmp_path / "m.model")
        machine = gm.load(tmp_path / "m.model")
    np.testing.assert_allclose(explicit_outputs(machine, frame), machine.predict(frame), rtol=1e-10)
    for labels in (classes, classes == "p"):
        classifier = gm.ELMClassifier(**LINKED).fit(turned, labels[::-1])
        np.testing.assert_allclose(
            explicit_outputs(classifier, frame), classifier.decision_function(frame), rtol=1e-9, atol=1e-9
        )


def test_a_machine_of_an_older_file_predicts_as_it_did(mixed, tmp_path):
    """Before, the intercept was about the means of the columns, and direct links had no offset."""
    frame, _ = mixed
    machine = gm.ELMRegressor(**LINKED).fit(frame, frame["size"] + 5.0)
    expected = machine.predict(frame)
    machine.intercept_ += float(machine.direct_.offset[0])
    machine.direct_ = replace(machine.direct_, offset=np.zeros(1))
    gm.save(machine, tmp_path / "old.model")
    np.testing.assert_allclose(gm.load(tmp_path / "old.model").predict(frame), expected, rtol=1e-12)


@pytest.mark.parametrize("container", ["pandas", "polars", "pyarrow", "objects", "categories"])
def test_targets_of_several_types_keep_their_types(mixed, container):
    frame, classes = mixed
    years = np.where(frame["size"] > 0, 2024, 2025)
    targets = pd.DataFrame({"letter": classes, "year": years, "red": frame["color"] == "red"})
    given = {
        "pandas": targets,
        "polars": pl.from_pandas(targets),
        "pyarrow": pa.Table.from_pandas(targets),
        "objects": targets.to_numpy(dtype=object),
        "categories": targets.astype({"letter": "category", "year": "category"}),
    }[container]
    machine = gm.ELMClassifier(60).fit(frame, given)
    assert [labels.tolist() for labels in machine.classes_] == [["p", "q", "r"], [2024, 2025], [False, True]]
    predicted = machine.predict(frame)
    assert [type(value) for value in predicted[0].tolist()] == [str, int, bool]
    for k, name in enumerate(targets):
        alone = gm.ELMClassifier(60, ridge=machine.ridge_).fit(frame, targets[name])
        np.testing.assert_array_equal(predicted[:, k].tolist(), alone.predict(frame).tolist())


def test_several_layers_feed_each_other(rng):
    X = rng.standard_normal((100, 3))
    machine = gm.ELMRegressor((7, 5), activation="sigmoid").fit(X, X[:, 0])
    first, second = machine.hidden_weights_
    assert first.shape == (4, 7)
    assert second.shape == (8, 5)

    def sigmoid(v):
        return 1 / (1 + np.exp(-v))

    H = sigmoid(sigmoid(X @ first[:-1] + first[-1]) @ second[:-1] + second[-1])
    np.testing.assert_allclose(machine.hidden_layer(X), H, atol=1e-12)
    given = gm.ELMRegressor(hidden_weights=[first, second], activation="sigmoid").fit(X, X[:, 0])
    np.testing.assert_allclose(given.predict(X), machine.predict(X), atol=1e-10)
    with pytest.raises(DataError, match=r"hidden_weights\[1\] has 4 rows, and layer 0 has 7 units: give 8 rows"):
        gm.ELMRegressor(hidden_weights=[first, first]).fit(X, X[:, 0])


def log_posteriors(outputs, classes, labels, leverage):
    """Gaussian discriminant of outputs that rows would get left out, row by row from its definition."""
    n = len(outputs)
    indicators = (classes[:, None] == labels).astype(float)
    left_out = np.array([y - (y - f) / (1 - leverage) for y, f in zip(indicators, outputs, strict=True)])
    means = np.array([left_out[classes == label].mean(axis=0) for label in labels])
    residuals = np.concatenate([left_out[classes == c] - m for c, m in zip(labels, means, strict=True)])
    # Outputs sum to one: without the last of them nothing is lost, and the covariance has an inverse.
    inverse = np.linalg.inv(residuals[:, :-1].T @ residuals[:, :-1] / n)
    gaps = [(outputs - m)[:, :-1] for m in means]
    logs = [np.log((classes == c).mean()) for c in labels]
    return np.stack([a - np.einsum("ij,jk,ik->i", g, inverse, g) / 2 for a, g in zip(logs, gaps, strict=True)], axis=1)


@pytest.mark.parametrize("settings", [{}, {"ridge": 300.0}, {"ridge": "cv"}, {"direct_links": True}])
def test_three_classes_are_discriminated_by_what_rows_left_out_would_get(mixed, settings):
    frame, classes = mixed
    machine = gm.ELMClassifier(40, **{"ridge": 2.0, **settings}).fit(frame, classes)
    H = machine.hidden_layer(frame)
    H = np.hstack([H, pd.get_dummies(frame).to_numpy(float)]) if "direct_links" in settings else H
    spread = H.std(axis=0)
    scaled = (H - H.mean(axis=0)) / np.where(np.arange(H.shape[1]) > 40, 1.0, spread)
    indicators = (classes[:, None] == machine.classes_).astype(float)
    outputs = Ridge(alpha=machine.ridge_).fit(scaled, indicators).predict(scaled)
    values = np.linalg.svd(scaled, compute_uv=False) ** 2
    leverage = ((values / (values + machine.ridge_)).sum() + 1) / len(frame)
    expected = log_posteriors(outputs, classes, machine.classes_, leverage)
    found = machine.decision_function(frame)
    # Both up to a constant a row; squares of gaps lose digits against what is affine.
    np.testing.assert_allclose(found - found[:, :1], expected - expected[:, :1], rtol=1e-6, atol=1e-6)
    np.testing.assert_array_equal(machine.predict(frame), machine.classes_[expected.argmax(axis=1)])
    shares = np.exp(expected - expected.max(axis=1, keepdims=True))
    np.testing.assert_allclose(machine.predict_proba(frame), shares / shares.sum(axis=1, keepdims=True), atol=1e-6)


def test_a_class_between_others_is_not_masked(rng):
    x = rng.uniform(-1, 1, 1500)
    classes = np.digitize(x, [-0.4, 0.4])
    machine = gm.ELMClassifier(30, ridge=1000.0, scale=0.1).fit(x[:, None], classes)
    H = machine.hidden_layer(x[:, None])
    scaled = (H - H.mean(axis=0)) / H.std(axis=0)
    plain = Ridge(alpha=1000.0).fit(scaled, np.eye(3)[classes]).predict(scaled).argmax(axis=1)
    assert (plain == classes)[classes == 1].mean() < 0.6
    assert machine.score(x[:, None], classes) > 0.9


def test_a_target_without_association_is_told_by_its_shares(rng):
    X, classes = rng.standard_normal((400, 3)), rng.choice(3, 400, p=[0.6, 0.3, 0.1])
    shares = gm.ELMClassifier(50).fit(X, classes).predict_proba(rng.standard_normal((50, 3)))
    np.testing.assert_allclose(shares, np.tile(np.bincount(classes) / 400, (50, 1)), atol=0.15)


def test_as_many_units_as_rows_leave_the_regression_alone(rng):
    X, classes = rng.standard_normal((9, 2)), np.arange(9) % 3
    machine = gm.ELMClassifier(40, ridge=0.0).fit(X, classes)
    np.testing.assert_array_equal(machine.predict(X), classes)
    np.testing.assert_allclose(machine.decision_function(X), np.eye(3)[classes], atol=1e-6)


def test_two_classes_are_a_regression_of_their_indicator(mixed):
    frame, classes = mixed
    machine = gm.ELMClassifier(40, ridge=2.0).fit(frame, classes)
    assert machine.classes_.tolist() == ["p", "q", "r"]
    H = machine.hidden_layer(frame)
    scaled = (H - H.mean(axis=0)) / H.std(axis=0)
    two = gm.ELMClassifier(40, ridge=2.0).fit(frame, classes == "p")
    expected = Ridge(alpha=2.0).fit(scaled, (classes == "p") * 2.0 - 1.0).predict(scaled)
    np.testing.assert_allclose(two.decision_function(frame), expected, atol=1e-9)
    np.testing.assert_allclose(two.predict_proba(frame)[:, 1], np.clip((expected + 1) / 2, 0, 1), atol=1e-9)
    assert two.coef_.shape == (1, 40)


def test_several_targets_of_classes(mixed):
    frame, classes = mixed
    both = np.column_stack([classes, frame["size"] > 0])
    machine = gm.ELMClassifier(40, ridge=2.0).fit(frame, both)
    for k, labels in enumerate(machine.classes_):
        alone = gm.ELMClassifier(40, ridge=2.0).fit(frame, both[:, k])
        assert alone.classes_.tolist() == labels.tolist()
        np.testing.assert_allclose(machine.predict_proba(frame)[k], alone.predict_proba(frame), atol=1e-10)
        np.testing.assert_array_equal(machine.predict(frame)[:, k], alone.predict(frame))


def test_every_container_gives_the_same(mixed, tmp_path):
    frame, classes = mixed
    expected = gm.ELMClassifier(15).fit(frame, classes).predict_proba(frame)
    table = pa.Table.from_pandas(frame, preserve_index=False)
    path = tmp_path / "rows.parquet"
    pl.from_pandas(frame).with_columns(y=pl.Series(classes)).write_parquet(path)
    for X in (
        pl.from_pandas(frame),
        table,
        table.to_batches(max_chunksize=70),
        frame.to_numpy(),
        frame.astype({"color": "category"}),
    ):
        machine = gm.ELMClassifier(15).fit(X, classes)
        np.testing.assert_allclose(machine.predict_proba(X), expected, atol=1e-10)
    machine = gm.ELMClassifier(15).fit(str(path), "y")
    np.testing.assert_allclose(machine.predict_proba(frame), expected, atol=1e-10)
    out = tmp_path / "out.parquet"
    assert gm.transform_file(machine, str(path), out, method="predict_proba") == len(frame)
    written = pd.read_parquet(out)
    np.testing.assert_allclose(written.to_numpy(), expected, atol=1e-10)


def test_float32_rows_are_added_up_in_double(rng):
    X = rng.standard_normal((200, 3)).astype(np.float32)
    a = gm.ELMRegressor(10).fit(X, X[:, 0])
    b = gm.ELMRegressor(10).fit(X.astype(np.float64), X[:, 0])
    np.testing.assert_allclose(a.predict(X), b.predict(X.astype(np.float64)), atol=1e-10)


def test_a_weight_is_a_number_of_repetitions(mixed, rng):
    frame, classes = mixed
    weights = rng.integers(0, 4, len(frame)).astype(float)
    weighted = gm.ELMClassifier(15, ridge=1.0).fit(frame, classes, sample_weight=weights)
    again = frame.index.repeat(weights.astype(int))
    repeated = gm.ELMClassifier(15, ridge=1.0).fit(frame.loc[again], classes[again])
    np.testing.assert_allclose(weighted.predict_proba(frame), repeated.predict_proba(frame), atol=1e-10)
    named = gm.ELMClassifier(15, ridge=1.0).fit(frame.assign(w=weights, y=classes), "y", sample_weight="w")
    np.testing.assert_allclose(named.predict_proba(frame), weighted.predict_proba(frame), atol=1e-12)


def test_rows_of_weight_zero_are_not_seen(mixed):
    frame, classes = mixed
    odd = pd.concat([frame, frame.head(1).assign(color="violet")], ignore_index=True)
    weights = np.append(np.ones(len(frame)), 0.0)
    machine = gm.ELMClassifier(15).fit(odd, np.append(classes, "never"), sample_weight=weights)
    assert "color_violet" not in machine.design_names_
    assert machine.classes_.tolist() == ["p", "q", "r"]
    assert machine.black_swans(odd.tail(1)).tolist() == [[True, False, False]]


def test_forgetting_scales_what_was_seen_before(rng):
    X = rng.standard_normal((200, 3))
    y = X[:, 0] ** 2
    machine = gm.ELMRegressor(10, ridge=1.0, forgetting=0.25)
    machine.partial_fit(X[:100], y[:100]).partial_fit(X[100:], y[100:])
    weights = np.repeat([0.25, 1.0], 100)
    expected = gm.ELMRegressor(10, ridge=1.0).fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(machine.predict(X), expected.predict(X), atol=1e-10)


@pytest.mark.parametrize("direct", [False, True])
def test_a_file_and_a_pickle_answer_to_the_bit(mixed, tmp_path, direct):
    frame, classes = mixed
    machine = gm.ELMClassifier((12, 6), direct_links=direct).fit(frame, classes)
    gm.save(machine, tmp_path / "elm.model")
    loaded = gm.load(tmp_path / "elm.model")
    for other in (loaded, pickle.loads(pickle.dumps(machine))):
        np.testing.assert_array_equal(other.predict_proba(frame), machine.predict_proba(frame))


@pytest.mark.parametrize("kind", ["drawn", "linked", "folds", "layers", "given"])
def test_machines_of_two_files_add_subtract_and_go_on(mixed, tmp_path, kind):
    frame, classes = mixed
    settings = {"linked": {"direct_links": True}, "folds": {"ridge": "cv"}, "layers": {"n_hidden": (12, 6)}}
    settings = {"n_hidden": 15, **settings.get(kind, {})}
    left, right = frame[:350], frame[350:].replace({"color": {"red": "cyan"}})
    if kind == "given":
        first = gm.ELMClassifier(**settings).fit(left, classes[:350]).hidden_weights_
        # The levels of these weights are those of the left side, in the order of its rows.
        left, right = frame[:350], frame[:350].sample(frac=1, random_state=0)
        settings["hidden_weights"] = first
    parts = [(left, classes[left.index]), (right, classes[right.index])]
    machines = [gm.ELMClassifier(**settings).fit(*part) for part in parts]
    if kind == "given":
        machines[1] = gm.ELMClassifier(**settings).fit(*parts[0]).partial_fit(*parts[1]) - machines[0]
    for name, machine in zip("ab", machines, strict=True):
        gm.save(machine, tmp_path / name)
    a, b = (gm.load(tmp_path / name) for name in "ab")
    whole = (machines[0] + machines[1]).predict_proba(frame)
    np.testing.assert_array_equal((a + b).predict_proba(frame), whole)
    # The law of a difference of machines holds to 1e-8.
    np.testing.assert_allclose(((a + b) - b).predict_proba(frame), machines[0].predict_proba(frame), atol=1e-8)
    np.testing.assert_allclose(gm.load(tmp_path / "a").partial_fit(*parts[1]).predict_proba(frame), whole, atol=1e-8)
    assert (a + b).moments_.n_rows == len(left) + len(right)


def test_a_file_of_a_machine_drawn_from_no_seed_goes_on_with_its_own_weights(mixed, tmp_path):
    frame, classes = mixed
    machine = gm.ELMClassifier(15, random_state=None).fit(frame[:300], classes[:300])
    gm.save(machine, tmp_path / "a")
    loaded = gm.load(tmp_path / "a").partial_fit(frame[300:], classes[300:])
    machine.partial_fit(frame[300:], classes[300:])
    np.testing.assert_array_equal(loaded.predict_proba(frame), machine.predict_proba(frame))


def test_a_machine_whose_parameters_changed_after_the_fit_loads_without_moments(mixed, tmp_path):
    frame, classes = mixed
    machine = gm.ELMClassifier(15).fit(frame, classes).set_params(scale=2.0)
    gm.save(machine, tmp_path / "a")
    loaded = gm.load(tmp_path / "a")
    np.testing.assert_array_equal(loaded.predict_proba(frame), machine.predict_proba(frame))
    with pytest.raises(DataError, match="without its moments"):
        loaded + machine
    with pytest.raises(DataError, match="without its moments"):
        loaded.partial_fit(frame, classes)


@pytest.mark.parametrize("declared", [["p", "q", "r", "z"], ["a", "p", "q", "r"], ["p", "q", "r"]])
def test_declared_classes_have_columns_with_or_without_rows(mixed, declared):
    frame, classes = mixed
    machine = gm.ELMClassifier(20).partial_fit(frame, classes, classes=declared)
    assert machine.classes_.tolist() == declared
    expected = gm.ELMClassifier(20).fit(frame, classes)
    found = machine.predict_proba(frame)
    # One more output, and the product with all of them is summed in another order.
    present = np.isin(declared, expected.classes_)
    np.testing.assert_allclose(found[:, present], expected.predict_proba(frame), atol=1e-12)
    np.testing.assert_allclose(found[:, ~present], 0.0, atol=1e-12)
    np.testing.assert_array_equal(machine.predict(frame), expected.predict(frame))


@pytest.mark.parametrize("declared", [["p", "q"], ["p", "q", "r"], ["o", "p"]])
def test_a_stream_may_begin_with_one_class(mixed, declared):
    frame, classes = mixed
    ours = np.flatnonzero(np.isin(classes, declared))
    one = ours[classes[ours] == "p"]
    machine = gm.ELMClassifier(20).partial_fit(frame.iloc[one], classes[one], classes=declared)
    np.testing.assert_array_equal(machine.predict_proba(frame), np.tile(np.array(declared) == "p", (len(frame), 1)))
    assert set(machine.predict(frame)) == {"p"}
    rest = np.setdiff1d(ours, one)
    if len(rest):
        machine.partial_fit(frame.iloc[rest], classes[rest])
        whole = gm.ELMClassifier(20).fit(frame.iloc[ours], classes[ours])
        np.testing.assert_allclose(machine.predict_proba(frame), whole.predict_proba(frame), atol=1e-8)


def test_declared_classes_are_held_to(mixed):
    frame, classes = mixed
    machine = gm.ELMClassifier(20).partial_fit(frame, classes, classes=["p", "q", "r"])
    before = machine.predict_proba(frame)
    with pytest.raises(DataError, match="y holds 'x', which is not in classes"):
        machine.partial_fit(frame, np.where(classes == "p", "x", classes))
    with pytest.raises(DataError, match="before they were"):
        machine.partial_fit(frame, classes, classes=["p", "q", "r", "s"])
    with pytest.raises(DataError, match="y holds 'r', which is not in classes"):
        gm.ELMClassifier(20).partial_fit(frame.assign(y=classes), "y", classes=["p", "q"])
    np.testing.assert_array_equal(machine.predict_proba(frame), before)
    assert (
        gm.ELMClassifier(20).partial_fit(frame, classes, classes=["p", "q", "r", "z"]).fit(frame, classes).classes_.size
        == 3
    )
    other = gm.ELMClassifier(20).partial_fit(frame, classes, classes=["p", "q", "r", "z"])
    assert (machine + other).classes_.tolist() == ["p", "q", "r", "z"]


def test_given_weights_of_levels_follow_the_first_rows(mixed):
    frame, classes = mixed
    drawn = gm.ELMClassifier(10).fit(frame, classes)
    given = gm.ELMClassifier(hidden_weights=drawn.hidden_weights_).fit(frame, classes)
    np.testing.assert_allclose(given.predict_proba(frame), drawn.predict_proba(frame), atol=1e-10)
    given.partial_fit(frame.head(3).assign(color="violet"), classes[:3])
    violet = given.design_names_.index("color_violet")
    assert not given.hidden_weights_[violet].any()


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"activation": "softplus"}, "activation is None, 'tanh', 'sigmoid', 'relu', 'step' or 'cos'; got 'softplus'"),
        ({"n_hidden": 0}, "n_hidden is a whole number from 1"),
        ({"n_hidden": ()}, "n_hidden is a whole number from 1"),
        ({"ridge": -1}, "ridge is 'auto', 'cv' or a number of rows from 0"),
        ({"ridge": "gcv"}, "ridge is 'auto', 'cv'"),
        ({"projection": "dense"}, "projection is 'gaussian'"),
        ({"scale": 0.0}, "scale is a number above 0"),
        ({"forgetting": 2.0}, "forgetting is None or a factor"),
        ({"projection": "hadamard"}, "needs the number of levels before"),
        ({"hidden_weights": [[1.0]]}, "hidden_weights has 1 rows, and there are 6 design columns"),
    ],
)
def test_bad_parameters_are_named(mixed, parameters, said):
    frame, classes = mixed
    with pytest.raises(DataError, match=said):
        gm.ELMClassifier(**parameters).fit(frame, classes)


def test_bad_targets_are_named(mixed):
    frame, classes = mixed
    with pytest.raises(DataError, match="less than 2 classes"):
        gm.ELMClassifier(5).fit(frame, ["a"] * len(frame))
    with pytest.raises(DataError, match="a regression needs numbers"):
        gm.ELMRegressor(5).fit(frame, classes)
    with pytest.raises(DataError, match="column 'target' is not in a pandas frame"):
        gm.ELMRegressor(5).fit(frame, "target")
    with pytest.raises(DataError, match="Moments have none"):
        gm.ELMRegressor(5).fit(gm.collect(frame), "size")


def test_fractions_are_no_classes_however_they_are_given(mixed, tmp_path):
    frame, _ = mixed
    rest, size = frame.drop(columns="size"), frame["size"]
    frame.to_parquet(tmp_path / "t.parquet")
    said = r"^Unknown label type: continuous\. .* holds -?\d\.\d+, .* ELMRegressor \(elm-regressor\)$"
    for X, y in (
        (frame, "size"),
        (frame.astype({"size": "float32"}), "size"),
        (frame.astype({"size": "category"}), "size"),
        (pl.from_pandas(frame), "size"),
        (tmp_path / "t.parquet", "size"),
        (pa.Table.from_pandas(frame).to_batches(max_chunksize=50), "size"),
        (frame.assign(kind=frame["color"]), ("kind", "size")),
        (rest, size),
        (rest, size.to_numpy()),
        (rest, pa.array(size)),
        (rest, size.astype("category")),
        (rest, size.tolist()),
    ):
        with pytest.raises(DataError, match=said):
            gm.ELMClassifier(5).fit(X, y)
        with pytest.raises(DataError, match=said):
            gm.ELMClassifier(5).partial_fit(X, y)


def test_whole_floats_are_classes(mixed):
    frame, _ = mixed
    frame["size"] = np.where(frame["size"] > 0, 1.0, 0.0)
    named = gm.ELMClassifier(5).fit(frame, "size")
    assert named.classes_.tolist() == [0, 1]
    given = gm.ELMClassifier(5).fit(frame.drop(columns="size"), frame["size"])
    assert given.classes_.tolist() == [0, 1]


def test_one_row_and_one_class_wait_for_more(mixed):
    frame, classes = mixed
    machine = gm.ELMClassifier(8)
    machine.partial_fit(frame.head(1), classes[:1])
    with pytest.raises(DataError, match="at least 2 rows; got n_samples = 1"):
        machine.predict(frame)
    machine.partial_fit(frame[1:], classes[1:])
    expected = gm.ELMClassifier(8).fit(frame, classes)
    np.testing.assert_allclose(machine.predict_proba(frame), expected.predict_proba(frame), atol=1e-10)
    alone = gm.ELMRegressor(8).fit([[1.0, 2.0]], [3.0])
    np.testing.assert_allclose(alone.predict([[1.0, 2.0], [5.0, 5.0]]), [3.0, 3.0])


def test_rows_that_repeat_each_other_do_not_make_it_interpolate(rng):
    """As many units as distinct rows, some of which occur twice: plain generalised cross-validation takes the least ridge."""
    X = rng.standard_normal((150, 8))
    y = X[:, 0] + rng.standard_normal(150)
    X, y = np.vstack([X, X[:40]]), np.concatenate([y, y[:40]])
    machine = gm.ELMRegressor(300).fit(X, y)
    assert machine.ridge_ >= 1.0
    new = rng.standard_normal((500, 8))
    assert machine.score(new, new[:, 0]) > 0.5
