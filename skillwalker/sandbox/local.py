"""The local sandbox: the `claude` of this machine in a temporary home and work directory.

It promises a fresh home, environment and work directory, and that nothing of a trial is left or runs on.
It does not contain: a trial has this user's rights, the machine's network, and whatever Claude Code finds
outside of the home directory (such as settings managed by the machine's owner). Memory and processes are not
limited.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import socket
import subprocess
import threading
from collections.abc import Mapping
from pathlib import Path

from skillwalker.errors import SandboxError
from skillwalker.sandbox.base import Connector, Limits, SandboxRequest
from skillwalker.sandbox.local_door import Door
from skillwalker.sandbox.local_files import unpack
from skillwalker.sandbox.local_places import KEPT, RUNS, clear, make_run_directory, remove
from skillwalker.sandbox.local_process import LocalProcess
from skillwalker.sandbox.machine import cpus, memory_bytes
from skillwalker.sandbox.owner import Owner
from skillwalker.sandbox.start_script import COMMIT
from skillwalker.text import safe

PASSED_ON = frozenset(
    {
        "PATH",
        "LANG",
        "TERM",
        # Where a company signs with a certificate of its own, a trial's tools need it.
        "SSL_CERT_FILE",
        "SSL_CERT_DIR",
        "NODE_EXTRA_CA_CERTS",
        "REQUESTS_CA_BUNDLE",
        "CURL_CA_BUNDLE",
    }
)
"""What a trial finds of this process's environment, beside `LC_...`."""

_GITCONFIG = "[user]\n\tname = Agent\n\temail = agent@skillwalker.invalid\n[init]\n\tdefaultBranch = main\n"
_GIT_SECONDS = 300.0
_ASK_SECONDS = 60.0


def environment(directory: Path, outer: Mapping[str, str], given: Mapping[str, str]) -> dict[str, str]:
    """The environment of whatever runs in `directory`; `given` wins over what comes from `outer`."""
    home, temporary = str(directory / "home"), str(directory / "tmp")
    passed_on = {name: text for name, text in outer.items() if name in PASSED_ON or name.startswith("LC_")}
    chosen = {
        "PATH": os.defpath,
        **passed_on,
        "TZ": "UTC",
        **given,
        "HOME": home,
        "TMPDIR": temporary,
        "CLAUDE_CODE_TMPDIR": temporary,  # it has a fixed place below /tmp otherwise
        "CLAUDE_CONFIG_DIR": f"{home}/.claude",
    }
    if os.getuid() == 0:
        chosen["IS_SANDBOX"] = "1"  # otherwise Claude Code refuses root what a trial needs
    return chosen


def make_home(directory: Path) -> None:
    """The places that `environment` names."""
    (directory / "home" / ".claude").mkdir(parents=True)
    (directory / "tmp").mkdir()
    (directory / "home" / ".gitconfig").write_text(_GITCONFIG, "utf-8")


class _Nobody:
    def connect(self) -> socket.socket:
        raise ConnectionRefusedError("there is no gateway for this process")


