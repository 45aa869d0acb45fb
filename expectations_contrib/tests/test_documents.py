"""result-json and json-file."""

from __future__ import annotations

import json
import socket
import time

import pytest

from skillwalker.expectations import Outcome, Reason

SCHEMA = {
    "type": "object",
    "properties": {"title": {"type": "string", "minLength": 1}, "score": {"type": "integer", "maximum": 10}},
    "required": ["title"],
    "additionalProperties": False,
}
GOOD, BAD = '{"title": "x", "score": 3}', '{"title": "x", "score": "3"}'


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("something asked the network")

    monkeypatch.setattr(socket, "create_connection", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


@pytest.mark.parametrize(
    ("value", "final", "outcome"),
    [
        (True, "[1, 2]", "passed"),
        (True, '"text"', "passed"),
        (True, "Here it is: [1]", "failed"),
        (True, "", "failed"),
        (True, '{"a": NaN}', "failed"),
        (True, '{"a": 1, "a": 2}', "failed"),
        (True, "[" * 100_000, "failed"),
        (True, "1" * 10_000, "failed"),
        ({"schema": SCHEMA}, GOOD, "passed"),
        ({"schema": SCHEMA}, BAD, "failed"),
        ({"schema": SCHEMA}, '{"score": 1}', "failed"),
        ({"schema": SCHEMA}, '{"title": "x", "more": 1}', "failed"),
        ("schemas/report.json", GOOD, "passed"),
        ("schemas/report.json", BAD, "failed"),
        ({"schema": SCHEMA, "embedded": True}, f"Sure:\n```json\n{GOOD}\n```\nDone [1].", "passed"),
        ({"schema": SCHEMA, "embedded": True}, f"{{not this}} but {GOOD}", "passed"),
        ({"embedded": True}, "nothing", "failed"),
        ({"embedded": True}, '{"issues": [{"id": 1},]}', "failed"),
        ({"embedded": True}, '```json\n{"a": [1, 2,], "b": {"c": 1}}\n```', "failed"),
        ({"embedded": True}, '{"a": {"b": 1}, "a": 2}', "failed"),
        ({"embedded": True}, '{"a": "cut off ', "failed"),
        ({"embedded": True}, '{"a": [{"b": 1}, {"b"', "failed"),
        ({"embedded": True}, '{"a": "two\nlines", "b": [1]}', "failed"),
        ({"embedded": True}, 'see [1, below]: {"a": "}"}', "passed"),
        ({"embedded": True}, '[a link](b) and {"a": 1}', "passed"),
        ({"schema": {"multipleOf": 0.1}}, "1e999", "unmeasured"),
        ({"schema": {"multipleOf": 0.1}}, "1" + "0" * 400, "unmeasured"),
    ],
)
def test_a_final_text_is_json_that_fits(judge, value, final, outcome) -> None:
    found = judge({"result-json": value}, final=final, eval_files={"schemas/report.json": json.dumps(SCHEMA)})
    assert found.outcome == outcome, found.message
    assert len(found.message) < 600


@pytest.mark.parametrize(
    ("schema", "final", "message"),
    [
        (SCHEMA, BAD, 'the JSON does not fit: $.score: "3" has not the type "integer"'),
        (SCHEMA, '{"score": 11}', "$.score: 11 does not fit maximum: 10"),
        (SCHEMA, "{}", "$: 'title' is a required property"),
        ({"items": {"pattern": "^a"}}, '["b"]', '$[0]: "b" has not the pattern "^a"'),
        ({"format": "email"}, '"nobody"', '$: "nobody" has not the format "email"'),
    ],
)
def test_what_does_not_fit_is_shown_with_its_place(judge, schema, final, message) -> None:
    assert message in judge({"result-json": {"schema": schema}}, final=final).message


def test_where_text_stops_being_json_is_shown(judge) -> None:
    found = judge({"result-json": True}, final='{"a": 1,\n "b": tru}')
    assert found.message.startswith("the final text is no JSON: line 2, column 7: Expecting value")
    found = judge({"result-json": True}, final="```json\n[1]\n```")
    assert found.message.endswith('(there is JSON within it: "embedded": true would take that)')


@pytest.mark.parametrize(
    ("format", "good", "bad"),
    [
        ("date-time", "2026-11-30T10:15:00Z", "2026-11-30 10:15"),
        ("date", "2026-11-30", "30.11.2026"),
        ("email", "a@example.org", "a"),
        ("uri", "https://example.org/a", "example"),
        ("uuid", "123e4567-e89b-12d3-a456-426614174000", "123"),
        ("ipv4", "127.0.0.1", "127.0.0"),
        ("hostname", "example.org", "-.-"),
        ("json-pointer", "/a/b", "a/b"),
        ("regex", "a+", "("),
    ],
)
def test_formats_are_checked(judge, format, good, bad) -> None:
    entry = {"result-json": {"schema": {"format": format}}}
    assert judge(entry, final=json.dumps(good)).outcome is Outcome.PASSED
    assert judge(entry, final=json.dumps(bad)).outcome is Outcome.FAILED


@pytest.mark.parametrize(
    ("draft", "outcome"),
    [
        ("http://json-schema.org/draft-04/schema#", "failed"),  # exclusiveMaximum is a boolean there
        ("http://json-schema.org/draft-07/schema#", None),
        ("https://json-schema.org/draft/2020-12/schema", None),
    ],
)
def test_the_schema_names_its_draft(judge, problems, draft, outcome) -> None:
    entry = {"result-json": {"schema": {"$schema": draft, "maximum": 3, "exclusiveMaximum": True}}}
    if outcome is None:
        assert "is no JSON Schema" in problems(entry)[0]
    else:
        assert judge(entry, final="3").outcome == outcome


@pytest.mark.parametrize(
    ("schema", "problem"),
    [
        ({"type": "objekt"}, 'schema: is no JSON Schema: $.type: "objekt"'),
        (
            {"$schema": "https://example.org/mine"},
            'schema: $schema is "https://example.org/mine", which is unknown',
        ),
        ({"$ref": "https://example.org/other.json"}, "leads nowhere"),
        ({"properties": {"a": {"$ref": "#/$defs/b"}}}, "leads nowhere"),
        ({"format": "duration"}, "is not checked in this draft; there are: "),
        ({"properties": {"a": {"format": "e-mail"}}}, 'the format "e-mail" is not checked in this draft'),
        ({"items": {"pattern": "("}}, "is no"),
        ({"patternProperties": {"^a": {}}, "unevaluatedProperties": False}, "use additionalProperties"),
    ],
)
def test_a_schema_that_cannot_be_used_is_told_before_the_run(problems, schema, problem) -> None:
    for entry in ({"result-json": {"schema": schema}}, {"json-file": {"path": "a", "schema": schema}}):
        [told] = problems(entry)
        assert problem in told


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ({"schema": {}, "schemaFile": "a.json"}, "has both schema and schemaFile"),
        ("gone.json", "schemaFile: gone.json does not exist"),
        ("../a.json", "must not lead upwards"),
        ("broken.json", "schemaFile: broken.json is no JSON: line 1, column 2"),
        ("list.json", "schemaFile: list.json is no JSON Schema but []"),
        (
            False,
            "expected true, a file with a JSON Schema, or an object with the options ",
        ),
    ],
)
def test_a_schema_file_that_cannot_be_used_is_told_before_the_run(problems, value, problem) -> None:
    [told] = problems({"result-json": value}, {"broken.json": "{", "list.json": "[]"})
    assert problem in told


