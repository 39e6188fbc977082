r"""Numeric answers: reading the final number of a completion and comparing it by exact value.

Everything is compared as a fraction: 29 = 29.0 = $29.00 = 58/2, never as strings or floats.

Which number is the answer, in the completion's answer part (`outcome.answer_part`):

1. a final form; the last of them counts.
   `#### n`, `\boxed{n}`, `<answer>n</answer>`; a box or tag that does not hold one number (`\boxed{1, 2}`, a box never
   closed) means no answer: an earlier number is never taken in its place.
   `answer is n`, `Answer: n`: the number directly after, or the result of arithmetic (`9 * 2 = n`) with no number after
   it. `Answer: unknown` means no answer.
2. else the last number of the text; an ordinal (`the 3rd day`) only where there is no other.

Only a final form counts in a text stopped by length. A bare number at the very end of such a text
cannot be told from one cut in two; it counts as it stands, and `truncated_but_parsed` in the details marks it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from taboo_cluster.benchmarks.base import Verdict
from taboo_cluster.benchmarks.outcome import INVISIBLE, answer_part, verdict
from taboo_cluster.benchmarks.traced import Traced
from taboo_cluster.errors import TrialError

SCORER_VERSION = "numeric-2"
"""Changes whenever the same completion could be scored differently."""

MAX_DIGITS = 100
"""A number with more digits than this (written out, where it is a power) is degenerate output and not read."""

_SCALES = {"hundred": 10**2, "thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}

_PLAIN = r"""(?:
    [1-9]\d{0,2}(?:,\d{3})+(?!,?\d)                                    # 1,234,567
  | [1-9]\d?(?:,\d\d)+,\d{3}(?!,?\d)                                   # 12,34,567 (Indian)
  | [1-9]\d{0,2}(?:\ \d{3}){0,4}\ 0\d\d(?:\ \d{3}){0,4}(?!\d)          # 10 000: no number begins with a zero
  | \d+
)(?:\.\d+)?|\.\d+"""

_NUMBER = re.compile(
    rf"""
    (?<![A-Za-z0-9^])(?<![A-Za-z0-9)}}]_)(?<![\^_]\{{)                 # not inside a word, an index or an exponent
    (?P<sign>(?<![\w)\]}}%!.])-)?
    (?:(?:(?:US|AU?|CA?|NZ|HK|R)?\$|[£€¥₹]|(?:USD|EUR|GBP|INR|Rs\.?)(?=\s?\d))\s?(?P<inner_sign>-)?)?
    (?:
      (?P<dotted>[1-9]\d{{0,2}}(?:(?:\.\d{{3}}){{2,}}|(?:\.\d{{3}})+,\d\d?)(?![.,]?\d))   # 1.234.567, 1.234,50
    | (?P<junk>\d+(?:[./]\d+){{2,}}|\d[\d.]*[eE][+-]?\d{{3,}})         # dates, versions, 1e999
    | (?P<whole>\d+)[ ](?P<part>\d+)/(?P<parts>[1-9]\d*)(?![./]?\d)    # 3 1/2
    | (?P<plain>{_PLAIN})
      (?: (?:/|[ ]/[ ])(?P<divisor>{_PLAIN})
        | (?:[eE]|\s?(?:[x×*]|\\times|\\cdot)\s?10\s?\^\s?\{{?)(?P<exponent>[+-]?\d{{1,2}})(?![A-Za-z0-9])\}}?
        | \^\{{?(?P<power>\d{{1,2}})(?!\d)\}}?
        | :00(?!\d)                                                    # 5:00
      )?
    )
    (?:\s?(?P<percent>%|per[ ]?cent\b)|[ -](?P<scale>{"|".join(_SCALES)})\b)?
    """,
    re.VERBOSE,
)

_HASHES = re.compile(r"#{4,}(?!\W*\d+[.)]\s+[A-Za-z*])")
"""Not the heading of a numbered list."""
_BOX = re.compile(r"\\f?box(?:ed)?\s*\{")
_TAG = re.compile(r"<answer>(.*?)</answer>", re.IGNORECASE | re.DOTALL)
_PHRASE = re.compile(
    r"<answer>|\bfinal answer\b\W*\n|\banswer\b[*_]*(?:\s*\([^()\n]{0,40}\))?(?:\s+(?:to|for)\s+[^.:\n]{1,80}?)?[*_]*"
    r"(?:\s+(?:is|was|equals|(?:would|should|will|must)\s+be)\b|\s*[:=])",
    re.IGNORECASE,
)
_FILLER = re.compile(
    r"(?:[\s*_`\"'“$:=~≈([{]|\\approx|\+(?=[\d$])|[A-Za-z]+\s*="
    r"|(?:therefore|thus|then|that|now|approximately|about|around|roughly|exactly|simply|just|equal to)\b)*",
    re.IGNORECASE,
)
_OPERATOR = re.compile(
    r"\s*(?:[+×÷^=≈]|\*\s?[$\d(\\]|\*\*[$\d(]|(?:(?<=\s)\*\s?|\*)[A-Za-z]|/\s?[$\d(]|-\s?[$\d(]|[x,:]\s?\d"
    r"|\\(?:times|cdot|div|sqrt|pi|approx)\b|(?:and|or|to)\s+\$?\d|(?:times|plus|minus|multiplied|divided)\b)"
)
"""What goes on with a calculation; asterisks that close bold or italic type do not."""
_CLAUSE_END = re.compile(r"[;\n]|[.,](?!\d)|\b(?:because|since|so)\b|$")
_NO_NUMBER = re.compile(
    r"[\s*_]*(?:none|unknown|undefined|impossible|n/a|cannot|can't|not (?:known|given|enough|possible))\b",
    re.IGNORECASE,
)
_FRACTION = re.compile(
    rf"(?:(\d)\s*)?\\[dtc]?frac\s*\{{\s*(-?)\$?({_PLAIN})\s*\}}\s*\{{\s*\$?({_PLAIN})\s*\}}", re.VERBOSE
)
_ORDINAL = re.compile(r"(?:st|nd|rd|th)\b")
_LIST_MARK = re.compile(r"^[ \t]*\d{1,2}[.)][ \t]+(?=[A-Za-z*\\])", re.MULTILINE)


@dataclass(frozen=True)
class Extracted:
    """A number found in a text."""

    value: Fraction
    """Exact. 60% is 60."""
    text: str
    """Normalised: `29`, `-0.5`; a reduced fraction (`1/2`) where it was written as one."""
    form: str
    """hashes, boxed, tag, phrase or last_number."""
    span: tuple[int, int]
    """Where in the text it stands: with its sign, without the currency before it and the percent sign after it."""
    percent: bool

    @property
    def final(self) -> bool:
        """The number stands in a final form, and is not just the last of the text."""
        return self.form != "last_number"


def extract_number(text: str) -> Extracted | None:
    """The answer of a completion by the rules above; None where there is none."""
    part = _clean(answer_part(text))
    forms = list(_final_forms(part))
    if forms:
        return max(forms, key=lambda final: final[0])[1]
    part = part.sub(_LIST_MARK)
    numbers = list(_numbers(part.text))
    cardinals = [found for found in numbers if not _is_ordinal(part.text, found)]
    return _extracted(part, (cardinals or numbers)[-1], "last_number") if numbers else None


def score_number(
    gold: str,
    completion: str,
    finish_reason: str,
    *,
    percent: Literal["number", "fraction"] = "number",
) -> Verdict:
    """Score a completion against a gold number.

    Args:
        gold: the number, or a worked solution that ends in `#### n` (calculator marks are ignored).
        completion: the whole text generated.
        finish_reason: `stop` or `length`.
        percent: what 60% is worth in this data set: `number` 60, `fraction` 0.6. The details record `percent`.

    Raises:
        TrialError: `item_invalid`, where the gold holds no number.
    """
    target = gold_value(gold)
    found = extract_number(completion)
    if found is None:
        return verdict(completion, finish_reason, answer=None, final=False, score=0.0)
    value = found.value / 100 if found.percent and percent == "fraction" else found.value
    details = {"form": found.form, **({"percent": True} if found.percent else {})}
    return verdict(
        completion,
        finish_reason,
        answer=found.text,
        final=found.final,
        score=float(value == target),
        details=details,
        span=found.span,
    )


def gold_value(gold: str) -> Fraction:
    """The exact value of a gold answer; raises TrialError `item_invalid` where it holds no number."""
    found = extract_number(gold)
    if found is None:
        raise TrialError("item_invalid", f"the gold answer holds no number: {gold[-80:]!r}")
    return found.value


_SAME = str.maketrans("０１２３４５６７８９．，％＄：－−﹣‐‑\u2009\u202f", "0123456789.,%$:-----\u00a0\u00a0")


def _clean(text: Traced) -> Traced:
    """One spelling for what is written in several ways; no digit is ever joined to another but in thousands groups."""
    text = text.sub(r"<<[^<>\n]*>>").sub(INVISIBLE).translate(_SAME)
    text = text.sub("[⁰¹²³⁴-⁹]+", lambda m: f"^{{{unicodedata.normalize('NFKC', m[0])}}}")
    text = text.sub("[¼-¾⅐-⅞]", lambda m: " " + unicodedata.normalize("NFKC", m[0]).replace("\u2044", "/"))
    text = text.sub(r"(?<=\d)(?:\{,\}|,?\\[,!]|\\ |['’_\u00a0])(?=\d{3}(?!\d))", ",")
    text = text.unwrap(r"\\([$%£€#&])").translate({0xA0: ord(" ")})
    text = text.sub(r"\^(?:\\circ\b|\{\\circ\})|\\(?:[,;:! ()[\]]|left\b|right\b|q?quad\b|displaystyle\b)|~", " ")
    text = text.unwrap(r"\\(?:text|textbf|textit|mathrm|mathbf|mbox|mathit)\s*\{([^{}]*)\}", " ")
    text = text.sub(r"\\[dtc]?frac\s*([1-9])\s*([1-9])(?!\d)", lambda m: f"\\frac{{{m[1]}}}{{{m[2]}}}")
    text = text.sub(_FRACTION, lambda m: (m[1] + " " if m[1] else "") + f"{m[2]}{m[3]}/{m[4]}")
    text = text.sub(r"(?<![\w)])–(?=[$\d.])", "-")
    return text.unwrap(r"([=:#][ \t]*-)[ \t]+(?=[$\d.])")


def _final_forms(part: Traced) -> Iterator[tuple[int, Extracted | None]]:
    """(position, number or None) of each; empty boxes and tags only talk about the format."""
    text = part.text
    for mark in _HASHES.finditer(text):
        if found := _number_at(text, mark.end(), working_may_follow=True):
            yield mark.start(), _extracted(part, found, "hashes")
    for mark in _BOX.finditer(text):
        end = _brace(text, mark.end())
        if end is None:
            yield mark.start(), None
        elif text[mark.end() : end].strip():
            yield mark.start(), _only_number(part[mark.end() : end], "boxed")
    for mark in _TAG.finditer(text):
        if mark[1].strip() and not _BOX.search(mark[1]):
            yield mark.start(), _only_number(part[slice(*mark.span(1))], "tag")
    for mark in _PHRASE.finditer(text):
        if found := _number_at(text, mark.end(), working_may_follow=False):
            yield mark.start(), _extracted(part, found, "phrase")
        elif _NO_NUMBER.match(text, mark.end()) and not re.search(r"\d", text[mark.end() :]):
            yield mark.start(), None


def _brace(text: str, start: int) -> int | None:
    """Place of the brace that closes the one before `start`; None where it is never closed."""
    depth = 1
    for brace in re.compile(r"[{}]").finditer(text, start):
        depth += 1 if brace[0] == "{" else -1
        if not depth:
            return brace.start()
    return None


def _number_at(text: str, start: int, *, working_may_follow: bool) -> re.Match[str] | None:
    """The number right after a marker; of arithmetic (`9 * 2 = 18 dollars`) its result, if it is worked out."""
    found = _match(text, start)
    if found is None or not _OPERATOR.match(text, found.end()):
        return found
    clause = text[: _CLAUSE_END.search(text, found.end()).end()]  # type: ignore[union-attr]
    result = _match(clause, clause.rfind("=") + 1) if "=" in clause[found.end() :] else None
    if result is None or _OPERATOR.match(clause, result.end()):
        return None
    return result if working_may_follow or next(_numbers(text[result.end() :]), None) is None else None


def _only_number(content: Traced, form: str) -> Extracted | None:
    """The one number of a box or tag: after its last `=`, with words and units around it, not part of a formula."""
    last = max((sign.end() for sign in re.finditer(r"=|≈|\\approx\b", content.text)), default=0)
    content = content[last:].sub(r"(?<=\d) (?=\d{3}(?!\d))", ",")
    found = next(_numbers(content.text), None)
    if found is None or re.search(r"[\\*/×÷^]|\+\s|\d", content.text[: found.start()].replace("**", "")):
        return None
    return None if _OPERATOR.match(content.text, found.end()) else _extracted(content, found, form)


def _match(text: str, start: int) -> re.Match[str] | None:
    filler = _FILLER.match(text, start)
    found = _NUMBER.match(text, filler.end() if filler else start)
    return found if found and _value(found) is not None else None


def _is_ordinal(text: str, found: re.Match[str]) -> bool:
    """`the 6th day`; but not a result, `7-1=6th place`."""
    return bool(_ORDINAL.match(text, found.end())) and text[max(0, found.start() - 1) : found.start()] != "="


def _numbers(text: str) -> Iterator[re.Match[str]]:
    return (found for found in _NUMBER.finditer(text) if _value(found) is not None)


def _value(found: re.Match[str]) -> Fraction | None:
    """Exact value of a match; None for what only looks like a number."""
    part = {name: re.sub("[, ]", "", value) for name, value in found.groupdict().items() if value}
    power = int(part.get("power", "1"))
    if "junk" in part or power * sum(map(str.isdigit, found[0])) > MAX_DIGITS:
        return None
    if "dotted" in part:
        value = Fraction(found["dotted"].replace(".", "").replace(",", "."))
    elif "whole" in part:
        value = Fraction(part["whole"]) + Fraction(int(part["part"]), int(part["parts"]))
    else:
        value = Fraction(part["plain"])
    if "divisor" in part:
        divisor = Fraction(part["divisor"])
        if not divisor:
            return None
        value /= divisor
    value *= Fraction(10) ** int(part.get("exponent", "0"))
    value **= power
    value *= _SCALES.get(part.get("scale", ""), 1)
    return -value if "sign" in part or "inner_sign" in part else value


def _extracted(part: Traced, found: re.Match[str], form: str) -> Extracted | None:
    value = _value(found)
    if value is None:
        return None
    written_as_fraction = bool(found["divisor"] or found["parts"])
    text = str(value) if written_as_fraction else _decimal(value)
    return Extracted(value, text, form, part[_own(found)].span, bool(found["percent"]))


def _own(found: re.Match[str]) -> slice:
    """Where the number itself stands: from its sign on, without currency and percent sign."""
    start = min(found.start(name) for name in ("sign", "inner_sign", "dotted", "whole", "plain") if found[name])
    end = found.start("percent") if found["percent"] else found.end()
    return slice(start, len(found.string[:end].rstrip()))


def _decimal(value: Fraction) -> str:
    """Plain decimal notation of a fraction whose denominator divides a power of ten."""
    places = next(k for k in range(1, 10**4) if 10**k % value.denominator == 0) if value.denominator > 1 else 0
    digits = str(abs(value.numerator) * 10**places // value.denominator).zfill(places + 1)
    text = f"{digits[:-places]}.{digits[-places:]}" if places else digits
    return "-" + text if value < 0 else text
