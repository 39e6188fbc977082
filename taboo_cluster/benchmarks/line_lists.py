r"""Lists of lines: reading the lines that a free-form answer names, and scoring them (METHODS section 3).

Lines are compared case-insensitively and stripped, blank ones ignored, as multisets.

What of a completion is read, without its reasoning and up to where the model invents a next document:

1. the last `<lines>` block, closed before open; in it or without one
2. the last code fence that holds something
3. else all of the text. Introductions (`Here are the missing lines:`) do not count, and where the lines stand in a
   list (bullets, numbers, quotes), neither does what stands around its entries.

What of a raw line is named, and what is a mark of the list, is for `line_marks` to say.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from taboo_cluster.benchmarks.line_marks import Document, Entry, entries, normalised
from taboo_cluster.benchmarks.outcome import is_blank, is_refusal, without_reasoning
from taboo_cluster.words import without_spaces

SCORER_VERSION = "lines-1"
"""Changes whenever the same completion could be read or scored differently."""

_BLOCK_START = re.compile(r"<lines>", re.IGNORECASE)
_BLOCK_END = re.compile(r"</lines>", re.IGNORECASE)
_FENCE = re.compile(r"[ \t]*(?P<fence>`{3,}|~{3,})[^`]*$")


def read_lines(
    completion: str, known: Collection[str], cut: bool, headings: Sequence[str] = ()
) -> tuple[str, ...] | None:
    """The lines that an answer names, in its order and spelling.

    Args:
        completion: the whole text generated.
        known: normalised lines of either version of the document (a set).
        cut: the text was stopped by length, so that its last line is unfinished and does not count (unless the block
            or fence that is read was closed).
        headings: what the prompt's own headings begin with. A line that does so ends the answer: the model has begun
            another document.

    Returns:
        The lines; empty where the answer says that there are none. None where nothing can be read: a blank text, a
        refusal, nothing but an introduction, or no finished line.
    """
    answer = without_reasoning(completion)
    end = _next_document(answer, known, headings)
    answer, cut = (answer, cut) if end is None else (answer[:end], False)
    if is_blank(answer):
        return None
    part = _part(answer, cut)
    read = list(entries(part.lines, Document.of(known)))
    if not part.delimited and is_refusal(answer) and not any(entry.known for entry in read):
        return None
    named = [entry for entry in read if not entry.nothing]
    if not part.delimited:
        named = [entry for entry in named if not entry.introduces]
        if part.empty_fence or _in_a_list(named):
            named = [entry for entry in named if entry.known or entry.marked]
    if named:
        return tuple(entry.text for entry in named)
    nothing = part.empty_fence or any(entry.nothing for entry in read) or (part.delimited and not part.cut)
    return () if nothing else None


def _in_a_list(named: Sequence[Entry]) -> bool:
    """Most of what is surely meant as a line is marked as an entry of a list."""
    listed = sum(entry.listed for entry in named)
    return listed > 0 and 2 * listed >= sum(entry.known or entry.listed for entry in named)


# --- the part that is read ---


@dataclass(frozen=True)
class _Part:
    """The part of an answer in which lines stand."""

    lines: Sequence[str]
    delimited: bool
    """By a block or a fence: nothing but lines stands in it."""
    cut: bool
    """It was still going on when the text was stopped; its unfinished line is left out."""
    empty_fence: bool = False
    """There was a fence, but nothing in it."""


def _next_document(text: str, known: Collection[str], headings: Sequence[str]) -> int | None:
    """Where a line begins with a heading, though something stands before it; None where no line does."""
    if not headings:
        return None
    heading = re.compile(rf"^[ \t#*_]*(?:{'|'.join(map(re.escape, headings))}).*", re.IGNORECASE | re.MULTILINE)
    for found in heading.finditer(text):
        if normalised(found[0]) not in known and not is_blank(text[: found.start()]):
            return found.start()
    return None


def _part(text: str, cut: bool) -> _Part:
    block, text, cut = _block(text, cut)
    fences = list(_fences(text))
    for content, closed in reversed(fences):
        if any(not is_blank(line) for line in content):
            unfinished = cut and not closed
            return _Part(content[:-1] if unfinished else content, True, unfinished)
    lines = text.split("\n")
    lines = lines[:-1] if cut else lines
    if fences:
        lines = [line for line in lines if not _FENCE.match(line)]
    return _Part(lines, block, cut, empty_fence=any(closed for _, closed in fences))


def _block(text: str, cut: bool) -> tuple[bool, str, bool]:
    """(there is one, its content, whether it was cut); without a block the text as it is."""
    starts = [found.end() for found in _BLOCK_START.finditer(text)]
    ends = [found.start() for found in _BLOCK_END.finditer(text)]
    if starts and ends and starts[0] <= ends[-1]:
        return True, text[max(start for start in starts if start <= ends[-1]) : ends[-1]], False
    if starts:
        return True, text[starts[-1] :], cut
    return False, text, cut


def _fences(text: str) -> Iterator[tuple[list[str], bool]]:
    """Lines of each code fence, and whether it is closed."""
    fence = ""
    content: list[str] = []
    for line in text.split("\n"):
        if not fence:
            found = _FENCE.match(line)
            fence, content = (found["fence"], []) if found else ("", [])
        elif line.strip().startswith(fence) and not line.strip().strip(fence[0]):
            yield content, True
            fence = ""
        else:
            content.append(line)
    if fence:
        yield content, False


# --- scoring ---


@dataclass(frozen=True)
class LineScore:
    """What an answer found of a document's lines. TP = hits, FP = named - hits, FN = targets - hits."""

    targets: int
    named: int
    hits: int
    hits_nospace: int
    """Hits with all white space (Unicode's) removed on both sides."""
    hits_absencebench: int
    """Targets whose text stands anywhere in the response: AbsenceBench's rule, for comparison only."""
    named_absencebench: int
    """These, and the lines that were not targets whose text stands in the response: its false positives."""
    per_line: tuple[Mapping[str, Any], ...]
    """For the record's details: each distinct target, then each distinct line named that is none, with how often it is
    a target (`gold`), how often it was `named`, and `hits`."""

    @property
    def numbers(self) -> dict[str, int]:
        """What the record's column `lines` holds beside total and kept."""
        names = ("targets", "named", "hits", "hits_nospace", "hits_absencebench", "named_absencebench")
        return {name: getattr(self, name) for name in names}

    @property
    def f1(self) -> float:
        """F1 of the document; 1 where there was nothing to name and nothing was named."""
        return self._f1(self.hits)

    @property
    def f1_nospace(self) -> float:
        """The same with all white space removed."""
        return self._f1(self.hits_nospace)

    def _f1(self, hits: int) -> float:
        sides = self.targets + self.named
        return 2 * hits / sides if sides else 1.0


