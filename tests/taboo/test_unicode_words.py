"""Word starts by UAX #29, on spelled-out token sequences and on the vocabularies of both kinds of tokenizer."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import regex
import torch
from hypothesis import given
from hypothesis import strategies as st
from tiny_tokenizers import byte_level, sentencepiece
from transformers import AutoTokenizer, PreTrainedTokenizerBase

from taboo_cluster.taboo.unicode_words import Kind, State, effect, kind, kinds_of, likely
from taboo_cluster.taboo.word_start import TAIL, WordStartTable, word_start_table


def begun(tokens: list[str | bytes], before: str = "") -> list[str | bytes]:
    """Of tokens in a row after a text, those that begin a word."""
    state = int(State.OUTSIDE)
    found = []
    for token in [before, *tokens]:
        spelled = token.encode() if isinstance(token, str) else token
        begins, ends = effect(kinds_of(spelled))
        if begins[state]:
            found.append(token)
        state = ends[state]
    return found[1:] if before and found[:1] == [before] else found


@pytest.mark.parametrize(
    ("tokens", "expected"),
    [
        # what the marker misses: the first token, after punctuation, quotes and newlines, numbers
        (["Hello", " world"], ["Hello", " world"]),
        (["end", ".", "\n\n", "Next"], ["end", "Next"]),
        (["x", "\n", "y"], ["x", "y"]),
        ([" said", ' "', "Yes", '"'], [" said", "Yes"]),
        # B4, B5: a number after a lone space, once; digits of one number
        ([" is", " ", "42"], [" is", "42"]),
        ([" ", "123", "4"], ["123"]),
        ([" ", " ", "word"], ["word"]),
        ([" 3", ".", "14"], [" 3"]),
        ([" 1", ",", "000", ",", "5"], [" 1"]),
        ([" 1", ", ", "2"], [" 1", "2"]),
        ([" $", "5"], ["5"]),
        # B8
        ([" (word"], [" (word"]),
        (["(word"], ["(word"]),
        (['"word'], ['"word']),
        (["#comment"], ["#comment"]),
        (["\tb"], ["\tb"]),
        (["\u00a0x"], ["\u00a0x"]),
        ([" it", "'s"], [" it"]),
        ([" it", "\u2019", "s"], [" it"]),
        ([" don", "'", "t"], [" don"]),
        ([" '", "some", "'"], ["some"]),
        ([" a", "-b"], [" a"]),
        ([" a", "-", "b"], [" a"]),
        ([" co", "-", "op", "-", "ed"], [" co"]),
        ([" a", "--", "b"], [" a", "b"]),
        ([" -", "b"], ["b"]),
        ([" word", "("], [" word"]),
        ([" word", "(x"], [" word", "(x"]),
        # B12: inside a word
        ([" para", "doxical"], [" para"]),
        ([" e", ".", "g", "."], [" e"]),
        # identifiers
        ([" foo", "_", "bar"], [" foo"]),
        ([" _", "bar"], ["bar"]),
        ([" snake_case", "_x1"], [" snake_case"]),
        # punctuation, white space and symbols alone never
        ([".", " ...", "\n", "  ", " $", " \u2192"], []),
        # a token of several words counts once, by its first
        ([" of the"], [" of the"]),
        (["x", "y z"], ["x"]),
    ],
)
def test_english(tokens: list[str | bytes], expected: list[str | bytes]) -> None:
    assert begun(tokens) == expected


@pytest.mark.parametrize(
    ("tokens", "expected"),
    [
        # Japanese: each Chinese character and each Hiragana, Katakana by runs
        (["日本", "語", "の", "カタ", "カナ", "、", "テスト"], ["日本", "語", "の", "カタ", "テスト"]),
        # Thai: runs of the script, marks included
        (["ภาษา", "ไทย", " ", "ส", "\u0e27\u0e31", "สดี"], ["ภาษา", "ส"]),
        # Arabic, with a combining mark and an article that is part of the word
        (["مر", "حبا", " بال", "عالم", "\u064b"], ["مر", " بال"]),
        # Hindi: a letter, its sign and a virama are one word
        (["नम", "स्ते", " दु", "\u0928\u093f", "या"], ["नम", " दु"]),
        # Korean, Cyrillic, Greek, German
        (["안녕", "하세요", " 세계"], ["안녕", " 세계"]),
        ([" при", "вет", ",", " мир"], [" при", " мир"]),
        ([" Straße", "n", "bahn"], [" Straße"]),
        # emoji are no words; what follows one is
        (["😀", " hi", "👩\u200d👧", "ok"], [" hi", "ok"]),
        # composed from letter and accent
        ([" e\u0301", "te"], [" e\u0301"]),
    ],
)
def test_other_scripts(tokens: list[str | bytes], expected: list[str | bytes]) -> None:
    assert begun(tokens) == expected


def test_b12_the_end_of_the_prompt_decides_about_the_first_token() -> None:
    assert begun(["doxical"], before="A para") == []
    assert begun(["doxical"], before="A para ") == ["doxical"]
    assert begun(["s"], before="it'") == []
    assert begun(["5"], before="3.") == []


def test_b6_only_a_first_byte_may_start_a_word() -> None:
    day = "日".encode()
    assert begun([day[:1], day[1:2], day[2:], " x"]) == [day[:1], " x"]
    assert begun([day[:2], day[2:], day[:1], day[1:]]) == [day[:2], day[:1]]
    assert all(kinds_of(bytes([byte])) == () for byte in range(0x80, 0xC0))


@pytest.mark.parametrize(
    ("lead", "expected"),
    [
        ("日", Kind.IDEOGRAPH),
        ("д", Kind.LETTER),
        ("é", Kind.LETTER),
        ("न", Kind.LETTER),
        ("ไ", Kind.SPACELESS),
        ("カ", Kind.KATAKANA),
        ("—", Kind.OTHER),
        ("£", Kind.OTHER),
    ],
)
def test_what_a_character_cut_off_most_likely_is(lead: str, expected: Kind) -> None:
    text = lead.encode()
    assert likely(text[:-1]) == expected


def test_a_four_byte_character_is_taken_for_a_symbol_at_its_first_byte() -> None:
    emoji = "😀".encode()
    assert begun([emoji[:1], emoji[1:], "ok"]) == ["ok"]
    assert begun([emoji[:2], emoji[2:], "ok"]) == ["ok"]


@given(st.text(st.characters(exclude_categories=["Cs"], max_codepoint=0x2FF), max_size=30), st.data())
def test_where_a_text_is_cut_does_not_matter(text: str, data: st.DataObject) -> None:
    """Cut anywhere, a text leaves the same state, and no cut makes a word start that was none."""
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=6)))
    parts = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    _, whole = effect(kinds_of(text.encode()))
    state = int(State.OUTSIDE)
    for part in parts:
        state = effect(kinds_of(part.encode()))[1][state]
    assert state == whole[State.OUTSIDE]


@given(st.text(st.sampled_from("aB1 .,'_\u00e9\u0301:;\n日カ"), max_size=20))
def test_single_characters_start_words_where_the_standard_does(text: str) -> None:
    """Against the boundaries of the regex library, leaving out what is tailored (hyphens, scripts without spaces)."""
    boundaries = {match.start() for match in regex.finditer(r"(?w)\b", text)} | {0}
    segments = [text[a:b] for a, b in zip(sorted(boundaries), [*sorted(boundaries)[1:], len(text)], strict=True)]
    expected, place = set(), 0
    for segment in segments:
        first = next((i for i, c in enumerate(segment) if regex.match(r"[\p{L}\p{N}]", c)), None)
        if first is not None:
            expected.add(place + first)
        place += len(segment)
    state, found = int(State.OUTSIDE), set()
    for index, character in enumerate(text):
        begins, ends = effect(kinds_of(character.encode()))
        if begins[state]:
            found.add(index)
        state = ends[state]
    assert found == expected


@pytest.mark.parametrize(
    ("character", "expected"),
    [
        *(("a", "LETTER"), ("א", "LETTER"), ("7", "DIGIT"), ("ア", "KATAKANA"), ("ก", "SPACELESS")),
        *(("ひ", "IDEOGRAPH"), ("½", "IDEOGRAPH"), ("_", "CONNECTOR"), (":", "MID_LETTER"), (";", "MID_DIGIT")),
        *((".", "MID_BOTH"), ("'", "MID_BOTH"), ("-", "HYPHEN"), ("\u0301", "TRANSPARENT"), (" ", "OTHER")),
        *(("!", "OTHER"), ("€", "OTHER")),
    ],
)
def test_kinds_of_characters(character: str, expected: str) -> None:
    assert kind(character) is Kind[expected]


# tables of tokenizers


def starting(table: WordStartTable, tokenizer: PreTrainedTokenizerBase, pieces: list[str]) -> list[str]:
    """Of pieces in a row, those that begin a word."""
    ids = tokenizer.convert_tokens_to_ids(pieces)
    tails = torch.tensor([[*[-1] * TAIL, *ids[:n]][-TAIL:] for n in range(len(ids))])
    flags = table.start[table.state(tails), torch.tensor(ids)].tolist()
    return [piece for piece, flag in zip(pieces, flags, strict=True) if flag]


def test_a_byte_level_vocabulary() -> None:
    tokenizer = byte_level(["Ġworld", "Next", "ĊĊ", "'s", "Ġit", "æĹ¥"])
    table = word_start_table(tokenizer, "unicode")
    assert starting(table, tokenizer, ["Next", "Ġworld", "ĊĊ", "Next", "Ġit", "'s", "æ", "Ĺ", "¥", "æĹ¥"]) == [
        *("Next", "Ġworld", "Next", "Ġit", "æ", "æĹ¥")
    ]


def test_b1_a_sentencepiece_vocabulary_and_its_byte_tokens() -> None:
    tokenizer = sentencepiece(["▁hello", "world", "▁world", "▁▁"])
    table = word_start_table(tokenizer, "unicode")
    assert starting(table, tokenizer, ["▁hello", "world", "▁world", "▁▁", "world"]) == ["▁hello", "▁world", "world"]
    assert starting(table, tokenizer, ["▁hello", "<0x0A>", "<0xE6>", "<0x97>", "<0xA5>"]) == ["▁hello", "<0xE6>"]


def test_b12_special_tokens_begin_no_word_and_the_text_starts_afresh_after_one() -> None:
    tokenizer = byte_level(["Ġpara", "dox"], special=("<|end|>",))
    table = word_start_table(tokenizer, "unicode")
    assert starting(table, tokenizer, ["Ġpara", "dox", "<|end|>", "dox"]) == ["Ġpara", "dox"]


def test_b11_ids_that_are_no_tokens_start_the_text_afresh() -> None:
    tokenizer = byte_level(["Ġpara", "dox"])
    table = word_start_table(tokenizer, "unicode")
    para, dox = tokenizer.convert_tokens_to_ids(["Ġpara", "dox"])
    states = table.state(torch.tensor([[para], [-1], [len(table) + 3]]))
    assert table.start[states, dox].tolist() == [False, True, True]


@pytest.mark.parametrize("name", ["SmolLM2-135M-Instruct", "gemma-3-270m"])
def test_a_real_tokenizer_starts_the_words_of_a_text_wherever_it_cuts_them(name: str) -> None:
    folder = Path(os.environ.get("TABOO_MODELS", "")) / name
    if not (folder / "tokenizer.json").is_file():
        pytest.skip(f"no tokenizer of {name} (set TABOO_MODELS to a folder of models)")
    tokenizer = AutoTokenizer.from_pretrained(folder)
    table = word_start_table(tokenizer, "unicode")
    text = 'Well, it\'s 42 (or "more"):\n\n- a-b costs $1,000.50; ask_me about naïve Übungen.'
    ids = tokenizer(text, add_special_tokens=False).input_ids
    tails = torch.tensor([[*[-1] * TAIL, *ids[:n]][-TAIL:] for n in range(len(ids))])
    count = int(table.start[table.state(tails), torch.tensor(ids)].sum())
    # Well it's 42 or more a-b costs 1,000.50 ask_me about naïve Übungen
    assert count == 12
