"""command, with a prepared runner; real containers are in `test_in_containers`."""

from __future__ import annotations

import pytest

from skillwalker.expectations import CommandResult, Outcome, Reason, SandboxError, Verdict
from skillwalker.testing import FakeCommands, TranscriptBuilder
from skillwalker_expectations_contrib.answer import AnswerError, read_answer
from skillwalker_expectations_contrib.command import Command

RUN = {"run": "python3 /checks/columns.py"}
CHECKS = {"checks/columns.py": "print()"}
PASSED, FAILED, UNMEASURED = Outcome.PASSED, Outcome.FAILED, Outcome.UNMEASURED


def said(judge, result: CommandResult, **options: object) -> Verdict:
    return judge({"command": {**RUN, **options}}, eval_files=CHECKS, commands=FakeCommands([result]))


@pytest.mark.parametrize(
    ("result", "outcome", "message"),
    [
        (CommandResult(0), PASSED, "`python3 /checks/columns.py` exited with 0"),
        (
            CommandResult(1, "3 tests, 1 failed\n"),
            FAILED,
            "`python3 /checks/columns.py` exited with 1; the end of its stdout: 3 tests, 1 failed",
        ),
        (CommandResult(1), FAILED, "`python3 /checks/columns.py` exited with 1; it printed nothing"),
        (CommandResult(1, "out", "err\x1b[2J"), FAILED, "exited with 1; the end of its stderr: err\\x1b[2J"),
        (CommandResult(2), UNMEASURED, 'neither passed nor failed; if it means failed, add "failOn": [1, 2]'),
        (CommandResult(126), UNMEASURED, "could not be executed (exit code 126)"),
        (CommandResult(127, "", "no such program"), UNMEASURED, "could not be executed (exit code 127)"),
        (CommandResult(139), UNMEASURED, "was killed by signal 11"),
        (CommandResult(None), UNMEASURED, "ended in a way that cannot be told"),
        (CommandResult(None, timed_out=True), UNMEASURED, "did not end within 60 s (timeoutSeconds)"),
        (CommandResult(1, out_of_memory=True), UNMEASURED, "ran out of memory"),
        (CommandResult(0, '{"passed": true, "message": "all 3 known"}\n'), PASSED, "all 3 known"),
        (CommandResult(0, 'log\n{"passed": false, "message": "2 unknown"}\n'), FAILED, "2 unknown"),
        (CommandResult(1, '{"message": "2 unknown"}'), FAILED, "2 unknown"),
        (CommandResult(1, '{"passed": true}'), UNMEASURED, "answered that it passed and exited with 1"),
        (CommandResult(0, '{"passed": "yes"}'), UNMEASURED, 'passed must be true or false, not "yes"'),
        (CommandResult(0, '{"stats": {"tests": 3}}'), PASSED, "exited with 0"),
        (CommandResult(2, '{"passed": false}'), UNMEASURED, "neither passed nor failed"),
    ],
)
def test_exit_code_and_answer_decide(judge, result, outcome, message) -> None:
    found = said(judge, result)
    assert found.outcome is outcome
    assert message in found.message
    assert found.reason is (Reason.EXPECTATION_ERROR if outcome is UNMEASURED else None)


@pytest.mark.parametrize(
    ("details", "exit_code", "outcome"),
    [
        ('{"name": "a", "passed": true}, {"name": "b", "passed": true}', 0, PASSED),
        ('{"name": "a", "passed": true}, {"name": "b", "passed": false, "message": "why"}', 0, FAILED),
        ('{"name": "a", "passed": true}, {"name": "b", "passed": null}', 0, UNMEASURED),
        ('{"name": "a"}, {"name": "b", "passed": false}', 0, FAILED),
        ('{"name": "a", "passed": true}', 1, UNMEASURED),
        ('{"name": "a", "passed": false}', 1, FAILED),
    ],
)
def test_details_decide_where_the_answer_does_not(judge, details, exit_code, outcome) -> None:
    found = said(judge, CommandResult(exit_code, f'{{"details": [{details}]}}'))
    assert found.outcome is outcome


def test_details_are_kept(judge) -> None:
    answer = '{"passed": true, "details": [{"name": "a", "passed": false, "message": "but it is enough"}]}'
    found = said(judge, CommandResult(0, answer))
    assert found.outcome is PASSED
    assert [(each.name, each.outcome, each.message) for each in found.details] == [
        ("a", FAILED, "but it is enough")
    ]


@pytest.mark.parametrize(
    ("result", "outcome", "message"),
    [
        (
            CommandResult(1, "", "Traceback (most recent call last):\n"),
            UNMEASURED,
            "its last line is no JSON object",
        ),
        (CommandResult(0, ""), UNMEASURED, "its last line is no JSON object"),
        (
            CommandResult(0, '{"stats": 3}'),
            UNMEASURED,
            '"stats" is unknown; there are: passed, message, details',
        ),
        (CommandResult(0, '{"message": "hello"}'), UNMEASURED, "it does not say whether it passed"),
        (CommandResult(0, '{"passed": true}'), PASSED, "exited with 0"),
        (CommandResult(0, '{"passed": false}'), FAILED, "exited with 0"),
        (CommandResult(1, '{"passed": false, "message": "no"}'), FAILED, "no"),
    ],
)
def test_with_a_json_answer_a_script_that_breaks_is_unmeasured(judge, result, outcome, message) -> None:
    found = said(judge, result, answer="json")
    assert found.outcome is outcome
    assert message in found.message


