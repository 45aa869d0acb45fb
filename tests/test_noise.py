"""Fisher's exact test, and what is said of a difference."""

from __future__ import annotations

from math import comb

import pytest

from skillwalker.comparison.noise import fisher, noise

# What scipy.stats.fisher_exact([[passed, failed], [other_passed, other_failed]]) says (SciPy 1.17).
SCIPY = [
    ((1, 10, 11, 14), 0.002759456185220083),
    ((8, 10, 1, 6), 0.03496503496503495),
    ((3, 3, 0, 3), 0.1),
    ((5, 5, 0, 5), 0.007936507936507936),
    ((2, 3, 1, 3), 1.0),
    ((10, 20, 15, 20), 0.19079257232761124),
    ((0, 4, 4, 4), 0.02857142857142857),
    ((7, 12, 2, 5), 0.6199095022624435),
]


@pytest.mark.parametrize(("counts", "expected"), SCIPY)
def test_the_p_value_is_that_of_scipy(counts: tuple[int, int, int, int], expected: float) -> None:
    assert fisher(*counts) == pytest.approx(expected, rel=1e-9)


def test_the_p_value_is_the_same_from_both_sides() -> None:
    for counts in ((1, 10, 11, 14), (2, 7, 6, 9), (0, 3, 2, 5)):
        passed, measured, other, total = counts
        assert fisher(*counts) == fisher(other, total, passed, measured)
        assert fisher(*counts) == fisher(measured - passed, measured, total - other, total)


def test_all_against_none_is_the_one_way_there_and_its_mirror_image() -> None:
    for n in range(1, 9):
        assert fisher(n, n, 0, n) == pytest.approx(2 / comb(2 * n, n))


@pytest.mark.parametrize("counts", [(0, 0, 1, 1), (2, 1, 0, 1), (-1, 3, 0, 3)])
def test_what_is_no_rate_is_refused(counts: tuple[int, int, int, int]) -> None:
    with pytest.raises(ValueError, match="no rate"):
        fisher(*counts)


@pytest.mark.parametrize(
    ("counts", "word"),
    [
        ((5, 5, 0, 5), "beyond noise"),
        ((3, 5, 1, 5), "within noise"),
        ((2, 3, 2, 3), "the same rate"),
        ((1, 2, 3, 6), "the same rate"),
        ((1, 1, 0, 1), "too few trials to tell from noise"),
        ((3, 3, 0, 3), "too few trials to tell from noise"),
    ],
)
def test_a_difference_is_named(counts: tuple[int, int, int, int], word: str) -> None:
    found = noise(*counts)
    assert found is not None
    assert found.word == word


def test_without_a_measured_trial_there_is_nothing_to_say() -> None:
    assert noise(0, 0, 3, 3) is None
    assert noise(3, 3, 0, 0) is None
