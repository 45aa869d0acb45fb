"""Whole streams, and whatever a stream may hold."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from attrs import asdict
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from transcripts import (
    NAMES,
)

from skillwalker.transcript import Transcript

DATA = Path(__file__).parent / "data" / "transcripts"


def summary(transcript: Transcript) -> dict[str, Any]:
    kept = asdict(transcript)
    ids = ("message_ids", "tool_use_ids", "task_calls")
    for name in ("path", "init", "result", "usage_by_model", "uncalled", *ids):
        del kept[name]
    return json.loads(json.dumps(kept))


@pytest.mark.parametrize("path", sorted(DATA.glob("*.jsonl")), ids=lambda path: path.stem)
def test_whole_streams(path: Path) -> None:
    """Each file has beside it what it says; the prompt stands in the expectation."""
    beside = path.with_suffix(".expected.json")
    expected = json.loads(beside.read_text("utf-8")) if beside.exists() else {}
    transcript = Transcript.read(path, NAMES, expected.get("prompt"))
    seen = {"prompt": expected.get("prompt"), **summary(transcript)}
    assert transcript.uncalled == frozenset()
    if os.environ.get("REWRITE_EXPECTED"):
        beside.write_text(json.dumps(seen, indent=1, ensure_ascii=False) + "\n", "utf-8")
    assert seen == expected


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
KEYS = [  # of events
    "parent_tool_use_id",
    "tool_use_id",
    "task_id",
    "subagent_type",
    "description",
    "prompt",
    "status",
    "summary",
    "patch",
    "tool_use_result",
    "isReplay",
    "isSynthetic",
    "last_tool_name",
    "plugins",
    "plugin_errors",
    "mcp_servers",
    "modelUsage",
    "usage",
    "result",
    "total_cost_usd",
    "errors",
    "permission_denials",
    "rate_limit_info",
    "error",
    "ambient",
    "skip_transcript",
]
BLOCKS = st.fixed_dictionaries(
    {"type": st.sampled_from(["text", "tool_use", "tool_result", "thinking"])},
    optional={
        key: st.sampled_from(["t1", "a1", "Skill", "Agent"]) | VALUES for key in ("id", "tool_use_id", "name")
    }
    | dict.fromkeys(("text", "input", "content", "is_error"), VALUES),
)
EVENTS = st.fixed_dictionaries(
    {
        "type": st.sampled_from(["assistant", "user", "result", "system", "rate_limit_event"]),
        "subtype": st.sampled_from(
            ["init", "task_started", "task_notification", "task_updated", "task_progress", "api_retry"]
        ),
        "message": VALUES | st.fixed_dictionaries({"content": st.lists(BLOCKS, max_size=3), "id": VALUES}),
    },
    optional={key: st.sampled_from(["t1", "a1", "/x", "completed"]) | VALUES for key in KEYS},
)


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(EVENTS, max_size=6))
def test_no_event_raises_whatever_it_holds(tmp_path: Path, events: list[dict[str, Any]]) -> None:
    path = tmp_path / "events.jsonl"
    path.write_text("".join(json.dumps(event) + "\n" for event in events), "utf-8")
    transcript = Transcript.read(path, NAMES, "/tidy")
    list(transcript.tool_calls())
    assert transcript.not_events == 0
