"""What was read of another tool's files -> the draft of an eval about one skill or agent."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import define, field

from skillwalker.drafting import ANSWER, Draft, one_line, rubric
from skillwalker.expectations.known import CONTRIB, PACKAGE_OF
from skillwalker.expectations.registry import Registry
from skillwalker.importing.checks import OUTCOME
from skillwalker.importing.inputs import Places, Scaffold, fill
from skillwalker.importing.landing import nowhere
from skillwalker.importing.reading import Imported
from skillwalker.importing.values import Case, Query, bare
from skillwalker.targets import Target
from skillwalker.text import count, has_controls, is_blank, listed, safe


@define
class Converted:
    """An eval in the making.

    Attributes:
        left: What was not taken over, a line each.
        warnings: What its author must know before the eval is of use, a line each.
        notes: What was taken over in a way that nobody would guess, a line each.
    """

    draft: Draft
    left: list[str]
    warnings: list[str] = field(factory=list)
    notes: list[str] = field(factory=list)


@define
class _Told:
    """What is told once, of all tests that it is true of.

    Attributes:
        skipped: Tests that are switched off.
        absent: Tests whose prompts name files that are nowhere, with those.
        unrehearsed: Tests that fail when they are rehearsed, with the types of expectations that do.
    """

    skipped: list[str] = field(factory=list)
    absent: list[str] = field(factory=list)
    unrehearsed: dict[str, list[str]] = field(factory=dict)

    def tell(self, done: Converted) -> None:
        if self.absent:
            done.notes.append(
                f"prompts name files, and no input file is called so: {listed(self.absent, 8)}; what should "
                "be there from the start goes into the test's scaffold"
            )
        if self.unrehearsed:
            kinds = dict.fromkeys(kind for unmet in self.unrehearsed.values() for kind in unmet)
            fail = count(len(self.unrehearsed), "test fails when it is", "tests fail when they are")
            done.notes.append(
                f"{fail} rehearsed, for nothing is done there for {listed(kinds)}: "
                f"{listed(self.unrehearsed, 8)}"
            )
        if self.skipped:
            done.warnings.append(
                f"{count(len(self.skipped), 'test is', 'tests are')} switched off, for want of input files: "
                f"{listed(self.skipped, 8)}; put the files into the scaffold that its `skip` in tests.json "
                "names, and remove that line"
            )


def convert(
    imported: Imported, target: Target, targets: Sequence[Target], name: str, root: Path | None = None
) -> Converted:
    """The draft, and what is to be told.

    Args:
        root: Where `evals/` is; files in scaffolds of other evals are found from there.
    """
    draft = Draft(name, target)
    left = [*imported.found.told(), *(f"not read: {why}" for why in imported.refused)]
    done = Converted(draft, left, notes=list(imported.found.noted()))
    _add_queries(done, imported.found.queries)
    places = Places.around(imported.files, target, root)
    told = _Told()
    for number, case in enumerate(imported.found.cases, 1):
        _add_case(done, case, number, places, targets, told)
    told.tell(done)
    draft.rehearse_queries()
    return done


def _add_queries(done: Converted, queries: Sequence[Query]) -> None:
    silent, others = 0, dict[str, int]()
    wanted: dict[bool, list[dict[str, Any]]] = {True: [], False: []}
    said: dict[str, set[bool]] = {}
    draft, skill = done.draft, done.draft.target.tail
    named = any(query.wants(skill) for query in queries)
    for query in queries:
        verdict = query.wants(skill)
        if verdict is None and not named and query.skills and skill not in map(bare, query.acceptable):
            verdict = False  # all of the file is about others
        if verdict is None:
            silent += 1
            continue
        if query.wanted is None and not verdict:
            for other in query.skills:
                others[other] = others.get(other, 0) + 1
        said.setdefault(query.text, set()).add(verdict)
        entry: dict[str, Any] = {"query": query.text, "should_trigger": verdict}
        if query.tags:
            entry["tags"] = list(query.tags)
        wanted[verdict].append(entry)
    draft.add_queries(wanted[True], title="Call", tags=["activation"])
    draft.add_queries(wanted[False], title="Near miss", tags=["activation"])
    if silent:
        done.left.append(
            f"{count(silent, 'query', 'queries')}: the file does not say whether {skill} should be called"
        )
    if others:
        done.left.append(
            f"{count(sum(others.values()), 'query', 'queries')} meant for other skills "
            f"({listed(others, 5)}) became near misses of {skill}"
        )
    if others and not wanted[True]:
        done.warnings.append(
            f"no query of the file is for {skill}: all {len(wanted[False])} are near misses, so nothing "
            "tells whether it is ever called; add queries that should call it"
        )
    for text, verdicts in said.items():
        if len(verdicts) > 1:
            done.warnings.append(
                f"the file says both yes and no of {safe(text, 80)!r}: both were taken over, keep the "
                "right one"
            )


def _add_case(
    done: Converted,
    case: Case,
    number: int,
    places: Places,
    targets: Sequence[Target],
    told: _Told,
) -> None:
    draft, target = done.draft, done.draft.target
    title = case.name if not has_controls(case.name) else ""
    title = one_line(title)[:80] or f"Case {number}"
    who = safe(title)
    expect, called, left = _expectations(case, target, targets)
    done.left += (f"{who}: {why}" for why in left)
    criteria = [one for one in case.criteria if not is_blank(one)]
    idle = not criteria and not any(_is_met_by_work(one) for one in expect)
    if case.expected and (idle or case.lost or left):
        # Or else the test would pass with nothing done.
        criteria.insert(0, f"{OUTCOME}{case.expected}")
    if criteria:
        file = draft.add_file("rubrics", f"{_stem(title)}.md", rubric(title, criteria, case.expected))
        expect.append({"llm-judge": {"rubricFile": file}})
    if not expect:
        done.left.append(f"{who}: nothing of what it checks could be taken over, so it was left out")
        return
    if idle and not criteria:
        done.warnings.append(f"{who} passes with nothing done: add what the answer should be")
    more: dict[str, Any] = {}
    if target.kind == "skill":
        more["skillFile"] = target.part.id
    if case.model:
        more["model"] = case.model
    if case.trials > 1:
        more["trials"] = case.trials
    if case.tags:
        more["tags"] = list(case.tags)
    inputs = Scaffold()
    if case.files:
        taken = any(path.startswith(f"scaffolds/{_stem(title)}/") for path in draft.files)
        folder = f"{_stem(title)}-{number}" if taken else _stem(title)
        inputs = fill(draft, folder, case.files, case.prompt, places)
        done.left += (f"{who}: {why}" for why in (*inputs.missing, *inputs.left))
        done.notes += (f"{who}: {why}" for why in inputs.moved)
        if inputs.given_away:
            given = listed(inputs.given_away, 5)
            done.warnings.append(
                f"{who}: by its name {given} says what is expected; the eval lists it, so it is in "
                f"scaffolds/{folder}/, and the tested model can read it: remove it if it must not"
            )
        if inputs.put:
            more["scaffold"] = folder
        if inputs.missing:  # without what it is about, a trial would cost money and measure nothing
            missing = len(inputs.missing)
            which = "an input file is" if missing == 1 else f"{missing} input files are"
            scaffold = "" if inputs.put else f', write "scaffold": "{folder}"'
            more["skip"] = f"{which} missing: complete scaffolds/{folder}/{scaffold}, and remove this line"
    there = [*inputs.put, *(tuple(one.path.split("/")) for one in case.files)]
    if named := [one for one in nowhere(case.prompt, there) if not (places.own / one).exists()]:
        told.absent.append(f"{title} ({', '.join(named[:5])})")
    name = draft.add_prompt(title, case.prompt, expect, **more)
    unmet = [kind for one in expect for kind in one if kind in PACKAGE_OF]
    if unmet:
        told.unrehearsed[name] = unmet
    if "skip" in more:
        told.skipped.append(name)
    texts = [one["result-contains"] for one in expect if "result-contains" in one]
    called = called or target.kind == "agent"
    answer = "\n".join(texts) or ANSWER
    draft.script[name] = {"main": draft.turns(called=called, prompt=case.prompt, answer=answer)}


def _expectations(
    case: Case, target: Target, targets: Sequence[Target]
) -> tuple[list[Mapping[str, Any]], bool, list[str]]:
    """What a test can expect of it, whether the target is to be called, and what is left, a line each."""
    expect: list[Mapping[str, Any]] = []
    called, left, absent = False, list[str](), dict[str, int]()
    not_here = PACKAGE_OF.keys() - set(Registry.scan().names()) if case.expect else set[str]()
    for entry in case.expect:
        [(kind, value)] = entry.items()
        if kind in not_here:
            absent[kind] = absent.get(kind, 0) + 1
        elif kind in ("skill-call", "agent-call"):
            resolved = _resolved(kind, value, target, targets)
            if resolved is None:
                left.append(f"a call of {safe(str(value), 80)}: that is no one part of the plugin")
                continue
            expect.append({kind: resolved})
            called = called or (
                resolved["expected"] and resolved[kind.removesuffix("-call")] == target.part.id
            )
        elif entry not in expect:
            expect.append(entry)
    if absent:
        left.append(
            f"{count(sum(absent.values()), 'check')} ({listed(absent)}) that {CONTRIB} can make: install it "
            "with pip, and import again"
        )
    return expect, called, left


def _is_met_by_work(entry: Mapping[str, Any]) -> bool:
    """Whether something has to be there for it; what must not be is not there from the start."""
    [(kind, value)] = entry.items()
    return kind != "result-does-not-contain" and not (
        isinstance(value, dict) and value.get("expected") is False
    )


def _resolved(
    kind: str, value: Mapping[str, Any], target: Target, targets: Sequence[Target]
) -> dict[str, Any] | None:
    """A call with its name in full; a pattern for the tool's input counts where it fits one part alone."""
    what = kind.removesuffix("-call")
    own = [one for one in targets if one.kind == what and one.plugin.directory == target.plugin.directory]
    pattern = value[what]
    if not pattern:
        fitting = [target] if target.kind == what else own
    else:
        exact = [one for one in own if pattern in (one.part.id, one.tail)]
        fitting = exact or [one for one in own if _fits(pattern, one)]
    if len(fitting) != 1:
        return None
    return {what: fitting[0].part.id, "expected": value["expected"]}


def _fits(pattern: str, target: Target) -> bool:
    try:
        return len(pattern) < 200 and re.search(re.escape(target.tail), pattern) is not None
    except re.error:
        return False


def _stem(title: str) -> str:
    kept = "".join(char if char.isalnum() else "-" for char in title.lower())
    return "-".join(part for part in kept.split("-") if part)[:40] or "case"
