"""One pass over a stream."""

from __future__ import annotations

import pickle
import sys

from transcripts import (
    NAMES,
    answers,
    as_line,
    calls,
)

from skillwalker.events import parse_line
from skillwalker.stream_reader import StreamReader


def test_the_reader_keeps_nothing_of_what_it_does_not_need() -> None:
    """Memory may grow with ids and uses, never with contents."""
    reader = StreamReader(NAMES)
    for number in range(200):
        for event in (
            calls(f"t{number}", "Bash", command="y" * 10_000),
            answers(f"t{number}", "x" * 10_000, {"stdout": "x" * 10_000}),
        ):
            reader.feed(parse_line(as_line(event)))
    assert sys.getsizeof(pickle.dumps(reader.tools.ids)) < 10_000
    assert len(pickle.dumps((reader.message_ids, reader.models))) < 20_000
