"""The names that packages of expectation types build on."""

from __future__ import annotations

import skillwalker.expectations as public
import skillwalker.testing as testing


def test_every_public_name_is_there_and_listed_in_order() -> None:
    for module in (public, testing):
        assert module.__all__ == sorted(module.__all__, key=lambda name: (not name.isupper(), name))
        assert all(hasattr(module, name) for name in module.__all__)
