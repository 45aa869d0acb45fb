"""What stands in for the services that `check` may use."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

from attrs import Factory, define, field, frozen

from skillwalker.commands import CommandRequest, CommandResult
from skillwalker.expectations.base import JudgeAnswer
from skillwalker.judging import asked_ids, output_config
from skillwalker.models import model_id


@frozen
class JudgeRequest:
    """What a judge was asked."""

    model: str
    system: str
    prompt: str
    schema: Mapping[str, Any]


@define
class FakeJudge:
    """Gives prepared answers, one for each question, and remembers the questions.

    An answer is a JSON object, an exception to raise, or a list of booleans: whether each criterion passed.

    Attributes:
        otherwise: What it answers when none is left: a JSON object, or for each criterion whether it passed.
            None: that fails the test that asked.
    """

    answers: deque[Mapping[str, Any] | Sequence[bool] | Exception] = field(
        converter=deque, default=Factory(deque)
    )
    otherwise: Mapping[str, Any] | bool | None = field(default=None, kw_only=True)
    requests: list[JudgeRequest] = field(factory=list, init=False)

    def ask(self, *, model: str, system: str, prompt: str, schema: Mapping[str, Any]) -> JudgeAnswer:
        self.requests.append(JudgeRequest(model, system, prompt, schema))
        ids = asked_ids({"output_config": output_config(schema)}) or ()
        answer: Mapping[str, Any] | Sequence[bool] | Exception
        if self.answers:
            answer = self.answers.popleft()
        else:
            assert self.otherwise is not None, "the judge was asked more often than there are answers"
            answer = [self.otherwise] * len(ids) if isinstance(self.otherwise, bool) else self.otherwise
        if isinstance(answer, Exception):
            raise answer
        if not isinstance(answer, Mapping):
            graded = zip(ids, answer, strict=True)
            answer = {
                "criteria": [
                    {"id": id_, "evidence": "", "reasoning": "As seen.", "passed": passed}
                    for id_, passed in graded
                ]
            }
        return JudgeAnswer(answer, model_id(model), input_tokens=100, output_tokens=10)


@define
class FakeCommands:
    """Gives prepared results, one for each command, and remembers the commands.

    A result may be an exception to raise.

    Attributes:
        otherwise: The result when none is left. None: that fails the test that ran a command.
    """

    results: deque[CommandResult | Exception] = field(converter=deque, default=Factory(deque))
    otherwise: CommandResult | None = field(default=None, kw_only=True)
    requests: list[CommandRequest] = field(factory=list, init=False)

    def run(self, request: CommandRequest) -> CommandResult:
        self.requests.append(request)
        result = self.results.popleft() if self.results else self.otherwise
        assert result is not None, "more commands were run than there are results"
        if isinstance(result, Exception):
            raise result
        return result
