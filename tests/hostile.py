"""Texts that try to be more than texts, for every report."""

from __future__ import annotations

from pathlib import Path

from stored_runs import FAILED, PASSED, Left, a_test, a_trial, keep, verdict
from transcripts import answers, calls, init, replays, result, says

from skillwalker.expectations.base import Detail
from skillwalker.outcomes import Reason
from skillwalker.store import RunDirectory

MARK = "pwned"


def payload(address: str = "http://127.0.0.1:9") -> str:
    """Markup that runs scripts and fetches from `address` wherever it is taken for markup."""
    run = f"document.documentElement.setAttribute('data-{MARK}','yes')"
    return "\n".join(
        [
            f"<script>{run}</script>",
            f"</script><script>{run};fetch('{address}/fetch')</script>",
            f"</pre></details></style><script src='{address}/script.js'></script>",
            f"<img src='{address}/image.png' onerror=\"{run}\">",
            f"<svg onload=\"{run}\"><image href='{address}/svg.png'></image></svg>",
            f"<iframe src='{address}/frame'></iframe><object data='{address}/object'></object>",
            f"<link rel=stylesheet href='{address}/style.css'><link rel=prefetch href='{address}/prefetch'>",
            f"<style>@import '{address}/a.css'; p {{ background: url('{address}/back.png') }}</style>",
            f"<meta http-equiv=refresh content='0;url={address}/refresh'><base href='{address}/'>",
            f"<form action='{address}/form'><input autofocus onfocus=\"{run}\"></form>",
            f'" onmouseover="{run}" autofocus onfocus="{run}" x="',
            f'<a href="javascript:{run}">[click](javascript:alert(1))</a> {{{{ 7*7 }}}} {{% raw %}}',
            "<!-- --> ]]> <![CDATA[ &amp; &#x3c;script&#x3e;",
        ]
    )


STEERING = (
    "red \x1b[31m\x1b]0;title\x07 nul \x00 bell \x07 c1 \x9b2J bidi \u202egnihtyna\u2066\u2069 "
    "zero\u200bwidth \u2028 tag \U000e0041"
)
GITHUB = "::error file=x::no\n::set-output name=a::b\n##[error]no\n%0A::stop-commands::x\r::debug::y"
MARKDOWN = (
    "@octocat #1 owner/repo#2 [link](http://example.com) <b>bold</b> http://www.example.com "
    "www.example.com "
    "a@example.com | cell | ``` ```` ` `` `x` \\` **strong** ![image](http://example.com/i.png) "
    "$`x`$ :tada:\n"
    "# heading\n| a | b |\n|---|---|\n</details>\n- [ ] task\n~~~\n```\n<script>alert(1)</script>"
)


def texts(address: str = "http://127.0.0.1:9") -> str:
    """All of it in one text."""
    return "\n".join((STEERING, payload(address), GITHUB, MARKDOWN))


def hostile_run(root: Path, address: str = "http://127.0.0.1:9") -> RunDirectory:
    """A run in which every text that is not ours is hostile, and one is huge."""
    said = texts(address)
    details = (Detail(said, FAILED, said), Detail("kept", PASSED, said))
    name = f"{payload(address)[:60]}\u202e\x1b[2J"
    bad = a_trial(
        "bad",
        1,
        verdict(FAILED, said, "<b>judge</b>", details),
        reason=Reason.TIMEOUT,
        outcome=FAILED,
        message=said,
        notes=(said,),
    )
    events = [
        init(claude_code_version=said, model=said),
        replays(said),
        says(said),
        calls("c1", "<script>", command=said),
        answers("c1", said, error=True),
        calls("c2", "Agent", subagent_type=said, prompt=said),
        says(said, parent="c2"),
        answers("c2", "x" * 3_000_000),
        said.encode(),
        result(said + "y" * 1_000_000, subtype=said),
    ]
    files = {f"{said[:40]}.md".replace("/", "_"): said.encode(), "binary": b"\0", "big": b"z" * 200_000}
    return keep(
        root,
        a_test(name, bad, eval_name="<i>csv</i>"),
        a_test("good", a_trial("good", 1, verdict(PASSED, "called"))),
        left={bad.id: Left(events, files, said.encode())},
        image=said,
        claude_code_version=said,
        options={"allow_unmeasured": 0, "model": said},
    )
