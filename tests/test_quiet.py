"""What types print stays off standard output, however many are judged at once."""

from __future__ import annotations

import sys
import threading
from pathlib import Path

import pytest
from waiting import PATIENCE

from skillwalker.expectations.quiet import quiet
from skillwalker.outcomes import Outcome
from skillwalker.testing import TranscriptBuilder, judge, trial


def test_what_is_printed_goes_to_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    with quiet():
        print("inside")
    print("outside")
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("outside\n", "inside\n")


def test_what_a_check_prints_is_no_part_of_a_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parent / "packages" / "careless"))
    on = trial(tmp_path, TranscriptBuilder().init().text("x").result())
    assert judge("prints", "x", on).outcome is Outcome.PASSED
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "checking\n")


def test_it_ends_with_the_last_of_several_threads() -> None:
    real = sys.stdout
    first_in, second_in, first_out = (threading.Event() for _ in range(3))
    seen: list[bool] = []

    def first() -> None:
        with quiet():
            first_in.set()
            second_in.wait(PATIENCE)
        first_out.set()

    def second() -> None:
        first_in.wait(PATIENCE)
        with quiet():
            second_in.set()
            first_out.wait(PATIENCE)  # the one that began first has ended by now
            seen.append(sys.stdout is sys.stderr)

    threads = [threading.Thread(target=work) for work in (first, second)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == [True]
    assert sys.stdout is real


def test_an_error_ends_it_too() -> None:
    real = sys.stdout
    with pytest.raises(ValueError), quiet():
        raise ValueError
    assert sys.stdout is real
