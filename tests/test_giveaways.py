"""What would tell a trial its answers is known by what it holds; a plugin's own data is not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from roots import an_eval, skill, text, write
from stored_runs import FAILED, PASSED, a_test, a_trial, keep, verdict

from skillwalker.cli.main import exit_code
from skillwalker.importing.shapes import read_value
from skillwalker.importing.values import Found
from skillwalker.plugin_set import Plugin
from skillwalker.plugins import load_plugins

QUERIES = [{"query": "clean a.csv", "should_trigger": True}, {"query": "hello", "should_trigger": False}]
CASES = [{"id": 1, "prompt": "clean a.csv", "expected_output": "no blanks", "expectations": ["no blanks"]}]
EVALS = {"skill_name": "csv", "evals": CASES}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    skill(tmp_path, "csv", "Cleans CSV files")
    return tmp_path


def the_plugin(root: Path) -> Plugin:
    (plugin,) = load_plugins(root, (".",)).plugins
    return plugin


def files(root: Path) -> set[str]:
    return {entry.path for entry in the_plugin(root).tree.entries if entry.kind == "file"}


@pytest.mark.parametrize(
    "value",
    [
        QUERIES,
        EVALS,
        {"queries": QUERIES},
        {"csv": {"queries": QUERIES}},
        {"should_trigger": ["clean a.csv"], "should_not_trigger": ["hello"]},
        {"skill": "csv", "positive": ["clean a.csv"], "negative": ["hello"]},
        {"skill_name": "csv", "cases": [{"input": "clean", "criteria": ["no blanks"]}]},
        [{"prompt": "clean it", "expected_behavior": "no blanks"}],
        [{"question": "clean", "expected_skill": "csv"}],
        {"my own key": [{"prompt": "clean", "assertions": [{"text": "no blanks"}]}]},
    ],
)
@pytest.mark.parametrize("name", ["data.json", "deep/down/list.txt", "skills/csv/evals/evals.json"])
def test_what_the_importer_reads_is_left_out(root: Path, value: Any, name: str) -> None:
    found = Found()
    if "csv" not in value:
        read_value(value, found)
        assert found.queries or found.cases
    write(root / name, json.dumps(value, indent=1))
    assert files(root) == {"skills/csv/SKILL.md"}
    assert name in the_plugin(root).withheld[0]


@pytest.mark.parametrize(
    "value",
    [
        {"expectations": [{"text": "no blanks", "passed": True, "evidence": "e"}], "summary": {"passed": 1}},
        {"eval_id": 1, "eval_name": "a", "prompt": "clean", "assertions": []},
        {"metadata": {}, "runs": [], "run_summary": {}},
        {"results": [{"query": "clean", "should_trigger": True, "trigger_rate": 1.0}], "summary": {}},
        {"original_description": "o", "best_description": "b", "history": []},
        {"winner": "A", "reasoning": "r", "rubric": {}},
        {"reviews": [{"run_id": "eval-0", "feedback": "no blanks"}]},
        {"tests": [{"name": "clean", "expect": [{"result-contains": "no blanks"}]}]},
    ],
)
def test_grades_of_other_tools_and_copies_of_tests_are_left_out(root: Path, value: Any) -> None:
    write(root / "csv-workspace" / "iteration-1" / "x.json", json.dumps(value))
    assert files(root) == {"skills/csv/SKILL.md"}


def test_queries_as_json_lines_and_as_a_shell_of_windows_writes_them_are_left_out(root: Path) -> None:
    write(root / "q.jsonl", "".join(json.dumps(one) + "\n" for one in QUERIES))
    (root / "evals.json").write_bytes(json.dumps(EVALS).encode("utf-16"))
    assert files(root) == {"skills/csv/SKILL.md"}


def test_cases_cassettes_and_copies_of_runs_are_left_out_as_a_whole(root: Path) -> None:
    write(root / "checks" / "one" / "case.yaml", "execution:\n  prompt: clean\ngraders: []\n")
    write(root / "checks" / "two" / "prompt.md", "clean")
    write(root / "checks" / "two" / "graders" / "g.md", "no blanks")
    write(root / "tapes" / "a.jsonl", '{"cassette": 1}\n')
    write(root / "tapes" / "parts" / "p.json", "{}")
    write(root / "old" / "run.json", "{}")
    for arm in ("with_skill", "without_skill"):
        write(root / "csv-workspace" / "iteration-1" / "eval-0" / arm / "outputs" / "a.csv", "the answer")
    write(root / "old" / "trials" / "t" / "events.jsonl", "{}")
    assert files(root) == {"skills/csv/SKILL.md"}
    (told,) = the_plugin(root).withheld
    assert "checks/one/ (a case of `claude plugin eval`)" in told
    assert "tapes/ (cassettes)" in told
    assert "old/ (a stored run)" in told
    assert "csv-workspace/iteration-1/eval-0/ (what a run of skill-creator left)" in told


def test_what_a_plugin_needs_stays(root: Path) -> None:
    own = {
        "README.md": "# A skill\n\n# Skillwalker: how to use it\n",
        "docs/ci.md": '```html\n<meta name="generator" content="Skillwalker">\n```\n',
        "data/rows.jsonl": '{"row": 1}\n',
        "data/faq.json": json.dumps([{"question": "how?", "answer": "so", "expected": "no"}]),
        "data/shots.json": json.dumps({"examples": [{"input": "a", "expected": "b"}]}),
        "data/words.json": json.dumps({"positive": ["good"], "negative": ["bad"]}),
        "data/tests.json": json.dumps({"tests": [{"name": "a", "input": "b"}]}),
        "data/scores.json": json.dumps({"results": [1, 2], "passed": 3, "history": [], "summary": "s"}),
        "data/prompts.json": json.dumps([{"prompt": "say it"}]),
        "data/deep.json": "[" * 100_000,
        "legal/case.yaml": "title: A against B\n",
        "hooks/hooks.json": json.dumps(
            {"hooks": {"Stop": [{"hooks": [{"type": "prompt", "prompt": "is it done?"}]}]}}
        ),
        "fonts/a.woff": "\0\x01\udcff" * 5_000,
        "CHANGES.txt": "FAILED tests::x  (before 1.0)\n",
        "page.html": "<!doctype html><title>x</title>",
        "junit.xml": '<testsuites name="others"></testsuites>',
        "notes.rst": "::\n\n  error\n",
        # A skill about evals has templates of them; evals of a skill do not lie there.
        "skills/csv/assets/template.json": json.dumps(EVALS),
        "skills/csv/references/triggers.json": json.dumps(QUERIES),
    }
    for name, content in own.items():
        write(root / name, content.encode("utf-8", "surrogateescape"))
    assert files(root) == {"skills/csv/SKILL.md", *own}
    assert the_plugin(root).withheld == ()


def test_every_report_that_is_written_into_the_root_stays_out(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tests = [
        a_test("clean", a_trial("clean", 1, verdict(FAILED, "no blanks"))),
        a_test("other", a_trial("other", 1, verdict(PASSED))),
    ]
    for number, source in enumerate(("api", "rehearsal")):
        keep(root, *tests, source=source, run_id=f"2026113{number}T101500Z-abcdef")
        for format_ in ("html", "junit", "markdown", "github", "json"):
            assert exit_code(
                ["--root", str(root), "report", "--report", f"{format_}={root}/{source}-{format_}.txt"]
            ) in (0, 1)
    capsys.readouterr()
    for name, words in {"own": ["last"], "one": ["last", "csv::clean"], "again": ["last~1"]}.items():
        exit_code(["--root", str(root), "show", *words])
        write(root / f"printed-{name}.log", capsys.readouterr().out)
    for command in (["show", "--format", "json"], ["compare", "last~1", "last", "--format", "json"]):
        exit_code(["--root", str(root), *command])
        write(root / f"{command[0]}.txt", json.dumps(json.loads(capsys.readouterr().out), indent=2))
    before = (root / "api-markdown.txt").read_text()
    write(root / "summary.md", f"# Nightly\n\n{before}")
    assert len(list(root.glob("*.*"))) == 17
    assert files(root) == {"skills/csv/SKILL.md"}


def test_what_list_writes_stays_out_and_a_run_tells_it(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    called = [{"skill-call": True}]
    an_eval(
        root,
        [
            {"name": "calls", "type": "skill-call", "skillFile": f"{root.name}:csv", "expect": called},
            {"name": "works", "skillFile": f"{root.name}:csv", "expect": [{"result-contains": "no blanks"}]},
        ],
        plugins=["."],
        prompts={"calls": "clean", "works": "clean a.csv"},
        script={"works": [text("x")]},
    )
    for kind in ("trigger-evals", "evals-json"):
        assert exit_code(["--root", str(root), "list", "evals", "--as", kind]) == 0
        write(root / f"{kind}.json", capsys.readouterr().out)
    assert files(root) == {"skills/csv/SKILL.md"}
    assert exit_code(["--root", str(root), "run", "--isolated", "--rehearse", "--dry-run"]) == 0
    told = "".join(capsys.readouterr())
    assert (
        "left out of the plugin, so that no trial sees what it is judged by: evals-json.json (evals)" in told
    )
