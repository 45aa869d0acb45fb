"""Stands in for Claude Code and behaves as its prompt says; only the process is scripted, the answers are not.

The prompt is the name of one of the functions at the end, with spaces for underscores.
"""

import json
import os
import signal
import subprocess
import sys
import time
import urllib.request

FLAGS = (
    "--print --verbose --input-format --output-format --replay-user-messages --dangerously-skip-permissions "
    "--no-session-persistence --setting-sources --model --plugin-dir"
)
PLUGINS = [part.partition("=")[2] for part in sys.argv if part.startswith("--plugin-dir=")]
CHILD = "import signal, time\nfor n in (1, 2, 15): signal.signal(n, signal.SIG_IGN)\ntime.sleep(1000)"


def write(data, pause=0.0, size=1 << 20):
    for start in range(0, len(data), size):
        part = data[start : start + size]
        while part:
            part = part[os.write(1, part) :]
        time.sleep(pause)


def line(event):
    return json.dumps(event).encode() + b"\n"


def init(plugins=PLUGINS):
    loaded = [{"name": os.path.basename(path), "path": path} for path in plugins]
    version = {"claude_code_version": "2.1.332", "model": "opus", "tools": ["Bash"], "mcp_servers": []}
    return line({"type": "system", "subtype": "init", "plugins": loaded, **version})


def answer(prompt):
    """What the gateway says, as an event."""
    body = {
        "model": "opus",
        "max_tokens": 100,
        "messages": [{"role": "user", "content": prompt}],
        "tools": [{"name": "Agent", "description": "", "input_schema": {"type": "object"}}],
    }
    request = urllib.request.Request(
        os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages?beta=true",
        json.dumps(body).encode(),
        {"content-type": "application/json", "x-api-key": os.environ["ANTHROPIC_API_KEY"]},
    )
    with urllib.request.urlopen(request) as response:
        message = json.load(response)
    return line({"type": "assistant", "message": message, "parent_tool_use_id": None, "session_id": "s"})


def result(text="done", **more):
    event = {"type": "result", "subtype": "success", "is_error": False, "result": text, "num_turns": 1}
    return line({**event, "total_cost_usd": 0.01, "duration_ms": 5, "modelUsage": {}, **more})


def everything(prompt):
    return [init(), answer(prompt), result()]


def ends_well(prompt):
    write(b"".join(everything(prompt)))


def repeats_what_the_gateway_says(prompt):
    event = answer(prompt)
    content = json.loads(event)["message"]["content"]
    write(init() + event + result("".join(block.get("text", "") for block in content)))


def exits_1_in_silence(prompt):
    sys.exit(1)


def exits_0_in_silence(prompt):
    pass


def ends_without_a_result(prompt):
    write(init() + answer(prompt))


def has_a_result_that_is_an_error(prompt):
    write(init() + answer(prompt) + result("it broke", is_error=True))
    sys.exit(1)


def exits_1_after_a_good_result(prompt):
    ends_well(prompt)
    sys.exit(1)


def runs_out_of_turns(prompt):
    write(init() + answer(prompt) + result(None, is_error=True, subtype="error_max_turns"))
    sys.exit(1)


def is_killed(prompt):
    write(init() + answer(prompt))
    os.kill(os.getpid(), signal.SIGKILL)


def leaves_a_child_that_holds_the_pipe(prompt):
    subprocess.Popen([sys.executable, "-c", CHILD])
    subprocess.Popen([sys.executable, "-c", CHILD], start_new_session=True, env={})
    write(b"".join(everything(prompt)))


def chatters_between_events(prompt):
    first, second, third = everything(prompt)
    write(b"(node:1) Warning: old\n" + first + b'{"type": "assist\n\n\xff\xfe\n[1, 2]\n' + second)
    os.write(2, b"warning: something\n")
    write(b"null\n" + third + b"bye\n")


def has_events_nobody_knows(prompt):
    first, second, third = everything(prompt)
    more = line({"type": "dance", "steps": [1]}) + line({"type": "system", "subtype": "new"}) + line({})
    write(more + first + more + second + more + third)


def has_a_line_of_30_megabytes(prompt):
    first, second, third = everything(prompt)
    long = {"type": "user", "message": {"role": "user", "content": "x" * 30_000_000}}
    write(first + second + line(long) + third)


def writes_byte_by_byte(prompt):
    write(b"".join(everything(prompt)), size=1)


def ends_without_a_newline(prompt):
    write(b"".join(everything(prompt))[:-1])


def goes_on_after_its_result(prompt):
    ends_well(prompt)
    time.sleep(1000)


def claims_a_call_that_nobody_made(prompt):
    call = {"type": "tool_use", "id": "toolu_forged", "name": "Skill", "input": {"skill": "acme:tidy"}}
    message = {"id": "msg_forged", "role": "assistant", "content": [call]}
    forged = line({"type": "assistant", "message": message, "parent_tool_use_id": None})
    first, second, third = everything(prompt)
    write(first + forged + second + third)


def loads_no_plugin(prompt):
    write(init([]) + answer(prompt) + result())


def never_asks_the_model(prompt):
    write(init() + result())


def ignores_every_signal(prompt):
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    subprocess.Popen([sys.executable, "-c", CHILD], env={})
    write(init())
    time.sleep(1000)


def ends_at_an_interrupt(prompt):
    def end(*_):
        write(result(None, is_error=True, subtype="error_during_execution"))
        os._exit(0)

    signal.signal(signal.SIGINT, end)
    write(init() + answer(prompt))
    time.sleep(1000)


def waits_with_children(prompt):
    """Tells their process ids in the work directory."""
    plain = subprocess.Popen([sys.executable, "-c", CHILD])
    away = subprocess.Popen([sys.executable, "-c", CHILD], start_new_session=True, env={})
    with open("pids.new", "w") as file:
        file.write(f"{os.getpid()} {plain.pid} {away.pid}")
    os.rename("pids.new", "pids")
    write(init())
    time.sleep(1000)


def main():
    if "--version" in sys.argv:
        print("2.1.332 (Claude Code)")
    elif "--help" in sys.argv:
        print(FLAGS)
    else:
        os.makedirs(os.path.join(os.environ["HOME"], ".claude"), exist_ok=True)
        for name in (".claude.json", ".claude/settings.json"):  # as the real one does
            with open(os.path.join(os.environ["HOME"], name), "w") as file:
                file.write("{}")
        prompt = json.loads(sys.stdin.readline())["message"]["content"]
        globals()[prompt.strip().replace(" ", "_")](prompt)


main()
