"""A first eval for a skill or an agent that exists: requests that should call it, near misses, and a task.

What a user would say cannot be found out from a description, only guessed at. So all of it is valid and runs,
and all of it is marked as a draft; what could not even be guessed at says `EDIT ME`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from attrs import field, frozen

from skillwalker.drafting import ANSWER, DRAFT, EDIT_ME, Draft, name_of_file, one_line, rubric
from skillwalker.gateway.rule import stems
from skillwalker.mentions import is_far, mention
from skillwalker.parts import Skill
from skillwalker.targets import Target, neighbours
from skillwalker.wishes.reading import Wishes, read_wishes

_MOST = 4
_NEAR = 3
_OWN_NEAR = 2  # of these, what the description itself says that it is not for
_SAME = 0.7  # of all words: two descriptions of the same thing
_LONGEST = 160
_TAG = "edit-me"
_ADVICE = (
    "\n\n<!-- Write what can be answered with yes or no, and would fail without the {kind}.\n"
    "The work directory is empty until the test names a scaffold. -->\n\n"
)
_CRITERIA = (
    f"{EDIT_ME}: The request is fulfilled completely: nothing that was asked for is missing.",
    f"{EDIT_ME}: What the answer claims to have done can be seen in the tool calls or in the changed files.",
)
# Words that say nothing of what a request is about.
_COMMON = stems(
    "add build change check create develop do find generate give help implement improve make manage need new "
    "plan provide run set show start support use want work write include including multiple question "
    "existing user project system tool code file plugin claude request say mention similar phrase trigger "
    "another repo repository agent skill task report result best"
)
_ENOUGH = 0.2  # of a near miss's words: what comes near shares more than a word that happens to occur
# What is asked about a sentence, so that its words occur and nothing is to be done about them.
_ABOUT_WORDS = (
    'Translate this sentence into Portuguese: "{}"',
    'How many syllables has this sentence? "{}"',
    'Is this sentence grammatical? "{}"',
)


@frozen
class _Around:
    """All skills and agents, with what their descriptions say, each read once."""

    targets: Sequence[Target]
    read: dict[str, Wishes] = field(factory=dict, init=False)

    def wishes(self, target: Target) -> Wishes:
        """What users say who need it, without what names it."""
        key = f"{target.kind} {target.part.path}"
        if key not in self.read:
            made_up = target.part.problem  # then Claude Code's words stand there, not the author's
            found = read_wishes("" if made_up else target.part.description or "")
            wanted = tuple(one for one in found.wanted if not mention(one, target.kind, target.part.id))
            if not wanted:
                spelt = (one.replace(target.tail, _words(target)) for one in found.wanted)
                wanted = tuple(one for one in spelt if not mention(one, target.kind, target.part.id))
            self.read[key] = Wishes(wanted, found.unwanted)
        return self.read[key]

    def of_other_kind(self, target: Target) -> set[frozenset[str]]:
        """What is said to the agents of a skill's plugin, or to the skills of an agent's."""
        others = (
            one
            for one in self.targets
            if one.kind != target.kind and one.plugin.directory == target.plugin.directory
        )
        return {_key(wish) for one in others for wish in self.wishes(one).wanted}


def first_eval(target: Target, targets: Sequence[Target], name: str) -> tuple[Draft, list[str]]:
    """The draft, and what its author should know, a sentence each."""
    draft = Draft(name, target)
    part = target.part
    if isinstance(part, Skill) and not (part.model_may_call and part.description):
        why = "the model may not call it" if part.description else part.problem or "it has no description"
        _add_task(draft, f"/{part.id}", called=False)
        return draft, [f"{part.id}: {why}, so there is nothing to activate; the eval has a task only"]
    around = _Around(targets)
    notes = []
    requests = list(_requests(target, around))
    if requests:
        positives = [_query(one, True) for one in requests]
    else:
        # What cannot be guessed at is left to its author, in an eval that is valid all the same.
        asked = f"{EDIT_ME}: what would somebody type who needs this? {_topic(target)}"
        positives = [_query(asked, True, marked=True)]
        read = around.wishes(target).wanted
        why = "is its own, a skill says the same" if read else "could be read from its description"
        notes.append(f"{part.id}: no request {why}; replace what begins with {EDIT_ME} in tests.json")
    near = [_query(one, False) for one in near_misses(target, around)]
    if not near:
        near = [_query(one, False, marked=True) for one in _made_up(target, requests)]
        notes.append(
            f"no neighbouring {target.kind} comes near, so the near misses (marked {EDIT_ME}) are made of "
            "its own words: think of better ones"
        )
    draft.add_queries(positives, title="Call", tags=["activation", DRAFT])
    draft.add_queries(near, title="Near miss", tags=["activation", DRAFT])
    _add_task(draft, requests[0] if requests else positives[0]["query"], called=True)
    draft.rehearse_queries()
    return draft, notes


def near_misses(target: Target, around: _Around) -> Iterator[str]:
    """What it says that it is not for, and what is said to its nearest neighbours of the same kind.

    Never what should call the target, or an agent beside a skill: one of the two evals would be wrong.
    """
    own = _vocabulary(target)
    wishes = around.wishes(target)
    said = {_key(one) for one in wishes.wanted} | around.of_other_kind(target)

    def is_near(wish: str) -> bool:
        return not (_key(wish) in said or _names(wish, target) or is_far(wish, _described(target)))

    found = 0
    for wish in wishes.unwanted:
        if found < _OWN_NEAR and is_near(wish):
            said.add(_key(wish))
            found += 1
            yield wish
    same_kind = [one for one in neighbours(target, around.targets) if one.kind == target.kind]
    at_home = [one for one in same_kind if one.plugin.directory == target.plugin.directory]
    beside = at_home or same_kind
    for one in sorted(beside, key=lambda other: len((own & _vocabulary(other)) - _COMMON), reverse=True):
        words = _vocabulary(one)
        if found == _NEAR or len(own & words) >= _SAME * len(own | words):
            continue
        theirs = [
            wish
            for wish in around.wishes(one).wanted
            if is_near(wish)
            and not any(mention(wish, other.kind, other.part.id) for other in beside)
            and _overlaps(wish, own)
            and len(stems(wish) & words) > len(stems(wish) & own)
        ]
        if theirs:
            nearest = max(theirs, key=lambda wish: len((stems(wish) & own) - _COMMON))
            said.add(_key(nearest))
            found += 1
            yield nearest


def _overlaps(wish: str, own: frozenset[str]) -> bool:
    """Whether a good part of its words is the target's too, and not by chance."""
    wanted = stems(wish) - _COMMON
    shared = wanted & own
    return len(shared) >= 2 or (bool(shared) and len(shared) >= _ENOUGH * len(wanted))


