"""Whatever JSON a file of another tool holds: it is taken over, or refused in words."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from fuzzing import fuzzed
from hypothesis import given
from hypothesis import strategies as st
from roots import plugin

from skillwalker.checks import check_evals
from skillwalker.drafting import write_draft
from skillwalker.errors import ConfigurationError
from skillwalker.expectations.registry import Registry
from skillwalker.importing.converting import convert
from skillwalker.importing.reading import read_source
from skillwalker.targets import choose, find_targets

KEYS = st.sampled_from(
    (
        *("query", "prompt", "should_trigger", "shouldTrigger", "should_not_trigger", "expected_skills"),
        *("skill_name", "evals", "cases", "expectations", "assertions", "expected_output", "expected"),
        *("files", "path", "content", "text", "name", "id", "tags", "category", "skill"),
        *("type", "value", "pattern", "flags", "target", "weight", "must_have", "must_not_contain"),
    )
)
TEXTS = st.one_of(
    st.sampled_from(
        ["tidy", "acme:tidy", "", " ", "true", "../x", "/etc", "a\x00\x1b", "- -", "File: a", "<!-- x"]
    ),
    st.sampled_from(
        ["contains", "regex", "file-exists", "a/b.csv", "(", "a|b", "[[a]", "(?i)a", "Tidy b.csv"]
    ),
    st.text(max_size=8),
)
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-2, 2), TEXTS),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(KEYS, inner, max_size=6)),
    max_leaves=30,
)
ITEM = st.fixed_dictionaries(
    {"prompt": TEXTS, "should_trigger": VALUES},
    optional={"assertions": VALUES, "files": VALUES, "name": TEXTS, "must_have": VALUES, "id": VALUES},
)


@fuzzed(60)
@given(st.one_of(VALUES, st.lists(ITEM, min_size=1, max_size=4)))
def test_it_is_read_or_refused_and_what_is_written_is_valid(value: Any) -> None:
    with tempfile.TemporaryDirectory() as temporary:
        root = Path(temporary)
        plugin(root)
        source = root / "in.json"
        source.write_text(json.dumps(value), "utf-8")
        try:
            imported = read_source(source, "tidy")
        except ConfigurationError:
            return
        targets = find_targets(root)
        converted = convert(imported, choose(targets, "acme:tidy"), targets, "imported", root)
        draft = converted.draft
        told = (*converted.left, *converted.warnings, *converted.notes)
        assert all(isinstance(line, str) for line in told)
        if not draft.tests:
            return
        write_draft(draft, root)
        checked = check_evals([root / "evals" / "imported"], root, Registry.scan())
        assert [str(problem) for problem in checked.problems] == []
        assert all(one.script for one in checked.tests)
