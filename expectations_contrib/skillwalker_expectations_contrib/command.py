"""The type that lets a script of the eval's author decide, on the files that the trial left behind."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any, ClassVar, Literal

from attrs import field, frozen, validators

from skillwalker.expectations import (
    CommandRequest,
    CommandResult,
    Eval,
    NotObservedError,
    Outcome,
    Reason,
    Test,
    Trial,
    Verdict,
    find_inside,
    safe,
)
from skillwalker_expectations_contrib.answer import Answer, AnswerError, read_answer
from skillwalker_expectations_contrib.options import each

FOLDER = "checks"
"""In the eval's directory, as `rubrics` and `prompts` are; in the container it is `/checks`."""

_STARTING_SECONDS = 300.0
"""For everything but the command itself: bringing a large work directory there takes longest."""
_OUTPUT = 400
_MAX_DETAILS = 100
_NAMED = re.compile(r"(?<![\w./-])/checks/([\w./+@%-]++)(?![*?\[{$])")


def _something(_: Any, attribute: Any, value: str | tuple[str, ...]) -> None:
    words = (value,) if isinstance(value, str) else tuple(value)
    if not words or not words[0].strip():
        raise ValueError(f"'{attribute.name}' must name a program")
    if any("\0" in word for word in words):
        raise ValueError(f"'{attribute.name}' holds a NUL character")


def _exit_codes(_: Any, attribute: Any, value: Collection[int]) -> None:
    if wrong := [code for code in value if not 1 <= code <= 125]:
        raise ValueError(
            f"'{attribute.name}' must hold exit codes from 1 to 125, not {wrong[0]}: 0 means passed, and by "
            "those above 125 a shell tells that a program could not run or was killed"
        )


