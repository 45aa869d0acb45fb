"""Peak memory and time of reading a large stream as a transcript.

    python benchmarks/bench_transcript.py [--megabytes 500] [--keep FILE]

Writes a stream like that of a long trial (tools whose output has many megabytes on one line, text that is not
ASCII, sub-agents, tens of thousands of small events), reads it in a process of its own and prints what the
operating system says of that process. Exits with 1 where the peak is 150 MB or more.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

LIMIT_MB = 150
MB = 10**6
OUTPUTS = (
    "src/module.py:12: def tidy(rows):\n",
    '{"name": "value", "list": [1, 2, 3], "path": "C:\\\\temp"},\n',
    "naïve café 東京 😀 and more words\n",
    "x" * 200,
)


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--megabytes", type=int, default=500)
    options.add_argument("--keep", type=Path, help="write the stream here and leave it")
    options.add_argument("--write", type=Path, help=argparse.SUPPRESS)
    options.add_argument("--read", type=Path, help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.write:
        return write(given.write, given.megabytes * MB)
    if given.read:
        return read(given.read)
    with tempfile.TemporaryDirectory() as directory:
        path = given.keep or Path(directory) / "events.jsonl"
        # Each in a process of its own: a process begins with the peak of the one that started it.
        again(f"--write={path}", f"--megabytes={given.megabytes}")
        told = json.loads(again(f"--read={path}"))
    print(
        f"{told['bytes'] / MB:.0f} MB, {told['lines']} lines, longest {told['longest'] / MB:.1f} MB: "
        f"{told['seconds']:.1f} s ({told['bytes'] / MB / told['seconds']:.0f} MB/s), "
        f"peak {told['peak_mb']:.0f} MB of {LIMIT_MB}, of which {told['start_mb']:.0f} before reading"
    )
    return 0 if told["peak_mb"] < LIMIT_MB else 1


def again(*arguments: str) -> str:
    command = [sys.executable, __file__, *arguments]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def read(path: Path) -> int:
    """Reads the stream and prints numbers as JSON."""
    from skillwalker.transcript import Transcript

    start_mb = peak_mb()
    began = time.perf_counter()
    transcript = Transcript.read(path)
    seconds = time.perf_counter() - began
    peak = peak_mb()
    assert transcript.result is not None
    assert transcript.final_text == "all done"
    assert transcript.skills[0].loaded
    with path.open("rb") as file:
        sizes = [len(line) for line in file]
    numbers = {
        "bytes": path.stat().st_size,
        "lines": len(sizes),
        "longest": max(sizes),
        "seconds": seconds,
        "peak_mb": peak,
        "start_mb": start_mb,
    }
    print(json.dumps(numbers))
    return 0


def peak_mb() -> float:
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / MB


def write(path: Path, size: int) -> int:
    with path.open("wb") as file:
        for event in stream(size):
            file.write(json.dumps(event, ensure_ascii=False, separators=(",", ":")).encode() + b"\n")
    return 0


def stream(size: int) -> Iterator[dict[str, Any]]:
    """Events of about `size` bytes altogether."""
    yield {"type": "system", "subtype": "init", "claude_code_version": "2.1.332", "plugins": [], "skills": []}
    yield call("skill", "Skill", {"skill": "acme:tidy-csv"})
    yield answer("skill", "Launching skill: acme:tidy-csv", {"success": True, "commandName": "acme:tidy-csv"})
    yield call("agent", "Agent", {"subagent_type": "acme:auditor", "prompt": "go"})
    number = written = 0
    while written < size:
        number += 1
        text = OUTPUTS[number % len(OUTPUTS)]
        # Mostly small results, now and then one of megabytes; the longest line has about 20 MB.
        length = (10 * MB if number % 600 == 0 else MB) if number % 60 == 0 else 2000
        output = text * (length // len(text.encode()))
        parent = "agent" if number % 2 else None
        yield call(f"toolu_{number:020}", "Bash", {"command": "run"}, parent)
        yield answer(f"toolu_{number:020}", output, {"stdout": output, "stderr": ""}, parent)
        written += 2 * len(output.encode()) + 700
    yield answer("agent", "report", {"status": "completed", "agentType": "acme:auditor", "content": []})
    yield message({"type": "text", "text": "all done"}, None)
    yield {"type": "result", "subtype": "success", "is_error": False, "result": "all done", "num_turns": 9}


def message(block: dict[str, Any], parent: str | None) -> dict[str, Any]:
    identity = f"msg_{block.get('id', 'last')}"
    body = {"id": identity, "model": "claude-sonnet-5-5", "content": [block], "usage": {"output_tokens": 1}}
    return {"type": "assistant", "message": body, "parent_tool_use_id": parent}


def call(identity: str, name: str, tool_input: dict[str, Any], parent: str | None = None) -> dict[str, Any]:
    return message({"type": "tool_use", "id": identity, "name": name, "input": tool_input}, parent)


def answer(identity: str, text: str, extra: dict[str, Any], parent: str | None = None) -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": identity, "content": text}
    body = {"role": "user", "content": [block]}
    return {"type": "user", "message": body, "parent_tool_use_id": parent, "tool_use_result": extra}


if __name__ == "__main__":
    sys.exit(main())
