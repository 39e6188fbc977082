"""Raw vocabulary pieces: how a token is spelled, read from the vocabulary and never by decoding one id.

Decoding one id drops the space before a word (SentencePiece) and shows half a character as U+FFFD.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

from transformers import PreTrainedTokenizerBase

from taboo_cluster.errors import UserError

BYTE_LEVEL = "Ġ"
"""The space in byte-level BPE."""

SENTENCEPIECE = "▁"
"""The space in SentencePiece."""

_FALLBACK = re.compile(r"<0x([0-9A-Fa-f]{2})>")


def _byte_alphabet() -> dict[str, int]:
    """Byte of each character byte-level BPE writes bytes with: printable ones as themselves, the rest from U+0100."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {chr(256 + n): byte for n, byte in enumerate(others)}


BYTES = _byte_alphabet()


@dataclass(frozen=True)
class Pieces:
    """A tokenizer's vocabulary, by id."""

    marker: str
    """What a space is written as: `BYTE_LEVEL` or `SENTENCEPIECE`."""
    raw: tuple[str | None, ...]
    """Piece of each id; None where the vocabulary has a hole."""
    added: frozenset[int]
    """Added tokens, special ones included: literal text, never byte-level."""
    special: frozenset[int]
    """Beginning and end of text, turn marks and other special tokens."""

    def spelled(self, token_id: int) -> bytes:
        """The bytes a token adds to the text: its space as 0x20, a byte token as its byte; none for an unknown id."""
        piece = self.raw[token_id] if 0 <= token_id < len(self.raw) else None
        if piece is None:
            return b""
        if token_id in self.added:
            return piece.encode()
        if self.marker == BYTE_LEVEL:
            return b"".join(bytes([BYTES[c]]) if c in BYTES else c.encode() for c in piece)
        byte = _FALLBACK.fullmatch(piece)
        return bytes([int(byte[1], 16)]) if byte else piece.replace(SENTENCEPIECE, " ").encode()

    def readable(self, token_id: int) -> str:
        """The token's text, with its space; part of a character shows as U+FFFD."""
        return self.spelled(token_id).decode(errors="replace")

    def text(self, token_ids: Iterable[int]) -> str:
        """What tokens add to the text, white space kept and special tokens left out."""
        return b"".join(self.spelled(i) for i in token_ids if i not in self.special).decode(errors="replace")


def of_word(character: str) -> bool:
    """Whether a character is a letter, digit or combining mark (Unicode L*, N*, M*)."""
    return unicodedata.category(character)[0] in "LNM"


def read_pieces(tokenizer: PreTrainedTokenizerBase) -> Pieces:
    """The vocabulary of a byte-level BPE or SentencePiece tokenizer; raises UserError for any other kind.

    SentencePiece is looked for first: its marker cannot occur in a byte-level vocabulary, while Ġ is also a letter.
    """
    size = max(tokenizer.get_vocab().values()) + 1
    raw: tuple[str | None, ...] = tuple(tokenizer.convert_ids_to_tokens(list(range(size))))
    added = tokenizer.added_tokens_decoder
    special = {i for i, token in added.items() if token.special} | set(tokenizer.all_special_ids)
    words = [piece for i, piece in enumerate(raw) if piece and i not in added]
    for marker in (SENTENCEPIECE, BYTE_LEVEL):
        if any(piece.startswith(marker) for piece in words):
            return Pieces(marker, raw, frozenset(added), frozenset(special))
    raise UserError(
        f"the vocabulary of {tokenizer.name_or_path or type(tokenizer).__name__!r} marks no word starts: neither "
        f"{BYTE_LEVEL!r} (byte-level BPE) nor {SENTENCEPIECE!r} (SentencePiece) begins any piece; use a model with one"
    )
