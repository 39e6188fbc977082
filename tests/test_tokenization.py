from __future__ import annotations

from collections.abc import Sequence
from math import log2
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer as Backend
from tokenizers import models, pre_tokenizers
from transformers import AutoTokenizer, PreTrainedTokenizerFast

from taboo_cluster.engines.scripted import byte_tokenizer
from taboo_cluster.fragmentation import Fragmentation
from taboo_cluster.taboo.pieces import BYTE_LEVEL, SENTENCEPIECE, Pieces
from taboo_cluster.tokenization import Ids, Tokenizer, encoder, entropy, measure, single_characters
from taboo_cluster.words import count_characters, without_spaces

EMBEDDED = Path(__file__).parents[1] / "taboo_cluster/embedded/tiny-base"


def ids(*values: int) -> Ids:
    return np.array(values, dtype=np.int32)


def rngs(count: int, seed: int = 0) -> list[np.random.Generator]:
    return [np.random.default_rng([seed, number]) for number in range(count)]


@pytest.fixture(scope="module")
def embedded() -> Any:
    return AutoTokenizer.from_pretrained(EMBEDDED)


@pytest.mark.parametrize(
    ("tokens", "bits"),
    [
        (ids(7), 0.0),
        (ids(7, 7, 7), 0.0),
        (ids(1, 2), 1.0),
        (ids(1, 1, 2, 3), 1.5),
        (ids(1, 1, 1, 2), 2 - 0.75 * log2(3)),
        (ids(*range(8)), 3.0),
        (ids(0, 1_000_000), 1.0),
    ],
)
def test_entropy_in_bits(tokens: Ids, bits: float) -> None:
    found = entropy(tokens)
    assert found == pytest.approx(bits, abs=1e-12)
    assert str(found)[0] != "-"


def test_entropy_of_no_token_is_none() -> None:
    assert entropy(ids()) is None


@given(st.lists(st.integers(0, 20), min_size=1))
def test_entropy_is_bounded_and_belongs_to_the_frequencies_alone(tokens: list[int]) -> None:
    found = entropy(ids(*tokens))
    assert found is not None
    assert 0 <= found <= log2(len(set(tokens))) + 1e-9
    assert entropy(ids(*sorted(tokens))) == found
    assert entropy(ids(*tokens, *tokens)) == pytest.approx(found)


SINGLE = np.array([True, False, True, False])


def test_the_numbers_of_texts_that_belong_together() -> None:
    one, two = measure(["ab c", "a b\u00a0c"], [ids(1, 2), ids(0, 0, 1, 2, 2, 3)], SINGLE, rngs(2))
    assert (one.tokens, one.characters, one.entropy, one.fixed_tokens, one.single_character_share) == (2, 3, 1, 2, 0.5)
    assert one.entropy_fixed == 1.0  # all of its tokens
    assert (two.tokens, two.characters, two.fixed_tokens) == (6, 3, 2)
    assert two.entropy == pytest.approx(2 / 3 * log2(3) + 1 / 3 * log2(6))
    assert two.entropy_fixed in (0.0, 1.0)  # two tokens, the same or not
    assert two.single_character_share == pytest.approx(4 / 6)


def test_the_fixed_number_of_tokens_is_drawn_without_replacement() -> None:
    """Two of a a b b differ with probability 2/3; drawn with replacement they would with 1/2."""
    pair, four = ids(0, 1), ids(0, 0, 1, 1)
    drawn = [measure(["", ""], [pair, four], SINGLE, rngs(2, seed))[1].entropy_fixed for seed in range(3000)]
    assert np.mean([value for value in drawn if value is not None]) == pytest.approx(2 / 3, abs=0.04)
    assert drawn[:5] == [measure(["", ""], [pair, four], SINGLE, rngs(2, n))[1].entropy_fixed for n in range(5)]


def test_texts_without_a_token_and_with_one() -> None:
    empty, one = measure(["", "x"], [ids(), ids(2)], SINGLE, rngs(2))
    assert (empty.tokens, empty.characters, empty.fixed_tokens) == (0, 0, 0)
    assert (empty.entropy, empty.entropy_fixed, empty.single_character_share) == (None, None, None)
    assert (one.entropy, one.entropy_fixed, one.single_character_share) == (0.0, None, 1.0)
    (alone,) = measure(["x"], [ids(2)], SINGLE, rngs(1))
    assert (alone.entropy, alone.entropy_fixed, alone.fixed_tokens) == (0.0, 0.0, 1)
    assert measure([], [], SINGLE, []) == []


def table(marker: str, *raw: str | None, added: Sequence[int] = ()) -> list[bool]:
    return [bool(flag) for flag in single_characters(Pieces(marker, raw, frozenset(added), frozenset()))]


