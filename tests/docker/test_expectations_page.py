"""docs/expectations.md, with the containers that it starts."""

from __future__ import annotations

from pathlib import Path

from page_support import follow
from wheel_support import build, copy_of_checkout, install


def test_a_reader_can_do_all_that_it_says(sandbox_image: str, tmp_path: Path) -> None:
    checkout = copy_of_checkout(tmp_path / "checkout")
    reader = install(build("wheel", checkout, tmp_path / "dist"), tmp_path / "venv")
    reader.add_programs()
    follow(reader, tmp_path / "project", with_containers=True)
