"""`skillwalker try`: one prompt, what came of it, and a test made of it."""

from __future__ import annotations

import io
import json

import pytest
from roots import an_eval, plugin, skill, write
from transcripts import answers, as_line, calls, init, result, says

from skillwalker.cli.attempt import attempt_lines, attempt_object, prepare_attempt, read_attempt
from skillwalker.cli.saving import appended, expectations, find_target, save_test, saved_lines
from skillwalker.cli.try_ import _without_file
from skillwalker.errors import ConfigurationError, SkillwalkerError
from skillwalker.outcomes import Outcome, Reason
from skillwalker.records import load_run, planned_object, trial_file
from skillwalker.reports.details import event_lines
from skillwalker.request import RunRequest
from skillwalker.results import TrialResult
from skillwalker.store import Store
from skillwalker.transcript import AgentUse, SkillUse, Transcript, Usage

REPEATS = "repeats what the gateway says"
SAYS = {"result-contains": "done"}


@pytest.fixture
def project(tmp_path, monkeypatch):
    directory = tmp_path / "project"
    plugin(directory)
    monkeypatch.chdir(directory)
    return directory


def on_this_machine(run_cli, claude, *given):
    return run_cli("try", *given, "--rehearse", "--no-isolated", "--yes", "--claude", claude)


