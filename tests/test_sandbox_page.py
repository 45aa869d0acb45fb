"""docs/sandbox.md tells what the code does, down to its numbers and names."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from skillwalker.configuration import load_configuration
from skillwalker.outcomes import Reason
from skillwalker.redaction import SHORTEST
from skillwalker.request import RunRequest
from skillwalker.sandbox import passing, start_script
from skillwalker.sandbox.allowed import AllowList
from skillwalker.sandbox.base import Limits
from skillwalker.sandbox.building import CONTEXT_MIB, MIRRORS, PROXIES
from skillwalker.sandbox.certificates import VARIABLES
from skillwalker.sandbox.image import CUSTOM_REPOSITORY, sandbox_dockerfile
from skillwalker.sandbox.owner import CREATED, KEPT, OWNER, RUN
from skillwalker.sandbox.passing import refusal
from skillwalker.supervisor import STALL_SECONDS

TOP = Path(__file__).parent.parent
PAGE = (TOP / "docs" / "sandbox.md").read_text("utf-8")


def test_versions_are_those_that_the_dockerfile_pins() -> None:
    pinned = dict(re.findall(r"^ARG (\w+)_VERSION=(\S+)$", sandbox_dockerfile().decode(), re.MULTILINE))
    assert pinned.keys() == {"CLAUDE", "NPM", "UV"}
    assert f"Claude Code {pinned['CLAUDE']} in" in PAGE
    assert f"npm {pinned['NPM']} and uv {pinned['UV']}," in PAGE


def test_limits_are_those_of_a_trial() -> None:
    limits = Limits()
    rows = {
        f"| {RunRequest(root=TOP, cwd=TOP).timeout_seconds:.0f} seconds;": Reason.TIMEOUT,
        f"| {STALL_SECONDS:.0f} seconds |": Reason.STALLED,
        f"no swap | {limits.memory_mib / 1024:g} GiB |": Reason.OUT_OF_MEMORY,
        f"work directory | {limits.workspace_mib / 1024:g} GiB |": Reason.DISK_LIMIT,
        f"file | {limits.file_mib / 1024:g} GiB |": "fails",
        f"threads | {limits.pids} |": "fails",
    }
    for numbers, beyond in rows.items():
        assert re.search(f"^.*{re.escape(numbers)}.*{beyond}", PAGE, re.MULTILINE), numbers
    assert limits.cpus is None


def test_variables_and_labels_are_those_that_are_read_and_set() -> None:
    script = (TOP / "skillwalker" / "data" / "make-base.sh").read_text("utf-8")
    ours = {"SKILLWALKER_CA_FILE", *MIRRORS, *re.findall(r"\$\{(SKILLWALKER_\w+):-", script)}
    assert set(re.findall(r"SKILLWALKER_\w+", PAGE)) == {*ours, "SKILLWALKER_IMAGE"}
    for name in (*PROXIES, *VARIABLES, OWNER, RUN, CREATED, start_script.HOME, start_script.WORKSPACE):
        assert f"`{name}`" in PAGE, name
    assert f"name={KEPT.removesuffix('-')}" in PAGE


def test_what_is_not_there_is_not_promised() -> None:
    assert not re.search(r"--(memory|cpus|network|allow|env)\b", PAGE)


def test_the_configuration_that_is_shown_is_read(tmp_path: Path) -> None:
    shown = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    assert len(shown) == 3
    (tmp_path / "sandbox").mkdir()
    (tmp_path / "sandbox" / "Dockerfile").write_text("FROM x")
    found = []
    for text in shown:
        (tmp_path / "skillwalker.toml").write_text(text)
        found.append(load_configuration(tmp_path))
    assert [bool(one.allow or one.env or one.dockerfile) for one in found] == [True] * 3
    AllowList.of(found[0].allow)
    assert [refusal(name) for name in found[1].env] == [None]


@pytest.mark.parametrize("page", ["sandbox.md", "configuration.md"])
def test_both_pages_tell_which_names_are_refused(page: str) -> None:
    text = (TOP / "docs" / page).read_text("utf-8")
    [told] = re.findall(r"and all that begin with (`[^.]*`)\.\n", text)
    prefixes = re.findall(r"`(\w+)`", told)
    in_code = re.findall(r"\b(\w+_)\.\*", passing._OURS.pattern)
    assert sorted(prefixes) == sorted([*in_code, *passing._CREDENTIALS, passing._FOR_US])
    assert all(map(refusal, (*(f"{prefix}X" for prefix in prefixes), "PATH", "HOME", "FTP_PROXY")))


def test_what_is_said_of_hosts_and_variables_is_so() -> None:
    for name in ("HTTPS_PROXY", "HTTP_PROXY"):
        assert name in start_script.PROXY_VARIABLES
        assert f"`{name}`" in PAGE
    assert f"fewer than {SHORTEST} characters" in PAGE
    assert f"up to {CONTEXT_MIB} MiB" in PAGE
    assert f"`{CUSTOM_REPOSITORY}:...`" in PAGE
    for name, shown in {
        "PATH": "PATH",
        "HOME": "HOME",
        "ANTHROPIC_X": "ANTHROPIC_",
        "CLAUDEX": "CLAUDE",
    }.items():
        assert refusal(name)
        assert f"`{shown}`" in PAGE
