from __future__ import annotations

import pytest

from taboo_cluster.benchmarks.outcome import answer_part, is_blank, is_refusal, verdict


@pytest.mark.parametrize("text", ["", " \n\t", "\xa0", "\u200b\u200d", "\ufeff\u2060\u3000", "\u00ad"])
def test_a26_blank_texts(text: str) -> None:
    assert is_blank(text)
    assert verdict(text, "stop", answer=None, final=False, score=0.0).outcome == "no_response"


@pytest.mark.parametrize("text", ["((((", ".", "0"])
def test_visible_texts_are_not_blank(text: str) -> None:
    assert not is_blank(text)


@pytest.mark.parametrize(
    "text",
    [
        "I'm sorry, but I can't assist with that request.",
        "I am sorry, I cannot answer this.",
        "I\u2019m unable to help with this.",
        "As an AI language model, I do not do sums.",
        "I must decline.",
        "I won't answer that.",
    ],
)
def test_refusal_phrases(text: str) -> None:
    assert is_refusal(text)


@pytest.mark.parametrize(
    "text", ["She is sorry that she can't come.", "I can't see how, so let me try again.", "An AI model costs $5."]
)
def test_what_only_resembles_a_refusal(text: str) -> None:
    assert not is_refusal(text)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("plain", "plain"),
        ("<think>a</think>b", "b"),
        ("a</think>b", "b"),
        ("b<think>a", "b"),
        ("<think>a", ""),
        ("<think>a</think>b<think>c</think>d", "d"),
        ("b\n\nQuestion: c", "b\n\n"),
        ("b\n### Question: c", "b\n"),
        ("b\nQ: c", "b\n"),
        ("b\nExercise 12: c", "b\n"),
        ("\nQuestion: c\nAnswer: d\n\nQuestion: e", "\nQuestion: c\nAnswer: d\n\n"),
        ("Answer to the Question: c", "Answer to the Question: c"),
        ("b\nthe question: c", "b\nthe question: c"),
        ("b\nQuestionable: c", "b\nQuestionable: c"),
    ],
)
def test_answer_part(text: str, part: str) -> None:
    assert answer_part(text).text == part


@pytest.mark.parametrize(
    ("completion", "finish_reason", "answer", "final", "score", "outcome"),
    [
        (" ", "length", "5", True, 1.0, "no_response"),
        ("I can't help", "length", None, False, 0.0, "refused"),
        ("I can't help", "length", "5", False, 1.0, "refused"),
        ("I can't help", "length", "5", True, 1.0, "correct"),
        ("I can't help", "stop", "5", False, 0.0, "wrong"),
        ("x", "length", None, False, 0.0, "truncated"),
        ("x", "length", "5", False, 1.0, "truncated"),
        ("x", "length", "5", True, 0.0, "wrong"),
        ("x", "stop", None, False, 0.0, "invalid_format"),
        ("x", "stop", "5", False, 1.0, "correct"),
        ("x", "stop", "5", True, 0.5, "wrong"),
    ],
)
def test_outcome_is_the_first_that_applies(
    completion: str, finish_reason: str, answer: str | None, final: bool, score: float, outcome: str
) -> None:
    found = verdict(completion, finish_reason, answer=answer, final=final, score=score)
    assert found.outcome == outcome
    counted = outcome in ("correct", "wrong")
    assert found.score == (score if counted else 0.0)
    assert found.parse_ok is counted
    assert found.correct is (outcome == "correct")
    assert bool(found.details.get("truncated_but_parsed")) is (counted and finish_reason == "length")
