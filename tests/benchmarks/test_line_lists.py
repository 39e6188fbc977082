from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from taboo_cluster.benchmarks.line_lists import read_lines, score_lines
from taboo_cluster.benchmarks.line_marks import normalised

POEM = ("Sing, goddess", "1. Of war", "2. Of peace", '"Who goes there?"', "* * *", "- and then he said", "The end:")
DIFF = ("@@ -1,3 +1,3 @@", "-    x = 1", "+    x = 2", "     y = 3", "-- old comment", "+ result: missing", "     }")
HEADINGS = ("Original document", "Changed document")


def known(*documents: Sequence[str]) -> set[str]:
    return {normalised(line) for lines in documents for line in lines}


def read(text: str, document: Sequence[str] = POEM, cut: bool = False) -> tuple[str, ...] | None:
    return read_lines(text, known(document), cut, HEADINGS)


# --- reading ---


@pytest.mark.parametrize(
    ("text", "expected"),
    {
        "Sing, goddess": ["Sing, goddess"],
        "sing, GODDESS\n\n  1. of war  ": ["sing, GODDESS", "1. of war"],
        # marks that belong to a line, and marks of a list
        "1. Of war\n2. Of peace": ["1. Of war", "2. Of peace"],
        "1. 1. Of war\n2. 2. Of peace": ["1. Of war", "2. Of peace"],
        "- 1. Of war\n- Sing, goddess": ["1. Of war", "Sing, goddess"],
        "- and then he said": ["- and then he said"],
        "- - and then he said": ["- and then he said"],
        "* * *": ["* * *"],
        "* Sing, goddess\n* * * *": ["Sing, goddess", "* * *"],
        "• Sing, goddess\n•Made up": ["Sing, goddess", "Made up"],
        "– Sing, goddess": ["Sing, goddess"],
        "> Sing, goddess": ["Sing, goddess"],
        "1) Sing, goddess\n2) 1. Of war": ["Sing, goddess", "1. Of war"],
        "(1) Sing, goddess": ["Sing, goddess"],
        "[12] Sing, goddess": ["Sing, goddess"],
        "Line 3: Sing, goddess\nLine 14: 2. Of peace": ["Sing, goddess", "2. Of peace"],
        "**Line 3:** Sing, goddess": ["Sing, goddess"],
        "1. **Line 3**: *Sing, goddess*": ["Sing, goddess"],
        "Missing line #2: Sing, goddess": ["Sing, goddess"],
        # quotes and emphasis
        '"Sing, goddess"': ["Sing, goddess"],
        '"Who goes there?"': ['"Who goes there?"'],
        '""Who goes there?""': ['"Who goes there?"'],
        "“Sing, goddess”": ["Sing, goddess"],
        "‘Sing, goddess’,": ["Sing, goddess"],
        "«Sing, goddess».": ["Sing, goddess"],
        "„Sing, goddess“": ["Sing, goddess"],
        "`Sing, goddess`": ["Sing, goddess"],
        "```Sing, goddess```": ["Sing, goddess"],
        "**Sing, goddess**": ["Sing, goddess"],
        "1. **1. Of war**": ["1. Of war"],
        '- "Sing, goddess"': ["Sing, goddess"],
        '[\n  "Sing, goddess",\n  "1. Of war"\n]': ["Sing, goddess", "1. Of war"],
        # around the lines
        "Here are the missing lines:\n\nSing, goddess": ["Sing, goddess"],
        "**Missing lines:**\nSing, goddess": ["Sing, goddess"],
        "## Missing lines\n- Sing, goddess": ["Sing, goddess"],
        'The missing line is: "Sing, goddess"': ["Sing, goddess"],
        "The following lines were removed: Sing, goddess": ["Sing, goddess"],
        "Sure! I compared both texts.\n\n1. Sing, goddess\n2. Made up\n\nLet me know!": ["Sing, goddess", "Made up"],
        "The end:\nSing, goddess": ["The end:", "Sing, goddess"],
        "Sing, goddess\nMade up": ["Sing, goddess", "Made up"],
        "- Sing, goddess\n- none": ["Sing, goddess"],
        # in spaces other than the document's
        "S i n g , g o d d e s s": ["S i n g , g o d d e s s"],
        "1 . O f w a r": ["1 . O f w a r"],
        "1.Of war": ["1.Of war"],
        "- 1 .  Of war": ["1 .  Of war"],
        # fences
        "```\nSing, goddess\n```": ["Sing, goddess"],
        "Lines:\n```text\nSing, goddess\nMade up: up\n```\nThat is all.": ["Sing, goddess", "Made up: up"],
        "```\nThe end:\n```\nNo, it is\n```\nSing, goddess\n```\n```\n```": ["Sing, goddess"],
        "~~~\nSing, goddess\n~~~": ["Sing, goddess"],
        "```\nSing, goddess": ["Sing, goddess"],
        # blocks
        "I look.\n<lines>\nSing, goddess\n</lines>": ["Sing, goddess"],
        "In <lines> tags: <LINES>Sing, goddess\nMade up</LINES> Done.": ["Sing, goddess", "Made up"],
        "<lines>The end:</lines> Wait. <lines>Sing, goddess</lines>": ["Sing, goddess"],
        "<lines>\n```\nSing, goddess\n```\n</lines>": ["Sing, goddess"],
        "<lines>\nSing, goddess": ["Sing, goddess"],
        "</lines> <lines>Sing, goddess": ["Sing, goddess"],
        # reasoning, and documents that go on
        "<think>\nThe end:\n</think>\n\nSing, goddess": ["Sing, goddess"],
        "Sing, goddess\n\nOriginal document:\nThe end:": ["Sing, goddess"],
        "Sing, goddess\n### **Changed document 2**\n1. Of war": ["Sing, goddess"],
    }.items(),
)
def test_lines_that_an_answer_names(text: str, expected: list[str]) -> None:
    assert read(text) == tuple(expected)


