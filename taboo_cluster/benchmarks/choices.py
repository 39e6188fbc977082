r"""Choices by letter: showing the options, reading the letter of a completion.

Which letter is the answer, in the completion's answer part (`outcome.answer_part`):

1. a final form; the last of them counts.
   `\boxed{C}`, `<answer>C</answer>`, `#### C`, `Answer: C`, `Antwort: C`, `the correct option is (c)`. A box or tag
   without a letter of the item (`\boxed{7}`, a box never closed) and a phrase that says there is none (`Answer: none of
   the above`) mean no answer: an earlier letter is never taken in its place.
2. else a claim (`option B is correct`, `I would pick B`); the last of them counts.
3. else lines that begin with a letter as a mark (`d`, `(C) Paris`, `b. 4`), where all of them name the same one; else
   the one option that the last line names (`so it must be (B)`).

A word is never taken for a letter: not the article of `A perfect answer cannot be found`, not the first letter of
`Antwort`. Nothing is guessed, and an option given by its text alone is no letter. Several letters (`A, B and C`) are
read as such; where one is asked for they are no answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from taboo_cluster.benchmarks.base import Verdict
from taboo_cluster.benchmarks.outcome import INVISIBLE, answer_part, verdict
from taboo_cluster.benchmarks.traced import Traced

SCORER_VERSION = "choices-2"
"""Changes whenever the same completion could be scored differently."""

LETTERS = "ABCDEFGHIJKLMNOP"
"""Of the options, in the order shown."""

_LANGUAGES = "answers?|antwort|r[ée]ponse|respuesta|risposta|resposta"
_BE = r"(?:(?:is|was|ist|est|es|è|é|(?:would|should|will|must)(?:\s\w+)?\s+be)\b|[:=]|是|为)"
_ANSWER = re.compile(
    rf"""<answer>(?![^<]*</answer>)|\#{{4,}}|\bfinal\ answer\b\W*\n
    | (?: (?<![a-z])(?:{_LANGUAGES})[*_]*(?:\s*\([^()\n]{{0,40}}\))?(?:\s+(?:choice|option|letter|corr?ecta|correcte))?
          (?:\s+(?:to|for)\s+[^.:\n]{{1,80}}?)?(?:,\s*\w+(?:\s\w+)?,)?
        | 答案
        | \b(?:correct|right|best|final)\ (?:option|choice|letter|one)
      )[*_]*\s*{_BE}
    """,
    re.IGNORECASE | re.VERBOSE,
)
_BOX = re.compile(r"\\f?box(?:ed)?\s*\{([^{}]*)(\}?)")
_TAG = re.compile(r"<answer>(.*?)</answer>", re.IGNORECASE | re.DOTALL)
_CHOOSE = re.compile(
    r"\b(?:I|we)(?:['’](?:d|ll)|\s+(?:would|will|must|should))?\s+"
    r"(?:pick|choose|select|guess|opt for|go (?:with|for))\b",
    re.IGNORECASE,
)
_CORRECT = re.compile(
    r"(?<!nor )(?<!not )(?P<option>\b(?i:option|choice|answer|letter)\s+)?"
    r"[(\[*_\"'“]{0,4}(?P<letter>(?<![\w'’])[A-Za-z])[)\]*_\"'”.]{0,4}\s+"
    r"(?:is|must be|would be)\s+(?:(?:the|most|clearly|therefore|thus)\s+)*(?:correct|right|best|answer)\b"
)
_FILLER = re.compile(
    r"(?:[\s*_`\"'“‘$:=~({\[-]|\\[(\[]"
    r"|(?:option|choice|letter|answer|therefore|thus|then|most likely|likely|probably|clearly|simply|definitely|indeed"
    r"|both|either|the)\b)*",
    re.IGNORECASE,
)
_NOT = re.compile(r"not\s+(?:option\s+)?[(\[*]*[a-z](?![a-z])", re.IGNORECASE)
_NO_LETTER = re.compile(
    r"(?:none|neither|nothing|no\s+(?:answer|option|choice|correct|single|one)|unknown|unclear|undefined|uncertain"
    r"|impossible|n/a|cannot|can['’]t|(?:I\s+)?(?:do\s+not|don['’]t)\s+know|not|(?-i:[A-Z])(?=[.)\]*\s]*(?:\n|$)))\b",
    re.IGNORECASE,
)
_MORE = re.compile(r"[)\]*_.]*\s*(?:,\s*(?:and\b|or\b|&)?|and\b|or\b|&|/)\s*(?:option\s+|choice\s+)?[(\[*_]*")
_AFTER_MORE = re.compile(r"\s*(?:$|[.,;:)\]*_/&!?\n]|(?:and|or|are|only|both)\b)")
_AFTER_ARTICLE = re.compile(
    r"\s+(?:because|since|as|is|are|was|and|or|but|so|which|given|due|based|according|only|would|here)\b"
)
_OF_OPTIONS = re.compile(
    r"\b(?:all|none|any|both|neither|either|some|two|more than one) of (?:the|these|those|them)\b"
    r"|^\W*(?:all|none|both|either|neither)\W*$|\ball (?:are|three|four|answers|choices|options)\b"
    r"|\b(?:above|below)\b"
    r"|\b(?-i:[A-D])\)?\s*(?:,|and|or|&|nor)\s*\(?(?-i:[A-D])\b",
    re.IGNORECASE,
)
_OF_TWO = re.compile(r"\b(?:both|either|neither)\b", re.IGNORECASE)
_AFTER_MARK = re.compile(r"\s*[*_\"'”`)\]}$]*(?:\s*$|[.):,;]|\s+[-–—]|\s*[\n=→]|\s+(?:because|since|as|and|or)\b)")


@dataclass(frozen=True)
class Reading:
    """What a completion answers."""

    letters: tuple[str, ...]
    """In the order of the options. Empty: a final form without a letter."""
    form: str
    """boxed, tag, phrase, claim, first_line, line or mention."""
    span: tuple[int, int] | None
    """Where in the text the first of them stands."""

    @property
    def final(self) -> bool:
        """The answer stands in a final form, or alone on the first line."""
        return self.form in ("boxed", "tag", "phrase", "first_line")


def lettered(choices: Sequence[str], labels: Sequence[str] = LETTERS) -> str:
    """The options, one a line: `A. ...`."""
    return "\n".join(f"{letter}. {choice}" for letter, choice in zip(labels, choices, strict=False))


def speaks_of_options(choice: str) -> bool:
    """True for an option that means others: `all of the above`, `both A and B`, `neither`."""
    return _OF_OPTIONS.search(choice) is not None


def name_letters(choices: Sequence[str]) -> bool:
    """True where an option names others, or itself, by letter: `both A and B`, `B, C`, `only a`."""
    names = _naming(len(choices))
    return any(map(names.search, choices))


@cache
def _naming(count: int) -> re.Pattern[str]:
    capital, letter, joint = f"[A-{LETTERS[count - 1]}]", f"(?i:[A-{LETTERS[count - 1]}])", r"\s*(?:,|and|or|&|nor)\s*"
    return re.compile(
        rf"\b{capital}\)?{joint}\(?{capital}\b"
        rf"|\b(?i:both|either|neither|only|options?|choices?|answers?)\s+\(?{letter}\)?"
        rf"(?=\s*(?:$|[,.;&]|(?:and|or|nor)\b))"
        rf"|(?<![\w'’])\(?{letter}\)?{joint}\(?{letter}\)?(?:\s+only)?\W*$"
    )


def shuffled_order(choices: Sequence[str], rng: np.random.Generator) -> list[int]:
    """An order of the options drawn evenly: the index of each as it is now, by new place.

    Options that speak of others (`all of the above`) keep their place at the end. Nothing moves where that would change
    what one means: it names others by letter, does not stand at the end, or speaks of two (`either of the above`) where
    there are more.
    """
    every = list(range(len(choices)))
    free = [index for index in every if not speaks_of_options(choices[index])]
    bound = choices[len(free) :]
    of_two = len(free) != 2 and any(map(_OF_TWO.search, bound))
    if free != every[: len(free)] or of_two or name_letters(choices):
        return every
    return [*map(int, rng.permutation(len(free))), *every[len(free) :]]


def read_letters(text: str, choices: Sequence[str]) -> Reading | None:
    """The letters of a completion by the rules above; None where there are none."""
    part, known = _clean(answer_part(text)), _Letters(choices)
    forms = sorted(_final_forms(part, known), key=lambda found: found[0])
    if forms:
        return forms[-1][1]
    claims = sorted(_claims(part, known), key=lambda found: found[0])
    return claims[-1][1] if claims else _from_lines(part, known)


def score_letter(gold: str, choices: Sequence[str], completion: str, finish_reason: str) -> Verdict:
    """Score a completion against one gold letter; several letters are no answer, and recorded in the details.

    Args:
        gold: the right option's letter.
        choices: the options' texts, in the order shown.
        completion: the whole text generated.
        finish_reason: `stop` or `length`.
    """
    found = read_letters(completion, choices)
    if found is None:
        return verdict(completion, finish_reason, answer=None, final=False, score=0.0)
    answer = found.letters[0] if len(found.letters) == 1 else None
    details = {"form": found.form, **({"letters": list(found.letters)} if len(found.letters) > 1 else {})}
    score = float(answer == gold)
    return verdict(
        completion,
        finish_reason,
        answer=answer,
        final=found.final,
        score=score,
        details=details,
        span=found.span,
    )


_WRAPPED = r"\\(?:text|textbf|textit|mathrm|mathbf|mbox|boldsymbol)\s*\{([^{}]*)\}"


def _clean(text: Traced) -> Traced:
    """One spelling for what is written in several ways: full-width letters and colons, text inside formulas."""
    return text.nfkc().sub(INVISIBLE).unwrap(_WRAPPED)


@dataclass(frozen=True)
class _Named:
    """Letters that stand together at one place."""

    letters: tuple[str, ...]
    """In the order of the options."""
    span: tuple[int, int]
    """Of the first that stands there."""


class _Letters:
    """The letters of one item's options."""

    def __init__(self, choices: Sequence[str]) -> None:
        self._choices = [_clean(Traced.of(choice)).text.casefold() for choice in choices]
        names = LETTERS[: len(choices)]
        self._one = re.compile(rf"(?<![A-Za-z0-9])[{names}{names.lower()}](?![\w'’+#]|-\w)")

    def at(self, part: Traced, start: int = 0, *, mark: bool = False) -> _Named | None:
        """Letters that stand at a place, after filler; None for an article. `mark`: only as a mark, `B.`, `(B)`."""
        text = part.text
        found = self._one.match(text, _skip(text, start))
        if found is None or not (self._is_mark(text, found) if mark else self._is_letter(text, found)):
            return None
        span, letters = part[slice(*found.span())].span, {found[0].upper()}
        while more := _MORE.match(text, found.end()):
            following = self._one.match(text, more.end())
            if following is None or not _AFTER_MORE.match(text, following.end()):
                break
            letters.add(following[0].upper())
            found = following
        return _Named(tuple(sorted(letters)), span)

    def inside(self, part: Traced) -> Sequence[_Named]:
        """Letters that a text names with brackets or the word option, each where it first does."""
        found: dict[str, _Named] = {}
        for named in re.finditer(r"(?:\((?=[A-Za-z]\))|\b[Oo]ption\s+(?=[A-Za-z]\b))(?P<letter>.)", part.text):
            if self._one.fullmatch(named["letter"]):
                letter = named["letter"].upper()
                found.setdefault(letter, _Named((letter,), part[slice(*named.span("letter"))].span))
        return list(found.values())

    def _is_letter(self, text: str, found: re.Match[str]) -> bool:
        """Not an article, pronoun or other word: what follows decides, the option's own text included."""
        rest = text[found.end() :]
        if not re.match(r" +\w", rest) or found[0] in set(LETTERS) - set("AI"):
            return True
        own = self._choices[LETTERS.index(found[0].upper())]
        return bool(_AFTER_ARTICLE.match(rest)) or rest.lstrip().casefold().startswith(own)

    def _is_mark(self, text: str, found: re.Match[str]) -> bool:
        return bool(_AFTER_MARK.match(text, found.end()))


