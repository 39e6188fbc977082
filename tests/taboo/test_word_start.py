"""Word-start tables, on tiny tokenizers of both kinds and on real ones where they are at hand."""

import os
from importlib import resources
from pathlib import Path

import pytest
import torch
from tiny_tokenizers import byte_level, sentencepiece
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from transformers import AutoTokenizer, PreTrainedTokenizerFast

from taboo_cluster.errors import UserError
from taboo_cluster.taboo.pieces import read_pieces
from taboo_cluster.taboo.word_start import word_start_table

BYTE_WORDS = [
    "Ġworld",
    "world",
    "Ġ...",
    "ĠĠĠ",
    "ĊĊ",
    "ĠĊ",
    "Ġ42",
    "Ġ$5",
    "Ġ$",
    "Ġ(word",
    "(word",
    "ĠâĢľ",  # space, left double quote: E2 80 9C
    "ĠÐ´Ð°",  # space, Cyrillic "да"
    "ĠæĹ¥",  # space, 日
    "ĠðŁĺĢ",  # space, an emoji: F0 9F 98 80
    "Ġ²",
]


def starts(tokenizer: PreTrainedTokenizerFast, pieces: list[str]) -> dict[str, bool]:
    table = word_start_table(tokenizer, "marker")
    return {piece: bool(table.start[0, tokenizer.convert_tokens_to_ids(piece)]) for piece in pieces}


def test_byte_level_pieces() -> None:
    got = starts(byte_level(BYTE_WORDS), ["Ġworld", "world", "Ġ42", "Ġ$5", "Ġ(word", "(word", "ĠÐ´Ð°", "ĠæĹ¥"])
    assert got == {
        "Ġworld": True,
        "world": False,
        "Ġ42": True,
        "Ġ$5": True,
        "Ġ(word": True,
        "(word": False,
        "ĠÐ´Ð°": True,
        "ĠæĹ¥": True,
    }


def test_b2_b5_white_space_and_punctuation_begin_no_word() -> None:
    pieces = ["Ġ", "ĠĠ", "ĠĠĠ", "Ċ", "ĊĊ", "ĠĊ", "Ġ...", "Ġ$", "ĠâĢľ", "ĠðŁĺĢ"]
    assert not any(starts(byte_level(BYTE_WORDS), pieces).values())


def test_b6_a_character_cut_off_counts_as_what_it_can_become() -> None:
    got = starts(byte_level(BYTE_WORDS), ["ĠÐ", "Ġæ", "ĠæĹ", "ĠâĢ", "ĠðŁĺ", "Ġâ", "Ð", "Ĺ"])
    # 日 and Cyrillic are letters in the making; U+2000 to U+203F and U+1F600 to U+1F63F hold neither letter nor digit.
    assert got == {"ĠÐ": True, "Ġæ": True, "ĠæĹ": True, "ĠâĢ": False, "ĠðŁĺ": False, "Ġâ": True, "Ð": False, "Ĺ": False}


def test_b1_sentencepiece_is_read_from_the_piece_and_not_from_its_decoded_form() -> None:
    tokenizer = sentencepiece(["▁world", "world", "▁▁▁", "▁...", "▁42", "Ġa"])
    assert tokenizer.decode([tokenizer.convert_tokens_to_ids("▁world")]).strip() == "world"
    pieces = ["▁world", "▁w", "▁42", "world", "▁", "▁▁▁", "▁...", "<0x0A>", "<0xE6>", "Ġa", "<s>"]
    assert [piece for piece, start in starts(tokenizer, pieces).items() if start] == ["▁world", "▁w", "▁42"]


def test_b12_special_and_added_tokens_are_never_word_initial() -> None:
    tokenizer = sentencepiece(["▁world"], added=["▁added", "<h1>"])
    table = word_start_table(tokenizer, "marker", end_ids=[tokenizer.convert_tokens_to_ids("▁world")])
    ids = {piece: tokenizer.convert_tokens_to_ids(piece) for piece in ("▁added", "<h1>", "</s>", "▁world")}
    assert not any(table.start[0, i] for i in ids.values())
    assert [bool(table.special[i]) for i in ids.values()] == [False, False, True, True]


def test_the_table_has_every_id_and_knows_the_holes() -> None:
    vocab = {"Ġa": 0, "b": 1, "Ġc": 4}
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=Tokenizer(WordLevel(vocab, unk_token="b")))
    table = word_start_table(tokenizer, "marker")
    assert len(table) == 5
    assert table.known.tolist() == [True, True, False, False, True]
    assert table.start[0].tolist() == [True, False, False, False, True]
    assert not table.gapless
    assert word_start_table(byte_level(BYTE_WORDS), "marker").gapless


def test_a_tokenizer_without_marker_is_a_user_error() -> None:
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=Tokenizer(WordLevel({"a": 0, "##b": 1}, unk_token="a")))
    with pytest.raises(UserError, match="marks no word starts"):
        word_start_table(tokenizer, "marker")


def test_an_unknown_kind_is_a_user_error() -> None:
    with pytest.raises(UserError, match="did you mean 'marker'"):
        word_start_table(byte_level(BYTE_WORDS), "markr")


def test_pieces_spell_what_they_add_to_the_text() -> None:
    tokenizer = byte_level(BYTE_WORDS)
    pieces = read_pieces(tokenizer)
    text = "  world... 42 日 да\n\n    (word"
    ids = tokenizer.encode(text)
    assert pieces.text([*ids, tokenizer.eos_token_id]) == text
    assert pieces.readable(tokenizer.convert_tokens_to_ids("Ġworld")) == " world"
    assert pieces.readable(tokenizer.convert_tokens_to_ids("ĠæĹ")) == " \ufffd"
    assert pieces.spelled(10**6) == b""
    other = sentencepiece(["▁world"])
    assert read_pieces(other).text(other.encode("  world 日\n", add_special_tokens=False)) == "  world 日\n"


EMBEDDED = Path(str(resources.files("taboo_cluster"))) / "embedded" / "tiny-base"


@pytest.mark.parametrize("name", ["SmolLM2-135M-Instruct", "gemma-3-270m", "tiny-base"])
def test_real_tokenizers(name: str) -> None:
    folder = EMBEDDED if name == "tiny-base" else Path(os.environ.get("TABOO_MODELS", "")) / name
    if not (folder / "tokenizer.json").is_file():
        pytest.skip(f"no tokenizer of {name} (set TABOO_MODELS to a folder of models)")
    tokenizer = AutoTokenizer.from_pretrained(folder)
    table, pieces = word_start_table(tokenizer, "marker"), read_pieces(tokenizer)
    marker = "▁" if name.startswith("gemma") else "Ġ"
    assert pieces.marker == marker

    text = 'She has 42 apples, "and" (maybe)\n\n    more ... in the end.'
    ids = tokenizer.encode(text, add_special_tokens=False)
    begun = [pieces.readable(i) for i in ids if table.start[0, i]]
    assert pieces.text(ids) == text
    assert all(word.startswith(" ") and any(c.isalnum() for c in word) for word in begun)
    for piece, start in {"the": True, "in": True, "...": False, "": False}.items():
        token_id = tokenizer.get_vocab().get(marker + piece)
        assert token_id is None or bool(table.start[0, token_id]) == start
    assert table.start.sum() > 50

    assert not (table.start[0] & table.special).any()
    assert table.special[tokenizer.eos_token_id]
    white = [i for i, piece in enumerate(pieces.raw) if piece and not pieces.readable(i).strip()]
    assert not table.start[0, torch.tensor(white)].any()
