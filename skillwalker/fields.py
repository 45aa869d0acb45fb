"""The decoded value of a `tests.json` -> tests; every rule of the format, every problem with its path.

Checked by hand rather than by a converter: most rules are about files, about two fields at once, or need a
message of their own. What stands inside an expectation is its type's business (`expectations.registry`).
"""

from __future__ import annotations

import math
import os
from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar

from attrs import define, evolve, field

from skillwalker.errors import ConfigurationError
from skillwalker.evals import MAX_TRIALS, ExpectationSpec, Test, TestType
from skillwalker.folders import find_inside, mode_inside, path_fault
from skillwalker.jsonfile import child, decode
from skillwalker.models import DEFAULT_MODEL, MODEL_IDS, is_model
from skillwalker.queries import short_name, unique_names
from skillwalker.shapes import ShapeReader, kind_of, shown
from skillwalker.text import did_you_mean, has_controls, is_blank, listed, near, safe

MAX_PROMPT_BYTES = 10_000_000
"""Claude Code takes at most 10 MB from its standard input."""

_TYPES = tuple(str(member) for member in TestType)
_EVAL_FIELDS = ("$schema", "plugins", "tests")
_REQUIRED = ("name", "type", "expect")
_PROMPTS = ("promptFile", "prompt")
_COMMON = ("skillFile", "agentFile", "model", "scaffold", "trials", "passRate", "tags", "skip")
_TEST_FIELDS = (*_REQUIRED, *_PROMPTS, "queries", *_COMMON)
_QUERY_REQUIRED = ("query", "should_trigger")
_QUERY_FIELDS = (*_QUERY_REQUIRED, "name", "tags", "skip")
# The expectations that these types of tests are about have the types' names.
_ASKED_BY = {asks: str(asks) for asks in (TestType.SKILL_CALL, TestType.AGENT_CALL)}
_NEEDS = {
    TestType.SKILL_CALL: "skillFile",
    TestType.AGENT_CALL: "agentFile",
    TestType.AGENT_PROMPT: "agentFile",
}


