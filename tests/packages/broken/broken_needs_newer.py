"""Needs what another version of Skillwalker has."""

from skillwalker.expectations import Panel  # noqa: F401
