"""Tables that statisticians read beside principal components: inertia, coordinates, contributions, squared cosines.

With V the components in the metric D, l their population variances (divided by the weight, whatever `ddof`), f the share of a
level, z = (x - m) D V the features of a row and y = D (x - m):

                        numbers (PCA, FAMD)    levels in MCA           levels in FAMD          rows
    coordinate          V sqrt(l)              V sqrt(l) / sqrt(f)     V l / sqrt(f)           z (MCA: z / sqrt(Q))
    contribution        V^2                    V^2                     V^2                     z^2 / (W l)
    squared cosine      V^2 l / var(y)         V^2 l / (1 - f)         V^2 l / (1 - f)         z^2 / |y|^2

The coordinate of a number at unit variance is its correlation with the component. A level is placed in FAMD at the mean of its
rows, in MCA at that mean over the component's standard deviation, as in FactoMineR. Its squared cosine is the squared
correlation of its indicator with the component. Contributions sum to one over each component, squared cosines of a row over
all components.

*Inertia.* MCA of Q columns is the correspondence analysis of the indicator table, which divides by Q: its eigenvalues are
l / Q, their sum J / Q - 1 with J levels. Half of that is there by construction, since each column explains itself. Benzecri's
correction is (Q / (Q - 1))^2 (l / Q - 1 / Q)^2 for eigenvalues above 1 / Q, 0 for others; for two columns it gives the
eigenvalues of their contingency table. His shares are of their sum; Greenacre's are of the mean inertia of the tables of two
different columns, Q / (Q - 1) (sum of (l / Q)^2 - (J - Q) / Q^2).

*Supplementary* columns take no part in the components. With C the cross scatter of the features and the column, B = V^T D C / W
over the share of a level is the mean of its rows, and all else follows: a level in MCA is B / sqrt(l), in FAMD B; a number is
its correlation.

References: Greenacre, Correspondence Analysis in Practice, 3rd edition, CRC Press 2017, chapters 11 and 19; Benzecri, Sur le
calcul des taux d'inertie dans l'analyse d'un questionnaire, Cahiers de l'Analyse des Donnees 4, 1979; Pages, Multiple Factor
Analysis by Example Using R, CRC Press 2014; Le, Josse and Husson, FactoMineR, Journal of Statistical Software 25, 2008.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from gramian.arrays.types import Array
from gramian.errors import Argument, Call, DataError
from gramian.estimators.spine.inputs import open_rows
from gramian.estimators.spine.moments_estimator import ProjectionTransformer
from gramian.linear.layout import centre_of, layout_of
from gramian.linear.pca import GaussianModel, pca
from gramian.linear.scatter.dense import scatter_diagonal
from gramian.linear.scatter.sparse import cross_scatter
from gramian.moments.crosstabs import association
from gramian.tables.returned import table as output_table
from gramian.text_table import text_table

ADVICE = {
    "elbow": "a first look at the scree; knows nothing of noise",
    "parallel": "to keep what independent columns would not show; the usual choice for exploring",
    "mle": "numbers that are nearly normal, and many more rows than columns; keeps most directions",
    "cv": "to keep what comes back on other rows; needs folds",
    "cv-target": "components that are to predict a target; needs folds and a target",
}
"""Rule for the number of components -> when to use it."""


class ComponentTables(ProjectionTransformer):
    """The tables of `PCA`."""

    @property
    def _kind(self) -> str:
        """The analysis by its textbook name."""
        design = self.projection_.design
        if self.scale != "auto" or not design.categorical:
            return "PCA"
        return "FAMD" if design.numeric else "MCA"

    def _columns_divided_by(self) -> float:
        """Return Q for MCA, 1 otherwise."""
        return float(len(self.projection_.design.categorical)) if self._kind == "MCA" else 1.0

    def _weight(self) -> float:
        # The singular values are those of the data, so W - ddof is in them; a model from a file has no moments.
        return float(self.singular_values_[0] ** 2 / self.explained_variance_[0] + self.ddof)

    def _population(self) -> Array:
        """Return l, the variance of each component divided by the weight."""
        weight = self._weight()
        return np.asarray(self.explained_variance_ * (weight - self.ddof) / weight)

    def inertia(self) -> Any:
        """Return a table of the variance along each component, in the convention of the analysis.

        Returns
        -------
        table
            `feature`, `eigenvalue`, `share` and `cumulative`. Eigenvalues of FAMD and of correlations are divided by the
            weight, those of MCA also by the number of columns, as in FactoMineR and prince; without categories and without
            `scale` they are `explained_variance_`. For MCA also `benzecri` (corrected eigenvalue), `benzecri_share` and
            `greenacre_share`; the shares need the moments of the fit, and are null in a model from a file.

        Examples
        --------
        >>> import gramian as gm
        >>> import pyarrow as pa
        >>> rows = pa.table({"color": ["red", "red", "blue", "blue"], "size": ["s", "s", "l", "s"]})
        >>> gm.PCA().fit(rows).inertia().column("eigenvalue").to_numpy().round(4)
        array([0.7887, 0.2113])
        """
        check_is_fitted(self)
        columns = self._inertia()
        return output_table(columns, library=self._frames)

    def _inertia(self) -> dict[str, Any]:
        plain = self._kind == "PCA" and self.scale is not True
        values = self.explained_variance_ if plain else self._population() / self._columns_divided_by()
        out: dict[str, Any] = {
            "feature": [str(name) for name in self.get_feature_names_out()],
            "eigenvalue": values,
            "share": self.explained_variance_ratio_,
            "cumulative": np.cumsum(self.explained_variance_ratio_),
        }
        q = self._columns_divided_by()
        if self._kind == "MCA" and q > 1:
            corrected = np.where(values > 1 / q, (q / (q - 1) * (values - 1 / q)) ** 2, 0.0)
            out["benzecri"] = corrected
            whole = self._mean_inertia() if "moments_" in vars(self) else None
            every = self._all_corrected()
            out["benzecri_share"] = [None] * len(values) if every is None else corrected / every
            out["greenacre_share"] = [None] * len(values) if whole is None else corrected / whole
        return out

    def _all_corrected(self) -> float | None:
        """Return the sum of Benzecri's eigenvalues, None where not all of the spectrum is known."""
        q = self._columns_divided_by()
        weight = self._weight()
        every = np.asarray(self.selection_["explained_variance"]) * (weight - self.ddof) / weight / q
        # What is not known of a spectrum is below its last value.
        known = self.selection_["cumulative_ratio"][-1] > 1 - 1e-9 or every[-1] <= 1 / q
        total = float(((q / (q - 1) * (every[every > 1 / q] - 1 / q)) ** 2).sum())
        return total if known and total > 0 else None

    def _mean_inertia(self) -> float | None:
        """Return the mean inertia of the tables of two different columns."""
        names = [column.name for column in self.projection_.design.categorical]
        sizes = np.array([(np.asarray(self.moments_.counts(name)) > 0).sum() for name in names])
        least = np.minimum.outer(sizes, sizes) - 1
        squares = np.nan_to_num(np.square(association(self.moments_, names))) * least
        np.fill_diagonal(squares, 0.0)
        return float(squares.sum() / (len(names) * (len(names) - 1))) or None

    def column_coordinates(self, supplementary: str | Sequence[str] | None = None) -> Any:
        """Return a table of where levels and numbers lie: coordinate, contribution and squared cosine by component.

        Parameters
        ----------
        supplementary : str or sequence of str, optional
            Columns that took no part in the fit and are to be placed beside those that did: targets of the moments, or the
            column named as `y`. Not for a model from a file, which holds no moments.

        Returns
        -------
        table
            `column`, `level` (null for a number), `feature`, `coordinate`, `contribution` (null for a supplementary column)
            and `squared_cosine`, as in FactoMineR. See `docs/mca.md`.

        Examples
        --------
        >>> import gramian as gm
        >>> import pyarrow as pa
        >>> rows = pa.table({"color": ["red", "red", "blue", "blue"], "size": ["s", "s", "l", "s"]})
        >>> gm.PCA(1).fit(rows).column_coordinates().column("contribution").to_numpy().round(4)
        array([0.25 , 0.25 , 0.125, 0.375])
        """
        check_is_fitted(self)
        out = self._active()
        if supplementary is not None:
            if "moments_" not in vars(self):
                raise DataError(
                    "a model from a file holds no moments, which supplementary columns are placed by; fit it again"
                )
            names = self.moments_.schema.resolve(supplementary)
            used = [name for name in names if name in self._features]
            if used:
                raise DataError(
                    f"column {used[0]!r} took part in the fit; name it as a target to leave it out: ",
                    Call("fit"),
                    " with ",
                    Argument("y", used[0]),
                )
            more = self._supplementary(names)
            out = {key: [*out[key], *more[key]] for key in out}
        return output_table(out, library=self._frames)

    def _listed(self, columns: Sequence[tuple[str, list[Any]]], *values: Array) -> dict[str, list[Any]]:
        """Return one row per design column and component."""
        features = [str(name) for name in self.get_feature_names_out()]
        heads = [(name, level) for name, levels in columns for level in levels]
        names = ("column", "level", "feature", "coordinate", "contribution", "squared_cosine")
        rows = [
            (name, level, feature, *(None if not np.isfinite(value[j, k]) else float(value[j, k]) for value in values))
            for j, (name, level) in enumerate(heads)
            for k, feature in enumerate(features)
        ]
        return {name: [row[i] for row in rows] for i, name in enumerate(names)}

    def _active(self) -> dict[str, list[Any]]:
        design, variance = self.projection_.design, self._population()
        V, share = self.components_.T, design.mean
        is_level = np.ones(len(share), dtype=bool)
        is_level[design.number_places] = False
        scaled = V * np.sqrt(variance)
        with np.errstate(divide="ignore", invalid="ignore"):
            root = np.sqrt(np.where(is_level, share, 1.0))[:, None]
            coordinate = np.where(is_level[:, None] & (self._kind != "PCA"), scaled / root, scaled)
            if self._kind == "FAMD":
                coordinate = np.where(is_level[:, None], coordinate * np.sqrt(variance), coordinate)
            of_row = self._variance_in_metric(is_level, share)
            cosine = np.square(scaled) / of_row[:, None]
        labels = iter(design.labels)
        places = [
            (column.name, next(labels).names() if column.form == "category" else [None]) for column in design.columns
        ]
        return self._listed(places, coordinate, np.square(V), cosine)

    def _variance_in_metric(self, is_level: Array, share: Array) -> Array:
        """Return the population variance of each column of y, NaN where it is not known."""
        metric = self.metric_
        by_share = share * (1 - share)
        if "moments_" in vars(self):
            layout = layout_of(self._moments, self._features)
            by_share = scatter_diagonal(self._moments, layout) / float(self.moments_.total_weight)
        elif self.scale is False or self._kind == "PCA":
            # In these metrics a number's own spread is not in the model.
            by_share = np.where(is_level, by_share, np.nan if self.scale is not True else 1 / metric**2)
        else:
            by_share = np.where(is_level, by_share, 1 / metric**2)
        return np.asarray(np.where(by_share > 0, by_share * metric**2, np.nan))

    def _supplementary(self, names: Sequence[str]) -> dict[str, list[Any]]:
        moments, variance = self._moments, self._population()
        weight = float(self.moments_.total_weight)
        layout, aside = layout_of(moments, self._features), layout_of(moments, names)
        cross = (self.components_ * self.metric_) @ cross_scatter(moments, layout, aside) / weight
        spread, share = scatter_diagonal(moments, aside) / weight, centre_of(moments, aside)
        with np.errstate(divide="ignore", invalid="ignore"):
            correlation = (cross / np.sqrt(np.outer(variance, spread))).T
            middle = (cross / share).T
            level = middle if self._kind == "FAMD" else middle / np.sqrt(variance)
            number = correlation if self._kind != "PCA" or self.scale is True else cross.T / np.sqrt(variance)
            coordinate = np.where(aside.is_level[:, None], level, number)
        columns: list[tuple[str, list[Any]]] = []
        for name, form in zip(aside.columns, aside.forms, strict=True):
            columns.append((name, moments.labels[moments.coded_at[name]].names() if form == "category" else [None]))
        return self._listed(columns, coordinate, np.full(coordinate.shape, np.nan), np.square(correlation))

    def row_coordinates(self, X: Any) -> Any:
        """Return a table of where rows lie: coordinate, contribution and squared cosine by component.

        Rows that took no part in the fit are supplementary: their coordinates and squared cosines mean the same, and their
        contribution is what it would be of one row more.

        Parameters
        ----------
        X : rows, as in `transform`

        Returns
        -------
        table
            `row` from 0, `feature`, `coordinate`, `contribution`, `squared_cosine`. The coordinates are those of `transform`
            (without `whiten`), for MCA divided by the root of the number of columns.

        Examples
        --------
        >>> import gramian as gm
        >>> import pyarrow as pa
        >>> rows = pa.table({"color": ["red", "red", "blue", "blue"], "size": ["s", "s", "l", "s"]})
        >>> gm.PCA().fit(rows).row_coordinates(rows).column("squared_cosine").to_numpy()[:2].round(4)
        array([0.933, 0.067])
        """
        check_is_fitted(self)
        design, variance = self.projection_.design, self._population()
        model = GaussianModel(design, self.components_, self.metric_, self.explained_variance_, self.noise_variance_)
        unit = np.sqrt(self.explained_variance_) if self.whiten else 1.0
        z, lengths = [np.empty((0, self.n_components_))], [np.empty(0)]
        for rows in design.rows(open_rows(self, X, design)):
            z.append(self.projection_.apply([rows]) * unit)
            lengths.append(model.squared_length(rows))
        features, length = np.concatenate(z), np.concatenate(lengths)
        with np.errstate(divide="ignore", invalid="ignore"):
            contribution = np.square(features) / (self._weight() * variance)
            cosine = np.square(features) / length[:, None]
        n, k = features.shape
        names = np.array([str(name) for name in self.get_feature_names_out()])
        columns = {
            "row": np.repeat(np.arange(n), k),
            "feature": np.tile(names, n).tolist(),
            "coordinate": (features / np.sqrt(self._columns_divided_by())).ravel(),
            "contribution": contribution.ravel(),
            "squared_cosine": cosine.ravel(),
        }
        return output_table(columns, library=self._frames)

    def suggest_n_components(self) -> Any:
        """Return a table of how many components each rule would keep, and when to use which.

        Returns
        -------
        table
            `rule`, `n_components` (null where the rule cannot be used on these moments), `share` of the variance that
            these components explain, and `use`, when to prefer the rule.

        Examples
        --------
        >>> import gramian as gm
        >>> import numpy as np
        >>> rng = np.random.default_rng(0)
        >>> X = rng.normal(size=(200, 1)) + 0.5 * rng.normal(size=(200, 6))
        >>> gm.PCA().fit(X).suggest_n_components().column("n_components").to_pylist()
        [1, 1, 1, None, None]
        """
        check_is_fitted(self)
        if "moments_" not in vars(self):
            raise DataError("a model from a file holds no moments, which the rules need; fit it again")
        out: dict[str, list[Any]] = {"rule": [], "n_components": [], "share": [], "use": []}
        for rule, use in ADVICE.items():
            kept, share, words = None, None, use
            try:
                found = pca(
                    self._moments,
                    self._features,
                    n_components=rule,  # type: ignore[arg-type]
                    scale=self.scale,
                    ddof=self.ddof,
                    target=self._targets[0] if rule == "cv-target" and self._targets else None,
                )
            except DataError:
                if rule not in ("cv", "cv-target"):
                    raise
            else:
                kept, share = len(found.components), float(found.explained_variance_ratio.sum())
            for name, value in zip(out, (rule, kept, share, words), strict=True):
                out[name].append(value)
        return output_table(out, library=self._frames)

    def summary(self) -> str:
        """Return the analysis as text: facts, the eigenvalues, and what the first components are made of."""
        check_is_fitted(self)
        design, inertia = self.projection_.design, self._inertia()
        sources = len(design.categorical) + len(design.numeric)
        facts = f"{self.n_samples_:,} rows, {sources} columns"
        if design.categorical:
            facts += f", {len(design.mean) - len(design.numeric):,} levels"
        lines = [f"{self._kind}: {facts}, {self.n_components_} components", ""]
        head = [name.replace("_", " ") for name in inertia]
        first = min(self.n_components_, 10)
        cells = [
            [str(inertia["feature"][k])]
            + [
                f"{values[k]:.6g}" if values[k] is not None else ""
                for name, values in inertia.items()
                if name != "feature"
            ]
            for k in range(first)
        ]
        lines += text_table(head, cells, right=range(1, len(head)))
        if self.n_components_ > first:
            lines.append(f"... and {self.n_components_ - first} more")
        active = self._active()
        rows = list(zip(*active.values(), strict=True))
        for k in range(min(self.n_components_, 3)):
            own = sorted(rows[k :: self.n_components_], key=lambda row: -row[4])[:8]
            cells = [
                [row[0] if row[1] is None else f"{row[0]} = {row[1]}"]
                + ["" if value is None else f"{value:.4g}" for value in row[3:]]
                for row in own
            ]
            lines += [
                "",
                *text_table((rows[k][2], "coordinate", "contribution", "squared cosine"), cells, right=(1, 2, 3)),
            ]
        return "\n".join(lines)
