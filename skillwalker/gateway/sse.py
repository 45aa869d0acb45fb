"""Server-sent events out of bytes, each as soon as its last byte is there.

`httpx2` has a parser too, on top of decoders of bytes and of text; per event, all of them together cost as
much as everything else in the gateway.
"""

from __future__ import annotations

from collections.abc import Iterator

from attrs import define, field


@define
class Parser:
    """Fed with the pieces of a body, however they are cut; an event without its end is none.

    Attributes:
        limit: Of one event, in bytes.
    """

    limit: int
    _rest: bytearray = field(factory=bytearray, init=False)
    _begun: bool = field(default=False, init=False)
    _carriage_return: bool = field(default=False, init=False)  # one at the end, whose line feed may follow

    def feed(self, piece: bytes) -> Iterator[tuple[str, bytes]]:
        """Name and data of each event that is whole now; the name is empty where it has none.

        To be used up before the next piece.

        Raises:
            ValueError: an event is larger than the limit; those before it came.
        """
        if self._carriage_return:
            piece, self._carriage_return = b"\r" + piece, False
        if b"\r" in piece:
            if piece.endswith(b"\r"):
                piece, self._carriage_return = piece[:-1], True
            piece = piece.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        begin, look = 0, max(len(self._rest) - 1, 0)
        self._rest += piece
        if not self._begun and len(self._rest) >= 3:
            self._begun = True
            begin = 3 if self._rest.startswith(b"\xef\xbb\xbf") else 0
        while (end := self._rest.find(b"\n\n", max(begin, look))) >= 0:
            if end - begin > self.limit:
                break
            if event := _event(bytes(self._rest[begin:end])):
                yield event
            begin = end + 2
        del self._rest[:begin]
        if len(self._rest) > self.limit:
            raise ValueError(f"an event of more than {self.limit} bytes")


def _event(block: bytes) -> tuple[str, bytes] | None:
    name, data = b"", []
    for line in block.split(b"\n"):
        key, _, value = line.partition(b":")
        if key == b"data":
            data.append(value.removeprefix(b" "))
        elif key == b"event":
            name = value.removeprefix(b" ")
    return (name.decode("utf-8", "replace"), b"\n".join(data)) if data else None
