"""Writes a package for a new expectation type: it can be installed, tested and checked as it stands.

The texts are in `data/new_expectation`; each has `.txt` behind the name that it gets.
"""

from __future__ import annotations

import re
import string
from pathlib import Path

from attrs import frozen

from skillwalker.errors import ConfigurationError
from skillwalker.expectations.known import PACKAGE_OF
from skillwalker.expectations.registry import Registry
from skillwalker.packaged import packaged
from skillwalker.text import safe

LONGEST = 40
"""Characters of a type's name; a longer one would not fit into a line of the package's code."""

_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_FILES = {
    "pyproject.toml": "pyproject.toml",
    "README.md": "README.md",
    "gitignore": ".gitignore",
    "package.py": "src/$module/__init__.py",
    "py.typed": "src/$module/py.typed",
    "test_package.py": "tests/test_$module.py",
}
_USED = {"Any", "ClassVar", "False", "None", "Observation", "Trial", "True", "Verdict"}
"""Names that mean something else in the package's code."""


@frozen
class Package:
    """What was written.

    Attributes:
        files: Relative to `directory`.
        module: The file with the type's class.
    """

    directory: Path
    files: tuple[str, ...]
    module: Path


def write_package(name: str, into: Path, registry: Registry) -> Package:
    """Makes `into`/skillwalker-`name`; `registry` tells which names are taken.

    Raises:
        ConfigurationError: the name cannot be one of a type or is taken, or something is there already.
    """
    words = _words(name, registry)
    target = into / words["distribution"]
    files = {
        string.Template(path).substitute(words): _text(source).substitute(words)
        for source, path in _FILES.items()
    }
    try:
        into.mkdir(parents=True, exist_ok=True)
        target.mkdir()  # fails where anything is there, so nothing is ever written over
        for path, text in files.items():
            (target / path).parent.mkdir(parents=True, exist_ok=True)
            (target / path).write_text(text, "utf-8")
    except FileExistsError as error:
        there = error.filename or target
        raise ConfigurationError(
            [f"{there} is there already and stays as it is; choose another name or another --into"]
        ) from None
    except OSError as error:
        raise ConfigurationError([f"{target} cannot be written: {error.strerror}"]) from None
    return Package(target, tuple(files), target / "src" / words["module"] / "__init__.py")


def _words(name: str, registry: Registry) -> dict[str, str]:
    if not _NAME.fullmatch(name) or len(name) > LONGEST:
        raise ConfigurationError(
            [
                f"{safe(name, 80)!r} cannot be a type's name: write small letters (a-z), digits and single "
                f"hyphens, begin with a letter, at most {LONGEST} characters, such as max-lines"
            ]
        )
    if taken := registry.candidates.get(name):
        raise ConfigurationError([f"{taken[0].origin} has the expectation type {name}; choose another name"])
    if package := PACKAGE_OF.get(name):  # not installed here, but where others use both
        raise ConfigurationError([f"{package} has the expectation type {name}; choose another name"])
    words = name.split("-")
    cls = "".join(word.capitalize() for word in words)
    if cls in _USED:
        raise ConfigurationError(
            [f"a class for {name} would be called {cls}, which has another meaning; choose another name"]
        )
    distribution = f"skillwalker-{name}"
    if distribution in PACKAGE_OF.values():
        raise ConfigurationError([f"{distribution} is another package; choose another name"])
    return {
        "type": name,
        "cls": cls,
        "distribution": distribution,
        "module": f"skillwalker_{'_'.join(words)}",
    }


def _text(source: str) -> string.Template:
    return string.Template((packaged("new_expectation") / f"{source}.txt").read_text("utf-8"))
