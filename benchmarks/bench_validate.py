"""How long `skillwalker validate` takes on 1,000 evals of 10 tests (20 files each); 3 s at most.

Printed beside it: the ratio to a process that only reads the same files, the part that no program can save.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

from pairs import command, compare, options, seconds

EVALS, TESTS, SECONDS = 1_000, 10, 3.0

READ = """
import pathlib, sys
for path in sorted(pathlib.Path(sys.argv[1]).glob("evals/*/*")):
    [each.read_bytes() for each in ([path] if path.is_file() else path.iterdir())]
"""


def write_root(root: Path) -> None:
    plugin = root / "acme"
    for index in range(5):
        skill = plugin / "skills" / f"skill-{index}"
        skill.mkdir(parents=True)
        (skill / "SKILL.md").write_text(
            f"---\nname: skill-{index}\ndescription: Does thing {index}.\n---\nDo.\n"
        )
    for number in range(EVALS):
        directory = root / "evals" / f"eval-{number:04}"
        (directory / "prompts").mkdir(parents=True)
        tests = []
        for index in range(TESTS):
            (directory / "prompts" / f"p{index}.md").write_text(f"Please do thing {index} for {number}.\n")
            reference = f"acme:skill-{index % 5}"
            tests.append(
                {
                    "name": f"test {index}",
                    "type": "skill-call" if index % 2 else "skill-prompt",
                    "skillFile": reference,
                    "promptFile": f"p{index}.md",
                    "expect": [{"skill-call": True}, {"result-contains": "done"}],
                }
            )
        text = json.dumps({"plugins": ["acme"], "tests": tests}, indent=2)
        (directory / "tests.json").write_text(text)


if __name__ == "__main__":
    wanted = options(__doc__, pairs=5)
    skillwalker = str(Path(sys.executable).with_name("skillwalker"))
    with tempfile.TemporaryDirectory() as temporary:
        write_root(Path(temporary))
        ours = command(skillwalker, "--root", temporary, "validate")
        compare(
            "validate / reading the files",
            ours,
            command(sys.executable, "-c", READ, temporary),
            wanted.pairs,
            float("inf"),
        )
        best = min(seconds(ours) for _ in range(3))
    print(f"validate on {EVALS} evals of {TESTS} tests: {best:.2f} s (at most {SECONDS})")
    sys.exit(0 if best <= SECONDS else 1)
