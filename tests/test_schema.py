"""The schema for editors and the loader agree on every place of a file, but for what a schema cannot say."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from fuzzing import fuzzed, mutated
from hypothesis import given
from hypothesis import strategies as st
from test_loading import PROMPTS, cases, eval_of

from skillwalker.expectations.registry import Registry
from skillwalker.loading import SCHEMA, find_evals, load_eval
from skillwalker.schema import schema_of_tests

TOP = Path(__file__).parents[1]
EXAMPLE = TOP / "examples" / "csv-toolbox"
PACKAGES = Path(__file__).parent / "packages"
VALID, IN_LISTS = (
    json.loads((TOP / f"tests/data/evals/valid/{name}.json").read_text("utf-8"))
    for name in ("every-field", "inline-prompts-and-queries")
)

BEYOND_A_SCHEMA = (
    # What lies on the disk.
    r"does not exist|cannot be read|is not a directory|is a directory|is blank|is empty; write what"
    r"|looks like UTF-16|is UTF-16; |prompts/\S+ is not UTF-8|is a link|no plugin|there is no (skill|agent)",
    # What other places of the file say.
    r"has the name of tests|names the same directory as|this test has none",
    # How the text is written, which no value shows.
    r"^duplicate key|is no JSON number$|is out of range$|half a surrogate pair|\\ud[89a-f]|, not 1\.0$",
    # Folder and name only differ for the system.
    r"must name something in",
)


def own() -> Registry:
    """The types of Skillwalker itself, whatever else is installed."""
    found = Registry.scan()
    return Registry(
        {
            name: candidates
            for name, candidates in found.candidates.items()
            if [candidate.distribution for candidate in candidates] == ["skillwalker"]
        }
    )


@pytest.fixture(scope="module")
def registry() -> Registry:
    return own()


@pytest.fixture(scope="module")
def validator(registry: Registry) -> jsonschema.Draft7Validator:
    return validating(registry)


def validating(registry: Registry) -> jsonschema.Draft7Validator:
    document = json.loads(json.dumps(schema_of_tests(registry).document))
    jsonschema.Draft7Validator.check_schema(document)
    return jsonschema.Draft7Validator(document)


Place = tuple[str | int, ...]


def steps(path: str) -> Place:
    """A JSON path as the loader writes it, in parts."""
    if path == "$":
        return ()
    found = re.findall(r'\[(\d+)\]|\[(".*?")\]|\.?([^.\[\]]+)', path)
    return tuple(
        int(index) if index else _unquoted(quoted) if quoted else key for index, quoted, key in found
    )


def _unquoted(key: str) -> str:
    """A key as a path shows it: JSON, but for the escapes of what a terminal must not get."""
    return str(json.loads(re.sub(r"\\x([0-9a-f]{2})", r"\\u00\1", key)))


def loader_says(directory: Path, root: Path, registry: Registry) -> list[tuple[Place, str]]:
    """Every problem of an eval, its expectations included."""
    loaded = load_eval(directory, root)
    found = list(loaded.problems)
    for test in loaded.draft.tests if loaded.draft else ():
        for spec in test.expect:
            found += registry.bind(spec, loaded.draft, test).problems  # type: ignore[arg-type]
    return [(steps(problem.path or "$"), problem.message) for problem in found]


def schema_says(validator: jsonschema.Draft7Validator, value: Any) -> list[tuple[Place, str]]:
    return [(tuple(error.absolute_path), error.message) for error in validator.iter_errors(value)]


def near(one: Place, other: Place) -> bool:
    """Whether one of two places lies in the other; what is missing is told one step apart."""
    short, long = sorted((one, other), key=len)
    return long[: len(short)] == short and (len(long) - len(short) <= 1 or short == one)


def value_of(file: Path) -> Any:
    """None where there is no value to hold against a schema."""
    try:
        return json.loads(file.read_bytes().decode("utf-8-sig"))
    except (ValueError, OSError):
        return None


@pytest.mark.parametrize("case", [*cases("valid"), *cases("invalid")], ids=lambda case: case.stem)
def test_they_agree_on_whole_files(
    case: Path, tmp_path: Path, registry: Registry, validator: jsonschema.Draft7Validator
) -> None:
    directory = eval_of(case, tmp_path)
    loader = loader_says(directory, tmp_path, registry)
    if (value := value_of(directory / "tests.json")) is None and case.stem != "top-level-null":
        assert loader, "the loader reads what is no JSON"
        return
    schema = schema_says(validator, value)
    missed = [
        (place, message)
        for place, message in loader
        if not any(re.search(beyond, message) for beyond in BEYOND_A_SCHEMA)
        and not any(near(there, place) for there, _ in schema)
    ]
    invented = [
        (there, message) for there, message in schema if not any(near(there, place) for place, _ in loader)
    ]
    assert (missed, invented) == ([], [])


@pytest.mark.parametrize("directory", find_evals(EXAMPLE).evals, ids=lambda path: path.name)
def test_the_example_is_valid_and_names_its_schema(
    directory: Path, validator: jsonschema.Draft7Validator
) -> None:
    value = json.loads((directory / "tests.json").read_text("utf-8"))
    assert schema_says(validator, value) == []
    assert (directory / value["$schema"]).resolve() == (EXAMPLE / "evals" / SCHEMA).resolve()


def test_the_schema_beside_the_example_is_the_one_of_the_built_in_types(registry: Registry) -> None:
    again = "REWRITE_EXPECTED=1 pytest tests/test_schema.py writes it anew: read the difference"
    text = json.dumps(schema_of_tests(registry).document, indent=2, ensure_ascii=False) + "\n"
    if os.environ.get("REWRITE_EXPECTED"):
        (EXAMPLE / "evals" / SCHEMA).write_text(text, "utf-8")
    assert (EXAMPLE / "evals" / SCHEMA).read_text("utf-8") == text, again


@fuzzed(60)
@given(st.one_of(mutated(VALID, most=2), mutated(IN_LISTS, most=2)))
def test_what_the_loader_takes_the_schema_takes(value: Any) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        directory = root / "evals" / "one"
        for prompt, data in PROMPTS.items():
            (directory / "prompts" / prompt).parent.mkdir(parents=True, exist_ok=True)
            (directory / "prompts" / prompt).write_bytes(data)
        (directory / "scaffolds" / "app").mkdir(parents=True)
        try:
            (directory / "tests.json").write_text(json.dumps(value), "utf-8")
        except RecursionError:
            return
        if load_eval(directory, root).problems:
            return
        known = own()
        told = [place for place, _ in loader_says(directory, root, known)]
        for place, message in schema_says(validating(known), value):
            assert any(near(place, each) for each in told), (place, message)


@pytest.mark.parametrize(
    ("value", "taken"),
    [
        ({"result-contains": "x"}, True),
        ({"result-contains": {"text": "x"}}, True),
        ({"result-contains": 5}, False),
        ({"result-contains": {"txt": "x"}}, False),
        ({"skill-call": True}, True),
        ({"skill-call": "acme:tidy"}, False),
        ({"skill-call": {"skill": "acme:tidy"}}, False),
        ({"agent-call": {"agent": "acme:auditor", "expected": False}}, True),
        ({"llm-judge": {"rubricFile": "r.md", "threshold": 1}}, True),
        ({"llm-judge": {"rubricFile": "r.md", "threshold": 1.5}}, False),
        ({"llm-judge": {"model": "opus"}}, False),
        ({"llm-judge": {"rubricFile": 3}}, False),
        ({"resul-contains": "x"}, False),
        ({}, False),
        ({"skill-call": True, "agent-call": True}, False),
    ],
)
def test_expectations_are_checked_by_their_types(
    validator: jsonschema.Draft7Validator, value: Any, taken: bool
) -> None:
    test = {"name": "t", "type": "skill-prompt", "promptFile": "p.md", "expect": [value]}
    assert (schema_says(validator, {"plugins": ["acme"], "tests": [test]}) == []) is taken


def test_the_command_prints_it_and_tells_of_broken_types(
    others: Registry, run_cli: Callable[..., Any]
) -> None:
    done = run_cli("schema")
    assert done.code == 0
    types = json.loads(done.out)["definitions"]["expectation"]["properties"]
    assert {"result-contains", "mentions", "raises"} <= types.keys()
    assert "note: the expectation type raises of broken-checks 0.3 cannot be used" in done.err


def test_the_file_for_editors_is_nobody_elses() -> None:
    assert find_evals(EXAMPLE).notes == ()


def test_an_editor_is_told_what_options_mean(registry: Registry) -> None:
    expectation = schema_of_tests(registry).document["definitions"]["expectation"]
    judge = expectation["properties"]["llm-judge"]
    assert judge["description"].startswith("A model finds enough of a rubric's criteria met.")
    assert judge["properties"]["model"]["default"] == "opus"
    assert judge["properties"]["threshold"] | {"description": ""} == {
        "description": "",
        "type": "number",
        "default": 1.0,
        "minimum": 0,
        "maximum": 1,
    }
    assert judge["required"] == ["rubricFile"]


@pytest.fixture
def others(monkeypatch: pytest.MonkeyPatch) -> Iterator[Registry]:
    before = set(sys.modules)
    paths = [str(PACKAGES / name) for name in ("good", "broken", "duplicate")]
    for path in paths:
        monkeypatch.syspath_prepend(path)
    yield Registry.scan(paths)
    for name in set(sys.modules) - before:
        if name.startswith(("acme", "broken", "rival")):
            del sys.modules[name]


def test_types_of_other_packages_are_described_and_broken_ones_told(others: Registry) -> None:
    schema = schema_of_tests(others)
    types = schema.document["definitions"]["expectation"]["properties"]
    assert types["mentions"]["anyOf"][0]["properties"]["mode"]["enum"] == ["all", "any"]
    assert types["raises"].keys() == {"description"}
    assert "no database here" in types["raises"]["description"]
    assert any("no database here" in note for note in schema.notes)
    assert any("rival-checks 9.0" in note for note in schema.notes)
    test = {
        "name": "t",
        "type": "skill-prompt",
        "promptFile": "p.md",
        "expect": [{"raises": 1}, {"mentions": "x"}],
    }
    assert schema_says(validating(others), {"plugins": ["acme"], "tests": [test]}) == []