def test_references_within_a_schema_and_to_the_drafts_work(judge) -> None:
    schema = {"$defs": {"name": {"type": "string"}}, "properties": {"a": {"$ref": "#/$defs/name"}}}
    assert judge({"result-json": {"schema": schema}}, final='{"a": "x"}').outcome is Outcome.PASSED
    assert judge({"result-json": {"schema": schema}}, final='{"a": 1}').outcome is Outcome.FAILED
    meta = {"$ref": "https://json-schema.org/draft/2020-12/schema"}
    assert judge({"result-json": {"schema": meta}}, final='{"type": "array"}').outcome is Outcome.PASSED
    assert judge({"result-json": {"schema": meta}}, final='{"type": 3}').outcome is Outcome.FAILED


@pytest.mark.parametrize(
    ("schema", "value", "outcome"),
    [
        (
            {"patternProperties": {"^x-": {"type": "integer"}}, "additionalProperties": False},
            {"x-a": 1},
            "passed",
        ),
        (
            {"patternProperties": {"^x-": {"type": "integer"}}, "additionalProperties": False},
            {"x-a": "1"},
            "failed",
        ),
        (
            {"patternProperties": {"^x-": {"type": "integer"}}, "additionalProperties": False},
            {"y": 1},
            "failed",
        ),
        ({"properties": {"a": {}}, "additionalProperties": {"type": "integer"}}, {"a": "", "b": 1}, "passed"),
        (
            {"properties": {"a": {}}, "additionalProperties": {"type": "integer"}},
            {"a": "", "b": ""},
            "failed",
        ),
        ({"properties": {"a": {}}, "unevaluatedProperties": False}, {"b": 1}, "failed"),
        ({"propertyNames": {"pattern": "^[a-z]+$"}}, {"A": 1}, "failed"),
    ],
)
def test_keywords_with_patterns_work_as_in_the_standard(judge, schema, value, outcome) -> None:
    assert judge({"result-json": {"schema": schema}}, final=json.dumps(value)).outcome == outcome


