"""`gramian fit` and `select`: a method fitted to data or moments, to a model file; and the columns worth keeping."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from inspect import signature
from typing import TYPE_CHECKING, Annotated, Any

from gramian.cli.describing import describe_model, show_columns, show_model
from gramian.cli.files import check_output, kind_of, load_moments, open_data, require_columns, require_paths
from gramian.cli.objects import read_objects
from gramian.cli.options import (
    Categorical,
    Column,
    DataOrMoments,
    Exclude,
    Json,
    Method,
    Missing,
    Numeric,
    Settings,
    Target,
    Weights,
    methods,
    of_columns,
    option,
)  # fmt: skip
from gramian.cli.printing import after_fit, after_ranking, plain, show, show_json, show_next, show_table
from gramian.cli.settings import built, chosen_method
from gramian.cli.wording import UsageError, command_line
from gramian.errors import Argument, DataError, Parameter, unknown_column

if TYPE_CHECKING:
    from gramian.estimators.registry import Method as Registered
    from gramian.moments.value import Moments

EXAMPLES = {
    "fit": (
        "gramian fit payments.moments --method pca -k 5 -o pca.model",
        "gramian fit payments.parquet --method fisher --target fraud -o fisher.model",
        "gramian fit payments.parquet -m logit --target fraud --inference -o f.model",
        "gramian fit words.csv -m mds --column word --set metric=levenshtein -o m.model",
    ),
    "select": (
        "gramian select payments.moments --target fraud",
        "gramian select payments.parquet --target fraud --method forward -k 5",
        "gramian select payments.moments --target fraud -m lasso -k 5 -o lasso.model",
    ),
}

_RANKED = ("column", "kind", "beyond_chance", "information", "p_value", "explained_by", "mrmr", "forward", "lasso")
"""Of the table of every criterion, what is printed; JSON has all of it."""


def fit(
    data: DataOrMoments,
    method: Method,
    output: Annotated[str, option("--output -o MODEL", "The model file to write.")],
    target: Target = None,
    components: Annotated[
        str | None, option("-k N", "Features to keep; for pca also a share, elbow, mle, parallel or cv.")
    ] = None,
    settings: Settings = None,
    exclude: Exclude = None,
    categorical: Categorical = None,
    numeric: Numeric = None,
    weights: Weights = None,
    column: Column = None,
    missing: Missing = "raise",
    report: Annotated[str | None, option("--report FILE", "Also write a report, one HTML file.")] = None,
    inference: Annotated[
        bool, option("--inference", "Also show coefficients with standard errors, for ridge, logistic and poisson.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Fit a method to data or to a moments file, and write the model.

    From moments no data is read. Methods of distances (mds, mdsfda) take a column of objects with a metric, one object a
    line of a .txt file, or a square matrix of distances.
    """
    # What costs nothing to check comes first, and what needs the method's class before what needs the data.
    chosen = chosen_method(method)
    given = Training(data, target, exclude or [], categorical or [], numeric or [], weights, missing, column)
    given.check([output, *([report] if report else [])])
    _require_target(chosen, target)
    from gramian.estimators.registry import METHODS

    if chosen.name == "additive" and given.target_is_number():
        chosen = chosen_method("additive-regression")
    model = built(chosen, components, settings or [])
    if inference and not hasattr(model, "inference"):
        able = ", ".join(each.name for each in METHODS if hasattr(each.estimator, "inference"))
        raise UsageError(f"method {chosen.name} has no standard errors; --inference is for {able}")
    notes = {"command": command_line(), **given.fit(model, chosen)}
    # Before the file is written: there may be no errors.
    tables = _tables(model) if inference else {}
    from gramian.estimators.spine.files import save

    save(model, output, notes)
    if report:
        from gramian.cli.commands.report import write_report

        write_report(model, report, data=given.rows or None, target=target)
    if as_json:
        show_json({**describe_model(model), **tables, "output": output, **({"report": report} if report else {})})
        return
    show_model(describe_model(model))
    if inference:
        show(f"\n{model.summary()}\n")
        names = list(tables["anova"][0])
        show_table(names, [[row[name] for name in names] for row in tables["anova"]], right=(1, 2, 3))
    show(f"\nwrote {output}" + (f" and {report}" if report else ""))
    show_next(after_fit(model, output, given.rows, missing=missing))


