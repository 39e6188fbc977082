"""Texts that know where they come from: cut and rewritten, with the place of each character in their source kept.

What reads an answer rewrites the completion first (reasoning left out, one spelling for what is written in several
ways); where the answer stands is asked of the completion itself.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, chain, pairwise


@dataclass(frozen=True)
class Traced:
    """A text made of another, its source. As long as `starts` and `ends`."""

    text: str
    starts: Sequence[int]
    """Of each character: where in the source begins what it stands for."""
    ends: Sequence[int]
    """Of each character: where in the source ends what it stands for."""

    @classmethod
    def of(cls, source: str) -> Traced:
        """The source as it is."""
        return cls(source, range(len(source)), range(1, len(source) + 1))

    @property
    def span(self) -> tuple[int, int]:
        """The half-open range of the source that the text stands for. The text must not be empty."""
        return self.starts[0], self.ends[-1]

    def __getitem__(self, part: slice) -> Traced:
        return Traced(self.text[part], self.starts[part], self.ends[part])

    def lstrip(self, chars: str | None = None) -> Traced:
        """As `str.lstrip`."""
        return self[len(self.text) - len(self.text.lstrip(chars)) :]

    def rstrip(self, chars: str | None = None) -> Traced:
        """As `str.rstrip`."""
        return self[: len(self.text.rstrip(chars))]

    def strip(self, chars: str | None = None) -> Traced:
        """As `str.strip`."""
        return self.lstrip(chars).rstrip(chars)

    def lines(self) -> list[Traced]:
        """The lines that are not blank, stripped; they end where those of `str.splitlines` do."""
        places = accumulate(map(len, self.text.splitlines(keepends=True)), initial=0)
        lines = (self[start:end].strip() for start, end in pairwise(places))
        return [line for line in lines if line.text]

    def translate(self, table: dict[int, int]) -> Traced:
        """As `str.translate`, character for character."""
        return replace(self, text=self.text.translate(table))

    def sub(self, pattern: str | re.Pattern[str], new: str | Callable[[re.Match[str]], str] = "") -> Traced:
        """As `re.sub`, `new` as it stands; what replaces a match stands, in every character, for all of the match."""
        matches = re.finditer(pattern, self.text)
        return self._rewritten(
            (match.start(), match.end(), [self._as(match, new if isinstance(new, str) else new(match))])
            for match in matches
        )

    def unwrap(self, pattern: str | re.Pattern[str], around: str = "") -> Traced:
        """Of every match its first group alone, which keeps its place, with `around` on both sides."""
        return self._rewritten(
            (
                match.start(),
                match.end(),
                [self._as(match, around), self[slice(*match.span(1))], self._as(match, around)],
            )
            for match in re.finditer(pattern, self.text)
        )

    def nfkc(self) -> Traced:
        """In Unicode's form NFKC; characters that are composed with one another stand for all of them."""
        if unicodedata.is_normalized("NFKC", self.text):
            return self
        clusters = ((start, end, self.text[start:end]) for start, end in _clusters(self.text))
        return self._rewritten(
            (start, end, [_all_of(self[start:end], normal)])
            for start, end, cluster in clusters
            if (normal := _nfkc(cluster)) != cluster
        )

    def _as(self, match: re.Match[str], new: str) -> Traced:
        return _all_of(self[slice(*match.span())], new)

    def _rewritten(self, changes: Iterable[tuple[int, int, list[Traced]]]) -> Traced:
        """With other texts in the place of some ranges, given in order."""
        parts, done = list[Traced](), 0
        for start, end, made in changes:
            parts += [self[done:start], *made]
            done = end
        if not parts:
            return self
        parts.append(self[done:])
        return Traced(
            "".join(part.text for part in parts),
            list(chain.from_iterable(part.starts for part in parts)),
            list(chain.from_iterable(part.ends for part in parts)),
        )


def _all_of(before: Traced, new: str) -> Traced:
    """A text each of whose characters stands for all of what was there before."""
    start, end = before.span
    return Traced(new, [start] * len(new), [end] * len(new))


def _nfkc(text: str) -> str:
    return unicodedata.normalize("NFKC", text)


def _clusters(text: str) -> Iterator[tuple[int, int]]:
    """Ranges of a text that NFKC rewrites each on its own."""
    start = 0
    for place in range(1, len(text)):
        if not _joins(text[start:place], text[place]):
            yield start, place
            start = place
    yield start, len(text)


def _joins(before: str, char: str) -> bool:
    """True where a character is a mark on what stands before it, or is composed with it."""
    if char.isascii():
        return False
    normal = _nfkc(char)
    return unicodedata.combining(normal[0]) > 0 or _nfkc(before + char) != _nfkc(before) + normal
