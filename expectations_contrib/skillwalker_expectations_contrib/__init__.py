"""Expectation types for Skillwalker; each is an entry point of this distribution, described in its README."""
