"""Augmentation, padding, distractor, math: exact texts."""

from __future__ import annotations

import functools
import re

import pytest
from perturbed_texts import FUNCTION, SHARED, framed, function_item, item, made

from taboo_cluster.benchmarks.base import BENCHMARKS, Benchmark
from taboo_cluster.errors import UserError
from taboo_cluster.perturbations.augmentation import EMOTIONS, EXPLANATIONS, PERSONAS
from taboo_cluster.perturbations.base import PERTURBATIONS
from taboo_cluster.perturbations.distractor import SENTENCES
from taboo_cluster.perturbations.lists.fact_words import FACT_WORDS
from taboo_cluster.perturbations.stack import framed_prompt, members, perturb
from taboo_cluster.trial import Item

Q = "How many eggs?"


@pytest.mark.parametrize(
    ("stack", "expected"),
    [
        (
            "persona",
            "You are an experienced specialist in the field that this question comes from.\n\nHow many eggs?",
        ),
        ("persona(choice=student)", "You are a student who has prepared well for an exam.\n\nHow many eggs?"),
        ("emotion", "How many eggs?\n\nThis is very important to me."),
        ("explanation", "How many eggs?\n\nPlease also say why your answer is right."),
        ("explanation(choice=simple)", "How many eggs?\n\nPlease explain your answer in simple words."),
        ("padding", '"How many eggs?"'),
        ("padding(char=spaces)", "     How many eggs?     "),
        ("padding(char=newline)", "\nHow many eggs?\n"),
        ("padding(scope=question)", '"How many eggs?"'),
        # the first of a stack stands inside
        ("padding+emotion", '"How many eggs?"\n\nThis is very important to me.'),
        ("emotion+padding", '"How many eggs?\n\nThis is very important to me."'),
        ("padding+padding(char=newline)", '\n"How many eggs?"\n'),
        (
            "persona(choice=student)+padding+persona(choice=teacher)",
            "You are a patient school teacher who likes to get things right.\n\n"
            '"You are a student who has prepared well for an exam.\n\nHow many eggs?"',
        ),
    ],
)
def test_what_stands_around(stack: str, expected: str) -> None:
    assert framed(stack, Q) == expected
    assert made(stack, Q) == (expected if "scope=question" in stack else Q)


@pytest.mark.parametrize(
    ("name", "texts"), [("persona", PERSONAS), ("emotion", EMOTIONS), ("explanation", EXPLANATIONS)]
)
def test_every_choice_can_be_drawn_and_named(name: str, texts: dict[str, str]) -> None:
    drawn = {framed(f"{name}(choice=any)", Q, seed).replace(Q, "").strip() for seed in range(100)}
    assert drawn == set(texts.values())
    named = {framed(f"{name}(choice={choice})", Q).replace(Q, "").strip() for choice in texts}
    assert named == set(texts.values())


@pytest.mark.parametrize(
    ("stack", "said"),
    [
        ("persona(choice=pirate)", "persona.choice must be one of expert, teacher, student, assistant, any"),
        ("padding(char=tab)", "padding.char must be one of spaces, quote, newline, not 'tab'"),
        ("padding(scope=all)", "padding.scope must be one of message, question, not 'all'"),
        ("distractor(place=back)", "distractor.place must be one of front, middle, end, not 'back'"),
        ("latex(rate=1.5)", "rate is a probability from 0 to 1, not 1.5"),
        ("symmetric_operations(rate=.inf)", "rate is a probability from 0 to 1, not inf"),
        ("camel_case(function=1)", "camel_case.function must be true or false, not 1"),
        ("paddings", "did you mean 'padding'?"),
    ],
)
def test_options_are_checked(stack: str, said: str) -> None:
    with pytest.raises(UserError, match=re.escape(said)):
        members(stack)


@pytest.mark.parametrize("stack", ["emotion", "explanation(choice=detail)"])
def test_nothing_is_put_behind_a_program(stack: str) -> None:
    subject = perturb(function_item(), stack, 0).subject
    assert subject.before.endswith(".\n\n")
    assert subject.after == ""


def test_a_program_is_not_padded_as_a_question() -> None:
    assert not perturb(function_item(), "padding(scope=question)", 0).changed
    assert perturb(function_item(), "padding", 0).subject.after == '"'


