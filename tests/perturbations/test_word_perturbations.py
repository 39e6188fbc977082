"""Typos, stop words, spaces: exact texts, and the faults of REPORTS I."""

from __future__ import annotations

import numpy as np
import pytest
from perturbed_texts import FUNCTION, item, made

from taboo_cluster.errors import UserError
from taboo_cluster.perturbations.lists.fact_words import FACT_WORDS
from taboo_cluster.perturbations.lists.misspellings import MISSPELLINGS
from taboo_cluster.perturbations.lists.slip_words import SLIP_WORDS
from taboo_cluster.perturbations.lists.stop_words import STOP_WORDS
from taboo_cluster.perturbations.slips import KINDS, slip, slips
from taboo_cluster.perturbations.stack import canonical, members, perturb, variant_seed
from taboo_cluster.perturbations.word import WordOptions, edited, typos

WORDS = ("typos", "stop_words", "punctuation_spaces", "space_runs", "word_split", "word_merge")
FULL = tuple(f"{name}(rate=1.0)" for name in WORDS)


@pytest.mark.parametrize(
    ("stack", "seed", "text", "expected"),
    [
        (
            "typos(rate=0.5)",
            2,
            "The farmer sells 16 baskets of apples at the market.",
            "The farmer seells 16 basets of apples at the mraket.",
        ),
        (
            "typos(rate=1.0,kind=misspelling)",
            0,
            "The restaurant Receives a SEPARATE package, separately.",
            "The restaraunt Recieves a SEPARATE pakage, seperately.",
        ),
        (
            "typos(rate=1.0,kind=double)",
            0,
            "The cat ate 12 mice daily, not twice",
            "The cat ate 12 miice daily, not twice",
        ),
        ("stop_words", 0, "Josh buys a house in the city for $80,000.", "Josh buys house city for $80,000."),
        ("stop_words", 0, "The cat  is on a mat.", "cat  on mat."),
        ("stop_words", 0, "A dog eats 3 times a day, or is at rest.", "A dog eats 3 times a day, or at rest."),
        ("stop_words", 0, "Is a before b? Is the cat?", "a before b? Is cat?"),
        ("punctuation_spaces", 0, 'She said (twice), "Stop it."', 'She said ( twice ), " Stop it ."'),
        (
            "punctuation_spaces",
            0,
            "Well... yes; it's $7.50, i.e. not much!",
            "Well ... yes ; it's $7.50, i.e. not much !",
        ),
        ("space_runs", 1, "How many eggs are left?", "How many eggs are   left?"),
        ("space_runs(rate=1.0,most=2)", 0, " How many\teggs \n are  left? ", " How  many\teggs \n are   left? "),
        ("word_split(rate=1.0)", 1, "The farmer sells 16 baskets.", "The far mer sel ls 16 bas kets."),
        ("word_split(rate=1.0)", 0, "Take from 1234 cats", "Ta ke fr om 1234 ca ts"),
        ("word_merge(rate=0.5)", 2, "What is left of the cake?", "Whatis left ofthecake?"),
        (
            "word_merge(rate=1.0)",
            0,
            "He has not got 5 of all (the) new cars, in a row.\nIs it  so far?",
            "Hehas not got 5 of all (the) newcars, inarow.\nIsit  sofar?",
        ),
    ],
)
def test_texts(stack: str, seed: int, text: str, expected: str) -> None:
    assert made(stack, text, seed) == expected


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("swap", ["mraket", "makret", "marekt"]),
        ("drop", ["mrket", "maket", "maret", "markt"]),
        ("double", ["maarket", "marrket", "markket", "markeet"]),
        ("misspelling", []),
    ],
)
def test_every_slip_of_a_word(kind: str, expected: list[str]) -> None:
    assert slips("market", kind) == expected


def test_slips_on_the_keyboard() -> None:
    assert slips("Then", "keyboard") == ["Tben", "Tgen", "Tjen", "Tnen", "Tuen", "Tyen", "Thdn", "Thrn", "Thsn", "Thwn"]
    assert slips("cost", "keyboard") == ["cist", "ckst", "clst", "cpst", "codt", "coet", "cowt", "coxt", "cozt"]


