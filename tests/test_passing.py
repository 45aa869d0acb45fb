"""Which variables may be given to trials, and what of their values is a secret."""

from __future__ import annotations

import pytest

from skillwalker.errors import ConfigurationError
from skillwalker.redaction import Redactor
from skillwalker.sandbox.passing import passed_environment, passing_notices, refusal, secrets_of


def test_named_variables_come_along_and_no_other() -> None:
    environment = {"GITHUB_TOKEN": "ghp_123456789", "OTHER": "x"}
    assert passed_environment(["GITHUB_TOKEN"], environment) == {"GITHUB_TOKEN": "ghp_123456789"}
    assert passed_environment([], environment) == {}


def test_all_that_is_wrong_is_told_at_once_and_no_value_is() -> None:
    with pytest.raises(ConfigurationError) as caught:
        passed_environment(
            ["MISSING", "EMPTY", "PATH", "NO NAME", "LATIN", "FINE"],
            {"PATH": "/secret", "EMPTY": "", "LATIN": "secret\udce9", "FINE": "secret"},
        )
    told = [str(problem) for problem in caught.value.problems]
    assert [text.split(" ")[:2] for text in told] == [
        ["sandbox.env[0]:", "MISSING"],
        ["sandbox.env[1]:", "EMPTY"],
        ["sandbox.env[2]:", "PATH"],
        ["sandbox.env[3]:", "NO"],
        ["sandbox.env[4]:", "LATIN"],
    ]
    assert "secret" not in "".join(told)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("PATH", "belongs to the sandbox"),
        ("HOME", "belongs to the sandbox"),
        ("LD_PRELOAD", "belongs to the sandbox"),
        ("GIT_DIR", "belongs to the sandbox"),
        ("BASH_ENV", "belongs to the sandbox"),
        ("BUN_OPTIONS", "belongs to the sandbox"),
        ("API_TIMEOUT_MS", "belongs to the sandbox"),
        ("ANTHROPIC_API_KEY", "no credential enters"),
        ("ANTHROPIC_BASE_URL", "no credential enters"),
        ("CLAUDE_CODE_OAUTH_TOKEN", "no credential enters"),
        ("CLAUDECODE", "no credential enters"),
        ("SKILLWALKER_X", "is for skillwalker itself"),
        ("HTTPS_PROXY", "sandbox.network.allow"),
        ("no_proxy", "sandbox.network.allow"),
        ("1ST", "no name of a variable"),
        ("A=B", "no name of a variable"),
        ("", "no name of a variable"),
        ("É", "no name of a variable"),
    ],
)
def test_what_would_break_a_sandbox_is_refused(name: str, words: str) -> None:
    assert words in (refusal(name) or "")


@pytest.mark.parametrize("name", ["GITHUB_TOKEN", "PATHS", "GIT_TOKEN", "AWS_REGION", "_", "NPM_TOKEN"])
def test_others_may_come_along(name: str) -> None:
    assert refusal(name) is None


def test_lines_of_a_key_file_are_secrets_too() -> None:
    key = "-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0\n  short\nAAAABBBBCCCCDDDDEEEE\n-----END KEY-----\n"
    redactor = Redactor(secrets_of({"KEY": key, "TOKEN": "abcdefgh"}))
    said = b"line: MIIEvQIBADANBgkqhkiG9w0 and AAAABBBBCCCCDDDDEEEE, short abcdefgh"
    assert redactor.data(said) == b"line: " + b"*" * 23 + b" and " + b"*" * 20 + b", short ********"
    assert redactor.value({"text": key}) == {"text": "*" * (len(key) + key.count("\n"))}


def test_a_value_that_is_too_short_to_be_found_is_told() -> None:
    assert passing_notices({"A": "12345678"}) == ()
    (notice,) = passing_notices({"A": "1234567", "B": "x", "C": "long enough"})
    assert notice.startswith("A, B of sandbox.env: a value of fewer than 8 characters")
