"""Where input files go, so that the prompt finds them, and which files a prompt names that are nowhere."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

_SCAFFOLD = re.compile(r"(?:^|.*/)evals/[^/]+/scaffolds/[^/]+/(?=.)")
_BEFORE, _AFTER = r"(?<![\w/.~<>-])(?:\./)?", r"(?![\w/-])(?!\.\w)"
_OR_SLASH = rf"(?:/(?!\w)|{_AFTER})"
_ENDINGS = "|".join(
    (
        "csv|tsv|json|jsonl|ndjson|xlsx|xls|parquet|pdf|docx|pptx|md|txt|rst|log|yaml|yml|toml|ini|cfg|xml|html",
        "css|sql|py|ipynb|ts|tsx|js|jsx|go|rs|java|kt|swift|rb|php|cs|cpp|c|h|sh|tf|vhd|sv|v|png|jpg|jpeg|svg",
        "patch|diff",
    )
)
_NAMED = re.compile(
    rf"(?<![\w/.~<>@:-])(?:\./)?((?:[\w-][\w.-]*/)*[\w-][\w.-]*\.(?:{_ENDINGS}))(?![\w/-])(?!\.\w)"
)
_FRAMEWORK = re.compile(
    r"(?:node|next|nuxt|vue|react|three|express|d3|chart|alpine|ember|backbone|solid)\.js", re.I
)
# What makes of a file's name one of a file that is to be made.
_MAKES = re.compile(
    r"\b(?:sav\w+|writ\w+|creat\w+|generat\w+|produc\w+|outputs?|export\w*|as|to|into|named|called|new|make|add)\b"
    r"[^.!?\n]{0,40}$",
    re.I,
)


def listed_path(path: str) -> str:
    """A path without what only an eval's scaffold adds to it."""
    found = _SCAFFOLD.match(path)
    return path[found.end() :] if found else path


def landings(paths: Sequence[tuple[str, ...]], prompt: str) -> list[tuple[str, ...]]:
    """For each path (in parts) where it is put: by its longest end that the prompt says, or else as it is.

    What the prompt does not name goes where its neighbours go. Two files never get the same place.
    """
    dropped = [_dropped(parts, prompt) for parts in paths]
    along: dict[tuple[str, ...], set[int]] = {}
    for parts, number in zip(paths, dropped, strict=True):
        if number is not None:
            along.setdefault(parts[:-1], set()).add(number)
    taken: set[tuple[str, ...]] = set()
    found = []
    for parts, number in zip(paths, dropped, strict=True):
        others = along.get(parts[:-1], set())
        number = number if number is not None else (next(iter(others)) if len(others) == 1 else 0)
        place = parts[number:]
        if place in taken:
            place = parts
        taken.add(place)
        found.append(place)
    return found


def _dropped(parts: Sequence[str], prompt: str) -> int | None:
    """How many directories at the beginning of a path the prompt leaves out; None: it does not name it."""

    def says(start: int, end: int, after: str) -> bool:
        return bool(re.search(_BEFORE + re.escape("/".join(parts[start:end])) + after, prompt))

    whole = len(parts)
    for start in range(whole - 1):
        if says(start, whole, _OR_SLASH):
            return start
    for start in range(whole - 2):  # a directory above it
        if any(says(start, end, rf"(?:/|{_AFTER})") for end in range(whole - 1, start + 1, -1)):
            return start
    # A word is no file's name, unless it is marked as one.
    if says(whole - 1, whole, _OR_SLASH if "." in parts[-1] else r"(?=[/`'\"])"):
        return whole - 1
    return next((start for start in range(whole - 1) if says(start, start + 1, "/")), None)


def nowhere(prompt: str, files: Iterable[Sequence[str]]) -> Iterator[str]:
    """The files that a prompt names as if they were there, and that are none of `files`."""
    there = ["/".join(parts) for parts in files]
    for name in dict.fromkeys(asked(prompt)):
        if not any(one == name or one.endswith("/" + name) or name.endswith("/" + one) for one in there):
            yield name


def asked(prompt: str) -> Iterator[str]:
    """The files that a prompt names as if they were there, by the paths that it has for them."""
    made = set()
    for found in _NAMED.finditer(prompt):
        name = found[1]
        if _FRAMEWORK.fullmatch(name) or name in made:
            continue
        if _MAKES.search(prompt[: found.start()]):
            made.add(name)
            continue
        yield name