def attempt(tmp_path, directory, *, prompt="Tidy it", listed=None, events=(), source="api", **trial):
    """What a trial that is written here shows."""
    request = RunRequest(root=tmp_path / "place", cwd=tmp_path)
    prepared = prepare_attempt([directory / "acme"], prompt, request, None)
    [planned] = prepared.tests
    [identity] = planned.trial_ids()
    given = {"outcome": Outcome.UNMEASURED, "healthy": True, "turns": 2, "duration_ms": 3100, **trial}
    found = TrialResult(id=identity, index=1, **given)
    manifest = {
        "schema": 1,
        "run_id": "20261130T101500Z-3f9a1c",
        "sandbox": "docker",
        "model_source": source,
        "claude_code_version": "2.1.332",
        "image": None,
        "options": {"allow_unmeasured": 0},
        "interrupted": False,
        "tests": [planned_object(planned.result(()))],
    }
    run = Store(request.root).create(manifest["run_id"], manifest)
    folder = run.trial(identity)
    (folder / "events.jsonl").write_bytes(b"".join(map(as_line, events)))
    lines = [{"thread": "main"}, {"thread": "main", "listed": listed}] if listed else []
    (folder / "gateway.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    run.finish_trial(identity, trial_file("try", planned.checked.test.name, found))
    return read_attempt(prepared, load_run(run))


def test_it_tells_what_was_listed_called_and_answered(tmp_path, project):
    found = attempt(
        tmp_path,
        project,
        listed={"skills": ["acme:tidy", "acme:hello", "init"], "agents": ["acme:auditor", "Explore"]},
        events=(init(), calls("a", "Bash", command="ls"), answers("a"), result("All\n::error::tidy ##[x]")),
        skills=(SkillUse("acme:tidy", 2, True),),
        agents=(AgentUse("acme:auditor", 1, False, None),),
        usage=Usage(1200, 40, None, 0),
        cost_usd=0.01234,
    )

    assert list(attempt_lines(found)) == [
        "ran       Claude Code 2.1.332, sonnet, docker, 3.1 s, 2 turns",
        "listed    skills acme:hello, acme:tidy",
        "listed    without the skills acme:forked",
        "listed    agents acme:auditor",
        "listed    and 2 skills and agents of Claude Code's own",
        "called    skill acme:tidy x 2, agent acme:auditor (did not start), Bash",
        "tokens    1,200 in, 40 out, 0 written to it",
        "cost      $0.0123",
        "answer",
        "  | All",
        r"  | ::error::tidy #\x23[x]",
    ]
    data = attempt_object(found)
    assert (data["measured"], data["tools"], data["answer"]) == (
        True,
        {"Bash": 1},
        "All\n::error::tidy ##[x]",
    )
    assert data["listed"]["skills"] == ["acme:tidy", "acme:hello", "init"]
    assert data["usage"]["cache_read_input_tokens"] is None


def test_a_skill_that_only_users_may_call_is_no_surprise(tmp_path, project):
    skill(project / "acme", "mine", "For users", more="disable-model-invocation: true\n")
    found = attempt(tmp_path, project, listed={"skills": ["acme:tidy", "acme:hello"], "agents": []})

    shown = list(attempt_lines(found))
    assert "listed    without the skills acme:mine, which only users may call" in shown
    assert "listed    without the skills acme:forked" in shown
    assert "acme:mine" not in json.dumps(expectations(found))


def test_a_plugin_that_cannot_be_loaded_is_named_as_it_was_given(run_cli, tmp_path, monkeypatch):
    write(tmp_path / "broken/.claude-plugin/plugin.json", '{"name": "broken", "skills": 1}')
    monkeypatch.chdir(tmp_path)

    called = run_cli("try", "broken", "Go", "--rehearse")

    assert (called.code, called.err.startswith("broken: Claude Code does not load")) == (4, True), called.err


def test_a_fault_in_a_plugin_that_is_the_root_has_its_directory(tmp_path):
    directory = plugin(tmp_path / "elsewhere")
    write(directory / ".claude-plugin/plugin.json", '{"name": "acme",\n"hooks": "./gone.json"}')
    request = RunRequest(root=tmp_path, cwd=tmp_path)
    [notice] = prepare_attempt([directory], "Go", request, None).notices
    assert notice.startswith(f"{directory}: .claude-plugin/plugin.json:2: hooks: ./gone.json does not exist")


def test_what_was_not_observed_is_not_told_as_an_absence(tmp_path, project):
    found = attempt(
        tmp_path,
        project,
        events=(init(), says("I am")),
        healthy=False,
        reason=Reason.TIMEOUT,
        message="after 600 s",
        turns=None,
        source="rehearsal",
    )

    shown = list(attempt_lines(found))
    assert shown[1:] == [
        "broken    timeout: after 600 s",
        f"          {Reason.TIMEOUT.advice}",
        "listed    not observed",
        "called    nothing that was seen; it may have been cut off before",
        "tokens    not observed",
        "cost      none: no model was asked",
        "answer    none",
    ]
    assert attempt_object(found)["listed"] is None


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            (),
            "try needs a plugin's directory and a prompt: skillwalker try PLUGIN_DIR 'PROMPT'; plugins are ",
        ),
        (
            ("acme",),
            "the prompt is missing: skillwalker try acme 'PROMPT' (or - to read it from standard input)",
        ),
        (
            ("tidy",),
            "the prompt is missing, and tidy is the name of a skill of acme: skillwalker try acme 'PROMPT'",
        ),
        (
            ("Tidy it",),
            "the plugin's directory is missing before the prompt: skillwalker try PLUGIN_DIR ",
        ),
        (
            ("Tidy it", "acme"),
            "the last argument is the prompt, and acme is a directory: type skillwalker try PLUGIN_",
        ),
        (
            ("tidy", "Tidy it"),
            "tidy does not exist; it is the name of a skill of acme, and try takes the plugin's directory: "
            "skillwalker try acme 'PROMPT'",
        ),
        (
            ("auditor", "x"),
            "auditor does not exist; it is the name of an agent of acme, and try takes the plugin's ",
        ),
        (
            ("named", "x"),
            "named does not exist; it is the name of a plugin, and try takes the plugin's directory: ",
        ),
        (
            ("acme:tydi", "x"),
            "acme:tydi does not exist; did you mean acme:tidy, a skill of acme? Then type ",
        ),
        (("elsewhere", "x"), "there is no plugin directory elsewhere in /"),
        (("/elsewhere", "x"), "there is no plugin directory /elsewhere; plugins are in acme"),
    ],
)
def test_what_is_no_directory_and_a_prompt_is_told_what_to_type(run_cli, project, words, said):
    if "named" in words or "elsewhere" in words:
        write(project / "other/.claude-plugin/plugin.json", '{"name": "named"}')
        skill(project / "other", "x", "Does x")
    called = run_cli("try", *words)
    assert called.code == 4
    assert called.err.startswith(said)


