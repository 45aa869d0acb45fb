"""Recorded runs replayed: real Claude Code, real tools, real containers; only the model repeats itself."""

from __future__ import annotations

import contextlib
import io
import json
import re
import shutil
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from attrs import frozen
from roots import an_eval, bash, call, plugin, text, write

from skillwalker import session
from skillwalker.cli.main import exit_code
from skillwalker.packaged import packaged
from skillwalker.preparing import prepare
from skillwalker.reports.live import PlainProgress
from skillwalker.request import RunRequest
from skillwalker.transcript import Transcript

TIMES = 10
JOBS = 8

SCRIPT = """#!/usr/bin/env python3
import sys
rows = sorted(set(open(sys.argv[1]).read().splitlines()[1:]))
open(sys.argv[2], "w").write("\\n".join(["a,b", *rows]) + "\\n")
print(f"rows: {len(rows)}")
"""
CSV = "a,b\n3,4\n1,2\n3,4\n"


def agent(name: str, prompt: str) -> dict[str, Any]:
    given = {"subagent_type": name, "prompt": prompt, "description": "d", "run_in_background": False}
    return {"type": "tool_use", "name": "Agent", "input": given}


def several(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"content": list(blocks)}


def shell(command: str) -> dict[str, Any]:
    return {"type": "tool_use", "name": "Bash", "input": {"command": command, "description": "d"}}


SKILL, AGENT = {"skill": "acme:tidy", "expected": True}, {"agent": "acme:auditor", "expected": True}
CASES: dict[str, tuple[dict[str, Any], Any]] = {
    "the skill's script": (
        {
            "scaffold": "shop",
            "expect": [
                {"skill-call": SKILL},
                {"result-contains": "2 rows"},
                {"llm-judge": {"rubricFile": "r.md"}},
            ],
        },
        {
            "main": [
                call("Skill", skill="acme:tidy"),
                call("Read", file_path="/workspace/a.csv"),
                bash("python3 /plugins/0/acme/skills/tidy/scripts/tidy.py a.csv b.csv"),
                call("Write", file_path="/workspace/notes.md", content="# Notes\n2 rows are left.\n"),
                call("Edit", file_path="/workspace/notes.md", old_string="2 rows", new_string="Two rows"),
                bash("cat missing.csv"),
                text("done: 2 rows"),
            ],
            "judge": [{"passed": [True, True]}],
        },
    ),
    "what differs by itself": (
        {"scaffold": "shop", "expect": [{"result-contains": "done"}, {"llm-judge": {"rubricFile": "r.md"}}]},
        [
            bash("ls -la; stat a.csv; date; date -u +%FT%TZ; date +%s"),
            bash(
                "cat /proc/sys/kernel/random/uuid; mktemp; mktemp -d; "
                "python3 -c 'import tempfile; print(tempfile.mkdtemp())'"
            ),
            bash("echo x > c.csv; git add -A; git commit -m 'Add c'; git log --oneline; git log"),
            bash("time sleep 0.01; echo '3 passed in '$RANDOM's'"),
            bash("seq 1 20000"),
            several(shell("sleep 0.3; echo slow"), shell("echo fast"), shell("sleep 0.1; echo between")),
            text("done"),
        ],
    ),
    "sub-agents": (
        {
            "scaffold": "shop",
            "expect": [{"agent-call": AGENT}, {"skill-call": SKILL}, {"llm-judge": {"rubricFile": "r.md"}}],
        },
        {
            "main": [
                several(agent("acme:auditor", "Audit all"), agent("acme:other", "Look around")),
                bash("ls"),
                text("done"),
            ],
            "agents": {
                "acme:auditor": [
                    call("Skill", skill="acme:tidy"),
                    bash("sleep 0.2; wc -l a.csv"),
                    text("audited"),
                ],
                "acme:other": [bash("ls a.csv"), bash("sleep 0.1; cat a.csv"), text("looked")],
            },
        },
    ),
    "a slash command": ({"expect": [{"skill-call": SKILL}]}, [bash("echo hello"), text("done")]),
    "errors first": (
        {"expect": [{"result-contains": "done"}]},
        [
            {"error": {"status": 529, "type": "overloaded_error"}, "times": 1},
            {"content": "half of it", "fault": "drop", "after_events": 3, "times": 1},
            text("done"),
        ],
    ),
    "it fails": (
        {"expect": [{"result-contains": "nowhere"}, {"skill-call": SKILL}]},
        [bash("true"), text("done")],
    ),
    "thrice": (
        {"trials": 3, "expect": [{"result-contains": "done"}]},
        {"main": [bash("pwd"), text("done")], "trials": {"2": [bash("pwd"), text("gave up")]}},
    ),
}
PROMPTS = {"a slash command": "/acme:tidy the export"}


