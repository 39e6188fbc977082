"""Where words start by Unicode's default word boundaries (UAX #29), token by token.

Whether a token begins a word depends on the text before it, but only on what kind of character that ends in: a state.
So a token is described by what it does in each state: whether a word starts in it (at its first letter or digit, with
nothing but white space and punctuation of the token before that), and which state it leaves behind.

Beyond the standard, which leaves these open to tailoring:

- A hyphen between two letters or digits joins them: in "a-b" the b starts no word.
- Scripts written without spaces. Chinese characters and Hiragana: each character is a word, Katakana: each run (both
  the standard's default). Thai, Lao, Khmer and Burmese: each run of the script, since nothing short of a dictionary
  tells the words in it apart.
- Emoji and other symbols are no words.
- A character that is split over tokens counts at the token with its first byte, as what most characters with these
  bytes are; of a four-byte character's first byte alone, a symbol.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Sequence
from enum import IntEnum
from itertools import product

import regex


class State(IntEnum):
    """What the text so far ends in."""

    OUTSIDE = 0
    """The start of the text, white space, punctuation, a symbol, or a character that is a word by itself."""
    LETTER = 1
    DIGIT = 2
    KATAKANA = 3
    SPACELESS = 4
    """A letter of a script written without spaces."""
    CONNECTOR = 5
    """An underscore that no word comes before."""
    JOINED = 6
    """A word and an underscore."""
    LETTER_MID = 7
    """A letter and what may stand between two letters: an apostrophe, a full stop ..."""
    DIGIT_MID = 8
    """A digit and what may stand between two digits: a comma, a full stop ..."""
    HYPHEN = 9
    """A word and a hyphen."""


class Kind(IntEnum):
    """What a character is: Unicode's Word_Break values as far as they matter, and the tailoring's."""

    OTHER = 0
    LETTER = 1
    DIGIT = 2
    KATAKANA = 3
    SPACELESS = 4
    IDEOGRAPH = 5
    """A letter or digit that is a word by itself."""
    CONNECTOR = 6
    MID_LETTER = 7
    MID_DIGIT = 8
    MID_BOTH = 9
    HYPHEN = 10
    TRANSPARENT = 11
    """A combining mark or format character: it belongs to the character before it."""


_KINDS = regex.compile(
    r"(?P<HYPHEN>[-\u2010\u2011])"
    r"|(?P<TRANSPARENT>\p{WB=Extend}|\p{WB=Format}|\p{WB=ZWJ})"
    r"|(?P<LETTER>\p{WB=ALetter}|\p{WB=Hebrew_Letter})"
    r"|(?P<DIGIT>\p{WB=Numeric})"
    r"|(?P<KATAKANA>\p{WB=Katakana})"
    r"|(?P<CONNECTOR>\p{WB=ExtendNumLet})"
    r"|(?P<MID_LETTER>\p{WB=MidLetter})"
    r"|(?P<MID_DIGIT>\p{WB=MidNum})"
    r"|(?P<MID_BOTH>\p{WB=MidNumLet}|\p{WB=Single_Quote})"
    r"|(?P<SPACELESS>[\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}&&\p{L}])"
    r"|(?P<IDEOGRAPH>[\p{L}\p{N}])",
    regex.V1,
)

_OF_WORD = {Kind.LETTER, Kind.DIGIT, Kind.KATAKANA, Kind.SPACELESS, Kind.IDEOGRAPH}
_LETTERS = _OF_WORD - {Kind.DIGIT}
_AFTER_WORD = {State.LETTER, State.DIGIT, State.KATAKANA, State.SPACELESS, State.JOINED}
_JOINS = {
    Kind.LETTER: {State.LETTER, State.DIGIT, State.JOINED, State.LETTER_MID, State.HYPHEN},
    Kind.DIGIT: {State.LETTER, State.DIGIT, State.JOINED, State.DIGIT_MID, State.HYPHEN},
    Kind.KATAKANA: {State.KATAKANA, State.JOINED, State.HYPHEN},
    Kind.SPACELESS: {State.SPACELESS, State.HYPHEN},
    Kind.IDEOGRAPH: set[State](),
}
"""States in which a character of a word goes on with the word (rules WB5 to WB13b); in the others it starts one."""

_OWN_STATE = {
    Kind.LETTER: State.LETTER,
    Kind.DIGIT: State.DIGIT,
    Kind.KATAKANA: State.KATAKANA,
    Kind.SPACELESS: State.SPACELESS,
}


@functools.cache
def kind(character: str) -> Kind:
    """What a character is."""
    found = _KINDS.fullmatch(character)
    return Kind[found.lastgroup] if found else Kind.OTHER


def after(state: State, seen: Kind) -> State:
    """The state once a character of a kind has followed."""
    if seen is Kind.TRANSPARENT:
        return state
    if seen in _OWN_STATE:
        return _OWN_STATE[seen]
    if seen is Kind.CONNECTOR:
        joins = state in {State.LETTER, State.DIGIT, State.KATAKANA, State.JOINED}
        return State.JOINED if joins else State.CONNECTOR
    if seen is Kind.HYPHEN and state in _AFTER_WORD:
        return State.HYPHEN
    if state is State.LETTER and seen in {Kind.MID_LETTER, Kind.MID_BOTH}:
        return State.LETTER_MID
    if state is State.DIGIT and seen in {Kind.MID_DIGIT, Kind.MID_BOTH}:
        return State.DIGIT_MID
    return State.OUTSIDE


def starts(state: State, seen: Kind) -> bool:
    """Whether a character of a kind starts a word after a text in that state."""
    return seen in _OF_WORD and state not in _JOINS[seen]


@functools.cache
def effect(kinds: tuple[Kind, ...]) -> tuple[tuple[bool, ...], tuple[int, ...]]:
    """What a token of such characters does in each state: whether a word starts in it, and the state after it."""
    begins, ends = [], []
    for state in State:
        begun, now = None, state
        for seen in kinds:
            if begun is None and seen in _OF_WORD:
                begun = starts(now, seen)
            now = after(now, seen)
        begins.append(bool(begun))
        ends.append(int(now))
    return tuple(begins), tuple(ends)


def kinds_of(spelled: bytes) -> tuple[Kind, ...]:
    """The kinds of a token's characters; repetitions that change nothing are left out.

    Bytes that go on with a character of an earlier token are left out; a character that the token's end cuts off counts
    as what it most likely is.
    """
    body = spelled.lstrip(bytes(range(0x80, 0xC0)))
    text = body.decode(errors="ignore")
    found = [kind(character) for character in text]
    cut = _cut_off(body)
    if cut:
        found.append(likely(cut))
    return tuple(k for k, before in zip(found, [None, *found], strict=False) if k is not before or k in _COUNTED)


_COUNTED = {Kind.MID_LETTER, Kind.MID_DIGIT, Kind.MID_BOTH, Kind.HYPHEN}


def _cut_off(text: bytes) -> bytes:
    """The beginning of a character at the end of some bytes, where its rest is missing."""
    for length in range(1, min(3, len(text)) + 1):
        lead = text[-length]
        if lead >= 0xC2:
            wanted = 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4
            return text[-length:] if lead <= 0xF4 and length < wanted else b""
        if not 0x80 <= lead < 0xC0:
            return b""
    return b""


@functools.cache
def likely(lead: bytes) -> Kind:
    """What most characters that begin with these bytes, and are longer, are.

    Where letters are among them, marks and digits do not count: both are rarer, and marks only follow letters.
    """
    length = 2 if lead[0] < 0xE0 else 3 if lead[0] < 0xF0 else 4
    missing = length - len(lead)
    if missing == 3:
        return Kind.OTHER
    tails: Sequence[tuple[int, ...]] = list(product(range(0x80, 0xC0), repeat=missing))
    characters = ((lead + bytes(tail)).decode(errors="ignore") for tail in tails)
    counts = Counter(kind(c) for c in characters if c and regex.fullmatch(r"\P{Cn}", c))
    if _LETTERS & counts.keys():
        del counts[Kind.TRANSPARENT], counts[Kind.DIGIT]
    return max(counts, key=lambda seen: (counts[seen], -seen), default=Kind.OTHER)
