"""What no perturbation of words may touch: numbers, units, formulas, code, addresses, placeholders ... (REPORTS I1-I8).

A text is read in chunks, runs of characters without white space. A chunk is free where it is plain prose: one word,
or words joined by hyphens or dashes, with quotation marks, brackets and punctuation around it. Any other chunk is
protected whole, with all that is attached to it: what holds a digit or another sign (`$7.50,` `192.168.1.1` `x^2` `H2O`
`km/h` `snake_case` `a@b.org` `[id]`), words in capitals (`NOT`, `DNA`, an option letter), words of mixed case
(`camelCase`), single letters but `a`. Of a free chunk, the word itself is protected where a fact hangs on it
(`lists.fact_words`). White space between two protected chunks is protected too: `5 km`, `x = 3`, `1 000`.

Protected are also code between backticks, lines of code, LaTeX and text in brackets or braces. Of Python source all is
protected but the prose of its docstrings, less the names of functions and arguments, quoted strings and examples.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator

import regex

from taboo_cluster.perturbations.lists.fact_words import FACT_WORDS, UNIT_SIGNS
from taboo_cluster.perturbations.python_source import python_source

_CHUNK = regex.compile(r"\P{White_Space}+")
_PROSE = regex.compile(
    r"""["'“”‘’«‹(¿¡]*"""
    r"""(?P<core>[\p{L}\p{M}]+(?:(?:['’]|[-‐‑–—]{1,2})[\p{L}\p{M}]+)*)"""
    r"""['’]?[)"'”’»›.,;:!?…]*"""
)
_CAPITALS = regex.compile(r"\p{Lu}\p{M}*\p{Lu}|^\p{Lu}\p{M}*(?:['’]s)?$")
_MIXED = regex.compile(r"\p{Ll}\p{M}*\p{Lu}")
_PARTS = regex.compile(r"[-‐‑–—]+")
_DENIED = regex.compile(r"n['’]t$")
_RELATION = regex.compile(r"(?:[=+*/^<>≤≥≠≈≡×÷·−±∪∩∈∉⊂⊆⊃∧∨→⇒↔⇔←~%]|==|<=|>=|!=|->|=>|:=|\*\*|//){1,2}")
_MINUS = regex.compile(r"[-–]")

_REGIONS = regex.compile(
    r"(?=[`$\\\[{<])(?:"  # what any of them begins with: the others are passed over quickly
    r"```.*?(?:```|\Z)|`[^`\n]+`"
    r"|\$\$.+?\$\$|\\\(.+?\\\)|\\\[.+?\\\]|\\begin\{(\w+\*?)\}.*?\\end\{\1\}"
    r"|(?<![\\$\w])\$(?=\S)(?:[^$\n\\]|\\.)+?(?<=\S)\$(?![\d\w])"  # $...$, but not $5 and $6
    r"|\\[A-Za-z]+(?:\[[^\]\n]*\])?(?:\{(?:[^{}]|\{[^{}]*\})*\})+"
    r"|\[[^\[\]\n]{1,80}\]|\{[^{}\n]{1,80}\}|<[A-Za-z/!][^<>\n]{0,80}>)",
    regex.DOTALL,
)
_CODE_LINE = regex.compile(
    r"^(?:[^\n]*(?:\{|\);|=[^\n]*;)|[ \t]*\}[;, \t]*"
    r"|[ \t]*[\w.\[\]]+[ \t]*(?:=|←|\+=|:=)[ \t](?:(?![.?!]\s)[^\n])*"
    r"|[ \t]*(?:for|while|if|elif|def|class)\b[^\n]*[()=<>\[\]][^\n]*:)[ \t]*$",
    regex.MULTILINE,
)
_QUOTED = regex.compile(r"""(?<!\w)(?:'[^'\n]*'|"[^"\n]*")(?!\w)""")

_FREE, _UNIT, _CORE, _WHOLE, _RELATES, _MINUS_SIGN = range(6)
"""What a chunk is; a unit is one (`km`) where a chunk that ends in a digit stands before it, and free elsewhere."""


