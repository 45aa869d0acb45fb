"""What the real Claude Code tells the model of skills and agents, against what Skillwalker says it does."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from attrs import frozen
from plugin_files import STYLES, file, odd_plugins, plugin

from skillwalker.isolate import one_agent_plugin, one_skill_plugin
from skillwalker.plugins import Agent, PluginSet, Skill, load_plugins
from skillwalker.tree import Tree

if TYPE_CHECKING:
    from docker import DockerClient

# A model that answers "ok", on the container's own loopback: no network is needed. Prints the first request.
MODEL = """
import http.server, json, subprocess, sys, threading
bodies = []
class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *arguments): pass
    def do_POST(self):
        bodies.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
        message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [],
                   "stop_reason": None, "usage": {"input_tokens": 1, "output_tokens": 1}}
        events = [
            {"type": "message_start", "message": message},
            {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
            {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "ok"}},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 1}},
            {"type": "message_stop"}]
        data = "".join(f"event: {e['type']}\\ndata: {json.dumps(e)}\\n\\n" for e in events).encode()
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
server = http.server.ThreadingHTTPServer(("127.0.0.1", 8099), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
done = subprocess.run(["claude", *sys.argv[1:]], stdin=subprocess.DEVNULL, capture_output=True, text=True)
print(json.dumps({"requests": bodies[:1], "out": done.stdout, "err": done.stderr}))
"""
ENVIRONMENT = {
    "ANTHROPIC_API_KEY": "placeholder",
    "ANTHROPIC_BASE_URL": "http://127.0.0.1:8099",
    "CLAUDE_AGENT_SDK_DISABLE_BUILTIN_AGENTS": "1",
    "CLAUDE_CODE_DISABLE_BUNDLED_SKILLS": "1",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "CLAUDE_CODE_MAX_RETRIES": "0",
    "SLASH_COMMAND_TOOL_CHAR_BUDGET": "9000000",  # else descriptions are left out when there are many
}
OFF = ("true", "True", "'true'", "yes", "on", "1", "tRUE")
ON = ("false", "no", "y", "t", "[true]", "'0'", "null")

NAMED: Mapping[str, Mapping[str, Any]] = {
    "hooks": {"hooks": "./hooks/hooks.json"},
    "skills": {"skills": ["./gone"]},
    "skills-file": {"skills": ["./x.md"]},
    "skills-out": {"skills": ["./../out"]},
    "agents": {"agents": ["./gone.md"]},
    "agents-directory": {"agents": "./agents/"},
    "commands": {"commands": "./gone"},
    "commands-source": {"commands": {"a": {"source": "./gone.md"}}},
    "styles": {"outputStyles": "./gone"},
    "themes": {"experimental": {"themes": "./gone"}},
    "monitors": {"monitors": "./gone.json"},
    "inline": {"hooks": {"PreToolUse": {}}},
    "inline-other": {"hooks": {"Stop": {}}},
    "ending-of-lsp": {"lspServers": "./x.txt"},
    "mcp": {"mcpServers": "./gone.json"},
    "lsp": {"lspServers": "./gone.json"},
    "fine": {"skills": "./skills/"},
}
HOOKS = {
    "broken": "{",
    "empty": "",
    "list": "[]",
    "none": "{}",
    "null": '{"hooks": null}',
    "matchers": '{"hooks": {"PreToolUse": [{"matcher": "x"}]}}',
    "other-event": '{"hooks": {"Stop": {}, "Unknown": 1}}',
    "good": '{"hooks": {"PreToolUse": [{"hooks": []}]}}',
}

SKILLS = "The following skills are available for use with the Skill tool:"
AGENTS = "Available agent types for the Agent tool:"


@frozen
class Told:
    """What the model is told.

    Attributes:
        skills: A line of the listing by the skill's id.
        agents: The listing's text, without what it says of tools.
        errors: What Claude Code says of plugins that it could not load.
    """

    skills: Mapping[str, str]
    agents: str
    errors: Sequence[str]


def told_by_claude_code(
    client: DockerClient, image: str, plugins: Iterable[tuple[str, Tree]], ids: Iterable[str]
) -> Told:
    """Runs the real Claude Code once with these plugins."""
    files = {"model.py": MODEL.encode()}
    options = []
    for number, (name, tree) in enumerate(plugins):
        options.append(f"--plugin-dir=/listing/{number}/{name}")
        for entry in tree.entries:
            if entry.kind == "file":
                files[f"{number}/{name}/{entry.path}"] = tree.read(entry.path)
    container = client.containers.create(
        image,
        entrypoint=["python3", "-I", "/listing/model.py"],
        command=[
            "--print",
            "--verbose",
            "--output-format=stream-json",
            "--model=sonnet",
            "--setting-sources=",
            "--no-session-persistence",
            *options,
            "hello",
        ],
        environment=ENVIRONMENT,
        network_mode="none",
    )
    try:
        archive = io.BytesIO()
        Tree.of_files(files).write_tar(archive, prefix="listing")
        container.put_archive("/", archive.getvalue())
        container.start()
        container.wait(timeout=600)
        said = json.loads(container.logs(stdout=True, stderr=False))
    finally:
        container.remove(force=True, v=True)
    assert said["requests"], said
    return _told(said["requests"][0], said["out"], set(ids))


def _told(request: Mapping[str, Any], out: str, ids: set[str]) -> Told:
    texts = []
    for message in request["messages"]:
        given = message["content"]
        texts += [given] if isinstance(given, str) else [part.get("text", "") for part in given]
    together = "\n".join(texts)
    lines: dict[str, str] = {}
    for line in _between(together, SKILLS, "\n\n").split("\n"):
        if known := next((id_ for id_ in ids if re.match(rf"- {re.escape(id_)}(: | \()", line)), None):
            lines[known] = line
    agents = _between(together, AGENTS, "\n\nWhen you launch multiple agents")
    init = next(event for event in map(json.loads, out.splitlines()) if event.get("subtype") == "init")
    errors = [json.dumps(error) for error in init.get("plugin_errors", ())]
    return Told(lines, re.sub(r" \(Tools: [^()]*\)(?=\n- |$)", "", agents), errors)


def _between(text: str, start: str, end: str) -> str:
    found = text.partition(start)[2].lstrip("\n")
    return found[: found.index(end)] if end in found else found


def _all(found: PluginSet) -> tuple[list[Skill], list[Agent]]:
    skills = [skill for one in found.plugins for skill in one.skills]
    return skills, [agent for one in found.plugins for agent in one.agents]


@pytest.fixture(scope="module")
def originals(tmp_path_factory: pytest.TempPathFactory) -> PluginSet:
    root = tmp_path_factory.mktemp("root")
    written = odd_plugins(root)
    files = sorted(STYLES.glob("*.md"))
    plugin(root, "styles", {f"skills/{path.stem}/SKILL.md": path.read_bytes() for path in files})
    plugin(
        root, "agents", {f"agents/{path.stem}.md": path.read_bytes() for path in files}, {"name": "agents"}
    )
    switches = {
        f"skills/{kind}-{number}/SKILL.md": file(**{"disable-model-invocation": value})
        for kind, values in (("off", OFF), ("on", ON))
        for number, value in enumerate(values)
    }
    plugin(root, "switches", switches)
    found = load_plugins(root, (*written, "styles", "agents", "switches"))
    assert not found.problems
    return found


@pytest.fixture(scope="module")
def told_of_originals(docker_client: DockerClient, sandbox_image: str, originals: PluginSet) -> Told:
    ids = [skill.id for skill in _all(originals)[0]]
    return told_by_claude_code(docker_client, sandbox_image, originals.trees(), ids)


@pytest.fixture(scope="module")
def told_of_temporaries(docker_client: DockerClient, sandbox_image: str, originals: PluginSet) -> Told:
    skills, agents = _all(originals)
    trees = [one_skill_plugin(skill) for skill in skills if skill.model_may_call]
    trees += [one_agent_plugin(agent) for agent in agents]
    return told_by_claude_code(docker_client, sandbox_image, trees, [skill.id for skill in skills])


def test_claude_code_loads_all_these_plugins(told_of_originals: Told, told_of_temporaries: Told) -> None:
    assert not told_of_originals.errors
    assert not told_of_temporaries.errors


def test_skills_are_shown_as_predicted(originals: PluginSet, told_of_originals: Told) -> None:
    """Whether a skill is listed at all, and with which text."""
    predicted = {skill.id: skill.description for skill in _all(originals)[0] if skill.model_may_call}
    shown = {
        id_: line.partition(": ")[2] if f"- {id_}: " in line else re.sub(r"^- .*?\): ", "", line)
        for id_, line in told_of_originals.skills.items()
    }
    assert shown == {id_: text for id_, text in predicted.items() if text is not None}


def test_a_temporary_skill_has_the_line_of_the_original(
    told_of_originals: Told, told_of_temporaries: Told
) -> None:
    assert len(told_of_originals.skills) > 100
    assert told_of_temporaries.skills == told_of_originals.skills


def test_agents_are_shown_as_predicted(originals: PluginSet, told_of_originals: Told) -> None:
    agents = _all(originals)[1]
    assert len(agents) > 100
    expected = sorted(f"- {agent.id}: {agent.description}" for agent in agents)
    assert sorted(
        re.split(r"\n(?=- (?:agents|nested|hacker agent|\.claude|custom):)", told_of_originals.agents)
    ) == (expected)


def test_a_temporary_agent_has_the_text_of_the_original(
    told_of_originals: Told, told_of_temporaries: Told
) -> None:
    """But for the tools it may use, of which the temporary plugin says nothing."""
    assert told_of_temporaries.agents == told_of_originals.agents


def test_what_claude_code_reports_is_told_before_the_run(
    docker_client: DockerClient, sandbox_image: str, tmp_path: Path
) -> None:
    files = {"skills/a/SKILL.md": file(), "agents/a.md": file(), "x.md": file()}
    for name, declared in NAMED.items():
        plugin(tmp_path, f"named-{name}-end", files, {"name": f"named-{name}-end", **declared})
    for name, text in HOOKS.items():
        given = {**files, "hooks/hooks.json": text}
        plugin(tmp_path, f"hooks-{name}-end", given, {"name": f"hooks-{name}-end"})
    names = sorted(path.name for path in tmp_path.iterdir())
    trees = [(name, Tree.of_directory(tmp_path / name, root=tmp_path)) for name in names]
    errors = told_by_claude_code(docker_client, sandbox_image, trees, []).errors
    reported = {name for name in names if any(name in error for error in errors)}
    foretold = {name: load_plugins(tmp_path, [name]) for name in names}
    assert reported == {
        name
        for name, found in foretold.items()
        if found.problems or any("none with this plugin is measured" in one for one in found.notices)
    }
    assert {"named-hooks-end", "hooks-broken-end"} <= reported