def _requests(target: Target, around: _Around) -> Iterator[str]:
    """The likeliest requests; what both a skill and an agent of a plugin claim is the skill's."""
    taken = around.of_other_kind(target) if target.kind == "agent" else set()
    found = 0
    for wish in around.wishes(target).wanted:
        if found < _MOST and _key(wish) not in taken:
            taken.add(_key(wish))
            found += 1
            yield wish


def _made_up(target: Target, requests: Sequence[str]) -> Iterator[str]:
    """Near misses of its own words: questions about a sentence that is one of its requests."""
    own = _vocabulary(target)
    about = [one for one in requests if not _names(one, target)][:2]
    forms = [form for form in _ABOUT_WORDS if not stems(form) & own]
    for form, request in zip(forms, about, strict=False):
        made = form.format(request.replace('"', "'"))
        if not is_far(made, _described(target)):
            yield f"{EDIT_ME}: {made}"
    if not (forms and about):
        yield f"{EDIT_ME}: what comes near this, and needs something else? {_topic(target, named=False)}"


def _query(text: str, expected: bool, *, marked: bool = False) -> dict[str, Any]:
    query: dict[str, Any] = {"query": text, "should_trigger": expected}
    return {**query, "tags": [_TAG]} if marked else query


def _add_task(draft: Draft, request: str, *, called: bool) -> None:
    target = draft.target
    title = f"Task: {target.tail}"
    text = rubric(title, _CRITERIA).replace(b"\n\n", _ADVICE.format(kind=target.kind).encode(), 1)
    file = draft.add_file("rubrics", f"{name_of_file(target.tail)}.md", text)
    judge = {"llm-judge": {"rubricFile": file}}
    called = called or target.kind == "agent"
    call = {f"{target.kind}-call": {target.kind: target.part.id, "expected": True}}
    more: dict[str, Any] = {"tags": ["output", DRAFT]}
    if target.plugin.mcp_servers:
        more["skip"] = (
            "the plugin's MCP servers need a network: see sandbox.network.allow, then remove this line"
        )
    name = draft.add_prompt(title, request, [call, judge] if called else [judge], **more)
    script = draft.turns(called=called, prompt=request, answer=ANSWER)
    draft.script[name] = {"main": script}


def _described(target: Target) -> str:
    return f"{target.part.id} {target.part.description or ''}"


def _vocabulary(target: Target) -> frozenset[str]:
    return stems(f"{target.tail} {target.part.description or ''}")


def _key(wish: str) -> frozenset[str]:
    """What two requests have in common that say the same."""
    return stems(wish) or frozenset((wish,))


def _names(wish: str, target: Target) -> bool:
    """Whether it names the target, or only says a word that is its name: a near miss does neither."""
    word = rf"(?<!\w){re.escape(target.tail)}(?!\w)"
    return bool(mention(wish, target.kind, target.part.id) or re.search(word, wish, re.IGNORECASE))


def _words(target: Target) -> str:
    return " ".join(re.split(r"[-_:\s]+", target.tail)).strip()


def _topic(target: Target, *, named: bool = True) -> str:
    """The first words of the description; without its name where that is not to be said."""
    described = "" if target.part.problem else target.part.description or ""
    text = one_line(described)[:_LONGEST]
    topic = text.rpartition(" ")[0] + " ..." if len(text) == _LONGEST and " " in text else text
    if mention(topic, target.kind, target.part.id) or (not named and _names(topic, target)):
        topic = re.sub(re.escape(target.tail), _words(target) if named else "", topic, flags=re.IGNORECASE)
    if mention(topic, target.kind, target.part.id) or not topic.strip():
        topic = _words(target)
    return " ".join(topic.split())
