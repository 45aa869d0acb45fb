"""The words of `try`: plugin directories and a prompt, or what to type instead."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

from skillwalker.errors import ConfigurationError
from skillwalker.targets import find_targets, root_for
from skillwalker.text import listed, near, safe

_FORM = "skillwalker try PLUGIN_DIR 'PROMPT'"


def read_words(words: Sequence[str], project: Path | None) -> tuple[list[Path], str]:
    """The directories and the prompt; whether the directories are there is not looked at.

    Args:
        project: The root, where there is one.

    Raises:
        ConfigurationError: one of the two is missing, or they are the wrong way round.
    """
    if len(words) < 2:
        raise ConfigurationError([_too_few(words, project)])
    *named, prompt = words
    if os.path.isdir(prompt) and ("/" in prompt or not all(map(os.path.isdir, named))):
        raise ConfigurationError(
            [f"the last argument is the prompt, and {safe(prompt)} is a directory: type {_FORM}"]
        )
    return [Path(name) for name in named], prompt


def no_directory(name: Path, project: Path | None) -> str:
    """What is said of a directory that is not there: a skill's or a plugin's name may have been typed."""
    known = dict(_names(project))
    what = f"{safe(str(name))} {'is no directory' if os.path.exists(name) else 'does not exist'}"
    if str(name) in known:
        kind, directory = known[str(name)]
        return (
            f"{what}; it is the name of {kind}, and try takes the plugin's directory: {_as_typed(directory)}"
        )
    for text in near(str(name), known, limit=1):
        kind, directory = known[text]
        return f"{what}; did you mean {safe(text)}, {kind}? Then type {_as_typed(directory)}"
    if os.path.exists(name):
        return f"{what}{_plugins_here(known)}"
    where = "" if name.is_absolute() else f" in {safe(str(Path.cwd()))}"
    return f"there is no plugin directory {safe(str(name))}{where}{_plugins_here(known)}"


def _too_few(words: Sequence[str], project: Path | None) -> str:
    known = dict(_names(project))
    if not words:
        return f"try needs a plugin's directory and a prompt: {_FORM}{_plugins_here(known)}"
    [word] = words
    if os.path.isdir(word):
        return f"the prompt is missing: {_as_typed(word)} (or - to read it from standard input)"
    if word in known:
        kind, directory = known[word]
        return f"the prompt is missing, and {safe(word)} is the name of {kind}: {_as_typed(directory)}"
    return f"the plugin's directory is missing before the prompt: {_FORM}{_plugins_here(known)}"


def _as_typed(directory: str) -> str:
    return f"skillwalker try {safe(shlex.quote(directory))} 'PROMPT'"


def _plugins_here(known: dict[str, tuple[str, str]]) -> str:
    directories = dict.fromkeys(directory for _, directory in known.values())
    return f"; plugins are in {listed(directories, 5)}" if directories else ""


def _names(project: Path | None) -> Iterator[tuple[str, tuple[str, str]]]:
    """Each name of a plugin, a skill or an agent below the root, what it is, and its plugin's directory.

    Where a name is that of several, the plugin counts.
    """
    targets = find_targets((project or root_for(Path.cwd())).resolve())
    for one in targets:
        directory = os.path.relpath(one.plugin.directory)
        for name in {one.part.id, one.tail, one.part.name or one.tail}:
            yield (
                name,
                (f"{'a skill' if one.kind == 'skill' else 'an agent'} of {safe(one.plugin.name)}", directory),
            )
    for one in targets:
        directory = os.path.relpath(one.plugin.directory)
        yield from ((name, ("a plugin", directory)) for name in one.plugin.answers_to)
