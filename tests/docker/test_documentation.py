"""Every command that README and docs show is run, where a reader would run it."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from rehearsed_model import RehearsedModel
from roots import write
from upstream_support import SECRET

from skillwalker.packaged import packaged

TOP = Path(__file__).parents[2]
PAGES = [TOP / "README.md", *sorted((TOP / "docs").glob("*.md"))]
FOLLOWED = [page for page in PAGES if page.name != "expectations.md"]  # see test_expectations_page.py
FILE = re.compile(r"<!-- file: (\S+) -->\n```\w*\n(.*?)```\n", re.DOTALL)
CONSOLE = re.compile(r"```console\n(.*?)```", re.DOTALL)
OUTPUT = re.compile(r"```console\n([^`]*)```\n\n<!-- output -->\n```text\n(.*?)```", re.DOTALL)
CHANGES = (
    (r"\d{8}T\d{6}Z-[0-9a-f]{6}", "RUN"),
    (r"\d+\.\d s", "N s"),
    (r"Docker engine .*", "Docker engine"),
)
"""What is another in each run."""
OF_A_CHECKOUT = ("make ", "pip ")


def commands(page: Path) -> list[str]:
    lines = [line for block in CONSOLE.findall(page.read_text("utf-8")) for line in block.splitlines()]
    return [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]


def outputs(page: Path) -> dict[str, str]:
    """What the page shows of what its commands print, by the command; of a block the last one's."""
    found = OUTPUT.findall(page.read_text("utf-8"))
    return {block.splitlines()[-1].removeprefix("$ "): shown for block, shown in found}


def settled(text: str) -> str:
    for pattern, word in CHANGES:
        text = re.sub(pattern, word, text)
    return text


def run(command: str, directory: Path) -> subprocess.CompletedProcess[str]:
    bin_directory = Path(sys.executable).parent
    if "--record" in command:  # asks a model
        with RehearsedModel(directory) as model:
            own = {"ANTHROPIC_BASE_URL": model.url, "ANTHROPIC_API_KEY": SECRET}
            return _run(command, directory, bin_directory, own)
    return _run(command, directory, bin_directory, {})


def _run(
    command: str, directory: Path, bin_directory: Path, more: dict[str, str]
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        shell=True,
        cwd=directory,
        env={**os.environ, **more, "PATH": f"{bin_directory}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("page", FOLLOWED, ids=lambda page: page.name)
def test_the_commands_of_a_page_work_in_their_order(page, tmp_path, sandbox_image):
    files = FILE.findall(page.read_text("utf-8"))
    for name, content in files:
        write(tmp_path / name, content)
    if not files:  # then a page speaks of the example
        shutil.copytree(packaged("examples/csv-toolbox"), tmp_path, dirs_exist_ok=True)
    for command in commands(page):
        if command.startswith(OF_A_CHECKOUT):
            continue
        done = run(command, tmp_path)
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
        if shown := outputs(page).get(command):
            assert settled(done.stdout) == settled(shown)


def test_outputs_that_are_shown_belong_to_a_command():
    for page in PAGES:
        assert page.read_text("utf-8").count("<!-- output -->") == len(outputs(page)), page
    assert len(outputs(TOP / "README.md")) >= 2


def test_every_shell_block_is_one_that_is_run():
    for page in PAGES:
        text = page.read_text("utf-8")
        assert not re.search(r"```(sh|bash|shell)\b", text), page
        for block in CONSOLE.findall(text):
            assert all(line.startswith("$ ") for line in block.splitlines()), page


def test_make_targets_that_are_shown_exist():
    shown = {
        word for page in PAGES for command in commands(page) for word in re.findall(r"^make (\w+)", command)
    }

    assert {"demo", "test"} <= shown
    for target in shown:
        subprocess.run(["make", "-n", target], cwd=TOP, check=True, capture_output=True)


def test_make_demo_works_in_this_checkout(sandbox_image):
    done = subprocess.run(["make", "demo"], cwd=TOP, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.strip().splitlines()
    assert "13 tests: 13 passed" in done.stdout
    assert lines[-1].startswith("REHEARSED")


def test_links_between_pages_lead_somewhere():
    for page in PAGES:
        for target in re.findall(r"\]\((?!https?://|#)([^)#]+)", page.read_text("utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_the_parser_of_this_test_finds_commands():
    found = commands(TOP / "README.md")

    assert "skillwalker run --isolated --rehearse" in found
    assert all(shlex.split(command) for command in found)
