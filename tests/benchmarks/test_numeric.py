from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taboo_cluster.benchmarks.numeric import extract_number, gold_value, score_number
from taboo_cluster.errors import TrialError

DATA = Path(__file__).parents[2] / "../shared/data/gsm8k"


def number(text: str) -> str | None:
    found = extract_number(text)
    return found.text if found else None


def cases(table: dict[str, str | None]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize(("text", "expected"), list(table.items()))


@cases(
    {
        "…the total cost is $29.00.": "29",
        "He pays $ 29 in all": "29",
        "It costs US$29": "29",
        "It costs €29.50 each": "29.5",
        "It costs £29": "29",
        "That is Rs. 500": "500",
        "That is USD 500.": "500",
        "Only $.50": "0.5",
        "She has 29$": "29",
    }
)
def test_a1_currency(text: str, expected: str) -> None:
    assert number(text) == expected


@pytest.mark.parametrize(
    ("gold", "completion", "correct"),
    [
        ("29", "29.0", True),
        ("29", "29.00", True),
        ("29.00", "29", True),
        ("29", "29.50", False),
        ("29.00", "2900", False),
        ("30", "30", True),
        ("3", "30", False),
        ("0.1", "0.10", True),
        ("1/2", "0.5", True),
        ("0.3333", "1/3", False),
        ("12345678901234567890", "12345678901234567891", False),
    ],
)
def test_a2_comparison_is_exact(gold: str, completion: str, correct: bool) -> None:
    assert score_number(gold, completion, "stop").correct is correct


@cases(
    {
        r"\boxed{$9{,}500}": "9500",
        r"\boxed{8,000}": "8000",
        "The answer is $9{,}500.": "9500",
        r"\boxed{1{,}234{,}567}": "1234567",
        "Cost: $1,234,567.": "1234567",
        r"That makes 1\,000": "1000",
        r"That makes 1,\!000": "1000",
        "That makes 1\u202f000": "1000",
        "That makes 1'000": "1000",
        "That makes 10 000.": "10000",
        "That makes 1,00,000": "100000",
        "That makes 1.000.000": "1000000",
        "That makes €1.000,50": "1000.5",
        "12,345.67": "12345.67",
        "the points 1,2": "2",
        "the points 1, 2": "2",
        "numbers 10,20,30": "30",
        "values 1,2345": "2345",
        "in 2020 500 people came": "500",
    }
)
def test_a3_thousands_separators(text: str, expected: str) -> None:
    assert number(text) == expected


@cases(
    {
        "The total is 72 clips, altogether.": "72",
        "The answer is 72, in total, so the farmer earns that much.": "72",
        "72,": "72",
        "It is 72, , and more": "72",
        "72.": "72",
        "72.0.": "72",
    }
)
def test_a4_lone_commas_and_full_stops(text: str, expected: str) -> None:
    assert number(text) == expected


@cases(
    {
        "#### 5 (example)…#### 18": "18",
        "#### 5\n#### 18": "18",
        "####18": "18",
        "#### $1,200.00": "1200",
        "#### **18**": "18",
        "#### -5": "-5",
        "#### - 5": "-5",
        "#### 18 eggs in 3 days": "18",
        "#### 18 (16 - 3 = 13)": "18",
        "#### 5 + 3 = 8": "8",
        "#### 1. First step\nadd 3\n#### 2. Second step\nIt makes 30": "30",
        "The answer is 4.\n#### 18": "18",
        "#### 3\n\nStep by step: 3 + 3 = 6.\nThe answer is 3 + 19 = 22.": "22",
    }
)
def test_a6_last_marker_wins(text: str, expected: str) -> None:
    assert number(text) == expected


@cases(
    {
        "#### 18\n\nQuestion: Tom…\n#### 40": "18",
        "#### 18\nQ: Tom…\n#### 40": "18",
        "It makes 18.\n\n**Question:** Tom has 3 dogs": "18",
        "It makes 18.\n\nQuestion 2: Tom has 3 dogs": "18",
        "It makes 18.\n\nProblem: Tom has 3 dogs": "18",
        "Question: Tom has 3 dogs and 2 cats?\nAnswer: 3 + 2 = 5": "5",
        "the price p: 3\nq: 4": "4",
        "No idea.\n\nQuestion: Tom has 3 dogs": None,
    }
)
def test_a7_cut_at_an_invented_question(text: str, expected: str | None) -> None:
    assert number(text) == expected


@pytest.mark.parametrize(
    ("gold", "completion", "correct"),
    [
        ("11", "711", False),
        ("49", "149", False),
        ("5", "25/50", False),
        ("-5", "5", False),
        ("5", "-5", False),
        ("3.14", "33.14", False),
        ("-5", "-5 exactly", True),
        ("1000", "1e3", True),
        ("-5", "\u22125", True),
        ("-5", "$-5", True),
        ("-5", "-$5", True),
        ("-5", r"-\$5", True),
        ("-5", "x = - 5", True),
        ("-5", "a temperature of \u20135", True),
        ("5", "a range of 3-5", True),
        ("13", "16-3=13", True),
        ("0.0015", "1.5e-3", True),
        ("1500", "1.5 × 10^3", True),
        ("1500", "1.5×10³", True),
        ("0.75", "3 / 4", True),
        ("18", "+18", True),
        ("20000", r"2 \times 10^{4}", True),
        ("1024", "2^10", True),
        ("5", "an area of 5 m^2", True),
        ("5", "an area of 5 m\u00b2", True),
        ("5", "5 kg of CO2", True),
        ("3.5", "3 1/2", True),
        ("3.5", "3½", True),
        ("5000000", "$5 million", True),
    ],
)
def test_a9_value_equality_only(gold: str, completion: str, correct: bool) -> None:
    assert score_number(gold, completion, "stop").correct is correct


@pytest.mark.parametrize(
    "text",
    ["20 off 100. ANSWER: 60%", r"20 off 100. The answer is 60\%.", "20 off 100. ANSWER: 60 percent", "#### 60 %"],
)
def test_a10_percent_is_recorded_and_never_skipped(text: str) -> None:
    verdict = score_number("60", text, "stop")
    assert (verdict.outcome, verdict.answer, verdict.details["percent"]) == ("correct", "60", True)
    assert score_number("0.6", text, "stop").outcome == "wrong"
    assert score_number("0.6", text, "stop", percent="fraction").outcome == "correct"
    assert "percent" not in score_number("60", "60", "stop").details


@pytest.mark.parametrize("text", ["20 off 100. ANSWER: unknown", "It was 100. The answer is none.", r"7, so \boxed{?}"])
def test_a10_never_falls_back_to_an_earlier_number(text: str) -> None:
    assert number(text) is None


@cases({r"\$460": "460", "**1,000**": "1000", r"**\$1,000.00**": "1000", "__18__": "18", "`18`": "18", r"\(18\)": "18"})
def test_a11_escapes_and_bold(text: str, expected: str) -> None:
    assert number(text) == expected


@cases({r"\boxed{18}": "18", r"So $$\boxed{18}$$": "18", r"\fbox{18}": "18", "<answer>18</answer>": "18"})
def test_a13_boxed_and_tagged_answers(text: str, expected: str) -> None:
    assert number(text) == expected


def test_a14_calculator_marks() -> None:
    assert gold_value("…=<<200000-130000=70000>>70,000\n#### 70000") == 70000
    assert gold_value("It is 3*4=<<3*4=12>>12") == 12
    assert number("It is 3*4=<<3*4=13>>12") == "12"


@cases(
    {
        r"\boxed{\frac{1}{2}}": "1/2",
        r"\boxed{\dfrac{2}{4}}": "1/2",
        r"\boxed{-\frac{3}{4}}": "-3/4",
        r"\boxed{\frac{-3}{4}}": "-3/4",
        r"\boxed{3\frac{1}{2}}": "7/2",
        r"\boxed{\frac12}": "1/2",
        r"The answer is \frac{10}{4} cups of 3": "5/2",
        r"\boxed{\frac{1{,}000}{4}}": "250",
        r"\boxed{5} then \boxed{18}": "18",
        r"\[ \boxed{42} \]": "42",
        r"\boxed{35 cm}": "35",
        r"\boxed{35\text{ cm}}": "35",
        r"\boxed{\text{35 cm}}": "35",
        r"\boxed{35\,\mathrm{km/h}}": "35",
        r"\boxed{\$18.00}": "18",
        r"\boxed{x = 18}": "18",
        r"\boxed{9 \times 2 = 18}": "18",
        r"\boxed{\text{Janet makes } 18}": "18",
        r"\boxed{10 500}": "10500",
        r"\boxed{ {18} }": "18",
        r"\boxed{+18}": "18",
        r"\boxed{\(18\)}": "18",
        r"\boxed{45^\circ}": "45",
        r"\boxed{45^{\circ}}": "45",
        r"\boxed{\mathbf{18}}": "18",
        r"Write it in \boxed{}. It is \boxed{7}": "7",
        r"\boxed{\frac{1}{": None,
        r"The answer is 3, so \boxed{18": None,
        r"\boxed{1, 2}": None,
        r"\boxed{3 \text{ or } 4}": None,
        r"\boxed{2\sqrt{3}}": None,
        r"\boxed{\sqrt{16}}": None,
        r"\boxed{3 \times 6}": None,
        r"\boxed{1/0}": None,
    }
)
def test_a15_boxes(text: str, expected: str | None) -> None:
    assert number(text) == expected


def test_a15_unclosed_box_is_an_invalid_format() -> None:
    assert score_number("1", r"\boxed{\frac{1}{", "stop").outcome == "invalid_format"


@cases(
    {
        "<think>maybe 12": None,
        "<think>A 3 or B 4</think> Answer: 7": "7",
        "maybe 12</think>\nIt is 7": "7",
        "<think>12</think>It is 7<think>or 9": "7",
        "<THINKING>12</THINKING> 7": "7",
    }
)
def test_a16_reasoning_blocks(text: str, expected: str | None) -> None:
    assert number(text) == expected


def test_a16_truncated_thought() -> None:
    verdict = score_number("12", "<think>maybe 12", "length")
    assert (verdict.outcome, verdict.answer, verdict.parse_ok) == ("truncated", None, False)


@cases(
    {
        "Answer:\n\nAnswer: 7": "7",
        "ANSWER: 7": "7",
        "**Answer:** 7": "7",
        "**Answer**: 7": "7",
        "Final answer = $7": "7",
    }
)
def test_a18_a23_answer_phrases(text: str, expected: str) -> None:
    assert number(text) == expected


@cases(
    {
        "The answer is 9 * 2 = 18 dollars.": "18",
        "Answer: 16-3-4=9 are left. So she makes 9*2=18": "18",
        "The answer is therefore $x=18$, because 16 - 3 = 13": "18",
        "The answer to the question is 18. She has 2 ducks.": "18",
        "The final answer is:\n\n$$18$$": "18",
        "The answer is 1,234.50 dollars for 3": "1234.5",
        "The answer is 18 / 2 = 9.": "9",
        "The answer is 4 times 125 pounds.": "125",
        'The answer is "18", not 3': "18",
        "The correct answer is (18).": "18",
        "The answer is $18/day for 3 days": "18",
        "The answer is 5:00 PM": "5",
    }
)
def test_numbers_after_an_answer_phrase(text: str, expected: str) -> None:
    assert number(text) == expected


@cases(
    {
        "it is .5": "0.5",
        "it is 0.50": "0.5",
        "it took 18 days until the 2nd": "18",
        "7-1=6th place": "6",
        "he came 3rd": "3",
        "First:\n1. Add them\n2. They make 7 in all\n3. Done": "7",
        "x_1 and x_{2} make 7 with log_{10}": "7",
        "it makes 7 since 1/2/2020": "7",
        "１８": "18",
        "": None,
        "((((": None,
        "no number here": None,
        "9" * 5000: None,
        "9" * 90 + "^99": None,
        "1e3 or 2e99999": "1000",
    }
)
def test_last_number(text: str, expected: str | None) -> None:
    assert number(text) == expected


@pytest.mark.parametrize(
    ("completion", "finish_reason", "outcome"),
    [
        ("", "stop", "no_response"),
        ("\xa0", "stop", "no_response"),
        ("\u200b\ufeff\n", "length", "no_response"),
        ("((((", "stop", "invalid_format"),
        ("((((", "length", "truncated"),
        ("I'm sorry, but I can't help with that.", "stop", "refused"),
        ("I\u2019m sorry, but I can\u2019t help with that.", "length", "refused"),
        ("I'm sorry, but I can't help. #### 18", "stop", "correct"),
        ("so she has 18 eggs and", "length", "truncated"),
        ("so she has 18 eggs", "stop", "correct"),
        ("#### 18\n\nLet me", "length", "correct"),
        ("**Final Answer**\n\n$$18$$\n\nLet", "length", "correct"),
        ("The answer is 17. Let me", "length", "wrong"),
        ("she cannot sell 18", "stop", "correct"),
    ],
)
def test_a26_outcomes(completion: str, finish_reason: str, outcome: str) -> None:
    verdict = score_number("18", completion, finish_reason)
    assert verdict.outcome == outcome
    assert verdict.score == float(outcome == "correct")
    assert verdict.parse_ok == (outcome in ("correct", "wrong"))


def test_a_truncated_text_with_a_final_form_is_marked() -> None:
    assert score_number("18", "#### 18\n\nLet", "length").details == {"form": "hashes", "truncated_but_parsed": True}
    assert score_number("18", "#### 18", "stop").details == {"form": "hashes"}


def test_a_gold_without_a_number_is_an_invalid_item() -> None:
    with pytest.raises(TrialError, match="no number") as caught:
        score_number("many", "18", "stop")
    assert caught.value.error_type == "item_invalid"


@given(st.fractions(min_value=-(10**9), max_value=10**9, max_denominator=1000))
def test_any_fraction_is_read_back_exactly(value: Fraction) -> None:
    for text in (f"#### {value}", rf"\boxed{{{value}}}", f"The answer is {value}.", f"we get {value}"):
        found = extract_number(text)
        assert found is not None
        assert found.value == value


@given(st.integers(-(10**15), 10**15), st.integers(0, 6))
def test_any_decimal_is_read_back_with_and_without_groups(digits: int, places: int) -> None:
    value = Fraction(digits, 10**places)
    padded = f"{abs(digits):0{places + 1}d}"
    whole = padded[:-places] if places else padded
    sign, tail = "-" if digits < 0 else "", f".{padded[-places:]}" if places else ""
    for spelled in (f"{sign}{whole}{tail}", f"{sign}{int(whole):,}{tail}", f"{sign}${int(whole):,}{tail}"):
        found = extract_number(f"It comes to {spelled} in all.")
        assert found is not None
        assert found.value == value
        assert Fraction(found.text) == value


@given(st.text(alphabet=st.sampled_from("0123456789.,-/$%{}\\^_x#= eE\n*()boxedfrac"), max_size=80))
def test_no_text_is_too_odd(text: str) -> None:
    for finish_reason in ("stop", "length"):
        assert score_number("18", text, finish_reason).score in (0.0, 1.0)


@pytest.mark.parametrize(
    "unit", ["1 234 ", "\\boxed{", "Answer: 1 + ", "1,", "#### 1 ", "\\frac{1}", "Answer: 1+1=2 3 "]
)
def test_degenerate_repetition_does_not_hang(unit: str) -> None:
    extract_number(unit * (4096 // len(unit)))


@pytest.mark.skipif(not DATA.is_dir(), reason="no GSM8K files at ../shared/data/gsm8k")
def test_every_gsm8k_gold_is_read() -> None:
    for file in sorted(DATA.glob("*.jsonl")):
        for line in file.read_text(encoding="utf-8").splitlines():
            answer = json.loads(line)["answer"]
            assert gold_value(answer) == Fraction(answer.split("####")[1].strip().replace(",", ""))


@pytest.mark.parametrize(
    ("text", "finish_reason", "answer"),
    [
        ("The answer is **42**. It took 3 steps", "stop", "42"),
        ("**#### 42**\nI used 2 steps", "stop", "42"),
        ("**Answer: 42** (that is 6 times 7)", "stop", "42"),
        ("#### **42**", "length", "42"),
        ("The answer is *42* eggs, not 3", "stop", "42"),
        ("The answer is 6 * 7 = 42", "stop", "42"),
        ("The answer is 6*7 = 42.", "stop", "42"),
        ("The answer is 2**3 = 8", "stop", "8"),
    ],
)
def test_asterisks_that_close_bold_type_are_no_multiplication(text: str, finish_reason: str, answer: str) -> None:
    verdict = score_number(answer, text, finish_reason)
    assert (verdict.outcome, verdict.answer) == ("correct", answer)
