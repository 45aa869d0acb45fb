"""Keeps known secrets out of everything that is written or shown: each is overwritten with as many stars.

The length stays, so that a tar archive or a JSON text remains what it is. Beside the secret itself its base64
and URL forms are found. What is not known to be a secret cannot be found.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO
from urllib.parse import quote

from attrs import define, field, frozen

SHORTEST = 8
"""Characters; a shorter value would be found in too much that is no secret."""

_URL_SAFE = bytes.maketrans(b"+/", b"-_")
_NAMES = re.compile(r"(^|_)(KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)$", re.IGNORECASE)


def secrets_in(environment: Mapping[str, str]) -> tuple[str, ...]:
    """The values of variables whose names say that they are secrets, such as `ANTHROPIC_API_KEY`."""
    return tuple(
        value for name, value in environment.items() if _NAMES.search(name) and len(value) >= SHORTEST
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


@define
class RedactedStream:
    """Overwrites secrets in a stream, also those that are cut by the end of a piece."""

    _redactor: Redactor
    _rest: bytes = field(default=b"", init=False)

    def feed(self, data: bytes) -> bytes:
        """What can be passed on now; what may be the beginning of a secret waits for more."""
        data = self._redactor.data(self._rest + data)
        keep = self._redactor.held_back(data)
        self._rest = data[len(data) - keep :]
        return data[: len(data) - keep]

    def finish(self) -> bytes:
        """What was held back."""
        rest, self._rest = self._rest, b""
        return rest


@define
class RedactedFile:
    """A file to write to; secrets are overwritten on the way. Leave the block before the file is closed."""

    _file: BinaryIO
    _stream: RedactedStream
    _taken: int = field(default=0, init=False)

    def __enter__(self) -> RedactedFile:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.write(self._stream.finish())

    def write(self, data: bytes) -> int:
        self._file.write(self._stream.feed(bytes(data)))
        self._taken += len(data)
        return len(data)

    def tell(self) -> int:
        """How many bytes were taken, those held back among them."""
        return self._taken


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
