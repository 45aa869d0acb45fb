"""The log of a trial's connections."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest

from skillwalker.redaction import Redactor
from skillwalker.sandbox import network_log
from skillwalker.sandbox.network_log import Connection, NetworkLog


def same(value: Any) -> Any:
    return value


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("ascii").splitlines()]


def test_a_line_tells_what_a_connection_was(tmp_path: Path) -> None:
    log = NetworkLog(tmp_path / "network.jsonl", same)
    connection = Connection("CONNECT", "pypi.org", 443, "151.101.0.223", "passed", None, 700, 5000)
    log.add(connection)
    log.close()
    (line,) = lines(tmp_path / "network.jsonl")
    assert line.pop("time").endswith("+00:00")
    assert 0 <= line.pop("ms") < 10_000
    assert line == {
        "method": "CONNECT",
        "host": "pypi.org",
        "port": 443,
        "address": "151.101.0.223",
        "outcome": "passed",
        "message": None,
        "sent": 700,
        "received": 5000,
    }
    assert log.notes() == ()


def test_without_a_connection_there_is_no_file(tmp_path: Path) -> None:
    NetworkLog(tmp_path / "network.jsonl", same).close()
    assert not (tmp_path / "network.jsonl").exists()


def test_what_was_refused_is_noted_the_most_frequent_first(tmp_path: Path) -> None:
    log = NetworkLog(tmp_path / "network.jsonl", same)
    for host in ("a", "b", "b", "c", "d", "e", "f"):
        log.add(Connection("CONNECT", host, 443, outcome="refused"))
    (note,) = log.notes()
    assert note.startswith("7 connections refused: b:443 (2 x); a:443 (1 x); ")
    assert note.endswith("; ...; network.jsonl tells why")


def test_secrets_in_names_are_overwritten(tmp_path: Path) -> None:
    log = NetworkLog(tmp_path / "network.jsonl", Redactor(("hunter2hunter2",)).value)
    log.add(
        Connection("CONNECT", "hunter2hunter2.example", 443, outcome="refused", message="no hunter2hunter2")
    )
    assert "hunter2" not in (tmp_path / "network.jsonl").read_text()
    assert "hunter2" not in str(log.notes())


def test_a_trial_cannot_fill_the_disk_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network_log, "LINES", 50)
    log = NetworkLog(tmp_path / "network.jsonl", same)
    threads = [
        threading.Thread(
            target=lambda n=n: [
                log.add(Connection("CONNECT", f"h{n}-{i}", 1, outcome="refused")) for i in range(30)
            ]
        )
        for n in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    log.close()
    written = lines(tmp_path / "network.jsonl")
    assert len(written) == 51
    assert written[-1] == {"left_out": 70}


def test_a_place_that_cannot_be_written_is_a_note(tmp_path: Path) -> None:
    log = NetworkLog(tmp_path / "gone" / "network.jsonl", same)
    log.add(Connection("CONNECT", "a", 1, outcome="passed"))
    assert log.notes() == ("network.jsonl: No such file or directory",)
