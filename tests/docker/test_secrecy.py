"""What a trial may not find, wherever it looks: rubrics, tests, answers, and skills that it was not given."""

from __future__ import annotations

import json

import pytest
from roots import an_eval, bash, skill, text, write

from skillwalker.cli.main import exit_code
from skillwalker.transcript import Transcript

MARK = "MARK-4e1b"
# A class in the pattern, so that the search does not find itself. Mounts too, but for the kernel's.
SEARCH = (
    "find / \\( -path /proc -o -path /sys -o -path /dev \\) -prune -o -type f -print0 2>/dev/null "
    "| xargs -0 grep -aohE 'MARK-4e1[b]-[a-z-]+' 2>/dev/null | sort -u; "
    "find / \\( -path /proc -o -path /sys \\) -prune -o \\( -name tests.json -o -name rehearsal.json "
    "-o -path '*/rubrics/*' -o -path '*/evals/*' \\) -print 2>/dev/null "
    "| grep -vE '^/(usr|opt)/'; echo searched"
)


# What commands of ours and other tools write beside a plugin.
_CASE = {"prompt": "p", "expected_output": f"{MARK}-left", "expectations": [f"{MARK}-left"]}
LEFT_BEHIND = {
    "evals.json": json.dumps({"skill_name": "tidy", "evals": [_CASE]}),
    "skills/tidy/evals/cases.json": json.dumps({"skill_name": "tidy", "evals": [_CASE]}),
    "triggers.json": json.dumps([{"query": f"{MARK}-left", "should_trigger": True}]),
    "work/grading.json": json.dumps({"expectations": [{"text": f"{MARK}-left", "passed": True}]}),
    "out.md": f"# Skillwalker: failed\n\n{MARK}-left\n",
    "out.txt": f"::error title=csv%3A%3Aworks failed::{MARK}-left\n",
    "out.html": f'<!doctype html>\n<meta name="generator" content="Skillwalker">{MARK}-left',
    "skillwalker.toml": f"# {MARK}-left\n",
    "cassettes/one.jsonl": f'{{"cassette": 1, "x": "{MARK}-left"}}\n',
}


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory, sandbox_image: str) -> dict[str, list[str]]:
    """The marks that each test's trial found. The root is itself the plugin, so the eval lies in it."""
    root = tmp_path_factory.mktemp("root")
    write(root / ".claude-plugin" / "plugin.json", json.dumps({"name": "acme", "version": "1.0.0"}))
    skill(root, "tidy", "Tidies CSV files", f"# Tidy\n\n{MARK}-body-of-tidy\n")
    skill(root, "hello", "Greets", f"# Hello\n\n{MARK}-body-of-hello\n")
    write(root / "data" / "prices.json", json.dumps([{"question": f"{MARK}-data", "answer": "1"}]))
    for name, content in LEFT_BEHIND.items():
        write(root / name, content)
    scaffold, judge = {"scaffold": "mine"}, {"llm-judge": {"rubricFile": "r.md"}}
    called = {"skill-call": {"skill": "acme:tidy", "expected": True}}
    tests = [
        {"name": "works", **scaffold, "expect": [judge, {"result-contains": f"{MARK}-expected"}]},
        {"name": "described", "type": "skill-call", "skillFile": "acme:tidy", "expect": [called]},
        {"name": "other", "scaffold": "others", "expect": [{"result-contains": "x"}]},
    ]
    turns = [bash(f"find /plugins -type f; {SEARCH}"), text("done")]
    an_eval(
        root,
        tests,
        plugins=["."],
        prompts={"works": f"{MARK}-own-prompt", "other": f"{MARK}-prompt-of-another"},
        rubrics={"r.md": f"- {MARK}-criterion\n"},
        scaffolds={"mine/a.txt": f"{MARK}-own-file", "others/b.txt": f"{MARK}-file-of-another"},
        script={
            "works": turns,
            "described": turns,
            "other": [text(f"{MARK}-answer-of-another")],
        },
    )
    options = ["--isolated", "--rehearse", "--image", sandbox_image, "--jobs", "2"]
    assert exit_code(["--root", str(root), "run", *options]) in (1, 6)
    marks: dict[str, list[str]] = {}
    for name in ("works", "described"):
        (events,) = root.glob(f".skillwalker/runs/*/trials/csv.{name}.*/events.jsonl")
        (search,) = Transcript.read(events).tool_calls()
        *lines, last = (search.result or "").splitlines()
        assert last == "searched", search.result
        plugins = [line for line in lines if line.startswith("/plugins/")]
        marks[f"plugins of {name}"] = [line.removeprefix("/plugins/0/").partition("/")[2] for line in plugins]
        marks[name] = [line.removeprefix(f"{MARK}-") for line in lines if line not in plugins]
    return marks


def test_a_root_plugin_comes_along_without_what_was_written_beside_it(found: dict[str, list[str]]) -> None:
    assert sorted(one for one in found["plugins of works"] if one) == [
        ".claude-plugin/plugin.json",
        "data/prices.json",
        "skills/hello/SKILL.md",
        "skills/tidy/SKILL.md",
    ]


def test_a_trial_finds_what_it_was_given_and_nothing_of_its_judges(found: dict[str, list[str]]) -> None:
    given = {"body-of-hello", "body-of-tidy", "own-file", "data"}
    assert given <= set(found["works"]) <= given | {"own-prompt"}


def test_a_trial_that_was_given_a_description_finds_no_skill(found: dict[str, list[str]]) -> None:
    assert found["described"] == []
