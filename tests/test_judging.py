"""The form of a judge's question and answer."""

from __future__ import annotations

import json

import pytest

from skillwalker.judging import answer_schema, answer_text, asked_ids, output_config, passed_for
from skillwalker.models import is_model, model_id


def test_an_answer_has_the_keys_and_ids_of_the_schema_it_was_asked_for() -> None:
    schema = answer_schema(["c1", "c2"])
    item = schema["properties"]["criteria"]["items"]
    answer = json.loads(answer_text([("c1", True, "so"), ("c2", False, "not so")]))
    assert list(answer) == schema["required"]
    for graded in answer["criteria"]:
        assert list(graded) == item["required"] == list(item["properties"])
        assert graded["id"] in item["properties"]["id"]["enum"]


def test_the_ids_can_be_read_back_from_a_request() -> None:
    request = {"model": "m", "output_config": output_config(answer_schema(["c1", "c2"]))}
    assert asked_ids(request) == ("c1", "c2")
    for other in ({}, {"output_config": None}, {"output_config": output_config({"type": "object"})}):
        assert asked_ids(other) is None


@pytest.mark.parametrize(
    ("name", "known"),
    [("opus", True), ("sonnet", True), ("haiku", True), ("claude-opus-5-5", True),
     ("claude-sonnet-4-5@20250929", True), ("Opus", False), ("gpt-9", False), ("claude-", False),
     ("claude-x y", False), ("", False)],
)  # fmt: skip
def test_a_model_is_an_alias_or_a_full_name(name: str, known: bool) -> None:
    assert is_model(name) is known


def test_only_aliases_are_replaced() -> None:
    assert model_id("opus") == "claude-opus-5-5"
    assert model_id("claude-opus-4-8") == "claude-opus-4-8"


@pytest.mark.parametrize(
    ("ids", "passed", "fitting"),
    [
        (("c1", "c2"), (True, False), (True, False)),
        (("c1", "c3"), (True, False, False), (True, False)),
        (("c2",), (True, False, True), (False,)),
        (("c1", "c2"), (True,), None),
        (("c1", "c4"), (True, False, False), None),
        (("first", "second"), (True, False), (True, False)),
        (("first", "second"), (True, False, True), None),
        ((), (True,), ()),
        (("c1",), (), None),
    ],
)
def test_a_script_speaks_of_all_criteria_whichever_are_asked_for(ids, passed, fitting) -> None:
    assert passed_for(ids, passed) == fitting