@define
class FieldReader(ShapeReader):
    """Reads one eval."""

    REQUIRED: ClassVar[Collection[str]] = _REQUIRED

    directory: Path
    root: Path
    _prompts: dict[str, tuple[Path, str]] = field(factory=dict)  # tests often share them
    _scaffolds: dict[str, Path] = field(factory=dict)

    def read(self, value: Any) -> tuple[tuple[str, ...], tuple[Test, ...]]:
        """The plugins (none where one of them is a problem) and whatever could be made of the tests."""
        if not isinstance(value, dict):
            self.tell("$", f"must be an object with plugins and tests, not {kind_of(value)}")
            return (), ()
        self.unknown(value, "", _EVAL_FIELDS, ("plugins", "tests"))
        plugins = self._plugins(value["plugins"]) if "plugins" in value else ()
        tests = self._tests(value["tests"]) if "tests" in value else ()
        return plugins, tests

    def _plugins(self, value: Any) -> tuple[str, ...]:
        before = len(self.problems)
        seen: dict[str, str] = {}
        for path, name in self.elements(value, "plugins", "name at least one plugin directory"):
            if not isinstance(name, str):
                self.tell(path, f"must be a string, not {kind_of(name)}")
            elif fault := path_fault(name):
                self.tell(path, fault)
            else:
                parts = [part for part in name.split("/") if part not in ("", ".")]
                first = seen.setdefault("/".join(parts), path)
                if first != path:
                    self.tell(path, f"names the same directory as {first}")
                # Whether it is there, and a plugin, is found where plugins are read.
                with suppress(OSError):
                    if mode_inside(self.root, parts) is None:
                        self.tell(path, f"{safe(name)} is a link that leads out of {safe(self.root.name)}/")
        return tuple(value) if len(self.problems) == before else ()

    def _tests(self, value: Any) -> tuple[Test, ...]:
        tests: list[tuple[Test, str | None]] = []
        names: dict[str, str] = {}
        for path, element in self.elements(value, "tests", "write at least one test"):
            if not isinstance(element, dict):
                self.tell(path, f"must be an object, not {kind_of(element)}")
                continue
            if "queries" in element:
                tests += self._queries(element, path)
                continue
            tests.append((self._test(element, path), child(path, "name")))
        for test, place in tests:
            if test.name and place:
                first = names.setdefault(test.name, place)
                if first != place:
                    where = first.removesuffix(".name")
                    self.tell(place, f"has the name of {where}; a test is known by its name")
        made = iter(unique_names([test.name for test, place in tests if place is None], names))
        return tuple(test if place else evolve(test, name=next(made)) for test, place in tests)

    def _queries(self, value: dict[str, Any], path: str) -> list[tuple[Test, str | None]]:
        """A test for each query, and where its name is written; None: it is still to be made unique."""
        test_type = self._type(value, path)
        self.unknown(value, path, _TEST_FIELDS, ("type",))
        for key in (*_PROMPTS, "expect"):
            if key in value:
                self.tell(child(path, key), "each of the queries says this for itself; leave the field out")
        if test_type and test_type not in _ASKED_BY:
            self.tell(
                child(path, "type"),
                f"queries are for {' and '.join(_ASKED_BY.values())} tests, not {test_type}",
            )
        self._require(value, path, test_type)
        common = self._common(value, path, test_type)
        prefix = self._name(value, path)
        found: list[tuple[Test, str | None]] = []
        for place, element in self.elements(value["queries"], child(path, "queries"), "write at least one"):
            if not isinstance(element, dict):
                example = '{"query": "text", "should_trigger": true}'
                self.tell(place, f"must be an object such as {example}, not {kind_of(element)}")
                continue
            self.unknown(element, place, _QUERY_FIELDS, _QUERY_REQUIRED)
            query, wanted = self._text(element, place, "query"), element.get("should_trigger", True)
            if not isinstance(wanted, bool):
                self.tell(child(place, "should_trigger"), f"must be true or false, not {shown(wanted)}")
            own = self._name(element, place)
            made = short_name(query)
            test = evolve(
                common,
                name=own or (f"{prefix}: {made}" if prefix else made),
                prompt=query,
                expect=(
                    ExpectationSpec(
                        _ASKED_BY.get(common.type, str(TestType.SKILL_CALL)),
                        wanted is True,
                        child(place, "should_trigger"),
                    ),
                ),
                tags=tuple(dict.fromkeys((*common.tags, *self._tags(element, place)))),
                skip=self._skip(element, place) or common.skip,
            )
            found.append((test, child(place, "name") if own else None))
        return found

    def _test(self, value: dict[str, Any], path: str) -> Test:
        test_type = self._type(value, path)
        meant = self.unknown(value, path, _TEST_FIELDS, _REQUIRED)
        self._require(value, path, test_type)
        if not any(key in value or key in meant for key in _PROMPTS):
            self.tell(child(path, "promptFile"), "missing field promptFile, or prompt with the text itself")
        if all(key in value for key in _PROMPTS):
            self.tell(child(path, "prompt"), "a test has a promptFile or a prompt, not both")
        prompt_file, prompt = self._prompt(value, path)
        return evolve(
            self._common(value, path, test_type),
            name=self._name(value, path),
            prompt_file=prompt_file,
            prompt=prompt,
            expect=self._expect(value["expect"], child(path, "expect")) if "expect" in value else (),
        )

    def _require(self, value: Mapping[str, Any], path: str, test_type: TestType | None) -> None:
        needed = _NEEDS.get(test_type) if test_type else None
        if needed and needed not in value:
            self.tell(child(path, needed), f"missing field {needed}: a test of type {test_type} needs it")

    def _common(self, value: Mapping[str, Any], path: str, test_type: TestType | None) -> Test:
        """What a test and a list of queries have in common."""
        return Test(
            name="",
            type=test_type or _guessed_type(value),
            prompt_file=self.directory / "tests.json",
            prompt="",
            expect=(),
            path=path,
            model=self._model(value, path),
            skill_file=self._reference(value, path, "skillFile"),
            agent_file=self._reference(value, path, "agentFile"),
            scaffold=self._scaffold(value, path),
            trials=self._trials(value, path),
            pass_rate=self._pass_rate(value, path),
            tags=self._tags(value, path),
            skip=self._skip(value, path),
        )

    def _name(self, value: Mapping[str, Any], path: str) -> str:
        name = self.string(value, path, "name")
        if name is not None and has_controls(name):
            self.tell(child(path, "name"), f"holds control characters: {safe(name, 80)}")
        return name or ""

    def _type(self, value: Mapping[str, Any], path: str) -> TestType | None:
        written = self.string(value, path, "type")
        if written in _TYPES:
            return TestType(written)
        if written is not None:
            hint = f"{did_you_mean(written, _TYPES)}; the types are {', '.join(_TYPES)}"
            self.tell(child(path, "type"), f"unknown test type {shown(written)}{hint}")
        return None

    def _model(self, value: Mapping[str, Any], path: str) -> str:
        model = self.string(value, path, "model")
        if model is not None and not is_model(model):
            hint = did_you_mean(model, MODEL_IDS)
            models = f"{', '.join(MODEL_IDS)} or a full name that begins with claude-"
            self.tell(child(path, "model"), f"unknown model {shown(model)}{hint}; write {models}")
        return model or DEFAULT_MODEL

    def _reference(self, value: Mapping[str, Any], path: str, key: str) -> str | None:
        reference = self.string(value, path, key)
        if reference is not None and (fault := reference_fault(reference, key.removesuffix("File"))):
            self.tell(child(path, key), fault)
        return reference

    def _prompt(self, value: Mapping[str, Any], path: str) -> tuple[Path, str]:
        if "prompt" in value and "promptFile" not in value:
            return self.directory / "tests.json", self._text(value, path, "prompt")
        name = self.string(value, path, "promptFile")
        if name is None:
            return self.directory / "prompts", ""
        if name not in self._prompts:
            try:
                file = find_inside(self.directory, "prompts", name)
                self._prompts[name] = file, _prompt_text(file, f"prompts/{safe(name)}")
            except ValueError as error:
                self.tell(child(path, "promptFile"), str(error))
                return self.directory / "prompts", ""
        return self._prompts[name]

    def _text(self, value: Mapping[str, Any], path: str, key: str) -> str:
        """A prompt that stands in `tests.json` itself."""
        text = self.string(value, path, key) or ""
        if (size := len(text.encode("utf-8", "surrogatepass"))) > MAX_PROMPT_BYTES:
            self.tell(child(path, key), _too_big(size))
        return text

    def _tags(self, value: Mapping[str, Any], path: str) -> tuple[str, ...]:
        if "tags" not in value:
            return ()
        place, tags = child(path, "tags"), value["tags"]
        if not isinstance(tags, list):
            self.tell(place, f"must be a list of strings, not {kind_of(tags)}")
            return ()
        for index, tag in enumerate(tags):
            if not isinstance(tag, str):
                self.tell(child(place, index), f"must be a string, not {kind_of(tag)}")
            elif is_blank(tag):
                self.tell(child(place, index), "is blank" if tag else "is empty")
            elif has_controls(tag):
                self.tell(child(place, index), f"holds control characters: {safe(tag, 80)}")
        return tuple(tag for tag in tags if isinstance(tag, str))

    def _skip(self, value: Mapping[str, Any], path: str) -> str | None:
        if isinstance(value.get("skip"), bool):
            wanted = "must be a string that says why the test is not run"
            self.tell(child(path, "skip"), f"{wanted}, not {kind_of(value['skip'])}")
            return None
        return self.string(value, path, "skip")

    def _scaffold(self, value: Mapping[str, Any], path: str) -> Path | None:
        name = self.string(value, path, "scaffold")
        if name is None:
            return None
        if name not in self._scaffolds:
            try:
                found = find_inside(self.directory, "scaffolds", name, "directory")
                if not os.access(found, os.R_OK | os.X_OK):
                    raise ValueError(f"scaffolds/{safe(name)} cannot be read: Permission denied")
                self._scaffolds[name] = found
            except ValueError as error:
                self.tell(child(path, "scaffold"), str(error))
                return None
        return self._scaffolds[name]

    def _expect(self, value: Any, path: str) -> tuple[ExpectationSpec, ...]:
        specs = []
        for place, element in self.elements(value, path, "write at least one expectation"):
            if not isinstance(element, dict):
                example = '{"result-contains": "text"}'
                self.tell(place, f"must be an object such as {example}, not {kind_of(element)}")
            elif len(element) != 1:
                keys = f"these are {len(element)}: {listed(element)}" if element else "this has none"
                self.tell(place, f"each expectation is an object of its own with one key; {keys}")
            if isinstance(element, dict):
                specs += [ExpectationSpec(key, inner, child(place, key)) for key, inner in element.items()]
        return tuple(specs)

    def _trials(self, value: Mapping[str, Any], path: str) -> int:
        trials = value.get("trials", 1)
        if type(trials) is int and 1 <= trials <= MAX_TRIALS:
            return trials
        wanted = f"must be a whole number from 1 to {MAX_TRIALS:,}"
        self.tell(child(path, "trials"), f"{wanted}, not {shown(trials)}")
        return 1

    def _pass_rate(self, value: Mapping[str, Any], path: str) -> float | None:
        if "passRate" not in value:
            return None
        rate = value["passRate"]
        if type(rate) in (int, float) and 0 <= rate <= 1:
            return float(rate)
        if isinstance(rate, float) and not math.isfinite(rate):
            return None  # told already, as no JSON number
        self.tell(child(path, "passRate"), f"must be a number from 0 to 1, not {shown(rate)}")
        return None


