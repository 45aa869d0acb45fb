"""Requests of equal runs have one normal form; what an author may change stays in it."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from gateway_support import assistant, request, user

from skillwalker.gateway.cassettes.normalise import Names, Normal, canonical, normalise
from skillwalker.gateway.cassettes.varying import Window, spots

THEN = datetime(2026, 11, 30, 14, 23, 4, tzinfo=UTC)
LATER = datetime(2027, 3, 1, 9, 11, 59, tzinfo=UTC)


def at(moment: datetime) -> Window:
    return Window(moment, moment + timedelta(minutes=2))


def use(id: str, name: str = "Bash", **given: Any) -> dict[str, Any]:
    block = {"type": "tool_use", "id": id, "name": name, "input": given}
    return {"role": "assistant", "content": [block]}


def result(*pairs: tuple[str, str]) -> dict[str, Any]:
    blocks = [{"type": "tool_result", "tool_use_id": identity, "content": text} for identity, text in pairs]
    return {"role": "user", "content": blocks}


def after(text: str, command: str = "./run") -> dict[str, Any]:
    """A request that tells the result of one command."""
    return request(user("go"), use("toolu_1", command=command), result(("toolu_1", text)))


def normal(body: dict[str, Any], when: datetime = THEN) -> Normal:
    return normalise(body, at(when))[0]


def shown(one: Normal) -> str:
    parts = (*one.system, *one.tools, *one.messages, one.options)
    return json.dumps([one.model, *(part.value for part in parts)])


UUIDS = ("0f4e1c52-90e7-4a6f-8a70-1d6f3a1f1b11", "5b0c2fd4-7e1e-4fd5-9be4-aa2c5f0f7c22")
FIRST = {
    "uuid": f"see /tmp/claude-1000/-workspace/{UUIDS[0]}/tasks",
    "agent": "agentId: a3be6e6e8501a216a (use SendMessage with to: 'a3be6e6e8501a216a')",
    "agent duration": "<usage>subagent_tokens: 1130\ntool_uses: 2\nduration_ms: 812</usage>",
    "saved output": f"Full output saved to: /h/projects/-workspace/{UUIDS[0]}/tool-results/bgx604gkb.txt",
    "background": "Command running in background with ID: baxtymojm. Output is being written to: "
    f"/tmp/claude-1000/-workspace/{UUIDS[0]}/tasks/baxtymojm.output.",
    "local run": "/tmp/skillwalker-run-ab_cd12z/trial/work/a.csv",
    "files": "total 4\n-rw 1 a a 12 Nov 30 14:23 a.csv\n-rw 1 a a 12 Nov 30 14:24 b.csv",
    "iso": "started 2026-11-30T14:23:05.123456Z",
    "iso of a log": "2026-11-30 14:23:05,120 INFO begun",
    "full time": "2026-11-30 14:23:05.123456789 +0000 a.csv",
    "date": "Mon Nov 30 14:23:04 UTC 2026",
    "date with halves": "Mon Nov 30 02:23:04 PM UTC 2026",
    "date of JavaScript": "Mon Nov 30 2026 14:23:04 GMT+0000 (Coordinated Universal Time)",
    "date of an American": "at 11/30/2026, 2:23:05 PM",
    "date of a German": "am 30.11.2026, 14:23:05",
    "date of a log": "2026/11/30 14:23:05.123 begun",
    "date of a web server": "[30/Nov/2026:14:23:05 +0000]",
    "date of the system's log": "Nov 30 14:23:05 sandbox cron",
    "microseconds": "1796048590123456",
    "nanoseconds": "1796048590123456789",
    "mail": "Date: Mon, 30 Nov 2026 14:23:04 +0000",
    "seconds": "1796048590",
    "milliseconds": "at 1796048590123",
    "compact": "backup-20261130-142310.tar",
    "temporary": "/tmp/tmp.Ab3dEf5hIj and /tmp/tmpab_cd12z/x",
    "tests": "3 passed in 0.12s",
    "node tests": "# duration_ms 41.25",
    "stat": "Device: 254,0\tInode: 1507567     Links: 1",
    "shell time": "real\t0m0.012s\nuser\t0m0.004s",
    "environment": "CLAUDE_CODE_MESSAGING_TOKEN=d3c1b357697dda7cd92bd62fcfea1293",
}
SECOND = {
    "uuid": f"see /tmp/claude-1000/-workspace/{UUIDS[1]}/tasks",
    "agent": "agentId: ab148bfa9ae4e20e2 (use SendMessage with to: 'ab148bfa9ae4e20e2')",
    "agent duration": "<usage>subagent_tokens: 1130\ntool_uses: 2\nduration_ms: 1204</usage>",
    "saved output": f"Full output saved to: /h/projects/-workspace/{UUIDS[1]}/tool-results/bax32uqr1.txt",
    "background": "Command running in background with ID: b6nw5wo8k. Output is being written to: "
    f"/tmp/claude-1000/-workspace/{UUIDS[1]}/tasks/b6nw5wo8k.output.",
    "local run": "/tmp/skillwalker-run-zz_cd12a/trial/work/a.csv",
    "files": "total 4\n-rw 1 a a 12 Mar  1 09:12 a.csv\n-rw 1 a a 12 Mar  1 09:12 b.csv",
    "iso": "started 2027-03-01T09:12:00.654321Z",
    "iso of a log": "2027-03-01 09:12:05,001 INFO begun",
    "full time": "2027-03-01 09:12:05.987654321 +0000 a.csv",
    "date": "Mon Mar  1 09:12:00 UTC 2027",
    "date with halves": "Mon Mar  1 09:12:00 AM UTC 2027",
    "date of JavaScript": "Mon Mar 01 2027 09:12:00 GMT+0000 (Coordinated Universal Time)",
    "date of an American": "at 3/1/2027, 9:12:05 AM",
    "date of a German": "am 1.3.2027, 09:12:05",
    "date of a log": "2027/03/01 09:12:05.9 begun",
    "date of a web server": "[01/Mar/2027:09:12:05 +0000]",
    "date of the system's log": "Mar  1 09:12:05 sandbox cron",
    "microseconds": "1803892320999999",
    "nanoseconds": "1803892320999999999",
    "mail": "Date: Mon, 1 Mar 2027 09:12:00 +0000",
    "seconds": "1803892320",
    "milliseconds": "at 1803892320999",
    "compact": "backup-20270301-091210.tar",
    "temporary": "/tmp/tmp.Zb3dEf5hIj and /tmp/tmpzz_cd12z/x",
    "tests": "3 passed in 1.4s",
    "node tests": "# duration_ms 9",
    "stat": "Device: 254,0\tInode: 1507594     Links: 1",
    "shell time": "real\t1m0.012s\nuser\t0m0.010s",
    "environment": "CLAUDE_CODE_MESSAGING_TOKEN=84f13d8b585dd053c66e9ac3728de3df",
}


@pytest.mark.parametrize("case", FIRST)
def test_results_of_equal_runs_are_equal_whenever_they_run(case: str) -> None:
    assert normal(after(FIRST[case]), THEN) == normal(after(SECOND[case]), LATER)


@pytest.mark.parametrize("case", FIRST)
def test_no_other_word_of_a_result_is_lost(case: str) -> None:
    assert normal(after(FIRST[case])) != normal(after(FIRST[case] + "."))
    assert normal(after(FIRST[case])) != normal(after("x" + FIRST[case]))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("1001,2026-01-05", "1001,05/01/2026"),
        ("logged 2024-01-02T10:00:00Z", "logged 2024-01-02T11:00:00Z"),
        ("-rw-r--r-- 1 a a 12 Jan  1  2020 a.csv", "-rw-r--r-- 1 a a 13 Jan  1  2020 a.csv"),
        ("sha256 2c26b46b68ffc68f", "sha256 3c26b46b68ffc68f"),
        ("1234567 rows", "1234568 rows"),
        ("phone 0123456789", "phone 0123456780"),
        ("commit 2c26b46b", "commit 3c26b46b"),
        ("/tmp/out/report", "/tmp/out/reports"),
        ("took a while", "took long"),
        ("14:23", "14:24"),
        ("today is 2026-11-30", "today is 2026-11-29"),
        ("01/02/2024 10:00", "01/02/2024 11:00"),
        ("4111111111111111", "4111111111111112"),
        ("run.AbCdEf", "run.GhIjKl"),
    ],
)
def test_what_a_result_says_stays(old: str, new: str) -> None:
    assert normal(after(old)) != normal(after(new))


def test_dates_that_a_clock_may_have_told_count_only_in_results_of_date() -> None:
    one, two = after("2026-11-30 14:23", "date '+%F %R'"), after("2027-03-01 09:12", "date '+%F %R'")
    day, other = after("2026-11-30", "date +%F"), after("2027-03-01", "date +%F")
    for told, later in (
        ("30.11.2026", "01.03.2027"),
        ("11/30/2026", "03/01/2027"),
        ("2026/11/30", "2027/03/01"),
    ):
        assert normal(after(told, "date"), THEN) == normal(after(later, "date"), LATER)
        assert normal(after(told, "cat x"), THEN) != normal(after(later, "cat x"), LATER)

    assert normal(one, THEN) == normal(two, LATER)
    assert normal(day, THEN) == normal(other, LATER)
    assert normal(after("2026-11-30", "cat x"), THEN) != normal(after("2027-03-01", "cat x"), LATER)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("[main 1a2b3c4] Tidy the export", "[main 9f8e7d6] Tidy the export"),
        ("[main (root-commit) 1234567] Tidy", "[main (root-commit) abcdefa] Tidy"),
        (f"commit {'1a' * 20}\nAuthor: a", f"commit {'9f' * 20}\nAuthor: a"),
        ("1a2b3c4 Tidy\n0000001 Start", "9f8e7d6 Tidy\n0000001 Start"),
        ("Updating 1a2b3c4..2b3c4d5", "Updating 9f8e7d6..8e7d6c5"),
        ("done\n1a2b3c4", "done\n9f8e7d6"),
        ("1a" * 20, "9f" * 20),
    ],
)
def test_hashes_of_commits_differ_only_in_results_of_git(old: str, new: str) -> None:
    assert normal(after(old, "cd x && git commit -am y")) == normal(after(new, "cd x && git commit -am y"))
    assert normal(after(old, "cat log")) != normal(after(new, "cat log"))


def test_a_number_alone_on_its_line_is_no_commit() -> None:
    assert normal(after("1234567", "git log | wc -c")) != normal(after("1234568", "git log | wc -c"))


def test_a_long_word_beside_mktemp_is_read_once() -> None:
    command = "mktemp x.XXXX; echo " + "a" * 300_000  # squared, this would take an hour
    assert [spot.value for spot in spots("x.abcd", "result", command)] == ["abcd"]


def test_names_that_a_template_of_mktemp_made_are_temporary() -> None:
    command = "d=$(mktemp -d /tmp/run.XXXXXX) && f=$(mktemp -p $d my-XXXX); echo $d; echo $f"
    one, two = (f"/tmp/run.{a}\n/tmp/run.{a}/my-{b}" for a, b in (("AbCdEf", "x1y2"), ("GhIjKl", "Z3z4")))

    assert normal(after(one, command)) == normal(after(two, command))
    assert normal(after(one)) != normal(after(two))
    assert normal(after(one, command)) != normal(after(one.replace("my", "our"), command))


def test_what_was_learned_of_a_result_is_known_in_the_answers_after_it() -> None:
    def body(commit: str, temporary: str) -> dict[str, Any]:
        texts = f"[main {commit}] Tidy", f"/tmp/{temporary}"
        return request(
            user("go"),
            use("toolu_1", command="git commit"),
            result(("toolu_1", texts[0])),
            use("toolu_2", command="mktemp"),
            result(("toolu_2", texts[1])),
            use("toolu_3", command=f"git show {commit} > /tmp/{temporary}; echo {commit}5"),
        )

    one, two = body("1a2b3c4", "tmp.Ab3dEf5hIj"), body("9f8e7d6", "tmp.Zb3dEf5hIj")

    assert '"git show [[commit 1]] > /tmp/[[temp 1]]; echo 1a2b3c45"' in shown(normal(one))
    assert normal(one).messages[:-1] == normal(two).messages[:-1]


def test_a_time_that_the_model_repeats_is_a_time_on_another_day_too() -> None:
    def body(listed: str) -> dict[str, Any]:
        return request(
            user("go"),
            use("toolu_1", command="ls -l"),
            result(("toolu_1", f"-rw {listed} a.csv")),
            use("toolu_2", "Write", content="a.csv was written on Nov 30 14:23"),
            result(("toolu_2", "1\ta.csv was written on Nov 30 14:23")),
            use("toolu_3", command="ls -l"),
            result(("toolu_3", f"-rw {listed} a.csv")),
        )

    assert normal(body("Nov 30 14:23"), THEN) == normal(body("Mar  1 09:12"), LATER)


def test_placeholders_are_numbered_by_first_appearance_and_equal_values_share_one() -> None:
    one, two = UUIDS
    text = shown(normal(after(f"{two} {one} {two}")))

    assert "[[uuid 1]] [[uuid 2]] [[uuid 1]]" in text
    assert normal(after(f"{one} {two} {one}")) == normal(after(f"{two} {one} {two}"))
    assert normal(after(f"{one} {two} {one}")) != normal(after(f"{two} {one} {one}"))


def told(text: str) -> dict[str, Any]:
    return request(user("go"), system=[{"type": "text", "text": text}])


def test_two_recorded_requests_of_two_days_and_machines_are_equal() -> None:
    one = told(
        "Working directory: /workspace\nOS Version: Linux 5.10.0-33\nToday's date is 2026-11-30.\nBe brief."
    )
    two = told(
        "Working directory: /workspace\nOS Version: Linux 6.8.0-1\nToday's date is 2027-03-01.\nBe brief."
    )

    assert normal(one) == normal(two)
    assert "Today's date is [[date]]." in shown(normal(one))


def test_the_same_request_says_who_asks_and_how_to_deliver_in_ways_that_do_not_count() -> None:
    one = request(user("go"), metadata={"user_id": "{}"}, stream=True)
    two = request({"role": "user", "content": "go"})
    two["messages"][0]["content"] = [{"type": "text", "text": "go", "cache_control": {"type": "ephemeral"}}]

    assert normal(one) == normal(two) == normal(request({"role": "user", "content": "go"}))


@pytest.mark.parametrize(
    "changed",
    [
        {"model": "claude-opus-5-5"},
        {"max_tokens": 5},
        {"system": "Be long."},
        {"system": [{"type": "text", "text": "cc_version=2.1.333.abc"}]},
        {"tools": [{"name": "Skill", "description": "new", "input_schema": {"type": "object"}}]},
        {"messages": [user("go on")]},
        {"messages": [user("go", "on")]},
        {"messages": [assistant("go")]},
        {"output_config": {"format": {"type": "json_schema"}}},
    ],
    ids=lambda changed: next(iter(changed)),
)
def test_what_an_author_changes_stays(changed: dict[str, Any]) -> None:
    base = request(user("go"), system=[{"type": "text", "text": "cc_version=2.1.332.abc"}])

    assert normal(base) != normal({**base, **changed})


def test_results_of_parallel_tools_are_sorted_and_nothing_else() -> None:
    reminder = {"type": "text", "text": "reminder"}

    def body(*pairs: tuple[str, str], last: Any = reminder) -> dict[str, Any]:
        message = result(*pairs)
        return request(user("go"), {**message, "content": [*message["content"], last]})

    first, second = ("toolu_1", "one"), ("toolu_2", "two")

    assert normal(body(first, second)) == normal(body(second, first))
    assert normal(body(first, second)) != normal(body(("toolu_1", "two"), ("toolu_2", "one")))
    assert [block["type"] for block in normal(body(second, first)).messages[1].value["content"]] == [
        "tool_result",
        "tool_result",
        "text",
    ]


def test_a_judge_is_shown_results_in_its_prompt() -> None:
    fences = "evidence-" + "ab" * 12, "evidence-" + "cd" * 12

    def prompt(fence: str, text: str) -> dict[str, Any]:
        shown = json.dumps({"tool": "Bash", "result": f"x\n{text}"})
        return request(user(f'<{fence} kind="tool calls">\n{shown}\n</{fence}>'), tools=())

    one = prompt(fences[0], "Nov 30 14:23 a3be6e6e8501a216a\nreal\t0m0.012s\nsys\t0m0.003s")
    two = prompt(fences[1], "Mar  1 09:12 ab148bfa9ae4e20e2\nreal\t0m0.011s\nsys\t0m0.004s")

    assert normalise(one, at(THEN), judge=True)[0] == normalise(two, at(LATER), judge=True)[0]
    other = prompt(fences[1], "Mar  1 09:12 ab148bfa9ae4e20e2\nreal\t0m0.011s\nsys\t0m0.004s!")
    assert normalise(one, at(THEN), judge=True)[0] != normalise(other, at(LATER), judge=True)[0]


def names_of(text: str) -> Names:
    return normalise(after(text), at(THEN))[1]


def test_answers_name_the_ids_of_their_run() -> None:
    recorded = {"content": [{"type": "tool_use", "input": {"path": f"/x/{UUIDS[0]}/y", "n": 1}}]}

    hidden = names_of(UUIDS[0]).hide(recorded)

    assert hidden == {"content": [{"type": "tool_use", "input": {"path": "/x/[[uuid 1]]/y", "n": 1}}]}
    assert names_of(UUIDS[1]).show(hidden) == json.loads(json.dumps(recorded).replace(*UUIDS))
    assert names_of("nothing").show(hidden) == hidden


def test_answers_name_them_also_in_what_json_has_written_out() -> None:
    _, names = normalise(after("[main 1a2b3c4] x\n/tmp/tmp.Ab3dEf5hIj", "git commit"), at(THEN))
    written = "log: x\\n1a2b3c4\\t/tmp/tmp.Ab3dEf5hIj, 1a2b3c45, n1a2b3c4"

    hidden = names.hide({"text": written})

    expected = "log: x\\n[[commit 1]]\\t/tmp/[[temp 1]], 1a2b3c45, n1a2b3c4"
    assert hidden == {"text": expected}
    assert names.show(hidden) == {"text": written}


def test_thousands_of_names_cost_no_more_than_a_few() -> None:
    log = "\n".join(f"{number:07x} Commit {number}" for number in range(0xA000000, 0xA000000 + 5_000))
    body = after(log, "git log --oneline")
    began = time.process_time()

    found, names = normalise(body, at(THEN))

    assert "[[commit 5000]] Commit" in shown(found)
    assert names.show(names.hide(log)) == log
    assert time.process_time() - began < 20  # minutes, where each is looked for by itself


def test_what_looks_like_a_placeholder_stays_what_it_is() -> None:
    text = f"[[uuid 1]] {UUIDS[0]} [[time]]"
    names = names_of(text)

    assert names.show(names.hide(text)) == text
    assert names.hide("[[uuid 1]]") != "[[uuid 1]]"


@pytest.mark.parametrize("odd", [None, 5, "text", [], {"role": "user"}, {"role": "user", "content": 5}])
def test_anything_can_come_over_a_connection(odd: Any) -> None:
    body = {"model": "m", "messages": [odd, user("x")], "tools": odd, "system": odd}

    assert normal(body) == normal(json.loads(json.dumps(body)))


def test_encoded_files_are_left_alone() -> None:
    image = {"type": "base64", "media_type": "image/png", "data": UUIDS[0]}
    body = request({"role": "user", "content": [{"type": "image", "source": image}]})

    assert UUIDS[0] in shown(normal(body))


def test_lone_surrogates_have_a_canonical_form() -> None:
    assert canonical({"b": "\ud800", "a": 1}) == b'{"a":1,"b":"\\ud800"}'


@pytest.mark.parametrize(
    "written", ["Tue Dec 1 00:11:24 2026 +0000", "Tue Dec  1 00:11:24 UTC 2026", "Dec  1 00:11"]
)
def test_a_time_on_one_of_the_first_nine_days_of_a_month_is_one(written):
    (spot,) = spots(written, "result", "git log; date; ls -l")
    moment = datetime(2026, 12, 1, 0, 11, 24, tzinfo=UTC)
    assert (spot.kind, spot.value) == ("time", written)
    assert Window(moment, moment).holds(spot.value)