def test_other_exit_codes_can_mean_failed(judge) -> None:
    assert said(judge, CommandResult(101), failOn=[1, 101]).outcome is FAILED
    assert said(judge, CommandResult(1), failOn=[2]).outcome is UNMEASURED


def test_the_runner_gets_what_the_command_needs(judge) -> None:
    commands = FakeCommands([CommandResult(0), CommandResult(0), CommandResult(0)])
    final = TranscriptBuilder().init().result("The answer.")
    files = {"a.py": "1"}
    judge({"command": "npm test"}, final, files=files, commands=commands)
    judge({"command": ["npm", "test"]}, final, files=files, commands=commands)
    judge({"command": {**RUN, "timeoutSeconds": 5}}, final, files=files, eval_files=CHECKS, commands=commands)
    first, second, third = commands.requests
    assert first.arguments == ("/bin/bash", "-c", "npm test")
    assert second.arguments == ("npm", "test")
    assert first.workspace.read("a.py") == b"1"
    assert (first.files, first.final_text, first.timeout_seconds) == (None, "The answer.", 60)
    assert third.files is not None
    assert third.files.name == "checks"
    assert third.timeout_seconds == 5


def test_without_containers_it_is_unmeasured(judge) -> None:
    found = judge({"command": "true"})
    assert (found.outcome, found.reason) == (UNMEASURED, None)
    assert "it needs a run in containers: add --isolated" in found.message


def test_a_runner_that_breaks_is_the_sandbox_s_fault(judge) -> None:
    commands = FakeCommands([SandboxError("running a command: no space left")])
    found = judge({"command": "true"}, commands=commands)
    assert (found.outcome, found.reason) == (UNMEASURED, Reason.SANDBOX_ERROR)
    assert found.message == "running a command: no space left"


def test_after_an_unhealthy_trial_nothing_runs(judge) -> None:
    commands = FakeCommands([])
    found = judge({"command": "true"}, commands=commands, reason=Reason.TIMEOUT)
    assert found.outcome is UNMEASURED
    assert commands.requests == []


def test_it_may_take_longer_than_other_checks() -> None:
    assert Command("true", timeoutSeconds=600).check_seconds > 600


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("", "command: must name a program"),
        ([], "command: must name a program"),
        (5, "command: expected "),
        ({"run": "true", "timeoutSeconds": 0}, "command.timeoutSeconds: must be more than 0, not 0.0"),
        ({"run": "true", "failOn": [0]}, "command.failOn: must hold exit codes from 1 to 125, not 0"),
        (
            "python3 /checks/colums.py",
            "command: run: checks/colums.py does not exist (did you mean columns.py?)",
        ),
        (["sh", "/checks/../tests.json"], "command: run: must not lead upwards"),
        ("cat /checks/data/../../x", "command: run: must not lead upwards"),
    ],
)
def test_wrong_options_are_told_before_the_run(problems, value, problem) -> None:
    assert [one[: len(problem)] for one in problems({"command": value}, CHECKS)] == [problem]


@pytest.mark.parametrize(
    "line",
    [
        "python3 /checks/columns.py",
        "cat /checks/*.py",
        "ls /checks /checks/data",
        "cat src/checks/none.py",
        "cat /checks/$A",
    ],
)
def test_what_may_be_there_is_no_problem(problems, line) -> None:
    assert problems({"command": line}, {**CHECKS, "checks/data/a.txt": ""}) == []


def test_links_that_lead_out_of_the_folder_are_told(problems, tmp_path) -> None:
    files = {**CHECKS, "secret.txt": ""}
    assert problems({"command": "true"}, files) == []
    folder = tmp_path / "evals" / "example" / "checks"
    (folder / "inner.py").symlink_to("columns.py")
    assert problems({"command": "true"}) == []
    (folder / "outer.txt").symlink_to("../secret.txt")
    assert problems({"command": "true"}) == [
        "command: checks/outer.txt is a link that leads out of its folder, "
        "and only what lies in checks/ comes along"
    ]


def test_an_answer_may_be_all_of_the_output() -> None:
    answer = read_answer('{\n "passed": true,\n "message": "fine"\n}\n', required=True)
    assert answer is not None
    assert answer.message == "fine"


@pytest.mark.parametrize(
    "stdout",
    [
        '{"passed": true, "details": {}}',
        '{"details": [{"passed": true}]}',
        '{"details": [{"name": "a", "passed": 1}]}',
        '{"details": [{"name": "a", "score": 1}]}',
        '{"passed": true, "message": 3}',
    ],
)
def test_an_answer_that_is_meant_and_wrong_is_none(stdout) -> None:
    with pytest.raises(AnswerError):
        read_answer(stdout, required=False)
