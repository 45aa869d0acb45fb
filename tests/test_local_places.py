"""Directories of runs: whose they are, and which of them go."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from skillwalker.sandbox import local_places
from skillwalker.sandbox.local_places import (
    KEPT,
    RUNS,
    clear,
    make_run_directory,
    remove,
    temporary_directory,
)
from skillwalker.sandbox.owner import Owner

LIVE = Owner.current()
ELSEWHERE = Owner("other-host-01234567", LIVE.pid, LIVE.started)


@pytest.fixture
def dead() -> Owner:
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    stat = Path(f"/proc/{child.pid}/stat").read_text().rpartition(")")[2].split()
    owner = Owner(LIVE.host, child.pid, f"{LIVE.started.partition('-')[0]}-{stat[19]}")
    assert owner.is_dead() is False
    child.communicate()
    return owner


def test_a_runs_directory_is_its_users_alone_and_names_its_owner(temporary):
    path = make_run_directory(LIVE)

    assert path.parent == temporary.resolve()
    assert path.stat().st_mode & 0o777 == 0o700
    assert Owner.parse((path / "owner").read_text().strip()) == LIVE


def test_only_what_the_dead_left_goes(temporary, dead):
    ours, theirs, far = (make_run_directory(owner) for owner in (LIVE, dead, ELSEWHERE))
    strange = temporary / f"{RUNS}strange"
    strange.mkdir()
    (strange / "owner").write_text("nobody knows")
    other = temporary / "skillwalker-demo-x"
    other.mkdir()
    file = temporary / f"{RUNS}file"
    file.touch()
    link = temporary / f"{RUNS}link"
    link.symlink_to(other)

    cleared = clear()

    assert [one.path for one in cleared.removed] == [theirs]
    assert {one.path for one in cleared.elsewhere} == {far, strange}
    assert set(temporary.iterdir()) == {ours, far, strange, other, file, link}


def test_a_directory_for_a_while_is_gone_afterwards_and_also_where_its_process_was_killed(temporary, dead):
    with temporary_directory() as path:
        assert list(path.iterdir()) == []
        assert clear().removed == ()
    assert list(temporary.iterdir()) == []

    left = make_run_directory(dead)
    with temporary_directory():
        assert not left.exists()


def test_a_directory_without_an_owner_is_given_a_minute(temporary):
    new, old = temporary / f"{RUNS}new", temporary / f"{RUNS}old"
    for path in (new, old):
        path.mkdir()
    os.utime(old, (time.time() - 61, time.time() - 61))

    assert [one.path for one in clear().removed] == [old]
    assert new.exists()


def test_what_was_kept_goes_only_on_demand(temporary, dead):
    run = make_run_directory(dead)
    kept = run.rename(run.with_name(run.name.replace(RUNS, KEPT)))

    assert clear().removed == ()
    assert [one.path for one in clear(kept=True).removed] == [kept]


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give files away")
def test_what_belongs_to_others_is_left_alone(temporary):
    path = temporary / f"{RUNS}x"
    path.mkdir()
    os.utime(path, (0, 0))
    os.chown(path, 12345, 12345)

    assert clear() == local_places.Cleared()


def test_what_still_runs_in_a_dead_runs_directory_is_killed(temporary, dead):
    path = make_run_directory(dead)
    inside = {"PATH": os.environ["PATH"], "HOME": f"{path}/trial/home"}
    stray = subprocess.Popen(["sleep", "1000"], env=inside, start_new_session=True)
    near = subprocess.Popen(["sleep", "1000"], env={**inside, "HOME": "/", "PWD": f"{path}/trial"})
    try:
        clear()
        assert stray.wait(120) == -9
        assert near.poll() is None
    finally:
        for process in (stray, near):
            process.kill()
            process.wait()


def test_whatever_a_trial_made_can_be_removed(tmp_path):
    top = tmp_path / "top"
    (top / "plugin" / "a").mkdir(parents=True)
    (top / "plugin" / "a" / "file").write_text("x")
    (top / "to-outside").symlink_to(tmp_path / "outside")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "file").write_text("x")
    for path in (top / "plugin" / "a" / "file", top / "plugin" / "a", top / "plugin"):
        path.chmod(0)
    here = os.getcwd()
    try:
        os.chdir(top)
        for _ in range(3000):
            os.mkdir("d")
            os.chdir("d")
    finally:
        os.chdir(here)

    assert remove(top) is True
    assert not top.exists()
    assert (tmp_path / "outside" / "file").read_text() == "x"
    assert remove(top) is True
