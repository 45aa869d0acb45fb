"""docs/configuration.md tells what the code does."""

from __future__ import annotations

import re
from pathlib import Path

from attrs import fields_dict
from roots import write

from skillwalker.configuration import load_configuration
from skillwalker.evals import MAX_TRIALS
from skillwalker.prices import Rates
from skillwalker.redaction import SHORTEST
from skillwalker.request import RunRequest
from skillwalker.sandbox.base import Limits
from skillwalker.sandbox.passing import refusal
from skillwalker.settings import MAX_JOBS, MAX_SECONDS, OPTIONS, ModelTable, RunTable, SandboxTable
from skillwalker.sources import variable

TOP = Path(__file__).parents[1]
PAGE = (TOP / "docs" / "configuration.md").read_text("utf-8")
EXAMPLES = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)


def rows(title: str) -> dict[str, list[str]]:
    section = PAGE.partition(f"### `[{title}]")[2].partition("\n### ")[0]
    lines = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in section.splitlines()
        if line[:3] == "| `"
    ]
    return {cells[0].strip("`"): cells[1:] for cells in lines}


def test_every_key_is_told_with_its_variable_and_no_other() -> None:
    run, sandbox = rows("run"), rows("sandbox")
    assert list(run) == list(fields_dict(RunTable))
    assert list(sandbox) == [*fields_dict(SandboxTable), "network.allow"]
    assert list(rows("model")) == list(fields_dict(ModelTable))
    told = {name: cells[1].strip("`") for name, cells in (run | sandbox).items() if cells[1]}
    assert told == {name: variable(name) for name in OPTIONS}
    prices = PAGE.partition("### `[prices")[2].partition("\n## ")[0]
    assert set(re.findall(r"`([a-z_0-9]+)`", prices)) == {
        *fields_dict(Rates),
        *("over_tokens", "long", "opus", "sonnet", "haiku"),
    }


def test_defaults_and_bounds_are_those_of_the_code() -> None:
    run, sandbox = rows("run"), rows("sandbox")
    assert run["timeout"][2] == f"{RunRequest(root=TOP, cwd=TOP).timeout_seconds:g}"
    assert run["timeout"][0].startswith(f"1 to {MAX_SECONDS} seconds")
    assert run["trials"][0].startswith(f"1 to {MAX_TRIALS};")
    assert run["jobs"][0].startswith(f"1 to {MAX_JOBS}:")
    limits = Limits()
    assert (sandbox["memory_mib"][2], sandbox["pids"][2]) == (str(limits.memory_mib), str(limits.pids))
    assert limits.cpus is None
    for name in ("memory_mib", "pids"):
        low, high = re.match(r"(\d+) to (\d+)", sandbox[name][0]).groups()  # type: ignore[union-attr]
        for value in (int(low), int(high)):
            Limits(**{name: value})
        for value in (int(low) - 1, int(high) + 1):
            try:
                Limits(**{name: value})
            except ValueError:
                continue
            raise AssertionError((name, value))
    assert f"fewer than {SHORTEST} characters" in PAGE
    for name in ("HOME", "PATH", "HTTPS_PROXY", "ANTHROPIC_X", "CLAUDE_X", "SKILLWALKER_X"):
        assert refusal(name)


def test_the_full_example_can_be_loaded_and_has_every_table(tmp_path: Path) -> None:
    write(tmp_path / "skillwalker.toml", EXAMPLES[0])
    write(tmp_path / "sandbox" / "Dockerfile", "ARG BASE\nFROM $BASE\n")
    found = load_configuration(tmp_path)
    assert found.options["timeout"] == 900
    assert found.dockerfile == tmp_path / "sandbox" / "Dockerfile"
    assert found.limits == Limits(memory_mib=4096, cpus=2.0, pids=1024)
    assert (found.env, found.allow) == (("GITHUB_TOKEN",), ("api.github.com:443", "pypi.org:443"))
    assert found.prices["claude-haiku-5-5"].keys() == fields_dict(Rates).keys()
    assert "model.subscription" in found.places


def test_the_other_example_is_the_same_for_pyproject(tmp_path: Path) -> None:
    assert len(EXAMPLES) == 2
    write(tmp_path / "pyproject.toml", EXAMPLES[1])
    found = load_configuration(tmp_path)
    assert (found.options, found.allow) == ({"isolated": True}, ("pypi.org:443",))
