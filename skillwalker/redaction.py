"""Keeps known secrets out of everything that is written or shown: each is overwritten with as many stars.

The length stays, so that a JSON text remains what it is and a file as long as its header says. Beside the
secret itself its base64 and URL forms are found. What is not known to be a secret cannot be found.
"""

from __future__ import annotations

import base64
import hashlib
import io
import json
import re
from collections.abc import Iterator, Mapping
from typing import IO, Any
from urllib.parse import quote

from attrs import define, field, frozen

SHORTEST = 8
"""Characters; a shorter value would be found in too much that is no secret."""

_BLOCK = 1 << 16
_URL_SAFE = bytes.maketrans(b"+/", b"-_")
_NAMES = re.compile(r"(^|_)(KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)$", re.IGNORECASE)


def secrets_in(environment: Mapping[str, str]) -> tuple[str, ...]:
    """The values of variables whose names say that they are secrets, such as `ANTHROPIC_API_KEY`.

    Not a word that stands for none, such as the `postgres` of a test's database: it would be overwritten
    wherever a trial speaks of it, and a verdict on that text would be wrong.
    """
    return tuple(
        value
        for name, value in environment.items()
        if _NAMES.search(name) and len(value) >= SHORTEST and value.lower() not in _NO_SECRETS
    )


_NO_SECRETS = frozenset(
    {
        "12345678",
        "123456789",
        "1234567890",
        "changeme",
        "disabled",
        "localhost",
        "password",
        "password1",
        "placeholder",
        "postgres",
        "postgresql",
        "required",
        "undefined",
        "username",
    }
)


@frozen
class Redactor:
    """Knows secrets; made once per process.

    Attributes:
        secrets: As they are; shorter ones than `SHORTEST` are not looked for.
    """

    secrets: tuple[str, ...] = field(default=(), repr=False)
    _forms: tuple[bytes, ...] = field(init=False, repr=False)
    _pattern: re.Pattern[bytes] | None = field(init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        forms = {form for secret in self.secrets if len(secret) >= SHORTEST for form in _forms(secret)}
        ordered = tuple(sorted(forms, key=len, reverse=True))
        object.__setattr__(self, "_forms", ordered)
        pattern = re.compile(b"|".join(map(re.escape, ordered))) if ordered else None
        object.__setattr__(self, "_pattern", pattern)

    def text(self, text: str) -> str:
        """As `data`, of a name; bytes that are no UTF-8 are kept as surrogates."""
        if self._pattern is None:
            return text
        return self.data(text.encode("utf-8", "surrogateescape")).decode("utf-8", "surrogateescape")

    def data(self, data: bytes) -> bytes:
        """`data` with every secret in it overwritten; as long as before."""
        return self._pattern.sub(lambda match: b"*" * len(match[0]), data) if self._pattern else data

    def value(self, value: Any) -> Any:
        """A JSON value with every secret in its texts overwritten."""
        if self._pattern is None:
            return value
        redacted = self.data(json.dumps(value, ensure_ascii=True).encode("ascii"))
        try:
            return json.loads(redacted)
        except ValueError:  # a secret of digits is a part of some number
            return self._within(value)

    def _within(self, value: Any) -> Any:
        """The same text by text. A number that holds a secret is not known any more, but for fractions, in
        whose digits anything can be found."""
        match value:
            case str():
                return self.value(value)
            case bool() | float() | None:
                return value
            case int():
                return value if self.data(str(value).encode()) == str(value).encode() else None
            case Mapping():
                return {self.value(str(key)): self._within(inner) for key, inner in value.items()}
        return [self._within(inner) for inner in value]

    def stream(self) -> RedactedStream:
        """For data that comes in pieces."""
        return RedactedStream(self)

    def held_back(self, data: bytes) -> int:
        """How many bytes at the end of `data` may be the beginning of a secret."""
        longest = 0
        for form in self._forms:
            for size in range(min(len(form) - 1, len(data)), longest, -1):
                if data.endswith(form[:size]):
                    longest = size
                    break
        return longest


NOTHING_SECRET = Redactor()


@define
class RedactedStream:
    """Overwrites secrets in a stream, also those that are cut by the end of a piece.

    Attributes:
        found: Whether there was one so far.
    """

    _redactor: Redactor
    _rest: bytes = field(default=b"", init=False)
    found: bool = field(default=False, init=False)

    def feed(self, data: bytes) -> bytes:
        """What can be passed on now; what may be the beginning of a secret waits for more."""
        whole = self._rest + data
        data = self._redactor.data(whole)
        self.found |= data != whole
        keep = self._redactor.held_back(data)
        self._rest = data[len(data) - keep :]
        return data[: len(data) - keep]

    def finish(self) -> bytes:
        """What was held back."""
        rest, self._rest = self._rest, b""
        return rest


class RedactedContent(io.RawIOBase):
    """Reads a file of which every secret is overwritten.

    Attributes:
        found: Whether there was one in what was read.
    """

    def __init__(self, file: IO[bytes], redactor: Redactor) -> None:
        self._file, self._stream = file, redactor.stream()
        self._digest = hashlib.sha256()
        self._ready = bytearray()
        self._ended = False

    @property
    def found(self) -> bool:
        return self._stream.found

    @property
    def sha256(self) -> str:
        """Of what was read, as it was."""
        return self._digest.hexdigest()

    def read(self, size: int = -1) -> bytes:
        while not self._ended and (size < 0 or len(self._ready) < size):
            data = self._file.read(_BLOCK)
            self._digest.update(data)
            self._ready += self._stream.feed(data) if data else self._stream.finish()
            self._ended = not data
        taken = bytes(self._ready[:size] if size >= 0 else self._ready)
        del self._ready[: len(taken)]
        return taken


def _forms(secret: str) -> Iterator[bytes]:
    raw = secret.encode("utf-8", "surrogateescape")
    yield raw
    yield json.dumps(secret)[1:-1].encode("ascii")
    yield raw.lower()  # as a name of a host is written
    yield quote(secret, safe="").encode("ascii")
    for shift in range(3):
        # Inside a longer text, a secret's first and last characters mix with what is around it.
        whole = raw[-shift % 3 :]
        inner = base64.b64encode(whole[: len(whole) // 3 * 3])
        for form in (inner, inner.translate(_URL_SAFE)):
            if len(form) >= SHORTEST:
                yield form
