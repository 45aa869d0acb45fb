"""What --stop-early saves: 20 prompts, 3 trials each, half of them always passing and half always failing.

Runs on this machine with the scripted `claude` of the tests, once with the option and once without. Printed:
the requests to the model of both runs, as the gateway logged them (2/3 at most), and whether all tests have
the same outcomes. Counts, no times: they are the same on every machine.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

PROMPTS, TRIALS, AT_MOST = 20, 3, 2 / 3
SCRIPTED = Path(__file__).parents[1] / "tests" / "data" / "fake_claude.py"


def write_root(root: Path) -> None:
    """An eval whose tests expect what the scripted answer always has, or never."""
    directory = root / "evals" / "sided"
    (directory / "prompts").mkdir(parents=True)
    (directory / "prompts" / "p.md").write_text("ends well")
    plugin = root / "acme" / ".claude-plugin"
    plugin.mkdir(parents=True)
    (plugin / "plugin.json").write_text('{"name": "acme"}')
    tests = [
        {
            "name": f"prompt {number}",
            "type": "skill-prompt",
            "promptFile": "p.md",
            "trials": TRIALS,
            "expect": [{"result-contains": "done" if number % 2 else "something else"}],
        }
        for number in range(PROMPTS)
    ]
    (directory / "tests.json").write_text(json.dumps({"plugins": ["acme"], "tests": tests}))
    answers = {test["name"]: [{"content": "done"}] for test in tests}
    (directory / "rehearsal.json").write_text(json.dumps({"tests": answers}))


def run(root: Path, claude: Path, *options: str) -> tuple[dict[str, Any], int]:
    """The run's result, and how many requests the gateway answered."""
    program = str(Path(sys.executable).with_name("skillwalker"))
    given = ["--rehearse", "--yes", "--claude", str(claude), "--format", "json", *options]
    done = subprocess.run(
        [program, "--root", str(root), "run", *given], capture_output=True, text=True, check=False
    )
    if done.returncode not in (0, 1):
        sys.exit(done.stderr)
    result = json.loads(done.stdout)
    logs = root.glob(f".skillwalker/runs/{result['run_id']}/trials/*/gateway.jsonl")
    requests = [json.loads(line) for log in logs for line in log.read_text("utf-8").splitlines()]
    return result, sum(one.get("status") == 200 for one in requests)


def main() -> int:
    with tempfile.TemporaryDirectory() as temporary:
        root, claude = Path(temporary) / "root", Path(temporary) / "claude"
        claude.write_text(f"#!{sys.executable}\n{SCRIPTED.read_text('utf-8')}", "utf-8")
        claude.chmod(0o755)
        write_root(root)
        (whole, all_requests), (early, requests) = run(root, claude), run(root, claude, "--stop-early")
    outcomes = [[test["outcome"] for test in one["tests"]] for one in (whole, early)]
    same = outcomes[0] == outcomes[1]
    share = requests / all_requests
    passed, failed = (outcomes[0].count(one) for one in ("passed", "failed"))
    print(f"{PROMPTS} prompts, {TRIALS} trials: {passed} passed, {failed} failed; same outcomes: {same}")
    print(f"{requests} of {all_requests} model calls: {share:.3f} (at most {AT_MOST:.3f})")
    return 0 if same and {passed, failed} == {PROMPTS // 2} and share <= AT_MOST else 1


if __name__ == "__main__":
    sys.exit(main())
