"""A long run: 200 trials with 8 jobs and a scripted `claude` in the image. None may be lost.

Printed: the runner's peak memory (200 MB at most), and how much longer the last 50 trials took than the first
50 (1.1 times at most, by the median of their durations).
"""

from __future__ import annotations

import json
import resource
import statistics
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path

from bench_trials import write_root

from skillwalker.sandbox.engine import connect
from skillwalker.sandbox.image import ensure_image

TRIALS, JOBS, MEGABYTES, RATIO = 200, 8, 200, 1.1
SCRIPTED = Path(__file__).parents[1] / "tests" / "data" / "fake_claude.py"


def scripted_image() -> str:
    """The sandbox image with the scripted program in the place of Claude Code."""
    with closing(connect()) as client, tempfile.TemporaryDirectory() as directory:
        ours = ensure_image(client, progress=print)
        Path(directory, "claude").write_text("#!/usr/bin/python3\n" + SCRIPTED.read_text("utf-8"))
        Path(directory, "Dockerfile").write_text(
            f"FROM {ours.tag}\nUSER root\nCOPY claude /usr/local/bin/claude\n"
            "RUN chmod 755 /usr/local/bin/claude\nUSER agent\n"
        )
        image, _ = client.images.build(path=directory, tag="skillwalker-bench:scripted", rm=True)
        return str(image.id)


def main() -> int:
    image = scripted_image()
    with tempfile.TemporaryDirectory() as temporary:
        root = Path(temporary)
        directory = write_root(root, TRIALS, 0.0)
        (directory / "prompts" / "p.md").write_text("ends well")
        program = str(Path(sys.executable).with_name("skillwalker"))
        options = ["--isolated", "--rehearse", "--jobs", str(JOBS), "--image", image, "--format", "json"]
        done = subprocess.run(
            [program, "--root", temporary, "run", *options], capture_output=True, text=True, check=False
        )
        run = json.loads(done.stdout)
        files = sorted(
            root.glob(".skillwalker/runs/*/trials/*/trial.json"), key=lambda file: file.stat().st_mtime_ns
        )
        stored = [json.loads(file.read_text()) for file in files]
    durations = [trial["duration_ms"] for trial in stored]
    why = {f"{trial['reason']}: {trial['message']}" for trial in stored if trial["reason"]}
    measured = run["tests"][0]["measured"]
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1000
    ratio = statistics.median(durations[-50:]) / statistics.median(durations[:50])
    print(f"{measured} of {TRIALS} trials measured, {run['outcome']}", *sorted(why)[:3], sep="; ")
    print(f"peak memory {peak:.0f} MB (at most {MEGABYTES})")
    print(f"last 50 trials against first 50: {ratio:.3f} (at most {RATIO})")
    return 0 if measured == TRIALS and peak <= MEGABYTES and ratio <= RATIO else 1


if __name__ == "__main__":
    sys.exit(main())
