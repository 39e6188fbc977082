"""What no perturbation of words touches."""

from __future__ import annotations

import pytest
from perturbed_texts import FUNCTION

from taboo_cluster.perturbations.protected import Protection


def free_words(text: str, words: str | None = None) -> list[str]:
    """The chunks with a free character, those characters alone."""
    protection = Protection(text, words)
    kept = [
        "".join(text[place] for place in range(start, end) if protection.free(place, place + 1))
        for start, end in protection.chunks
    ]
    return [word for word in kept if word]


@pytest.mark.parametrize(
    ("text", "free"),
    [
        ("", []),
        (" \n\t", []),
        ("The hens cluck.", ["The", "hens", "cluck."]),
        # numbers, with all that hangs on them
        ("pay $7.50, or 3.14, 1,000 1/2 60% (12) 5-mile 3rd 9:40 1e-5 then", ["pay", "or", "then"]),
        ("ask three of them twice, twenty-five or one-third", ["ask", "of", "them", ",", "or"]),
        # units
        ("ran 5 km at 60 km/h in 2 hours and 30 min.", ["ran", "at", "in", "and", "."]),
        ("the min value in kg", ["the", "min", "value", "in", "kg"]),
        # formulas
        ("solve x^2 + 3x = 5 for x in Z_3[x] now", ["solve", "for", "in", "now"]),
        ("let speed = distance / time here", ["let", "here"]),
        ("take a * b or a - b and H2O", ["take", "or", "and"]),
        ("a well - known man", ["a", "well", "known", "man"]),
        # LaTeX
        (r"find $x + y$ and \(a b\) and \frac{a b}{c} and $$u v$$ too", ["find", "and", "and", "and", "too"]),
        ("for $5 and then $6 more", ["for", "and", "then"]),
        # addresses, placeholders, identifiers
        (
            "see https://a.b/c?d=e, www.x.org or me@x.org, [Your Name], {name}, <id>, %s, snake_case, camelCase __",
            ["see", "or"],
        ),
        # code
        ("run `a b c` now\n```\nfor i in x\n```\nend", ["run", "now", "end"]),
        ("Look:\nx = the list\nif (a < b):\n  print(a);\n}\nWhat is it?", ["Look:", "What", "is", "it?"]),
        # capitals
        ("Which is NOT (A) or B. DNA's iPhone pH MRNAs I", ["Which", "is", "or"]),
        # what a fact hangs on
        ("none can't won’t never, each more than 'all' nor without half", [",", "''"]),
        # hyphens, dashes, quotation marks, apostrophes
        (
            "“Well-kept—really” (o'clock) 'tis ‘so’ farmers'",
            ["“Well-kept—really”", "(o'clock)", "'tis", "‘so’", "farmers'"],
        ),
        # other scripts are prose, emoji and mixtures with digits are not
        ("été नमस्ते 日本語 👩‍👩‍👧 第3章", ["été", "नमस्ते", "日本語"]),
        ("« point d'interrogation\u00a0? »", ["point", "d'interrogation"]),
    ],
)
def test_free_text(text: str, free: list[str]) -> None:
    assert free_words(text) == free


@pytest.mark.parametrize(
    "text", ["192.168.1.1", "0.0.16", "$7.50", "3.14", "1,000", "1/2", "60%", "$7.50,", "(3.14)", "1,000."]
)
def test_i1_numbers_are_protected_whole(text: str) -> None:
    assert free_words(f"so {text} is") == ["so", "is"]


@pytest.mark.parametrize(
    ("text", "gap"),
    [("run 5 km", "5 km"), ("x = 3", "x = 3"), ("about 1 000 000 men", "1 000 000"), ("is at 5 \t pm", "5 \t pm")],
)
def test_white_space_between_two_protected_chunks(text: str, gap: str) -> None:
    start = text.index(gap)
    assert not any(Protection(text).free(place, place + 1) for place in range(start, start + len(gap)))


def test_white_space_beside_a_free_chunk_is_free() -> None:
    assert Protection("has 16 eggs").free(3, 4)
    assert Protection("has 16 eggs").free(6, 7)


@pytest.mark.parametrize(
    ("words", "free"),
    [
        (None, ["The", "dog.", "and", "the", "dogs", "say", "woof"]),
        ("dog.", ["The", "and", "the", "dogs", "say", "woof"]),
        ("dog", ["The", ".", "and", "the", "dogs", "say", "woof"]),
        ("[id] woof the", ["The", "dog.", "and", "dogs", "say"]),
    ],
)
def test_i3_words_to_protect_stay_whole(words: str | None, free: list[str]) -> None:
    assert free_words("The dog. and the dogs say woof [id]", words) == free


def test_i13_of_python_source_only_prose_is_free() -> None:
    free = " ".join(free_words(FUNCTION))
    assert free == "Return the length of the given parts, those above the . The names and stay."


def test_python_source_keeps_names_in_prose() -> None:
    text = (
        'def area(width):\n    """Area of a figure of that width, or None; \'no name\'.\n    area(3) is 9.\n    """\n'
    )
    assert free_words(text) == ["Area", "of", "a", "figure", "of", "that", ",", "or", ";", "."]


def test_text_that_only_looks_like_python() -> None:
    assert free_words("def what(is this)\nand more text") == ["def", "this)", "and", "text"]
