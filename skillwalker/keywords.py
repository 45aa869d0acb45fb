"""The expression of `-k`, in pytest's grammar: words with `and`, `or`, `not` and parentheses.

    expression: and_test ("or" and_test)*
    and_test:   not_test ("and" not_test)*
    not_test:   "not" not_test | "(" expression ")" | word

A word is found anywhere in a name or a tag; case does not count. Beside pytest's words, one in quotes may
hold anything, since names of tests have blanks.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from attrs import field, frozen

from skillwalker.errors import ConfigurationError
from skillwalker.text import safe

_BLANK = re.compile(r"\s*")
_TOKEN = re.compile(r"[()]|\"[^\"]*\"|'[^']*'|[\w:+\-.\[\]\\/]+")

_EXAMPLE = """write such as -k "csv and not 'two words'\""""

_Match = Callable[[str], bool]


@frozen
class Keywords:
    """A parsed expression.

    Attributes:
        words: All its words, for telling what comes near where it matches nothing.
    """

    text: str
    words: tuple[str, ...]
    _match: _Match = field(repr=False)

    @classmethod
    def parse(cls, text: str) -> Keywords:
        """An empty expression selects everything, as it does in pytest.

        Raises:
            ConfigurationError: `text` is no such expression; names the column.
        """
        parser = _Parser(text)
        try:
            match = parser.whole()
        except RecursionError:
            raise ConfigurationError([f"-k {safe(text, 80)}: nested too deeply"]) from None
        return cls(text, tuple(parser.words), match)

    def matches(self, name: str) -> bool:
        """Whether a test of this name is selected."""
        return self._match(name.casefold())


def findable(name: str, tags: Iterable[str]) -> str:
    """What a word may stand in: no word goes over from the name into a tag."""
    return "\n".join((name, *tags))


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.words: list[str] = []
        self.end = 0
        self._advance()

    def whole(self) -> _Match:
        if not self.token:
            return lambda name: True
        match = self._either()
        if self.token:
            raise self._fault("expected 'and' or 'or'", self._in_quotes())
        return match

    def _either(self) -> _Match:
        alternatives = [self._all()]
        while self._accept("or"):
            alternatives.append(self._all())
        return lambda name: any(match(name) for match in alternatives)

    def _all(self) -> _Match:
        conditions = [self._single()]
        while self._accept("and"):
            conditions.append(self._single())
        return lambda name: all(match(name) for match in conditions)

    def _single(self) -> _Match:
        if self._accept("not"):
            negated = self._single()
            return lambda name: not negated(name)
        if self._accept("("):
            match = self._either()
            if not self._accept(")"):
                raise self._fault("expected ')'")
            return match
        if self.token in ("", ")", "and", "or"):
            raise self._fault("expected a word")
        word = self.token[1:-1] if self.token[0] in "\"'" else self.token
        self.words.append(word)
        self._advance()
        folded = word.casefold()
        return lambda name: folded in name

    def _accept(self, token: str) -> bool:
        if self.token != token:
            return False
        self._advance()
        return True

    def _advance(self) -> None:
        blank = _BLANK.match(self.text, self.end)
        self.start = blank.end() if blank else self.end
        match = _TOKEN.match(self.text, self.start)
        self.token = match[0] if match else ""
        self.end = self.start + len(self.token)
        if not match and self.start < len(self.text):
            raise self._fault("expected a word in quotes")

    def _in_quotes(self) -> str:
        """What to write where words alone are meant to be found as they stand."""
        if re.search(r"[()'\"]", self.text) or {"and", "or", "not"} & set(self.text.split()):
            return ""
        return f"""write -k "'{safe(" ".join(self.text.split()), 80)}'" to find these words as they stand"""

    def _fault(self, message: str, advice: str = "") -> ConfigurationError:
        found = safe(self.token or self.text[self.start : self.start + 1], 40)
        found = (f'"{found}"' if "'" in found else f"'{found}'") if found else "the end"
        where = f"{message}, found {found} (column {self.start + 1})"
        return ConfigurationError([f"-k {safe(self.text, 80)}: {where}; {advice or _EXAMPLE}"])
