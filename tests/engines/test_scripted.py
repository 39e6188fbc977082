"""The scripted engine: what it says, what it costs, and how it fails."""

import json
import random
from math import log2

import pytest

from taboo_cluster.engines.base import ENGINES, Hardware, Request
from taboo_cluster.engines.scripted import Script, ScriptedEngine, ScriptedOptions, byte_tokenizer
from taboo_cluster.errors import EngineDied, UserError
from taboo_cluster.trial import ResolvedModel, Sampling, Taboo

MODEL = ResolvedModel(
    name="m",
    revision="r",
    source="m",
    family=None,
    size_b=None,
    aligned=False,
    stage="base",
    pair=None,
    quantization="none",
    dtype="float32",
)


def request(prompt, key="k", rank=0, max_tokens=64, stop=(), sampling=None):
    return Request(key, prompt, (), max_tokens, stop, Taboo(rank), sampling or Sampling())


def engine(tmp_path, lines=None, **options):
    path = tmp_path / "script.json"
    path.write_text(json.dumps({} if lines is None else lines))
    return ScriptedEngine(ScriptedOptions(script_path=str(path), **options))


def said(engine, *requests):
    return {c.key: c.generation.text for c in engine.generate(requests)}


def test_the_piece_that_begins_last_is_the_question_asked():
    script = Script({"2 + 2": "four", "3 + 3": "six", "3 + 33": "thirty-six"})
    assert script.find("Q: 2 + 2\nA: four\nQ: 3 + 3\nA:") == "six"
    assert script.find("Q: 3 + 3\nA: six\nQ: 2 + 2\nA:") == "four"
    assert script.find("Q: 3 + 33\nA:") == "thirty-six"
    assert script.find("Q: 5 + 5\nA:") is None
    assert script.find("") is None


@pytest.mark.parametrize("text", ["[1]", "{", '{"a": 1}', '{"": "x"}'])
def test_a_bad_script_is_the_users_mistake(tmp_path, text):
    path = tmp_path / "script.json"
    path.write_text(text)
    with pytest.raises(UserError, match="script"):
        ScriptedEngine(ScriptedOptions(script_path=str(path)))


def test_what_it_says_depends_on_nothing_but_the_request(tmp_path):
    lines = {f"item {i}.": f"It is {i}." for i in range(40)}
    requests = [request(f"item {i}.", key=f"{i}/{rank}", rank=rank) for i in range(40) for rank in (0, 1, 8)]
    options = {"accuracy": {"0": 0.8, "1": 0.4}, "churn": 0.3}
    first = said(engine(tmp_path, lines, **options), *requests)
    random.Random(1).shuffle(requests)
    other = engine(tmp_path, lines, **options)
    again = {}
    for one in requests:
        again |= said(other, one)
    assert again == first
    assert len(set(first.values())) > 2


def test_accuracy_is_known_by_rank_and_right_answers_nest(tmp_path):
    lines = {f"item {i}.": "right" for i in range(1000)}
    made = engine(tmp_path, lines, accuracy={"0": 0.9, "1": 0.5, "4": 0.1}, wrong="wrong")
    right = {}
    for rank in (0, 1, 2, 4):
        texts = said(made, *(request(piece, key=piece, rank=rank) for piece in lines))
        right[rank] = {piece for piece, text in texts.items() if text == "right"}
    assert right[4] < right[1] < right[0]
    assert right[2] == right[1], "a rank left out takes the next lower one's"
    assert [len(right[r]) / 1000 for r in (0, 1, 4)] == pytest.approx([0.9, 0.5, 0.1], abs=0.04)


def test_accuracy_of_something_else_than_ranks_is_the_users_mistake(tmp_path):
    with pytest.raises(UserError, match="rank"):
        engine(tmp_path, accuracy={"one": 0.5})


def test_churn_makes_replicates_differ_and_only_then(tmp_path):
    lines = {f"item {i}.": "right" for i in range(1000)}
    for churn, expected in ((0.0, 0.0), (1.0, 0.5)):
        made = engine(tmp_path, lines, accuracy={"0": 0.5}, wrong="wrong", churn=churn)
        twice = [said(made, *(request(p, key=f"{p}{r}") for p in lines)) for r in "ab"]
        flips = sum(twice[0][f"{p}a"] != twice[1][f"{p}b"] for p in lines)
        assert flips / 1000 == pytest.approx(expected, abs=0.05)