def score_lines(named: Sequence[str], targets: Sequence[str], present: Sequence[str], response: str) -> LineScore:
    """Score the lines named against those to be named.

    Args:
        named: as read from the answer.
        targets: the gold lines.
        present: the document's other lines, which no answer should name.
        response: the text in which AbsenceBench's rule (Fu et al. 2025) looks for lines: the completion without its
            reasoning. Each line of `targets` and `present` is looked up by itself, as a substring.
    """
    gold, found = _multiset(targets), _multiset(named)
    spelling = {normalised(line): line.strip() for line in [*reversed(named), *reversed(targets)]}
    text = response.casefold()
    hits_absencebench = _occurring(targets, text)
    return LineScore(
        targets=gold.total(),
        named=found.total(),
        hits=(gold & found).total(),
        hits_nospace=(_spaceless(gold) & _spaceless(found)).total(),
        hits_absencebench=hits_absencebench,
        named_absencebench=hits_absencebench + _occurring(present, text),
        per_line=tuple(
            {"line": spelling[line], "gold": gold[line], "named": found[line], "hits": min(gold[line], found[line])}
            for line in dict.fromkeys([*gold, *found])
        ),
    )


def _multiset(lines: Sequence[str]) -> Counter[str]:
    return Counter(line for line in map(normalised, lines) if line)


def _spaceless(lines: Counter[str]) -> Counter[str]:
    merged: Counter[str] = Counter()
    for line, count in lines.items():
        merged[without_spaces(line)] += count
    return merged


def _occurring(lines: Sequence[str], text: str) -> int:
    return sum(line in text for line in map(normalised, lines) if line)