@pytest.mark.parametrize(
    ("stack", "question", "expected"),
    [
        (
            "distractor",
            "A hen lays 3 eggs daily. How many in a week?",
            "A hen lays 3 eggs daily. A piano has to be tuned now and then. How many in a week?",
        ),
        (
            "distractor(place=front)",
            "A hen lays 3 eggs daily. How many in a week?",
            "A piano has to be tuned now and then. A hen lays 3 eggs daily. How many in a week?",
        ),
        (
            "distractor(place=end)",
            "A hen lays 3 eggs daily. How many in a week?",
            "A hen lays 3 eggs daily. How many in a week? A piano has to be tuned now and then.",
        ),
        ("distractor", Q, f"A piano has to be tuned now and then. {Q}"),
        ("distractor", "Dr. A. Smith pays. Why?", "Dr. A. Smith pays. A piano has to be tuned now and then. Why?"),
        ("distractor", "It is 1,200. How so?", "It is 1,200. A piano has to be tuned now and then. How so?"),
        ("distractor", "They left early. That is", "A piano has to be tuned now and then. They left early. That is"),
        ("distractor", "", "A piano has to be tuned now and then."),
    ],
)
def test_distractor(stack: str, question: str, expected: str) -> None:
    assert made(stack, question, 1) == expected


def test_a_distractor_shares_no_word_with_the_question() -> None:
    question = (
        "Why is honey in a jar, sand in sunshine and snow on a street? Piano leaves, fresh moss, old letters, cats."
    )
    drawn = {made("distractor(place=front)", question, seed).removesuffix(f" {question}") for seed in range(60)}
    assert drawn == {SENTENCES[2], SENTENCES[3], SENTENCES[11]}
    assert not perturb(item(" ".join(SENTENCES)), "distractor", 0).changed


def test_distractors_hold_nothing_like_data() -> None:
    for sentence in SENTENCES:
        assert not any(sign.isdigit() for sign in sentence)
        assert not FACT_WORDS & set(re.findall(r"\w+", sentence.lower())), sentence


def test_a_distractor_in_a_program_is_a_comment() -> None:
    changed = perturb(function_item(), "distractor(place=end)", 1).subject.item.question
    assert changed in [f"# {sentence}\n{FUNCTION}" for sentence in SENTENCES]


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What is 3 plus 4?", "What is 4 plus 3?"),
        ("What is 3 + 4 + 5?", "What is 5 + 4 + 3?"),
        ("What is 3 times 1,000.5, or 2 multiplied by 7?", "What is 1,000.5 times 3, or 7 multiplied by 2?"),
        ("find a * b and (x+y)^2", "find b * a and (y+x)^2"),
        ("The sum of 3 and 4, the product of x and y", "The sum of 4 and 3, the product of y and x"),
        ("add $3 + $4.50, and 5% + 6%", "add $4.50 + $3, and 6% + 5%"),
        ("as 1/2 + 1/3 and 4 × 5 + 1", "as 1/3 + 1/2 and 4 × 5 + 1"),
        ("is x + 1 in f(x + 2) = 5 ?", "is 1 + x in f(2 + x) = 5 ?"),
    ],
)
def test_symmetric_operations(question: str, expected: str) -> None:
    assert made("symmetric_operations", question) == expected


@pytest.mark.parametrize(
    "question",
    [
        "",
        "3",
        "10 - 3 + 4",
        "12 / 3 * 2",
        "3 + 4 * 5",
        "2 ^ 3 * 4, 3 * 4^2, 3 * 4 ^ 2",
        "-3 + 4",
        "2 x + y, 3 + 4 y, 5 + 2x",
        "twice 3 plus 4",
        "the square root of 3 plus 4 squared",
        "10 less than 3 plus 4",
        "half of it is a third times 4",
        "3 plus 4 percent",
        "3 plus 4 minus 1",
        "$3 plus 4",
        "5% + 3",
        "3 times a day, 4 times as many, 5 times each",
        "between 3 and 4",
        "a sum of money and 3",
        "192.168.1.1 + 3",
        "3 + 4 + ...",
        "`3 + 4` and $3 + 4$ and ```\n3 + 4\n```",
        "In the group G, is a * b = e?",
        "matrices a + b",
        "if 2 + 3 = 31 and 3 + 5 = 134 then what is 5 + 7?",
        "if a * b = 2a + 3, find 4 * 5",
        "what digit is * in 45*2 when 3 * 4 is 12",
        FUNCTION,
    ],
)
def test_operations_that_stay(question: str) -> None:
    assert made("symmetric_operations", question) == question


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("He pays $7.50 for 3 pens, so 3 + 4 = 7.", r"He pays $\$7.50$ for $3$ pens, so $3 + 4 = 7$."),
        ("1,000 and 60% (of it)", r"$1,000$ and $60\%$ (of it)"),
        ("Solve 2x + 3 = x*5!", "Solve $2x + 3 = x*5$!"),
        ("1/2 of 3.14?", "$1/2$ of $3.14$?"),
        ("a 5-mile run, the 3rd, at 9:40, H2O, 192.168.1.1, x, $y$, `3`, www.x.org/3", None),
        ("the cycle (1, 2, 3)(4, 5) and [3]", None),
        ("", None),
        (FUNCTION, None),
    ],
)
def test_latex(question: str, expected: str | None) -> None:
    assert made("latex", question) == (question if expected is None else expected)


