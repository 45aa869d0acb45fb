"""HTML of what a page has tens of thousands of: steps, excerpts and lines of diffs.

The rest of the page is a template; this would take most of the time there. All that is not ours has been
through `safe` and is escaped here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape
from typing import TYPE_CHECKING

from skillwalker.reports.changes import Line
from skillwalker.reports.excerpt import Excerpt
from skillwalker.reports.story import Step
from skillwalker.text import count

if TYPE_CHECKING:
    from markupsafe import Markup

_MARKS = {"+": "add", "-": "del", "@": "at", " ": "same"}
_EVENTS = "events.jsonl"


def excerpt(it: Excerpt, file: str) -> Markup:
    """A text, and how much more of it is in `file`."""
    return _markup(_excerpt(it, file))


def diff(lines: Iterable[Line]) -> Markup:
    """Lines of a diff, coloured by their marks."""
    spans = (f'<span class="{_MARKS[one.mark]}">{one.mark}{escape(one.text)}</span>' for one in lines)
    return _markup(f'<div class="diff">{"".join(spans)}</div>')


def steps(all_steps: Iterable[Step]) -> Markup:
    """A transcript, or what happened inside a call, as a list: calls folded, what is in them nested."""
    return _markup("".join(_steps(all_steps)))


def _steps(all_steps: Iterable[Step]) -> Iterator[str]:
    yield '<ol class="steps">\n'
    for step in all_steps:
        yield f'<li class="{step.kind}{" bad" if step.failed else ""}">\n'
        yield from _call(step) if step.kind == "call" else _other(step)
        yield "</li>\n"
    yield "</ol>\n"


def _call(step: Step) -> Iterator[str]:
    state = {
        True: ' <span class="word failed">error</span>',
        None: ' <span class="word unmeasured">no result</span>',
        False: "",
    }[step.failed]
    inside = f' <span class="count">{count(len(step.steps), "step")} inside</span>' if step.steps else ""
    yield f"<details><summary>{escape(step.title)}{state}{inside}</summary>\n{_excerpt(step.text, _EVENTS)}"
    if step.steps:
        yield from _steps(step.steps)
    if step.result:
        yield f'<p class="label">result</p>\n{_excerpt(step.result, _EVENTS)}'
    yield "</details>\n"


def _other(step: Step) -> Iterator[str]:
    title = escape(step.title)
    match step.kind:
        case "given" | "thinking":
            yield f"<details><summary>{title or 'thinking'}</summary>\n"
            yield f"{_excerpt(step.text, _EVENTS)}</details>\n"
            return
        case "start":
            yield f'<p class="label">{title}</p>\n'
            return
        case "end":
            yield f'<p class="label">end: {title}</p>\n'
        case "stray":
            yield f'<p class="label">a line that is no event: {title}</p>\n'
    yield _excerpt(step.text, _EVENTS)


def _excerpt(it: Excerpt, file: str) -> str:
    shown = f"<pre>{escape(it.text)}</pre>\n" if it.text else ""
    if it.left_out:
        shown += f'<p class="cut">… {count(it.left_out, "more character")} in {escape(file)}</p>\n'
    return shown


def _markup(text: str) -> Markup:
    from markupsafe import Markup

    return Markup(text)  # noqa: S704 - what is not ours is escaped
