"""The skills, commands and agents of one plugin directory, under the ids that Claude Code gives them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from attrs import evolve

from skillwalker.frontmatter import (
    EMPTY,
    UNFENCED,
    Frontmatter,
    is_true,
    read_frontmatter,
    strip,
    text_of,
)
from skillwalker.jsonfile import content_of
from skillwalker.listing import agent_description, shown, skill_description
from skillwalker.manifest import MANIFEST
from skillwalker.parts import SKILL_FILE, Agent, Place, Skill, Source
from skillwalker.text import near, safe

_MEANT = re.compile(r"\s*(?:[\w-]+:.*\n)*description:")
"""A frontmatter whose opening line is missing."""


def find_skills(place: Place) -> tuple[Skill, ...]:
    """All skills and commands, sorted by id; a file that links make appear twice counts once."""
    found: dict[str, Skill] = {}
    manifest = place.directory / MANIFEST  # where several commands may stand
    for finder in (_commands, _named_commands, _default_skills, _declared_skills):
        for skill in finder(place):
            key = skill.id if skill.path == manifest else os.path.realpath(skill.path)
            first = found.setdefault(key, skill)
            if first.id != skill.id:
                place.notices.append(f"{skill.id} is the file of {first.id}, Claude Code lists it once")
    return tuple(sorted(found.values(), key=lambda skill: (skill.id, str(skill.path))))


def find_agents(place: Place) -> tuple[Agent, ...]:
    """All agents, sorted by id."""
    agents = list(_default_agents(place)) if place.manifest.agents is None else []
    for path in place.manifest.agents or ():
        if file := place.declared(path):
            agents.append(_agent(place, file, (), agents=[path]))
    return tuple(sorted(agents, key=lambda agent: (agent.id, str(agent.path))))


def plain_id(name: str) -> str:
    """`name` as Claude Code makes an id of a skill's directory: other characters than letters become `-`."""
    units = re.sub(r"[\U00010000-\U0010ffff]", "--", name)  # JavaScript counts such a character twice
    return re.sub(r"[^A-Za-z0-9_-]", "-", units)


def _default_skills(place: Place) -> Iterator[Skill]:
    directory = place.directory / "skills"
    if place.default_skills and directory.is_dir():
        yield from _skills_in(place, directory)
    elif not place.manifest.skills and (place.directory / SKILL_FILE).is_file():
        yield _skill_by_name(place, place.directory / SKILL_FILE)


def _declared_skills(place: Place) -> Iterator[Skill]:
    for path in place.manifest.skills:
        directory = place.declared(path)
        if directory is None or directory.is_file():
            continue
        if (directory / SKILL_FILE).is_file():
            yield _skill_by_name(place, directory / SKILL_FILE, skills=[path])
        else:
            yield from _skills_in(place, directory, skills=[path])


def _skills_in(place: Place, directory: Path, **declared: Any) -> Iterator[Skill]:
    for entry in _entries(directory):
        file = Path(entry.path, SKILL_FILE)
        if file.is_file():
            yield _skill(place, file, plain_id(entry.name), entry.name, **declared)
        elif entry.is_dir() and (other := _other_case(Path(entry.path))):
            inside = other.relative_to(place.directory).as_posix()
            place.notices.append(f"{inside}: Claude Code reads {SKILL_FILE} only")


def _other_case(directory: Path) -> Path | None:
    """A file that differs from `SKILL.md` in small and capital letters alone."""
    try:
        names = [entry.name for entry in _entries(directory)]
    except OSError:  # nobody asked for it
        return None
    return next((directory / name for name in names if name.lower() == SKILL_FILE.lower()), None)


def _skill_by_name(place: Place, file: Path, **declared: Any) -> Skill:
    """A skill in the plugin's root or in a directory that `plugin.json` names: its name comes first."""
    name = _frontmatter(file).fields.get("name")
    own = strip(name).removeprefix(f"{place.prefix}:") if isinstance(name, str) else ""
    return _skill(place, file, plain_id(own or file.parent.name), file.parent.name, **declared)


def _commands(place: Place) -> Iterator[Skill]:
    if place.manifest.commands is None:
        if (place.directory / "commands").is_dir():
            yield from _commands_in(place, place.directory / "commands", ())
        return
    for path in place.manifest.commands:
        found = place.declared(path)
        if found is None:
            continue
        if found.is_dir():
            yield from _commands_in(place, found, (), commands=[path])
        else:
            yield _skill(place, found, found.stem, None, commands=[path])


def _commands_in(place: Place, directory: Path, above: tuple[str, ...], **declared: Any) -> Iterator[Skill]:
    if above and (directory / SKILL_FILE).is_file():
        yield _skill(place, directory / SKILL_FILE, ":".join(above), None, **declared)
        return
    for entry in _entries(directory):
        if entry.is_symlink():
            continue  # Claude Code follows none here
        if entry.is_dir():
            yield from _commands_in(place, Path(entry.path), (*above, entry.name), **declared)
        elif entry.name.lower().endswith(".md"):
            tail = ":".join((*above, entry.name.removesuffix(".md")))
            yield _skill(place, Path(entry.path), tail, None, **declared)


