"""The configuration as the command line reads, shows and refuses it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from local_support import a_root
from roots import an_eval, plugin, write

from skillwalker.settings import OPTIONS
from skillwalker.store import Store

PRICE = "input=5, output=25, cache_read=0.5, cache_write_5m=6.25, cache_write_1h=10"
SAYS = {"result-contains": "done"}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    plugin(tmp_path)
    an_eval(tmp_path, [{"name": "first", "expect": [SAYS]}, {"name": "second", "expect": [SAYS]}])
    return tmp_path


def planned(run_cli: Any, root: Path, *arguments: str) -> dict[str, Any]:
    called = run_cli("--root", root, "run", "--dry-run", "--format", "json", *arguments)
    assert called.code == 0, called.err
    return json.loads(called.out)


def test_a_dry_run_shows_where_each_value_comes_from(run_cli, root, monkeypatch):
    write(
        root / "skillwalker.toml",
        "[run]\njobs = 4\ntrials = 2\n\n[sandbox]\ncpus = 1.5\nenv = ['MY_TOKEN']\n",
    )
    monkeypatch.setenv("SKILLWALKER_TRIALS", "3")
    monkeypatch.setenv("MY_TOKEN", "a-secret-value")

    found = planned(run_cli, root, "--model", "haiku")

    options = found["options"]
    assert found["trials"] == 6
    assert options["jobs"] == {"value": 4, "source": "file", "place": "skillwalker.toml:2"}
    assert options["trials"] == {"value": 3, "source": "environment", "place": "SKILLWALKER_TRIALS"}
    assert options["model"] == {"value": "haiku", "source": "command line", "place": None}
    assert options["timeout"] == {"value": 600.0, "source": "default", "place": None}
    assert options["sandbox.cpus"] == {"value": 1.5, "source": "file", "place": "skillwalker.toml:6"}
    assert options["sandbox.env"] == {"value": ["MY_TOKEN"], "source": "file", "place": "skillwalker.toml:7"}
    assert set(OPTIONS) < options.keys()
    assert "a-secret-value" not in json.dumps(found)


def test_a_dry_run_shows_it_to_people_too(run_cli, root, monkeypatch):
    settings = f"run.jobs = 4\nprices.claude-x = {{{PRICE}}}\n"
    write(root / "pyproject.toml", f"[tool.skillwalker]\n{settings}")
    monkeypatch.setenv("SKILLWALKER_YES", "true")

    lines = run_cli("--root", root, "run", "--dry-run", "--trials", "2").out.splitlines()

    rows = {line.split()[0]: line.split(maxsplit=1)[1] for line in lines if line.startswith("  ")}
    assert rows["jobs"].split("  ")[0] == "4"
    assert rows["jobs"].endswith("file pyproject.toml:2")
    assert rows["yes"].endswith("environment SKILLWALKER_YES")
    assert rows["trials"].endswith("command line")
    assert rows["timeout"].endswith("default")
    assert rows["prices"].endswith("file pyproject.toml:3")


def test_problems_of_options_variables_configuration_and_evals_come_at_once(run_cli, root, monkeypatch):
    write(root / "skillwalker.toml", "[run]\njobz = 4\n\n[sandbox]\nmemory_mib = 1\n")
    write(root / "evals" / "csv" / "tests.json", '{"plugins": ["acme"], "tests": []}')
    monkeypatch.setenv("SKILLWALKER_TRIALS", "many")

    called = run_cli("--root", root, "run", "--timeout", "0", "--format", "json")

    assert called.code == 4
    problems = json.loads(called.out)["problems"]
    assert [(one["file"], one["line"], one["path"]) for one in problems] == [
        (None, None, None),
        (None, None, None),
        ("skillwalker.toml", 2, "run.jobz"),
        ("skillwalker.toml", 5, "sandbox.memory_mib"),
        ("evals/csv/tests.json", 1, "tests"),
    ]
    assert problems[0]["message"] == "SKILLWALKER_TRIALS must be a whole number, not many"
    assert problems[1]["message"] == "--timeout must be at least 1, not 0.0"
    assert problems[2]["message"] == "unknown key jobz (did you mean jobs?)"


def test_validate_checks_the_configuration_too(run_cli, root, monkeypatch):
    file = write(root / "skillwalker.toml", "[run]\njobz = 4\n")
    called = run_cli("--root", root, "validate")
    assert (called.code, called.err) == (
        4,
        "skillwalker.toml:2: run.jobz: unknown key jobz (did you mean jobs?)\n",
    )
    called = run_cli("--root", root, "validate", "nothing-like-it")
    assert called.code == 4
    assert "run.jobz" in called.err

    file.unlink()
    monkeypatch.setenv("SKILLWALKER_JOBS", "0")
    called = run_cli("--root", root, "validate")
    assert (called.code, called.err) == (4, "SKILLWALKER_JOBS must be at least 1, not 0\n")


def test_the_format_of_the_configuration_holds_for_problems_too(run_cli, root):
    write(root / "skillwalker.toml", "[run]\nformat = 'json'\njobz = 1\n")
    called = run_cli("--root", root, "run")
    assert called.code == 4
    assert json.loads(called.out)["problems"][0]["path"] == "run.jobz"
    assert run_cli("--root", root, "run", "--format", "console").out == ""


def test_without_a_root_a_wrong_option_is_told_first(run_cli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run_cli("run", "--jobs", "0").code == 4
    assert run_cli("run", "--jobs", "1").code == 5


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--record", "a", "--replay", "b"], "--record and --replay exclude each other: give one of them\n"),
        (["--rehearse", "--replay", "b"], "--rehearse and --replay exclude each other: give one of them\n"),
        (["--rehearse", "--record", "b"], "--rehearse and --record exclude each other: give one of them\n"),
    ],
)
def test_one_answers(run_cli, root, options, told):
    called = run_cli("--root", root, "run", "--isolated", *options)
    assert (called.code, called.err) == (4, told)


def test_the_command_line_takes_back_what_is_configured(run_cli, root):
    write(root / "skillwalker.toml", "[run]\nrehearse = true\nisolated = true\ndry_run = true\n")
    assert "nothing was started" in run_cli("--root", root, "run").out
    assert planned(run_cli, root)["refused"] == []
    assert "no credential for the model" in str(planned(run_cli, root, "--no-rehearse")["refused"])
    found = planned(run_cli, root, "--no-isolated")["options"]["isolated"]
    assert found == {"value": False, "source": "command line", "place": None}


def test_a_variable_that_is_not_set_is_told_before_the_run(run_cli, root, monkeypatch):
    write(root / "skillwalker.toml", "[sandbox]\nenv = ['MISSING_TOKEN', 'MY_TOKEN']\n")
    monkeypatch.setenv("MY_TOKEN", "a-secret-value")
    (refused,) = planned(run_cli, root, "--isolated", "--rehearse")["refused"]
    assert refused.startswith("sandbox.env[0]: MISSING_TOKEN is not set")


def test_a_run_takes_its_defaults_from_the_configuration(run_cli, tmp_path, claude, temporary):
    root = a_root(tmp_path / "root", ["ends well"])
    settings = f"claude = '{claude}'\nrehearse = true\nyes = true\ntrials = 2\nformat = 'json'\ntimeout = 50"
    others = f"\n[sandbox]\nimage = 'of-no-use-here'\n[prices]\nclaude-x = {{{PRICE}}}\n"
    write(root / "skillwalker.toml", f"[run]\n{settings}{others}")

    called = run_cli("--root", root, "run")

    assert called.code == 0, called.err
    assert len(json.loads(called.out)["tests"][0]["trials"]) == 2
    options = Store(root).find("last").manifest()["options"]
    assert (options["trials"], options["timeout_seconds"]) == (2, 50.0)
    assert options["prices"] == {
        "claude-x": {
            "input": 5,
            "output": 25,
            "cache_read": 0.5,
            "cache_write_5m": 6.25,
            "cache_write_1h": 10,
        }
    }


def test_a_resumed_run_is_not_changed_by_the_configuration(run_cli, tmp_path, claude, temporary, monkeypatch):
    root = a_root(tmp_path / "root", ["ends well", "exits 0 in silence"])
    given = ["--root", root, "run", "--rehearse", "--yes", "--claude", claude, "--timeout", "50"]
    first = run_cli(*given, "--format", "json")
    assert [test["outcome"] for test in json.loads(first.out)["tests"]] == ["passed", "unmeasured"]

    write(
        root / "skillwalker.toml",
        "[run]\nyes = true\ntrials = 7\ntimeout = 3\nisolated = true\nmodel = 'opus'\n",
    )
    monkeypatch.setenv("SKILLWALKER_JUDGE_MODEL", "opus")
    shown = planned(run_cli, root, "--resume", "last", "-j", "1")["options"]
    run_id = Store(root).find("last").id
    of_run = {"source": "run", "place": run_id}
    assert shown["trials"] == {"value": None, **of_run}
    assert shown["timeout"] == {"value": 50.0, **of_run}
    assert shown["isolated"] == {"value": False, **of_run}
    assert shown["jobs"] == {"value": 1, "source": "command line", "place": None}
    assert shown["yes"] == {"value": True, "source": "file", "place": "skillwalker.toml:2"}

    before = Store(root).find("last").manifest()["options"]
    again = run_cli("--root", root, "run", "--resume", "last", "--format", "json")
    assert [test["outcome"] for test in json.loads(again.out)["tests"]] == ["passed", "unmeasured"]
    assert Store(root).find("last").manifest()["options"] == before
    changed = ["--max-cost", "3", "--timeout", "77", "--allow-unmeasured", "1", "-j", "2"]
    again = run_cli("--root", root, "run", "--resume", "last", *changed, "--format", "json")
    assert again.code == 0
    told = {"max_cost_usd": 3.0, "timeout_seconds": 77.0, "allow_unmeasured": 1, "jobs": 2}
    assert Store(root).find("last").manifest()["options"] == {**before, **told}
    assert planned(run_cli, root, "--resume", "last")["options"]["max_cost"] == {"value": 3.0, **of_run}

    refused = run_cli("--root", root, "run", "--resume", "last", "--trials", "7", "--no-rehearse")
    assert refused.code == 4
    assert "--rehearse, --trials cannot be changed" in refused.err


def test_the_demo_and_other_commands_do_not_read_it(run_cli, root, tmp_path, monkeypatch):
    write(root / "skillwalker.toml", "[run]\njobz = 4\n")
    monkeypatch.chdir(root)
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/no.sock")
    monkeypatch.setenv("SKILLWALKER_JOBS", "none")
    called = run_cli("demo")
    assert "jobz" not in called.err
    assert "SKILLWALKER_JOBS" not in called.err
    assert "DOCKER_HOST" in called.err
    assert run_cli("list").code == 0


def test_no_toml_is_read_where_no_file_is(root):
    write(root / "pyproject.toml", "[project]\nname = 'x'\n")
    code = (
        "import sys; from skillwalker.cli.main import exit_code;"
        f"assert exit_code(['--root', {str(root)!r}, 'run', '--dry-run']) == 0;"
        "print(sorted({'tomllib', 'pydantic'} & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip().splitlines()[-1] == "[]"