def test_a_rehearsed_attempt_on_this_machine(run_cli, project, claude):
    called = on_this_machine(run_cli, claude, "acme", REPEATS)

    assert called.code == 0, called.err
    lines = called.out.splitlines()
    assert lines[0] == lines[-1]
    assert lines[0].startswith("REHEARSED")
    assert "called    nothing" in lines
    assert not (project / ".skillwalker").exists()
    assert "[1/1]" not in called.err


def test_a_broken_one_is_exit_code_6_and_is_not_saved(run_cli, project, claude):
    called = on_this_machine(
        run_cli, claude, "acme", "exits 1 in silence", "--save", "mine", "--format", "json"
    )

    data = json.loads(called.out)
    assert (called.code, data["measured"], data["saved"]) == (6, False, None)
    assert data["reason"]
    assert not (project / "evals").exists()


def test_the_prompt_may_come_from_standard_input_and_a_plugin_from_anywhere(
    run_cli, tmp_path, claude, monkeypatch
):
    plugin(tmp_path / "elsewhere")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.stdin", io.StringIO(REPEATS))

    called = on_this_machine(run_cli, claude, tmp_path / "elsewhere/acme", "-", "--format", "json")

    assert (called.code, json.loads(called.out)["answer"][:9]) == (0, "Rehearsed")


def test_verbose_shows_the_transcript(run_cli, project, claude):
    called = run_cli("-v", "try", "acme", REPEATS, "--rehearse", "--no-isolated", "--yes", "--claude", claude)

    assert "  result (success): Rehearsed" in called.out


def test_verbose_names_no_file_that_is_not_kept(tmp_path, project):
    found = attempt(tmp_path, project, events=(init(), says("x" * 20_000)))
    lines = [line for event in Transcript(found.transcript).events() for line in event_lines(event)]

    assert lines[-1].endswith(" characters in events.jsonl")
    assert [_without_file(line) for line in lines] == [
        *lines[:-1],
        lines[-1].removesuffix(" in events.jsonl"),
    ]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ((), "try needs a plugin's directory and a prompt"),
        (("acme",), "the prompt is missing"),
        (("acme", "./acme"), "the last argument is the prompt, and ./acme is a directory"),
        (("acme", "nowhere", "Go"), "there is no plugin directory nowhere in /"),
        (("acme/.claude-plugin/plugin.json", "Go"), "is no directory"),
        (("acme", " "), "the prompt is empty"),
        (("acme", "Go", "--model", "gpt"), "--model must be opus"),
        (("acme", "Go", "--save", "../x"), "--save ../x is no name of an eval"),
        (("acme", "Go", "--save", "a/b"), "--save a/b is no name of an eval"),
        (("acme", "Go", "--replay", "nowhere"), "nowhere"),
    ],
)
def test_what_cannot_start_is_told(run_cli, project, given, said):
    called = run_cli("try", *given, *(() if "--replay" in given else ("--rehearse",)))

    assert (called.code, said in called.err) == (4, True), called.err


def test_nothing_is_started_without_a_model(run_cli, project):
    called = run_cli("try", "acme", "Go")

    assert called.code == 4
    assert "ANTHROPIC_API_KEY" in called.err


def test_settings_of_the_project_hold_but_for_what_selects_tests(run_cli, project, claude):
    an_eval(project, [{"name": "t", "expect": [SAYS]}])
    write(
        project / "skillwalker.toml",
        f'[run]\nkeyword = "nothing"\ntrials = 7\nrehearse = true\nyes = true\nclaude = "{claude}"\n',
    )

    called = run_cli("try", "acme", REPEATS, "--no-isolated", "--format", "json")

    assert (called.code, json.loads(called.out)["model_source"]) == (0, "rehearsal"), called.err


def test_nothing_is_kept_whatever_the_project_keeps_of_its_runs(run_cli, project, monkeypatch):
    asked = []

    def refuse(directories, prompt, request, project):
        asked.append(request.keep)
        raise ConfigurationError(["seen"])

    monkeypatch.setattr("skillwalker.cli.attempt.prepare_attempt", refuse)
    monkeypatch.setenv("SKILLWALKER_KEEP", "true")

    assert run_cli("try", "acme", REPEATS, "--rehearse").err == "seen\n"
    assert asked == [False]


