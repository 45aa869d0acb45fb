"""`skillwalker init`: what it writes is valid at once, and nothing is ever overwritten."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from roots import plugin, skill, write

from skillwalker.checks import Checked, check_evals
from skillwalker.expectations.registry import Registry
from skillwalker.manifest import MANIFEST

Cli = Callable[..., Any]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    plugin(tmp_path)
    (tmp_path / ".git").mkdir()
    return tmp_path


def written(root: Path, name: str) -> tuple[dict[str, Any], Checked]:
    """The `tests.json`, and what checking found; a rehearsal has a script for every test."""
    checked = check_evals([root / "evals" / name], root, Registry.scan())
    assert checked.problems == ()
    assert all(one.script for one in checked.tests)
    return json.loads((root / "evals" / name / "tests.json").read_text("utf-8")), checked


def names(checked: Checked) -> list[str]:
    return [one.test.name for one in checked.tests]


def test_a_skill_gets_positives_near_misses_and_a_task(root: Path, run_cli: Cli) -> None:
    called = run_cli("--root", root, "init", "acme:tidy")
    value, checked = written(root, "tidy")

    assert called.code == 0
    assert called.err.splitlines() == [
        "note: no neighbouring skill comes near, so the near misses (marked EDIT ME) are made of its own "
        "words: think of better ones"
    ]
    assert called.out.splitlines()[0] == str(root / "evals/tidy/tests.json")
    assert "run --isolated --rehearse tidy" in called.out
    assert value["plugins"] == ["acme"]
    call, near, task = value["tests"]
    assert {query["should_trigger"] for query in call["queries"]} == {True}
    assert call["skillFile"] == near["skillFile"] == "acme:tidy"
    assert "model" not in {**call, **near, **task}, "one model for both kinds, so that a table can show them"
    assert {query["should_trigger"] for query in near["queries"]} == {False}
    assert {"skill-call": {"skill": "acme:tidy", "expected": True}} in task["expect"]
    assert all("draft" in one.test.tags for one in checked.tests)
    assert not any("tidy" in query["query"].split() for query in call["queries"]), "the skill's name"


def test_an_agent_is_asked_for_by_its_own_tests(root: Path, run_cli: Cli) -> None:
    assert run_cli("--root", root, "init", "auditor").code == 0
    value, _ = written(root, "auditor")
    assert [test["type"] for test in value["tests"]] == ["agent-call", "agent-call", "agent-prompt"]
    assert {test["agentFile"] for test in value["tests"]} == {"acme:auditor"}


def test_what_a_description_quotes_and_when_it_says_to_use_it_is_what_users_say(
    root: Path, run_cli: Cli
) -> None:
    write(
        root / "acme/skills/chart/SKILL.md",
        '---\nname: chart\ndescription: >\n  Charts. Say "draw me a pie chart" or "plot this".\n'
        "  Use when the user wants to see numbers as pictures.\n---\nx\n",
    )
    run_cli("--root", root, "init", "chart")
    value, _ = written(root, "chart")
    said = [query["query"] for query in value["tests"][0]["queries"]]
    assert said == [
        "draw me a pie chart",
        "plot this",
        "I want to see numbers as pictures.",
    ]


def test_a_skill_that_the_model_may_not_call_gets_a_task_alone(root: Path, run_cli: Cli) -> None:
    skill(root / "acme", "deploy", "Deploys", more="disable-model-invocation: true\n")
    called = run_cli("--root", root, "init", "deploy")
    value, _ = written(root, "deploy")

    assert (called.code, [test["type"] for test in value["tests"]]) == (0, ["skill-prompt"])
    assert value["tests"][0]["prompt"] == "/acme:deploy"
    assert "the model may not call it" in called.err


def test_a_task_that_needs_a_server_is_skipped_with_the_reason(root: Path, run_cli: Cli) -> None:
    write(root / "acme/.mcp.json", '{"mcpServers": {"db": {"command": "db"}}}')
    run_cli("--root", root, "init", "tidy")
    _, checked = written(root, "tidy")
    assert ["MCP servers" in (one.test.skip or "") for one in checked.tests][-1]


def test_without_a_neighbour_it_says_so(tmp_path: Path, run_cli: Cli) -> None:
    write(tmp_path / "SKILL.md", "---\nname: alone\ndescription: Sorts photos by date.\n---\nx\n")
    called = run_cli("--root", tmp_path, "init")
    value, checked = written(tmp_path, "alone")

    assert called.code == 0
    assert "no neighbouring skill comes near" in called.err
    assert [query["query"] for query in value["tests"][1]["queries"]] == [
        'EDIT ME: Translate this sentence into Portuguese: "Sort photos by date."'
    ]
    assert checked.tests[1].test.tags == ("activation", "draft", "edit-me")
    assert (value["plugins"], checked.tests[0].test.skill_file) == (["."], "alone:alone")


def test_nothing_is_overwritten(root: Path, run_cli: Cli) -> None:
    write(root / "evals/tidy/notes.md", "mine")
    called = run_cli("--root", root, "init", "tidy")

    assert (called.code, called.out) == (4, "")
    assert "evals/tidy is there already; name another eval with --eval NAME" in called.err
    assert sorted(path.name for path in (root / "evals").rglob("*")) == ["notes.md", "tidy"]
    assert run_cli("--root", root, "init", "tidy", "--eval", "tidy-2").code == 0


@pytest.mark.parametrize("name", ["", "../x", "a/b", ".hidden", "_x", "a\x1bb"])
def test_a_name_that_is_no_directorys_is_refused(root: Path, run_cli: Cli, name: str) -> None:
    called = run_cli("--root", root, "init", "tidy", "--eval", name)
    assert (called.code, (root / "evals").exists()) == (4, False)
    assert "\x1b" not in called.err


def test_nobody_there_to_ask_means_saying_what_to_give(root: Path, run_cli: Cli) -> None:
    called = run_cli("--root", root, "init")
    assert called.code == 4
    assert called.err.splitlines() == [
        "there are 4 skills and agents; name one:",
        *(f"  skillwalker --root {root} init acme:{name}" for name in ("forked", "hello", "tidy", "auditor")),
    ]


@pytest.mark.parametrize(("answer", "code"), [(2, 0), (9, 4)])
def test_somebody_who_is_there_is_asked(
    root: Path, run_cli: Cli, monkeypatch: pytest.MonkeyPatch, answer: int, code: int
) -> None:
    monkeypatch.setattr("skillwalker.cli.choosing.can_ask", lambda: True)
    monkeypatch.setattr("typer.prompt", lambda *_, **__: answer)
    called = run_cli("--root", root, "init")

    assert called.code == code
    assert "  2  acme:hello  (skill)" in called.err
    assert (root / "evals/hello/tests.json").exists() is (code == 0)


def test_a_plugin_that_cannot_be_loaded_is_told_with_the_reason(tmp_path: Path, run_cli: Cli) -> None:
    skill(tmp_path, "tidy", "Tidies")
    write(tmp_path / MANIFEST, '{"name": "acme", "skills": {"tidy": "./skills/tidy"}}')
    called = run_cli("--root", tmp_path, "init")

    assert called.code == 4
    assert "`skills` must be a path or a list of paths" in called.err
    assert "no plugin was found" not in called.err


def test_the_first_eval_makes_the_root(root: Path, run_cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root / "acme/skills")
    assert run_cli("init", "hello").code == 0
    assert (root / "evals/hello/tests.json").exists()


QUERIES = [
    {"query": "tidy it", "should_trigger": True, "category": "short"},
    {"query": "tidy it", "should_trigger": True},
    {"query": "sum it up", "should_trigger": False},
]


def test_a_trigger_list_becomes_an_eval(root: Path, run_cli: Cli) -> None:
    source = write(root / "triggers.json", json.dumps(QUERIES))
    called = run_cli("--root", root, "init", "acme:tidy", "--from", source, "--eval", "imported")
    _, checked = written(root, "imported")

    assert (called.code, called.err) == (0, "")
    assert names(checked) == ["Call: tidy it", "Call: tidy it (2)", "Near miss: sum it up"]
    assert [one.test.expect[0].value for one in checked.tests] == [True, True, False]
    assert checked.tests[0].test.tags == ("activation", "short")


def test_it_is_found_out_which_skill_a_list_is_about(root: Path, run_cli: Cli) -> None:
    beside = write(root / "acme/skills/hello/evals/trigger.json", json.dumps(QUERIES))
    named = write(root / "list.json", json.dumps({"skill_name": "tidy", "evals": QUERIES}))

    assert (
        run_cli("--root", root, "init", "--from", beside).code,
        run_cli("--root", root, "init", "--from", named).code,
    ) == (0, 0)
    assert sorted(path.name for path in (root / "evals").iterdir()) == ["hello", "tidy"]


def test_where_that_is_not_known_nothing_is_written(root: Path, run_cli: Cli) -> None:
    source = write(
        root / "routes.json",
        json.dumps([{"query": "a", "should_trigger": "tidy"}, {"query": "b", "should_trigger": "hello"}]),
    )
    called = run_cli("--root", root, "init", "--from", source)
    assert (called.code, (root / "evals").exists()) == (4, False)
    assert "the file is about tidy, hello; say which skill or agent is meant" in called.err


def test_queries_for_other_skills_are_near_misses(root: Path, run_cli: Cli) -> None:
    items = [
        {"query": "a", "should_trigger": "tidy"},
        {"query": "b", "should_trigger": "hello"},
        {"query": "c", "expected_skills": ["hello"], "acceptable_skills": ["tidy"]},
    ]
    source = write(root / "routes.json", json.dumps(items))
    called = run_cli("--root", root, "init", "tidy", "--from", source)
    _, checked = written(root, "tidy")

    assert names(checked) == ["Call: a", "Near miss: b"]
    assert "1 query meant for other skills (hello) became near misses of tidy" in called.err
    assert "1 query: the file does not say whether tidy should be called" in called.err


def test_an_output_eval_brings_its_files_rubric_and_what_is_left(root: Path, run_cli: Cli) -> None:
    home = root / "acme/skills/tidy"
    write(root / "secret.txt", "secret")
    write(home / "data/a.csv", "a;b\n")
    write(home / "evals/fixtures/b.csv", "c;d\n")
    (home / "evals/link.csv").symlink_to(root / "secret.txt")
    files = ["data/a.csv", "fixtures/b.csv", "../../../../secret.txt", "link.csv", "/etc/passwd", "none.csv"]
    item = {
        "id": 1,
        "name": "both files",
        "prompt": "Tidy\nthem",
        "expected_output": "Clean\nfiles",
        "files": files,
    }
    criteria = ["It is\nclean <!-- really", {"text": "No row twice"}]
    source = write(
        home / "evals/evals.json",
        json.dumps(
            {"skill_name": "tidy", "evals": [{**item, "expectations": criteria}, {**item, "files": []}]}
        ),
    )
    called = run_cli("--root", root, "init", "--from", source, "--eval", "output")
    value, checked = written(root, "output")
    directory = root / "evals/output"
    first, second = value["tests"]

    assert called.code == 0
    assert names(checked) == ["both files", "both files (2)"]
    assert (directory / "prompts" / first["promptFile"]).read_text() == "Tidy\nthem"
    assert sorted(
        p.relative_to(directory / "scaffolds").as_posix() for p in (directory / "scaffolds").rglob("*.csv")
    ) == [
        "both-files/data/a.csv",
        "both-files/fixtures/b.csv",
    ]
    assert "secret" not in "".join(p.read_text() for p in directory.rglob("*") if p.is_file())
    for name in (
        "../../../../secret.txt does not lie",
        "link.csv was not found",
        "/etc/passwd does not lie",
        "none.csv was not found",
    ):
        assert name in called.err
    rubrics = [test["expect"][0]["llm-judge"]["rubricFile"] for test in (first, second)]
    assert len(set(rubrics)) == 2
    assert "- It is clean <! -- really\n- No row twice\n" in (directory / "rubrics" / rubrics[0]).read_text()
    assert "- The outcome is as follows: Clean files\n" in (directory / "rubrics" / rubrics[1]).read_text()


def test_input_files_that_are_none_are_told(
    root: Path, run_cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = root / "acme/skills/tidy"
    (home / "empty").mkdir()
    os.mkfifo(home / "pipe")
    write(home / "big.bin", b"x" * 200)
    monkeypatch.setattr("skillwalker.importing.inputs._MOST_BYTES", 100)
    files = ["empty", "pipe", "big.bin"]
    case = {"prompt": "Tidy", "files": files, "expectations": ["It is clean"]}
    source = write(home / "evals/evals.json", json.dumps([case]))
    called = run_cli("--root", root, "init", "tidy", "--from", source)

    assert called.code == 0
    assert "Case 1: empty holds no regular file" in called.err
    assert "Case 1: pipe holds no regular file" in called.err
    assert "Case 1: big.bin is too big for a scaffold" in called.err
    assert "scaffold" not in written(root, "tidy")[0]["tests"][0]


def test_cases_of_claude_plugin_eval_become_tests(root: Path, run_cli: Cli) -> None:
    write(
        root / "acme/evals/fires/case.yaml",
        "name: fires\nschema_version: '1.0'\nruns: 2\nexecution: {prompt: Tidy this}\ngraders:\n"
        "- {type: tool_used, name: a, tool: Skill, input_match: tidy}\n"
        "- {type: regex, name: b, pattern: clean}\n- {type: llm, name: c, criteria: It is clean}\n",
    )
    write(
        root / "acme/evals/machine/case.yaml",
        "name: machine\nschema_version: '1.0'\nexecution: {prompt: Tidy}\ngraders:\n"
        "- {type: file_exists, name: a, path: out.csv}\n",
    )
    called = run_cli("--root", root, "init", "tidy", "--from", root / "acme", "--eval", "cases")
    value, _ = written(root, "cases")

    assert (called.code, len(value["tests"])) == (0, 1)
    assert (value["tests"][0]["trials"], value["tests"][0]["expect"][:2]) == (
        2,
        [{"skill-call": {"skill": "acme:tidy", "expected": True}}, {"result-contains": "clean"}],
    )
    assert "the file_exists grader a" in called.err
    assert "machine: nothing of what it checks could be taken over, so it was left out" in called.err


def test_a_file_of_which_nothing_can_be_taken_over_leaves_nothing(root: Path, run_cli: Cli) -> None:
    source = write(
        root / "a.json",
        json.dumps([{"query": "a", "expected_skills": ["hello"], "acceptable_skills": ["tidy"]}]),
    )
    called = run_cli("--root", root, "init", "acme:tidy", "--from", source)
    assert (called.code, (root / "evals").exists()) == (4, False)
    assert "could be taken over" in called.err


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("list.json", {"skill_name": "hello", "evals": QUERIES}),
        ("list.json", [{"query": "a", "should_trigger": "hello"}]),
        ("acme/skills/hello/evals/list.json", QUERIES),
    ],
)
def test_a_file_about_another_skill_is_taken_only_for_one_that_is_named_in_full(
    root: Path, run_cli: Cli, place: str, value: Any
) -> None:
    source = write(root / place, json.dumps(value))
    refused = run_cli("--root", root, "init", "tidy", "--from", source)

    assert (refused.code, (root / "evals").exists()) == (4, False)
    assert "hello, not about acme:tidy; if that is meant all the same, name it in full:" in refused.err
    assert refused.err.splitlines()[1] == f"  skillwalker --root {root} init acme:tidy --from {source}"
    taken = run_cli("--root", root, "init", "acme:tidy", "--from", source)
    assert taken.code == 0
    assert "hello, and was taken for acme:tidy, as you said" in taken.err


def test_the_only_skill_is_not_taken_for_another(tmp_path: Path, run_cli: Cli) -> None:
    write(tmp_path / "SKILL.md", "---\nname: alone\ndescription: Sorts photos by date.\n---\nx\n")
    source = write(tmp_path / "list.json", json.dumps({"skill_name": "other", "evals": QUERIES}))
    called = run_cli("--root", tmp_path, "init", "--from", source)
    assert (called.code, (tmp_path / "evals").exists()) == (4, False)
    assert "the file is about other; say which skill or agent is meant:" in called.err
    assert f"init alone:alone --from {source}" in called.err
    titled = write(tmp_path / "titled.json", json.dumps({"skill_name": "Alone", "evals": QUERIES}))
    assert run_cli("--root", tmp_path, "init", "--from", titled).code == 0


def test_what_says_what_is_expected_stays_out_of_scaffolds(root: Path, run_cli: Cli) -> None:
    home = root / "acme/skills/tidy/evals"
    for name in (
        "a.csv",
        "Answer-Key.json",
        "expected/a.csv",
        "golden.txt",
        "sub/rubric.md",
        "expectedly.csv",
    ):
        write(home / "fixtures" / name, name)
    write(home / "expected_rows.csv", "named by the eval itself")
    case = {"prompt": "Tidy", "files": ["fixtures", "expected_rows.csv"], "expectations": ["It is clean"]}
    source = write(home / "evals.json", json.dumps([case]))
    called = run_cli("--root", root, "init", "tidy", "--from", source)
    scaffold = root / "evals/tidy/scaffolds/case-1"

    assert called.code == 0
    assert sorted(
        path.relative_to(scaffold).as_posix() for path in scaffold.rglob("*") if path.is_file()
    ) == [
        "expected_rows.csv",
        "fixtures/a.csv",
        "fixtures/expectedly.csv",
    ]
    assert "could not be taken over:" in called.err
    for name in ("Answer-Key.json", "expected", "golden.txt", "sub/rubric.md"):
        assert f"Case 1: fixtures/{name} was left out: by its name it says what is expected" in called.err
    assert "skip" not in written(root, "tidy")[0]["tests"][0]


def test_what_it_prints_works_where_it_was_called(
    root: Path, run_cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number, place in enumerate((".", "acme/skills", "evals", "evals/e0/rubrics")):
        monkeypatch.chdir(root / place)
        called = run_cli("init", "acme:tidy", "--eval", f"e{number}")
        *files, last, _ = called.out.splitlines()
        assert all(Path(file).is_file() for file in files), files
        program, *words = shlex.split(last.partition(": ")[2])
        assert program == "skillwalker"
        select = words[-1]
        assert run_cli(*words[: words.index("run")], "validate", select).code == 0
        again = run_cli("init", "acme:tidy", "--eval", f"e{number}")
        assert (root / place / again.err.split(" is there already")[0]).is_dir()


def test_outside_of_the_root_paths_are_in_full(
    root: Path, run_cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    called = run_cli("--root", root, "init", "tidy")
    *files, last, edit = called.out.splitlines()
    assert edit.startswith(f"now edit {root / 'evals/tidy/tests.json'}: ")
    assert files[0] == str(root / "evals/tidy/tests.json")
    assert f"skillwalker --root {root} run" in last
    several = run_cli("--root", root, "init")
    assert f"  skillwalker --root {root} init acme:tidy" in several.err.splitlines()


def test_skills_that_lie_bare_side_by_side_are_listed_and_taken(
    tmp_path: Path, run_cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, does in (
        ("sort-photos", "Sorts photos by date."),
        ("print-photos", "Prints photos on canvas."),
    ):
        write(tmp_path / name / "SKILL.md", f"---\nname: {name}\ndescription: {does}\n---\nx\n")
    monkeypatch.chdir(tmp_path)
    listed = run_cli("init")
    assert (listed.code, listed.err.splitlines()) == (
        4,
        [
            "there are 2 skills and agents; name one:",
            "  skillwalker init print-photos:print-photos",
            "  skillwalker init sort-photos:sort-photos",
        ],
    )
    assert run_cli("init", "sort-photos").code == 0
    value, _ = written(tmp_path, "sort-photos")
    assert value["plugins"] == ["sort-photos"]
    assert value["tests"][0]["queries"] == [{"query": "Sort photos by date.", "should_trigger": True}]
    assert value["tests"][1]["queries"] == [{"query": "Print photos on canvas.", "should_trigger": False}]
    assert run_cli("init", listed.err.split()[-1], "--eval", "again").code == 0


@pytest.mark.parametrize("form", ["trigger-evals", "evals-json"])
def test_what_was_taken_over_can_be_given_back(root: Path, run_cli: Cli, form: str) -> None:
    case = {
        "id": 1,
        "name": "x",
        "prompt": "Tidy it",
        "expected_output": "Clean",
        "files": [],
        "expectations": ["A", "B"],
    }
    lone = {**case, "id": 2, "name": "y", "expectations": []}
    value = QUERIES if form == "trigger-evals" else {"skill_name": "tidy", "evals": [case, lone]}
    source = write(root / "in.json", json.dumps(value))
    assert run_cli("--root", root, "init", "tidy", "--from", source).code == 0

    back = json.loads(run_cli("--root", root, "list", "evals", "tidy", "--as", form).out)

    if form == "trigger-evals":
        assert back == [{key: query[key] for key in ("query", "should_trigger")} for query in QUERIES]
    else:
        assert back == {"skill_name": "tidy", "evals": [case, {**lone, "expected_output": "Clean"}]}


@pytest.mark.parametrize("known_by", ["skillFile", "the only skill", "the eval's name", "nothing"])
def test_an_exported_file_names_the_skill(root: Path, run_cli: Cli, known_by: str) -> None:
    case = {"id": 1, "prompt": "Tidy it", "expectations": ["It is tidy"]}
    source = write(root / "in.json", json.dumps({"skill_name": "tidy", "evals": [case]}))
    name = "tidy" if known_by == "the eval's name" else "output"
    for other in ("hello", "forked") if known_by == "the only skill" else ():
        (root / "acme/skills" / other / "SKILL.md").unlink()
    assert run_cli("--root", root, "init", "tidy", "--from", source, "--eval", name).code == 0
    file = root / "evals" / name / "tests.json"
    value = json.loads(file.read_text("utf-8"))
    assert [test.get("skillFile") for test in value["tests"]] == ["acme:tidy"]
    if known_by != "skillFile":
        del value["tests"][0]["skillFile"]
        file.write_text(json.dumps(value))

    called = run_cli("--root", root, "list", "evals", name, "--as", "evals-json")

    assert json.loads(called.out)["skill_name"] == ("output" if known_by == "nothing" else "tidy")
    assert ("no test of output tells the skill" in called.err) is (known_by == "nothing")


def test_what_another_file_cannot_say_is_told(root: Path, run_cli: Cli) -> None:
    run_cli("--root", root, "init", "tidy")
    called = run_cli("--root", root, "list", "evals", "tidy", "--as", "trigger-evals")
    assert "not exported: tidy::Task: tidy: no test of activation with true or false" in called.err

    run_cli("--root", root, "init", "hello")
    both = run_cli("--root", root, "list", "--as", "trigger-evals")
    assert (both.code, both.out) == (4, "")
    assert "these tests are about acme:hello, acme:tidy: select the tests of one" in both.err
    none = run_cli("--root", root, "list", "evals", "tidy", "-k", "Call", "--as", "evals-json")
    assert (none.code, none.out) == (4, "")
