"""Parts that all cassettes of a directory share, each a file named after its content.

Tools, the system prompt and listings are most of a request and nearly the same in every trial; kept once,
they do not make every cassette big.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from attrs import define, field

from skillwalker.atomic import replace
from skillwalker.gateway.cassettes.cassette import CassetteError
from skillwalker.gateway.cassettes.normalise import Part

FOLDER = "parts"
_NAME = re.compile(r"(?:tool|system|message)-[0-9a-f]{16}")
_NAME_IN_BYTES = re.compile(_NAME.pattern.encode("ascii"))


@define
class SharedParts:
    """The shared parts of one directory; each is read once."""

    _directory: Path
    _read: dict[str, Part] = field(factory=dict)

    def keep(self, name: str, part: Part) -> None:
        """
        Raises:
            OSError
        """
        if name not in self._read:
            path = self._path(name)
            if not _holds(path, part):  # a merge may have damaged it
                text = json.dumps(part.value, indent=1)
                replace(path, text.encode("ascii") + b"\n")
            self._read[name] = part

    def get(self, name: str) -> Part:
        """
        Raises:
            CassetteError: it is not there or no JSON.
        """
        if name not in self._read:
            if not _NAME.fullmatch(name):
                raise CassetteError("this line names a part that is in no file; record it again")
            try:
                value: Any = json.loads(self._path(name).read_bytes())
            except OSError as error:
                why = f"{FOLDER}/{name}.json cannot be read: {error.strerror}"
                raise CassetteError(f"{why}; record it again") from None
            except (ValueError, RecursionError):
                raise CassetteError(f"{FOLDER}/{name}.json is damaged; record it again") from None
            self._read[name] = Part.of(value)
        return self._read[name]

    def tidy(self) -> None:
        """Removes those that no cassette of the directory names any more.

        Raises:
            OSError
        """
        named = {
            name.decode("ascii")
            for path in self._directory.glob("*.jsonl")
            for name in _NAME_IN_BYTES.findall(path.read_bytes())
        }
        for path in (self._directory / FOLDER).glob("*.json"):
            if _NAME.fullmatch(path.stem) and path.stem not in named:
                path.unlink(missing_ok=True)

    def _path(self, name: str) -> Path:
        return self._directory / FOLDER / f"{name}.json"


def _holds(path: Path, part: Part) -> bool:
    try:
        return Part.of(json.loads(path.read_bytes())) == part
    except (OSError, ValueError, RecursionError):
        return False
