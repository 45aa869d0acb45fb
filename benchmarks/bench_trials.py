"""What isolation and measuring cost: whole runs against as many plain `docker run` of image and command.

Both sides include everything but the model: ours the interpreter's start, reading the eval, relay, gateway,
verdicts, files and clean-up; theirs a shell that starts `docker run --rm`, as many at a time.
"""

from __future__ import annotations

import ipaddress
import json
import shlex
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path

from pairs import command, compare, options

from skillwalker.claude_code import arguments, environment, prompt_line
from skillwalker.loading import load_eval
from skillwalker.sandbox.engine import connect
from skillwalker.sandbox.image import ImageInfo, ensure_image


def write_root(root: Path, trials: int, delay: float) -> Path:
    """A root with one eval of one test; its rehearsed model waits `delay` seconds."""
    plugin = root / "acme"
    (plugin / ".claude-plugin").mkdir(parents=True)
    (plugin / ".claude-plugin" / "plugin.json").write_text('{"name": "acme"}')
    (plugin / "skills" / "tidy").mkdir(parents=True)
    (plugin / "skills" / "tidy" / "SKILL.md").write_text(
        "---\nname: tidy\ndescription: Tidies CSV.\n---\nDo.\n"
    )
    directory = root / "evals" / "csv"
    (directory / "prompts").mkdir(parents=True)
    (directory / "prompts" / "p.md").write_text("Say done.")
    test = {
        "name": "done",
        "type": "skill-prompt",
        "promptFile": "p.md",
        "trials": trials,
        "expect": [{"result-contains": "done"}],
    }
    (directory / "tests.json").write_text(json.dumps({"plugins": ["acme"], "tests": [test]}))
    turn = {"content": "done", "delay_seconds": delay}
    (directory / "rehearsal.json").write_text(json.dumps({"tests": {"done": [turn]}}))
    return directory


def plain(
    root: Path, directory: Path, image: ImageInfo, address: str, trials: int, jobs: int
) -> tuple[str, ...]:
    """The shell command of the other side."""
    loaded = load_eval(directory, root)
    assert loaded.eval
    test = loaded.eval.tests[0]
    given = environment(test, background=False, timeout_seconds=600) | {"ANTHROPIC_BASE_URL": address}
    (root / "line").write_bytes(prompt_line(test.prompt))
    claude = arguments(test, model="sonnet", plugin_paths=["/plugins/0/acme"], version=image.claude_version)
    run = ["docker", "run", "--rm", "-i", "-v", f"{root / 'acme'}:/plugins/0/acme:ro"]
    for name, value in given.items():
        run += ["-e", f"{name}={value}"]
    one = shlex.join([*run, image.id, "claude", *claude])
    (root / "one.sh").write_text(f"exec {one} < {root / 'line'} > /dev/null\n")
    return ("sh", "-c", f"seq {trials} | xargs -P {jobs} -n 1 sh {root / 'one.sh'}")


def case(trials: int, jobs: int, delay: float, at_most: float, pairs: int) -> bool:
    with closing(connect()) as client:
        image = ensure_image(client, progress=print)
        # Where containers of the default network find this machine.
        subnet = client.networks.get("bridge").attrs["IPAM"]["Config"][0]["Subnet"]
        host = str(next(ipaddress.ip_network(subnet).hosts()))
    server = subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name("model_server.py")), host, str(delay)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with tempfile.TemporaryDirectory() as temporary, server:
        assert server.stdout
        address = server.stdout.readline().strip()
        root = Path(temporary)
        directory = write_root(root, trials, delay)
        skillwalker = str(Path(sys.executable).with_name("skillwalker"))
        ours = command(
            *(skillwalker, "--root", str(root), "run", "--isolated", "--rehearse", "--jobs", str(jobs))
        )
        theirs = command(*plain(root, directory, image, address, trials, jobs))
        try:
            name = f"{trials} trials, {jobs} jobs, {delay:g} s per turn"
            return compare(name, ours, theirs, pairs, at_most)
        finally:
            server.kill()


if __name__ == "__main__":
    wanted = options(__doc__)
    results = [
        case(24, 4, 0.0, 1.15, wanted.pairs),
        case(48, 8, 2.0, 1.10, wanted.pairs),
    ]
    sys.exit(0 if all(results) else 1)
