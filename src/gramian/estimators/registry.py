"""The methods there are, in one table: what files may name, what the command line lists, completes and runs.

A row gives a method its short name, its class and the other names people search for. Everything else (the summary, the
parameters, what the method takes and gives) is read off the class, so a class added to the table needs no second entry
anywhere. Importing this module loads no estimator.
"""

from __future__ import annotations

import html
import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from importlib import import_module
from typing import Any

from gramian.errors import DataError
from gramian.text_table import text_table


@dataclass(frozen=True)
class Method:
    """One row of the table.

    Attributes
    ----------
    name : str
        What the user types.
    class_name : str
        Name of the estimator in `gramian`.
    aliases : tuple of str
        Other names it answers to.
    presets : mapping
        Parameters that some of these names stand for: `sanger` is a rule of `hebbian`.
    preset : mapping
        Those of the name it was found by.
    """

    name: str
    class_name: str
    aliases: tuple[str, ...] = ()
    presets: Mapping[str, Mapping[str, Any]] = field(default_factory=dict, compare=False)
    preset: Mapping[str, Any] = field(default_factory=dict, compare=False)

    @property
    def estimator(self) -> Any:
        """The class, imported when first asked for."""
        return getattr(import_module("gramian"), self.class_name)

    @property
    def summary(self) -> str:
        """The first sentence of the class's docstring."""
        text = inspect.getdoc(self.estimator) or ""
        return " ".join(text.split("\n\n")[0].split())

    @property
    def parameters(self) -> dict[str, Any]:
        """Constructor parameters and their defaults; None for one that has no default."""
        arguments = inspect.signature(self.estimator.__init__).parameters.values()
        return {p.name: None if p.default is p.empty else p.default for p in arguments if p.name != "self"}

    @property
    def takes_moments(self) -> bool:
        """Whether `fit` takes Moments in place of rows."""
        from gramian.estimators.spine.moments_estimator import MomentsEstimator

        return issubclass(self.estimator, MomentsEstimator) and self.estimator.takes_moments

    @property
    def takes_distances(self) -> bool:
        """Whether `fit` takes a matrix of distances, or objects and a metric."""
        return bool(self._tags().input_tags.pairwise)

    @property
    def needs_target(self) -> bool:
        """Whether `fit` cannot do without a target."""
        return bool(self._tags().target_tags.required)

    @property
    def transforms(self) -> bool:
        """Whether new rows can be given features."""
        return hasattr(self.estimator, "transform")

    @property
    def selects(self) -> bool:
        """Whether columns are kept as they are, or dropped."""
        return hasattr(self.estimator, "get_support")

    @property
    def detects(self) -> bool:
        """Whether rows get an anomaly score."""
        return hasattr(self.estimator, "anomaly_score")

    @property
    def predicts(self) -> bool:
        """Whether rows get a predicted class or value."""
        # Of an instance: a method may depend on a parameter, such as a model that is wrapped.
        return hasattr(self.estimator(**self.parameters), "predict") and not self.detects

    @property
    def predicts_numbers(self) -> bool:
        """Whether what is predicted are numbers, and no classes."""
        return self.predicts and self._tags().estimator_type == "regressor"

    def _tags(self) -> Any:
        # scikit-learn's constructors check nothing, so any value will do for a parameter without a default.
        return self.estimator(**self.parameters).__sklearn_tags__()


METHODS = (
    Method("pca", "PCA", ("klt", "karhunen-loeve", "mca", "famd")),
    Method("whitening", "Whitening", ("sphering",)),
    Method("fisher", "FisherDiscriminant", ("lda", "fda")),
    Method("mahalanobis", "MahalanobisFeatures", ("mfe",)),
    Method("target-encoding", "JointTargetEncoder", ("target-encoder",)),
    Method("additive", "AdditiveClassifier", ("gam", "ebm")),
    Method("additive-regression", "AdditiveRegressor"),
    Method("ridge", "Ridge", ("ols", "least-squares", "linear-regression")),
    Method("logistic", "LogisticRegression", ("logit", "logistic-regression")),
    Method(
        "poisson", "GLM", ("gamma", "tweedie"), presets={"gamma": {"family": "gamma"}, "tweedie": {"family": "tweedie"}}
    ),
    Method("density", "DensityEmbedding", ("dpce",)),
    Method("variance", "VarianceFilter", ("variance-threshold",)),
    Method("pearson", "PearsonFilter", ("correlation", "cramers-v")),
    Method("mutual-information", "MutualInformationFilter", ("mi", "information")),
    Method("independence", "IndependenceFilter", ("fdr",)),
    Method("redundancy", "RedundancyFilter"),
    Method("mrmr", "MRMRFilter"),
    Method("forward", "ForwardSelector", ("forward-selection", "sfs")),
    Method("rfe", "RecursiveEliminator", ("backward", "elimination")),
    Method("lasso", "LassoSelector", ("group-lasso",)),
    Method(
        "hebbian",
        "HebbianPCA",
        ("online-pca", "oja", "hebb", "sanger", "gha", "subspace", "ccipca"),
        presets={rule: {"rule": rule} for rule in ("oja", "hebb", "sanger", "subspace", "ccipca")}
        | {"gha": {"rule": "sanger"}},
    ),
    Method("autoencoder", "LinearAutoencoder", ("linear-autoencoder",)),
    Method(
        "ica",
        "NeuralICA",
        ("neural-ica", "fastica", "picard"),
        presets={"fastica": {"solver": "fixed-point"}, "picard": {"solver": "picard"}},
    ),
    Method("mds", "ClassicalMDS", ("pcoa",)),
    Method("mdsfda", "MDSFDA", ("mds-fda",)),
    Method("tsne", "TSNEMap", ("t-sne",)),
    Method("umap", "UMAPMap"),
    Method("random", "RandomFeatures", ("random-projection", "random-features")),
    Method("elm", "ELMClassifier", ("extreme-learning-machine", "rvfl")),
    Method("elm-regressor", "ELMRegressor", ("elm-regression",)),
    Method("echo-state", "EchoStateFeatures", ("esn", "reservoir")),
    Method("echo-state-regressor", "EchoStateRegressor", ("esn-regressor",)),
    Method("liquid-state", "LiquidStateFeatures", ("lsm", "spiking")),
    Method(
        "sparse-coding",
        "SparseCoder",
        ("sparse", "omp", "lca"),
        presets={"omp": {"algorithm": "omp"}, "lca": {"algorithm": "lca"}},
    ),
    Method(
        "dictionary",
        "DictionaryLearner",
        ("dictionary-learning", "k-svd", "ksvd"),
        presets={"k-svd": {"update": "ksvd"}, "ksvd": {"update": "ksvd"}},
    ),
    Method("vq", "VectorQuantizer", ("vector-quantization", "k-means", "kmeans")),
    Method("nmf", "NMF", ("nnmf",)),
)
"""Every method, in the order in which they are shown."""


