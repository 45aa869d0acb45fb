"""What users would type, read from descriptions in the ways in which people write them."""

from __future__ import annotations

import time

import pytest

from skillwalker.wishes.reading import Wishes, read_wishes
from skillwalker.wishes.verbs import BASES, base, gerund, is_verb_here, third_person


@pytest.mark.parametrize(
    ("description", "wanted"),
    [
        # What it does: in the third person, as an order, as something being done; one order for each verb.
        ("Turns receipts into a table of expenses.", ["Turn receipts into a table of expenses."]),
        ("Create seating plans for weddings.", ["Create seating plans for weddings."]),
        (
            "Formatting bibliographies in the style of a journal.",
            ["Format bibliographies in the style of a journal."],
        ),
        (
            "Reads lab notebooks, extracts the measured values, and draws a chart of them.",
            ["Read lab notebooks."],
        ),
        ("Plans, books, and cancels dentist appointments.", ["Plan dentist appointments."]),
        ("Cleans up, sorts or renames scanned letters.", ["Clean up scanned letters."]),
        ("This skill reviews recipes for allergens.", ["Review recipes for allergens."]),
        ("Recipe keeper: Converts recipes to metric units.", ["Convert recipes to metric units."]),
        ("[BETA] Transcribes choir rehearsals - fast and offline.", ["Transcribe choir rehearsals."]),
        ("Translates the user's poems (short ones) into Latin.", ["Translate my poems into Latin."]),
        (
            "Audits features, screens, and flows of a parking app.",
            ["Audit features, screens, and flows of a parking app."],
        ),
        ("The `mapkit` package lets you compare two maps.", ["Compare two maps."]),
        ("Use when the user wants to pick, sort, or speed up slow presses.", ["Speed up slow presses."]),
        ("Use for focused, careful pruning work.", ["I need help with focused, careful pruning work."]),
        ("Picks apples from the shelf, and recommends.", ["Pick apples from the shelf."]),
        ("Stores apples in the cellar and outputs a list of boxes.", ["Store apples in the cellar."]),
        ("Weighs apples using the scale-master skill.", ["Weigh apples."]),
        # What it is: a guide for something, somebody who does something, a subject.
        ("Guide for writing effective wedding speeches.", ["Write effective wedding speeches."]),
        ("Expert gardener agent that prunes fruit trees.", ["Prune fruit trees."]),
        (
            "Botany specialist for soil chemistry and composting.",
            ["I need help with soil chemistry and composting."],
        ),
        (
            "Best practices for beekeeping in cities.",
            ["What are the best practices for beekeeping in cities?"],
        ),
        ("Comprehensive tax rules of three countries", ["I need help with tax rules of three countries."]),
        (
            "Test strategy, flaky test hardening, and mocks",
            ["I need help with test strategy, flaky test hardening, and mocks."],
        ),
        # When to use it.
        ("Use when the user asks to draw a floor plan.", ["Draw a floor plan."]),
        (
            "Use when the user wants to sort photos, needs a photo album, or asks how to print one.",
            ["Sort photos.", "I need a photo album.", "How do I print one?"],
        ),
        (
            "Use this agent when tuning pianos, replacing strings, or encountering broken keys.",
            ["Tune pianos.", "Replace strings."],
        ),
        ("Use whenever someone needs help with a tax return.", ["I need help with a tax return."]),
        (
            "Use when asked whether a mushroom can be eaten.",
            ["Can you tell me whether a mushroom can be eaten?"],
        ),
        ("Use when users mention knitting patterns.", ["I need help with knitting patterns."]),
        ("Use when: (1) naming a boat, (2) painting its hull.", ["Name a boat.", "Paint its hull."]),
        ("Use this agent to verify that a bridge is safe.", ["Verify that a bridge is safe."]),
        (
            "Use for chess openings, endgame studies.",
            ["I need help with chess openings.", "I need help with endgame studies."],
        ),
        ("Triggers on: solve a crossword, explain a clue.", ["Solve a crossword.", "Explain a clue."]),
        # What is quoted: whole requests first, subjects last, and what a user says in an example.
        (
            'Knits. Triggers: "cast on a scarf for me", "cable stitch", "/knit", "fix [this]".',
            ["cast on a scarf for me", "I need help with cable stitch."],
        ),
        (
            "Use this agent for birds. <example>user: 'Which bird is that?' assistant: 'I use it'</example>",
            ["Which bird is that?"],
        ),
        ("『議事録を作成』などの依頼で使う。", ["議事録を作成"]),
        ("Draws maps. Wrapped lines are\none sentence.", ["Draw maps."]),
    ],
)
def test_requests_read_as_somebody_types_them(description: str, wanted: list[str]) -> None:
    assert list(read_wishes(description).wanted) == wanted


