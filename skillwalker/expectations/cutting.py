"""Cuts texts to a number of tokens, by an estimate that does not depend on the judge's model.

No tokenizer of today's models is public, and the API's count would be a request for every text. So a token is
taken for 2.5 bytes of UTF-8. Published counts for English prose are 3.6 characters a token with the tokenizer
of Opus 4.7 and later (4.3 before), for source code and dense documentation 2.5 to 3; a Chinese or Japanese
character has three bytes and is about one token. So ordinary text is cut a little early and never late; of
random letters, such as Base64, a token may be as short as 1.5 bytes.
"""

from __future__ import annotations

import math

from attrs import frozen

BYTES_PER_TOKEN = 2.5


@frozen
class Shown:
    """A text as the judge sees it.

    Attributes:
        note: What is not shown, in words; None where all of it is.
    """

    text: str
    note: str | None = None


def encodable(text: str) -> str:
    """Lone surrogates, which no request can carry, become question marks."""
    return text.encode("utf-8", "replace").decode("utf-8")


def tokens(text: str) -> int:
    """How many tokens the text has, estimated."""
    return math.ceil(len(text.encode("utf-8", "replace")) / BYTES_PER_TOKEN)


def room(limit: int) -> int:
    """How many bytes so many tokens have."""
    return int(limit * BYTES_PER_TOKEN)


def cut(text: str, limit: int) -> Shown:
    """The text within `limit` tokens: where it has more, its first two thirds and its end."""
    data = text.encode("utf-8", "replace")
    kept = room(limit)
    if len(data) <= kept:
        return Shown(data.decode("utf-8"))
    end = kept // 3
    head, tail = (part.decode("utf-8", "ignore") for part in (data[: kept - end], data[len(data) - end :]))
    note = f"about {limit:,} of {tokens(text):,} tokens, the beginning and the end"
    return Shown(f"{head}\n[...]\n{tail}", note)


def beginning(text: str, limit: int) -> Shown:
    """The text's first `limit` tokens."""
    data = text.encode("utf-8", "replace")
    if len(data) <= room(limit):
        return Shown(data.decode("utf-8"))
    head = data[: room(limit)].decode("utf-8", "ignore")
    return Shown(head, f"the first {limit:,} of about {tokens(text):,} tokens")
