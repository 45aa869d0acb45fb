"""Whole `tests.json` files, valid and invalid, lie in `data/evals` with what is expected of them beside.

`REWRITE_EXPECTED=1 pytest tests/test_loading.py` writes the `.expected` files anew: read the difference.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from skillwalker.errors import ConfigurationError, Problem
from skillwalker.evals import Eval, TestType
from skillwalker.loading import find_evals, find_root, load_eval, place

DATA = Path(__file__).parent / "data" / "evals"
PROMPTS = {
    "greet.md": b"Say hello\n",
    "deep/er.md": b"Clean this table, please",
    "mark-and-cr-lf.md": b"\xef\xbb\xbfSay hello\r\nto the world\r\n",
}


def cases(kind: str) -> list[Path]:
    return sorted(path for path in (DATA / kind).iterdir() if path.suffix != ".expected")


def eval_of(case: Path, root: Path) -> Path:
    """The eval of a case: its directory, or its file beside the prompts and the scaffold above."""
    directory = root / "evals" / case.stem
    if case.is_dir():
        shutil.copytree(case, directory)
        return directory
    directory.mkdir(parents=True)
    shutil.copy(case, directory / "tests.json")
    for name, data in PROMPTS.items():
        (directory / "prompts" / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / "prompts" / name).write_bytes(data)
    (directory / "scaffolds" / "app").mkdir(parents=True)
    (directory / "scaffolds" / "app" / "readme.txt").write_bytes(b"An app\n")
    return directory


def check_expected(case: Path, actual: str) -> None:
    expected = case.with_suffix(".expected")
    if os.environ.get("REWRITE_EXPECTED"):
        expected.write_text(actual, "utf-8")
    assert actual == expected.read_text("utf-8")


@pytest.mark.parametrize("case", cases("invalid"), ids=lambda case: case.stem)
def test_an_invalid_eval_is_explained(case: Path, tmp_path: Path) -> None:
    loaded = load_eval(eval_of(case, tmp_path), tmp_path)
    assert loaded.eval is None
    check_expected(case, "".join(f"{problem}\n" for problem in loaded.placed()))


@pytest.mark.parametrize("case", cases("valid"), ids=lambda case: case.stem)
def test_a_valid_eval_is_read_as_written(case: Path, tmp_path: Path) -> None:
    loaded = load_eval(eval_of(case, tmp_path), tmp_path)
    assert [str(problem) for problem in loaded.placed()] == []
    assert loaded.eval is not None
    assert loaded.eval is loaded.draft
    check_expected(case, described(loaded.eval))


def described(evaluation: Eval) -> str:
    lines = [f"{evaluation.name}: plugins {list(evaluation.plugins)}"]
    for test in evaluation.tests:
        lines += [
            f"{test.path} {test.name!r}",
            f"  {test.type}, {test.model}, {test.trials} trials, pass rate {test.pass_rate}",
            f"  skill {test.skill_file}, agent {test.agent_file}",
            f"  {test.prompt_file.relative_to(evaluation.directory).as_posix()}: {test.prompt!r}",
            f"  {test.scaffold and test.scaffold.relative_to(evaluation.directory).as_posix()}",
            *(f"  {spec.path}: {spec.type} = {spec.value!r}" for spec in test.expect),
            *([f"  tags {list(test.tags)}"] if test.tags else []),
            *([f"  skipped: {test.skip}"] if test.skip else []),
        ]
    return "\n".join(lines) + "\n"


def write(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return root


GOOD = (
    '{"plugins": ["acme"], "tests": '
    '[{"name": "n", "type": "skill-prompt", "promptFile": "p.md", "expect": [{"x": 1}]}]}'
)


def messages(root: Path, name: str = "greet") -> list[str]:
    return [str(problem) for problem in load_eval(root / "evals" / name, root).placed()]


def test_lines_are_those_of_the_value_that_counts(tmp_path: Path) -> None:
    """Of two equal keys the later one is read, so its inside is where a problem lies."""
    text = '{"plugins": ["acme"],\n"tests": [{"nme": 1}],\n"tests": [\n{},\n{"name": "n", "tpye": 1}]}'
    root = write(tmp_path, {"evals/greet/tests.json": text})
    lines = [message.split(": ")[:2] for message in messages(root)]
    assert ["evals/greet/tests.json:3", "tests"] in lines
    assert ["evals/greet/tests.json:4", "tests[0].name"] in lines
    assert ["evals/greet/tests.json:5", "tests[1].tpye"] in lines
    assert not any(":2" in place for place, _ in lines)


@pytest.mark.parametrize("target", ["nowhere", "tests.json"], ids=["dangling", "to itself"])
def test_a_broken_link_is_explained(tmp_path: Path, target: str) -> None:
    directory = tmp_path / "evals" / "greet"
    directory.mkdir(parents=True)
    (directory / "tests.json").symlink_to(target)
    assert find_evals(tmp_path).evals == (directory,)
    assert messages(tmp_path) in (
        ["evals/greet/tests.json: is a link that leads nowhere"],
        ["evals/greet/tests.json: cannot be read: Too many levels of symbolic links"],
    )


def test_a_fifo_is_not_waited_for(tmp_path: Path) -> None:
    (tmp_path / "evals" / "greet").mkdir(parents=True)
    os.mkfifo(tmp_path / "evals" / "greet" / "tests.json")
    assert messages(tmp_path) == ["evals/greet/tests.json: is not a regular file"]


def test_what_may_not_be_read_is_explained(tmp_path: Path) -> None:
    root = write(tmp_path, {"evals/file/tests.json": GOOD, "evals/directory/tests.json": GOOD})
    (root / "evals/file/tests.json").chmod(0)
    (root / "evals/directory").chmod(0)
    if os.access(root / "evals/file/tests.json", os.R_OK):
        pytest.skip("this user may read everything")
    try:
        assert [path.name for path in find_evals(root).evals] == ["directory", "file"]
        assert messages(root, "file") == ["evals/file/tests.json: cannot be read: Permission denied"]
        assert messages(root, "directory") == [
            "evals/directory/tests.json: cannot be read: Permission denied"
        ]
    finally:
        (root / "evals/directory").chmod(0o755)


def test_nesting_beyond_reason_is_a_problem_with_a_line(tmp_path: Path) -> None:
    root = write(tmp_path, {"evals/greet/tests.json": '{"plugins":\n' + "[" * 100_000 + "]" * 100_000 + "}"})
    assert messages(root) == ["evals/greet/tests.json:2: is not JSON: it is nested more than 200 levels deep"]


def test_the_name_of_the_directory_is_checked(tmp_path: Path) -> None:
    root = write(tmp_path, {"evals/gr\neet/tests.json": GOOD, "evals/gr\neet/prompts/p.md": "Hello"})
    assert messages(root, "gr\neet") == [
        "evals/gr\\neet/tests.json: the name of the eval's directory holds control characters"
    ]


def test_a_draft_holds_what_can_still_be_checked(tmp_path: Path) -> None:
    text = (
        '{"plugins": ["acme", "other"], "tests": [{"type": "agent-cal", "agentFile": "acme:auditor",'
        ' "expect": [{"llm-judge": {}}, {"a": 1, "b": 2}]}, 7]}'
    )
    loaded = load_eval((write(tmp_path, {"evals/greet/tests.json": text}) / "evals/greet"), tmp_path)
    assert loaded.eval is None
    assert loaded.draft is not None
    assert loaded.draft.plugins == ("acme", "other")
    [test] = loaded.draft.tests
    assert (test.type, test.agent_file, test.name, test.prompt) == (
        TestType.AGENT_CALL,
        "acme:auditor",
        "",
        "",
    )
    assert [spec.path for spec in test.expect] == [
        "tests[0].expect[0].llm-judge",
        "tests[0].expect[1].a",
        "tests[0].expect[1].b",
    ]


def test_a_draft_names_no_plugins_where_one_is_a_problem(tmp_path: Path) -> None:
    root = write(tmp_path, {"evals/greet/tests.json": GOOD.replace('"acme"', '"acme", "/x"')})
    loaded = load_eval(root / "evals/greet", root)
    assert loaded.draft is not None
    assert loaded.draft.plugins == ()


def test_a_plugin_need_not_be_there_yet_but_no_link_may_leave_the_root(tmp_path: Path) -> None:
    """Whether it is a plugin is found where plugins are read."""
    root = write(
        tmp_path / "project",
        {
            "evals/greet/tests.json": GOOD.replace('["acme"]', '["missing",\n"inner",\n"outer",\n"x/outer"]'),
            "evals/greet/prompts/p.md": "Hello",
            "real/SKILL.md": "",
        },
    )
    (tmp_path / "elsewhere").mkdir()
    (root / "inner").symlink_to("real")
    (root / "outer").symlink_to("../elsewhere")
    (root / "x").mkdir()
    (root / "x/outer").symlink_to(tmp_path / "elsewhere")
    assert messages(root) == [
        "evals/greet/tests.json:3: plugins[2]: outer is a link that leads out of project/",
        "evals/greet/tests.json:4: plugins[3]: x/outer is a link that leads out of project/",
    ]


def test_problems_of_others_are_placed_among_the_own_ones(tmp_path: Path) -> None:
    text = (
        GOOD.replace('"type"', '\n"type"')
        .replace('"expect"', '\n"expect"')
        .replace('{"x": 1}', '\n{"x": {"y": 2}}')
    )
    root = write(tmp_path, {"evals/greet/tests.json": text})
    loaded = load_eval(root / "evals/greet", root)
    more = [
        Problem("too big", path="tests[0].expect[0].x.y"),
        Problem("missing", path="tests[0].expect[0].x.absent.deeper"),
        Problem("of another file", file="rubric.md", line=1),
    ]
    assert [str(problem) for problem in loaded.placed(more)] == [
        "rubric.md:1: of another file",
        "evals/greet/tests.json:2: tests[0].promptFile: prompts/p.md does not exist",
        "evals/greet/tests.json:4: tests[0].expect[0].x.y: too big",
        "evals/greet/tests.json:4: tests[0].expect[0].x.absent.deeper: missing",
    ]


def test_a_place_is_given_without_a_line_where_the_file_is_gone(tmp_path: Path) -> None:
    [problem] = place([Problem("wrong", path="tests[0]")], tmp_path / "gone.json", tmp_path)
    assert str(problem) == "gone.json: tests[0]: wrong"


def test_the_root_is_the_nearest_directory_with_an_eval(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "evals/outer/tests.json": GOOD,
            "inner/evals/greet/tests.json": GOOD,
            "inner/evals/greet/prompts/deep/p.md": "",
            "other/evals/evals.json": "{}",
            "other/evals/tests.json": "{}",
        },
    )
    assert find_root(tmp_path / "inner/evals/greet/prompts/deep") == tmp_path / "inner"
    assert find_root(tmp_path / "inner") == tmp_path / "inner"
    assert find_root(tmp_path / "other/evals") == tmp_path
    assert find_root(tmp_path / "not/there") == tmp_path


def test_no_eval_upwards_means_no_root(tmp_path: Path) -> None:
    write(tmp_path, {"evals/evals.json": "[]", "evals/case/prompt.md": "Hello"})
    assert find_root(tmp_path / "evals" / "case") is None


def test_files_of_other_tools_are_noted(tmp_path: Path) -> None:
    root = write(
        tmp_path,
        {
            "evals/greet/tests.json": GOOD,
            "evals/Zebra/tests.json": "[]",
            "evals/evals.json": "[]",
            "evals/queries.yaml": "",
            "evals/README.md": "",
            "evals/.DS_Store": "",
            "evals/__pycache__/x.pyc": "",
            "evals/case-1/prompt.md": "Hello",
            "evals/results/2026/tests.json": "{}",
            "evals/similar/test.json": "{}",
        },
    )
    (root / "evals/linked").symlink_to("greet")
    found = find_evals(root)
    assert [path.name for path in found.evals] == ["Zebra", "greet", "linked"]
    assert found.notes == (
        "3 entries of other tools in evals/ are not read: case-1/, evals.json, queries.yaml",
        "evals/results/ is no eval, and evals do not nest: results/2026 not read; move them up into evals/",
        "evals/similar/ has no tests.json, only test.json: not read (did you mean tests.json?)",
    )


@pytest.mark.parametrize(
    ("files", "note"),
    [
        (["evals.json"], "evals/evals.json belongs to another tool: not read"),
        (["a/prompt.md"], "evals/a/ has no tests.json and belongs to another tool: not read"),
        (["a/prompt.md", "b/x"], "2 entries without a tests.json in evals/ are not read: a/, b/"),
        (
            [f"{n}.json" for n in range(8)],
            "8 entries of other tools in evals/ are not read: 0.json, 1.json, 2.json, 3.json, 4.json, "
            "5.json and 2 more",
        ),
    ],
    ids=["file", "directory", "directories", "many"],
)
def test_all_of_other_tools_is_one_note(tmp_path: Path, files: list[str], note: str) -> None:
    write(tmp_path, {"evals/greet/tests.json": GOOD, **{f"evals/{name}": "" for name in files}})
    assert find_evals(tmp_path).notes == (note,)


def test_without_evals_nothing_is_found(tmp_path: Path) -> None:
    assert find_evals(tmp_path).evals == ()
    (tmp_path / "evals").write_text("a file")
    assert find_evals(tmp_path).evals == ()


def test_evals_that_cannot_be_read_are_a_problem(tmp_path: Path) -> None:
    (tmp_path / "evals").symlink_to("evals")
    with pytest.raises(ConfigurationError, match=r"evals: cannot be read: Too many levels"):
        find_evals(tmp_path)
