"""Trials as `check` gets them, and verdicts on them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from skillwalker.commands import CommandRunner
from skillwalker.evals import Eval, ExpectationSpec, Test, TestType
from skillwalker.expectations.base import Health, Judge, Services, Trial, Verdict
from skillwalker.expectations.registry import Registry, judge_trial
from skillwalker.names import Names
from skillwalker.outcomes import Reason
from skillwalker.testing.stories import Stream
from skillwalker.testing.transcripts import TranscriptBuilder
from skillwalker.transcript import Transcript
from skillwalker.tree import Tree
from skillwalker.workspace import Workspace


def judge(type: str, value: Any, on: Trial) -> Verdict:
    """The verdict of the installed type `type` on a trial; `value` is what stands below it in `tests.json`.

    Raises:
        AssertionError: no such type is installed, it is broken, or refuses the value; says why.
    """
    bound = Registry.scan().bind(ExpectationSpec(type, value, type), on.eval, on.test)
    if bound.expectation is None:
        raise AssertionError(bound.broken or "\n".join(map(str, bound.problems)))
    return judge_trial(bound, on)


def trial(
    directory: Path,
    events: TranscriptBuilder | Stream,
    *,
    reason: Reason | None = None,
    prompt: str = "Do the task.",
    type: TestType = TestType.SKILL_PROMPT,
    skill_file: str | None = None,
    agent_file: str | None = None,
    names: Names | None = None,
    scaffold: Mapping[str, str | bytes] | None = None,
    files: Mapping[str, str | bytes] | None = None,
    rubrics: Mapping[str, str] | None = None,
    eval_files: Mapping[str, str | bytes] | None = None,
    judge: Judge | None = None,
    judge_model: str | None = None,
    commands: CommandRunner | None = None,
    duration_ms: int | None = None,
    real_model: bool = True,
) -> Trial:
    """A trial as an expectation's `check` gets it; what it needs on disk is written below `directory`.

    Args:
        reason: Makes the trial unhealthy. `Reason.CONTAMINATED` says that nothing seen counts.
        scaffold: What the work directory held at the start, path to content.
        files: What it holds at the end; as at the start if left out. Against `scaffold` that makes what was
            created, changed and deleted.
        rubrics: The files in the eval's `rubrics/`.
        eval_files: Other files of the eval, by their paths in its directory.
        real_model: Whether it is no rehearsed or replayed trial, so that what Claude Code counts was paid.
    """
    home = directory / "evals" / "example"
    (home / "rubrics").mkdir(parents=True, exist_ok=True)
    beside = {f"rubrics/{name}": content for name, content in (rubrics or {}).items()} | dict(
        eval_files or {}
    )
    for name, content in beside.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_bytes(content.encode() if isinstance(content, str) else content)
    test = Test(
        name="example",
        type=type,
        prompt_file=home / "prompts" / "example.md",
        prompt=prompt,
        expect=(),
        path="tests[0]",
        skill_file=skill_file,
        agent_file=agent_file,
    )
    start = _tree(scaffold or {}) if scaffold is not None else None
    end = _tree(files) if files is not None else start or _tree({})
    with (directory / "workspace.tar").open("wb") as tar:
        end.write_tar(tar)
    names = names or Names()
    transcript = Transcript.read(events.write(directory / "events.jsonl"), names, prompt)
    return Trial(
        eval=Eval("example", directory, home, (), (test,)),
        test=test,
        transcript=transcript,
        health=Health(reason, f"for the test: {reason}" if reason else ""),
        services=Services(judge, judge_model, commands),
        names=names,
        duration_ms=duration_ms,
        cost_usd=transcript.cost_usd if real_model else None,
        workspace=Workspace(directory / "workspace.tar", start),
    )


def _tree(files: Mapping[str, str | bytes]) -> Tree:
    contents: Iterable[tuple[str, str | bytes]] = files.items()
    return Tree.of_files({path: data.encode() if isinstance(data, str) else data for path, data in contents})
