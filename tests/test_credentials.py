"""Which credential an environment gives, and what is said of the others."""

import pytest

from skillwalker.credentials import (
    DEFAULT_BASE_URL,
    Credential,
    Credentials,
    advice,
    find_credentials,
)

KEY = {"ANTHROPIC_API_KEY": "sk-ant-api03-abcdefgh"}
TOKEN = {"ANTHROPIC_AUTH_TOKEN": "token-of-my-server"}
OWN = {"ANTHROPIC_BASE_URL": "https://models.example.org/team"}
OAUTH = {"CLAUDE_CODE_OAUTH_TOKEN": "sk-ant-oat01-abcdefgh"}


def used(environment: dict[str, str], **options: bool) -> tuple[str, str] | None:
    found = find_credentials(environment, **options)
    assert found.problems == ()
    return (found.used.kind, found.used.source) if found.used else None


def why(environment: dict[str, str], source: str, **options: bool) -> str:
    found = find_credentials(environment, **options)
    return next(one.why for one in found.unused if one.source == source)


@pytest.mark.parametrize(
    ("environment", "subscription", "expected"),
    [
        ({}, False, None),
        (KEY, False, ("api-key", "ANTHROPIC_API_KEY")),
        (KEY | OWN, False, ("api-key", "ANTHROPIC_API_KEY")),
        (TOKEN, False, None),
        (TOKEN | OWN, False, ("auth-token", "ANTHROPIC_AUTH_TOKEN")),
        (TOKEN | {"ANTHROPIC_BASE_URL": "https://api.anthropic.com"}, False, None),
        (KEY | TOKEN | OWN, False, ("api-key", "ANTHROPIC_API_KEY")),
        (OAUTH, False, None),
        (OAUTH, True, ("subscription", "CLAUDE_CODE_OAUTH_TOKEN")),
        (OAUTH | KEY, False, ("api-key", "ANTHROPIC_API_KEY")),
        (OAUTH | KEY, True, ("subscription", "CLAUDE_CODE_OAUTH_TOKEN")),
        (KEY, True, ("api-key", "ANTHROPIC_API_KEY")),
        ({"ANTHROPIC_API_KEY": ""} | TOKEN | OWN, False, ("auth-token", "ANTHROPIC_AUTH_TOKEN")),
        ({"ANTHROPIC_API_KEY": " \n"}, False, None),
        ({"ANTHROPIC_API_KEY": "x"}, False, ("api-key", "ANTHROPIC_API_KEY")),
        ({"ANTHROPIC_API_KEY": OAUTH["CLAUDE_CODE_OAUTH_TOKEN"]}, False, None),
        ({"ANTHROPIC_AUTH_TOKEN": OAUTH["CLAUDE_CODE_OAUTH_TOKEN"]} | OWN, False, None),
    ],
)
def test_which_one_is_used(environment, subscription, expected):
    assert used(environment, subscription=subscription) == expected


def test_what_is_used_knows_its_server_and_never_shows_its_secret():
    found = find_credentials(KEY | {"ANTHROPIC_BASE_URL": "http://127.0.0.1:4000/prefix/"})
    assert found.used == Credential(
        "api-key", "ANTHROPIC_API_KEY", "http://127.0.0.1:4000/prefix", KEY["ANTHROPIC_API_KEY"]
    )
    assert found.warnings == ()
    assert KEY["ANTHROPIC_API_KEY"] not in repr(found) + found.used.described
    assert found.used.described == "an API key from ANTHROPIC_API_KEY, for http://127.0.0.1:4000/prefix"
    assert find_credentials(KEY).base_url == DEFAULT_BASE_URL


@pytest.mark.parametrize(
    ("environment", "source", "said"),
    [
        (TOKEN, "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL names none"),
        (OAUTH | KEY, "CLAUDE_CODE_OAUTH_TOKEN", "`subscription = true` under `[model]` in skillwalker.toml"),
        (KEY | TOKEN | OWN, "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_API_KEY goes first"),
        ({"ANTHROPIC_API_KEY": ""}, "ANTHROPIC_API_KEY", "empty"),
        ({"ANTHROPIC_API_KEY": "sk-ant-oat01-x"}, "ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN"),
        ({"CLAUDE_CODE_USE_BEDROCK": "1"}, "CLAUDE_CODE_USE_BEDROCK", "Amazon Bedrock"),
    ],
)
def test_why_another_one_is_not_used(environment, source, said):
    assert said in why(environment, source)


def test_with_a_subscription_the_key_is_the_other_one():
    assert "CLAUDE_CODE_OAUTH_TOKEN goes first" in why(OAUTH | KEY, "ANTHROPIC_API_KEY", subscription=True)