@pytest.mark.parametrize(
    "text",
    [
        "none",
        "None.",
        "(none)",
        "**None**",
        "- none",
        "[]",
        "N/A",
        "n/a",
        "Nothing",
        "No lines",
        "No lines are missing.",
        "No missing lines.",
        "There are no missing lines in the second version.",
        "There are no lines missing",
        "Nothing was removed.",
        "None of the lines were removed.",
        "Missing lines: none",
        "Here are the missing lines:\n\nNone.",
        "Both documents are identical.",
        "The two versions are exactly the same.",
        "```\n```",
        "```\nnone\n```",
        "I compared them.\n```\n\n```",
        "<lines></lines>",
        "<lines>\n(none)\n</lines>",
        "<think>Sing, goddess?</think> none",
    ],
)
def test_an_answer_that_there_are_none(text: str) -> None:
    assert read(text) == ()
    assert score_lines((), ["Sing, goddess"], [], text).numbers["named"] == 0


@pytest.mark.parametrize(
    "text",
    [
        "",
        " \n\u200b\n",
        "<think>Sing, goddess",
        "<think>Sing, goddess</think>\n",
        "I'm sorry, but I can't compare these texts.",
        "As an AI language model, I do not see the documents.",
        "Here are the missing lines:",
    ],
)
def test_an_answer_that_cannot_be_read(text: str) -> None:
    assert read(text) is None


def test_what_looks_like_a_phrase_of_the_answer_is_a_line_where_it_is_the_documents() -> None:
    document = ["None.", "No lines are missing.", "Here are the missing lines:", "I cannot answer, she said"]
    assert read("\n".join(document), document) == tuple(document)


def test_a_heading_that_is_a_line_or_opens_the_answer_does_not_end_it() -> None:
    assert read("Original document:\nSing, goddess") == ("Original document:", "Sing, goddess")
    document = ["Sing, goddess", "Original documents are kept"]
    assert read("\n".join(document), document) == tuple(document)