class Protection:
    """A text with the places that must stay as they are.

    Args:
        text: the text.
        words: further words to protect, separated by white space, each as it stands in the text.
    """

    def __init__(self, text: str, words: str | None = None) -> None:
        self.text = text
        self.chunks = [chunk.span() for chunk in _CHUNK.finditer(text)]
        self._mask = bytearray(len(text))
        source = python_source(text)
        if source is not None:
            self._protect(0, len(text))
            for start, end in source.prose():
                self._mask[start:end] = bytes(end - start)
                for quoted in _QUOTED.finditer(text, start, end):
                    self._protect(*quoted.span())
        for start, end in regions(text):
            self._protect(start, end)
        for word in (words or "").split():
            for found in _alone(word).finditer(text):
                self._protect(*found.span())
        self._protect_chunks(source.names if source else frozenset())

    def free(self, start: int, end: int) -> bool:
        """Whether nothing between two places is protected."""
        return self._mask.find(1, start, end) < 0

    def _protect(self, start: int, end: int) -> None:
        self._mask[start:end] = b"\x01" * (end - start)

    def _protect_chunks(self, names: frozenset[str]) -> None:
        text, mask = self.text, self._mask
        for n, (start, end) in enumerate(self.chunks):
            kind, first, last = _kind(text[start:end])
            if kind == _CORE or (kind == _UNIT and self._behind_digit(n)):
                self._protect(start + first, start + last)
            elif kind >= _WHOLE:
                self._protect(start, end)
                if kind == _RELATES or (kind == _MINUS_SIGN and self._between_letters(n)):
                    for beside in self.chunks[max(n - 1, 0) : n + 2]:
                        self._protect(*beside)
            elif names and text[start + first : start + last] in names:
                self._protect(start + first, start + last)
        held = [mask.find(1, start, end) >= 0 for start, end in self.chunks]
        for n in range(1, len(held)):
            if held[n - 1] and held[n]:
                self._protect(self.chunks[n - 1][1], self.chunks[n][0])

    def _behind_digit(self, n: int) -> bool:
        return n > 0 and self.text[self.chunks[n - 1][1] - 1].isdigit()

    def _between_letters(self, n: int) -> bool:
        beside = self.chunks[max(n - 1, 0) : n] + self.chunks[n + 1 : n + 2]
        return any(end - start == 1 for start, end in beside)


def regions(text: str) -> Iterator[tuple[int, int]]:
    """Spans of code between backticks, lines of code, LaTeX and text in brackets or braces."""
    if any(sign in text for sign in "`$\\[{<"):
        for region in _REGIONS.finditer(text):
            yield region.span()
    if any(sign in text for sign in "=←{};:"):
        for line in _CODE_LINE.finditer(text):
            yield line.span()


@functools.lru_cache(maxsize=1 << 16)
def _kind(chunk: str) -> tuple[int, int, int]:
    """What a chunk is, and where its word stands in it."""
    prose = _PROSE.fullmatch(chunk)
    if prose is None:
        if _RELATION.fullmatch(chunk):
            return _RELATES, 0, 0
        return _MINUS_SIGN if _MINUS.fullmatch(chunk) else _WHOLE, 0, 0
    core = prose["core"]
    start, end = prose.span("core")
    if _CAPITALS.search(core) or _MIXED.search(core) or (len(core) == 1 and core.islower() and core != "a"):
        return _WHOLE, start, end
    parts = _PARTS.split(core.lower())
    if _DENIED.search(parts[-1]) or not FACT_WORDS.isdisjoint(parts):
        return _CORE, start, end
    return _UNIT if core in UNIT_SIGNS else _FREE, start, end


@functools.lru_cache(maxsize=256)
def _alone(word: str) -> regex.Pattern[str]:
    """A word where it is no part of a longer one."""
    before = r"(?<![\p{L}\p{N}])" if word[0].isalnum() else ""
    after = r"(?![\p{L}\p{N}])" if word[-1].isalnum() else ""
    return regex.compile(before + regex.escape(word) + after)
