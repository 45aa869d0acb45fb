"""How the modules lie on top of each other, and what importing one of them may cost."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest
from attrs import frozen

PACKAGE = Path(__file__).parent.parent / "skillwalker"

# The lowest first. A layer may import from those below it. Groups that share a layer do not know each other;
# within a group any order without a cycle will do. A package stands for all that is in it.
LAYERS: tuple[dict[str, str], ...] = (
    {"words": "skillwalker errors outcomes text names models"},
    {
        "files": "packaged atomic folders giveaways keywords jsonscan jsonfile tomlscan redaction tree "
        "archives workspace credentials commands tokens prices"
    },
    {
        "evals": "evals queries shapes fields loading select places",
        "plugins": "frontmatter manifest declarations listing marketplace parts components plugin_set "
        "plugins isolate",
        "events": "events tool_calls agent_uses skill_uses stream_facts stream_reader transcript progress",
        "judging": "judging",
    },
    {"expectations": "expectations", "gateway": "gateway", "sandbox": "sandbox"},
    {
        "checking": "claude_code claude_judge checks script_checks",
        "health": "health",
        "judge": "judge_client",
        "schema": "schema",
        "testing": "testing",
        "authoring": "wishes mentions targets drafting first_eval importing",
        "configuration": "settings configuration",
        "diagnosis": "diagnosis model_diagnosis",
    },
    {
        "results": "results statistics activation store stored records spend_records history provenance "
        "jobs plan controls settling judged_by rejudged judgements verdicts"
    },
    {
        "running": "answering request sources resume opening preparing supervisor recorder worker runner "
        "session rejudge kinship",
        "reports": "reports comparison",
        "lint": "lint",
        "scripts": "rehearsing",
    },
    {"command line": "cli"},
    {"program": "__main__"},
)

# Slow to import, so that only those load them who cannot do without.
SLOW = (
    "aiohttp",
    "anthropic",
    "asyncio",
    "docker",
    "httpx2",
    "jinja2",
    "pydantic",
    "requests",
    "rich",
    "starlette",
    "uvicorn",
    "uvloop",
)
MAY_BE_SLOW = {
    "skillwalker.gateway.app": {"asyncio"},
    "skillwalker.gateway.forward": {"asyncio"},
    "skillwalker.gateway.pacing": {"asyncio"},
    "skillwalker.gateway.budget": {"asyncio"},
    "skillwalker.gateway.faults": {"asyncio"},
    "skillwalker.gateway.rehearsal": {"asyncio"},
    "skillwalker.gateway.client": {"httpx2"},
    "skillwalker.gateway.server": {"asyncio", "uvicorn"},
    "skillwalker.worker": {"asyncio", "uvicorn"},
    "skillwalker.runner": {"asyncio", "uvicorn"},
    "skillwalker.rejudge": {"asyncio", "uvicorn"},
}

# Where the way to the engine and what an image is built with come from, unless a caller says otherwise;
# what `ps` is started with; what trials on this machine are given of it; and whether a type changes it.
READS_ENVIRONMENT = {
    "skillwalker.sandbox.engine",
    "skillwalker.sandbox.image",
    "skillwalker.sandbox.local",
    "skillwalker.sandbox.local_guard",
    "skillwalker.sandbox.owner",
    "skillwalker.testing.watching",
}

# Each module in a fork of its own, whose parent has loaded only what is quick and almost everybody needs.
IMPORT_EACH = """
import importlib, json, os, sys
import attr, attrs, cattrs, entrypoints, typer, yaml
slow, modules = sys.argv[1].split(), sys.argv[2:]
assert not [name for name in sys.modules if name.partition(".")[0] in (*slow, "skillwalker")]
for module in modules:
    if (child := os.fork()) == 0:
        trouble = ""
        try:
            importlib.import_module(module)
        except BaseException as error:
            trouble = repr(error)
        loaded = [name for name in slow if name in sys.modules]
        os.write(1, json.dumps([module, trouble, loaded]).encode() + b"\\n")
        os._exit(0)
    os.waitpid(child, 0)