def test_sampling_seeds_draw_anew_and_greedy_ignores_them(tmp_path):
    lines = {f"item {i}.": "right" for i in range(100)}
    made = engine(tmp_path, lines, accuracy={"0": 0.5}, wrong="wrong")

    def texts(sampling):
        return said(made, *(request(p, key=p, sampling=sampling) for p in lines))

    assert texts(Sampling(0.0, seed=1)) == texts(Sampling(0.0, seed=2))
    assert texts(Sampling(1.0, seed=1)) != texts(Sampling(1.0, seed=2))


def test_the_dose_is_known(tmp_path):
    made = engine(tmp_path, {"item": "It is 42, Tom."})
    (plain,) = made.generate([request("item")])
    assert plain.generation.steps == ()
    (masked,) = made.generate([request("item", rank=3)])
    steps = masked.generation.steps
    assert [step.emitted for step in steps] == ["\u0120i", "\u01204", "\u0120T"]
    assert [step.position for step in steps] == [2, 4, 7]
    assert all(step.bits == log2(4) and step.emitted_rank == 4 and step.nominal_id != step.emitted_id for step in steps)
    assert [masked.generation.token_ids[step.position] for step in steps] == [step.emitted_id for step in steps]


def test_stop_strings_and_length_end_the_text(tmp_path):
    made = engine(tmp_path, {"item": "one\n\nQuestion: two"})
    (stopped,) = made.generate([request("item", stop=("\n\nQuestion:", "two"))])
    assert (stopped.generation.text, stopped.generation.finish_reason) == ("one", "stop")
    (cut,) = made.generate([request("item", max_tokens=2)])
    assert (cut.generation.text, cut.generation.finish_reason, len(cut.generation.token_ids)) == ("on", "length", 2)
    (whole,) = made.generate([request("item")])
    assert whole.generation.token_ids[-1] == made.tokenizer.eos_token_id


@pytest.mark.parametrize("text", ["Tom has 12 apples.\n\n  A: 日本 \u00e9\U0001f600", "", " ", "a  b\tc"])
def test_the_tokenizer_loses_nothing(text):
    tokenizer = byte_tokenizer()
    assert tokenizer.decode(tokenizer(text)["input_ids"]) == text


def test_failures_hit_the_same_requests_each_time_or_once(tmp_path):
    requests = [request("item", key=str(i)) for i in range(200)]

    def errors(made):
        return {c.key for c in made.generate(requests) if c.error_type == "timeout"}

    always = engine(tmp_path, fail=0.25, fail_type="timeout")
    assert errors(always) == errors(always)
    assert len(errors(always)) == pytest.approx(50, abs=20)
    (tmp_path / "faults").mkdir()
    once = engine(tmp_path, fail=0.25, fail_type="timeout", once_path=str(tmp_path / "faults"))
    assert errors(once) == errors(always)
    assert errors(once) == set()


def test_it_dies_after_so_many_answers_and_once_if_told_so(tmp_path):
    requests = [request("item", key=str(i)) for i in range(5)]
    answered = []
    with pytest.raises(EngineDied):
        answered.extend(engine(tmp_path, die_after=3).generate(requests))
    (tmp_path / "faults").mkdir()
    for expected in (3, 5):
        answered = []
        try:
            for completion in engine(tmp_path, die_after=3, once_path=str(tmp_path / "faults")).generate(requests):
                answered.append(completion.key)
        except EngineDied:
            pass
        assert len(answered) == expected


def test_it_is_built_from_its_options_and_refuses_a_model(tmp_path):
    entry = ENGINES.get("scripted")
    assert entry.build(MODEL, entry.options(), Hardware()).info.name == "scripted"
    with pytest.raises(UserError, match=r"m was refused"):
        entry.build(MODEL, entry.options(refuse=["m"]), Hardware())


def test_what_changes_its_answers_changes_its_identity(tmp_path):
    plain = engine(tmp_path, {"a": "b"}).info
    assert engine(tmp_path, {"a": "b"}, delay_s=0.1, fail=0.5).info == plain
    for other in (engine(tmp_path, {"a": "c"}), engine(tmp_path, {"a": "b"}, accuracy={"1": 0.5})):
        assert other.info != plain
