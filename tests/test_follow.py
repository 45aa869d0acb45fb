"""`show --follow`: transcripts as they come."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from local_support import a_root, run
from roots import an_eval, plugin
from stored_runs import FAILED, PASSED, RUN_ID, Left, a_test, a_trial, keep, verdict
from transcripts import answers, calls, init, result, says

from skillwalker.evals import trial_id
from skillwalker.outcomes import Reason
from skillwalker.records import load_run, planned_object, trial_file, verdict_object
from skillwalker.reports.follow import follow
from skillwalker.results import Target, TestResult
from skillwalker.sandbox.owner import Owner
from skillwalker.store import Store

NAME = trial_id("csv", "t", "main", 1)


def begun(root, *names, planned=1, **more):
    """A run that goes on."""
    tests = [TestResult("csv", name, "skill-prompt", "opus", planned, 1, ()) for name in names]
    manifest = {
        "schema": 1,
        "run_id": RUN_ID,
        "sandbox": "docker",
        "model_source": "api",
        "claude_code_version": "2.1.332",
        "image": None,
        "options": {"allow_unmeasured": 0},
        "owner": str(Owner.current()),
        "tests": [planned_object(test) for test in tests],
        **more,
    }
    return Store(root).create(RUN_ID, manifest)


def add(directory, name, data):
    with (directory.trial(name) / "events.jsonl").open("ab") as file:
        file.write(data)


def line(event):
    return json.dumps(event).encode() + b"\n"


def end(directory, name, test="t"):
    trial = a_trial(test, 1, verdict(PASSED))
    directory.finish_trial(name, {**trial_file("csv", test, trial), "id": name})


def steps(*actions):
    """A pause that does the next thing each time; a pause too many fails."""
    waiting = list(actions)
    return lambda seconds: waiting.pop(0)()


def test_lines_come_as_they_are_written_and_whole(tmp_path):
    directory = begun(tmp_path, "t")
    said = line(says("héllo"))
    cut = said.index(b"\\u00e9") + 2 if b"\\u00e9" in said else len(said) // 2
    lines = follow(
        directory,
        load_run(directory).tests,
        pause=steps(
            lambda: add(directory, NAME, line(init()) + said[:cut]),
            lambda: add(directory, NAME, said[cut:]),
            lambda: (add(directory, NAME, line(result("fine"))), end(directory, NAME)),
        ),
    )

    assert list(lines) == [
        "csv::t  trial 1",
        "  [2.1.332 with claude-sonnet-5-5]",
        "  model: héllo",
        "  result (success): fine",
        "csv::t  trial 1: unmeasured",  # its verdict is not in results.jsonl
    ]


def test_trials_at_the_same_time_are_told_apart(tmp_path):
    directory = begun(tmp_path, "t", "u")
    first, second = NAME, trial_id("csv", "u", "main", 1)
    add(directory, first, line(says("one")))
    add(directory, second, line(says("two")))

    def later():
        add(directory, first, line(says("three")))
        end(directory, first)
        end(directory, second, "u")

    shown = list(follow(directory, load_run(directory).tests, pause=steps(later)))
    assert shown[:6] == [
        "csv::t  trial 1",
        "  model: one",
        "csv::u  trial 1",
        "  model: two",
        "csv::t  trial 1",
        "  model: three",
    ]


def test_only_what_is_selected_is_waited_for(tmp_path):
    directory = begun(tmp_path, "t", "u")
    end(directory, NAME)
    tests = load_run(directory).tests[:1]

    assert list(follow(directory, tests, pause=steps())) == ["csv::t  trial 1: unmeasured"]


def test_a_run_that_was_interrupted_ends_it(tmp_path):
    directory = begun(tmp_path, "t", "u")
    add(directory, NAME, line(says("one")))
    stop = steps(lambda: directory.update({"interrupted": True}))

    assert list(follow(directory, load_run(directory).tests, pause=stop)) == [
        "csv::t  trial 1",
        "  model: one",
        "csv::t  trial 1: did not run to its end",
        "csv::u  trial 1: did not run to its end",
    ]


@pytest.mark.skipif(sys.platform != "linux", reason="whether a process lives is asked in /proc")
def test_a_run_whose_process_has_died_ends_it(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", "from skillwalker.sandbox.owner import Owner; print(Owner.current())"],
        capture_output=True,
        text=True,
        check=True,
        cwd=os.getcwd(),
    )
    directory = begun(tmp_path, "t", owner=done.stdout.strip())

    assert list(follow(directory, load_run(directory).tests, pause=steps())) == [
        "csv::t  trial 1: did not run to its end"
    ]


def test_a_trial_that_begins_anew_is_read_from_its_start(tmp_path):
    directory = begun(tmp_path, "t")
    add(directory, NAME, line(says("a long first attempt")))

    def again():
        (directory.trial(NAME) / "events.jsonl").write_bytes(line(says("again")))

    lines = follow(directory, load_run(directory).tests, pause=steps(again, lambda: end(directory, NAME)))
    assert "  model: again" in list(lines)


def test_a_finished_run_is_followed_to_its_end_at_once(run_cli, tmp_path):
    plugin(tmp_path)
    an_eval(tmp_path, [{"name": "t", "expect": [{"result-contains": "done"}]}])
    trial = a_trial("t", 1, verdict(FAILED, "late"), reason=Reason.TIMEOUT)
    events = (init(), calls("a", "Bash", command="ls"), answers("a", "x\n::error::y"), result("fine"))
    directory = keep(tmp_path, a_test("t", trial), left={trial.id: Left(events)}, source="rehearsal")
    (directory.path / "trials" / trial.id).rename(directory.path / "trials" / NAME)
    path = directory.path / "trials" / NAME / "trial.json"
    path.write_text(path.read_text().replace(trial.id, NAME))
    directory.results.write_text(directory.results.read_text().replace(trial.id, NAME))

    called = run_cli("--root", tmp_path, "show", "last", "--follow")

    lines = called.out.splitlines()
    assert called.code == 0
    assert lines[0].startswith("REHEARSED")
    assert lines[-1] == lines[0]
    assert lines[1:-1] == [
        "csv::t  trial 1",
        "  [2.1.332 with claude-sonnet-5-5]",
        '  call Bash: {"command": "ls"}',
        "  result:",
        "      | x",
        "      | ::error::y",
        "  result (success): fine",
        "csv::t  trial 1: failed (timeout: late)",
    ]


def test_a_run_says_whose_it_is_and_one_that_is_gone_on_with_whose_it_is_now(run_cli, tmp_path, claude):
    root = a_root(tmp_path / "root", ["exits 1 in silence"])
    run(run_cli, root, claude)
    directory = Store(root).find("last")
    assert Owner.parse(directory.manifest()["owner"]) == Owner.current()

    directory.update({"owner": "elsewhere 1 1", "interrupted": True})
    run_cli("--root", root, "run", "--resume", "last", "--yes")
    assert Owner.parse(directory.manifest()["owner"]) == Owner.current()
    assert directory.manifest()["interrupted"] is False


def test_follow_prints_no_json(run_cli, tmp_path):
    called = run_cli("--root", tmp_path, "show", "--follow", "--format", "json")

    assert (called.code, json.loads(called.out)["problems"][0]["message"][:8]) == (4, "--follow")


def test_a_control_is_followed_to_its_end(tmp_path):
    control = TestResult(
        "csv",
        "control",
        "skill-call",
        "opus",
        1,
        1,
        (),
        target=Target("skill", "acme:tidy", True, 0),
        arm="control",
    )
    directory = begun(tmp_path, "t", tests=[planned_object(control)])
    name = trial_id("csv", "control", "control", 1)
    add(directory, name, line(says("one")))
    trial = a_trial("control", 1, verdict(PASSED), arm="control")
    directory.finish_trial(name, {**trial_file("csv", "control", trial), "id": name})

    shown = list(follow(directory, load_run(directory).all_tests, pause=steps()))
    assert shown == ["csv::control  trial 1", "  model: one", "csv::control  trial 1: unmeasured"]


def test_a_trial_that_was_not_needed_is_told_so(tmp_path):
    more = {"options": {"allow_unmeasured": 0, "stop_early": True}, "interrupted": False}
    directory = begun(tmp_path, "t", planned=2, **more)
    directory.add_verdicts([{"trial": NAME, "position": 0, **verdict_object(verdict(PASSED))}])
    end(directory, NAME)

    shown = list(follow(directory, load_run(directory).tests, pause=steps()))
    assert shown == ["csv::t  trial 1: passed", "csv::t  trial 2: was not needed"]
