"""Where a judge is of the family of the model whose work it judges: it may favour what is like its own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from skillwalker.answering import judge_models, model_source
from skillwalker.checks import CheckedTest
from skillwalker.models import family
from skillwalker.request import RunRequest
from skillwalker.text import count, safe


def kinship_notices(request: RunRequest, tests: Iterable[tuple[CheckedTest, str]]) -> Iterator[str]:
    """One for each family, once for a whole run; none where no model is asked.

    Args:
        tests: With the model that each was, or will be, run with.
    """
    if model_source(request) not in ("api", "record"):
        return
    found: dict[str, int] = {}
    for checked, model in tests:
        kin = {family(judge) for judge in judge_models(request, checked)} & {family(model)}
        for name in kin:
            found[name] = found.get(name, 0) + 1
    for name, times in found.items():
        yield (
            f"in {count(times, 'test')} the judge is of the same family as the tested model ({safe(name)}): "
            "a model may favour work like its own; --judge-model asks another"
        )
