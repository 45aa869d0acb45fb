"""For tests of expectation types: transcripts, trials, fakes and a conformance test.

    def test_few_turns_pass(tmp_path):
        events = TranscriptBuilder().init().skill("acme:tidy").text("Tidied.").result()
        verdict = judge("max-turns", {"turns": 3}, trial(tmp_path, events))
        assert verdict.outcome is Outcome.PASSED

    test_conformance = conformance("max-turns", good=[{"turns": 3}], bad=[{"turns": 0}])

Neither Docker nor Claude Code nor a key is needed. Events are written as Claude Code 2.1.332 writes them, and
read by the same code as a real trial's; options are read as `tests.json` would have them read.
"""

from skillwalker.testing.conformance import RULES, conformance
from skillwalker.testing.fakes import FakeCommands, FakeJudge, JudgeRequest
from skillwalker.testing.transcripts import TranscriptBuilder
from skillwalker.testing.trials import judge, trial

__all__ = [
    "RULES",
    "FakeCommands",
    "FakeJudge",
    "JudgeRequest",
    "TranscriptBuilder",
    "conformance",
    "judge",
    "trial",
]
