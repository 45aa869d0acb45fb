"""Reads a rubric: a markdown file whose list items are the criteria.

An item begins with `- `, `* `, `+ `, `1. ` or `1) `; a checkbox after that is no part of it, and alone is no
item. Lines that go on, and lists inside an item, belong to its criterion. Headings, other paragraphs, code
fences, frontmatter and what stands in `<!-- -->` are no criteria; a criterion keeps the headings above it,
since they often say what kind of criterion it is. A heading `File: PATH` says more: what stands below it is
about that file of the final work directory.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from attrs import field, frozen

from skillwalker.folders import find_inside, path_fault

FOLDER = "rubrics"

_ITEM = re.compile(
    r"(?P<indent> {0,3})(?:[-*+]|\d{1,9}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?(?!\[[ xX]\][ \t]*$)(?P<text>\S.*)"
)
_HEADING = re.compile(r"(?P<level>#{1,6})[ \t]+(?P<text>.*)")
_FENCE = re.compile(r"[ \t]*(?P<fence>`{3,}|~{3,})")
_CODE = re.compile(r"`+")
_RULE = re.compile(r"(?:[-*_][ \t]*){3,}")
_FRONTMATTER = re.compile(r"\A---[ \t]*\n(?=\s*[A-Za-z_][\w-]*:)(?:.*\n)*?(?:---|\.\.\.)[ \t]*(?:\n|\Z)")
_FILE = re.compile(r"[Ff]ile:[ \t]*(?P<ticks>`*)(?P<path>.*?)(?P=ticks)")


@frozen
class Criterion:
    """One thing that the judge says yes or no to.

    Attributes:
        id: `c1`, `c2`, ... in the rubric's order.
        section: The headings above it, outermost first, joined by ` / `.
        file: The file of the final work directory that it is about; None: the whole work.
    """

    id: str
    text: str
    section: str = ""
    file: str | None = None


@frozen
class Rubric:
    """The criteria of a rubric file.

    Attributes:
        sha256: Of the file's bytes, in hexadecimal.
    """

    criteria: tuple[Criterion, ...]
    sha256: str = field(repr=False, default="")

    @property
    def files(self) -> tuple[str, ...]:
        """The files that criteria are about, each once."""
        return tuple(dict.fromkeys(one.file for one in self.criteria if one.file is not None))


def read_rubric(directory: Path, file: str) -> Rubric:
    """The rubric `file` of the eval in `directory`.

    Raises:
        ValueError: it is not there, lies elsewhere, is no UTF-8 or holds no criterion; for the author.
    """
    path = find_inside(directory, FOLDER, file)
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ValueError(f"{FOLDER}/{file} cannot be read: {error.strerror}") from None
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"{FOLDER}/{file} is no UTF-8 text (byte {error.start}); save it as UTF-8") from None
    if "\0" in text:
        raise ValueError(f"{FOLDER}/{file} is no text: it holds NUL characters; save it as UTF-8")
    try:
        criteria = parse_rubric(text)
    except ValueError as error:
        raise ValueError(f"{FOLDER}/{file}: {error}") from None
    if not criteria:
        raise ValueError(f"{FOLDER}/{file} holds no criterion: write each as a line that begins with `- `")
    return Rubric(criteria, hashlib.sha256(data).hexdigest())


def parse_rubric(text: str) -> tuple[Criterion, ...]:
    """The criteria of a rubric's text; none is possible.

    Raises:
        ValueError: a code fence or a comment is left open, so that all after it would be silently no
            criterion; or a heading names a file that no work directory can hold.
    """
    found: list[tuple[str, str | None, list[str]]] = []  # (section, file, lines of the criterion)
    headings: dict[int, str] = {}
    files: dict[int, str] = {}  # by level of the heading
    inside: list[str] | None = None  # the lines of the criterion that the next line may go on
    indent = 0  # of the list that `inside` is in
    fence, opened = "", 0
    in_comment = False
    after_blank = False
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if front := _FRONTMATTER.match(text):  # its lists are no criteria; the numbers of lines stay
        text = "\n" * front[0].count("\n") + text[front.end() :]
    for number, line in enumerate(text.split("\n"), 1):
        if fence:
            if line.strip().startswith(fence) and not line.strip().strip(fence[0]):
                fence = ""
            continue
        if not in_comment and (opening := _FENCE.match(line)):
            fence, opened = opening["fence"], number
            continue
        opened = opened if in_comment else number
        line, in_comment = _without_comments(line, in_comment)
        if not line.strip():
            after_blank = True
            continue
        if heading := _HEADING.fullmatch(line):
            level = len(heading["level"])
            headings = {above: title for above, title in headings.items() if above < level}
            files = {above: file for above, file in files.items() if above < level}
            headings[level] = heading["text"].rstrip(" \t").rstrip("#").rstrip(" \t")
            if named := _FILE.fullmatch(headings[level]):
                files[level] = _path(named["path"], number)
            inside = None
        elif _RULE.fullmatch(line.strip()):
            inside = None
        elif (item := _ITEM.fullmatch(line)) and (inside is None or len(item["indent"]) <= indent):
            indent = len(item["indent"])
            inside = [item["text"].strip()]
            section = " / ".join(headings[level] for level in sorted(headings))
            found.append((section, files[max(files)] if files else None, inside))
        elif inside is not None and (line[0] in " \t" or not after_blank):
            inside.append(line.strip())
        else:
            inside = None
        after_blank = False
    if fence:
        raise ValueError(f"the code fence of line {opened} is never closed")
    if in_comment:
        raise ValueError(f"the comment (<!--) of line {opened} is never closed")
    return tuple(
        Criterion(f"c{number}", " ".join(lines), section, file)
        for number, (section, file, lines) in enumerate(found, 1)
    )


def _path(written: str, line: int) -> str:
    """The path as a work directory lists it."""
    if fault := path_fault(written):
        raise ValueError(
            f"the heading of line {line} names a file by its path in the work directory; it {fault}"
        )
    parts = [part for part in written.split("/") if part not in ("", ".")]
    if not parts or written.endswith(("/", "/.")):
        raise ValueError(f"the heading of line {line} must name a file, not a directory")
    return "/".join(parts)


def _without_comments(line: str, inside: bool) -> tuple[str, bool]:
    """A line without what is in comments, and whether the last one goes on; one in backticks is text."""
    kept: list[str] = []
    position = 0
    while True:
        if inside:
            end = line.find("-->", position)
            if end < 0:
                return "".join(kept), True
            position, inside = end + 3, False
        start = line.find("<!--", position)
        if start < 0:
            return "".join((*kept, line[position:])), False
        code = _CODE.search(line, position, start)
        if code is None:
            kept.append(line[position:start])
            position, inside = start + 2, True  # `<!-->` is whole
            continue
        runs = _CODE.finditer(line, code.end())
        end = next((run.end() for run in runs if len(run[0]) == len(code[0])), code.end())
        kept.append(line[position:end])
        position = end
