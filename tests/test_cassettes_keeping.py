"""Which recordings take the place of earlier ones, and what is told of the others."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cassette_support import LONG, TRIAL, answer, linked, recording, text
from gateway_support import post, request, user

from skillwalker.gateway.cassettes.files import read
from skillwalker.gateway.cassettes.keeping import REPEATABLE
from skillwalker.gateway.cassettes.recording import RecordingResponder
from skillwalker.gateway.messages import ApiError
from skillwalker.gateway.server import Caller, Gateway
from skillwalker.outcomes import Outcome, Reason

GO = request(user("go"), tools=[{"name": "Agent", "description": LONG}])
FILE, JUDGE = f"{TRIAL}.jsonl", f"{TRIAL}.judge.jsonl"
CUT = sorted(set(Reason) - REPEATABLE)


def record(
    directory: Path, words: str, outcome: Outcome = Outcome.PASSED, reason: Reason | None = None
) -> tuple[str, ...]:
    responder = recording(directory, answer(text(words)))
    with linked(responder, outcome=outcome, reason=reason) as link:
        post(link, GO)
    return responder.close()


def judged(directory: Path, words: str, outcome: Outcome, reason: Reason | None = None) -> RecordingResponder:
    """A trial and its judge, which says the same."""
    responder = recording(directory, answer(text(words)), answer(text(words)))
    with Gateway(responder) as gateway:
        for purpose in ("trial", "judge"):
            with gateway.open(Caller(TRIAL, purpose)) as link:  # type: ignore[arg-type]
                post(link, GO)
    responder.settle(TRIAL, outcome, reason)
    return responder


def content(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir() if path.is_file()}


@pytest.mark.parametrize("outcome", [Outcome.UNMEASURED, Outcome.FAILED])
@pytest.mark.parametrize("reason", CUT)
def test_a_part_of_a_trial_is_dropped_and_what_was_there_stays(
    tmp_path: Path, reason: Reason, outcome: Outcome
) -> None:
    (told,) = record(tmp_path, "part", outcome, reason)
    assert told == f"not recorded, since the trials were cut short: {FILE} ({reason})"
    assert list(tmp_path.glob("*")) == []

    assert record(tmp_path, "whole") == ()
    before = content(tmp_path)
    (told,) = record(tmp_path, "part", outcome, reason)

    assert content(tmp_path) == before
    assert "kept as recorded before, since the new trials were not measured" in told
    assert f"{FILE} ({reason})" in told


def test_a_measured_trial_takes_the_place_of_any_other(tmp_path: Path) -> None:
    nothing_expected = Outcome.UNMEASURED  # without a reason
    for words, outcome in (
        ("first", Outcome.PASSED),
        ("second", Outcome.FAILED),
        ("third", nothing_expected),
        ("fourth", Outcome.PASSED),
    ):
        assert record(tmp_path, words, outcome) == ()
        assert words.encode() in (tmp_path / FILE).read_bytes()


def test_an_error_that_comes_again_is_recorded_and_takes_no_place(tmp_path: Path) -> None:
    def refused() -> tuple[str, ...]:
        responder = recording(tmp_path, [ApiError(400, "invalid_request_error", "too long")])
        with linked(responder, outcome=Outcome.UNMEASURED, reason=Reason.API_ERROR) as link:
            post(link, GO)
        return responder.close()

    assert refused() == ()
    assert read(tmp_path / FILE).exchanges[0].answer.error
    assert record(tmp_path, "whole") == ()
    before = content(tmp_path)

    (told,) = refused()

    assert f"{FILE} (api-error)" in told
    assert content(tmp_path) == before


def test_a_judge_goes_with_its_trial(tmp_path: Path) -> None:
    judged(tmp_path, "first", Outcome.PASSED)
    first = content(tmp_path)
    assert set(first) == {FILE, JUDGE}

    judged(tmp_path, "broken off", Outcome.FAILED, Reason.INTERRUPTED)
    judged(tmp_path, "not read", Outcome.UNMEASURED, Reason.JUDGE_ERROR)
    assert content(tmp_path) == first

    judged(tmp_path, "second", Outcome.FAILED, Reason.JUDGE_ERROR)
    assert all(b"second" in data for data in content(tmp_path).values())
    record(tmp_path, "third")
    assert set(content(tmp_path)) == {FILE}


def test_a_judge_knows_what_the_model_said_in_the_trial_that_is_being_recorded(tmp_path: Path) -> None:
    when = "2020-01-01T00:00:00Z"  # at no time of the trial: only the model has it
    responder = recording(tmp_path, answer(text(f"It is {when}.")), answer(text("yes")))
    with Gateway(responder) as gateway:
        for purpose, asked in (("trial", GO), ("judge", request(user(f"It said {when}")))):
            with gateway.open(Caller(TRIAL, purpose)) as link:  # type: ignore[arg-type]
                post(link, asked)
    responder.settle(TRIAL, Outcome.PASSED)

    assert when not in (tmp_path / JUDGE).read_text()
    assert "[[time]]" in (tmp_path / JUDGE).read_text()


def test_a_trial_of_which_nothing_is_told_is_dropped(tmp_path: Path) -> None:
    responder = recording(tmp_path, answer(text("x")))
    with Gateway(responder) as gateway, gateway.open(Caller(TRIAL, "trial")) as link:
        post(link, GO)

    (told,) = responder.close()

    assert f"{FILE} (not finished)" in told
    assert list(tmp_path.iterdir()) == []


def test_a_trial_that_asked_for_nothing_leaves_what_was_there_and_that_is_told(tmp_path: Path) -> None:
    record(tmp_path, "whole")
    before = content(tmp_path)
    responder = recording(tmp_path)
    responder.settle(TRIAL, Outcome.UNMEASURED, Reason.SANDBOX_ERROR)
    responder.settle("another", Outcome.UNMEASURED, Reason.SANDBOX_ERROR)

    (told,) = responder.close()

    assert f"measured: {FILE} (sandbox-error); " in told
    assert content(tmp_path) == before


def test_many_are_told_in_one_sentence(tmp_path: Path) -> None:
    responder = recording(tmp_path, *[answer(text("x"))] * 7)
    for number in range(7):
        with linked(responder, f"trial-{number}", outcome=Outcome.UNMEASURED, reason=Reason.TIMEOUT) as link:
            post(link, GO)

    (told,) = responder.close()

    assert "trial-4.jsonl (timeout) and 2 more" in told


def test_a_damaged_shared_part_is_mended(tmp_path: Path) -> None:
    record(tmp_path, "x")
    (part,) = (tmp_path / "parts").iterdir()
    whole = part.read_bytes()
    for damaged in (b"<<<<<<< HEAD\n", b'{"name": "Another"}', b""):
        part.write_bytes(damaged)
        record(tmp_path, "x")
        assert part.read_bytes() == whole
    lines = json.dumps(json.loads(whole), indent=4).replace("\n", "\r\n").encode()
    part.write_bytes(lines)  # as git may leave it; it says the same
    record(tmp_path, "x")
    assert part.read_bytes() == lines
