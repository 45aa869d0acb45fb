"""What is not ours to read below a root, such as the data of a database that runs in a container."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from roots import plugin, write
from waiting import PATIENCE

from skillwalker.plugins import _load, _load_all

Cli = Callable[..., Any]

TESTS = """{
  "plugins": ["acme"],
  "tests": [
    {
      "name": "one",
      "type": "skill-prompt",
      "prompt": "tidy it",
      "scaffold": "shop",
      "expect": [{ "result-contains": "tidied" }]
    }
  ]
}
"""


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    plugin(tmp_path)
    (tmp_path / ".git").mkdir()
    write(tmp_path / "evals/shop/tests.json", TESTS)
    write(tmp_path / "evals/shop/scaffolds/shop/a/b.txt", "b")
    monkeypatch.chdir(tmp_path)
    _load.cache_clear()
    _load_all.cache_clear()
    return tmp_path


def close(monkeypatch: pytest.MonkeyPatch, directory: Path) -> None:
    """Makes it as `chmod 000` does for whoever is not root."""
    directory.mkdir(parents=True, exist_ok=True)

    def refusing(real: Callable[..., Any], *, itself: bool) -> Callable[..., Any]:
        def call(path: Any, *args: Any, **more: Any) -> Any:
            if not isinstance(path, int):
                place = Path(os.path.abspath(os.fspath(path)))
                if directory in place.parents or (itself and place == directory):
                    raise PermissionError(13, "Permission denied", str(path))
            return real(path, *args, **more)

        return call

    real_access = os.access
    for name in ("stat", "lstat"):
        monkeypatch.setattr(os, name, refusing(getattr(os, name), itself=False))
    for name in ("scandir", "listdir"):
        monkeypatch.setattr(os, name, refusing(getattr(os, name), itself=True))
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != directory and real_access(path, mode))


@pytest.mark.parametrize("name", ["data", "acme/cache", ".claude"])
def test_init_passes_it_over(root: Path, monkeypatch: pytest.MonkeyPatch, run_cli: Cli, name: str) -> None:
    close(monkeypatch, root / name)

    called = run_cli("init", "acme:tidy")

    assert (called.code, "cannot be read" in called.err) == (0, False)
    assert (root / "evals/tidy/tests.json").is_file()


def test_init_names_it_where_something_is_missed(
    root: Path, monkeypatch: pytest.MonkeyPatch, run_cli: Cli
) -> None:
    close(monkeypatch, root / "other")

    called = run_cli("init", "other:tidy")

    assert called.code == 4
    assert called.err.splitlines()[0].startswith("there is no skill or agent other:tidy")
    assert called.err.splitlines()[1:] == ["other/ cannot be read: no plugin in it is known"]


@pytest.mark.parametrize("command", ["validate", "lint"])
def test_a_scaffold_that_cannot_be_read_is_told_with_its_place(
    root: Path, monkeypatch: pytest.MonkeyPatch, run_cli: Cli, command: str
) -> None:
    close(monkeypatch, root / "evals/shop/scaffolds/shop")

    called = run_cli(command)

    assert called.code == 4
    assert called.err.splitlines() == [
        "evals/shop/tests.json:8: tests[0].scaffold: scaffolds/shop cannot be read: Permission denied"
    ]


def test_every_test_with_such_a_scaffold_is_told(
    root: Path, monkeypatch: pytest.MonkeyPatch, run_cli: Cli
) -> None:
    one = TESTS[TESTS.index("    {") : TESTS.index("    }") + 5]
    write(root / "evals/shop/tests.json", TESTS.replace(one, f"{one},\n{one}".replace('"one"', '"two"', 1)))
    close(monkeypatch, root / "evals/shop/scaffolds/shop")

    called = run_cli("validate")

    assert called.err.count(".scaffold: scaffolds/shop cannot be read: Permission denied") == 2


def test_lint_tells_what_in_a_scaffold_cannot_be_read(
    root: Path, monkeypatch: pytest.MonkeyPatch, run_cli: Cli
) -> None:
    closed = root / "evals/shop/scaffolds/shop/a"
    close(monkeypatch, closed)

    called = run_cli("lint")

    assert called.code == 4
    assert called.err.splitlines() == [f"{closed}: cannot be read: Permission denied"]


@pytest.mark.parametrize(
    "name", ["hooks/hooks.json", "agents/x.md", "commands/x.md", "skills/q/SKILL.md", ".mcp.json"]
)
def test_what_never_ends_is_no_file_of_a_plugin(root: Path, name: str) -> None:
    path = root / "acme" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    os.mkfifo(path)
    for arguments in (["validate"], ["lint"], ["list", "evals"], ["init", "acme:tidy", "--eval", "new"]):
        program = [sys.executable, "-m", "skillwalker", *arguments]
        called = subprocess.run(
            program, cwd=root, capture_output=True, text=True, timeout=PATIENCE, check=False
        )
        assert called.returncode in (0, 1, 4), called.stderr
        assert "Traceback" not in called.stderr
