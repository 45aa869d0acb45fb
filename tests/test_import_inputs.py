"""Input files of other tools' evals: where they are found and put, and what the tested model must not see."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from roots import plugin, write

from skillwalker.checks import check_evals
from skillwalker.expectations.registry import Registry
from skillwalker.importing.inputs import ANSWER_FILES, ANSWER_PARTS, ANSWERS
from skillwalker.importing.landing import landings, nowhere

Cli = Callable[..., Any]
DOCS = Path(__file__).parents[1] / "docs" / "first-eval.md"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    plugin(tmp_path)
    (tmp_path / ".git").mkdir()
    return tmp_path


def taken(root: Path, run_cli: Cli, *cases: dict[str, Any]) -> tuple[Any, list[str]]:
    """What was called, and the files of the scaffolds."""
    home = root / "acme/skills/tidy"
    items = [{"id": number, "expectations": ["It is clean"], **case} for number, case in enumerate(cases, 1)]
    source = write(home / "evals/evals.json", json.dumps({"skill_name": "tidy", "evals": items}))
    called = run_cli("--root", root, "init", "--from", source)
    assert called.code == 0, called.err
    assert check_evals([root / "evals/tidy"], root, Registry.scan()).problems == ()
    scaffolds = root / "evals/tidy/scaffolds"
    return called, sorted(
        path.relative_to(scaffolds).as_posix() for path in scaffolds.rglob("*") if path.is_file()
    )


@pytest.mark.parametrize(
    ("prompt", "paths", "places"),
    [
        ("Read sales.csv", ["files/sales.csv"], ["sales.csv"]),
        ("Read ./sales.csv.", ["files/sales.csv"], ["sales.csv"]),
        ("Read `files/sales.csv`", ["evals/files/sales.csv"], ["files/sales.csv"]),
        ("Read evals/files/sales.csv", ["evals/files/sales.csv"], ["evals/files/sales.csv"]),
        ("Read my table", ["files/sales.csv"], ["files/sales.csv"]),
        ("Read old-sales.csv", ["files/sales.csv"], ["files/sales.csv"]),
        ("Read sales.csv.bak", ["files/sales.csv"], ["files/sales.csv"]),
        ("Read /data/sales.csv", ["files/sales.csv"], ["files/sales.csv"]),
        ("Audit package.json of evals/api", ["evals/api/package.json"], ["evals/api/package.json"]),
        ("Audit api/v1/ now", ["evals/api/v1/package.json"], ["api/v1/package.json"]),
        ("Audit the api/", ["evals/api/package.json"], ["api/package.json"]),
        ("Grade the gold standard", ["fixtures/gold"], ["fixtures/gold"]),
        ("Grade `gold`", ["fixtures/gold"], ["gold"]),
        ("Tidy main.tf", ["in/main.tf", "in/other.tf", "b/x.tf"], ["main.tf", "other.tf", "b/x.tf"]),
        ("Compare a.csv", ["x/a.csv", "y/a.csv"], ["a.csv", "y/a.csv"]),
    ],
)
def test_a_file_lands_where_the_prompt_looks(prompt: str, paths: list[str], places: list[str]) -> None:
    found = landings([tuple(path.split("/")) for path in paths], prompt)
    assert ["/".join(parts) for parts in found] == places


@pytest.mark.parametrize(
    ("prompt", "names"),
    [
        ("Read in.csv and other.csv", ["other.csv"]),
        ("Read data/in.csv", []),
        ("Save it as out.csv, then read out.csv", []),
        ("Write a summary to notes.md", []),
        ("Use Node.js, e.g. with example.com or https://x.org/a.html", []),
        ("Fix src/a.py: it fails", ["src/a.py"]),
    ],
)
def test_files_that_a_prompt_names_and_nobody_gives(prompt: str, names: list[str]) -> None:
    assert list(nowhere(prompt, [("data", "in.csv")])) == names


def test_what_a_prompt_names_and_is_nowhere_is_told_once(root: Path, run_cli: Cli) -> None:
    write(root / "acme/skills/tidy/scripts/run.py", "x")
    called, _ = taken(root, run_cli, {"prompt": "Tidy a.csv with scripts/run.py"}, {"prompt": "Tidy b.csv"})
    told = [line for line in called.err.splitlines() if "prompts name files" in line]
    assert told == [
        "note: prompts name files, and no input file is called so: Case 1 (a.csv), Case 2 (b.csv); what "
        "should be there from the start goes into the test's scaffold"
    ]


def test_a_file_in_the_skill_is_found_by_the_end_of_its_path_where_it_is_the_only_one(
    root: Path, run_cli: Cli
) -> None:
    home = root / "acme/skills/tidy/evals"
    for name in ("fixtures/a.csv", "one/twice.csv", "two/twice.csv", "deep/lone.csv"):
        write(home / name, name)
    write(root / "secret.csv", "secret")
    (home / "fixtures/secret.csv").symlink_to(root / "secret.csv")
    called, files = taken(
        root,
        run_cli,
        {"prompt": "a", "files": ["tidy/evals/fixtures/a.csv"]},
        {"prompt": "b", "files": ["twice.csv"]},
        {"prompt": "c", "files": ["elsewhere/lone.csv"]},
        {"prompt": "d", "files": ["lone.csv"]},
        {"prompt": "e", "files": ["x/fixtures/secret.csv"]},
    )
    assert files == ["case-1/tidy/evals/fixtures/a.csv", "case-4/lone.csv"]
    assert "note: Case 1: tidy/evals/fixtures/a.csv was taken from evals/fixtures/a.csv" in called.err
    assert (
        "warning: 3 tests are switched off, for want of input files: Case 2, Case 3, Case 5; put the files "
        "into the scaffold that its `skip` in tests.json names, and remove that line\n" in called.err
    )


ANSWER_NAMES = [
    *(f"{word}.md" for word in ANSWERS),
    *(f"{word}-key.json" for word in ANSWERS),
    *(f"case.{word}.json" for word in ANSWER_PARTS),
    *(f"case_{word}" for word in ANSWER_PARTS),
    *ANSWER_FILES,
]
NO_ANSWERS = [
    "a.csv",
    "expectedly.csv",
    "unexpected.csv",
    "references.md",
    "my-answers.csv",
    "solutions4u.md",
]


def test_in_a_directory_what_gives_the_answer_away_and_links_stay_out(root: Path, run_cli: Cli) -> None:
    fix = root / "acme/skills/tidy/evals/fix"
    for name in (*ANSWER_NAMES, *NO_ANSWERS, "reference/x.csv"):
        write(fix / name, name)
    (fix / "link.csv").symlink_to(fix / "a.csv")
    (fix / "below").symlink_to(fix / "reference")
    os.mkfifo(fix / "pipe")
    called, files = taken(root, run_cli, {"prompt": "Tidy", "files": ["fix/"]})

    kept = [name for name in NO_ANSWERS if name != "solutions4u.md"]
    assert [name for name in files if "solutions4u" not in name] == sorted(
        f"case-1/fix/{name}" for name in kept
    )
    left = [line.strip() for line in called.err.splitlines() if "was left out" in line]
    for name in ("link.csv", "below"):
        assert f"Case 1: fix/{name} was left out: it is a link" in left
    assert "Case 1: fix/pipe was left out: it is no regular file" in left
    told = {line.split("fix/")[1].split(" was")[0] for line in left if "by its name" in line}
    assert {*ANSWER_NAMES, "reference"} <= told | {"x"}


def test_a_listed_answer_is_taken_and_told_loudly(root: Path, run_cli: Cli) -> None:
    write(root / "acme/skills/tidy/evals/answer-key.json", "{}")
    called, files = taken(root, run_cli, {"prompt": "Tidy", "files": ["answer-key.json"]})
    assert files == ["case-1/answer-key.json"]
    assert (
        "warning: Case 1: by its name answer-key.json says what is expected; the eval lists it, so it is in "
        "scaffolds/case-1/, and the tested model can read it: remove it if it must not\n" in called.err
    )


def test_the_page_lists_what_stays_out_as_the_code_does() -> None:
    [line] = [line for line in DOCS.read_text("utf-8").splitlines() if "stays out of the scaffold" in line]
    told = line.split("(")[1].split(")")[0].replace("`", "").replace(" and ", ", ").split(", ")
    wanted = [f"{word}*" for word in ANSWERS if f"{word[:-1]}" not in ANSWERS]
    assert sorted(told) == sorted([*wanted, *(f"*.{word}.*" for word in ANSWER_PARTS), *ANSWER_FILES])


def test_an_exported_eval_keeps_its_paths_and_ids(root: Path, run_cli: Cli) -> None:
    home = root / "acme/skills/tidy/evals"
    write(home / "files/a.csv", "a")
    cases = [
        {"id": "sums", "prompt": "Sum files/a.csv", "files": ["files/a.csv"], "expectations": ["A"]},
        {"id": "both", "name": "With a name", "prompt": "Tidy", "expectations": ["B"], "tags": ["slow"]},
        {"id": 7, "prompt": "Tidy", "must_contain": ["x"], "expected_output": "All\nfine"},
    ]
    source = write(home / "evals.json", json.dumps({"skill_name": "tidy", "evals": cases}))
    assert run_cli("--root", root, "init", "--from", source, "--eval", "one").code == 0
    exported = run_cli("--root", root, "list", "evals", "one", "--as", "evals-json")
    value = json.loads(exported.out)
    assert [(case["id"], case.get("name")) for case in value["evals"]] == [
        ("sums", None),
        ("both", "With a name"),
        (7, None),
    ]
    assert value["evals"][1]["tags"] == ["slow"]
    assert value["evals"][2]["expected_output"] == "All\nfine"
    assert value["evals"][0]["files"] == ["evals/one/scaffolds/sums/files/a.csv"]

    back = write(root / "somewhere/back.json", exported.out)
    again = run_cli("--root", root, "init", "tidy", "--from", back, "--eval", "two")
    assert again.code == 0, again.err
    one, two = (
        json.loads((root / "evals" / name / "tests.json").read_text("utf-8")) for name in ("one", "two")
    )
    assert one == two
    assert (root / "evals/two/scaffolds/sums/files/a.csv").read_text() == "a"


def test_an_export_tells_the_model_it_loses(root: Path, run_cli: Cli) -> None:
    case = {"id": 1, "prompt": "Tidy", "expectations": ["B"]}
    source = write(root / "in.json", json.dumps({"skill_name": "tidy", "evals": [case]}))
    assert run_cli("--root", root, "init", "--from", source).code == 0
    file = root / "evals/tidy/tests.json"
    value = json.loads(file.read_text("utf-8"))
    value["tests"][0]["model"] = "opus"
    write(file, json.dumps(value))
    assert (
        "tidy::Case 1: the model opus" in run_cli("--root", root, "list", "evals", "--as", "evals-json").err
    )
