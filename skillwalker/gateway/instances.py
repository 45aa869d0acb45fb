"""An instance of a JSON Schema that says yes to all: a rehearsed judge's answer to a question of any form."""

from __future__ import annotations

import json
from typing import Any

_MAX_DEPTH = 16  # a schema may refer to itself


def instance(schema: Any) -> str:
    """As JSON text. Keywords that are not known are passed over, so it need not be valid in every case."""
    return json.dumps(_value(schema, _MAX_DEPTH))


def _value(schema: Any, depth: int) -> Any:
    if not isinstance(schema, dict) or not depth:
        return None
    for key in ("const", "default"):
        if key in schema:
            return schema[key]
    if isinstance(options := schema.get("enum"), list) and options:
        return options[0]
    for key in ("anyOf", "oneOf", "allOf"):
        if isinstance(options := schema.get(key), list) and options:
            return _value(options[0], depth - 1)
    kind = schema.get("type")
    match kind[0] if isinstance(kind, list) and kind else kind:
        case "boolean":
            return True
        case "string":
            return "rehearsed"
        case "integer" | "number":
            return schema.get("maximum", schema.get("minimum", 1))
        case "array":
            return [_value(schema.get("items"), depth - 1)] * max(int(schema.get("minItems") or 0), 1)
        case "null":
            return None
    properties = schema.get("properties")
    if isinstance(properties, dict):
        return {name: _value(member, depth - 1) for name, member in properties.items()}
    return {}
