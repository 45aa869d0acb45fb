"""Links: who may speak, what is left after closing, many at a time."""

import json
import threading
from contextlib import suppress

import pytest
from gateway_support import connected, main_request, opened, post
from waiting import PATIENCE, wait_until

from skillwalker.gateway import server
from skillwalker.gateway.rehearsal import RehearsalResponder
from skillwalker.gateway.server import Caller, Gateway


def test_the_connection_says_who_speaks_whatever_the_client_says():
    with (
        Gateway(RehearsalResponder()) as gateway,
        gateway.open(Caller("one", "trial")) as one,
        gateway.open(Caller("two", "trial")) as two,
    ):
        headers = {"x-api-key": "two", "x-forwarded-for": "two", "host": "two"}
        post(one, main_request("Go", metadata={"user_id": "two"}), headers)
        assert (one.traffic().requests, two.traffic().requests) == (1, 0)
        assert one.traffic().message_ids.isdisjoint(two.traffic().message_ids)


def test_nothing_listens():
    import os
    from pathlib import Path

    def listening():
        """Inodes of this process's sockets that the kernel lists as listening."""
        listed = set()
        for table in ("tcp", "tcp6"):
            rows = Path("/proc/net", table).read_text().splitlines()[1:]
            listed |= {row.split()[9] for row in rows if row.split()[3] == "0A"}
        links = set()
        for path in Path("/proc/self/fd").iterdir():
            with suppress(OSError):  # closed meanwhile
                links.add(os.readlink(path))
        return {link for link in links if link.removeprefix("socket:[").removesuffix("]") in listed}

    if not os.path.exists("/proc/net/tcp"):
        pytest.skip("this system has no /proc")
    before = listening()
    with opened() as link, connected(link):
        assert listening() <= before


def test_a_closed_link_leads_nowhere():
    with opened() as link:
        with connected(link) as connection:
            connection.request("GET", "/")
            assert connection.getresponse().read() == b""
            link.close()
            assert connection.sock.recv(10) == b""
        link.close()
        with pytest.raises(ConnectionRefusedError):
            link.connect()
        assert link.traffic().requests == 0


def test_leaving_the_gateway_closes_every_link_and_ends_the_thread():
    with Gateway(RehearsalResponder()) as gateway:
        link = gateway.open(Caller("t", "trial"))
        sock = link.connect()
    assert sock.recv(10) == b""
    sock.close()
    with pytest.raises(ConnectionRefusedError):
        link.connect()
    link.close()
    assert "gateway" not in [thread.name for thread in threading.enumerate()]


def test_a_connection_that_is_just_being_made_is_broken_off_too():
    with Gateway(RehearsalResponder()) as gateway:
        for _ in range(200):
            link = gateway.open(Caller("t", "trial"))
            sock = link.connect()
            sock.settimeout(PATIENCE)
            link.close()
            assert sock.recv(10) == b""
            sock.close()


def test_many_trials_at_a_time():
    turns = 20
    failures = []

    def trial(gateway, number):
        with gateway.open(Caller(f"t{number}", "trial")) as link, connected(link) as connection:
            for turn in range(turns):
                body = json.dumps(main_request("How much water do my seedlings need?", stream=bool(turn % 2)))
                connection.request("POST", "/v1/messages", body)
                response = connection.getresponse()
                if response.status != 200 or not response.read():
                    failures.append((number, turn))
            traffic = link.traffic()
            if (traffic.answers, len(traffic.tool_use_ids)) != (turns, turns):
                failures.append((number, traffic))

    with Gateway(RehearsalResponder()) as gateway:
        threads = [threading.Thread(target=trial, args=(gateway, number)) for number in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not failures


def test_every_byte_counts_as_activity():
    with opened() as link:
        before = link.traffic().last_activity
        with connected(link) as connection:
            connection.request("HEAD", "/")
            connection.getresponse().read()
        seen = link.traffic().last_activity
        assert seen > before
        assert link.traffic().last_activity == seen


def test_two_links_may_write_to_one_log_one_after_the_other(tmp_path):
    log = tmp_path / "gateway.jsonl"
    for purpose in ("trial", "judge"):
        with opened(log=log, purpose=purpose) as link:
            post(link, main_request("Go"))
    assert [json.loads(line)["thread"] for line in log.read_text().splitlines()] == ["main", "judge"]


def test_a_connection_that_never_speaks_is_closed_in_the_end():
    with opened() as link:
        sock = link.connect()
        link.close()
        assert sock.recv(1) == b""
        sock.close()


def test_a_caller_has_only_so_many_connections(monkeypatch):
    monkeypatch.setattr(server, "MAX_CONNECTIONS", 2)
    with opened() as link:
        with link.connect(), link.connect(), pytest.raises(ConnectionRefusedError, match="busy"):
            link.connect()

        def has_room() -> bool:
            with suppress(ConnectionRefusedError):
                link.connect().close()
                return True
            return False

        wait_until(has_room)  # those that left make some


@pytest.mark.parametrize(
    "endless",
    [
        b"POST /v1/messages HTTP/1.1\r\nx: ",
        b"POST /v1/messages HTTP/1.1\r\nx: y\r\ntransfer-encoding: chunked\r\n\r\n1\r\n{\r\n0\r\nx: ",
        b"POST /",
    ],
    ids=["head", "trailer", "path"],
)
def test_a_request_whose_head_has_no_end_is_broken_off(endless: bytes) -> None:
    with Gateway(RehearsalResponder()) as gateway, gateway.open(Caller("t", "trial")) as link:
        with link.connect() as sock:
            sock.settimeout(PATIENCE)
            sent = 0
            with suppress(OSError):
                sock.sendall(endless)
                while sent < 64 << 20:
                    sock.sendall(b"x" * 65536)
                    sent += 65536
        assert sent < 8 << 20
        assert post(link, main_request("Go"))[0] == 200
