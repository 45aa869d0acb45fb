"""What of a test's trials is compared with those of another run: calls, final texts, files, figures."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping

from attrs import field, frozen

from skillwalker.errors import SkillwalkerError
from skillwalker.events import as_str, iter_events
from skillwalker.outcomes import Outcome
from skillwalker.reports.figures import judges_cost
from skillwalker.reports.source import Source
from skillwalker.reports.story import call_kind
from skillwalker.results import TestResult, TrialResult
from skillwalker.tool_calls import ToolCallReader
from skillwalker.workspace import Workspace

_TEXT = 20_000  # characters of a final text
_FILE = 1 << 20  # bytes of a file
_FILES = 500


@frozen
class SeenFile:
    """A file that a trial created, changed or deleted.

    Attributes:
        digest: Of its content; None where there is none, or not all of it.
    """

    what: str
    digest: str | None = None


@frozen
class SeenTrial:
    """What is compared of one trial.

    Attributes:
        calls: How often each kind of call was made, at any depth; None without a transcript.
        final_text: Its beginning; None where none was seen.
        files: By path; None where they, or what was there before, are not known.
    """

    arm: str
    index: int
    calls: Mapping[str, int] | None = None
    final_text: str | None = field(default=None, repr=False)
    files: Mapping[str, SeenFile] | None = None


@frozen
class SeenTest:
    """One test in one run.

    Attributes:
        trials: Those that ran to their end; what another did not do says nothing.
        verdicts: By position and type of the expectation: how many trials had which outcome.
        cost_usd, judge_cost_usd, turns, duration_ms: Means over `trials`; None where one is not known.
    """

    test: TestResult
    trials: tuple[SeenTrial, ...] = ()
    verdicts: Mapping[tuple[int, str], Mapping[Outcome, int]] = field(factory=dict)
    cost_usd: float | None = None
    judge_cost_usd: float | None = None
    turns: float | None = None
    duration_ms: float | None = None

    @property
    def rate(self) -> str:
        """Such as `2 of 3`, over measured trials; `none measured` where there is no rate."""
        return f"{self.test.passed} of {self.test.measured}" if self.test.measured else "none measured"


def see(source: Source, test: TestResult) -> SeenTest:
    """Reads what the test's trials left."""
    verdicts: dict[tuple[int, str], Counter[Outcome]] = {}
    for trial in test.trials:
        for one in trial.judged:
            verdicts.setdefault((one.position, one.type), Counter())[one.verdict.outcome] += 1
    whole = [trial for trial in test.trials if trial.healthy]
    return SeenTest(
        test,
        tuple(_trial(source, test, trial) for trial in whole),
        verdicts,
        mean(trial.cost_usd for trial in whole),
        mean(judges_cost([trial]) for trial in whole),
        mean(trial.turns for trial in whole),
        mean(trial.duration_ms for trial in whole),
    )


def mean(values: Iterable[float | None]) -> float | None:
    """None where there is no value, or one is not known."""
    found = list(values)
    known = [value for value in found if value is not None]
    return sum(known) / len(known) if known and len(known) == len(found) else None


def _trial(source: Source, test: TestResult, trial: TrialResult) -> SeenTrial:
    calls, text = _stream(source, trial)
    return SeenTrial(trial.arm, trial.index, calls, text, _files(source, test, trial))


def _stream(source: Source, trial: TrialResult) -> tuple[Mapping[str, int] | None, str | None]:
    reader = ToolCallReader()
    calls: Counter[str] = Counter()
    text = None
    try:
        with (source.folder(trial) / "events.jsonl").open("rb") as file:
            for event in iter_events(file, brief=True):
                if event.kind == "assistant":
                    calls.update(call_kind(call.name, call.input) for call in reader.calls(event))
                elif event.kind == "result":
                    found = as_str(event.data.get("result"))
                    text = None if found is None else found[:_TEXT]
    except OSError:
        return None, None
    return calls, text


def _files(source: Source, test: TestResult, trial: TrialResult) -> Mapping[str, SeenFile] | None:
    saved = source.folder(trial) / "workspace.tar"
    scaffold = source.scaffolds.of(test)
    if scaffold is None or not saved.exists():
        return None
    workspace = Workspace(saved, scaffold.tree)
    if not workspace.complete:
        return None
    named = {"created": workspace.created, "changed": workspace.changed}
    there = [(path, what) for what, paths in named.items() for path in paths]
    gone = {path: SeenFile("deleted") for path in workspace.deleted}
    if len(there) + len(gone) > _FILES:  # a part of them would show differences that are none
        return None
    return {path: SeenFile(what, _digest(workspace, path)) for path, what in there} | gone


def _digest(workspace: Workspace, path: str) -> str | None:
    try:
        content = workspace.read(path, _FILE + 1)
    except (OSError, SkillwalkerError):
        return None
    return None if len(content) > _FILE else hashlib.sha256(content).hexdigest()