def method_names() -> list[str]:
    """Return the name of every method.

    Examples
    --------
    >>> method_names()[:3]
    ['pca', 'whitening', 'fisher']
    """
    return [method.name for method in METHODS]


def find_method(name: str, among: Sequence[Method] | None = None) -> Method:
    """Return the method of this name, alias or class; capitals and underscores do not matter.

    Parameters
    ----------
    name : str
    among : sequence of Method, optional
        Those that are suggested where there is none of this name.

    Examples
    --------
    >>> find_method("lda").name, find_method("JointTargetEncoder").name, find_method("Target_Encoding").name
    ('fisher', 'target-encoding', 'target-encoding')
    >>> find_method("fischer")
    Traceback (most recent call last):
    gramian.errors.DataError: there is no method 'fischer'; did you mean 'fisher'?
    """
    known = {alias: method for method in METHODS for alias in (method.class_name.lower(), *method.aliases, method.name)}
    wanted = name.strip().lower().replace("_", "-").replace(" ", "-")
    if wanted in known:
        entry = known[wanted]
        return replace(entry, preset=entry.presets[wanted]) if wanted in entry.presets else entry
    allowed = METHODS if among is None else among
    meant = [alias for alias, method in known.items() if method in allowed]
    near = get_close_matches(wanted, meant, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(method.name for method in allowed)}"
    raise DataError(f"there is no method {name!r}; {hint}")


def estimator_class(name: str) -> Any:
    """Return the estimator class of a name, as a model file gives it; None where there is none."""
    return next((method.estimator for method in METHODS if method.class_name == name), None)


# The list that `gramian.methods()` prints

HEAD = ("method", "class", "takes", "gives", "what it is")


class Methods(tuple[Method, ...]):
    """Methods in the order in which they are shown; each knows its `estimator`, `parameters` and `summary`."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "\n".join(text_table(HEAD, [row_of(method) for method in self], width=120))

    def _repr_html_(self) -> str:
        rows = [HEAD, *(row_of(method) for method in self)]
        cells = [
            "".join(f"<{'td' if k else 'th'}>{html.escape(cell)}</{'td' if k else 'th'}>" for cell in row)
            for k, row in enumerate(rows)
        ]
        return f"<table>{''.join(f'<tr>{row}</tr>' for row in cells)}</table>"


def methods() -> Methods:
    """Return every method there is, with its class and what it takes and gives; it prints as a table.

    Returns
    -------
    tuple of Method
        Each with `name`, `aliases`, `class_name`, `estimator` (the class), `parameters` (their defaults) and `summary`.

    Examples
    --------
    >>> import gramian as gm
    >>> first = gm.methods()[0]
    >>> first.name, first.class_name, first.aliases[:2]
    ('pca', 'PCA', ('klt', 'karhunen-loeve'))
    >>> [method.name for method in gm.methods() if method.detects]
    ['density']
    """
    return Methods(METHODS)


def row_of(method: Method) -> tuple[str, ...]:
    """Return the cells of a method in the table."""
    other = f" Also: {', '.join(method.aliases)}." if method.aliases else ""
    return method.name, method.class_name, taken(method), given(method), method.summary + other


def taken(method: Method) -> str:
    """Return what `fit` takes, in words."""
    words = ["distances"] if method.takes_distances else ["rows", *["moments"] * method.takes_moments]
    return ", ".join(words) + "\n+ target" * method.needs_target


def given(method: Method) -> str:
    """Return what a fitted model gives, in words."""
    predicted = "numbers" if method.predicts_numbers else "classes" if method.needs_target else "groups"
    words = ["features"] * method.transforms + [predicted] * method.predicts
    return "\n".join(words + ["odd rows"] * method.detects)