def _named_commands(place: Place) -> Iterator[Skill]:
    for name, command in place.manifest.named_commands.items():
        if "source" in command:
            file = place.declared(command["source"])
            if file is None:
                continue
            front = _frontmatter(file)
        else:
            file = place.directory / MANIFEST
            front = read_frontmatter(command["content"].encode("utf-8", "replace"))
        if "description" in command:
            front = evolve(front, fields={**front.fields, "description": command["description"]})
        described = skill_description(front, "command")
        where = place.source(None, front.fields.get("name"), described, commands={name: {"content": ""}})
        yield _skill_of(place, front, file, name, None, where)


def _skill(place: Place, file: Path, tail: str, dirname: str | None, **declared: Any) -> Skill:
    """`dirname` is None for a command."""
    front = _frontmatter(file)
    described = skill_description(front, "command" if dirname is None else "skill")
    inside = file.relative_to(place.directory).as_posix()
    where = place.source(inside, front.fields.get("name"), described, **declared)
    return _skill_of(place, front, file, tail, dirname, where)


def _skill_of(
    place: Place, front: Frontmatter, file: Path, tail: str, dirname: str | None, where: Source
) -> Skill:
    name = text_of(front.fields.get("name")) or None
    own = strip(name or "").removeprefix(f"{place.prefix}:")
    others = [f"{place.prefix}:{own}", own] if own else []
    if dirname is not None:
        others += [f"{place.prefix}:{dirname}"] if own else [tail, f"{place.prefix}:{dirname}"]
    described = where.described
    may_call = not is_true(front.fields.get("disable-model-invocation"))
    flaw = None if described is not None else _flaw(front, optional=dirname is None or not may_call)
    return Skill(
        id=f"{place.prefix}:{tail}",
        path=file,
        source=where,
        name=name,
        aliases=tuple(alias for alias in dict.fromkeys(others) if alias != f"{place.prefix}:{tail}"),
        description=None if described is None else shown(described),
        model_may_call=may_call,
        problem=flaw[0] if flaw else None,
        line=flaw[1] if flaw else None,
    )


def _flaw(front: Frontmatter, *, optional: bool = False) -> tuple[str, int | None] | None:
    """Why there is no description, and the line of the file.

    Args:
        optional: It may be left out on purpose, as of a command that only users call; then a frontmatter that
            is there and cannot be read is still a mistake.
    """
    if front.problem:
        unfenced = front.problem in (EMPTY, UNFENCED) and not _MEANT.match(front.body)
        return None if optional and unfenced else (front.problem, front.line)
    if optional:
        return None
    if "description" in front.fields:
        given = front.fields["description"]
        kind = "a list" if isinstance(given, list) else "a mapping" if isinstance(given, dict) else ""
        told = f"is {kind}, not a text" if kind else "is empty"
        return f"its description {told}", front.line_of("description")
    if meant := near("description", front.fields, limit=1):
        return (
            f"it has no description (is {safe(meant[0], 40)} meant to be it?)",
            front.line_of(meant[0]),
        )
    return "it has no description", 1


def _default_agents(place: Place) -> Iterator[Agent]:
    top = place.directory / "agents"
    pending: list[tuple[Path, tuple[str, ...]]] = [(top, ())] if top.is_dir() else []
    while pending:
        directory, above = pending.pop()
        for entry in _entries(directory):
            if entry.is_symlink():
                continue  # Claude Code follows none here
            if entry.is_dir():
                pending.append((Path(entry.path), (*above, entry.name)))
            elif entry.name.lower().endswith(".md"):
                yield _agent(place, Path(entry.path), above)


def _agent(place: Place, file: Path, above: tuple[str, ...], **declared: Any) -> Agent:
    front = _frontmatter(file)
    name = text_of(front.fields.get("name")) or None
    described = agent_description(front)
    flaw = None if described else _flaw(front)
    inside = file.relative_to(place.directory).as_posix()
    return Agent(
        id=":".join((place.prefix, *above, name or file.name.removesuffix(".md"))),
        path=file,
        source=place.source(inside, front.fields.get("name"), described, **declared),
        name=name,
        description=described or f"Agent from {place.prefix} plugin",
        problem=flaw[0] if flaw else None,
        line=flaw[1] if flaw else None,
    )


def _entries(directory: Path) -> list[os.DirEntry[str]]:
    with os.scandir(directory) as entries:
        return sorted(entries, key=lambda entry: entry.name)


def _frontmatter(file: Path) -> Frontmatter:
    try:
        return read_frontmatter(content_of(file))
    except OSError as error:
        return Frontmatter(problem=f"the file cannot be read: {error.strerror}")
