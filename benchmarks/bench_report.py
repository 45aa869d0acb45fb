"""The HTML of 1,000 trials: at most 5 s, 30 MB of page, and memory that does not grow with the run.

Makes a run on disk as trials leave it: some thirty events, a sub-agent, a work directory with changes to a
scaffold, stderr. Every tenth trial failed. Measured is the command in a process of its own.
"""

from __future__ import annotations

import io
import json
import resource
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from skillwalker.expectations.base import Detail, Verdict
from skillwalker.outcomes import Outcome
from skillwalker.records import planned_object, trial_file, verdict_object
from skillwalker.results import Judged, TestResult, TrialResult
from skillwalker.store import RunDirectory, Store
from skillwalker.transcript import Usage
from skillwalker.tree import Tree

TESTS, TRIALS = 100, 10
SECONDS, MEGABYTES, PEAK_MEGABYTES = 5.0, 30.0, 300.0

_WORDS = "the table holds one row for each sale and the sums are told at its end, with tax and without; "
_CODE = "\n".join(f"    total += row['amount'] * {n}  # <{n} & more>" for n in range(40))


def main() -> int:
    """Prints the figures; returns 1 where one is over its limit."""
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        make_run(root)
        page = root / "report.html"
        began = time.perf_counter()
        done = subprocess.run(
            [
                Path(sys.executable).parent / "skillwalker",
                "--root",
                name,
                "report",
                "--report",
                f"html={page}",
            ],
            check=False,
        )
        took = time.perf_counter() - began
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        peak, processor = used.ru_maxrss / 1000, used.ru_utime + used.ru_stime
        size = page.stat().st_size / 1e6 if done.returncode == 0 else float("inf")
    print(f"{TESTS * TRIALS} trials: {took:.2f} s (at most {SECONDS:g}), {processor:.2f} s of processor time")
    print(
        f"page {size:.1f} MB (at most {MEGABYTES:g}), peak memory {peak:.0f} MB (at most {PEAK_MEGABYTES:g})"
    )
    return 0 if took <= SECONDS and size <= MEGABYTES and peak <= PEAK_MEGABYTES else 1


def make_run(root: Path) -> RunDirectory:
    """A run of `TESTS` tests with `TRIALS` trials each, and the eval it is of."""
    scaffold = root / "evals/sales/scaffolds/start"
    scaffold.mkdir(parents=True)
    for number in range(10):
        (scaffold / f"file{number}.py").write_text(_CODE.replace("total", f"total{number}"), "utf-8")
    tests = [_test(number) for number in range(TESTS)]
    (root / "evals/sales/prompt.md").write_text("Sum up.", "utf-8")
    (root / "evals/sales/tests.json").write_text(
        json.dumps(
            {
                "plugins": [],
                "tests": [
                    {
                        "name": test.name,
                        "type": "skill-prompt",
                        "promptFile": "prompt.md",
                        "scaffold": "start",
                    }
                    for test in tests
                ],
            }
        ),
        "utf-8",
    )
    inputs = {"scaffold": Tree.of_directory(scaffold, root=scaffold).digest}
    directory = Store(root).create(
        "20261130T101500Z-3f9a1c",
        {
            "schema": 1,
            "run_id": "20261130T101500Z-3f9a1c",
            "sandbox": "docker",
            "model_source": "api",
            "claude_code_version": "2.1.332",
            "image": "sha256:ab",
            "duration_ms": 5120,
            "interrupted": False,
            "options": {"allow_unmeasured": 0},
            "tests": [{**planned_object(test), "inputs": inputs} for test in tests],
        },
    )
    saved = _work_directory(scaffold)
    for test in tests:
        for trial in test.trials:
            folder = directory.path / "trials" / trial.id
            folder.mkdir(parents=True)
            lines = (json.dumps(event) + "\n" for event in _events(trial.index))
            (folder / "events.jsonl").write_text("".join(lines), "utf-8")
            (folder / "workspace.tar").write_bytes(saved)
            (folder / "stderr.txt").write_text("warning: nothing to worry about\n" * 5, "utf-8")
            (folder / "trial.json").write_text(json.dumps(trial_file(test.eval, test.name, trial)), "utf-8")
            directory.add_verdicts(
                [{"trial": trial.id, "position": one.position, **verdict_object(one)} for one in trial.judged]
            )
    return directory


def _test(number: int) -> TestResult:
    trials = tuple(_trial(number, index + 1) for index in range(TRIALS))
    return TestResult(
        "sales", f"Sums up table {number}", "skill-prompt", "opus", TRIALS, TRIALS // 2 + 1, trials
    )


def _trial(test: int, index: int) -> TrialResult:
    outcome = Outcome.FAILED if index == 1 else Outcome.PASSED
    details = tuple(Detail(f"criterion {n}: the sum is right", outcome, _WORDS * 2) for n in range(4))
    return TrialResult(
        id=f"sales.t{test}.main.{index}",
        index=index,
        outcome=outcome,
        duration_ms=90_000 + index,
        cost_usd=0.12,
        turns=9,
        usage=Usage(20_000, 900, 15_000, 3_000),
        judged=(
            Judged(0, "skill-call", Verdict(outcome, "sales:sum was called")),
            Judged(1, "llm-judge", Verdict(outcome, "4 of 4 criteria", details)),
        ),
    )


def _events(index: int) -> Iterator[dict[str, Any]]:
    yield {"type": "system", "subtype": "init", "claude_code_version": "2.1.332", "model": "claude-opus-5"}
    yield _user({"type": "text", "text": "Sum up the tables."}, None) | {"isReplay": True}
    for number in range(10):
        parent = "c4" if number in (5, 6) else None
        tool = {"name": "Agent", "subagent_type": "sales:auditor"} if number == 4 else {"name": "Bash"}
        given = {
            "command": f"python sum.py --table {number} <in.csv",
            "description": _WORDS,
            "code": _CODE[:600],
        }
        yield _assistant({"type": "text", "text": f"Step {number}: {_WORDS * 2}"}, parent)
        call = {"type": "tool_use", "id": f"c{number}", "name": tool["name"], "input": {**tool, **given}}
        yield _assistant(call, parent)
        yield _user(
            {"type": "tool_result", "tool_use_id": f"c{number}", "content": _CODE + _WORDS * 5}, parent
        )
    yield {"type": "result", "subtype": "success", "result": f"All summed up, {index}. " + _WORDS * 6}


def _assistant(block: dict[str, Any], parent: str | None) -> dict[str, Any]:
    message = {"id": "msg", "model": "claude-opus-5", "content": [block]}
    return {"type": "assistant", "message": message, "parent_tool_use_id": parent}


def _user(block: dict[str, Any], parent: str | None) -> dict[str, Any]:
    return {"type": "user", "message": {"content": [block]}, "parent_tool_use_id": parent}


def _work_directory(scaffold: Path) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for path in sorted(scaffold.iterdir()):
            content = (
                path.read_text("utf-8").replace("* 7 ", "* 8 ")
                if path.name == "file3.py"
                else path.read_text("utf-8")
            )
            _add(tar, path.name, content.encode())
        _add(tar, "report.md", (_WORDS + "\n").encode() * 30)
    return packed.getvalue()


def _add(tar: tarfile.TarFile, name: str, content: bytes) -> None:
    member = tarfile.TarInfo(name)
    member.size, member.mode = len(content), 0o644
    tar.addfile(member, io.BytesIO(content))


if __name__ == "__main__":
    sys.exit(main())
