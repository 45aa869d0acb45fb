"""The local sandbox keeps what every sandbox promises."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from sandbox_contract import SandboxContract
from sandbox_lab import Lab

from skillwalker.sandbox.local import LocalSandbox
from skillwalker.sandbox.owner import Owner


@pytest.fixture(scope="module")
def lab(tmp_path_factory) -> Iterator[Lab[LocalSandbox]]:
    sandbox = LocalSandbox.open(Path("/bin/sh"), Owner.current())
    yield Lab(sandbox, tmp_path_factory.mktemp("lab"))
    sandbox.close()
    assert sandbox.notes == []


class TestLocalSandbox(SandboxContract):
    pass
