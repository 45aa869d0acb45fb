"""The HTML page in a real browser: what hostile texts in it do, which is nothing."""

from __future__ import annotations

import contextlib
import re
import shutil
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from attrs import field, frozen
from hostile import MARK, hostile_run, payload
from stored_runs import FAILED, a_test, a_trial, stored, verdict

from skillwalker.reports.html import html
from skillwalker.reports.source import Source

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = pytest.mark.skipif(
    CHROMIUM is None,
    reason="NO BROWSER: what a hostile transcript does in the HTML report was NOT tried; install chromium",
)
PWNED = f'data-{MARK}="yes"'


@frozen
class Server:
    """Answers everything, and remembers what was asked."""

    address: str
    asked: list[str] = field(factory=list)


@pytest.fixture
def server() -> Iterator[Server]:
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(204)
            self.end_headers()

        def do_POST(self) -> None:
            self.do_GET()

        def log_message(self, *_: object) -> None:
            return None

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listening:
        thread = threading.Thread(target=listening.serve_forever, daemon=True)
        thread.start()
        yield Server(f"http://127.0.0.1:{listening.server_port}", asked)
        listening.shutdown()
        thread.join()


@frozen
class Seen:
    """What a browser made of a page: the document after its scripts, and what it complained of."""

    document: str
    log: str


def browse(page: Path, profile: Path) -> Seen:
    for number in range(3):  # a browser that crashes or hangs while it starts says nothing of the page
        with contextlib.suppress(subprocess.TimeoutExpired):
            done = started(page, profile.with_name(f"{profile.name}-{number}"))
            if done.returncode == 0:
                break
    assert done.returncode == 0, done.stderr.decode("utf-8", "replace")[-2000:]
    return Seen(done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace"))


def started(page: Path, profile: Path) -> subprocess.CompletedProcess[bytes]:
    assert CHROMIUM is not None
    return subprocess.run(
        [
            CHROMIUM,
            "--headless=new",
            "--no-sandbox",  # as root it does not start otherwise
            "--disable-gpu",
            "--hide-scrollbars",
            "--disable-dev-shm-usage",
            "--disable-background-networking",
            "--no-first-run",
            f"--user-data-dir={profile}",
            "--enable-logging=stderr",
            "--virtual-time-budget=3000",
            "--dump-dom",
            page.as_uri(),
        ],
        capture_output=True,
        timeout=200,
        check=False,
    )


def written(path: Path, text: str) -> Path:
    path.write_text(text, "utf-8")
    return path


def test_hostile_texts_run_nothing_and_fetch_nothing(tmp_path: Path, server: Server) -> None:
    text = "".join(html(Source.of(hostile_run(tmp_path, server.address))))
    seen = browse(written(tmp_path / "page.html", text), tmp_path / "profile")

    assert PWNED not in seen.document
    assert server.asked == []
    assert "Content Security Policy" not in seen.log  # it had nothing to refuse
    assert re.search(r"<nav(?! hidden)[^>]*>", seen.document), "our own script did not run"


def test_a_hole_in_the_escaping_would_still_be_no_way_out(tmp_path: Path, server: Server) -> None:
    text = "".join(html(Source.of(hostile_run(tmp_path, server.address))))
    holed = text.replace("<main>", f"<main>{payload(server.address)}", 1)
    seen = browse(written(tmp_path / "page.html", holed), tmp_path / "profile")

    assert PWNED not in seen.document
    assert [path for path in server.asked if path != "/refresh"] == []
    assert "Content Security Policy" in seen.log


def test_these_texts_are_as_hostile_as_they_look(tmp_path: Path, server: Server) -> None:
    """The control: a page that does not escape runs the script and fetches, and this is seen."""
    raw = f"<!doctype html><body><pre>{payload(server.address)}</pre></body>"
    page = re.sub("<meta http-equiv=refresh[^>]*>", "", raw)
    seen = browse(written(tmp_path / "page.html", page), tmp_path / "profile")

    assert PWNED in seen.document
    assert {"/image.png", "/script.js", "/fetch"} <= set(server.asked)


@pytest.mark.parametrize("width", [1200, 420])
def test_nothing_is_wider_than_the_window(tmp_path: Path, width: int) -> None:
    text = "".join(html(Source.of(hostile_run(tmp_path))))
    frame = (
        f"<!doctype html><title>frame</title><iframe id=f width={width} height=800></iframe><script>"
        "f.onload = () => { const d = f.contentDocument.documentElement;"
        " d.querySelectorAll('details').forEach((one) => { one.open = true; });"
        " document.title = `wide ${d.scrollWidth > d.clientWidth} ${d.clientWidth}`; };"
        f"f.srcdoc = {_quoted(text)};</script>"
    )
    seen = browse(written(tmp_path / "frame.html", frame), tmp_path / "profile")

    assert f"<title>wide false {width}</title>" in seen.document


def test_every_trial_can_be_seen_whole(tmp_path: Path) -> None:
    """Trials stand beside each other, and below where there is no room: none is cut off at the edge."""
    said = verdict(FAILED, f"{'why ' * 40}{'x' * 300}")
    tests = [a_test(f"{of}", *(a_trial(f"{of}", n + 1, said) for n in range(of))) for of in (3, 5)]
    text = "".join(html(stored(tmp_path, *tests)))
    page = written(
        tmp_path / "frames.html",
        "<!doctype html><title>frames</title><script>const seen = [];"
        "for (const width of [1280, 1600, 420]) { const f = document.createElement('iframe');"
        " f.width = width; f.height = 900; f.srcdoc = " + _quoted(text) + ";"
        " f.onload = () => { const d = f.contentDocument;"
        "  const out = [...d.querySelectorAll('.trial')].filter((one) => { const box = one.parentElement;"
        "   return one.getBoundingClientRect().right > box.getBoundingClientRect().right"
        "    || box.scrollWidth > box.clientWidth; }).length;"
        "  const first = [...d.querySelector('.trials').children];"
        "  const tops = first.map((one) => one.getBoundingClientRect().top);"
        "  seen.push(`${width}: ${out} out, ${new Set(tops).size} rows`);"
        "  document.title = seen.sort().join('; '); };"
        " document.documentElement.append(f); }</script>",
    )
    seen = browse(page, tmp_path / "profile")

    assert "<title>1280: 0 out, 1 rows; 1600: 0 out, 1 rows; 420: 0 out, 3 rows</title>" in seen.document


def _quoted(text: str) -> str:
    import json

    return json.dumps(text).replace("<", "\\u003c")
