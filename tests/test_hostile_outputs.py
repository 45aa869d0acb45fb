"""Whatever command shows a run whose every text is hostile: nothing of it can steer a terminal."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from fuzzing import assert_harmless
from hostile import hostile_run, texts

EARLIER = "20261129T090000Z-0b1c2d"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    run = hostile_run(tmp_path)
    shutil.copytree(run.path, run.path.with_name(EARLIER))
    manifest = run.path.with_name(EARLIER) / "run.json"
    manifest.write_text(manifest.read_text("utf-8").replace(run.id, EARLIER), "utf-8")
    trial = next(run.path.with_name(EARLIER).glob("trials/*bad*/trial.json"))
    stored = json.loads(trial.read_text("utf-8"))
    trial.write_text(json.dumps({**stored, "message": "another", "notes": []}), "utf-8")
    return tmp_path


@pytest.mark.parametrize(
    "command",
    [
        ("show", "last"),
        ("-v", "show", "last"),
        ("show", "last", "*"),
        ("show", "last", "--failed"),
        ("show", "last", "*", "--follow"),
        ("show", "last", "nothing like it"),
        ("list", "runs"),
        ("-v", "list", "runs"),
        ("compare", EARLIER, "last"),
        ("report", "last", "--report", "github=-"),
        ("report", "last", "--report", "markdown=-"),
        ("report", "last", "--report", "junit=-"),
        ("report", "last", "--report", "json=-"),
        ("report", "last", "--report", "html=-", "--compare", EARLIER),
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("form", [(), ("--format", "json")], ids=["text", "json"])
def test_no_command_passes_on_what_steers(run_cli, root, command, form):
    if form and {"report", "-v", "--follow"} & set(command):
        pytest.skip("has no such option, or says the same")

    called = run_cli("--root", root, *command, *form)

    assert called.code == (5 if "nothing like it" in command else 0), called.err
    assert "Traceback" not in called.err
    assert called.out + called.err
    assert_harmless(called.out + called.err, lines=True)


def test_these_texts_would_be_noticed():
    with pytest.raises(AssertionError):
        assert_harmless(texts(), lines=True)
