"""Whether two counts of passed trials differ by more than chance."""

from __future__ import annotations

from math import comb

from attrs import frozen

LEVEL = 0.05
"""Below it a difference is called beyond noise: one in twenty comparisons without any difference is."""

SAME = "the same rate"

TEST = "Fisher's exact test, two-sided"


@frozen
class Noise:
    """What the test says of two rates.

    Attributes:
        p_value: Chance, 0 to 1, of counts at least as far apart where nothing differs.
        word: In words for people.
    """

    p_value: float
    word: str


def fisher(passed: int, measured: int, other_passed: int, other_measured: int) -> float:
    """The two-sided p-value of Fisher's exact test, 0 to 1, computed in whole numbers.

    With the totals of both rows and columns given, the count in one cell is hypergeometric; summed are the
    chances of all counts that are no likelier than the one that was seen.

    Raises:
        ValueError: a rate over nothing, or more passed than measured.

    Source: A. Agresti, Categorical Data Analysis, 3rd ed. 2013, section 3.5.1; R's `fisher.test` and SciPy's
        `fisher_exact` compute the same.
    """
    for part, whole in ((passed, measured), (other_passed, other_measured)):
        if whole < 1 or not 0 <= part <= whole:
            raise ValueError(f"{part} of {whole} is no rate")
    together = passed + other_passed
    least = max(0, together - other_measured)
    most = min(together, measured)
    ways = [comb(measured, k) * comb(other_measured, together - k) for k in range(least, most + 1)]
    seen = ways[passed - least]
    return sum(one for one in ways if one <= seen) / comb(measured + other_measured, together)


def noise(passed: int, measured: int, other_passed: int, other_measured: int) -> Noise | None:
    """What to think of a difference between two rates; None where there is no rate on one side."""
    if not measured or not other_measured:
        return None
    p_value = fisher(passed, measured, other_passed, other_measured)
    if p_value < LEVEL:
        return Noise(p_value, "beyond noise")
    if passed * other_measured == other_passed * measured:
        return Noise(p_value, SAME)
    if fisher(measured, measured, 0, other_measured) >= LEVEL:  # the furthest apart that they could be
        return Noise(p_value, "too few trials to tell from noise")
    return Noise(p_value, "within noise")
