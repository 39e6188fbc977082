"""What is recorded of interventions, by hand."""

from collections.abc import Sequence

import pytest
from tiny_tokenizers import byte_level, sentencepiece
from transformers import PreTrainedTokenizerFast

from taboo_cluster.engines.base import Generation, Step
from taboo_cluster.taboo.detours import Detour, generation, leaks
from taboo_cluster.taboo.pieces import read_pieces
from taboo_cluster.taboo.word_start import word_start_table

BYTE = byte_level(
    ["ĠLondon", "Ġlondon", "don", "don't", "Ġthe", "Ġthem", "Ġmany", "Ġ4", "42", "city", "er", "Ġcafe", "ĠIN"]
)
PIECE = sentencepiece(["▁London", "don", "er", "▁the"])


def ids(pieces: Sequence[str], tokenizer: PreTrainedTokenizerFast = BYTE) -> list[int]:
    found = [tokenizer.convert_tokens_to_ids(piece) for piece in pieces]
    assert None not in found
    assert tokenizer.unk_token_id is None or tokenizer.unk_token_id not in found
    return found


def leak(masked: str, following: Sequence[str], tokenizer: PreTrainedTokenizerFast = BYTE) -> bool:
    return leaks(ids([masked], tokenizer)[0], ids(following, tokenizer), read_pieces(tokenizer))


@pytest.mark.parametrize("after", [[], ["Ġthe"], [","], ["Ċ"], ["<|end|>", "er"]])
def test_b14_other_pieces_that_spell_the_masked_word_are_a_leak(after: list[str]) -> None:
    assert leak("ĠLondon", ["ĠLon", "don", *after])


def test_b14_in_sentencepiece() -> None:
    assert leak("▁London", ["▁Lon", "don", "▁the"], PIECE)
    assert leak("▁London", ["▁", "L", "o", "n", "don"], PIECE)
    assert not leak("▁London", ["▁Lon", "don", "er"], PIECE)


def test_case_does_not_hide_a_leak() -> None:
    assert leak("ĠLondon", ["Ġlondon"])
    assert leak("Ġlondon", ["ĠL", "o", "n", "don"])


@pytest.mark.parametrize(
    ("masked", "following"),
    [
        ("Ġthe", ["Ġmany", "Ġthe"]),  # later, not in its place
        ("Ġthe", ["Ġthem"]),  # another word that begins alike
        ("Ġthe", ["Ġth", "e", "m"]),
        ("Ġ4", ["Ġ", "42"]),  # another number
        ("ĠLondon", ["ĠLon", "don", "er"]),
        ("ĠLondon", ["L", "o", "n", "don"]),  # without its space
        ("ĠLondon", ["ĠLon"]),  # cut off
        ("ĠLondon", ["ĠLon", "<|end|>", "don"]),
    ],
)
def test_what_is_no_leak(masked: str, following: list[str]) -> None:
    assert not leak(masked, following)


def test_a_combining_mark_goes_on_with_the_word() -> None:
    acute = ["Ì", "ģ"]  # U+0301, in bytes
    assert leak("Ġcafe", ["Ġca", "f", "e", ","])
    assert not leak("Ġcafe", ["Ġca", "f", "e", *acute])


def told(pieces: list[str], detours: list[Detour], finish_reason: str = "length", skipped: int = 0) -> Generation:
    table = word_start_table(BYTE, "marker")
    return generation("text", (), ids(pieces), finish_reason, detours, skipped, read_pieces(BYTE), table)


def detour(position: int, nominal: str, emitted: str, tied: bool = False) -> Detour:
    return Detour(position, *ids([nominal, emitted]), emitted_rank=2, bits=1.5, tied=tied)


def test_a_generation_with_its_steps() -> None:
    pieces = ["city", "Ġmany", "don", "Ġthem"]
    detours = [detour(1, "Ġthe", "Ġmany", tied=True), detour(2, "ĠLondon", "don"), detour(4, "Ġthe", "Ġmany")]
    result = told(pieces, detours, skipped=3)
    assert result == Generation(
        text="text",
        token_ids=tuple(ids(pieces)),
        finish_reason="length",
        steps=(
            Step(1, ids(["Ġthe"])[0], " the", ids(["Ġmany"])[0], " many", 2, 1.5),
            Step(2, ids(["ĠLondon"])[0], " London", ids(["don"])[0], "don", 2, 1.5),
        ),
        skipped_steps=3,
        tie_steps=1,
        glued=1,
        stopped_by_detour=False,
        taboo_leak=False,
    )


def test_a_detour_that_ends_the_text() -> None:
    end = detour(1, "Ġthe", "<|end|>")
    assert told(["city", "<|end|>"], [end], "stop").stopped_by_detour
    assert told(["city", "<|end|>"], [end], "stop").glued == 1
    assert not told(["city", "<|end|>"], [detour(0, "Ġthe", "city")], "stop").stopped_by_detour
    assert not told(["city", "Ġmany"], [detour(1, "Ġthe", "Ġmany")], "length").stopped_by_detour


def test_one_leak_is_enough() -> None:
    pieces = ["Ġmany", "ĠLon", "don"]
    assert told(pieces, [detour(0, "Ġthe", "Ġmany"), detour(1, "ĠLondon", "ĠLon")]).taboo_leak
    assert not told(pieces, [detour(0, "Ġthe", "Ġmany"), detour(1, "Ġthe", "ĠLon")]).taboo_leak