@pytest.mark.parametrize("name", ["latex", "symmetric_operations"])
def test_math_at_a_larger_rate_holds_what_a_smaller_one_changes(name: str) -> None:
    parts = ["3 + 4", "5 + 6", "7 + 8", "9 + 10", "11 + 12", "13 + 14"]
    text = " and then ".join(parts)
    for seed in range(20):
        changed: set[int] = set()
        for rate in (0.0, 0.2, 0.5, 0.8, 1.0):
            now = made(f"{name}(rate={rate})", text, seed).split(" and then ")
            found = {place for place, (new, old) in enumerate(zip(now, parts, strict=True)) if new != old}
            assert changed <= found
            changed = found
        assert len(changed) == len(parts)


@functools.cache
def _benchmarks() -> list[tuple[Benchmark, Item]]:
    """Two benchmarks, each with an item that a stop word, a full stop and more can be changed in."""
    built = []
    for name, options in (("gsm8k", {}), ("mmlu", {"subjects": "astronomy"})):
        entry = BENCHMARKS.get(name)
        benchmark = entry.build(entry.options(path=str(SHARED / name), **options))
        built.append((benchmark, benchmark.items()[7]))
    return built


STACKS = ["typos(rate=1.0)", "stop_words", "punctuation_spaces", "space_runs", "word_split", "word_merge", "distractor"]
STACKS += ["latex", "symmetric_operations", "padding(scope=question)"]


@pytest.mark.skipif(not SHARED.is_dir(), reason="no data at ../shared/data")
def test_i11_only_the_question_changes() -> None:
    for benchmark, one in _benchmarks():
        for style in benchmark.styles:
            clean = benchmark.prompt(one, one.question, style, benchmark.default_shots)
            for stack in STACKS:
                subject = perturb(one, stack, 0).subject
                prompt = framed_prompt(benchmark, subject, style, benchmark.default_shots)
                question = subject.item.question
                assert prompt.shots == clean.shots
                assert (prompt.stop, prompt.chat_stop) == (clean.stop, clean.chat_stop)
                assert prompt.user == question + clean.user.removeprefix(one.question)
                before, after = clean.plain.rsplit(one.question, 1)
                assert prompt.plain == before + question + after
                assert subject.item.extras == one.extras
                assert (subject.item.item_id, subject.item.gold) == (one.item_id, one.gold)


@pytest.mark.skipif(not SHARED.is_dir(), reason="no data at ../shared/data")
@pytest.mark.parametrize(
    "stack", ["padding(char=spaces)", "padding(char=newline)", "persona", "emotion", "explanation"]
)
def test_c19_the_plain_prompt_ends_where_it_did(stack: str) -> None:
    for benchmark, one in _benchmarks():
        for style in benchmark.styles:
            subject = perturb(one, stack, 0).subject
            prompt = framed_prompt(benchmark, subject, style, benchmark.default_shots)
            clean = benchmark.prompt(one, one.question, style, benchmark.default_shots)
            assert prompt.user == subject.before + clean.user + subject.after
            assert prompt.shots == clean.shots
            assert prompt.plain.splitlines()[-1] == clean.plain.splitlines()[-1] == clean.plain.splitlines()[-1].strip()


def test_families() -> None:
    families = {
        "word": "typos stop_words punctuation_spaces space_runs word_split word_merge",
        "augmentation": "persona emotion explanation",
        "padding": "padding",
        "distractor": "distractor",
        "math": "symmetric_operations latex",
        "code": "camel_case drop_type_hints into_class",
    }
    for family, names in families.items():
        for name in names.split():
            entry = PERTURBATIONS.get(name)
            assert entry.family == family
            assert entry.needs == (family if family in ("math", "code") else None)
