"""Types about JSON: in the final text, and in files of the work directory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar

from attrs import field, frozen

from skillwalker.expectations import (
    Detail,
    Eval,
    NotObservedError,
    Outcome,
    Test,
    Trial,
    Verdict,
    listed,
    safe,
    shown,
)
from skillwalker_expectations_contrib.answers import read_text
from skillwalker_expectations_contrib.paths import READ_LIMIT, find, is_path, missing, read
from skillwalker_expectations_contrib.schemas import (
    NotJsonError,
    SchemaError,
    in_words,
    misfits,
    parse,
    parse_embedded,
    usable,
)

_BEGINNING = 120
_SHOWN = 5

Schema = Mapping[str, Any]


def _at_most_one(instance: Any, _: Any, value: str | None) -> None:
    if value is not None and instance.schema is not None:
        raise ValueError("has both schema and schemaFile; leave one out")


def _load(schema: Schema | None, file: str | None, eval: Eval) -> Any:
    """The schema; None where any JSON will do.

    Raises:
        ValueError: it cannot be used; for its author.
    """
    if file is None:
        return None if schema is None else dict(schema)
    try:
        found = parse(read_text(eval, file))
    except NotJsonError as error:
        raise ValueError(f"{file} is no JSON: {error}") from error
    if not isinstance(found, dict | bool):
        raise ValueError(f"{file} is no JSON Schema but {shown(found)}")
    return found


def _faults(schema: Schema | None, file: str | None, eval: Eval) -> Iterator[str]:
    option = "schema" if file is None else "schemaFile"
    try:
        loaded = _load(schema, file, eval)
        if loaded is not None:
            usable(loaded)
    except ValueError as error:
        yield f"{option}: {error}"


def _loaded(schema: Schema | None, file: str | None, trial: Trial) -> Any:
    try:
        return _load(schema, file, trial.eval)
    except ValueError as error:  # it was there before the run
        raise NotObservedError(f"whether the JSON fits {file} ({error})", None) from error


def _misfits(schema: Any, value: Any) -> str | None:
    """In what a value does not fit; None if it fits."""
    if schema is None:
        return None
    try:
        found = misfits(schema, value)
    except SchemaError as error:
        raise NotObservedError(f"whether the JSON fits the schema ({error})", None) from error
    return in_words(found) or None


@frozen
class ResultJson:
    """The final text is JSON, and fits a JSON Schema.

    The draft is the one that `$schema` names, 2020-12 where it names none. `format` is checked. References
    may lead within the schema only, nothing is fetched. NaN, a name twice in one object or text beside the
    JSON make it none.

    Attributes:
        schema: The schema.
        schemaFile: Instead of `schema`, a file in the eval's directory that holds it.
        embedded: Whether text may stand around the JSON, such as a code block's marks; the first object or
            list counts.

    Examples:
        {"result-json": true}
        {"result-json": {"schema": {"required": ["issues"]}, "embedded": true}}
    """

    schema: Schema | None = None
    schema_file: str | None = field(default=None, alias="schemaFile", validator=_at_most_one)
    embedded: bool = False

    @classmethod
    def expand(cls, value: Any, test: Test) -> Any:
        if value is True:
            return {}
        if isinstance(value, str):
            return {"schemaFile": value}
        if not isinstance(value, dict):
            what = "a file with a JSON Schema, or an object with the options schema, schemaFile, embedded"
            raise ValueError(f"expected true, {what}, got {shown(value)}")
        return value

    def requires(self, eval: Eval, test: Test) -> Iterable[str]:
        return _faults(self.schema, self.schema_file, eval)

    def check(self, trial: Trial) -> Verdict:
        final = trial.final_text
        schema = _loaded(self.schema, self.schema_file, trial)
        if not final.strip():
            return Verdict.of(False, "the final text is empty; expected JSON")
        try:
            value = parse_embedded(final) if self.embedded else parse(final)
        except NotJsonError as error:
            return Verdict.of(False, f"the final text is no JSON: {error}{self._advice(final)}")
        if (wrong := _misfits(schema, value)) is not None:
            return Verdict.of(False, f"the JSON does not fit: {wrong}")
        return Verdict.of(True, f"the JSON fits: {shown(value, _BEGINNING)}")

    def _advice(self, final: str) -> str:
        if self.embedded:
            return ""
        try:
            parse_embedded(final)
        except NotJsonError:
            return ""
        return ' (there is JSON within it: "embedded": true would take that)'


@frozen
class JsonFile:
    """A file of the final work directory is JSON, and fits a JSON Schema.

    It does not matter whether the trial created it, changed it or left it as it was. Where `path` means
    several files, all must fit. Drafts, formats and references are as for result-json.

    Attributes:
        path: Relative to the work directory; `*` and `?` within a name, `**` over directories.
        schema: The schema.
        schemaFile: Instead of `schema`, a file in the eval's directory that holds it.

    Examples:
        {"json-file": "package.json"}
        {"json-file": {"path": "out/*.json", "schema": {"type": "array", "minItems": 1}}}
    """

    shorthand: ClassVar[str] = "path"

    path: str = field(validator=is_path)
    schema: Schema | None = None
    schema_file: str | None = field(default=None, alias="schemaFile", validator=_at_most_one)

    def requires(self, eval: Eval, test: Test) -> Iterable[str]:
        return _faults(self.schema, self.schema_file, eval)

    def check(self, trial: Trial) -> Verdict:
        found = find(trial, self.path)
        schema = _loaded(self.schema, self.schema_file, trial)
        if not found.files:
            return Verdict.of(False, missing(trial, self.path, found))
        details = tuple(_detail(trial, path, schema) for path in found.files)
        failed = [each for each in details if each.outcome is Outcome.FAILED]
        if failed:
            more = f" (and {len(failed) - 1} more of {len(details)} files)" if len(failed) > 1 else ""
            return Verdict(Outcome.FAILED, f"{failed[0].name}: {failed[0].message}{more}", details[:_DETAILS])
        if unseen := [each for each in details if each.outcome is Outcome.UNMEASURED]:
            return Verdict(Outcome.UNMEASURED, f"{unseen[0].name}: {unseen[0].message}", details[:_DETAILS])
        return Verdict(Outcome.PASSED, f"JSON that fits: {listed(found.files, _SHOWN)}", details[:_DETAILS])


_DETAILS = 50


def _detail(trial: Trial, path: str, schema: Any) -> Detail:
    name = safe(path, 120)
    try:
        data, whole = read(trial, path)
        if not whole:
            raise NotObservedError(f"whether it is JSON (larger than {READ_LIMIT >> 20} MiB)", None)
        wrong = _misfits(schema, parse(data.decode("utf-8-sig")))
    except UnicodeDecodeError:
        return Detail(name, Outcome.FAILED, "is no text in UTF-8")
    except NotJsonError as error:
        return Detail(name, Outcome.FAILED, f"is no JSON: {error}")
    except NotObservedError as error:
        return Detail(name, Outcome.UNMEASURED, str(error))
    if wrong is not None:
        return Detail(name, Outcome.FAILED, f"does not fit: {wrong}")
    return Detail(name, Outcome.PASSED, "fits")
