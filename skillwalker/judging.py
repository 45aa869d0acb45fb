"""What a judge is asked for and how it answers: shared by who asks and by what answers in a rehearsal.

The request carries the schema as a structured output (`output_config.format`); the answer is the JSON text
of one text block. A forced tool call would be the other way to get an object, but the newest models refuse
`tool_choice` of type `tool` with a 400 (Claude Opus 5.5 migration guide).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any


def answer_schema(ids: Sequence[str]) -> dict[str, Any]:
    """The JSON Schema of an answer: for each id, the reasoning first and then whether it passed."""
    item = {
        "type": "object",
        "properties": {
            "id": {"type": "string", "enum": list(ids)},
            "reasoning": {"type": "string"},
            "passed": {"type": "boolean"},
        },
        "required": ["id", "reasoning", "passed"],
        "additionalProperties": False,
    }
    return {
        "type": "object",
        "properties": {"criteria": {"type": "array", "items": item}},
        "required": ["criteria"],
        "additionalProperties": False,
    }


def output_config(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The field `output_config` of a Messages API request that asks for `schema`."""
    return {"format": {"type": "json_schema", "schema": dict(schema)}}


def asked_ids(request: Mapping[str, Any]) -> tuple[str, ...] | None:
    """The ids that a Messages API request wants judged; None where it is no judge's request."""
    try:
        schema = request["output_config"]["format"]["schema"]
        ids = schema["properties"]["criteria"]["items"]["properties"]["id"]["enum"]
    except (KeyError, TypeError):
        return None
    return tuple(ids)


def answer_text(verdicts: Iterable[tuple[str, bool, str]]) -> str:
    """The text of an answer from (id, passed, reasoning)."""
    return json.dumps(
        {"criteria": [{"id": id_, "reasoning": why, "passed": passed} for id_, passed, why in verdicts]},
        ensure_ascii=False,
    )
