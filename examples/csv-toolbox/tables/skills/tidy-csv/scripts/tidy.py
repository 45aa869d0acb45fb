"""Write a clean copy of a CSV file and say what was changed: tidy.py SOURCE TARGET."""

import csv
import io
import re
import sys
from pathlib import Path


def decode(data: bytes) -> tuple[str, str]:
    """The text and the encoding it was in; every byte string is valid Latin-1, so that comes last."""
    for encoding in ("utf-8-sig", "cp1252"):
        try:
            return data.decode(encoding), encoding
        except UnicodeDecodeError:
            continue
    return data.decode("latin-1"), "latin-1"


def heading(name: str) -> str:
    """`Order ID` as `order_id`."""
    return re.sub(r"\W+", "_", name.strip().lower()).strip("_")


def tidy(source: Path, target: Path) -> list[str]:
    """Write `target` and return one line for each kind of change."""
    text, encoding = decode(source.read_bytes())
    first_line = next((line for line in text.splitlines() if line.strip()), "")
    delimiter = max(",;\t|", key=first_line.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, skipinitialspace=True)
    rows = [(reader.line_num, [cell.strip() for cell in row]) for row in reader]

    filled = [(line, row) for line, row in rows if any(row)]
    if not filled:
        raise SystemExit(f"{source}: no rows")
    (_, old_header), *body = filled
    header = [heading(name) for name in old_header]
    kept: dict[tuple[str, ...], int] = {}
    for line, row in body:
        kept.setdefault(tuple(row), line)

    with target.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([header, *kept])

    odd = [str(line) for row, line in kept.items() if len(row) != len(header)]
    return [
        f"rows: {len(kept)}",
        f"encoding: {encoding} -> utf-8",
        f"delimiter: {delimiter!r} -> ','",
        f"header: {', '.join(header)}",
        f"blank rows dropped: {len(rows) - len(filled)}",
        f"duplicate rows dropped: {len(body) - len(kept)}",
        *([f"look at: line {', '.join(odd)}"] if odd else []),
    ]


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    print("\n".join(tidy(Path(sys.argv[1]), Path(sys.argv[2]))))
