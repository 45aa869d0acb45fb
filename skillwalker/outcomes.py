"""The three values and the closed list of reasons why a trial could not be measured in full."""

from __future__ import annotations

import enum


class Observation(enum.Enum):
    """What was seen of one thing. Only a complete, healthy trial may say `NO`."""

    YES = "yes"
    NO = "no"
    NOT_OBSERVED = "not observed"


class Outcome(enum.StrEnum):
    """Of a verdict, a trial, a test or a run."""

    PASSED = "passed"
    FAILED = "failed"
    UNMEASURED = "unmeasured"

    @classmethod
    def of(cls, passed: bool) -> Outcome:
        return cls.PASSED if passed else cls.FAILED


class Reason(enum.StrEnum):
    """Why a trial is not healthy."""

    TIMEOUT = "timeout"
    STALLED = "stalled"
    API_ERROR = "api-error"
    RATE_LIMITED = "rate-limited"
    BUDGET = "budget"
    OUT_OF_MEMORY = "out-of-memory"
    DISK_LIMIT = "disk-limit"
    SANDBOX_ERROR = "sandbox-error"
    CLAUDE_ERROR = "claude-error"
    PLUGIN_NOT_LOADED = "plugin-not-loaded"
    NOT_LISTED = "not-listed"
    CONTAMINATED = "contaminated"
    INCOMPLETE_STREAM = "incomplete-stream"
    CASSETTE_MISS = "cassette-miss"
    JUDGE_ERROR = "judge-error"
    EXPECTATION_ERROR = "expectation-error"
    INTERRUPTED = "interrupted"

    @property
    def advice(self) -> str:
        """One line that says what to do."""
        return _ADVICE[self]


NO_ANSWER = "no answer of "
"""Begins the message of an `api-error` where the API said nothing: the gateway's own words."""

NO_ANSWER_ADVICE = (
    "the model's API did not answer; check network, proxy and ANTHROPIC_BASE_URL with `skillwalker doctor`, "
    "then run it again"
)

_ADVICE = {
    Reason.TIMEOUT: "raise --timeout, or give the prompt less to do",
    Reason.STALLED: "nothing moved for too long; run it again, and look at events.jsonl for the last event",
    Reason.API_ERROR: "the model's API answered with an error; see the message, then run it again",
    Reason.RATE_LIMITED: "the model's API refused the pace; lower --jobs or wait, then run it again",
    Reason.BUDGET: "--max-cost let no more turns start; see the message, raise it, or select fewer tests",
    Reason.OUT_OF_MEMORY: "a trial may use 2 GiB of memory; give the prompt less to do",
    Reason.DISK_LIMIT: "the trial wrote more than it may; let the task write less",
    Reason.SANDBOX_ERROR: "the sandbox broke; check `skillwalker doctor`, then run it again",
    Reason.CLAUDE_ERROR: "Claude Code ended with an error; see the message and stderr.txt",
    Reason.PLUGIN_NOT_LOADED: "Claude Code did not load the plugin; fix what the message names",
    Reason.NOT_LISTED: "the description did not reach the model in full; shorten it or load fewer skills",
    Reason.CONTAMINATED: "the stream holds what the model did not say; see what the trial wrote to stdout",
    Reason.INCOMPLETE_STREAM: "Claude Code's stream has no end; see stderr.txt, then run it again",
    Reason.CASSETTE_MISS: "no fitting answer is scripted or recorded for a request; mend or record it",
    Reason.JUDGE_ERROR: "the judge's answer could not be read; judge again",
    Reason.EXPECTATION_ERROR: "an expectation type broke; tell its author, or repair its package",
    Reason.INTERRUPTED: "the run was interrupted; go on with --resume",
}