@pytest.mark.parametrize(
    ("description", "unwanted"),
    [
        ("Draws maps. Do NOT use for drawing portraits.", ["Draw portraits."]),
        (
            "Draws maps. Not for road signs, or star charts.",
            ["I need help with road signs.", "I need help with star charts."],
        ),
        ("Draws maps. Does not print posters (use poster-press).", ["Print posters."]),
        ("Draws maps. For floor plans, use house-plans instead.", ["I need help with floor plans."]),
        ("Draws maps. Don't use when the user wants to plan a route.", ["Plan a route."]),
        ('Draws maps. NOT for "draw my cat".', ["draw my cat"]),
    ],
)
def test_what_it_is_not_for_is_what_comes_near(description: str, unwanted: list[str]) -> None:
    assert read_wishes(description) == Wishes(("Draw maps.",), tuple(unwanted))


@pytest.mark.parametrize(
    "description",
    [
        "",
        "Bad.",
        "Replace with a description of the skill.",
        "[TODO: what it does]",
        "当用户要求整理会议记录时使用此技能。",
        "Este agente traduce los mensajes de la tienda para el cliente.",
        "Erstellt Protokolle und ordnet die Aufgaben der Sitzung.",
        "Use when it rains.",
        "Requires Node 22.",
        "Must be run before anything else.",
        "Draws \x1b[31m maps.",
        # Cut, of one word, about itself, or no noun at the end.
        "Use for gentle, slow pruning.",
        "Use for orchards where picking apples takes long.",
        "Multi-expert orchard panel synthesizing Newton.",
        "Orchard classifier v2.",
        "Pick mode.",
        "Use when the user wants to iterate on, tighten, refine.",
        "Orchard team",
        "Apple / pear",
        "Selects the best result.",
        "Apple trees, pear trees, plum trees, hedges, pots.",
    ],
)
def test_what_says_nothing_of_requests_gives_none(description: str) -> None:
    assert read_wishes(description) == Wishes()


def test_requests_are_short_whole_and_not_about_the_skill_itself() -> None:
    words = ", ".join(f"thing{number} of a kind" for number in range(40))
    [long] = read_wishes(f"Collects {words}.").wanted
    assert long.startswith("Collect thing0 of a kind, thing1 of a kind")
    assert len(long) <= 125
    assert not read_wishes("Use when this skill is needed. Use when the user types {text} or <name>.").wanted


@pytest.mark.parametrize(
    "part", ["a" * 50, "use when ", "when the user asks to ", '"x ', "(", "- ", "a, ", "user: '"]
)
def test_no_description_takes_long(part: str) -> None:
    started = time.process_time()
    read_wishes(part * (20_000 // len(part)))
    assert time.process_time() - started < 20


def test_forms_of_verbs_lead_back_to_them() -> None:
    assert [third_person(word) for word in ("Creates", "fixes", "tries", "queries", "chairs")] == [
        "create", "fix", None, "query", None,
    ]  # fmt: skip
    assert [gerund(word) for word in ("Formatting", "creating", "sponging", "re-running", "king")] == [
        "format", "create", None, "re-run", None,
    ]  # fmt: skip
    assert base("Build") == "build"
    assert all(word == word.lower() for word in BASES)


@pytest.mark.parametrize(
    ("word", "following", "verb"),
    [
        ("design", "a", True),
        ("design", "system", False),
        ("test", "strategy,", False),
        ("write", "docs", True),
        ("reports", "for", False),
        ("reviews", "implementation", True),
        ("complete", "browser", False),
        ("clean", "code", False),
    ],
)
def test_what_follows_tells_a_verb_from_a_noun(word: str, following: str, verb: bool) -> None:
    assert is_verb_here(word, following) is verb
