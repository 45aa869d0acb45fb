"""The image's name follows its inputs."""

from __future__ import annotations

import re

import pytest
from attrs import evolve

from skillwalker.packaged import packaged
from skillwalker.sandbox.certificates import ExtraCertificates
from skillwalker.sandbox.image import Inputs, sandbox_dockerfile

INPUTS = Inputs(
    dockerfile=b"FROM debian",
    base=None,
    base_script=b"#!/bin/sh",
    certificates=ExtraCertificates(),
    architecture="amd64",
)


@pytest.mark.parametrize(
    "change",
    [
        {"dockerfile": b"FROM debian:12"},
        {"base": "debian:testing"},
        {"base_script": b"#!/bin/bash"},
        {"certificates": ExtraCertificates(b"pem", "file")},
        {"architecture": "arm64"},
    ],
    ids=lambda change: next(iter(change)),
)
def test_every_input_changes_the_tag(change: dict[str, object]) -> None:
    assert evolve(INPUTS, **change).tag != INPUTS.tag


def test_where_certificates_come_from_does_not_change_the_tag() -> None:
    one, two = (evolve(INPUTS, certificates=ExtraCertificates(b"pem", name)) for name in "ab")
    assert one.tag == two.tag


def test_the_tag_is_a_name_and_a_short_hash() -> None:
    assert re.fullmatch(r"skillwalker-sandbox:[0-9a-f]{12}", INPUTS.tag)


def test_content_does_not_move_from_one_input_to_another() -> None:
    assert evolve(INPUTS, base="a", base_script=b"").tag != evolve(INPUTS, base="", base_script=b"a").tag


def test_the_dockerfile_needs_no_buildkit() -> None:
    text = sandbox_dockerfile().decode()
    assert not re.search(r"--mount|<<|# syntax=|TARGETARCH|COPY --(?:chmod|link)", text)


def test_what_is_fetched_is_pinned_for_both_processors() -> None:
    text = sandbox_dockerfile().decode()
    for name in ("CLAUDE_INTEGRITY", "UV_SHA256"):
        assert len(set(re.findall(rf"^ARG {name}_(?:AMD64|ARM64)=(\S{{64,}})$", text, re.MULTILINE))) == 2
    assert re.search(r"^ARG CLAUDE_VERSION=\d+\.\d+\.\d+$", text, re.MULTILINE)


def test_the_checkout_has_it_at_its_top() -> None:
    assert packaged("Dockerfile.sandbox").read_bytes() == sandbox_dockerfile()