@frozen
class Run:
    """A finished run, as it is on disk."""

    directory: Path
    data: Mapping[str, Any]

    @property
    def trials(self) -> list[Mapping[str, Any]]:
        return [trial for test in self.data["tests"] for trial in test["trials"]]

    def verdicts(self) -> dict[str, Any]:
        """Of each trial all that is the same in equal runs.

        How much of an answer that broke off has arrived, and is counted by Claude Code, is a matter of luck,
        and so is which of two parallel agents calls first; messages count the calls of all.
        """
        keys = ("outcome", "reason", "turns", "usage", "skills", "agents", "expectations")
        found = {
            one["id"]: {key: one[key] for key in keys if not (key == "usage" and "errors-first" in one["id"])}
            for one in self.trials
        }
        told = re.sub(r"\(tool call \d+\)", "(tool call)", json.dumps(found))
        return dict(json.loads(told))

    def calls(self) -> dict[str, Any]:
        """Of each trial the tool calls of each conversation."""
        found: dict[str, Any] = {}
        for one in self.trials:
            events = self.directory / "trials" / one["id"] / "events.jsonl"
            calls = [
                (call.parent or "", call.id, call.name, call.input, call.is_error)
                for call in Transcript.read(events).tool_calls()
            ]
            found[one["id"]] = sorted(calls, key=lambda call: call[0])
        return found

    def files(self) -> dict[str, dict[str, bytes]]:
        """Of each trial the files of its work directory, but for git's own."""
        found = {}
        for one in self.trials:
            with tarfile.open(self.directory / "trials" / one["id"] / "workspace.tar") as tar:
                members = [each for each in tar if each.isfile() and "/.git/" not in f"/{each.name}"]
                found[one["id"]] = {each.name: _content(tar, each) for each in members}
        return found


def _content(tar: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    file = tar.extractfile(member)
    assert file
    return file.read()


def make(root: Path) -> None:
    plugin(root)
    write(root / "acme" / "skills" / "tidy" / "scripts" / "tidy.py", SCRIPT)
    write(root / "acme" / "agents" / "other.md", "---\nname: other\ndescription: Looks around\n---\nLook.\n")
    an_eval(
        root,
        [{"name": name, **test} for name, (test, _) in CASES.items()],
        prompts=PROMPTS,
        rubrics={"r.md": "# Quality\n- It is short\n- It is kind\n"},
        scaffolds={"shop/a.csv": CSV},
        script={name: given for name, (_, given) in CASES.items()},
    )


def record(root: Path, directory: Path, image: str) -> Run:
    """Records a run whose model is the rehearsed one."""
    request = RunRequest(root, root, isolated=True, rehearse=True, record=directory, image=image, jobs=4)
    said: list[str] = []
    result = session.run(prepare(request), PlainProgress(io.StringIO(), 0), said.append)
    assert [line for line in said if "could not" in line] == []
    return loaded(root, result.run_id)


def replay(root: Path, directory: Path, image: str, *options: str) -> Run:
    out, err = io.StringIO(), io.StringIO()
    given = ["--root", str(root), "run", "--isolated", "--replay", str(directory), "--image", image]
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        exit_code([*given, "--format", "json", "--jobs", str(JOBS), *options])
    assert out.getvalue().startswith("{"), err.getvalue()
    return loaded(root, json.loads(out.getvalue())["run_id"])


def loaded(root: Path, run_id: str) -> Run:
    from skillwalker.records import load_run, run_object
    from skillwalker.store import Store

    directory = Store(root).find(run_id)
    return Run(directory.path, run_object(load_run(directory)))


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory, sandbox_image: str) -> tuple[Path, Run]:
    root = tmp_path_factory.mktemp("recorded")
    make(root)
    run = record(root, root / "cassettes", sandbox_image)
    (root / "evals" / "csv" / "rehearsal.json").unlink()
    return root, run


@pytest.fixture
def copy(tmp_path: Path, recorded: tuple[Path, Run]) -> Path:
    """The root with its cassettes, to be changed."""
    root = tmp_path / "root"
    shutil.copytree(recorded[0], root, ignore=shutil.ignore_patterns(".skillwalker"))
    return root


def test_the_recorded_run_went_as_it_should(recorded: tuple[Path, Run]) -> None:
    _, run = recorded

    outcomes = {test["name"]: test["outcome"] for test in run.data["tests"]}
    assert outcomes == {name: "failed" if name == "it fails" else "passed" for name in CASES}


