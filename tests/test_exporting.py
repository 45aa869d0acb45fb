"""What `list --as` leaves out is told in few lines, however many tests there are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from roots import an_eval, plugin

SAYS = {"result-contains": "done"}


def _root(tmp_path: Path) -> Path:
    plugin(tmp_path)
    calls = [
        {
            "name": f"Call {n}",
            "type": "skill-call",
            "skillFile": "acme:tidy",
            "expect": [{"skill-call": True}],
        }
        for n in range(20)
    ]
    an_eval(tmp_path, [*calls, {"name": "Task", "skillFile": "acme:tidy", "expect": [SAYS]}])
    return tmp_path


def test_tests_of_one_type_that_do_not_fit_are_one_line(run_cli: Any, tmp_path: Path) -> None:
    root = _root(tmp_path)
    outputs = run_cli("--root", root, "list", "--as", "evals-json")
    assert [case["name"] for case in json.loads(outputs.out)["evals"]] == ["Task"]
    assert outputs.err == (
        "not exported: 20 tests of type skill-call: no tests of a skill's output; "
        "--as trigger-evals takes those\n"
    )
    queries = run_cli("--root", root, "list", "--as", "trigger-evals")
    assert len(json.loads(queries.out)) == 20
    assert queries.err == (
        "not exported: csv::Task: no test of activation with true or false; --as evals-json takes those\n"
    )


def test_a_model_is_told_in_either_form(run_cli: Any, tmp_path: Path) -> None:
    plugin(tmp_path)
    call = {"type": "skill-call", "skillFile": "acme:tidy", "expect": [{"skill-call": True}]}
    task = {"skillFile": "acme:tidy", "expect": [SAYS]}
    tests = [{"name": "Call", "model": "opus", **call}, {"name": "Task", "model": "haiku", **task}]
    an_eval(tmp_path, tests)

    called = {
        form: run_cli("--root", tmp_path, "list", "--as", form).err
        for form in ("trigger-evals", "evals-json")
    }

    assert "not exported: csv::Call: the model opus\n" in called["trigger-evals"]
    assert "not exported: csv::Task: the model haiku\n" in called["evals-json"]
