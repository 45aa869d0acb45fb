"""Needs a package that is not there."""

import broken_absent  # noqa: F401
