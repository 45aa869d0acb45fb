"""The command line without Docker: what is checked, selected, listed and refused, with which exit code."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from roots import agent, an_eval, plugin, skill, text, write

from skillwalker.packaged import packaged
from skillwalker.records import planned_object
from skillwalker.results import TestResult
from skillwalker.store import Store

SAYS = {"result-contains": "done"}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    plugin(tmp_path)
    an_eval(tmp_path, [{"name": "first", "expect": [SAYS]}, {"name": "second one", "expect": [SAYS]}])
    an_eval(tmp_path, [{"name": "other", "expect": [SAYS]}], name="more")
    return tmp_path


def test_the_example_is_valid(run_cli):
    called = run_cli("--root", packaged("examples/csv-toolbox"), "validate")

    assert (called.code, called.out) == (0, "13 tests in 3 evals are valid\n")


def test_all_problems_of_all_evals_come_at_once_with_their_places(run_cli, root):
    write(root / "evals" / "more" / "tests.json", '{"plugins": ["acme"],\n "tests": [],\n "test": 1}')
    an_eval(root, [{"name": "x", "expect": [{"result-contain": "a"}]}], name="third")

    called = run_cli("--root", root, "validate")

    assert called.code == 4
    assert "evals/more/tests.json:2: tests" in called.err
    assert 'unknown field "test"' in called.err or "unknown field test" in called.err
    assert "tests[0].expect[0].result-contain" in called.err
    assert "did you mean result-contains?" in called.err
    assert "Traceback" not in called.err


def test_problems_as_json_have_file_line_path_and_message(run_cli, root):
    an_eval(root, [{"name": "x", "promptFile": "../p.md", "expect": [SAYS]}], name="third")

    called = run_cli("--root", root, "validate", "--format", "json")

    [problem] = json.loads(called.out)["problems"]
    assert called.code == 4
    assert (problem["file"], problem["path"]) == ("evals/third/tests.json", "tests[0].promptFile")
    assert problem["line"] > 1
    assert problem["message"]


def test_a_valid_check_as_json_has_no_problems(run_cli, root):
    called = run_cli("--root", root, "validate", "--format", "json")

    assert (called.code, json.loads(called.out)["problems"]) == (0, [])


def test_plugins_skills_and_agents_must_be_there(run_cli, root):
    tests = [
        {"name": "a", "type": "skill-call", "skillFile": "acme:tydy", "expect": [{"skill-call": True}]},
        {"name": "b", "type": "agent-call", "agentFile": "acme:auditr", "expect": [{"agent-call": True}]},
    ]
    an_eval(root, tests, name="third")
    an_eval(root, tests, name="fourth", plugins=["acne"])

    called = run_cli("--root", root, "validate")

    assert called.code == 4
    assert "tests[0].skillFile: " in called.err
    assert "did you mean tidy?" in called.err
    assert "did you mean auditor?" in called.err
    assert "did you mean acme?" in called.err
    assert called.err.count("evals/fourth/tests.json") == 1  # what follows from a missing plugin is not told


def test_a_skill_that_the_model_may_not_call_is_no_positive(run_cli, root):
    skill(root / "acme", "secret", "Keeps secrets", more="disable-model-invocation: true\n")
    test = {"name": "a", "type": "skill-call", "skillFile": "acme:secret", "expect": [{"skill-call": True}]}
    an_eval(root, [test], name="third")

    called = run_cli("--root", root, "validate")

    assert called.code == 4
    assert "disable-model-invocation" in called.err


def test_a_rehearsal_script_is_checked_too(run_cli, root):
    an_eval(root, [{"name": "x", "expect": [SAYS]}], name="third", script={"x": [{"contents": "done"}]})

    called = run_cli("--root", root, "validate")

    assert called.code == 4
    assert "evals/third/rehearsal.json" in called.err


@pytest.mark.parametrize("command", [("validate",), ("lint",), ("run", "--rehearse", "--dry-run")])
def test_an_entry_of_no_test_is_a_note_that_stops_nothing(run_cli, root, command):
    test = {"name": "Call: tidy this up", "expect": [SAYS]}
    an_eval(root, [test], name="third", script={"Call: tidy this": [text("done")]})

    called = run_cli("--root", root, *command, "third")

    assert called.code == 0
    told = called.out + called.err
    assert (
        'evals/third/rehearsal.json:3: tests["Call: tidy this"]: no test is named "Call: tidy this" '
        '(did you mean "Call: tidy this up"?): rename the entry if its test was renamed or its query edited, '
        "else remove it. A rehearsal answers tests without an entry by the simple rule: "
        '"Call: tidy this up"'
    ) in told


def test_a_run_that_is_not_rehearsed_reads_no_script(run_cli, root):
    real = ("run", "--dry-run", "third")
    an_eval(root, [{"name": "x", "expect": [SAYS]}], name="third", script={"y": [text("done")]})
    unused = run_cli("--root", root, *real)
    assert (unused.code, "rehearsal.json" in unused.out) == (0, False)

    script = write(root / "evals/third/rehearsal.json", '{"tests": {"x": [{"contents": "done"}]}}')
    broken = run_cli("--root", root, *real)
    assert broken.code == 0
    assert "note: evals/third/rehearsal.json:1: tests.x[0].contents: unknown field" in broken.out
    assert "(matters for rehearsals only)" in broken.out
    assert run_cli("--root", root, *real, "--rehearse").code == 4

    # Faults are injected into real runs, too: without them it would be another measurement.
    script.write_text('{"tests": {"x": {"faults": [{"turn": 0}]}}}', "utf-8")
    faulty = run_cli("--root", root, *real)
    assert faulty.code == 4
    assert "(its faults count in every run)" in faulty.err


def test_the_agents_of_a_script_must_be_there(run_cli, root):
    script = {"x": {"agents": {"acme:audit": [text("a")], "forked": [text("b")], "acme:tidy": [text("c")]}}}
    an_eval(root, [{"name": "x", "expect": [SAYS]}], name="third", script=script)

    called = run_cli("--root", root, "validate")

    assert called.code == 4
    assert "no such agent or skill: acme:audit (did you mean acme:auditor?)" in called.err
    assert "write acme:forked" in called.err
    assert "acme:tidy" not in called.err


def test_what_belongs_to_other_tools_is_noted_and_no_error(run_cli, root):
    write(root / "evals" / "evals.json", "[]")
    write(root / "evals" / "case" / "prompt.md", "x")

    called = run_cli("--root", root, "validate")

    assert called.code == 0
    assert "note: 2 entries of other tools in evals/ are not read: case/, evals.json" in called.err


def test_a_scaffolds_settings_are_named(run_cli, root):
    test = {"name": "x", "scaffold": "shop", "expect": [SAYS]}
    an_eval(root, [test], name="third", scaffolds={"shop/.claude/settings.json": "{}"})

    called = run_cli("--root", root, "validate")

    assert called.code == 0
    assert "scaffold shop" in called.err


def test_what_does_not_come_along_of_a_plugin_or_scaffold_is_told_before_the_run(run_cli, root):
    for number in range(7):
        (root / "acme" / f"link{number}").symlink_to("../../nowhere")
    an_eval(
        root, [{"name": "x", "scaffold": "shop", "expect": [SAYS]}], name="third", scaffolds={"shop/a": ""}
    )
    os.mkfifo(root / "evals" / "third" / "scaffolds" / "shop" / "pipe")

    called = run_cli("--root", root, "run", "--dry-run")

    assert called.code == 0
    assert called.out.count("note: plugin acme: link") == 5
    assert "note: plugin acme: 2 more" in called.out
    assert "note: scaffold shop: pipe: left out" in called.out


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        ([], ["first", "second one", "other"]),
        (["csv"], ["first", "second one"]),
        (["csv::second*", "more"], ["second one", "other"]),
        (["-k", "first or other"], ["first", "other"]),
    ],
)
def test_a_dry_run_shows_what_is_selected(run_cli, root, arguments, names):
    called = run_cli("--root", root, "run", "--dry-run", "--format", "json", *arguments)

    found = json.loads(called.out)
    assert called.code == 0
    assert sorted(test["name"] for test in found["tests"]) == sorted(names)


def test_one_of_a_thing_is_not_several(run_cli, root):
    assert run_cli("--root", root, "validate", "more").out == "1 test in 1 eval is valid\n"
    out = run_cli("--root", root, "run", "--dry-run", "more", "--trials", "1").out
    assert "1 trial, 1 expectation)" in out
    assert "1 test, 1 trial; nothing was started" in out
    assert "more  (1 test)" in run_cli("--root", root, "list").out


def test_a_dry_run_starts_nothing_and_says_so(run_cli, root):
    called = run_cli("--root", root, "run", "--dry-run", "--trials", "3", "--model", "haiku")

    assert "nothing was started" in called.out
    assert "9 trials" in called.out
    assert "haiku" in called.out
    assert not (root / ".skillwalker").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["cvs"], "csv"),
        (["csv::frist"], "csv::first"),
        (["csv", "nothing::here"], "nothing::here"),
        (["-k", "absent"], "absent"),
    ],
)
def test_a_selection_that_matches_nothing_names_what_comes_near(run_cli, root, arguments, said):
    for command in (["run", "--isolated", "--rehearse"], ["validate"]):
        called = run_cli("--root", root, *command, *arguments)
        assert called.code == 5
        assert said in called.err
        as_json = run_cli("--root", root, *command, *arguments, "--format", "json")
        assert as_json.code == 5
        (problem,) = json.loads(as_json.out)["problems"]
        assert said in problem["message"]


def test_a_root_without_evals_is_nothing_selected(run_cli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    for arguments in (["run", "--isolated", "--rehearse"], ["validate"], ["--root", tmp_path, "validate"]):
        called = run_cli(*arguments)
        assert called.code == 5
        assert "no evals/*/tests.json" in called.err


def test_what_a_run_would_need_is_told_all_at_once(run_cli, root):
    called = run_cli("--root", root, "run")

    assert called.code == 4
    assert "--isolated" in called.err
    assert "--rehearse" in called.err
    assert not (root / ".skillwalker").exists()


@pytest.mark.parametrize("option", ["--model", "--judge-model"])
def test_a_model_that_is_none_is_refused(run_cli, root, option):
    called = run_cli("--root", root, "run", "--isolated", "--rehearse", option, "gpt-9")

    assert called.code == 4
    assert f"{option} must be opus, sonnet, haiku or a full claude-... name" in called.err


@pytest.mark.parametrize(
    "arguments",
    [["rum"], ["run", "--jobs", "0"], ["run", "--format", "xml"], ["--root"], ["show", "a", "b", "c"]],
)
def test_wrong_usage_is_exit_code_4(run_cli, root, arguments):
    called = run_cli(*arguments)

    assert called.code == 4
    assert "Traceback" not in called.err
    assert called.err


def test_wrong_usage_as_json_is_a_problem(run_cli):
    called = run_cli("run", "--jobs", "0", "--format", "json")

    assert called.code == 4
    assert json.loads(called.out)["problems"][0]["message"]


def test_no_engine_is_one_paragraph_and_exit_code_4(run_cli, root, monkeypatch):
    monkeypatch.setenv("DOCKER_HOST", f"unix://{root}/no.sock")

    called = run_cli("--root", root, "run", "--isolated", "--rehearse")

    assert called.code == 4
    assert "DOCKER_HOST" in called.err
    assert "Traceback" not in called.err


def test_evals_and_runs_are_listed(run_cli, root):
    called = run_cli("--root", root, "list")
    assert called.code == 0
    assert "csv  (2 tests)" in called.out
    assert "second one" in called.out

    called = run_cli("--root", root, "list", "evals", "--format", "json")
    assert [each["name"] for each in json.loads(called.out)["evals"]] == ["csv", "more"]

    called = run_cli("--root", root, "list", "runs")
    assert (called.code, called.out) == (0, "")
    assert "no runs yet" in called.err


def test_a_run_that_is_not_there_is_told(run_cli, root):
    called = run_cli("--root", root, "show")

    assert called.code == 4
    assert "there is no run yet" in called.err


def test_a_root_is_found_upwards_and_its_absence_is_told(run_cli, root, monkeypatch):
    deep = root / "evals" / "csv" / "prompts"
    monkeypatch.chdir(deep)

    assert run_cli("validate").code == 0
    assert run_cli("validate", "..").out.startswith("2 tests in 1 eval")
    assert run_cli("--root", deep / "absent", "validate").code == 4


def test_a_broken_expectation_type_is_told_and_validate_fails(run_cli, root, tmp_path, monkeypatch):
    site = tmp_path / "site"
    info = site / "breaks-1.0.dist-info"
    write(info / "METADATA", "Metadata-Version: 2.1\nName: breaks\nVersion: 1.0\n")
    write(info / "entry_points.txt", "[skillwalker.expectations]\nbroken-type = breaks:Nothing\n")
    write(site / "breaks.py", "raise RuntimeError('cannot work here')\n")
    monkeypatch.syspath_prepend(str(site))
    an_eval(root, [{"name": "x", "expect": [{"broken-type": 1}]}], name="third")

    called = run_cli("--root", root, "validate")

    assert called.code == 4
    assert "breaks 1.0" in called.err
    assert "cannot work here" in called.err


def test_agents_are_found_by_the_name_in_their_file(run_cli, root):
    agent(root / "acme", "second", "Checks again")
    test = {"name": "x", "type": "agent-call", "agentFile": "acme:second", "expect": [{"agent-call": True}]}
    an_eval(root, [test], name="third")

    assert run_cli("--root", root, "validate", "third").code == 0


def test_the_version_and_help_need_no_root(run_cli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere.sock")
    assert run_cli("--version").out.startswith("skillwalker 0.")
    for command in ("run", "demo", "validate", "list", "show", "doctor", "prune", "image", "expectations"):
        called = run_cli(command, "--help")
        assert called.code == 0
        assert called.out.startswith("Usage:")


def test_help_and_validate_load_neither_docker_nor_anthropic():
    example = packaged("examples/csv-toolbox")
    heavy = "{'docker', 'anthropic', 'uvicorn', 'rich', 'asyncio', 'httpx2', 'requests'}"
    for arguments in (["--help"], ["--root", str(example), "validate"]):
        code = (
            "import sys; from skillwalker.cli.main import exit_code;"
            f"assert exit_code({arguments!r}) == 0;"
            f"print(sorted({heavy} & set(sys.modules)), file=sys.stderr)"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert done.stderr.strip().splitlines()[-1] == "[]", arguments


def test_the_program_is_installed_under_its_name(tmp_path):
    program = shutil.which("skillwalker", path=str(Path(sys.executable).parent))
    assert program

    done = subprocess.run([program, "validate"], cwd=tmp_path, capture_output=True, text=True, check=False)

    assert done.returncode == 5
    assert done.stdout == ""


def test_hostile_names_cannot_steer_the_terminal(run_cli, root):
    write(
        root / "evals" / "evil" / "tests.json",
        json.dumps({"plugins": ["acme"], "tests": [{"name": "\x1b[2J\u202e"}]}),
    )

    for command in (["validate"], ["list"], ["run", "--dry-run"]):
        called = run_cli("--root", root, *command)
        assert "\x1b" not in called.out + called.err
        assert "\u202e" not in called.out + called.err


def test_hostile_texts_of_a_plugin_cannot_steer_the_terminal(run_cli, root):
    manifest = {"name": "acme", "skills": ["./\x1b[2J\u202e"]}
    write(root / "acme" / ".claude-plugin" / "plugin.json", json.dumps(manifest))

    for command in (["validate"], ["run", "--isolated", "--rehearse", "--dry-run"]):
        called = run_cli("--root", root, *command)
        assert r"./\x1b[2J\u202e does not exist" in called.out + called.err
        assert not {"\x1b", "\u202e"} & set(called.out + called.err)


def test_hostile_names_of_a_plan_cannot_steer_the_terminal(run_cli, root):
    an_eval(root, [{"name": "turned \u202e round", "expect": [SAYS]}], name="odd")
    planned = run_cli("--root", root, "run", "--isolated", "--rehearse", "--dry-run")
    assert r"odd::turned \u202e round" in planned.out
    assert not {"\x1b", "\u202e"} & set(planned.out)


def program(*arguments: str | Path, **more: object) -> subprocess.CompletedProcess[str]:
    """The installed program, in a process of its own."""
    path = str(Path(sys.executable).with_name("skillwalker"))
    return subprocess.run([path, *map(str, arguments)], capture_output=True, text=True, check=False, **more)


def test_without_a_command_help_is_shown(run_cli):
    called = run_cli()

    assert called.code == 4
    assert "Traceback" not in called.err
    assert "Usage:" in called.out + called.err


def test_a_reader_that_goes_away_is_no_failed_test(root):
    path = str(Path(sys.executable).with_name("skillwalker"))
    done = subprocess.run(
        ["bash", "-c", f"{path} --root {root} list | true; echo ${{PIPESTATUS[0]}}"],
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout.strip() in ("0", "141")
    assert "Traceback" not in done.stderr


def test_a_terminal_without_a_character_shows_an_escape(root):
    an_eval(root, [{"name": "日本語", "expect": [SAYS]}], name="third")
    environment = {**os.environ, "PYTHONIOENCODING": "latin1"}

    done = program("--root", root, "list", env=environment)

    assert done.returncode == 0
    assert "\\u65e5\\u672c\\u8a9e" in done.stdout


def test_closed_output_is_no_fault(root):
    path = str(Path(sys.executable).with_name("skillwalker"))
    done = subprocess.run(
        ["bash", "-c", f"{path} --root {root} validate >&-"], capture_output=True, check=False
    )

    assert done.returncode == 0
    assert b"Traceback" not in done.stderr


def test_ctrl_c_is_exit_code_2_also_before_anything_runs(root):
    code = (
        "import signal, skillwalker.checks as c, skillwalker.cli.main as m\n"
        "def stop(*_, **__): raise KeyboardInterrupt\n"
        "c.check_evals = stop\n"
        f"print(m.exit_code(['--root', {str(root)!r}, 'validate']))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "2"
    assert "interrupted" in done.stderr


@pytest.mark.parametrize("value", ["inf", "1e400", "nan", "0"])
def test_a_limit_beyond_sense_is_refused(run_cli, root, value):
    called = run_cli("--root", root, "run", "--dry-run", "--timeout", value)

    assert called.code == 4
    assert "Traceback" not in called.err


def test_stored_runs_are_listed_with_when_how_and_what(run_cli, root):
    tests = tuple(
        TestResult(name, "t", "skill-call", "opus", 1, 1, ()) for name in ("csv", "more", "bad\x1b[2J")
    )
    for run_id, ended in (
        ("20261130T101500Z-3f9a1c", {"interrupted": True}),
        ("20261201T090000Z-000000", {}),
    ):
        manifest = {
            "schema": 1,
            "run_id": run_id,
            "sandbox": "docker",
            "model_source": "rehearsal",
            "claude_code_version": None,
            "image": None,
            "options": {"allow_unmeasured": 0},
            "tests": [planned_object(test) for test in tests],
            **ended,
        }
        Store(root).create(run_id, manifest)

    first, second = run_cli("--root", root, "list", "runs").out.splitlines()

    assert first.startswith("20261130T101500Z-3f9a1c  2026-11-30 10:15 UTC  interrupted")
    assert "  0 passed, 3 unmeasured  of csv, more, bad\\x1b[2J  (docker, rehearsal)" in first
    assert "2026-12-01 09:00 UTC  not finished" in second

    shown = run_cli("--root", root, "show", "20261130").out.splitlines()
    assert f"go on: skillwalker --root {root} run --resume 20261130T101500Z-3f9a1c" in shown
    found = json.loads(run_cli("--root", root, "list", "runs", "--format", "json").out)["runs"]
    assert [run["interrupted"] for run in found] == [True, None]
    assert found[0]["evals"] == ["csv", "more", "bad\x1b[2J"]


def test_a_dry_run_tells_whether_the_command_itself_would_be_refused(run_cli, root):
    refused = run_cli("--root", root, "run", "--dry-run", "--isolated")
    assert (refused.code, "rehearsed by" in refused.out) == (0, False)
    assert "this run would be refused: no credential for the model" in refused.out

    possible = run_cli("--root", root, "run", "--dry-run", "--isolated", "--rehearse")
    assert "rehearsed by the rule" in possible.out
    assert "refused" not in possible.out

    for options, number in ((["--isolated"], 1), (["--isolated", "--rehearse"], 0)):
        found = run_cli("--root", root, "run", "--dry-run", "--format", "json", *options).out
        assert len(json.loads(found)["refused"]) == number


_LONG = "Tidy what is in this export, please. " * 20


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("try", "nowhere", _LONG), "there is no plugin directory nowhere"),
        (("try", _LONG, "tidy it"), "there is no plugin directory Tidy what"),
        (("try", _LONG), "the plugin's directory is missing before the prompt"),
        (("try", "acme", "tidy it", "--save", _LONG), "is no name of an eval"),
        (("demo", "--into", _LONG), "File name too long"),
        (("demo", "--into", "taken/below"), "Not a directory"),
    ],
    ids=lambda value: " ".join(value)[:30] if isinstance(value, tuple) else "",
)
def test_a_word_may_be_longer_than_any_files_name(run_cli, root, monkeypatch, arguments, message):
    write(root / "taken", "")
    monkeypatch.chdir(root)

    called = run_cli(*arguments)

    assert called.code == 4
    assert message in called.err


def test_what_is_wrong_with_both_of_two_runs_is_told_once(run_cli, root):
    called = run_cli("--root", root, "compare", "last", "last")

    assert (called.code, called.err.count("there is no run yet")) == (4, 1)