class LocalSandbox:
    """Opened for one run; its methods may be called from many threads.

    Attributes:
        program: What is executed in it.
        notes: What `close` could not clean up, and where what was kept is, a sentence each.
    """

    name = "local"
    image = None

    def __init__(
        self, program: Path, directory: Path, outer: Mapping[str, str], passed: Mapping[str, str]
    ) -> None:
        self.program, self._directory, self._outer = program, directory, outer
        self._passed = dict(passed)
        self._door = Door()
        self._lock = threading.Lock()  # guards _kept
        self._kept = 0
        self.notes: list[str] = []

    @classmethod
    def open(
        cls,
        program: Path,
        owner: Owner,
        outer: Mapping[str, str] | None = None,
        passed: Mapping[str, str] | None = None,
    ) -> LocalSandbox:
        """Removes what dead runs of this user left, too.

        Args:
            program: Claude Code, or what is executed instead of it.
            outer: The environment from which a little is passed on; None means this process's.
            passed: More variables that every trial gets.

        Raises:
            SandboxError: no directory or no listening socket can be made.
        """
        clear()
        try:
            directory = make_run_directory(owner)
        except OSError as error:
            raise SandboxError(f"making a temporary directory: {error}") from error
        try:
            return cls(program, directory, os.environ if outer is None else outer, passed or {})
        except OSError as error:
            remove(directory)
            raise SandboxError(f"listening on 127.0.0.1: {error}") from error

    def plugin_path(self, trial_id: str, index: int, name: str) -> str:
        return str(self._place(trial_id) / "plugins" / str(index) / name)

    def default_jobs(self, memory_mib: int) -> int:
        return max(1, min(cpus(), memory_bytes() // (memory_mib << 20)))

    def start(
        self, request: SandboxRequest, gateway: Connector, network: Connector | None = None
    ) -> LocalProcess:
        secret = self._door.admit(gateway)

        def end(keep: bool) -> None:
            self._door.dismiss(secret)
            self._leave(process.directory, keep)

        process = LocalProcess(self._place(request.trial_id), request.limits, end)
        given = {
            **(self._passed if request.passed else {}),
            **request.environment,
            "ANTHROPIC_BASE_URL": self._door.url,
            "ANTHROPIC_API_KEY": secret,
        }
        try:
            self._prepare(request, process)
            inner = environment(process.directory, self._outer, given)
            process.start((str(self.program), *request.arguments), inner, request.line)
        except OSError as error:
            process.close()
            raise SandboxError(f"preparing a trial: {error}") from error
        except BaseException:
            process.close()
            raise
        return process

    def ask(self, *arguments: str) -> str:
        """What the program prints when it is called with `arguments`, far from any gateway.

        Raises:
            SandboxError: it cannot be started, fails, or does not end.
        """
        request = SandboxRequest(" ".join(arguments), arguments, {}, b"", (), None, Limits(), passed=False)
        process = self.start(request, _Nobody())
        timer = threading.Timer(_ASK_SECONDS, process.kill)
        timer.start()
        try:
            said = {"stdout": b"", "stderr": b""}
            for chunk in process.output():
                said[chunk.stream] += chunk.data
            code = process.wait().code
        finally:
            timer.cancel()
            process.close()
        if code:
            words = safe(said["stderr"].decode("utf-8", "replace").strip(), 500)
            raise SandboxError(f"{self.program} {request.trial_id} ended with exit code {code}: {words}")
        return said["stdout"].decode("utf-8", "replace")

    def close(self) -> None:
        self._door.close()
        if self._kept:
            # Its last part is random, so the new name is free.
            kept = self._directory.with_name(self._directory.name.replace(RUNS, KEPT, 1))
            with contextlib.suppress(OSError):
                self._directory.rename(kept)
                self.notes.append(
                    f"the trials' directories are kept in {kept}; `skillwalker prune` removes them"
                )
        elif not remove(self._directory):
            self.notes.append(f"could not remove {self._directory}; `skillwalker prune` tries again")

    def _place(self, trial_id: str) -> Path:
        # Claude Code tells the model its work directory: the test's name in it would be a hint, and a long
        # path leaves no room for the names of sockets.
        return self._directory / hashlib.sha256(trial_id.encode()).hexdigest()[:12]

    def _prepare(self, request: SandboxRequest, process: LocalProcess) -> None:
        process.directory.mkdir()
        make_home(process.directory)
        for index, (name, tree) in enumerate(request.plugins):
            unpack(tree, Path(self.plugin_path(request.trial_id, index, name)), read_only=True)
        if request.scaffold is None:
            process.workspace.mkdir()
        else:
            unpack(request.scaffold, process.workspace)
            self._commit(process)

    def _commit(self, process: LocalProcess) -> None:
        try:
            done = subprocess.run(
                ["/bin/sh", "-c", f"umask 022\n{COMMIT}"],
                cwd=process.workspace,
                env=environment(process.directory, self._outer, {}),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                timeout=_GIT_SECONDS,
                check=False,
                start_new_session=True,
            )
        except subprocess.TimeoutExpired as error:
            raise SandboxError("committing the scaffold took too long") from error
        if done.returncode:
            said = done.stderr.decode("utf-8", "replace").strip()
            raise SandboxError(f"committing the scaffold: {said or f'exit {done.returncode}'}")

    def _leave(self, directory: Path, keep: bool) -> None:
        if keep:
            with self._lock:
                self._kept += 1
        else:
            remove(directory)  # what fails here is tried again by `close`


def find_program(given: str | None) -> Path | None:
    """The `claude` of this machine: `given`, a path or a name, or what PATH has; None where there is none."""
    found = shutil.which(given or "claude")
    return Path(found).absolute() if found else None
