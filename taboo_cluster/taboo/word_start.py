"""Word-start tables: which tokens begin a word (METHODS section 1).

`marker`, the paper's kind: the piece starts with the tokenizer's space marker and something of a word follows.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import torch
from transformers import PreTrainedTokenizerBase

from taboo_cluster.errors import unknown
from taboo_cluster.taboo.pieces import Pieces, of_word, read_pieces


@dataclass(frozen=True)
class WordStartTable:
    """Three flags per token id of the tokenizer; logits may be wider, what lies beyond is no token.

    So the same tokenizer masks the same ids at every logits width.
    """

    start: torch.Tensor
    """bool [n]: begins a word."""
    special: torch.Tensor
    """bool [n]: special token; never intervened on."""
    known: torch.Tensor
    """bool [n]: the vocabulary has this id."""
    gapless: bool
    """Every id below n is known (kept apart so that no device tensor has to be read)."""

    def __len__(self) -> int:
        return self.start.numel()

    def to(self, device: torch.device | str) -> WordStartTable:
        """The same table on another device."""
        return WordStartTable(self.start.to(device), self.special.to(device), self.known.to(device), self.gapless)


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
    special = pieces.special | set(end_ids)
    begins = WORD_STARTS[kind](pieces)
    size = range(len(pieces.raw))
    known = [piece is not None for piece in pieces.raw]
    return WordStartTable(
        start=torch.tensor([begins[i] and i not in special for i in size]),
        special=torch.tensor([i in special for i in size]),
        known=torch.tensor(known),
        gapless=all(known),
    )


def marker(pieces: Pieces) -> list[bool]:
    """Which pieces are the space marker followed by at least one character of a word (see `is_word`).

    Added and control tokens are not, nor byte tokens, lone white space, or the marker with only punctuation.
    """
    return [
        piece is not None
        and token_id not in pieces.added
        and piece.startswith(pieces.marker)
        and is_word(pieces, token_id)
        for token_id, piece in enumerate(pieces.raw)
    ]


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


WORD_STARTS: dict[str, Callable[[Pieces], list[bool]]] = {"marker": marker}
"""Kinds of word-start table: each says of every id whether it begins a word."""
