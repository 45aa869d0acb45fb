"""What a judge is asked for and how it answers: shared by who asks and by what answers in a rehearsal.

The request carries the schema as a structured output (`output_config.format`); the answer is the JSON text
of one text block. A forced tool call would be the other way to get an object, but the newest models refuse
`tool_choice` of type `tool` with a 400 (Claude Opus 5.5 migration guide).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

_NUMBERED = re.compile(r"c[1-9][0-9]{0,5}")


def answer_schema(ids: Sequence[str]) -> dict[str, Any]:
    """The JSON Schema of an answer: for each id a quote and the reasoning first, then whether it passed."""
    item = {
        "type": "object",
        "properties": {
            "id": {"type": "string", "enum": list(ids)},
            "evidence": {"type": "string"},
            "reasoning": {"type": "string"},
            "passed": {"type": "boolean"},
        },
        "required": ["id", "evidence", "reasoning", "passed"],
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
    """The text of an answer from (id, passed, reasoning), which quotes nothing."""
    criteria = [
        {"id": id_, "evidence": "", "reasoning": why, "passed": passed} for id_, passed, why in verdicts
    ]
    return json.dumps({"criteria": criteria}, ensure_ascii=False)


def passed_for(ids: Sequence[str], passed: Sequence[bool]) -> tuple[bool, ...] | None:
    """What a script that speaks of all criteria says of those that are asked for; None where it does not fit.

    A criterion about a file that is not there is not asked for; the others keep their ids: `c1`, `c2`, ...
    """
    if len(ids) == len(passed):
        return tuple(passed)
    numbers = [int(str(id_)[1:]) for id_ in ids if _NUMBERED.fullmatch(str(id_))]
    if len(numbers) < len(ids) or not all(0 < number <= len(passed) for number in numbers):
        return None
    return tuple(passed[number - 1] for number in numbers) if len(passed) > len(ids) else None
