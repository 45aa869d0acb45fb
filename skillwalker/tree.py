"""A directory's content as a frozen value: hashed, packed into a deterministic tar, compared with another."""

from __future__ import annotations
