from __future__ import annotations

import re
from pathlib import Path

import pytest

from skillwalker.configuration import Configuration
from skillwalker.request import RunRequest
from skillwalker.sandbox.base import Limits
from skillwalker.settings import OPTIONS, RunTable
from skillwalker.sources import Origin, Settled, settle, variable

TOP = Path(__file__).parents[1]
ROOT, CWD = Path("/root"), Path("/root/evals/csv")


def configured(**options: object) -> Configuration:
    places = {name: f"skillwalker.toml:{line}" for line, name in enumerate(options, 1)}
    return Configuration(options=options, places=places)


def told(settled: Settled) -> list[str]:
    return [str(problem) for problem in settled.problems]


def test_environment_beats_file_and_command_line_beats_both() -> None:
    settled = settle(
        {"jobs": 1, "trials": None},
        {"SKILLWALKER_JOBS": "2", "SKILLWALKER_TRIALS": "3"},
        configured(jobs=4, trials=5, timeout=60.0),
    )
    assert settled.values == {"jobs": 1, "trials": 3, "timeout": 60.0}
    assert settled.origins == {
        "jobs": Origin("command line"),
        "trials": Origin("environment", "SKILLWALKER_TRIALS"),
        "timeout": Origin("file", "skillwalker.toml:3"),
    }
    request = settled.request(ROOT, CWD)
    assert (request.jobs, request.trials, request.timeout_seconds) == (1, 3, 60.0)


def test_where_nobody_says_anything_a_request_is_as_usual() -> None:
    settled = settle({"jobs": None}, {"SKILLWALKER_JOBS": "", "JOBS": "3"}, Configuration())
    assert settled.request(ROOT, CWD) == RunRequest(root=ROOT, cwd=CWD)


def test_no_is_said_as_loudly_as_yes() -> None:
    settled = settle({"isolated": False}, {"SKILLWALKER_KEEP": "false"}, configured(isolated=True, keep=True))
    request = settled.request(ROOT, CWD)
    assert (request.isolated, request.keep) == (False, False)


@pytest.mark.parametrize(
    ("text", "value"),
    [("true", True), ("1", True), ("Yes", True), ("FALSE", False), ("0", False), ("no", False)],
)
def test_truth_in_a_variable(text: str, value: bool) -> None:
    assert settle({}, {"SKILLWALKER_BACKGROUND": text}, Configuration()).values == {"background": value}


def test_every_problem_of_variables_and_arguments_is_told_by_its_name() -> None:
    settled = settle(
        {"jobs": 0, "max_cost": 0.0, "model": "gpt-9", "keyword": " "},
        {
            "SKILLWALKER_ISOLATED": "maybe",
            "SKILLWALKER_TRIALS": "4.5",
            "SKILLWALKER_TIMEOUT": "ten",
            "SKILLWALKER_MAX_COST": "nan",
            "SKILLWALKER_FORMAT": "jsn",
            "SKILLWALKER_ALLOW_UNMEASURED": "-1",
            "SKILLWALKER_JUDGE_MODEL": "gpt\x1b[31m",
            "SKILLWALKER_IMAGE": " ",
        },
        Configuration(),
    )
    assert sorted(told(settled)) == sorted(
        [
            "--jobs must be at least 1, not 0",
            "--max-cost must be more than 0, not 0.0",
            "--model must be opus, sonnet, haiku or a full claude-... name, not gpt-9",
            "-k is blank",
            "SKILLWALKER_ISOLATED must be true or false, not maybe",
            "SKILLWALKER_TRIALS must be a whole number, not 4.5",
            "SKILLWALKER_TIMEOUT must be a number, not ten",
            "SKILLWALKER_MAX_COST expected a number, got NaN",
            'SKILLWALKER_FORMAT expected one of "console", "json", got "jsn" (did you mean json?)',
            "SKILLWALKER_ALLOW_UNMEASURED must be at least 0, not -1",
            "SKILLWALKER_JUDGE_MODEL must be opus, sonnet, haiku or a full claude-... name, not gpt\\x1b[31m",
            "SKILLWALKER_IMAGE is blank",
        ]
    )
    assert settled.values == {}


def test_two_who_answer_are_one_problem() -> None:
    settled = settle({"record": "a", "replay": "b", "rehearse": True}, {}, Configuration())
    assert told(settled) == [
        "--rehearse and --record and --replay exclude each other: give one of them",
    ]
    settled = settle({}, {"SKILLWALKER_REPLAY": "b", "SKILLWALKER_REHEARSE": "1"}, Configuration())
    assert told(settled) == [
        "SKILLWALKER_REHEARSE and SKILLWALKER_REPLAY exclude each other: give one of them"
    ]