def test_the_answer_is_shown_where_the_test_cannot_be_written(run_cli, project, claude):
    write(project / "evals", "no directory")
    why = f"{project}/evals/mine: --save: cannot be written: "

    called = on_this_machine(run_cli, claude, "acme", REPEATS, "--save", "mine")
    as_json = on_this_machine(run_cli, claude, "acme", REPEATS, "--save", "mine", "--format", "json")

    assert (called.code, as_json.code) == (4, 4)
    assert "answer\n  | " in called.out
    assert "saved " not in called.out
    assert called.err.splitlines()[-1].startswith(why)
    told = json.loads(as_json.out)
    assert (told["saved"], bool(told["answer"])) == (None, True)
    [problem] = told["problems"]
    assert problem["message"].startswith("--save: cannot be written: ")


def test_it_is_saved_as_a_test_that_is_valid(run_cli, project, claude):
    called = on_this_machine(run_cli, claude, "acme", REPEATS, "--save", "mine")
    again = on_this_machine(run_cli, claude, "acme", REPEATS, "--save", "evals/mine/")

    assert (called.code, again.code) == (0, 0), again.err
    assert "saved     mine::repeats what the gateway says" in called.out
    assert "saved     mine::repeats what the gateway says (2)" in again.out
    checked = run_cli("validate", "mine")
    assert checked.out == "2 tests in 1 eval are valid\n"
    tests = json.loads((project / "evals/mine/tests.json").read_text())["tests"]
    assert {"skill-call": {"skill": "acme:tidy", "expected": False}} in tests[0]["expect"]
    assert "NO MODEL WAS ASKED" in called.out
    assert [test["skip"].partition(":")[0] for test in tests] == ["EDIT ME", "EDIT ME"]
    assert (project / "evals/mine/prompts/repeats-what-the-gateway-says-2.md").read_text() == REPEATS


def test_what_was_called_is_what_is_expected(tmp_path, project):
    found = attempt(
        tmp_path,
        project,
        skills=(SkillUse("acme:tidy", 1, True),),
        agents=(AgentUse("acme:auditor", 1, True, True), AgentUse("Explore", 1, True, True)),
    )

    assert expectations(found) == (
        [
            {"skill-call": {"skill": "acme:tidy", "expected": True}},
            {"agent-call": {"agent": "acme:auditor", "expected": True}},
        ],
        [],
    )


def test_of_many_that_were_not_called_some_are_left_out_and_named(tmp_path, project):
    for number in range(5):
        skill(project / "acme", f"more{number}", "Does more")
    found = attempt(tmp_path, project, prompt=REPEATS)
    saved = save_test(find_target("mine", [project / "acme"], project), found, REPEATS)

    assert len(saved.expect) == 5
    named = {
        value[kind] for one in saved.expect for key, value in one.items() for kind in [key.split("-")[0]]
    }
    names = ["tidy", "hello", "forked", "auditor", *(f"more{number}" for number in range(5))]
    everything = {f"acme:{name}" for name in names}
    assert set(saved.left_out) == everything - named
    lines = list(saved_lines(saved, "mine"))
    assert lines[1].startswith("          it expects what was seen: ")
    assert lines[-1].startswith(f"          left out, though not called either: {saved.left_out[0]}, ")


@pytest.mark.parametrize(("source", "skipped"), [("rehearsal", True), ("replay", False), ("api", False)])
def test_what_no_model_did_is_not_run_before_it_was_read(tmp_path, project, source, skipped):
    found = attempt(tmp_path, project, prompt=REPEATS, source=source)
    saved = save_test(find_target("mine", [project / "acme"], project), found, REPEATS)

    [test] = json.loads((project / "evals/mine/tests.json").read_text())["tests"]
    assert (saved.skipped, "skip" in test) == (skipped, skipped)


