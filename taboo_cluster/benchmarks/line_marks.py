r"""A single line of an answer: what of it is the line that is named, and what only stands around it.

Whether a bullet, a number or a quote belongs to a line is decided by the lines of the document: the first reading of a
raw line that is one of them counts, from as it is to without any mark. Readings that differ from a line of the document
in white space alone come next; a line that is none of the document's loses all its marks.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass

from taboo_cluster.benchmarks.outcome import is_blank
from taboo_cluster.words import without_spaces

MOST_READINGS = 12
"""Ways to read one raw line that are tried; a line with more marks than these is degenerate output."""

_MARK = re.compile(
    r"""(?:
        (?P<bullet>[-*–>]\s+|[•·▪◦‣]\s*)
      | (?P<number>[*_]{0,2}(?:\([0-9]{1,6}\)|\[[0-9]{1,6}\]|[0-9]{1,6}[.):])[*_]{0,2}\s+)
      | (?P<label>[*_`]{0,2}(?:[A-Za-z]+\ )?line\s?\#?[0-9]{1,6}[*_`]{0,2}\s*[:.)–-][*_`]{0,2}\s*)
    )(?=\S)""",
    re.IGNORECASE | re.VERBOSE,
)
_QUOTES = (
    ("```", "```"),
    ("**", "**"),
    ("__", "__"),
    ("~~", "~~"),
    ('"', '"'),
    ("'", "'"),
    ("`", "`"),
    ("*", "*"),
    ("_", "_"),
    ("“", "”"),
    ("„", "“"),
    ("‘", "’"),
    ("«", "»"),
    ("»", "«"),
    ("‹", "›"),
    ("「", "」"),
)

_TOPIC = (
    r"\b(?:lines?|missing|omitted|removed|deleted|absent|added|inserted|extra|differences?|answer|output|result"
    r"|following|as follows)\b"
)
_INTRODUCTION = re.compile(
    rf"[#*_\s]*[A-Za-z](?=[^:]{{0,150}}{_TOPIC})[^:]{{0,150}}:[*_\s]*$"
    rf"|\#{{1,6}}\s(?=.{{0,100}}{_TOPIC}).{{0,100}}$"
    r"|(?:sure|certainly|okay|of course|here (?:is|are)|below (?:is|are))\b[^:]{0,150}\blines?\b[^:]{0,60}$",
    re.IGNORECASE,
)
_INTRODUCED = re.compile(
    rf"[*_\s]*[A-Za-z](?=[^:]{{0,150}}{_TOPIC})[^:]{{0,150}}:[*_\s]*(?P<rest>\S.*)$", re.IGNORECASE
)
_ORNAMENT = re.compile(r"[-*_=~#<>\[\](){},;.\s]*$")
_CHANGED = r"(?=.{0,200}\b(?:missing|omitted|removed|deleted|absent|added|inserted|extra|new|differ\w*|changed)\b)"
_NONE = re.compile(
    rf"""(?:
        none|nothing|nil|null|n/?a|not\ applicable|empty|zero|no\ (?:such\ )?lines?|\[\s*\]|\(\s*\)|\{{\s*\}}
      | {_CHANGED}(?:there\ (?:is|are|was|were)\ )?(?:no|not\ any|zero)\ (?:\w+\ ){{0,3}}lines?\b[^:]{{0,200}}
      | {_CHANGED}(?:there\ (?:is|are|was|were)\ )?(?:none|nothing)\ \w[^:]{{0,200}}
      | (?:both|the\ (?:two|both))\ (?:documents|versions|texts|copies)\b[^:]{{0,80}}
        \b(?:identical|the\ same)\b[^:]{{0,100}}
    )$""",
    re.IGNORECASE | re.VERBOSE,
)


def normalised(line: str) -> str:
    """A line as it is compared: stripped and case-folded; empty for a blank one."""
    return "" if is_blank(line) else line.strip().casefold()


@dataclass(frozen=True)
class Document:
    """What a document's lines tell of an answer's."""

    known: Collection[str]
    spaceless: Collection[str]
    marks: Collection[str]
    """Kinds of marks that its own lines begin with."""

    @classmethod
    def of(cls, known: Collection[str]) -> Document:
        """What the normalised lines of a document (a set) tell."""
        return cls(known, {without_spaces(line) for line in known}, {kind for line in known if (kind := _kind(line))})


@dataclass(frozen=True)
class Entry:
    """A raw line, read."""

    text: str
    known: bool = False
    """A line of the document, white space left aside."""
    marked: bool = False
    """A mark or quotes were taken off."""
    listed: bool = False
    """And these can be none of the document's own: the line stands in a list."""
    nothing: bool = False
    """It says that there are no lines."""

    @property
    def introduces(self) -> bool:
        """It only leads to the lines: `Here are the missing lines:`."""
        return not self.known and bool(_INTRODUCTION.match(self.text))


def entries(lines: Sequence[str], document: Document) -> Iterator[Entry]:
    """Each raw line, read; without blank ones and mere ornament."""
    for line in (line.strip() for line in lines if not is_blank(line)):
        entry = _entry(line, document)
        introduced = None if entry.known or entry.marked else _INTRODUCED.match(line)
        if introduced:
            entry = _entry(introduced["rest"], document)
        if entry.known or entry.nothing or not _ORNAMENT.match(entry.text):
            yield entry


def _entry(line: str, document: Document) -> Entry:
    readings = _readings(line)
    tests: tuple[Callable[[str], bool], ...] = (
        lambda reading: normalised(reading) in document.known,
        lambda reading: without_spaces(normalised(reading)) in document.spaceless,
    )
    for test in tests:
        for reading in readings:
            if test(reading):
                return Entry(reading, known=True, marked=reading is not line, listed=reading is not line)
    bare = min(readings, key=len)
    kind = _kind(line)
    nothing = bool(_NONE.match(bare) or _NONE.match(bare.strip(" .!,;*_()[]{}<>\"'`")))
    listed = kind is not None and kind not in document.marks
    return Entry(bare, marked=bare is not line, listed=listed, nothing=nothing)


def _readings(line: str) -> list[str]:
    """The line as it is, then with ever more marks and quotes taken off."""
    readings = [line]
    for reading in readings:  # grows meanwhile
        for less in (_unmarked(reading), _unquoted(reading)):
            if less is not None and less not in readings and len(readings) < MOST_READINGS:
                readings.append(less)
    return readings


def _unmarked(line: str) -> str | None:
    found = _MARK.match(line)
    return line[found.end() :].strip() if found else None


def _kind(line: str) -> str | None:
    """A bullet's character, number or label; None for a line without a mark."""
    found = _MARK.match(line)
    if found is None:
        return None
    return found[0][0] if found.lastgroup == "bullet" else found.lastgroup


def _unquoted(line: str) -> str | None:
    for body in (line, line[:-1]) if line.endswith((".", ",", ";")) else (line,):
        for opening, closing in _QUOTES:
            inner = body[len(opening) : -len(closing)].strip()
            if inner and body.startswith(opening) and body.endswith(closing) and len(body) > len(opening + closing):
                return inner
    return None