def test_slips_keep_grapheme_clusters_whole() -> None:
    assert slips("e\u0301te\u0301s", "swap") == ["e\u0301e\u0301ts"]
    assert slips("e\u0301te\u0301s", "drop") == ["e\u0301e\u0301s", "e\u0301ts"]
    assert slips("e\u0301te\u0301s", "keyboard") == [f"e\u0301{beside}e\u0301s" for beside in "fgry"]


def test_the_draws_choose_kind_and_place() -> None:
    assert KINDS == ("keyboard", "swap", "drop", "double", "misspelling")
    assert slip("market", "any", 0.26, 0.0) == "mraket"
    assert slip("market", "any", 0.26, 0.999) == "marekt"
    assert slip("market", "any", 0.999, 0.5) == "markket"
    assert slip("receive", "any", 0.999, 0.5) == "recieve"
    assert slip("market", "misspelling", 0.0, 0.0) is None


def test_typos_take_the_share_of_words_that_rate_says() -> None:
    class Draws:
        def random(self, shape: tuple[int, int]) -> np.ndarray:
            assert shape == (3, 3)
            return np.array([[0.3, 0.26, 0.0], [0.29, 0.26, 0.0], [0.0, 0.999, 0.0]])

    edits = typos("The market, market; Receive", _typo_options(0.3), Draws())  # type: ignore[arg-type]
    assert edits == [(12, 18, "mraket"), (20, 27, "Recieve")]
    assert edited("The market, market; Receive", edits) == "The market, mraket; Recieve"


def _typo_options(rate: float) -> WordOptions:
    (member,) = members(f"typos(rate={rate})")
    assert isinstance(member.options, WordOptions)
    return member.options


def test_no_slip_makes_another_word() -> None:
    assert "coat" in SLIP_WORDS
    for word in ("cost", "three", "form", "quite", "angle", "trail", "diary", "lives"):
        for kind in KINDS:
            assert not SLIP_WORDS & set(slips(word, kind)), (word, kind)


def test_lists() -> None:
    assert not SLIP_WORDS & set(MISSPELLINGS.values())
    assert not set(MISSPELLINGS) & set(MISSPELLINGS.values())
    assert not STOP_WORDS & FACT_WORDS
    for known in (STOP_WORDS, FACT_WORDS, SLIP_WORDS, MISSPELLINGS):
        assert all(word == word.lower() and word.isalpha() for word in known)


@pytest.mark.parametrize(
    ("stack", "said"),
    [
        ("typos(rate=2)", "rate is a probability from 0 to 1, not 2"),
        ("word_split(rate=-0.1)", "rate is a probability from 0 to 1, not -0.1"),
        ("stop_words(rate=.nan)", "rate is a probability from 0 to 1, not nan"),
        ("typos(rate=much)", "typos.rate must be a number, not 'much'"),
        ("typos(kind=slip)", "typos.kind must be one of any, keyboard, swap, drop, double, misspelling, not 'slip'"),
        ("typos(protect='  ')", "protect names words"),
        ("typos(protect=[id])", "typos.protect must be text"),
        ("typos(words=1)", "unknown key 'perturbation typos.words'"),
        ("space_runs(most=1)", "most is the length of the longest run, 2 or more, not 1"),
    ],
)
def test_options_are_checked(stack: str, said: str) -> None:
    with pytest.raises(UserError) as error:
        members(stack)
    assert said in str(error.value)


def test_options_are_written_so_that_they_can_be_read() -> None:
    written = canonical("typos(protect='[id] dog.')+space_runs")
    assert written == "typos(rate=0.1,protect='[id] dog.',kind=any)→space_runs(rate=0.5,most=5)"
    assert canonical(written) == written
    assert members(written)[0].options.protect == "[id] dog."


@pytest.mark.parametrize("stack", FULL)
@pytest.mark.parametrize("text", ["192.168.1.1", "0.0.16", "$7.50", "3.14", "1,000", "1/2", "60%"])
def test_i1_numbers_are_never_torn(stack: str, text: str) -> None:
    for sentence in (text, f"The price was {text}, they said.", f"({text})", f'"{text}."', f"It was {text}?"):
        for seed in range(3):
            assert text in made(stack, sentence, seed)


