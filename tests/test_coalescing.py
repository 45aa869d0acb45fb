"""What is written in one turn of the loop goes out as one."""

from __future__ import annotations

import asyncio
import socket

from skillwalker.gateway.coalescing import AT_ONCE_BYTES, Coalesced


class Writes(asyncio.Transport):
    def __init__(self) -> None:
        super().__init__({"peername": "them"})
        self.done: list[bytes | str] = []

    def write(self, data: object) -> None:
        self.done.append(bytes(data))  # type: ignore[arg-type]

    def is_closing(self) -> bool:
        return "closed" in self.done or "aborted" in self.done

    def close(self) -> None:
        self.done.append("closed")

    def abort(self) -> None:
        self.done.append("aborted")


def after(*steps: str | bytes) -> list[bytes | str]:
    """What a transport sees: bytes are written, `turn` lets the loop go on, all else is called."""

    async def act() -> list[bytes | str]:
        transport = Writes()
        coalesced = Coalesced(transport)
        for step in steps:
            if isinstance(step, bytes):
                coalesced.write(step)
            elif step == "turn":
                await asyncio.sleep(0)
            else:
                getattr(coalesced, step)()
        await asyncio.sleep(0)
        return transport.done

    return asyncio.run(act())


def test_one_write_for_one_turn():
    assert after(b"a", b"b", "turn", b"c", "turn", "turn", b"d") == [b"ab", b"c", b"d"]


def test_much_is_not_held_back():
    large = b"x" * AT_ONCE_BYTES
    assert after(b"a", large, b"b") == [b"a" + large, b"b"]


def test_what_was_written_goes_out_before_the_end():
    assert after(b"a", b"b", "close") == [b"ab", "closed"]
    assert after(b"a", "abort", "turn") == ["aborted"]
    assert after("close", b"late") == ["closed"]


def test_everything_else_is_the_transports():
    async def ask() -> object:
        return Coalesced(Writes()).get_extra_info("peername")

    assert asyncio.run(ask()) == "them"


def test_over_a_real_socket():
    async def send() -> bytes:
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        theirs.settimeout(120)
        transport, _ = await asyncio.get_running_loop().connect_accepted_socket(asyncio.Protocol, ours)
        coalesced = Coalesced(transport)
        for _ in range(1000):
            coalesced.write(b"x" * 1000)
        coalesced.close()
        received = await asyncio.to_thread(lambda: b"".join(iter(lambda: theirs.recv(1 << 16), b"")))
        theirs.close()
        return received

    assert asyncio.run(send()) == b"x" * 1_000_000
