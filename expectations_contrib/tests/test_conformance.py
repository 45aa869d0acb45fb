"""Every type keeps what every type promises."""

from __future__ import annotations

from skillwalker.testing import conformance

SCHEMA = {"type": "object", "required": ["title"], "properties": {"title": {"pattern": "^[A-Z]"}}}

test_result_matches = conformance(
    "result-matches",
    good=["^# Review", {"pattern": "b+", "flags": "im", "expected": False}],
    bad=["(", "", {"pattern": "a", "flags": "g"}, {"pattern": "a", "expected": "no"}],
)
test_result_equals = conformance(
    "result-equals",
    good=["42", {"text": "Yes", "trim": False, "ignoreCase": True}, {"file": "golden.md"}],
    bad=["", {"file": "gone.md"}, {"file": "../tests.json"}, {"text": "a", "file": "golden.md"}],
    eval_files={"golden.md": "Done.\n"},
)
test_result_json = conformance(
    "result-json",
    good=[True, "schema.json", {"schema": SCHEMA, "embedded": True}, {"schemaFile": "schema.json"}],
    bad=["gone.json", {"schema": {"type": "objekt"}}, {"schema": {"$ref": "https://example.org/a.json"}}],
    eval_files={"schema.json": '{"type": "array"}'},
)
test_json_file = conformance(
    "json-file",
    good=["*.json", {"path": "notes.txt", "schema": SCHEMA}, {"path": "a.json", "schemaFile": "schema.json"}],
    bad=["/a.json", {"path": "a.json", "schemaFile": "gone.json"}],
    eval_files={"schema.json": "{}"},
)
test_file_exists = conformance(
    "file-exists",
    good=["notes.txt", {"path": "gone.txt", "expected": False}, {"path": "**", "change": "created"}],
    bad=["../a", "", "a/", {"path": "a", "change": "deleted"}],
)
test_file_contains = conformance(
    "file-contains",
    good=[
        {"path": "notes.txt", "text": "after"},
        {"path": "*", "text": "AFTER", "ignoreCase": True, "expected": False},
    ],
    bad=[{"path": "a"}, {"path": "a", "text": ""}],
)
test_file_matches = conformance(
    "file-matches",
    good=[{"path": "**", "pattern": "a|b", "flags": "i"}, {"path": "*", "pattern": "x", "expected": False}],
    bad=[{"path": "a", "pattern": "["}],
)
test_files_unchanged = conformance(
    "files-unchanged",
    good=[True, "**", ["**"], {"paths": ["**"], "exclude": ["notes.txt", "gone.txt"]}],
    bad=[False, [], ["/a"]],
)
test_tool_call = conformance(
    "tool-call",
    good=[
        "Bash",
        ["Read", "Write"],
        {"tool": "Bash", "input": "ls"},
        {"tool": "Bash", "input": {"command": "^ls"}, "flags": "i", "min": 1, "max": 3, "after": "Read"},
        {"tool": "mcp__*", "count": 2, "before": "Write"},
    ],
    bad=["bash", "", {"tool": "Bash", "count": 1, "min": 1}, {"tool": "Bash", "input": {"command": "("}}],
)
test_tool_not_used = conformance(
    "tool-not-used",
    good=["WebFetch", ["Bash", "mcp__*"], {"tool": "Bash", "input": {"command": "rm"}, "flags": "i"}],
    bad=["webfetch", [], {"tool": "Bash", "input": {}}],
)
test_max_cost = conformance("max-cost", good=[0.25, {"usd": 1}], bad=[0, -1, "1", True])
test_max_turns = conformance("max-turns", good=[3, {"turns": 3}], bad=[0, 1.5, "3", True])
test_max_seconds = conformance("max-seconds", good=[90, {"seconds": 0.5}], bad=[0, "90", True])
test_max_tokens = conformance(
    "max-tokens",
    good=[50, {"tokens": 9_000_000, "count": "input"}, {"tokens": 1, "count": "output"}],
    bad=[0, 1.5, True, {"tokens": 1, "count": "cached"}],
)
test_command = conformance(
    "command",
    good=[
        "npm test",
        ["python3", "/checks/columns.py"],
        {"run": "make", "failOn": [1, 2], "timeoutSeconds": 5, "answer": "json"},
    ],
    bad=[
        "",
        [],
        "python3 /checks/gone.py",
        {"run": "make", "failOn": [0]},
        {"run": "make", "timeoutSeconds": 0},
    ],
    eval_files={"checks/columns.py": ""},
)
