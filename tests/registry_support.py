"""A package registry as files, and an image on top of ours that trusts who serves them."""

from __future__ import annotations

import json
import shutil
import subprocess
import zipfile
from pathlib import Path

from tls_support import Authority

DOCKERFILE = """\
ARG SKILLWALKER_IMAGE
FROM ${SKILLWALKER_IMAGE}
USER root
COPY company.crt /usr/local/share/ca-certificates/
RUN update-ca-certificates
USER agent
"""


def trusting_image(authority: Authority, directory: Path) -> Path:
    """Writes a user's Dockerfile, and what it needs, into a new directory."""
    directory.mkdir(parents=True)
    shutil.copy(authority.certificate, directory / "company.crt")
    (directory / "Dockerfile").write_text(DOCKERFILE)
    return directory / "Dockerfile"


def write_packages(files: Path) -> None:
    """A package for uv and pip, one for npm, a git repository and a file."""
    (files / "simple" / "greeter").mkdir(parents=True)
    name = "greeter-1.0-py3-none-any.whl"
    with zipfile.ZipFile(files / "simple" / "greeter" / name, "w") as wheel:
        wheel.writestr("greeter.py", "def main(): print('hello of greeter')\n")
        info = "greeter-1.0.dist-info"
        wheel.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: greeter\nVersion: 1.0\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/entry_points.txt", "[console_scripts]\ngreeter = greeter:main\n")
        wheel.writestr(f"{info}/RECORD", "")
    (files / "simple" / "greeter" / "index.html").write_text(f'<a href="{name}">{name}</a>')
    (files / "npm").mkdir()
    (files / "npm" / "greeter").write_text(
        json.dumps(
            {
                "name": "greeter",
                "dist-tags": {"latest": "1.2.3"},
                "versions": {"1.2.3": {"name": "greeter", "version": "1.2.3"}},
            }
        )
    )
    (files / "data.txt").write_text("some data\n")
    work = files / "work"
    git = ("git", "-c", "user.name=A", "-c", "user.email=a@example.invalid", "-C", str(work))
    subprocess.run(["git", "init", "-q", "-b", "main", str(work)], check=True)
    (work / "README").write_text("cloned\n")
    subprocess.run([*git, "add", "."], check=True)
    subprocess.run([*git, "commit", "-q", "-m", "x"], check=True)
    subprocess.run(["git", "clone", "-q", "--bare", str(work), str(files / "repo.git")], check=True)
    subprocess.run(["git", "-C", str(files / "repo.git"), "update-server-info"], check=True)