def test_who_answers_is_one_choice_that_is_beaten_as_a_whole() -> None:
    settled = settle({"replay": "b"}, {"SKILLWALKER_RECORD": "a"}, configured(rehearse=True))
    assert settled.problems == ()
    request = settled.request(ROOT, CWD)
    assert (request.rehearse, request.record, request.replay) == (False, None, CWD / "b")
    assert settled.origins.keys() == {"replay"}


def test_paths_of_the_file_are_relative_to_the_root_and_others_to_where_one_is() -> None:
    settled = settle({}, {}, configured(record="cassettes", claude="tools/claude"))
    request = settled.request(ROOT, CWD)
    assert (request.record, request.claude) == (ROOT / "cassettes", "/root/tools/claude")
    settled = settle({"replay": "cassettes"}, {"SKILLWALKER_CLAUDE": "claude-next"}, Configuration())
    request = settled.request(ROOT, CWD)
    assert (request.replay, request.claude) == (CWD / "cassettes", "claude-next")


def test_what_is_configured_for_the_other_sandbox_is_not_used_but_what_is_typed_is() -> None:
    both = configured(image="mine:1", claude="claude-next")
    isolated = settle({"isolated": True}, {}, both).request(ROOT, CWD)
    assert (isolated.image, isolated.claude) == ("mine:1", None)
    here = settle({}, {}, both).request(ROOT, CWD)
    assert (here.image, here.claude) == (None, "claude-next")
    assert settle({"image": "mine:2"}, {}, both).request(ROOT, CWD).image == "mine:2"


def test_an_image_that_is_named_takes_the_place_of_a_dockerfile() -> None:
    configuration = Configuration(dockerfile=ROOT / "Dockerfile")
    assert settle({"isolated": True}, {}, configuration).request(ROOT, CWD).dockerfile == ROOT / "Dockerfile"
    for given, environment in (({"image": "x"}, {}), ({}, {"SKILLWALKER_IMAGE": "x"})):
        request = settle({"isolated": True, **given}, environment, configuration).request(ROOT, CWD)
        assert (request.image, request.dockerfile) == ("x", None)


def test_settings_go_into_the_request() -> None:
    configuration = Configuration(
        limits=Limits(cpus=1.5), env=("A",), allow=("b:1",), subscription=True, prices={"c": {"input": 1.0}}
    )
    request = settle({}, {}, configuration).request(ROOT, CWD, ("csv",))
    assert request.limits.cpus == 1.5
    assert (request.sandbox_env, request.network_allow, request.select) == (("A",), ("b:1",), ("csv",))
    assert (request.subscription, request.prices) == (True, {"c": {"input": 1.0}})


def test_a_stored_run_is_gone_on_with_as_it_was() -> None:
    configuration = Configuration(
        options={"jobs": 4, "trials": 5, "yes": True, "format": "json"},
        places={"jobs": "f:1", "trials": "f:2", "yes": "f:3", "format": "f:4", "sandbox.cpus": "f:5"},
        limits=Limits(cpus=1.0),
        env=("A",),
    )
    settled = settle(
        {"timeout": 30.0}, {"SKILLWALKER_MODEL": "opus", "SKILLWALKER_YES": "0"}, configuration, resuming=True
    )
    assert settled.values == {"yes": False, "format": "json", "timeout": 30.0}
    assert settled.said() == {"timeout_seconds"}
    request = settled.request(ROOT, CWD)
    assert (request.limits, request.sandbox_env, request.model) == (Limits(), (), None)


def test_a_mistyped_variable_is_noted_and_those_for_other_things_are_not() -> None:
    settled = settle({}, {"SKILLWALKER_JOB": "3", "SKILLWALKER_COLOUR": "1"}, Configuration())
    assert settled.notes == ("SKILLWALKER_JOB is no variable of ours (did you mean JOBS?)",)
    sources = [
        *TOP.glob("skillwalker/**/*.py"),
        *TOP.glob("skillwalker/data/*.sh"),
    ]
    known = {name for path in sources for name in re.findall(r"SKILLWALKER_[A-Z_]+", path.read_text("utf-8"))}
    known -= {"SKILLWALKER_JOB", *map(variable, OPTIONS)}
    assert "SKILLWALKER_CA_FILE" in known
    assert settle({}, dict.fromkeys(known, "x"), Configuration()).notes == ()


def test_a_variable_can_hold_several_reports() -> None:
    settled = settle({}, {"SKILLWALKER_REPORT": "junit=a.xml, html=b.html"}, Configuration())
    assert settled.values["report"] == ["junit=a.xml", "html=b.html"]
    assert settled.problems == ()


def test_variables_are_named_as_the_options() -> None:
    assert variable("judge_model") == "SKILLWALKER_JUDGE_MODEL"
    assert {attribute.name for attribute in RunTable.__attrs_attrs__} == set(OPTIONS) - {"image"}
