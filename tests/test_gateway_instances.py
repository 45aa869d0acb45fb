"""An instance of any schema."""

import json

import pytest

from skillwalker.gateway.instances import instance

OBJECT = {
    "type": "object",
    "properties": {
        "passed": {"type": "boolean"},
        "why": {"type": "string"},
        "score": {"type": "integer", "minimum": 0, "maximum": 10},
        "level": {"enum": ["high", "low"]},
        "kind": {"const": 5},
        "notes": {"type": "array", "items": {"type": "string"}, "minItems": 2},
        "other": {"anyOf": [{"type": "number"}, {"type": "null"}]},
        "maybe": {"type": ["boolean", "null"]},
    },
}


def test_an_instance_says_yes_to_everything():
    assert json.loads(instance(OBJECT)) == {
        "passed": True,
        "why": "rehearsed",
        "score": 10,
        "level": "high",
        "kind": 5,
        "notes": ["rehearsed", "rehearsed"],
        "other": 1,
        "maybe": True,
    }


@pytest.mark.parametrize("schema", [None, 5, {}, {"type": "object"}, {"enum": []}, {"type": "novel"}])
def test_a_schema_that_says_nothing(schema):
    assert json.loads(instance(schema)) in (None, {})


def test_a_schema_without_end():
    schema: dict = {"type": "array"}
    schema["items"] = schema
    assert instance(schema).startswith("[[")
