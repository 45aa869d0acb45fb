"""A JSON Schema (draft 7) of `tests.json`, for editors: made from the expectation types that are installed.

Draft 7, since that is what the common editors support in full. It says everything about a file's form that a
schema can say, and never refuses a file that `loading` takes; what it cannot say (files that must exist,
names that must differ, whole numbers written `1.0`) is told by `skillwalker validate`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import frozen

from skillwalker.errors import ConfigurationError
from skillwalker.evals import MAX_TRIALS, TestType
from skillwalker.expectations.bound import in_words
from skillwalker.expectations.registry import Registry
from skillwalker.expectations.schema import value_schema
from skillwalker.models import DEFAULT_MODEL, MODEL_IDS

DIALECT = "http://json-schema.org/draft-07/schema#"

_NO_CONTROLS = r"[^\u0000-\u001f\u007f-\u009f\u2028\u2029]*$"
_NAME = rf"^(?=.*\S){_NO_CONTROLS}"
_PATH = rf"^(?![/\\]|[A-Za-z]:)(?!(?:.*/)?\.\.(?:/|$))(?!.*\\){_NAME[1:]}"
_REFERENCE = rf"^(?={_NO_CONTROLS})(?!/)[^:\s](?:[^:]*[^:\s])?:\S(?:.*\S)?$"

_FIELDS: Mapping[str, Mapping[str, Any]] = {
    "name": {
        "type": "string",
        "pattern": _NAME,
        "description": "What the reports call it. Unique within the eval.",
    },
    "type": {
        "enum": [str(member) for member in TestType],
        "description": "How the test calls Claude Code: skill-prompt (whole plugins, the prompt as it is), "
        "skill-call (only the skill's description: is it loaded?), agent-call (the same for an agent), "
        "agent-prompt (whole plugins, the prompt is given to the agent).",
    },
    "promptFile": {
        "type": "string",
        "pattern": _PATH,
        "description": "A file in the eval's prompts/.",
    },
    "prompt": {
        "type": "string",
        "pattern": r"\S",
        "description": "The text itself, in place of promptFile.",
    },
    "queries": {
        "type": "array",
        "minItems": 1,
        "items": {"$ref": "#/definitions/query"},
        "description": "In place of a prompt and expect: each becomes a test of its own.",
    },
    "expect": {
        "type": "array",
        "minItems": 1,
        "description": "At least one expectation; the test passes when all of them do.",
    },
    "model": {
        "anyOf": [
            {"enum": list(MODEL_IDS)},
            {"type": "string", "pattern": r"^claude-[a-z0-9][a-z0-9.@:_\[\]-]*$"},
        ],
        "default": DEFAULT_MODEL,
        "description": f"{', '.join(MODEL_IDS)}, or a full name that begins with claude-.",
    },
    "skillFile": {
        "type": "string",
        "pattern": _REFERENCE,
        "description": "plugin:skill, in one of the plugins. A skill-call test needs it.",
    },
    "agentFile": {
        "type": "string",
        "pattern": _REFERENCE,
        "description": "plugin:agent, in one of the plugins. agent-call and agent-prompt tests need it.",
    },
    "scaffold": {
        "type": "string",
        "pattern": _PATH,
        "description": "A directory in the eval's scaffolds/. Without it the work directory is empty.",
    },
    "trials": {
        "type": "integer",
        "minimum": 1,
        "maximum": MAX_TRIALS,
        "default": 1,
        "description": "How often the test is executed in a run; --trials beats it.",
    },
    "passRate": {
        "type": "number",
        "minimum": 0,
        "maximum": 1,
        "description": "The share of trials that must pass; more than half if left out.",
    },
    "tags": {
        "type": "array",
        "items": {"type": "string", "pattern": _NAME},
        "description": "What -k finds the test by, beside its name.",
    },
    "skip": {
        "type": "string",
        "pattern": r"\S",
        "description": "Why the test is not run; it is shown as skipped, and never counts as passed.",
    },
}
_QUERY = {
    "type": "object",
    "required": ["query", "should_trigger"],
    "additionalProperties": False,
    "properties": {
        "query": {"type": "string", "pattern": r"\S", "description": "What the user says."},
        "should_trigger": {
            "type": "boolean",
            "description": "Whether the skill, or the agent, should be called.",
        },
        "name": {
            **_FIELDS["name"],
            "description": "What the reports call it; made from the words of the query if left out.",
        },
        "tags": _FIELDS["tags"],
        "skip": _FIELDS["skip"],
    },
}
_REQUIRED = ("name", "type", "expect")
_BY_HAND = ("promptFile", "prompt", "expect")
_NEEDS = {
    "skillFile": [str(TestType.SKILL_CALL)],
    "agentFile": [str(TestType.AGENT_CALL), str(TestType.AGENT_PROMPT)],
}


@frozen
class Schema:
    """A schema of `tests.json`.

    Attributes:
        notes: Why types that are found are not described in it, a sentence each.
    """

    document: Mapping[str, Any]
    notes: tuple[str, ...] = ()


def schema_of_tests(registry: Registry) -> Schema:
    """Of all types that can be loaded; what cannot be is taken with any value, since it is there."""
    types: dict[str, Any] = {}
    notes: list[str] = []
    for name in registry.names():
        try:
            types[name] = value_schema(registry.load(name))
        except Exception as error:  # noqa: BLE001 (a type is another package's code, also its annotations)
            why = str(error) if isinstance(error, ConfigurationError) else f"{name}: {in_words(error)}"
            types[name] = {"description": why}
            notes.append(why)
    return Schema(_document(types), (*registry.problems, *notes))


def _document(types: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "$schema": DIALECT,
        "title": "Skillwalker eval (tests.json)",
        "type": "object",
        "required": ["plugins", "tests"],
        "additionalProperties": False,
        "properties": {
            "$schema": {"description": "Where an editor finds the schema; Skillwalker does not read it."},
            "plugins": {
                "type": "array",
                "minItems": 1,
                "uniqueItems": True,
                "items": {"type": "string", "pattern": _PATH},
                "description": "Plugin directories, relative to the directory that holds evals/.",
            },
            "tests": {"type": "array", "minItems": 1, "items": {"$ref": "#/definitions/test"}},
        },
        "definitions": {
            "test": {
                "type": "object",
                "required": ["type"],
                "additionalProperties": False,
                "properties": {
                    **_FIELDS,
                    "expect": {**_FIELDS["expect"], "items": {"$ref": "#/definitions/expectation"}},
                },
                "if": {"required": ["queries"]},
                "then": {
                    "properties": {
                        "type": {"enum": [str(TestType.SKILL_CALL), str(TestType.AGENT_CALL)]},
                        **dict.fromkeys(_BY_HAND, False),
                    },
                },
                "else": {
                    "required": list(_REQUIRED),
                    "oneOf": [{"required": ["promptFile"]}, {"required": ["prompt"]}],
                },
                "allOf": [
                    {
                        "if": {"properties": {"type": {"enum": types_}}, "required": ["type"]},
                        "then": {"required": [field]},
                    }
                    for field, types_ in _NEEDS.items()
                ],
            },
            "query": _QUERY,
            "expectation": {
                "type": "object",
                "minProperties": 1,
                "maxProperties": 1,
                "additionalProperties": False,
                "properties": dict(types),
                "description": "One key: the expectation's type.",
            },
        },
    }
