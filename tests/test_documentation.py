"""README and docs tell what the code does; what they show for CI is valid. Commands: see tests/docker."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
import yaml
from roots import an_eval, plugin, write

from skillwalker.cli.main import COMMANDS
from skillwalker.outcomes import Reason

TOP = Path(__file__).parents[1]
DOCS = TOP / "docs"
README = (TOP / "README.md").read_text("utf-8")
CI = (DOCS / "ci.md").read_text("utf-8")
ACTION = yaml.safe_load((TOP / "action.yml").read_text("utf-8"))
HOOKS = yaml.safe_load((TOP / ".pre-commit-hooks.yaml").read_text("utf-8"))
SCHEMAS = Path(__file__).parent / "data" / "schemas"
WORKFLOWS = dict(re.findall(r"<!-- workflow: (\S+) -->\n```yaml\n(.*?)```\n", CI, re.DOTALL))
SAYS = {"result-contains": "done"}


def schema(name):
    return json.loads((SCHEMAS / name).read_text("utf-8"))


def rows(text, heading):
    """The first column of the first table below a heading."""
    section = text.partition(heading)[2]
    table = re.search(r"(?:^\|.*\n)+", section, re.MULTILINE)
    return [line.split("|")[1].strip().strip("`") for line in table[0].splitlines()[2:]]


def test_every_reason_has_an_entry_in_the_order_of_the_list():
    section = (
        (DOCS / "troubleshooting.md").read_text("utf-8").partition("## Reasons")[2].partition("\n## ")[0]
    )
    entries = re.findall(r"^### `([a-z-]+)`\n\n(.*?)(?=^### |\Z)", section, re.DOTALL | re.MULTILINE)

    assert [name for name, _ in entries] == [str(reason) for reason in Reason]
    for name, text in entries:
        assert re.search(r"^\*Do:\* \S", text, re.MULTILINE), f"{name} does not say what to do"


def test_the_readme_links_every_page():
    linked = set(re.findall(r"\]\((docs/[a-z-]+\.md)", README))

    assert linked == {f"docs/{page.name}" for page in DOCS.glob("*.md")}


def test_every_command_is_told_somewhere():
    told = README + "".join(page.read_text("utf-8") for page in DOCS.glob("*.md"))

    for name in (*COMMANDS, "image", "expectations"):
        assert re.search(rf"skillwalker (?:-v |--root \S+ )?{name}\b", told), name


@pytest.mark.parametrize("text", [README, CI], ids=["README", "ci.md"])
def test_every_exit_code_is_told(text):
    heading = "## What a result means" if text is README else "## What a pipeline should do"

    assert rows(text, heading) == [str(code) for code in range(7)]


@pytest.mark.parametrize("name", WORKFLOWS)
def test_a_workflow_is_valid(name):
    workflow = yaml.safe_load(WORKFLOWS[name])
    workflow["on"] = workflow.pop(True)  # what YAML 1.1 makes of `on`

    jsonschema.validate(workflow, schema("github-workflow.json"))
    for job in workflow["jobs"].values():
        for step in job["steps"]:
            if "skillwalker@" in step.get("uses", ""):
                assert step["with"].keys() <= ACTION["inputs"].keys()


def test_there_are_workflows_for_pull_requests_and_for_the_night():
    events = yaml.safe_load(WORKFLOWS[".github/workflows/skills.yml"])[True]

    assert {"pull_request", "schedule"} <= events.keys()
    assert "secrets" not in WORKFLOWS[".github/workflows/skills.yml"].partition("  real:")[0]


def test_the_action_is_valid_and_its_inputs_are_told():
    jsonschema.validate(ACTION, schema("github-action.json"))

    assert sorted(rows(CI, "The inputs of the action:")) == sorted(ACTION["inputs"])
    for step in ACTION["runs"]["steps"]:
        assert "${{" not in step.get("run", ""), "an expression in a script lets its text be code"


def step(name):
    [found] = [step for step in ACTION["runs"]["steps"] if step["name"] == name]
    return found["run"]


@pytest.fixture
def bash(tmp_path):
    """Runs a script of the action with stand-ins for programs, which write down how they were called."""
    called = tmp_path / "called"
    home = tmp_path / "runner"
    for program in (home / "skillwalker/bin/skillwalker", home / "skillwalker/bin/docker"):
        write(program, f'#!/bin/sh\nprintf "%s|" "${{0##*/}}" "$@" >> {called}\necho >> {called}\n$PROGRAM\n')
        program.chmod(0o755)
    python = write(home / "skillwalker/bin/python", f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    python.chmod(0o755)

    def run(script, **variables):
        outputs = tmp_path / "outputs"
        outputs.touch()
        given = {"RUNNER_TEMP": str(home), "GITHUB_OUTPUT": str(outputs), "PROGRAM": "", **variables}
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script],
            cwd=tmp_path,
            env={"PATH": os.environ["PATH"], **given},
            capture_output=True,
            text=True,
            check=False,
        )
        calls = called.read_text().splitlines() if called.exists() else []
        return done, calls, dict(line.split("=", 1) for line in outputs.read_text().splitlines())

    return run


GIVEN = {
    "ROOT": ".",
    "SELECT": "",
    "MODEL": "replay",
    "CASSETTES": "cassettes",
    "OPTIONS": "",
    "REPORTS": "out",
    "RESUME": "0",
}


def test_the_action_runs_what_was_asked_for(bash, tmp_path):
    select, options = "csv::a test; rm -rf $HOME\n\nmore\n", "--trials=3\n--max-cost 10\n-k 'a; $(b) c' "
    done, [call], outputs = bash(step("Run"), **{**GIVEN, "SELECT": select, "OPTIONS": options})

    words = call.split("|")[1:-1]
    assert done.returncode == 0, done.stderr
    given = ["--trials=3", "--max-cost", "10", "-k", "a; $(b) c"]
    assert words[:9] == ["run", "--isolated", *given, "--replay", "cassettes"]
    assert words[-3:] == ["--", "csv::a test; rm -rf $HOME", "more"]
    assert f"junit={tmp_path}/out/junit.xml" in words
    assert outputs == {"reports": f"{tmp_path}/out", "exit-code": "0"}


@pytest.mark.parametrize("code", [1, 4, 6])
def test_the_action_ends_with_the_exit_code(bash, code):
    done, _, outputs = bash(step("Run"), **{**GIVEN, "PROGRAM": f"exit {code}"})

    assert (done.returncode, outputs["exit-code"]) == (code, str(code))


@pytest.mark.parametrize(
    ("model", "expected"), [("rehearse", ["--rehearse"]), ("real", []), ("replay", ["--replay", "cassettes"])]
)
def test_the_action_says_who_answers(bash, model, expected):
    _, [call], _ = bash(step("Run"), **{**GIVEN, "MODEL": model})
    words = call.split("|")[1:-1]

    assert words[2 : words.index("--report")] == expected
    assert words[-1] == "--"


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"MODEL": "gpt"}, "model must be replay, rehearse or real"),
        ({"OPTIONS": "-k 'open"}, "options: a quote is not closed"),
        ({"RESUME": "often"}, "resume must be a whole number"),
    ],
)
def test_the_action_refuses_what_it_cannot_read(bash, given, told):
    done, calls, outputs = bash(step("Run"), **{**GIVEN, **given})

    assert (done.returncode, calls, outputs["exit-code"]) == (4, [], "4")
    assert done.stdout == f"::error::{told}\n"


@pytest.mark.parametrize(
    ("model", "resume", "ends", "code"),
    [
        ("real", "2", "6 0", 0),
        ("real", "1", "6 6 0", 6),
        ("real", "2", "6 1", 1),
        ("real", "0", "6 0", 6),
        ("real", "1", "1 0", 1),
        ("replay", "1", "6 0", 6),
    ],
)
def test_the_action_tries_again_what_was_not_measured(bash, tmp_path, model, resume, ends, code):
    write(tmp_path / "ends", "\n".join(ends.split()) + "\n")
    write(tmp_path / "next", 'code=$(head -n 1 ends)\nsed -i 1d ends\nexit "$code"\n')
    done, calls, outputs = bash(
        step("Run"), **{**GIVEN, "MODEL": model, "RESUME": resume, "PROGRAM": f"exec sh {tmp_path}/next"}
    )

    assert (done.returncode, outputs["exit-code"]) == (code, str(code)), done.stderr
    for again in calls[1:]:
        assert again.split("|")[1:4] == ["run", "--resume", "last"]
        assert f"junit={tmp_path}/out/junit.xml" in again
    tried = len(ends.split()) - len((tmp_path / "ends").read_text().split())
    assert len(calls) == tried


@pytest.mark.parametrize("began", [True, False])
def test_the_action_tells_where_the_run_is(bash, tmp_path, began):
    write(tmp_path / ".skillwalker/runs/20260101T000000Z-aaaaaa/run.json", "{}")
    program = "mkdir .skillwalker/runs/20260202T000000Z-bbbbbb" if began else "exit 4"
    _, _, outputs = bash(step("Run"), **{**GIVEN, "PROGRAM": program})

    expected = f"{tmp_path}/.skillwalker/runs/20260202T000000Z-bbbbbb" if began else None
    assert outputs.get("run") == expected


@pytest.mark.parametrize(("image", "ours"), [(None, "true"), ("registry.example/mine:1", "false")])
def test_the_action_asks_which_image_is_used(bash, tmp_path, image, ours):
    facts = {"tag": "a:b", "configured": {"image": image, "dockerfile": None}}
    write(tmp_path / "facts.json", json.dumps(facts))
    done, [call], outputs = bash(
        step("Name the sandbox image"), ROOT=".", PROGRAM=f"cat {tmp_path}/facts.json"
    )

    assert call.split("|")[1:-1] == ["image", "info", "--format", "json"]
    assert (done.returncode, outputs) == (0, {"tag": "a:b", "key": "a-b", "ours": ours})


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("Name the sandbox image", {"ROOT": "."}),
        ("Load or build the image", {"TAG": "a:b", "FILE": "none", "KEEP": "true"}),
    ],
)
def test_the_action_tells_the_exit_code_of_every_step(bash, name, given):
    done, calls, outputs = bash(step(name), PROGRAM="exit 4", **given)

    assert (done.returncode, len(calls), outputs) == (4, 1, {"exit-code": "4"})


@pytest.mark.parametrize("cached", [True, False])
def test_the_action_keeps_the_image(bash, tmp_path, cached):
    file = tmp_path / "image.tar.gz"
    if cached:
        file.write_bytes(b"image")
    given = {"TAG": "a:b", "FILE": str(file), "KEEP": "true"}
    done, calls, _ = bash(step("Load or build the image"), **given)

    assert done.returncode == 0, done.stderr
    assert [call.rstrip("|").split("|")[:3] for call in calls] == (
        [["docker", "load", "--quiet"], ["skillwalker", "image", "build"]]
        if cached
        else [["skillwalker", "image", "build"], ["docker", "save", "a:b"]]
    )
    assert file.exists()


@pytest.mark.parametrize("hook", HOOKS, ids=lambda hook: hook["id"])
@pytest.mark.parametrize("place", ["", "packages/csv/"], ids=["top", "package"])
def test_a_hook_takes_the_names_of_files_that_concern_evals(run_cli, tmp_path, monkeypatch, hook, place):
    root = tmp_path / place
    plugin(root)
    an_eval(root, [{"name": "first", "expect": [SAYS]}], rubrics={"r.md": "- fine"})
    write(root / "evals/README.md", "about")
    write(root / "skillwalker.toml", "[run]\ntrials = 2\n")
    write(tmp_path / "other/SKILL.md", "no eval uses it")
    monkeypatch.chdir(tmp_path)
    files = [path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()]
    given = [name for name in files if re.search(hook["files"], name)]

    inside = [
        "acme/.claude-plugin/plugin.json",
        "acme/agents/auditor.md",
        *(f"acme/skills/{name}/SKILL.md" for name in ("forked", "hello", "tidy")),
        *(f"evals/csv/{name}" for name in ("prompts/p0.md", "rubrics/r.md", "tests.json")),
        "skillwalker.toml",
    ]
    assert sorted(given) == sorted(["other/SKILL.md", *(f"{place}{name}" for name in inside)])
    program, *words = hook["entry"].split()
    assert program == "skillwalker"
    assert run_cli(*words, "other/SKILL.md").code == 0
    for name in given:
        called = run_cli(*words, name)
        assert called.code in (0, 1), called.err  # lint may find something
    write(root / "evals/csv/tests.json", "{")
    called = run_cli(*words, f"{place}acme/skills/tidy/SKILL.md")
    assert (called.code, f"{place}evals/csv/tests.json:1" in called.err) == (4, True)


def test_the_page_for_pre_commit_names_hooks_that_exist():
    [block] = re.findall(r"<!-- hooks: .pre-commit-config.yaml -->\n```yaml\n(.*?)```", CI, re.DOTALL)
    named = [hook["id"] for repo in yaml.safe_load(block)["repos"] for hook in repo["hooks"]]

    assert named == [hook["id"] for hook in HOOKS]
    [more] = re.findall(r"<!-- hooks: additional -->\n```yaml\n(.*?)```", CI, re.DOTALL)
    assert [hook["id"] for hook in yaml.safe_load(more)] == named


def test_python_versions_are_said_once_and_alike():
    text = (TOP / "pyproject.toml").read_text("utf-8")

    assert 'requires-python = ">=3.11"' in text
    assert f"Python :: 3.{sys.version_info.minor}" in text
    assert f"Python :: {ACTION['inputs']['python']['default']}" in text
