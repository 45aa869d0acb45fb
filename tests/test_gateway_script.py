"""`rehearsal.json`: what it may say, and what is said about it where it is wrong."""

import json
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from skillwalker.errors import ConfigurationError
from skillwalker.gateway.messages import ApiError
from skillwalker.gateway.replies import Reply, TestScript
from skillwalker.gateway.script import load_scripts, read_scripts

DATA = Path(__file__).parent / "data" / "rehearsal"
INVALID = DATA / "invalid"
TESTS = ("Greets", "Counts")


@pytest.mark.parametrize("file", sorted(INVALID.glob("*.json")), ids=lambda file: file.stem)
def test_an_invalid_script_is_explained(file):
    with pytest.raises(ConfigurationError) as caught:
        load_scripts(file, INVALID, TESTS)
    assert str(caught.value) == file.with_suffix(".expected").read_text("utf-8").strip()


def load(value, tmp_path, tests=TESTS):
    file = tmp_path / "evals" / "greet" / "rehearsal.json"
    file.parent.mkdir(parents=True)
    file.write_bytes(value if isinstance(value, bytes) else json.dumps({"tests": value}).encode())
    return load_scripts(file, tmp_path, tests)


@pytest.mark.parametrize(
    ("names", "tests", "told"),
    [
        (
            ["Greet"],
            ["Greets", "Counts"],
            [
                'no test is named "Greet" (did you mean "Greets"?): rename the entry if its test was renamed '
                "or its query edited, else remove it. A rehearsal answers tests without an entry by the "
                'simple rule: "Greets"'
            ],
        ),
        (
            ["Something else", "Greets"],
            ["Greets", "Counts"],
            [
                'no test is named "Something else": rename the entry if its test was renamed or its query '
                "edited, else remove it. A rehearsal answers tests without an entry by the simple rule: "
                '"Counts"'
            ],
        ),
        (["Greet", "Greets"], ["Greets"], ['no test is named "Greet": rename the entry if its test']),
        (
            ["One", "Greets", "Two"],
            ["Greets", "Counts"],
            [
                '2 entries are named like no test: "One", "Two". Rename those whose test was renamed or '
                "query edited, and remove the others. A rehearsal answers tests without an entry by the "
                'simple rule: "Counts". '
            ],
        ),
        (
            ["a\x1b"],
            [],
            [
                'no test is named "a\\x1b": rename the entry if its test was renamed or its query edited, '
                "else remove it"
            ],
        ),
    ],
)
def test_an_entry_of_no_test_is_kept_apart_unread(names, tests, told, tmp_path):
    entries = {name: [{"content": "hi"}] if name in tests else 17 for name in names}
    file = tmp_path / "rehearsal.json"
    file.write_text(json.dumps({"tests": entries}, indent=1))
    found = read_scripts(file, tmp_path, tests)
    assert [*found.by_test] == [name for name in names if name in tests]
    assert [one.message[: len(said)] for one, said in zip(found.unused, told, strict=True)] == told
    command = f". `skillwalker init --rehearsal {tmp_path.name}` does it for entries as `init` drafts them"
    assert all(one.message.endswith(command) for one in found.unused)
    assert [one.place for one in found.unused] == ["rehearsal.json:3"]


@pytest.mark.parametrize("judge", [{"passed": [True]}, [True, False], [[True, False]]])
def test_a_judge_in_another_form_is_told_the_form_once(judge, tmp_path):
    with pytest.raises(ConfigurationError) as caught:
        load({"Greets": {"judge": judge}}, tmp_path)
    (problem,) = caught.value.problems
    form = 'write "judge": [{"passed": [true, false]}], one entry for each llm-judge'
    assert problem.path == "tests.Greets.judge"
    assert problem.message.endswith(f"; {form}")


def test_a_list_is_the_main_conversation(tmp_path):
    scripts = load(
        {"Greets": [{"content": "hi", "delay_seconds": 2, "usage": {"output_tokens": 5}}]}, tmp_path
    )
    hi = Reply(
        "tests.Greets[0]",
        content=({"type": "text", "text": "hi"},),
        usage={"output_tokens": 5},
        delay_seconds=2.0,
    )
    assert scripts == {"Greets": TestScript("evals/greet/rehearsal.json", ((hi,),))}


def test_replies_with_times_belong_to_the_turn_of_the_next(tmp_path):
    script = load(
        {
            "Greets": [
                {"error": {"status": 529}, "times": 2},
                {"fault": "drop", "times": 1},
                {"content": "hi"},
                {"content": "ho"},
            ]
        },
        tmp_path,
    )["Greets"]
    assert [len(turn) for turn in script.main] == [3, 1]


