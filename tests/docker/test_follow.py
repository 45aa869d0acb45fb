"""`show --follow` beside a run that goes on."""

from __future__ import annotations

import subprocess
import sys

from roots import an_eval, bash, plugin, text
from waiting import PATIENCE, wait_until

from skillwalker.records import load_run
from skillwalker.reports.follow import follow
from skillwalker.store import Store

MAIN = "from skillwalker.cli.main import main; main()"


def test_lines_come_while_the_trial_runs_and_end_with_it(tmp_path, sandbox_image):
    plugin(tmp_path)
    script = {"slow": [bash("echo begun"), bash("sleep 15"), text("done")]}
    an_eval(tmp_path, [{"name": "slow", "expect": [{"result-contains": "done"}]}], script=script)
    command = [sys.executable, "-c", MAIN, "--root", tmp_path, "run", "--isolated", "--rehearse"]
    run = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        store = Store(tmp_path)
        wait_until(store.ids)
        directory = store.find("last")
        seen = [(line, run.poll()) for line in follow(directory, load_run(directory).tests)]
        assert run.wait(PATIENCE) == 0
    finally:
        run.kill()
        run.wait()

    lines = [line for line, _ in seen]
    assert dict(seen)["  result: begun"] is None, "told only when the run was over"
    assert lines[0] == "csv::slow  trial 1"
    assert lines[-2:] == ["  result (success): done", "csv::slow  trial 1: passed"]
