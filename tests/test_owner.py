from __future__ import annotations

import subprocess
import sys
import time
from typing import Any

import pytest
from waiting import wait_until

from skillwalker.sandbox import owner as module
from skillwalker.sandbox.owner import CONTENT, CREATED, KEPT, OWNER, RUN, Owner, reap

RUN_ID = "20261130T101500Z-abcdef"


def process(code: str = "input()") -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE)


def owner_of(pid: int) -> Owner:
    started = module._started(pid)
    assert started
    return Owner(Owner.current().host, pid, started)


@pytest.fixture
def dead() -> Owner:
    child = process()
    owner = owner_of(child.pid)
    child.communicate()
    return owner


LIVE = Owner.current()
ELSEWHERE = Owner("other-host-01234567", LIVE.pid, LIVE.started)


def test_a_label_gives_the_owner_back() -> None:
    assert Owner.parse(str(LIVE)) == LIVE
    assert LIVE.labels(RUN_ID)[RUN] == RUN_ID


@pytest.mark.parametrize(
    "label", ["", "host", "host notanumber x", " 12 x", "host \u00b2 x", "host " + "9" * 5000 + " x"]
)
def test_a_label_that_is_none_of_ours_has_no_owner(label: str) -> None:
    assert Owner.parse(label) is None


def test_this_process_is_alive() -> None:
    assert LIVE.is_dead() is False


def test_a_process_that_has_ended_is_dead(dead: Owner) -> None:
    assert dead.is_dead() is True


def test_a_killed_process_is_dead_before_its_parent_has_asked() -> None:
    child = process()
    owner = owner_of(child.pid)
    assert owner.is_dead() is False
    child.kill()
    wait_until(owner.is_dead)
    assert child.returncode is None  # a zombie still
    child.communicate()


def test_another_process_with_the_same_id_is_not_the_owner() -> None:
    assert Owner(LIVE.host, LIVE.pid, "long-ago").is_dead() is True


def test_of_other_hosts_and_of_unknown_start_nothing_is_known() -> None:
    assert ELSEWHERE.is_dead() is None
    assert Owner(LIVE.host, LIVE.pid, "").is_dead() is None


def test_a_process_that_proc_hides_is_not_taken_for_dead(monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(*_: object, **__: object) -> str:
        raise FileNotFoundError

    monkeypatch.setattr(module.Path, "read_text", gone)
    assert Owner(LIVE.host, LIVE.pid, "1-2").is_dead() is None


class FakeEngine:
    """As much of the SDK's low-level client as reaping uses."""

    def __init__(self) -> None:
        self.api = self
        self.things: dict[str, dict[str, dict[str, str]]] = {"container": {}, "volume": {}}
        self.fails: dict[str, Exception] = {}

    def add(self, kind: str, name: str, owner: Owner, **labels: str) -> None:
        self.things[kind][name] = {**owner.labels(RUN_ID), **labels}

    def containers(self, *, all: bool, filters: dict[str, str]) -> list[dict[str, Any]]:
        assert all
        return [
            {"Id": name, "Names": [f"/{name}"], "Labels": labels}
            for name, labels in self.things["container"].items()
            if filters["label"] in labels
        ]

    def volumes(self, *, filters: dict[str, str]) -> dict[str, Any]:
        found = [
            {"Name": name, "Labels": labels}
            for name, labels in self.things["volume"].items()
            if filters["label"] in labels
        ]
        return {"Volumes": found or None, "Warnings": None}

    def remove_container(self, name: str, *, force: bool, v: bool) -> None:
        assert force
        assert v
        self._remove("container", name)

    def remove_volume(self, name: str) -> None:
        self._remove("volume", name)

    def _remove(self, kind: str, name: str) -> None:
        if name in self.fails:
            raise self.fails[name]
        del self.things[kind][name]

    def names(self) -> set[str]:
        return {name for things in self.things.values() for name in things}


@pytest.fixture
def engine(dead: Owner) -> FakeEngine:
    engine = FakeEngine()
    for kind in ("container", "volume"):
        engine.add(kind, f"{kind}-dead", dead)
        engine.add(kind, f"{kind}-live", LIVE)
        engine.add(kind, f"{kind}-elsewhere", ELSEWHERE)
    engine.add("container", f"{KEPT}dead", dead)
    engine.add("volume", "content", dead, **{CONTENT: "content"})
    engine.things["container"]["somebody-elses"] = {}
    return engine


def test_only_what_dead_processes_of_this_host_left_is_removed(engine: FakeEngine) -> None:
    before = engine.names()
    reaped = reap(engine)  # type: ignore[arg-type]
    assert before - engine.names() == {"container-dead", "volume-dead"}
    assert {item.name for item in reaped.removed} == {"container-dead", "volume-dead"}
    assert {item.name for item in reaped.elsewhere} == {"container-elsewhere", "volume-elsewhere"}
    assert all(item.age_seconds is not None and item.age_seconds < 600 for item in reaped.elsewhere)
    assert reaped.failed == ()


def test_what_was_kept_and_what_is_cached_goes_only_when_asked_for(engine: FakeEngine) -> None:
    reap(engine, kept=True, content=True)  # type: ignore[arg-type]
    left = {"container-live", "volume-live", "container-elsewhere", "volume-elsewhere", "somebody-elses"}
    assert engine.names() == left


def test_an_old_cache_goes_by_itself(engine: FakeEngine) -> None:
    engine.things["volume"]["content"][CREATED] = str(int(time.time()) - 8 * 86_400)
    reap(engine)  # type: ignore[arg-type]
    assert "content" not in engine.names()


def test_what_cannot_be_removed_is_told_and_the_rest_goes_on(engine: FakeEngine) -> None:
    from docker.errors import APIError, NotFound

    engine.fails["container-dead"] = APIError("no", explanation="device or resource busy")
    engine.fails["volume-dead"] = NotFound("no such volume")  # somebody else was faster
    engine.fails["content"] = APIError("volume is in use")
    reaped = reap(engine, content=True)  # type: ignore[arg-type]
    assert [(item.name, problem) for item, problem in reaped.failed] == [
        ("container-dead", "device or resource busy")
    ]
    assert [item.name for item in reaped.removed] == ["volume-dead"]


def test_a_label_nobody_can_read_is_left_alone(engine: FakeEngine) -> None:
    engine.things["container"] = {"odd": {OWNER: "?", CREATED: "yesterday"}}
    engine.things["volume"] = {}
    (odd,) = reap(engine).elsewhere  # type: ignore[arg-type]
    assert (odd.name, odd.age_seconds) == ("odd", None)
