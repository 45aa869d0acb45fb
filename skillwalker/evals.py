"""What an eval says, as frozen values; reading it from disk is `loading`'s work."""

from __future__ import annotations

import enum
import hashlib
import re
from pathlib import Path
from typing import Any

from attrs import field, frozen

MAX_TRIALS = 1_000
"""Of one test; more would be a typing error that costs."""


class TestType(enum.StrEnum):
    """How a test calls Claude Code."""

    __test__ = False

    SKILL_PROMPT = "skill-prompt"
    SKILL_CALL = "skill-call"
    AGENT_CALL = "agent-call"
    AGENT_PROMPT = "agent-prompt"


@frozen
class ExpectationSpec:
    """One entry of `expect`, not yet bound to its type.

    Attributes:
        type: The key in `tests.json`, such as `result-contains`.
        value: The raw JSON value below that key.
        path: JSON path of the value, such as `tests[0].expect[1].llm-judge`.
    """

    type: str
    value: Any
    path: str


@frozen
class Test:
    """One entry of `tests`.

    Attributes:
        prompt: The exact text (newlines as in the prompt file).
        prompt_file: Absolute path of the file where the prompt stands: `tests.json` for one written in it.
        scaffold: Absolute path of a directory.
        skill_file, agent_file: `plugin:skill` and `plugin:agent` as written.
        model: `opus`, `sonnet`, `haiku` or a full `claude-...` name.
        trials: How often the test is executed in a run.
        pass_rate: The share of trials that must pass, 0 to 1; None means more than half.
        path: JSON path of the test, such as `tests[0]`; tests made from its `queries` share it.
        tags: What `-k` finds it by, beside its name.
        skip: Why it is not run; None: it is.
    """

    __test__ = False

    name: str
    type: TestType
    prompt_file: Path
    prompt: str
    expect: tuple[ExpectationSpec, ...]
    path: str
    model: str = "sonnet"
    skill_file: str | None = None
    agent_file: str | None = None
    scaffold: Path | None = None
    trials: int = 1
    pass_rate: float | None = None
    tags: tuple[str, ...] = ()
    skip: str | None = None


@frozen
class Eval:
    """A directory `evals/{name}/` with a `tests.json`.

    Attributes:
        root: The directory that holds `evals/`; plugins are relative to it.
        plugins: Plugin directories as written, relative to `root`.
    """

    name: str
    root: Path
    directory: Path
    plugins: tuple[str, ...]
    tests: tuple[Test, ...] = field(repr=False)

    @property
    def file(self) -> Path:
        return self.directory / "tests.json"


def slug(text: str) -> str:
    """ASCII lower case, any other run of characters as one `-`, at most 40 characters."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:40].strip("-")


def trial_id(eval_name: str, test_name: str, arm: str, index: int) -> str:
    """A name that is safe as a file and as a container name, and the same in every run."""
    digest = hashlib.sha256(f"{eval_name}\0{test_name}".encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{slug(eval_name)}.{slug(test_name)}.{digest}.{arm}.{index}"


def trial_ids(eval_name: str, test_name: str, arm: str, trials: int) -> list[str]:
    """The ids of a test's trials, the first trial first."""
    return [trial_id(eval_name, test_name, arm, index) for index in range(1, trials + 1)]
