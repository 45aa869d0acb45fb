"""What this machine has."""

import os

import pytest

from skillwalker.sandbox.machine import cpus, memory_bytes


def test_a_process_has_what_it_may_use():
    assert 1 <= cpus() <= (os.cpu_count() or 1)


@pytest.mark.parametrize("name", ["memory.max", "memory/memory.limit_in_bytes"])
def test_a_containers_limit_counts(tmp_path, name):
    whole = memory_bytes(tmp_path)
    assert whole > 100 << 20
    file = tmp_path / name
    file.parent.mkdir(exist_ok=True)
    for said, expected in ((str(64 << 20), 64 << 20), ("max", whole), (str(1 << 62), whole)):
        file.write_text(f"{said}\n")
        assert memory_bytes(tmp_path) == expected