@pytest.mark.parametrize("time", range(TIMES))
def test_a_replay_gives_the_same_verdicts_calls_and_files(
    recorded: tuple[Path, Run], sandbox_image: str, time: int
) -> None:
    root, first = recorded

    again = replay(root, root / "cassettes", sandbox_image)

    assert again.data["model_source"] == "replay"
    assert again.verdicts() == first.verdicts()
    assert again.calls() == first.calls()
    assert again.files() == first.files()
    assert {one["cost_usd"] for one in again.trials} == {None}


def only(root: Path, image: str, name: str, *options: str) -> str:
    """What is told of the one trial of a test that must have missed."""
    run = replay(root, root / "cassettes", image, f"csv::{name}", *options)
    (trial,) = run.trials
    assert (trial["outcome"], trial["reason"]) == ("unmeasured", "cassette-miss")
    # What was seen before the miss counts; what was not seen is no no.
    assert {one["outcome"] for one in trial["expectations"]} <= {"passed", "unmeasured"}
    return next(str(one["message"]) for one in trial["expectations"] if one["outcome"] == "unmeasured")


def test_a_changed_prompt_is_named(copy: Path, sandbox_image: str) -> None:
    (prompt,) = [path for path in copy.glob("evals/csv/prompts/*") if "/acme" in path.read_text()]
    other = next(path for path in copy.glob("evals/csv/prompts/*") if path != prompt)
    other.write_text("Please do it well.")

    told = only(copy, sandbox_image, "the skill's script")

    assert 'the prompt differs: recorded "Please do the task.", now "Please do it well."' in told


def test_a_changed_description_is_named(copy: Path, sandbox_image: str) -> None:
    skill = copy / "acme" / "skills" / "tidy" / "SKILL.md"
    skill.write_text(skill.read_text().replace("repairs quoting", "repairs quotes"))

    told = only(copy, sandbox_image, "the skill's script")

    assert "the description of skill acme:tidy differs" in told
    assert 'now "Tidies CSV files: removes duplicate rows and repairs quotes"' in told


def test_a_changed_script_is_found_by_its_result(copy: Path, sandbox_image: str) -> None:
    script = copy / "acme" / "skills" / "tidy" / "scripts" / "tidy.py"
    script.write_text(script.read_text().replace("sorted(set(", "sorted(list("))

    told = only(copy, sandbox_image, "the skill's script")

    assert 'the result of Bash (call 3) differs: recorded "rows: 2", now "rows: 3"' in told


def test_another_model_is_named(copy: Path, sandbox_image: str) -> None:
    told = only(copy, sandbox_image, "it fails", "--model", "opus")

    assert 'the model differs: recorded "claude-sonnet-5-5", now "claude-opus-5-5"' in told


def test_another_version_of_claude_code_is_named(copy: Path, sandbox_image: str) -> None:
    for path in [*copy.glob("cassettes/*.jsonl"), *copy.glob("cassettes/parts/*")]:
        path.write_text(path.read_text().replace("cc_version=2.1.", "cc_version=2.0."))

    assert 'the version of Claude Code differs: recorded "2.0.' in only(copy, sandbox_image, "it fails")


def test_a_trial_without_a_cassette_is_unmeasured_and_one_of_nothing_does_not_start(
    copy: Path, sandbox_image: str, capfd: pytest.CaptureFixture[str]
) -> None:
    for path in copy.glob("cassettes/csv.it-fails.*"):
        path.unlink()

    run = replay(copy, copy / "cassettes", sandbox_image, "csv::it fails", "csv::a slash command")

    assert {one["id"].split(".")[1]: one["reason"] for one in run.trials} == {
        "it-fails": "cassette-miss",
        "a-slash-command": None,
    }
    given = ["--root", str(copy), "run", "--isolated", "--replay", str(copy / "cassettes"), "csv::it fails"]
    assert exit_code(given) == 4
    assert "it has no cassette csv.it-fails." in capfd.readouterr().err


def test_the_example_passes_from_its_cassettes(tmp_path: Path, sandbox_image: str) -> None:
    source, without = packaged("examples/csv-toolbox"), shutil.ignore_patterns(".skillwalker")
    root = shutil.copytree(source, tmp_path / "example", ignore=without)

    run = replay(root, root / "cassettes", sandbox_image)

    totals = {key: run.data["totals"][key] for key in ("tests", "passed", "cost_usd")}
    assert totals == {"tests": 13, "passed": 13, "cost_usd": None}