@frozen
class Command:
    """A command of your own finds the trial's final work directory as it should be.

    It runs after the trial, in a container of its own without network, with the trial's image, as the trial's
    user, in a copy of the final work directory. The eval's folder `checks/` is `/checks` there, and
    `$SKILLWALKER_FINAL_TEXT` names a file with the final text.

    Exit code 0 means passed and 1 failed; any other code, a signal, too little memory or too little time is
    unmeasured. On the last line of its standard output it may tell more, as a JSON object:
    `{"passed": false, "message": "2 unknown columns", "details": [{"name": "line 3", "passed": false}]}`.

    Needs a run in containers (`--isolated`); elsewhere it is unmeasured.

    Attributes:
        run: A line for bash, or a list of a program and its arguments.
        timeoutSeconds: How long it may take.
        failOn: The exit codes that mean failed.
        answer: `json` if only the JSON answer counts, so that a script that breaks (Python exits with 1 then)
            is unmeasured and not failed.

    Examples:
        {"command": "npm test"}
        {"command": {"run": ["python3", "/checks/columns.py", "query.sql"], "answer": "json"}}
    """

    shorthand: ClassVar[str] = "run"
    uses_commands: ClassVar[bool] = True

    run: str | tuple[str, ...] = field(validator=_something)
    timeout_seconds: float = field(
        default=60.0, alias="timeoutSeconds", validator=[validators.gt(0), validators.le(3600)]
    )
    fail_on: tuple[int, ...] = field(default=(1,), alias="failOn", validator=_exit_codes)
    answer: Literal["exit-code", "json"] = "exit-code"

    @property
    def check_seconds(self) -> float:
        """How long `check` may take."""
        return self.timeout_seconds + _STARTING_SECONDS

    def requires(self, eval: Eval, test: Test) -> Iterable[str]:
        for word in each(self.run):
            for name in _NAMED.findall(word):
                try:
                    _existing(eval, name)
                except ValueError as error:
                    yield f"run: {error}"
        for name in _links(eval.directory / FOLDER):
            try:
                _existing(eval, name)
            except ValueError as error:
                yield f"{error}, and only what lies in {FOLDER}/ comes along"

    def check(self, trial: Trial) -> Verdict:
        workspace = trial.workspace
        if trial.services.commands is None:
            where = "it needs a run in containers: add --isolated (a later rejudge starts no containers)"
            raise NotObservedError(f"what {self._shown} says of the work directory ({where})", None)
        if not workspace.complete or any(
            each.kind == "file" and not each.saved for each in workspace.entries()
        ):
            raise NotObservedError("the whole final work directory (it is too large)", None)
        folder = trial.eval.directory / FOLDER
        result = trial.services.commands.run(
            CommandRequest(
                arguments=("/bin/bash", "-c", self.run) if isinstance(self.run, str) else self.run,
                workspace=workspace,
                files=folder if folder.is_dir() else None,
                final_text=trial.final_text,
                timeout_seconds=self.timeout_seconds,
            )
        )
        return self._verdict(result)

    @property
    def _shown(self) -> str:
        return f"`{safe(self.run if isinstance(self.run, str) else ' '.join(self.run), 100)}`"

    def _verdict(self, result: CommandResult) -> Verdict:
        if fault := self._fault(result):
            return self._unmeasured(f"{self._shown} {fault}{_output(result)}")
        try:
            answer = read_answer(result.stdout, required=self.answer == "json")
        except AnswerError as error:
            return self._unmeasured(f"{self._shown} gave no usable answer: {error}{_output(result)}")
        said = _said(answer)
        passed = result.exit_code == 0
        if said is Outcome.PASSED and not passed:
            return self._unmeasured(
                f"{self._shown} answered that it passed and exited with {result.exit_code}"
            )
        outcome = Outcome.of(passed) if said is None else said
        message = answer.message if answer else None
        if message is None:
            message = f"{self._shown} exited with {result.exit_code}{'' if passed else _output(result)}"
        return Verdict(outcome, message, answer.details[:_MAX_DETAILS] if answer else ())

    def _fault(self, result: CommandResult) -> str | None:
        """Why the result says neither yes nor no."""
        code = result.exit_code
        if result.timed_out:
            return f"did not end within {self.timeout_seconds:g} s (timeoutSeconds)"
        if result.out_of_memory:
            return "ran out of memory"
        if code is None:
            return "ended in a way that cannot be told"
        if code == 0 or code in self.fail_on:
            return None
        if code in (126, 127):
            return f"could not be executed (exit code {code})"
        if code > 128:
            return f"was killed by signal {code - 128}"
        told = f'"failOn": {sorted({*self.fail_on, code})}'
        return f"exited with {code}, which says neither passed nor failed; if it means failed, add {told}"

    @staticmethod
    def _unmeasured(message: str) -> Verdict:
        return Verdict(Outcome.UNMEASURED, message, reason=Reason.EXPECTATION_ERROR)


def _said(answer: Answer | None) -> Outcome | None:
    """What the answer comes to; None where it leaves that to the exit code."""
    if answer is None:
        return None
    if answer.passed is not None:
        return Outcome.of(answer.passed)
    outcomes = {detail.outcome for detail in answer.details}
    return next(
        (each for each in (Outcome.FAILED, Outcome.UNMEASURED, Outcome.PASSED) if each in outcomes), None
    )


def _output(result: CommandResult) -> str:
    """The end of what it printed."""
    for name, text in (("stderr", result.stderr), ("stdout", result.stdout)):
        if tail := text.strip()[-_OUTPUT:]:
            return f"; the end of its {name}: {safe(tail)}"
    return "; it printed nothing"


def _links(folder: Path) -> Iterator[str]:
    """The symbolic links below a directory, relative to it."""
    for place, directories, files in os.walk(folder):
        for name in (*directories, *files):
            if (path := Path(place, name)).is_symlink():
                yield path.relative_to(folder).as_posix()


def _existing(eval: Eval, name: str) -> Path:
    """What `/checks/{name}` stands for.

    Raises:
        ValueError: there is no such thing.
    """
    try:
        return find_inside(eval.directory, FOLDER, name)
    except ValueError:
        if (eval.directory / FOLDER / name).is_dir():
            return find_inside(eval.directory, FOLDER, name, "directory")
        raise
