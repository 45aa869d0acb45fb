"""What every kind of sandbox promises. A module with a fixture `lab` (module scope) inherits the tests."""

from __future__ import annotations

import hashlib
import os
import time
from pathlib import Path
from typing import Any

from sandbox_lab import LINE, Lab, until

from skillwalker.sandbox.base import Limits
from skillwalker.tree import Tree

HELLO = 'curl -sS -H "x-api-key: $ANTHROPIC_API_KEY" $ANTHROPIC_BASE_URL'

SCAFFOLD = Tree.of_files(
    {
        "a.txt": b"a",
        "dir/run.sh": b"#!/bin/sh\necho ran",
        ".gitignore": b"ignored\n",
        "ignored": b"x",
        "-f": b"",
    },
    executable=["dir/run.sh"],
)
SCAFFOLD_COMMIT = "f34b2d0478efcd9b81c5faf13bfefbefe3b5358d"


class SandboxContract:
    """The same scripts, the same answers, wherever they run."""

    def test_streams_exit_code_and_prompt(self, lab: Lab[Any]) -> None:
        result = lab.run("cat; echo oops >&2; exit 3")
        assert (result.stdout, result.stderr, result.exit.code) == (LINE, b"oops\n", 3)

    def test_an_empty_work_directory_and_a_home_of_its_own(self, lab: Lab[Any]) -> None:
        result = lab.run('ls -A; date +%Z; echo "$FOO"; cd; touch x && ls x', environment={"FOO": "bar"})
        assert result.text == "UTC\nbar\nx\n"
        assert lab.run("ls ~/x 2>/dev/null; ls -A").text == ""

    def test_nothing_of_the_runners_environment_comes_along(self, lab: Lab[Any], monkeypatch: Any) -> None:
        monkeypatch.setenv("COMPANY_TOKEN", "secret")
        monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "secret")
        monkeypatch.setenv("CLAUDE_CODE_OAUTH_TOKEN", "secret")
        monkeypatch.setenv("HTTPS_PROXY", "secret")
        assert "secret" not in lab.run("env").text

    def test_a_long_prompt_goes_in_while_output_comes_out(self, lab: Lab[Any]) -> None:
        line = os.urandom(2_000_000).hex().encode() + b"\n"
        result = lab.run("cat", line=line)
        assert hashlib.sha256(result.stdout).digest() == hashlib.sha256(line).digest()

    def test_a_line_of_thirty_megabytes_is_whole(self, lab: Lab[Any]) -> None:
        result = lab.run("head -c 30000000 /dev/zero | tr '\\0' x; printf end")
        assert len(result.stdout) == 30_000_003
        assert result.stdout.endswith(b"xend")

    def test_characters_cut_into_bytes_are_whole(self, lab: Lab[Any]) -> None:
        code = "import os\nfor b in 'café 😀 東京'.encode(): os.write(1, bytes([b]))"
        assert lab.run(f'python3 -c "{code}"').text == "café 😀 東京"

    def test_the_gateway_answers(self, lab: Lab[Any]) -> None:
        before = lab.gateway.requests
        assert lab.run(f"seq 60 | xargs -P 20 -I % {HELLO}").text == "hello 0" * 60
        assert lab.gateway.requests == before + 60

    def test_a_large_request_passes(self, lab: Lab[Any]) -> None:
        script = f"head -c 20000000 /dev/zero | {HELLO} --data-binary @-"
        assert lab.run(script).text == "hello 20000000"

    def test_plugins_are_where_they_are_said_to_be(self, lab: Lab[Any]) -> None:
        first = Tree.of_files({"skills/a/SKILL.md": b"A"})
        second = Tree.of_files({"run.sh": b"#!/bin/sh\necho ran"}, executable=["run.sh"])
        paths = [lab.sandbox.plugin_path("t", n, name) for n, name in enumerate(("acme", "other tools"))]
        result = lab.run(
            f'cat "{paths[0]}/skills/a/SKILL.md"; "{paths[1]}/run.sh"; ls -A "{paths[0]}"',
            trial_id="t",
            plugins=[("acme", first), ("other tools", second)],
        )
        assert result.text == "Aran\nskills\n"

    def test_links_that_lead_away_stop_nothing(self, lab: Lab[Any], tmp_path: Path) -> None:
        top = tmp_path / "root" / "acme"
        (top / "sub").mkdir(parents=True)
        (top / "a.txt").write_text("A")
        (tmp_path / "outside.txt").write_text("secret")
        (top / "climbs").symlink_to("../../nowhere/x")
        (top / "sub/climbs").symlink_to("../../../../../../etc/hostname")
        (top / "absolute").symlink_to(tmp_path / "outside.txt")
        (top / "gone").symlink_to("/no/such/thing")
        (top / "nowhere").symlink_to("missing")
        (top / "inside").symlink_to("a.txt")
        tree = Tree.of_directory(top, root=tmp_path / "root")
        path = lab.sandbox.plugin_path("links", 0, "acme")
        result = lab.run(
            f'for d in . "{path}"; do cd "$d"; cat inside; ls sub; cat absolute climbs gone nowhere; done',
            trial_id="links",
            plugins=[("acme", tree)],
            scaffold=tree,
        )
        assert result.text == "AA"
        assert result.workspace.created == result.workspace.changed == result.workspace.deleted == ()

    def test_two_trials_have_their_own_plugins_at_the_same_place(self, lab: Lab[Any]) -> None:
        running = []
        for word in ("one", "two"):
            path = lab.sandbox.plugin_path(word, 0, "acme")
            tree = Tree.of_files({"x": word.encode()})
            process = lab.start(f'sleep 0.3; cat "{path}/x"', trial_id=word, plugins=[("acme", tree)])
            running.append(process)
        try:
            assert [lab.finish(process).text for process in running] == ["one", "two"]
        finally:
            for process in running:
                process.close()

    def test_a_scaffold_is_one_commit_with_the_same_hash_everywhere(self, lab: Lab[Any]) -> None:
        script = (
            "git log --all --format='%H %an %ad %s %D' --date=iso; git status --short; dir/run.sh; "
            "stat -c %Y a.txt dir dir/run.sh; LC_ALL=C ls -A; touch new"
        )
        result = lab.run(script, scaffold=SCAFFOLD)
        commit, *lines = result.text.splitlines()
        assert commit == f"{SCAFFOLD_COMMIT} Skillwalker 2001-09-09 01:46:40 +0000 Scaffold HEAD -> main"
        assert lines == ["ran", *["1000000000"] * 3, "-f", ".git", ".gitignore", "a.txt", "dir", "ignored"]
        assert result.workspace.created == ("new",)
        assert result.workspace.changed == result.workspace.deleted == ()

    def test_an_empty_scaffold_is_a_repository_too(self, lab: Lab[Any]) -> None:
        assert lab.run("git rev-list --count HEAD", scaffold=Tree()).text == "1\n"

    def test_the_trial_can_commit(self, lab: Lab[Any]) -> None:
        script = (
            "git init -q . && touch a && git add a && git commit -qm x && git log --format='%s %an' --all"
        )
        result = lab.run(script)
        assert result.text == "x Agent\n", result.stderr

    def test_what_a_trial_did_to_its_files_is_found_by_content(self, lab: Lab[Any]) -> None:
        scaffold = Tree.of_files({"keep": b"1", "edit": b"2", "delete": b"3", ".gitignore": b"*.log\n"})
        script = """
            printf 9 >edit; rm delete; touch build.log
            touch "$(printf 'r\\303\\251sum\\303\\251\\n2.md')" "$(printf 'caf\\351')"
            ln -s /etc/passwd link; mkfifo pipe; mkdir -p empty; truncate -s 100M sparse
            git add -A; git commit -qm all
            mkdir shut; echo x >shut/inside; chmod 0 shut edit
        """
        found = lab.run(script, scaffold=scaffold, limit_mib=1)
        assert found.workspace.created == (
            "build.log",
            os.fsdecode(b"caf\xe9"),
            "link",
            "pipe",
            "résumé\n2.md",
            "shut/inside",
            "sparse",
        )
        assert (found.workspace.changed, found.workspace.deleted) == (("edit",), ("delete",))
        assert found.workspace.read("edit") == b"9"
        assert found.notes == (
            "1 files are listed without their content (104857600 bytes): over the size limit",
        )

    def test_an_untouched_work_directory_is_empty(self, lab: Lab[Any]) -> None:
        assert lab.run("true").workspace.entries() == ()

    def test_saving_says_when_the_directory_is_too_much(self, lab: Lab[Any]) -> None:
        limits = Limits(memory_mib=512, pids=128, workspace_mib=10)
        result = lab.run("truncate -s 100M a-sparse; touch z", limits=limits, limit_mib=5)
        assert "not listed" in result.notes[0]
        assert not result.workspace.complete

    def test_a_file_has_its_limit(self, lab: Lab[Any]) -> None:
        limits = Limits(memory_mib=512, pids=128, file_mib=1)
        result = lab.run("head -c 2M /dev/zero >big; ls -l big | cut -d' ' -f5", limits=limits)
        assert result.text == f"{1 << 20}\n"

    def test_an_interrupt_reaches_the_program(self, lab: Lab[Any]) -> None:
        process = lab.start("trap 'echo interrupted; exit 7' INT; echo up; while :; do sleep 0.1; done")
        rest = until(process, b"up")
        process.interrupt()
        assert b"".join(chunk.data for chunk in rest) == b"interrupted\n"
        assert process.wait().code == 7
        process.interrupt()
        process.kill()
        process.close()
        process.close()

    def test_a_kill_takes_everything(self, lab: Lab[Any]) -> None:
        process = lab.start(
            "(trap '' TERM INT; echo child; exec sleep 1000) & trap '' INT TERM; wait; sleep 1000"
        )
        rest = until(process, b"child")
        process.kill()
        assert list(rest) == []  # and not when what was started ends by itself
        assert process.wait().code == 137
        assert not process.wait().out_of_memory
        process.close()

    def test_the_end_of_the_program_is_the_end_of_what_it_left_behind(self, lab: Lab[Any]) -> None:
        start = time.monotonic()
        result = lab.run(
            "(trap '' TERM INT HUP; sleep 1000) & setsid sleep 1000 & env -i setsid sh -c 'sleep 1000; :' & "
            "echo bye; exit 4"
        )
        assert (result.text, result.exit.code) == ("bye\n", 4)
        assert time.monotonic() - start < 500

    def test_the_size_of_the_work_directory_can_be_asked_while_it_grows(self, lab: Lab[Any]) -> None:
        process = lab.start(
            "head -c 40M /dev/zero >big; mkdir -m 700 d; head -c 9M /dev/zero >d/x; echo up; sleep 1000"
        )
        rest = until(process, b"up")
        size = process.workspace_size()
        assert size is not None
        assert 49 <= size.mib < 51
        assert 3 <= size.files <= 4  # with or without the directory itself
        process.kill()
        assert list(rest) == []
        assert process.workspace_size() is None
        process.close()

    def test_how_many_trials_fit(self, lab: Lab[Any]) -> None:
        assert lab.sandbox.default_jobs(2048) >= 1
        assert lab.sandbox.default_jobs(1 << 40) == 1