def reference_fault(reference: str, kind: str) -> str | None:
    """Why this is no `plugin:skill` or `plugin:agent` (`kind` says which); None where it is one.

    The first colon divides: what follows may hold more of them.
    """
    plugin, colon, name = reference.partition(":")
    example = f'must be plugin:{kind}, such as "acme:code-review"'
    if not (plugin and colon and name) or reference.startswith("/"):
        return f"{example}, not {shown(reference)}"
    if has_controls(reference) or plugin != plugin.strip() or name != name.strip():
        return f"{example}, without control characters or blanks around its parts, not {shown(reference)}"
    return None


def _prompt_text(file: Path, name: str) -> str:
    """The exact text, line ends as they are, but without a byte order mark.

    Raises:
        ValueError: it cannot be read, is too big, blank or not UTF-8.
    """
    try:
        with open(file, "rb") as stream:
            size = os.fstat(stream.fileno()).st_size
            if size > MAX_PROMPT_BYTES:
                raise ValueError(f"{name} {_too_big(size)}")
            text = decode(stream.read())
    except OSError as error:
        raise ValueError(f"{name} cannot be read: {error.strerror}") from None
    except ConfigurationError as error:
        raise ValueError(f"{name} {error.problems[0].message}") from None
    if is_blank(text):
        raise ValueError(f"{name} is {'blank' if text else 'empty'}; write what the user would say")
    return text


def _too_big(size: int) -> str:
    return f"has {size:,} bytes; Claude Code takes {MAX_PROMPT_BYTES:,} at most"


def _guessed_type(value: Mapping[str, Any]) -> TestType:
    """For a test whose type is a problem, so that the rest of it can be checked."""
    written = value.get("type")
    if isinstance(written, str) and (matches := near(written, _TYPES, limit=1)):
        return TestType(matches[0])
    return TestType.SKILL_PROMPT
