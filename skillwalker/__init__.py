"""Skillwalker tests skills and agents of Claude Code."""

__version__ = "0.1.0"
