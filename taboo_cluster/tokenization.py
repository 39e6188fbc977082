"""How a tokenizer cuts a text: entropy of its tokens, tokens of a single character (METHODS section 3).

No model is needed, only its tokenizer. Beginning and end of text and the like are not added.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import regex

from taboo_cluster.errors import UserError
from taboo_cluster.models import tokenizer_hash
from taboo_cluster.words import count_characters, without_spaces

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

    from taboo_cluster.taboo.pieces import Pieces

Ids = npt.NDArray[np.int32]
Encode = Callable[[Sequence[str]], Sequence[Ids]]
"""Texts -> the token ids of each."""

_BROKEN = regex.compile("\ufffd+")
"""How bytes that are no whole character read."""


@dataclass(frozen=True)
class Cut:
    """What a tokenizer makes of one text. None where the text has no token."""

    tokens: int
    characters: int
    """Extended grapheme clusters, white space left out."""
    entropy: float | None
    """Shannon entropy of the token ids' frequencies, in bits."""
    entropy_fixed: float | None
    """The same of `fixed_tokens` tokens drawn from the text; None where that is none."""
    fixed_tokens: int
    """Tokens of the shortest of the texts that were measured together."""
    single_character_share: float | None
    """Share of tokens that spell at most one character; None too where the vocabulary does not tell."""


class Tokenizer:
    """A tokenizer as it is measured.

    Args:
        tokenizer: a model's; its own limits on length, and padding, are taken off it.

    Attributes:
        hash: as in the record.
    """

    def __init__(self, tokenizer: PreTrainedTokenizerBase) -> None:
        self.hash = str(tokenizer_hash(tokenizer))
        self._encode = encoder(tokenizer)
        self._single = _single_characters(tokenizer)

    def cut(self, texts: Sequence[str], rngs: Sequence[np.random.Generator]) -> list[Cut]:
        """Measure texts that belong together: the versions of one item.

        Args:
            texts: the versions.
            rngs: for each text, draws its `fixed_tokens` tokens.
        """
        return measure(texts, self._encode(texts), self._single, rngs)


def measure(
    texts: Sequence[str],
    encoded: Sequence[Ids],
    single: npt.NDArray[np.bool_] | None,
    rngs: Sequence[np.random.Generator],
) -> list[Cut]:
    """The numbers of texts that belong together.

    Args:
        texts: n texts.
        encoded: the token ids of each.
        single: bool [vocabulary]: the token spells at most one character; None where that is not known.
        rngs: n generators.
    """
    fixed = min(map(len, encoded), default=0)
    spaceless = [without_spaces(text) for text in texts]
    characters = {text: count_characters(text) for text in set(spaceless)}  # one count for all that differ in spaces
    return [
        Cut(
            tokens=len(ids),
            characters=characters[text],
            entropy=entropy(ids),
            entropy_fixed=entropy(rng.choice(ids, fixed, replace=False)) if fixed else None,
            fixed_tokens=fixed,
            single_character_share=float(single[ids].mean()) if single is not None and len(ids) else None,
        )
        for text, ids, rng in zip(spaceless, encoded, rngs, strict=True)
    ]


def entropy(ids: Ids) -> float | None:
    """Shannon entropy of the frequencies of token ids, in bits; None without a token."""
    if not len(ids):
        return None
    counts = np.unique(ids, return_counts=True)[1]
    share = counts / len(ids)
    return float(-(share @ np.log2(share))) + 0.0  # of one kind of token 0, not -0


def single_characters(pieces: Pieces) -> npt.NDArray[np.bool_]:
    """For each token id whether it spells at most one character beside white space.

    A part of a character (of its bytes) does, a token of white space alone does not.
    """
    return np.array([_spells_one(pieces.readable(token_id)) for token_id in range(len(pieces.raw))], dtype=np.bool_)


def encoder(tokenizer: PreTrainedTokenizerBase) -> Encode:
    """How texts become token ids: whole, nothing added."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        return lambda texts: [
            np.array(tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"], dtype=np.int32)
            for text in texts
        ]
    backend.no_truncation()
    backend.no_padding()
    # Half the time of calling the tokenizer, which also looks for each token's place in the text.
    return lambda texts: [
        np.array(found.ids, dtype=np.int32)
        for found in backend.encode_batch_fast(list(texts), add_special_tokens=False)
    ]


def _single_characters(tokenizer: PreTrainedTokenizerBase) -> npt.NDArray[np.bool_] | None:
    from taboo_cluster.taboo.pieces import read_pieces  # imports transformers

    try:
        return single_characters(read_pieces(tokenizer))
    except UserError:
        return None


def _spells_one(text: str) -> bool:
    return count_characters(_BROKEN.sub("\ufffd", text)) == 1
