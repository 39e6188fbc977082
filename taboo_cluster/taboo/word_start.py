"""Word-start tables: which tokens begin a word (METHODS section 1).

`marker`   the paper's kind: the piece starts with the tokenizer's space marker and something of a word follows
`unicode`  by Unicode's word boundaries and the text before: also the first generated token, words after punctuation,
           quotes or newlines, numbers, scripts without spaces
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import torch
from transformers import PreTrainedTokenizerBase

from taboo_cluster.errors import unknown
from taboo_cluster.taboo.function_words import FUNCTION_WORDS
from taboo_cluster.taboo.pieces import Pieces, of_word, read_pieces
from taboo_cluster.taboo.unicode_words import effect, kinds_of

TAIL = 16
"""Tokens before a step that its state is read from: far longer than what a word boundary can depend on."""


@dataclass(frozen=True)
class Starts:
    """What a kind of word starts says of each token id, in each state of the text before it."""

    begins: list[tuple[bool, ...]]
    """Whether it begins a word; one value where the text before does not matter."""
    after: list[tuple[int, ...]] | None = None
    """The state it leaves behind; None where there is only one."""


@dataclass(frozen=True)
class WordStartTable:
    """Flags per token id of the tokenizer; logits may be wider, what lies beyond is no token.

    So the same tokenizer masks the same ids at every logits width.
    """

    start: torch.Tensor
    """bool [states, n]: begins a word after a text in that state."""
    special: torch.Tensor
    """bool [n]: special token; never intervened on."""
    known: torch.Tensor
    """bool [n]: the vocabulary has this id."""
    gapless: bool
    """Every id below n is known (kept apart so that no device tensor has to be read)."""
    function: torch.Tensor
    """bool [n]: spells an English function word."""
    after: torch.Tensor | None = None
    """uint8 [states, n]: the state that a token leaves behind; None where there is only one state."""

    def __len__(self) -> int:
        return self.special.numel()

    def to(self, device: torch.device | str) -> WordStartTable:
        """The same table on another device."""
        after = None if self.after is None else self.after.to(device)
        start, special, known, function = (
            flags.to(device) for flags in (self.start, self.special, self.known, self.function)
        )
        return WordStartTable(start, special, known, self.gapless, function, after)

    def state(self, tail: torch.Tensor) -> torch.Tensor:
        """The state [B] long of texts that end in the tokens `tail` [B, T]; an id that is no token starts afresh."""
        state = torch.zeros(len(tail), dtype=torch.long, device=tail.device)
        if self.after is None:
            return state
        for token in tail.unbind(1):
            inside = (token >= 0) & (token < len(self))
            state = torch.where(inside, self.after[state, torch.where(inside, token, 0)].long(), 0)
        return state


def word_start_table(tokenizer: PreTrainedTokenizerBase, kind: str, end_ids: Iterable[int] = ()) -> WordStartTable:
    """The table of a tokenizer, on the CPU.

    Args:
        tokenizer: byte-level BPE or SentencePiece.
        kind: an entry of `WORD_STARTS`.
        end_ids: end-of-text ids of the model's own config, special even where the tokenizer does not say so.

    Raises:
        UserError: unknown kind, or a tokenizer whose pieces mark no word starts.
    """
    if kind not in WORD_STARTS:
        raise unknown("word-start table", kind, WORD_STARTS)
    pieces = read_pieces(tokenizer)
    special = torch.tensor([i in pieces.special for i in range(len(pieces.raw))])
    special[[i for i in end_ids if 0 <= i < len(special)]] = True
    starts = WORD_STARTS[kind](pieces)
    known = [piece is not None for piece in pieces.raw]
    after = None if starts.after is None else torch.tensor(starts.after, dtype=torch.uint8).T.contiguous()
    if after is not None:
        after[:, special] = 0
    return WordStartTable(
        start=torch.tensor(starts.begins).T.contiguous() & ~special,
        special=special,
        known=torch.tensor(known),
        gapless=all(known),
        function=torch.tensor([word in FUNCTION_WORDS for word in _words(pieces)]),
        after=after,
    )


def _words(pieces: Pieces) -> Iterator[str]:
    """Each token's text without white space around it, case-folded."""
    return (pieces.readable(token_id).strip().casefold() for token_id in range(len(pieces.raw)))


def marker(pieces: Pieces) -> Starts:
    """Which pieces are the space marker followed by at least one character of a word (see `is_word`).

    Added and control tokens are not, nor byte tokens, lone white space, or the marker with only punctuation.
    """
    return Starts(
        [
            (
                piece is not None
                and token_id not in pieces.added
                and piece.startswith(pieces.marker)
                and is_word(pieces, token_id),
            )
            for token_id, piece in enumerate(pieces.raw)
        ]
    )


def unicode(pieces: Pieces) -> Starts:
    """Which pieces begin a word by UAX #29 after each kind of text; see `unicode_words`."""
    effects = [effect(kinds_of(pieces.spelled(token_id))) for token_id in range(len(pieces.raw))]
    return Starts([begins for begins, _ in effects], [after for _, after in effects])


def is_word(pieces: Pieces, token_id: int) -> bool:
    """Whether a token spells at least one character of a word (`of_word`: letters, digits, combining marks).

    Punctuation and symbols (P*, S*) are both "only punctuation": " ..." and " $" begin no word, " $5" and " (word" do.
    A character cut off by the end of the piece counts where one of those it could become is of a word.
    """
    text = pieces.spelled(token_id)
    whole = text.decode(errors="ignore")
    return any(of_word(character) for character in whole) or _may_be_word(text[len(whole.encode()) :])


@functools.cache
def _may_be_word(lead: bytes) -> bool:
    """Whether some character whose UTF-8 form begins with these bytes, and is longer, is of a word."""
    if not lead or not 0xC2 <= lead[0] <= 0xF4:
        return False
    length = 2 if lead[0] < 0xE0 else 3 if lead[0] < 0xF0 else 4
    missing = length - len(lead)
    if missing < 1:
        return False
    if missing == 3:  # planes 0 and up of four-byte characters: emoji beside many scripts
        return True
    tails = (bytes([b]) for b in range(0x80, 0xC0))
    if missing == 1:
        return any(of_word(c) for tail in tails for c in (lead + tail).decode(errors="ignore"))
    return any(_may_be_word(lead + tail) for tail in tails)


WORD_STARTS: dict[str, Callable[[Pieces], Starts]] = {"marker": marker, "unicode": unicode}
"""Kinds of word-start table: each says of every id whether it begins a word."""