@pytest.mark.parametrize(
    ("secret", "said"),
    [
        ("sk-ant-abcdefgh\n", "ends with a line break"),
        ("sk-ant-abcdefgh\r\n", "ends with a line break"),
        (" sk-ant-abcdefgh", "begins with a blank"),
        ("sk-ant-abcdefgh ", "ends with a blank"),
        ("sk-ant-abc\nx-evil: 1", "blanks or line breaks inside"),
        ("sk-ant-\x00abcdefgh", "control characters"),
        ("sk-ant-\x1babcdefgh", "control characters"),
        ("sk-ant-abcdefgh…", "beyond ASCII"),
        ("sk-ant-abcdefgé", "beyond ASCII"),
        ("sk-ant-abcdefg\udcff", "beyond ASCII"),
    ],
)
def test_a_malformed_key_is_told_and_not_replaced_by_another(secret, said):
    found = find_credentials({"ANTHROPIC_API_KEY": secret} | TOKEN | OWN)
    (problem,) = found.problems
    assert problem.startswith("ANTHROPIC_API_KEY ")
    assert said in problem
    assert found.used is None
    assert "abc" not in problem
    assert "abc" not in repr(found)


@pytest.mark.parametrize(
    "url",
    [
        "models.example.org",
        "localhost:4000",
        "ftp://example.org",
        "file:///etc/passwd",
        "https://",
        "https://:443/",
        "https://example.org:port",
        "https://example.org:99999",
        "https://[::1",
        "https://exa mple.org",
        "https://example.org/\n",
        " https://example.org",
        "https://exämple.org",
        "https://example.org/v?x=1",
        "https://example.org/#a",
        "https://ada:pass-word@example.org",
        "javascript:alert(1)",
        "https://example..org",
        "https://.example.org",
        f"https://{'a' * 64}.org",
        "https://example.org\\x",
        "https://10.0.1",
    ],
)
def test_a_base_url_that_is_none_is_refused(url):
    found = find_credentials(TOKEN | {"ANTHROPIC_BASE_URL": url})
    (problem,) = found.problems
    assert problem.startswith("ANTHROPIC_BASE_URL ")
    assert "pass-word" not in problem + repr(found)
    assert found.used is None
    assert found.unused == ()


def test_all_problems_are_told_at_once():
    found = find_credentials({"ANTHROPIC_API_KEY": "a b", "ANTHROPIC_BASE_URL": "nonsense"})
    assert [problem.split()[0] for problem in found.problems] == ["ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY"]


@pytest.mark.parametrize(
    ("url", "exposed"),
    [
        ("http://models.example.org", True),
        ("http://10.0.0.7:4000", True),
        ("http://localhost:4000", False),
        ("http://127.0.0.1:4000", False),
        ("http://127.9.9.9", False),
        ("http://[::1]:4000", False),
        ("http://localhost.example.org", True),
        ("https://models.example.org", False),
        ("https://models.example.org.:443", False),
        ("http://my_models-2", True),
        (f"http://{'a' * 63}.org", True),
    ],
)
def test_a_credential_without_encryption_is_warned_of(url, exposed):
    found = find_credentials(KEY | {"ANTHROPIC_BASE_URL": url})
    assert found.used
    assert any("without encryption" in warning for warning in found.warnings) == exposed


def test_a_base_url_with_the_version_is_warned_of():
    (warning,) = find_credentials(KEY | {"ANTHROPIC_BASE_URL": "https://models.example.org/v1/"}).warnings
    assert "https://models.example.org/v1/v1/messages" in warning


def test_all_that_was_found_is_secret():
    proxy = {
        "HTTPS_PROXY": "http://ada:proxy%20word@proxy.example.org:3128",
        "http_proxy": "http://plain:3128",
    }
    found = find_credentials(KEY | TOKEN | OAUTH | proxy | {"ANTHROPIC_BASE_URL": "https://a:base-word@h"})
    assert set(found.secrets) == {
        *KEY.values(),
        *TOKEN.values(),
        *OAUTH.values(),
        "proxy%20word",
        "proxy word",
        "base-word",
    }
    assert find_credentials(OWN).secrets == ()


def test_without_a_credential_every_way_is_named():
    said = advice(find_credentials({}), "linux")
    for way in (
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_AUTH_TOKEN",
        "ANTHROPIC_BASE_URL",
        "CLAUDE_CODE_OAUTH_TOKEN",
        "claude setup-token",
        "--rehearse",
        "--replay DIR",
    ):
        assert way in said
    assert "Keychain" not in said
    assert "Keychain" in advice(Credentials(), "darwin")
    assert "ANTHROPIC_AUTH_TOKEN (it is for a server of your own" in advice(find_credentials(TOKEN), "linux")