def test_tokens_that_spell_one_character() -> None:
    spaces = ("Ġ", "ĠĠ", "Ċ", "ĉ", "ĠĊ")
    assert table(BYTE_LEVEL, *spaces) == [False] * 5
    assert table(BYTE_LEVEL, "a", "Ġa", "aĠ", ".", "Ġ7", "Ã©", "ĠÃ©") == [True] * 7
    assert table(BYTE_LEVEL, "ab", "Ġab", "aĠb", "a.", "é", None, "") == [
        False,
        False,
        False,
        False,
        True,
        False,
        False,
    ]
    assert table(BYTE_LEVEL, "Ã", "©", "âĢ", "Ģ¦", "ĠâĢ", "âĢ¦") == [True] * 6  # parts of é and … , and … whole
    assert table(BYTE_LEVEL, "aÃ") == [False]  # a letter and a part of another
    assert table(SENTENCEPIECE, "▁", "▁▁", "\n", "<0x0A>", "<0x20>") == [False] * 5
    assert table(SENTENCEPIECE, "a", "▁a", "é", "▁中", "<0xC3>", "<0x41>", "e\u0301") == [True] * 7
    assert table(SENTENCEPIECE, "ab", "▁ab", "中国") == [False] * 3
    assert table(SENTENCEPIECE, "<end>", added=[0]) == [False]


def test_the_embedded_tokenizer_cuts_a_fragmented_word_into_its_characters(embedded: Any) -> None:
    tokenizer = Tokenizer(embedded)
    whole, apart = tokenizer.cut([" how many", "H o w  m a n y"], rngs(2))
    assert (whole.tokens, whole.single_character_share, whole.entropy) == (2, 0.0, 1.0)
    # H, _o, _w, _, _m, _a, _n, _, y: a space alone is no character
    assert (apart.tokens, apart.single_character_share) == (9, 7 / 9)
    assert apart.entropy == pytest.approx(7 / 9 * log2(9) + 2 / 9 * log2(9 / 2))
    assert (whole.characters, apart.characters) == (7, 7)
    assert whole.entropy_fixed == 1.0
    assert tokenizer.cut([""], rngs(1))[0].tokens == 0  # no beginning of text is added


def test_texts_are_encoded_as_the_tokenizer_does_but_whole(embedded: Any) -> None:
    texts = ["", "How many?\n\nHow  many 12345", "émigré 中国 👩‍👩‍👧", "<|end|> x"]
    for tokenizer in (embedded, byte_tokenizer()):
        expected = [tokenizer(text, add_special_tokens=False)["input_ids"] for text in texts]
        assert [found.tolist() for found in encoder(tokenizer)(texts)] == expected
    limited = byte_tokenizer()
    limited.backend_tokenizer.enable_truncation(2)
    limited.backend_tokenizer.enable_padding(length=9)
    assert [len(found) for found in encoder(limited)(["a", "abcdef"])] == [1, 6]


def test_a_tokenizer_without_a_fast_form_is_called() -> None:
    class Slow:
        def __call__(self, text: str, **options: Any) -> dict[str, list[int]]:
            assert options["add_special_tokens"] is False
            return {"input_ids": [ord(character) for character in text]}

    assert [found.tolist() for found in encoder(Slow())(["ab", ""])] == [[97, 98], []]  # type: ignore[arg-type]


def test_a_vocabulary_that_does_not_tell_what_its_tokens_spell() -> None:
    """Entropy is measured all the same."""
    backend = Backend(models.WordLevel({"[UNK]": 0, "a": 1, "b": 2}, unk_token="[UNK]"))
    backend.pre_tokenizer = pre_tokenizers.Whitespace()
    (cut,) = Tokenizer(PreTrainedTokenizerFast(tokenizer_object=backend)).cut(["a b"], rngs(1))  # type: ignore[no-untyped-call]
    assert (cut.tokens, cut.entropy, cut.single_character_share) == (2, 1.0, None)


@given(st.text(max_size=30), st.floats(0, 1))
def test_characters_are_the_same_wherever_spaces_are_put_in(text: str, p: float) -> None:
    fragmented = Fragmentation("random", p, 7).apply(text).text
    assert without_spaces(fragmented) == without_spaces(text)
    assert count_characters(fragmented) == count_characters(text)


def test_white_space_is_unicodes() -> None:
    spaces = [chr(point) for point in range(0x110000) if without_spaces(chr(point)) == ""]
    assert len(spaces) == 25
    assert without_spaces("\x1c") == "\x1c"
    assert without_spaces("".join(spaces) + "\x1ca") == "\x1ca"
    assert without_spaces("".join(spaces) + "a") == "a"
    assert [count_characters(text) for text in ("", " \n", "a b", "e\u0301 x", "\r\n", "👩‍👩‍👧")] == [0, 0, 2, 2, 0, 1]