@pytest.mark.parametrize(
    ("text", "expected"),
    {
        "-    x = 1\n+    x = 2": ["-    x = 1", "+    x = 2"],
        "```diff\n-    x = 1\n+    x = 2\n```": ["-    x = 1", "+    x = 2"],
        "- -    x = 1\n- y = 3": ["-    x = 1", "y = 3"],
        "1. `-    x = 1`\n2. `+    x = 2`": ["-    x = 1", "+    x = 2"],
        "- old comment": ["old comment"],
        "- x = 1": ["- x = 1"],
        "+ result: missing": ["+ result: missing"],
        # lines of no document stay beside those that are
        "-    x = 1\n+    x = 4\n-    z = 4": ["-    x = 1", "+    x = 4", "z = 4"],
        "}": ["}"],
    }.items(),
)
def test_marks_of_a_diff_stay(text: str, expected: list[str]) -> None:
    assert read(text, DIFF) == tuple(expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Sing, goddess\n1. Of w", ("Sing, goddess",)),
        ("Sing, goddess\n1. Of war\n", ("Sing, goddess", "1. Of war")),
        ("Sing, goddess", None),
        ("none", None),
        ("none\n", ()),
        ("- Sing, goddess\n- 1. O", ("Sing, goddess",)),
        ("```\nSing, goddess\n1. Of", ("Sing, goddess",)),
        ("```\nSing, goddess\n```", ("Sing, goddess",)),
        ("```\nSing, goddess\n```\nThe end", ("Sing, goddess",)),
        ("```\nSing", None),
        ("```", None),
        ("<lines>\nSing, goddess\n1. Of", ("Sing, goddess",)),
        ("<lines>\nSing", None),
        ("<lines>Sing, goddess</lines> and", ("Sing, goddess",)),
        ("<lines></lines>", ()),
        ("<think>Sing, goddess\n", None),
        # the model had ended its answer, and was stopped in a document of its own
        ("Sing, goddess\n\nOriginal document:\nThe e", ("Sing, goddess",)),
    ],
)
def test_a_text_stopped_by_length(text: str, expected: tuple[str, ...] | None) -> None:
    assert read(text, cut=True) == expected


LINE = st.text(st.characters(exclude_characters="\n\r`<~", exclude_categories=["Cs", "Cc"]), min_size=1).filter(
    normalised
)
STYLES: dict[str, Callable[[list[str]], list[str]]] = {
    "plain": lambda lines: lines,
    "hyphens": lambda lines: [f"- {line.strip()}" for line in lines],
    "stars": lambda lines: [f"* {line.strip()}" for line in lines],
    "dots": lambda lines: [f"  • {line}" for line in lines],
    "numbers": lambda lines: [f"{n}. {line.strip()}" for n, line in enumerate(lines, 1)],
    "labels": lambda lines: [f"Line {n}: {line.strip()}" for n, line in enumerate(lines, 1)],
    "quotes": lambda lines: [f'"{line.strip()}"' for line in lines],
    "curly": lambda lines: [f"“{line.strip()}”" for line in lines],
    "bold": lambda lines: [f"- **{line.strip()}**" for line in lines],
    "fence": lambda lines: ["Here they are:", "", "```text", *lines, "```", "Done."],
    "block": lambda lines: ["I see.", "<lines>", *lines, "</lines>"],
}


@given(st.lists(LINE, min_size=1, max_size=8), st.sampled_from(sorted(STYLES)))
def test_lines_written_in_any_style_of_list_are_read_back(lines: list[str], style: str) -> None:
    written = STYLES[style](lines)
    document = known(lines)
    if style not in ("plain", "fence", "block"):  # a mark that makes another line of the document is ambiguous
        assume(not any(normalised(line) in document for line in written))
    found = read_lines("\n".join(written), document, False)
    assert found is not None
    assert list(map(normalised, found)) == list(map(normalised, lines))


@given(st.text(), st.sets(st.text().map(normalised)), st.booleans())
def test_no_text_is_too_odd_to_be_read(text: str, document: set[str], cut: bool) -> None:
    found = read_lines(text, document, cut, HEADINGS)
    if found is not None:
        assert all(normalised(line) for line in found)
        score_lines(found, sorted(document), [], text)


PIECES = (
    "<lines>",
    "</lines>",
    "```",
    "~~~",
    "- ",
    "* ",
    "1. ",
    "(",
    ")",
    '"',
    "none",
    "no lines missing ",
    ":",
    "\n",
    "a",
)


@given(st.lists(st.sampled_from(PIECES), max_size=60).map("".join), st.booleans())
def test_no_answer_made_of_marks_is_too_odd_to_be_read(text: str, cut: bool) -> None:
    found = read_lines(text, {"a", "- a"}, cut, HEADINGS)
    assert found is None or all(normalised(line) for line in found)


