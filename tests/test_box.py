"""Variables and hosts of the configuration, before a run starts."""

from __future__ import annotations

from pathlib import Path

import pytest
from attrs import evolve
from roots import an_eval, plugin

from skillwalker.errors import ConfigurationError
from skillwalker.preparing import prepare, require_startable
from skillwalker.request import RunRequest

NO_EFFECT = "sandbox.network.allow has no effect"


@pytest.fixture
def request_(tmp_path: Path) -> RunRequest:
    plugin(tmp_path)
    an_eval(tmp_path, [{"name": "one", "expect": [{"result-contains": "x"}]}])
    return RunRequest(root=tmp_path, cwd=tmp_path, isolated=True, rehearse=True)


def test_all_that_is_missing_is_told_at_once(request_: RunRequest) -> None:
    asked = evolve(request_, sandbox_env=("A_TOKEN", "PATH"), network_allow=("pypi.org",), claude="x")
    with pytest.raises(ConfigurationError) as caught:
        require_startable(prepare(asked), {"PATH": "/bin"})
    told = [str(problem) for problem in caught.value.problems]
    assert [text.split(":")[0] for text in told] == [
        "--claude is for runs on this machine; with --isolated the image has its own",
        "sandbox.env[0]",
        "sandbox.env[1]",
        "sandbox.network.allow[0]",
    ]


def test_a_proxy_that_cannot_be_used_is_told_only_where_hosts_are_allowed(request_: RunRequest) -> None:
    environment = {"HTTPS_PROXY": "socks5://proxy:1"}
    require_startable(prepare(request_), environment)
    with pytest.raises(ConfigurationError, match="HTTPS_PROXY must name a proxy"):
        require_startable(prepare(evolve(request_, network_allow=("pypi.org:443",))), environment)


def test_that_this_machine_restricts_no_network_is_told(request_: RunRequest) -> None:
    allowed = evolve(request_, network_allow=("pypi.org:443",))
    assert not any(NO_EFFECT in notice for notice in prepare(allowed).notices)
    assert any(NO_EFFECT in notice for notice in prepare(evolve(allowed, isolated=False)).notices)
