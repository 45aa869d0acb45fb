"""Which package to install for a type that is not there, as far as Skillwalker knows packages."""

from __future__ import annotations

CONTRIB = "skillwalker-expectations-contrib"

PACKAGE_OF = dict.fromkeys(
    (
        "command",
        "file-contains",
        "file-exists",
        "file-matches",
        "files-unchanged",
        "json-file",
        "max-cost",
        "max-seconds",
        "max-tokens",
        "max-turns",
        "result-equals",
        "result-json",
        "result-matches",
        "tool-call",
        "tool-not-used",
    ),
    CONTRIB,
)
"""The distribution that brings a type, by the type's name."""