@pytest.mark.parametrize(
    "piece",
    [
        "a",
        " ",
        "\n",
        "- ",
        "-",
        "1. ",
        "**",
        '"',
        "`",
        "</lines>",
        "no ",
        "no lines ",
        "line ",
        ":",
        "there are no ",
        "(",
        "none\n",
        "# ",
        "a: ",
        "missing: ",
        "i am sorry ",
    ],
)
def test_a_line_is_found_after_a_million_characters_of_nonsense(piece: str) -> None:
    found = read(piece * (1_000_000 // len(piece)) + "\nSing, goddess")
    assert found is not None
    assert found[-1] == "Sing, goddess"


# --- scoring ---

TARGETS = ("Of war", "of peace", "}", "Sing, goddess")


@pytest.mark.parametrize(
    ("named", "targets", "hits", "named_count", "hits_nospace"),
    [
        # exact, in any order
        (["Of war", "of peace", "}", "Sing, goddess"], TARGETS, 4, 4, 4),
        (["Sing, goddess", "}"], TARGETS, 2, 2, 2),
        # case, and spaces around
        (["OF WAR", "  Of Peace\t"], TARGETS, 2, 2, 2),
        (["Strasse"], ["STRAßE"], 1, 1, 1),
        # spaces inside
        (["Ofwar", "O f p e a c e"], TARGETS, 0, 2, 2),
        (["Of\u00a0war", "of\u3000peace"], TARGETS, 0, 2, 2),
        # the same line several times
        (["}", "}", "}"], TARGETS, 1, 3, 1),
        (["}", "}", "}"], ["}", "}"], 2, 3, 2),
        (["}"], ["}", "}"], 1, 1, 1),
        (["} ", "}"], ["}", "} "], 2, 2, 2),
        # lines that are no targets
        (["Of war", "made up", "of pea"], TARGETS, 1, 3, 1),
        # blank lines
        (["", " ", "\u200b", "Of war"], [*TARGETS, "", "  "], 1, 1, 1),
        # nothing named
        ([], TARGETS, 0, 0, 0),
        ([], [], 0, 0, 0),
        (["Of war"], [], 0, 1, 0),
        # different lines that are the same without their spaces
        (["ab", "a b"], ["a b", "a  b"], 1, 2, 2),
    ],
)
def test_hits_are_counted_by_distinct_line(
    named: list[str], targets: Sequence[str], hits: int, named_count: int, hits_nospace: int
) -> None:
    score = score_lines(named, targets, [], "")
    gold = sum(bool(line.strip()) for line in targets)
    assert (score.targets, score.named, score.hits, score.hits_nospace) == (gold, named_count, hits, hits_nospace)
    assert sum(line["hits"] for line in score.per_line) == hits
    assert sum(line["gold"] for line in score.per_line) == gold
    assert sum(line["named"] for line in score.per_line) == named_count


def test_f1_of_a_document() -> None:
    assert score_lines(["a", "b", "c"], ["a", "d"], [], "").f1 == pytest.approx(0.4)  # TP 1, FP 2, FN 1
    assert score_lines([], [], [], "").f1 == 1.0
    assert score_lines([], ["a"], [], "").f1 == 0.0
    assert score_lines(["a"], [], [], "").f1 == 0.0


def test_lines_copied_without_their_spaces_count_in_f1_nospace_alone() -> None:
    """METHODS section 3: `copying`."""
    clean, fragmented = ["Of war and peace", "Sing"], ["O f wa r and p eace", "S i n g"]
    score = score_lines(clean, fragmented, [], "")
    assert (score.f1, score.f1_nospace) == (0.0, 1.0)


def test_lines_under_absencebench_s_rule() -> None:
    response = "I think OF WAR was removed, and sing, goddess too.\n}"
    score = score_lines(
        ["of war"], ["  Of war", "Of peace", "sing"], ["goddess too", "the end", "", "}", "}"], response
    )
    assert score.numbers == {
        "targets": 3,
        "named": 1,
        "hits": 1,
        "hits_nospace": 1,
        "hits_absencebench": 2,  # "of war" and "sing"
        "named_absencebench": 5,  # and "goddess too" and both "}"
    }


def test_what_is_kept_of_each_line() -> None:
    score = score_lines(["OF WAR", "made up", "Of war", "Made up"], ["Of war", "}"], [], "")
    assert score.per_line == (
        {"line": "Of war", "gold": 1, "named": 2, "hits": 1},
        {"line": "}", "gold": 1, "named": 0, "hits": 0},
        {"line": "made up", "gold": 0, "named": 2, "hits": 0},
    )


@given(st.lists(st.sampled_from(["a", "A", "a b", "ab", "c", ""])), st.lists(st.sampled_from(["a", "ab", "a  b", "c"])))
def test_scores_are_symmetric_and_bounded(named: list[str], targets: list[str]) -> None:
    score, other = score_lines(named, targets, [], ""), score_lines(targets, named, [], "")
    assert (score.hits, score.hits_nospace) == (other.hits, other.hits_nospace)
    assert 0 <= score.hits <= score.hits_nospace <= min(score.targets, score.named)
    assert 0 <= score.f1 <= score.f1_nospace <= 1