def select(
    data: DataOrMoments,
    target: Target = None,
    method: Annotated[
        str | None,
        option(
            "--method -m NAME", "A method of selection; without one every criterion is shown.", autocompletion=methods
        ),
    ] = None,
    components: Annotated[str | None, option("-k N", "Columns to keep; for forward and rfe also cv.")] = None,
    settings: Settings = None,
    include: Annotated[list[str] | None, of_columns("--include", "A column that stays. Repeatable.")] = None,
    exclude: Exclude = None,
    categorical: Categorical = None,
    numeric: Numeric = None,
    weights: Weights = None,
    output: Annotated[
        str | None, option("--output -o MODEL", "Also write the selector, for gramian transform.")
    ] = None,
    crosses: Annotated[
        bool, option("--crosses", "Show which pairs of columns say more than the two say each; needs rows.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Show which columns to keep, by one method or by every criterion side by side.

    From moments no data is read. All levels of a category, and all parts of a date, stay or go together.
    """
    given = Training(data, target, exclude or [], categorical or [], numeric or [], weights)
    given.check([output] if output is not None else [])
    if crosses:
        asked = {"--method": method, "-k": components, "--set": settings, "--include": include, "--output": output}
        _refuse("--crosses", asked)
        _rank_crosses(given, as_json)
        return
    if method is None:
        asked = {"-k": components, "--set": settings, "--include": include, "--output": output}
        for name, value in asked.items():
            if value:
                raise UsageError(f"{name} needs a method: name one with --method (gramian methods lists them)")
        _rank(given, as_json)
        return
    chosen = _selecting(method, target)
    if include and any(setting.split("=")[0].strip() == "include" for setting in settings or []):
        raise UsageError("--include and --set include both name columns that stay; use one of them")
    model = built(chosen, components, settings or [])
    if include:
        model.set_params(include=include)
    try:
        given.fit(model, chosen)
    except DataError as error:
        # Elsewhere on the command line `include` is a `--set`; here it has an option of its own.
        named = [Argument("include"), Parameter("include")]
        if not include or not any(part in named for part in error.parts):
            raise
        raise type(error)(*("--include" if part in named else part for part in error.parts)) from error
    if output is not None:
        from gramian.estimators.spine.files import save

        save(model, output, {"command": command_line()})
    _show_selected(model, output, given.rows, as_json)


@dataclass
class Training:
    """What a model is fitted to: rows of data or one moments file, and how their columns are read.

    Parameters
    ----------
    paths : data files, folders or patterns; or moments
    target, exclude, categorical, numeric, weights, missing, column : as the options say
    """

    paths: list[str]
    target: str | None
    exclude: list[str]
    categorical: list[str]
    numeric: list[str]
    weights: str | None
    missing: str = "raise"
    column: str | None = None
    from_moments: bool = field(init=False, default=False)

    def check(self, outputs: list[str]) -> None:
        """Raise, before anything is read, where a path or an option makes no sense, or an output could not be written."""
        require_paths(self.paths)
        for each in outputs:
            check_output(each, self.paths)
        kinds = {kind_of(path) for path in self.paths}
        if "model" in kinds:
            raise UsageError(f"{self.paths[0]} is a model already; name data or a moments file")
        self.from_moments = "moments" in kinds
        if self.from_moments:
            _refuse("moments", {"--numeric": self.numeric, "--weights": self.weights, "--column": self.column})

    @property
    def rows(self) -> list[str]:
        """The paths of data, of which there are none where there are moments."""
        return [] if self.from_moments else self.paths

    @property
    def _kinds(self) -> dict[str, Any]:
        return {"categorical": self.categorical, "numeric": self.numeric}

    def fit(self, model: Any, method: Registered) -> dict[str, str]:
        """Fit a model, and return notes on where its objects stood."""
        if self.from_moments:
            if len(self.paths) == 1 and not method.takes_moments:
                raise UsageError(f"method {method.name} needs rows, and moments have none; name the data instead")
            model.fit(self.moments(), y=self.target)
        elif method.takes_distances:
            _refuse(f"method {method.name}", {"--categorical": self.categorical, "--weights": self.weights})
            objects = read_objects(
                self.paths,
                column=self.column,
                target=self.target,
                exclude=self.exclude,
                numeric=self.numeric,
                metric=model.metric,
            )
            model.fit(objects.values, *([] if objects.target is None else [objects.target]))
            return objects.notes
        else:
            _refuse(f"method {method.name}", {"--column": self.column})
            self._fit_rows(model, method)
        return {}

    def moments(self) -> Moments:
        """Return the moments of the file, without some columns, others read as categories; or those of the rows."""
        if not self.from_moments:
            import gramian as gm

            return gm.collect(self.table(), **self._kinds, targets=self.target, sample_weight=self.weights)
        if len(self.paths) > 1:
            raise UsageError("several moments files: add them up first, with gramian merge")
        moments = load_moments(self.paths[0])
        known = [*dict.fromkeys(column.origin for column in moments.schema), *moments.schema.names]
        for name in [*self.exclude, *self.categorical, *([self.target] if self.target else [])]:
            if name not in known:
                raise unknown_column(name, dict.fromkeys(known), where=self.paths[0])
        moments = moments.drop(self.exclude) if self.exclude else moments
        return moments.as_categorical(self.categorical) if self.categorical else moments

    def target_is_number(self) -> bool:
        """Whether the target holds numbers that are not classes: by its type, or more than 20 values in the first rows."""
        if self.from_moments or self.target is None or self.target in self.categorical:
            return False
        import pyarrow as pa

        from gramian.linear.regression.targets import MAX_CLASSES

        table = self.table()
        kind = table.schema.field(self.target).type
        if pa.types.is_integer(kind) and self.target not in self.numeric:
            seen: set[Any] = set()
            for batch in table.batches([self.target]):
                seen.update(batch.column(0).unique().drop_null().to_pylist())
                if len(seen) > MAX_CLASSES:
                    return True
            return False
        return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))

    def table(self) -> Any:
        """Return the rows of the files."""
        table = open_data(self.paths, **self._kinds, exclude=self.exclude, missing=self.missing)
        require_columns(table, [*self.categorical, self.target, self.weights])
        return table

    def _fit_rows(self, model: Any, method: Registered) -> None:
        table = self.table()
        if self.categorical:
            if "categorical_features" not in method.parameters:
                raise UsageError(f"method {method.name} takes no --categorical; leave it out")
            model.set_params(categorical_features=self.categorical)
        if self.weights is None:
            # By position: a sequence calls it target.
            model.fit(table, self.target)
            return
        if "sample_weight" not in signature(model.fit).parameters:
            raise UsageError(f"method {method.name} takes no --weights; leave it out")
        model.fit(table, y=self.target, sample_weight=self.weights)


def _tables(model: Any) -> dict[str, list[dict[str, Any]]]:
    """Return the coefficients with their errors, and the tests of whole columns, row by row."""
    return {name: plain(getattr(model, name)().to_pylist()) for name in ("inference", "anova")}


def _refuse(what: str, given: Mapping[str, Any]) -> None:
    """Raise for the first option that was given and has no meaning here."""
    for name, value in given.items():
        if value:
            raise UsageError(f"{name} has no meaning for {what}; leave it out")


def _require_target(method: Registered, target: str | None) -> None:
    if method.needs_target and target is None:
        raise UsageError(f"method {method.name} needs a target: name a column with --target")


def _selecting(name: str, target: str | None) -> Registered:
    """Return a method that selects columns."""
    from gramian.estimators.registry import METHODS

    able = [each for each in METHODS if each.selects]
    chosen = chosen_method(name, able)
    if not chosen.selects:
        names = ", ".join(each.name for each in able)
        raise UsageError(f"method {chosen.name} selects no columns; those that do are {names}")
    _require_target(chosen, target)
    return chosen


def _show_selected(model: Any, output: str | None, data: list[str], as_json: bool) -> None:
    columns = model.summary_columns()
    rows = [dict(zip(columns, values, strict=True)) for values in zip(*map(plain, columns.values()), strict=True)]
    kept = [row["column"] for row in rows if row["kept"]]
    if as_json:
        found = {"kept": kept, "columns": rows, "path": model.path_columns_}
        show_json({**found, **({"output": output} if output else {})})
        return
    rows.sort(key=lambda row: (not row["kept"], row.get("p_value") or 0.0, -abs(row["score"] or 0.0)))
    _show_ranked(list(columns), rows)
    show(f"\n{len(kept)} of {len(rows)} columns stay" + (f"; wrote {output}" if output else ""))
    if output is not None:
        show_next(after_fit(model, output, data))


def _rank(given: Training, as_json: bool) -> None:
    """Show every criterion of selection, one row per column."""
    target = given.target
    if target is None:
        raise UsageError("columns are ranked for a target: name a column with --target")
    import gramian as gm

    ranks = gm.rank_columns(given.moments().from_library(None), target)
    rows = ranks.to_pylist()
    if as_json:
        show_json(rows)
        return
    _show_ranked([name for name in _RANKED if name in ranks.column_names], rows)
    asked = {"--exclude": given.exclude, "--categorical": given.categorical, "--numeric": given.numeric}
    asked["--weights"] = [given.weights] if given.weights else []
    show_next(after_ranking(given.paths, target, asked))


def _rank_crosses(given: Training, as_json: bool) -> None:
    """Show the tests of all pairs of columns beyond an additive model, one row per pair."""
    if given.target is None:
        raise UsageError("pairs are ranked for a target: name a column with --target")
    if given.from_moments:
        raise UsageError("--crosses needs rows, and moments have none; name the data instead")
    import gramian as gm

    model: Any = (gm.AdditiveRegressor if given.target_is_number() else gm.AdditiveClassifier)(crosses=0)
    if given.categorical:
        model.set_params(categorical_features=given.categorical)
    model.fit(given.table(), y=given.target, sample_weight=given.weights)
    ranks = gm.rank_crosses(model, given.table(), sample_weight=given.weights)
    rows = plain(ranks.to_pylist())
    if as_json:
        show_json(rows)
        return
    _show_ranked(ranks.column_names, rows)


def _show_ranked(names: list[str], rows: list[dict[str, Any]]) -> None:
    show_columns(names, [[row[name] for name in names] for row in rows], right=range(2, len(names)))
