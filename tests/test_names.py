import pickle

import pytest

from skillwalker.names import Names

NAMES = Names(
    skills={"acme:tidy-csv": "acme:tidy-csv", "acme:tidy": "acme:tidy-csv", "tidy": "acme:tidy-csv"},
    agents={"acme:auditor": "acme:auditor"},
    directories={"acme/skills/tidy-csv": "acme:tidy-csv", "skills/tidy-csv": "other:tidy-csv"},
    ambiguous={"shared": ("acme:shared", "other:shared")},
)


@pytest.mark.parametrize("raw", ["acme:tidy-csv", "acme:tidy", "tidy", "/tidy", "/acme:tidy-csv"])
def test_every_accepted_name_means_the_one_skill(raw: str) -> None:
    assert NAMES.skill(raw) == "acme:tidy-csv"


@pytest.mark.parametrize("raw", ["other:tidy-csv", "tidy-csv-pro", "Tidy", "shared", ""])
def test_a_name_of_nobody_or_of_two_is_never_taken_for_the_skill(raw: str) -> None:
    assert NAMES.skill(raw) == raw


def test_a_name_that_claude_code_does_not_know_counts_only_where_it_said_so() -> None:
    names = Names(unknown_skills={"tidy": "acme:tidy"}, unknown_agents={"ok": "acme:ok"})
    assert names.skill("tidy") == "tidy"
    assert names.meant_skill("/tidy", "Error: Unknown skill: tidy. Did you mean acme:tidy?") == "acme:tidy"
    assert names.meant_skill("tidy", "Permission denied") == "tidy"
    assert names.meant_skill("other", "Error: Unknown skill: other") == "other"
    assert names.agent("ok") == "ok"
    assert names.meant_agent("ok", "Error: Agent type 'ok' not found. Available agents: x") == "acme:ok"
    assert names.meant_agent("ok", "InputValidationError") == "ok"


def test_agents_have_a_table_of_their_own() -> None:
    assert NAMES.agent("acme:auditor") == "acme:auditor"
    assert NAMES.agent("tidy") == "tidy"


@pytest.mark.parametrize(
    ("directory", "skill"),
    [
        ("/plugins/acme/skills/tidy-csv", "acme:tidy-csv"),
        ("/plugins/acme/skills/tidy-csv/", "acme:tidy-csv"),
        ("/elsewhere/skills/tidy-csv", "other:tidy-csv"),
        ("/plugins/notacme/skills/tidy", None),
        ("", None),
    ],
)
def test_the_longest_matching_end_of_a_directory_decides(directory: str, skill: str | None) -> None:
    assert NAMES.skill_in(directory) == skill


def test_without_a_table_names_stay_as_they_are() -> None:
    assert Names().skill("/demo:hello") == "demo:hello"
    assert Names().skill_in("/plugins/demo/skills/hello") is None


def test_pickles() -> None:
    assert pickle.loads(pickle.dumps(NAMES)) == NAMES
