"""Headers of archives: read fast where they are plain, and never otherwise than the library reads them."""

from __future__ import annotations

import io
import tarfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillwalker.archives import _Header, members, reading

READ = ("name", "type", "mode", "uid", "gid", "size", "mtime", "linkname")
KINDS = (
    tarfile.REGTYPE,
    tarfile.AREGTYPE,
    tarfile.DIRTYPE,
    tarfile.SYMTYPE,
    tarfile.LNKTYPE,
    tarfile.FIFOTYPE,
)


def header(name: str, size: int, mode: int, mtime: int, kind: bytes, form: int) -> bytes:
    info = tarfile.TarInfo(name)
    info.size, info.mode, info.mtime, info.type = size, mode, mtime, kind
    return info.tobuf(form, "utf-8", "surrogateescape")[-512:]


headers = st.builds(
    header,
    st.text(min_size=1, max_size=120),
    st.integers(0, 8**11 - 1),
    st.integers(0, 0o7777),
    st.integers(0, 8**11 - 1),
    st.sampled_from(KINDS),
    st.sampled_from([tarfile.GNU_FORMAT, tarfile.PAX_FORMAT]),
)


def as_library(data: bytes) -> dict[str, object] | type[Exception]:
    try:
        found = tarfile.TarInfo.frombuf(data, "utf-8", "surrogateescape")
    except (tarfile.HeaderError, ValueError) as error:
        return type(error)
    return {name: getattr(found, name) for name in READ}


def as_ours(data: bytes) -> dict[str, object] | type[Exception]:
    try:
        found = _Header.frombuf(data, "utf-8", "surrogateescape")
    except (tarfile.HeaderError, ValueError) as error:
        return type(error)
    return {name: getattr(found, name) for name in READ}


@given(headers)
def test_a_header_is_read_as_the_library_reads_it(data: bytes) -> None:
    assert as_ours(data) == as_library(data)


@given(
    headers,
    st.lists(st.tuples(st.integers(0, 511), st.integers(0, 255)), min_size=1, max_size=4),
    st.booleans(),
)
def test_so_is_a_damaged_one(data: bytes, damage: list[tuple[int, int]], checksum_fits: bool) -> None:
    damaged = bytearray(data)
    for at, value in damage:
        damaged[at] = value
    if checksum_fits:
        total = sum(damaged[:148]) + sum(damaged[156:]) + 8 * 32
        damaged[148:156] = b"%06o\0 " % total
    ours, library = as_ours(bytes(damaged)), as_library(bytes(damaged))
    if (
        isinstance(library, dict)
        and isinstance(library["size"], int)
        and (library["size"] < 0 or library["type"] in (b"x", b"g", b"L", b"K"))
    ):
        return  # refused, or limited, on purpose
    assert ours == library


@pytest.mark.parametrize(
    "field", [b"0000644\0", b"000644 \0", b"   644 \0", b"644\0 junk", b"0000688\0", b"\x80\0\0\0\0\0\1\xa4"]
)
def test_so_is_a_number_in_any_form(field: bytes) -> None:
    data = bytearray(header("a", 3, 0o644, 5, tarfile.REGTYPE, tarfile.GNU_FORMAT))
    data[100:108] = field
    data[148:156] = b"%06o\0 " % (sum(data[:148]) + sum(data[156:]) + 8 * 32)
    assert as_ours(bytes(data)) == as_library(bytes(data))


def test_plain_headers_are_read_without_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name in ("a", "b/c.txt"):
            info = tarfile.TarInfo(name)
            info.size, info.mtime = 3, 1_000_000_000
            tar.addfile(info, io.BytesIO(b"abc"))
    packed.seek(0)
    asked: list[bytes] = []
    really = tarfile.TarInfo.frombuf.__func__  # type: ignore[attr-defined]

    def frombuf(cls: type[tarfile.TarInfo], data: bytes, *how: str) -> tarfile.TarInfo:
        asked.append(data)
        return really(cls, data, *how)

    monkeypatch.setattr(tarfile.TarInfo, "frombuf", classmethod(frombuf))
    with reading(packed, "r|") as tar:
        assert [(one.name, one.size) for one in members(tar)] == [("a", 3), ("b/c.txt", 3)]
    assert all(not data.strip(b"\0") for data in asked)  # the end only
