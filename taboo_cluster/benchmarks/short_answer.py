r"""Short answers in words: finding one in a completion, and the form in which two are compared.

Which words are the answer, in the completion's answer part (`outcome.answer_part`):

1. what follows the last of `Answer:`, `answer is`, `<answer>`, `####`, or stands in the last `\boxed{}` or tag: to the
   end of the line. This is a final form.
2. else the first or the last line, as the benchmark says; a first line of many words with more lines after it is
   prose and no answer.

An answer is compared as a whole, never searched for a match: `not Mark Twain` is not `Mark Twain`. What may be left
out of it is what `readings` leaves out.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Literal

from taboo_cluster.benchmarks.outcome import INVISIBLE, answer_part, is_refusal
from taboo_cluster.benchmarks.traced import Traced

PROSE = 12
"""Words of a first line that make it prose where other lines follow."""

MOST_TAILS = 8
"""Most places of a sentence where its end is read as the answer; a text with more of them is degenerate."""

_MARK = re.compile(
    r"<answer>|#{4,}|\banswer\b[*_]*(?:\s*\([^()\n]{0,40}\))?(?:\s+(?:to|for)\s+[^.:\n]{1,80}?)?(?:,\s*\w+,)?[*_]*"
    r"\s*(?:(?:is|was|(?:would|should|will|must)(?:\s\w+)?\s+be)\b\s*:?|[:=])",
    re.IGNORECASE,
)
_BOX = re.compile(r"\\f?box(?:ed)?\s*\{((?:[^{}]|\{[^{}]*\})*)\}")
_TAG = re.compile(r"<answer>(.*?)</answer>", re.IGNORECASE | re.DOTALL)
_TAG_END, _LINE_END = re.compile("</answer>"), re.compile("\n")
_WRAPPED = re.compile(r"\\(?:text|textbf|textit|mathrm|mathbf|mbox)\s*\{([^{}]*)\}")
_EDGES = "*_`\"'“”‘’$ \t"
_SENTENCE_END = re.compile(
    r"(?:(?<=\d)|(?<=\w\w\w)(?<!Mrs)(?<!Gen)(?<!Col)(?<!Rev)(?<!Sgt)(?<!Prof)(?<!Capt)|(?<=[\"')”’]))"
    r"[.!][\"')”’]?\s+(?=[A-Z(\"“])"
)
_REASON = re.compile(r",?\s+because\b", re.IGNORECASE)
_REMARK = re.compile(r"\s*\([^()]*\)")
_COPULA = re.compile(r"\b(?:is|was|are|were)\b(?:\s+(?:called|named|known as))?\s+", re.IGNORECASE)
NEGATION = re.compile(
    r"\b(?:not|no|never|nor|neither|none|nobody|cannot|without|except|instead|rather)\b|n['’]t\b", re.IGNORECASE
)
"""Words that make it unsafe to look for an answer inside a sentence."""

_UNKNOWN = re.compile(
    r"(?:i )?(?:do not|dont|don t|am not|m not|cannot|can t) (?:know|sure|certain|say|tell|answer|determine)\b.*"
    r"|(?:answer )?(?:is )?(?:unknown|unclear|not known|no answer|no idea|none)"
)

_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_THOUSANDS = re.compile(r"(?<![\d.,])\d{1,3}(?:,\d{3})+(?![\d,])")
_NUMBER_MARKS = re.compile(r"(?:(?<=\d)|(?<![\w.)]))\.(?=\d)|(?<![\w.)])-(?=\.?\d)")


@dataclass(frozen=True)
class Found:
    """An answer found in a text."""

    words: Traced
    """One line, as written, without quotes or emphasis around it."""
    form: str
    """marked, first_line or last_line."""
    complete: bool
    """Stands in a final form; or in a first line that others follow, so that it was not cut."""

    @property
    def text(self) -> str:
        """The words as they are compared."""
        return self.words.text


def find_answer(completion: str, unmarked: Literal["first_line", "last_line"]) -> Found | None:
    """The answer of a completion by the rules above; None where there is none, and for a refusal."""
    part = answer_part(completion).sub(INVISIBLE).unwrap(_WRAPPED)
    marked = sorted(_marked(part), key=lambda found: found[0])
    if marked:
        return _found(marked[-1][1], "marked", complete=True)
    lines = part.lines()
    if not lines:
        return None
    if unmarked == "last_line":
        return _found(lines[-1], unmarked, complete=False)
    more = len(lines) > 1
    if more and len(lines[0].text.split()) > PROSE:
        return None
    return _found(lines[0], unmarked, complete=more)


def readings(answer: Traced) -> list[Traced]:
    """What an answer may be read as, first as it stands, then without one or more of these:

    what follows its first sentence; a reason (`because ...`); remarks in parentheses; a sentence's words up to an `is`,
    `was` ..., unless a negation is among them.
    """
    sentence = _before(_before(answer, _SENTENCE_END), _REASON)
    found = [answer, sentence, sentence.sub(_REMARK)]
    for whole in list(found):
        ends = [copula.end() for copula in _COPULA.finditer(whole.text)][-MOST_TAILS:]
        found += [whole[end:] for end in ends if not NEGATION.search(whole.text[:end])]
    texts = [reading.text for reading in found]
    return [reading for place, reading in enumerate(found) if reading.text not in texts[:place]]


def place_of(reading: Traced) -> tuple[int, int]:
    """Where in the completion the words of a reading stand: without quotes before them and punctuation after them.

    The reading must hold something that `normalise` leaves.
    """
    words = reading.lstrip().lstrip(_EDGES)
    while not normalise(words.text[-1]):
        words = words[:-1]
    return words.span


def is_no_answer(answer: str) -> bool:
    """True for words that say that there is no answer (`I don't know`), for a refusal, and for punctuation alone."""
    plain = normalise(answer)
    return not plain or bool(_UNKNOWN.fullmatch(plain)) or is_refusal(answer)


def normalise(text: str) -> str:
    """The form in which answers are compared: TriviaQA's normalisation, with numbers kept whole.

    As in TriviaQA (Joshi et al. 2017): lower case, no articles, punctuation as spaces, runs of white space as one
    space. Beyond it: Unicode NFKC and every script's punctuation; a number keeps its sign and decimal point and loses
    the commas of its thousands; what would be left empty (`The The`) keeps its articles.
    """
    text = INVISIBLE.sub("", unicodedata.normalize("NFKC", text)).lower().replace("\u2212", "-")
    text = _THOUSANDS.sub(lambda match: match[0].replace(",", ""), text)
    kept = {match.start() for match in _NUMBER_MARKS.finditer(text)}
    text = "".join(" " if _is_mark(char) and place not in kept else char for place, char in enumerate(text))
    without = " ".join(_ARTICLES.sub(" ", text).split())
    return without or " ".join(text.split())


@cache
def _is_mark(char: str) -> bool:
    """Punctuation, currency, mathematical and modifying signs; not pictures, degrees and the like."""
    return unicodedata.category(char) in ("Pc", "Pd", "Pe", "Pf", "Pi", "Po", "Ps", "Sc", "Sk", "Sm")


def _before(text: Traced, end: re.Pattern[str]) -> Traced:
    """The text up to the first match, all of it where there is none."""
    found = end.search(text.text)
    return text[: found.start()] if found else text


def _marked(part: Traced) -> Iterator[tuple[int, Traced]]:
    """(position, words) of each final form; a mark with nothing after it only talks about the format."""
    text = part.text
    for box in _BOX.finditer(text):
        yield box.start(), part[slice(*box.span(1))]
    for tag in _TAG.finditer(text):
        if not _BOX.search(tag[1]):
            yield tag.start(), _before(part[slice(*tag.span(1))].strip(), _LINE_END)
    for mark in _MARK.finditer(text):
        line = _before(_before(part[mark.end() :].lstrip(), _LINE_END), _TAG_END)
        if line.text.strip(_EDGES) and not _BOX.search(line.text) and not _MARK.match(line.text):
            yield mark.start(), line


def _found(line: Traced, form: str, *, complete: bool) -> Found | None:
    words = line.strip().strip(_EDGES)
    return Found(words, form, complete) if words.text and not _MARK.fullmatch(words.text) else None