@pytest.mark.parametrize(
    "schema",
    [
        {"pattern": r"^(\w|\w\w)*$"},
        {"patternProperties": {r"^(\w|\w\w)*$": {}}},
        {"patternProperties": {r"^(\w|\w\w)*$": {}}, "additionalProperties": False},
    ],
)
def test_patterns_of_a_schema_end_in_time(judge, monkeypatch, schema) -> None:
    monkeypatch.setattr("skillwalker_expectations_contrib.patterns.SEARCH_SECONDS", 0.5)
    hostile = "a" * 5000 + "!"
    started = time.monotonic()
    found = judge(
        {"result-json": {"schema": schema}},
        final=json.dumps(hostile if "pattern" in schema else {hostile: 1}),
    )
    assert time.monotonic() - started < 100
    assert found.outcome is Outcome.UNMEASURED


@pytest.mark.parametrize(
    ("value", "outcome", "message"),
    [
        ("made.json", "passed", "JSON that fits: made.json"),
        ("broken.json", "failed", "broken.json: is no JSON: line 1, column 2"),
        ("gone.json", "failed", "gone.json was deleted by the trial"),
        ("binary.json", "failed", "binary.json: is no text in UTF-8"),
        ({"path": "made.json", "schema": SCHEMA}, "passed", "JSON that fits: made.json"),
        (
            {"path": "kept.json", "schemaFile": "s.json"},
            "failed",
            'kept.json: does not fit: $.score: "3" has not',
        ),
        ({"path": "*made.json", "schema": SCHEMA}, "passed", "JSON that fits: bom-made.json, made.json"),
        (
            {"path": "*.json", "schema": SCHEMA},
            "failed",
            "binary.json: is no text in UTF-8 (and 2 more of 5 files)",
        ),
    ],
)
def test_a_file_is_json_that_fits(judge, value, outcome, message) -> None:
    found = judge(
        {"json-file": value},
        eval_files={"s.json": json.dumps(SCHEMA)},
        scaffold={"kept.json": BAD, "gone.json": GOOD},
        files={
            "kept.json": BAD,
            "made.json": GOOD,
            "broken.json": "{",
            "binary.json": b"\xff",
            "bom-made.json": b"\xef\xbb\xbf" + GOOD.encode(),
        },
    )
    assert found.outcome == outcome
    assert found.message.startswith(message)


@pytest.mark.parametrize("entry", [{"result-json": True}, {"json-file": "a.json"}])
def test_an_unhealthy_trial_has_no_json(judge, entry) -> None:
    found = judge(entry, final="[1]", files={"a.json": "1"}, reason=Reason.API_ERROR)
    assert found.outcome is Outcome.UNMEASURED