"""


def _name(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {_name(path): ast.parse(path.read_text("utf-8")) for path in sorted(PACKAGE.rglob("*.py"))}


@frozen
class Imported:
    """What importing a module in a fresh process did."""

    trouble: str
    slow: frozenset[str]


@pytest.fixture(scope="module")
def alone() -> dict[str, Imported]:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", IMPORT_EACH, " ".join(SLOW), *MODULES],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return {module: Imported(trouble, frozenset(slow)) for module, trouble, slow in lines}


def imports(tree: ast.AST) -> set[str]:
    """What code imports, also inside functions, but for what only the type checker sees."""
    found: set[str] = set()
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.module
            assert node.level == 0, "relative imports are not read here"
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            waiting += node.orelse
        else:
            waiting += ast.iter_child_nodes(node)
    return found


def graph() -> dict[str, set[str]]:
    """Each module with those of ours that it imports."""

    def module(name: str) -> str:
        return name if name in MODULES else name.rpartition(".")[0]

    found = {name: {module(each) for each in imports(tree)} for name, tree in MODULES.items()}
    return {name: imported & MODULES.keys() for name, imported in found.items()}


def place(module: str) -> tuple[int, str]:
    """Number of its layer and name of its group."""
    own = module.removeprefix("skillwalker.").partition(".")[0]
    for number, groups in enumerate(LAYERS):
        for group, members in groups.items():
            if own in members.split():
                return number, group
    pytest.fail(f"{module} has no place in LAYERS of this test: give it one")


def evaluated_at_import(tree: ast.AST) -> Iterator[ast.AST]:
    """All nodes but those in the bodies of functions; their defaults and decorators are evaluated."""
    yield tree
    later: list[ast.AST] = []
    if isinstance(tree, ast.FunctionDef | ast.AsyncFunctionDef):
        later = [*tree.body]
    elif isinstance(tree, ast.Lambda):
        later = [tree.body]
    for child in ast.iter_child_nodes(tree):
        if child not in later:
            yield from evaluated_at_import(child)


def reads_environment(node: ast.AST) -> bool:
    named = node.attr if isinstance(node, ast.Attribute) else node.name if isinstance(node, ast.alias) else ""
    return named in ("environ", "getenv", "environb", "getenvb")


def ends_process(node: ast.AST) -> bool:
    if isinstance(node, ast.Call):
        return ast.unparse(node.func) in ("sys.exit", "exit", "quit")
    return isinstance(node, ast.Raise) and "SystemExit" in ast.unparse(node)


def test_every_module_is_imported_alone_without_a_warning(alone: dict[str, Imported]) -> None:
    assert alone.keys() == MODULES.keys()
    assert {module: done.trouble for module, done in alone.items() if done.trouble} == {}


def test_what_is_slow_to_import_is_imported_late(alone: dict[str, Imported]) -> None:
    surplus = {module: done.slow - MAY_BE_SLOW.get(module, set()) for module, done in alone.items()}
    assert {module: slow for module, slow in surplus.items() if slow} == {}


def test_every_module_has_its_place() -> None:
    members = [member for groups in LAYERS for names in groups.values() for member in names.split()]
    there = {module.removeprefix("skillwalker.").partition(".")[0] for module in MODULES}
    assert sorted(members) == sorted(there)


def test_imports_point_downwards() -> None:
    wrong = [
        f"{module} ({place(module)[1]}) imports {imported} ({place(imported)[1]})"
        for module, all_imported in graph().items()
        for imported in all_imported
        if place(imported) != place(module) and place(imported)[0] >= place(module)[0]
    ]
    assert wrong == []


def test_imports_form_no_cycle() -> None:
    assert len([*TopologicalSorter(graph()).static_order()]) == len(MODULES)


def test_only_the_command_line_ends_the_process() -> None:
    ending = {name for name, tree in MODULES.items() if any(map(ends_process, ast.walk(tree)))}
    assert ending == {"skillwalker.cli.main"}


def test_the_environment_is_read_by_few_and_never_at_import() -> None:
    reading = {name for name, tree in MODULES.items() if any(map(reads_environment, ast.walk(tree)))}
    at_import = {
        name for name, tree in MODULES.items() if any(map(reads_environment, evaluated_at_import(tree)))
    }
    assert {name for name in reading if not name.startswith("skillwalker.cli.")} == READS_ENVIRONMENT
    assert at_import == set()


def test_what_runs_apart_needs_only_python() -> None:
    for program in ("relay_program", "local_guard"):
        needed = imports(MODULES[f"skillwalker.sandbox.{program}"])
        assert {name.partition(".")[0] for name in needed} <= sys.stdlib_module_names


def test_the_imports_of_code_are_read() -> None:
    code = """
import json
if TYPE_CHECKING:
    from a import types
else:
    from a import values
def later():
    from b.c import d as e
"""
    assert imports(ast.parse(code)) == {"json", "a.values", "b.c.d"}


@pytest.mark.parametrize(
    ("code", "at_import"),
    [
        ("HOME = os.environ['HOME']", True),
        ("class A:\n    home: str = os.getenv('HOME')", True),
        ("def f(home=os.environ): ...", True),
        ("from os import environ", True),
        ("def f():\n    return os.environ", False),
        ("f = lambda: os.environ", False),
    ],
)
def test_a_look_at_the_environment_is_noticed(code: str, at_import: bool) -> None:
    tree = ast.parse(code)
    assert any(map(reads_environment, ast.walk(tree)))
    assert any(map(reads_environment, evaluated_at_import(tree))) is at_import