def _skip(text: str, start: int) -> int:
    filler = _FILLER.match(text, start)
    return filler.end() if filler else start


def _final_forms(part: Traced, known: _Letters) -> Iterator[tuple[int, Reading]]:
    text = part.text
    for box in _BOX.finditer(text):
        if box[1].strip():
            yield box.start(), _reading(known.at(part[slice(*box.span(1))]) if box[2] else None, "boxed")
    for tag in _TAG.finditer(text):
        if tag[1].strip() and not _BOX.search(tag[1]):
            yield tag.start(), _reading(known.at(part[slice(*tag.span(1))]), "tag")
    for mark in _ANSWER.finditer(text):
        if named := known.at(part, mark.end()):
            yield mark.start(), _reading(named, "phrase")
            continue
        place = _skip(text, mark.end())
        if _NO_LETTER.match(text, place) and not _NOT.match(text, place):
            yield mark.start(), _reading(None, "phrase")


def _claims(part: Traced, known: _Letters) -> Iterator[tuple[int, Reading]]:
    for mark in _CHOOSE.finditer(part.text):
        if named := known.at(part, mark.end()):
            yield mark.start(), _reading(named, "claim")
    for claim in _CORRECT.finditer(part.text):
        letter = part[slice(*claim.span("letter"))]
        if (claim["option"] or letter.text.isupper()) and (named := known.at(letter)):
            yield claim.start(), _reading(named, "claim")


def _from_lines(part: Traced, known: _Letters) -> Reading | None:
    lines = part.lines()
    marked = [named for line in lines if (named := known.at(line, mark=True))]
    if len({named.letters for named in marked}) == 1:
        first = known.at(lines[0]) and not re.search(r"\w\W*\w", lines[0].text)
        return _reading(marked[0], "first_line" if first else "line")
    inside = known.inside(lines[-1]) if lines and not marked else ()
    return _reading(inside[0], "mention") if len(inside) == 1 else None


def _reading(named: _Named | None, form: str) -> Reading:
    return Reading(named.letters, form, named.span) if named else Reading((), form, None)