def test_i2_typos_change_letters_alone() -> None:
    text = "« Quel est le point d’interrogation\u00a0? » demanda l'élève, été comme hiver\u00a0!"
    for seed in range(20):
        changed = made("typos(rate=1.0)", text, seed)
        letters = [place for place in changed if not place.isalpha()]
        assert letters == [place for place in text if not place.isalpha()]
        assert changed != text


def test_i2_punctuation_that_has_its_spaces_keeps_them() -> None:
    text = "« point d'interrogation\u00a0? »"
    assert made("punctuation_spaces", text) == text


@pytest.mark.parametrize("name", WORDS)
def test_i3_protected_words_stay_whole(name: str) -> None:
    text = 'The dog. And [id] dog. said "Market dog." to them'
    for seed in range(5):
        changed = made(f"{name}(rate=1.0,protect='[id] dog. Market')", text, seed)
        assert changed.count("dog.") == 3
        assert "[id]" in changed
        assert "Market dog." in changed


@pytest.mark.parametrize("stack", FULL)
@pytest.mark.parametrize(
    "text", ["The  quick  fox", "", " ", "x", "a", "the", ".", "\n", "é", "👩‍👩‍👧", "日", "\u0301"]
)
def test_i4_short_and_empty_texts(stack: str, text: str) -> None:
    changed = perturb(item(text), stack, 0)
    assert isinstance(changed.subject.item.question, str)
    assert changed.changed == (changed.subject.item.question != text)
    if len(text) < 2:
        assert not changed.changed


@pytest.mark.parametrize(
    "word", ["NOT", "no", "nor", "not", "never", "without", "more", "less", "than", "each", "every", "all", "A", "B"]
)
@pytest.mark.parametrize("stack", FULL)
def test_i6_words_that_a_question_hangs_on_stay(stack: str, word: str) -> None:
    text = f"Which is {word} a mammal of the sea {word}? The {word} is {word}"
    for seed in range(3):
        assert [one.strip(" ?") for one in made(stack, text, seed).split()].count(word) == 4


@pytest.mark.parametrize("text", ["the", "is the", "The a of in", "the the the"])
def test_i6_something_is_always_left(text: str) -> None:
    assert made("stop_words", text).strip()


@pytest.mark.parametrize("stack", FULL)
def test_i8_line_breaks_and_tabs_stay(stack: str) -> None:
    text = "the market\n\tis near the river\r\n\n  and the\u00a0park\tis far\u2028away"
    for seed in range(3):
        changed = made(stack, text, seed)
        assert [sign for sign in changed if sign.isspace() and sign != " "] == [
            "\n",
            "\t",
            "\r",
            "\n",
            "\n",
            "\u00a0",
            "\t",
            "\u2028",
        ]
        assert made(stack, text, seed) == changed
    assert made(stack, "a\n\tb") == "a\n\tb"


@pytest.mark.parametrize("name", ["typos(rate=0.5)", "space_runs", "word_split(rate=0.5)", "word_merge(rate=0.5)"])
def test_i9_variants_differ(name: str) -> None:
    text = "The farmer carries several baskets over the narrow bridge into the village before the market closes"
    texts = {made(name, text, variant_seed(0, variant)) for variant in range(4)}
    assert len(texts) == 4
    others = {made(name, text, variant_seed(1, variant)) for variant in range(4)}
    assert not texts & others


@pytest.mark.parametrize("stack", [*FULL, "space_runs(rate=1.0)+word_split(rate=1.0)+punctuation_spaces"])
@pytest.mark.parametrize(
    "text", ["What is the", "the market is a", "Where (the market).", "the end ", "to the\nmarket a"]
)
def test_c19_no_white_space_is_added_at_the_ends(stack: str, text: str) -> None:
    changed = made(stack, text)
    assert changed[len(changed.rstrip()) :] == text[len(text.rstrip()) :]
    assert changed[: len(changed) - len(changed.lstrip())] == text[: len(text) - len(text.lstrip())]


@pytest.mark.parametrize("stack", FULL)
def test_i13_code_stays_code(stack: str) -> None:
    changed = made(stack, FUNCTION)
    kept = [
        line for line in FUNCTION.splitlines() if "def " in line or ">>>" in line or "import" in line or "([2])" in line
    ]
    assert [line for line in changed.splitlines() if line in kept] == kept
    assert "'left side'" in changed
    compile(changed, "", "exec")
