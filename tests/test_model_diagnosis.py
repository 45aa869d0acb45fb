"""What `doctor` says of credentials and of the model's server."""

from __future__ import annotations

import threading

import pytest
from upstream_support import SECRET, Server, closed_port, key, refuses, says

from skillwalker import model_diagnosis
from skillwalker.model_diagnosis import examine_model, probe

KEY = {"ANTHROPIC_API_KEY": SECRET}
MODELS = {"data": [{"id": "claude-sonnet-5-5", "type": "model"}], "has_more": True}


@pytest.fixture(autouse=True)
def no_proxy_of_this_machine(monkeypatch):
    for name in ("http_proxy", "https_proxy", "all_proxy", "ssl_cert_file", "ssl_cert_dir"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


def checks(environment, home, **options):
    return [
        (one.name, one.status, one.message)
        for one in examine_model(environment, **{"platform": "linux", "home": home, **options})
    ]


def test_without_a_credential_there_is_advice_and_nothing_is_asked(tmp_path):
    ((name, status, message),) = checks({}, tmp_path)
    assert (name, status) == ("credential", "warn")
    assert "ANTHROPIC_API_KEY" in message
    assert "--rehearse" in message


def test_what_is_used_and_what_is_not_and_whether_the_server_takes_it(tmp_path):
    with Server(says(200, MODELS)) as server:
        environment = KEY | {"ANTHROPIC_AUTH_TOKEN": "another", "ANTHROPIC_BASE_URL": server.url + "/x"}
        found = checks(environment, tmp_path)
        (asked,) = server.asked
    assert [(name, status) for name, status, _ in found] == [("credential", "ok")] * 2 + [("api", "ok")]
    assert found[0][2] == f"an API key from ANTHROPIC_API_KEY, for {server.url}/x"
    assert found[1][2].startswith("ANTHROPIC_AUTH_TOKEN is not used: ANTHROPIC_API_KEY goes first")
    assert found[2][2] == f"127.0.0.1:{server.port} answers and takes what ANTHROPIC_API_KEY holds"
    assert (asked.method, asked.path) == ("GET", "/x/v1/models?limit=1")
    assert asked.headers["x-api-key"] == SECRET
    assert SECRET not in str(found)


def test_a_long_list_of_models_is_read_to_its_end():
    many = {"data": [{"id": f"model-{number}", "type": "model"} for number in range(10_000)]}
    with Server(says(200, many)) as server:
        assert "answers and takes what" in probe(key(server.url)).message


def test_problems_and_warnings_are_lines(tmp_path):
    found = checks({"ANTHROPIC_API_KEY": "a b", "ANTHROPIC_BASE_URL": "nonsense"}, tmp_path)
    assert [(name, status) for name, status, _ in found] == [("credential", "warn")] * 2
    environment = KEY | {"ANTHROPIC_BASE_URL": "http://models.invalid", "HTTP_PROXY": ""}
    found = checks(environment, tmp_path)
    assert any("without encryption" in message for _, _, message in found)


@pytest.mark.parametrize(
    ("answer", "status", "said"),
    [
        (
            refuses(401, "authentication_error", f"invalid {SECRET}"),
            "warn",
            "refuses what ANTHROPIC_API_KEY holds (401)",
        ),
        (refuses(403, "permission_error", "not yours"), "warn", "(403): not yours"),
        (refuses(404, "not_found_error", "no"), "ok", "the first request shows"),
        (says(200, b"<html>", "text/html"), "ok", "the first request shows"),
        (says(200, []), "ok", "the first request shows"),
        (says(307, b"", location="https://elsewhere.test"), "ok", "the first request shows"),
        (refuses(529, "overloaded_error", "busy"), "warn", "answers with 529: busy"),
        (refuses(429, "rate_limit_error", "slow"), "warn", "answers with 429: slow"),
    ],
)
def test_what_a_server_says(answer, status, said):
    with Server(answer) as server:
        check = probe(key(server.url))
        assert len(server.asked) == 1
    assert (check.name, check.status) == ("api", status)
    assert said in check.message
    assert SECRET not in check.message


def test_a_subscription_is_not_shown_to_anything_but_claude_code():
    with Server(says(404, b"")) as server:
        check = probe(key(server.url, "subscription", "CLAUDE_CODE_OAUTH_TOKEN"))
        (asked,) = server.asked
    assert asked.method == "HEAD"
    assert SECRET not in str(asked)
    assert check.status == "ok"
    assert "CLAUDE_CODE_OAUTH_TOKEN" in check.message


def test_a_server_that_is_not_there(monkeypatch):
    with closed_port() as port:
        check = probe(key(f"http://127.0.0.1:{port}"))
    assert (check.status, check.message) == (
        "warn",
        f"no answer of 127.0.0.1:{port}: nothing listens there (connection refused)",
    )
    done = threading.Event()
    monkeypatch.setattr(model_diagnosis, "PROBE_SECONDS", 0.1)
    with Server(lambda _: done.wait(120)) as server:
        assert "nothing came in time" in probe(key(server.url)).message
        done.set()


def test_settings_that_cannot_be_used_are_told(tmp_path, monkeypatch):
    assert "missing.pem" in probe(key("https://h"), str(tmp_path / "missing.pem")).message
    monkeypatch.setenv("HTTPS_PROXY", "nonsense://ada:pass-word@h")
    check = probe(key("https://h"))
    assert check.status == "warn"
    assert "HTTPS_PROXY" in check.message
    assert "pass-word" not in check.message


def test_a_login_of_claude_code_is_told_but_not_read(tmp_path):
    directory = tmp_path / ".claude"
    directory.mkdir()
    (directory / ".credentials.json").write_bytes(b"\xff")
    (_, (name, status, message)) = checks({}, tmp_path)
    assert (name, status) == ("login", "warn")
    assert str(directory) in message
    assert "claude setup-token" in message
    assert len(checks({"CLAUDE_CONFIG_DIR": str(tmp_path / "none")}, tmp_path)) == 1


@pytest.mark.parametrize(
    ("platform", "there", "told"), [("darwin", True, True), ("darwin", False, False), ("linux", True, False)]
)
def test_a_keychain_is_looked_at_on_a_mac(platform, there, told, tmp_path):
    found = checks({}, tmp_path, platform=platform, keychain=lambda: there)
    assert ("login" in {name for name, _, _ in found}) == told
    assert ("Keychain" in found[0][2]) == (platform == "darwin")