def test_every_way_to_answer(tmp_path):
    blocks = [
        {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
        {"type": "text", "text": ""},
        {"type": "tool_use", "name": "Skill", "input": {"skill": "demo:hello"}, "id": "toolu_1"},
    ]
    error = {"status": 429, "message": "slow", "retry_after": 1.5, "headers": {"X-Limit": "0"}}
    script = load(
        {
            "Greets": {
                "main": [
                    {"content": blocks, "stop_reason": "refusal", "model": "claude-x"},
                    {"content": []},
                    {"content": "cut", "fault": "drop", "after_events": 3},
                    {"content": "cut", "error": {"status": 529}, "after_events": 3},
                    {"fault": "hang"},
                    {"error": error},
                ],
                "agents": {"demo:helper": [{"content": "agent"}]},
                "judge": [{"passed": [True, False]}, {"content": "{}"}],
                "trials": {"2": [{"content": "second"}], "3": {"judge": [{"passed": [False]}]}},
            }
        },
        tmp_path,
    )["Greets"]
    first, second, *_, limited = (turn[0] for turn in script.main)
    assert first.content == tuple(blocks)
    assert second.content == ()
    assert isinstance(limited.error, ApiError)
    assert (limited.error.type, limited.error.message) == ("rate_limit_error", "slow")
    assert limited.error.headers == {"x-limit": "0", "retry-after": "1.5"}
    assert script.judge[0][0].passed == (True, False)
    assert pickle.loads(pickle.dumps(script)).agents == script.agents


def test_a_trial_replaces_what_it_has_and_keeps_the_rest(tmp_path):
    script = load(
        {
            "Greets": {
                "main": [{"content": "all"}],
                "agents": {"a:b": [{"content": "all"}], "a:c": [{"content": "all"}]},
                "judge": [{"passed": [True]}],
                "trials": {"2": [{"content": "second"}], "3": {"agents": {"a:b": [{"content": "third"}]}}},
            }
        },
        tmp_path,
    )["Greets"]

    def said(turns):
        return turns[0][0].content[0]["text"]

    first, second, third = (script.for_trial(index) for index in (1, 2, 3))
    assert [said(own.main) for own in (first, second, third)] == ["all", "second", "all"]
    assert [said(own.agent("a:b")) for own in (first, second, third)] == ["all", "all", "third"]
    assert said(third.agent("a:c")) == "all"
    assert first.judge == second.judge == third.judge == script.judge


def test_an_agent_is_found_by_its_id_or_a_bare_name_of_one_owner():
    turns = ((Reply("x"),),)
    script = TestScript("f", agents={"a:one": turns, "b:one": turns, "b:two": turns})
    assert script.agent("a:one") is turns
    assert script.agent("two") is turns
    assert script.agent("one") is None
    assert script.agent("c:two") is None
    assert script.agent(None) is None


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("helper", "tests.Greets.agents.helper: expected plugin:agent or plugin:skill; write demo:helper"),
        ("demo:helpr", "no such agent or skill: demo:helpr (did you mean demo:helper?)"),
        ("zz:q", "no such agent or skill: zz:q; the plugins have demo:forked, demo:helper"),
    ],
)
def test_an_agent_that_no_plugin_has_would_never_answer(tmp_path, name, said):
    file = tmp_path / "rehearsal.json"
    script = {"agents": {name: [{"content": "x"}], "general-purpose": [{"content": "y"}]}}
    file.write_text(json.dumps({"tests": {"Greets": script}}))
    assert load_scripts(file, tmp_path, TESTS)
    assert load_scripts(file, tmp_path, TESTS, [name])
    with pytest.raises(ConfigurationError) as caught:
        load_scripts(file, tmp_path, TESTS, ["demo:helper", "demo:forked"])
    assert said in str(caught.value)
    assert len(caught.value.problems) == 1


def test_a_byte_order_mark_and_windows_line_ends_are_fine(tmp_path):
    data = b'\xef\xbb\xbf{"tests": {\r\n"Greets": [{"content": "hi"}]}}\r\n'
    assert list(load(data, tmp_path)) == ["Greets"]


@pytest.mark.parametrize("data", [b"\xff\xfe{\x00}\x00", b'{"tests": "\xe9"}', b"", b"[" * 100_000])
def test_what_is_no_utf8_json_is_a_problem_with_a_place(data, tmp_path):
    with pytest.raises(ConfigurationError, match=r"^evals/greet/rehearsal\.json"):
        load(data, tmp_path)


def test_a_missing_file_is_a_problem_with_a_place(tmp_path):
    with pytest.raises(ConfigurationError, match=r"^rehearsal\.json: does not exist"):
        load_scripts(tmp_path / "rehearsal.json", tmp_path, TESTS)


def test_validation_starts_no_server():
    code = "import sys, skillwalker.gateway.script; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy = {"asyncio", "uvicorn", "starlette", "anthropic", "httpx2", "docker", "rich"}
    assert not heavy & set(loaded.stdout.split())