NEW = {"name": "n", "expect": [{"a": "ü"}]}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            '{"tests": [{"a": 1}], "plugins": []}',
            '{"tests": [{"a": 1}, {"name": "n", "expect": [{"a": "ü"}]}], "plugins": []}',
        ),
        (
            '{\n    "tests": [\n        {"a": "]"}\n    ],\n    "x":  1.50\n}',
            '{\n    "tests": [\n        {"a": "]"},\n        {\n            "name": "n",\n'
            '            "expect": [\n                {\n                    "a": "ü"\n                }\n'
            '            ]\n        }\n    ],\n    "x":  1.50\n}',
        ),
        ('{\r\n\t"tests": [\r\n\t\t{}\r\n\t]\r\n}\r\n', None),
        ('\ufeff{\n "tests": [\n  {},\n\n  {"b": "\\u00e9"}\n ]\n}', None),
    ],
)
def test_a_test_is_added_and_all_else_stays_to_the_byte(before, after):
    made = appended(before.encode(), NEW)

    if after is not None:
        assert made.decode() == after
    text = made.decode("utf-8-sig")
    old = json.loads(before.encode().decode("utf-8-sig"))
    assert json.loads(text) == {**old, "tests": [*old["tests"], NEW]}
    start = before.rindex("]")
    assert made.startswith(before[: before.rindex("}", 0, start) + 1].encode())
    assert made.endswith(before[start:].encode())
    assert ("\r\n" in before) == ("\r\n" in text)
    assert text.count("\n") == text.count("\r\n") or "\r\n" not in before


def test_an_eval_with_other_plugins_is_left_alone(run_cli, project):
    plugin(project, "other")
    an_eval(project, [{"name": "t", "expect": [SAYS]}], name="mine")
    before = (project / "evals/mine/tests.json").read_bytes()

    called = run_cli("try", "other", "Go", "--rehearse", "--save", "mine")

    assert (called.code, "does not load other" in called.err) == (4, True)
    assert (project / "evals/mine/tests.json").read_bytes() == before


def test_a_broken_eval_is_told_before_anything_runs(run_cli, project):
    write(project / "evals/mine/tests.json", '{"plugins": ["acme"], "tests": []}')

    called = run_cli("try", "acme", "Go", "--rehearse", "--save", "mine")

    assert (called.code, "mend evals/mine first" in called.err) == (4, True)


def test_a_plugin_outside_of_the_root_cannot_be_saved(run_cli, project, tmp_path):
    plugin(tmp_path / "elsewhere")

    called = run_cli("try", tmp_path / "elsewhere/acme", "Go", "--rehearse", "--save", "mine")

    assert (called.code, "is not below" in called.err) == (4, True)


def test_what_is_not_valid_is_taken_back(tmp_path, project, monkeypatch):
    found = attempt(tmp_path, project, prompt=REPEATS)
    target = find_target("mine", [project / "acme"], project)
    monkeypatch.setattr("skillwalker.cli.saving.expectations", lambda _: ([{"no-such-type": 1}], []))

    with pytest.raises(SkillwalkerError, match="not valid"):
        save_test(target, found, REPEATS)

    assert not (project / "evals/mine").exists()


def test_a_plugin_with_nothing_to_call_has_nothing_to_expect(tmp_path, project):
    write(tmp_path / "bare/acme/.claude-plugin/plugin.json", '{"name": "acme"}')
    write(tmp_path / "bare/acme/hooks/hooks.json", '{"hooks": {}}')
    found = attempt(tmp_path, tmp_path / "bare")

    with pytest.raises(ConfigurationError, match="no skill and no agent"):
        save_test(find_target("mine", [project / "acme"], project), found, "Go")


def test_links_of_a_plugin_that_is_no_part_of_a_project_lead_nowhere_else(tmp_path):
    directory = plugin(tmp_path)
    write(tmp_path / "secret", "secret")
    (directory / "leak").symlink_to("../secret")
    request = RunRequest(root=tmp_path / "place", cwd=tmp_path)

    outside = prepare_attempt([directory], "Go", request, None).tests[0].plugins[0][1]
    inside = prepare_attempt([directory], "Go", request, tmp_path).tests[0].plugins[0][1]

    names = [{entry.path for entry in tree.entries} for tree in (outside, inside)]
    assert ["leak" in found for found in names] == [False, True]
