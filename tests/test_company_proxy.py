"""The proxy of this machine is found where everybody puts it."""

from __future__ import annotations

import pytest

from skillwalker.errors import ConfigurationError
from skillwalker.sandbox.company_proxy import CompanyProxy, WayOut


def test_without_variables_the_way_is_direct() -> None:
    assert WayOut.of({"NO_PROXY": ""}) == WayOut()
    assert not WayOut().passes("pypi.org", 443)


def test_each_kind_has_its_own_proxy_and_small_letters_win() -> None:
    way = WayOut.of(
        {"HTTPS_PROXY": "http://a:1", "https_proxy": "http://b:2", "HTTP_PROXY": "c:3", "NO_PROXY": "x"}
    )
    assert way == WayOut(CompanyProxy("b", 2, None), CompanyProxy("c", 3, None), "x")
    both = WayOut.of({"ALL_PROXY": "http://a"})
    assert both.tunnels == both.requests == CompanyProxy("a", 80, None)


def test_a_password_becomes_a_header() -> None:
    way = WayOut.of({"HTTPS_PROXY": "http://me:p%40ss@proxy:3128"})
    assert way.tunnels == CompanyProxy("proxy", 3128, "Basic bWU6cEBzcw==")


@pytest.mark.parametrize("text", ["https://proxy:1", "socks5://proxy:1", "http://", "http://proxy:port"])
def test_a_proxy_of_another_kind_is_told_without_its_password(text: str) -> None:
    with pytest.raises(ConfigurationError, match="HTTPS_PROXY must name a proxy") as caught:
        WayOut.of({"HTTPS_PROXY": text.replace("://", "://me:secret@")})
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("host", "passes"),
    [
        ("nexus.corp", True),
        ("a.nexus.corp", True),
        ("10.0.0.1", True),
        ("notnexus.corp", False),
        ("pypi.org", False),
    ],
)
def test_no_proxy_lets_hosts_be_reached_directly(host: str, passes: bool) -> None:
    assert WayOut.of({"no_proxy": ".nexus.corp, 10.0.0.1"}).passes(host, 443) is passes


def test_no_proxy_for_all() -> None:
    assert WayOut.of({"NO_PROXY": "*"}).passes("pypi.org", 443)
