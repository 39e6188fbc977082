"""From records to the table `stability`: what is left to probe, what cannot be, and the rows."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from taboo_cluster.benchmarks.base import BENCHMARKS
from taboo_cluster.config import StabilityConfig
from taboo_cluster.engines.base import ENGINES, Hardware, Request
from taboo_cluster.models import load_tokenizer
from taboo_cluster.prompts import render
from taboo_cluster.records.schema import RECORD, TABLES
from taboo_cluster.records.writer import PartWriter, model_slug
from taboo_cluster.rows import now, output_columns, verdict_columns
from taboo_cluster.stability import trials
from taboo_cluster.stability.bound import Bound
from taboo_cluster.stability.probe import Case, Probe, Probed
from taboo_cluster.taboo.pieces import Pieces, read_pieces
from taboo_cluster.trial import ResolvedModel, Taboo

Row = dict[str, Any]
CONFIG = StabilityConfig(probe=True)


@pytest.fixture(scope="module")
def pieces(tokenizer: PreTrainedTokenizerBase) -> Pieces:
    return read_pieces(tokenizer)


# --- what is left ---


def recorded(model: ResolvedModel, trial_id: str, **more: Any) -> Row:
    row = {"trial_id": trial_id, "attempt": 1, "run_id": "run", "model": model.name, "model_revision": model.revision}
    row |= {"quantization": model.quantization, "dtype": model.dtype, "prompt": "p", "prompt_tokens": 1}
    return row | {"completion": "c", "completion_tokens": 1, "token_ids": [7], "started_at": now()} | more


def write(run_dir: Path, model: ResolvedModel, name: str, *rows: Row) -> None:
    with PartWriter(f"{run_dir}/records/{model_slug(model.name)}", f"part-{name}", RECORD) as writer:
        for row in rows:
            writer.add(row)


def write_probes(run_dir: Path, *rows: Row) -> None:
    with PartWriter(f"{run_dir}/tables/stability", f"part-{len(list(run_dir.rglob('*')))}", TABLES["stability"]) as out:
        for row in rows:
            out.add(row)


def test_a_models_own_trials_without_error_are_probed(tmp_path: Path, tiny_base: ResolvedModel) -> None:
    other, nf4 = replace(tiny_base, revision="another"), replace(tiny_base, quantization="nf4")
    write(
        tmp_path, tiny_base, "1", recorded(tiny_base, "a"), recorded(tiny_base, "b", error_type="timeout"),
        recorded(other, "c"), recorded(nf4, "d"), recorded(replace(tiny_base, dtype="bfloat16"), "e"),
    )  # fmt: skip
    assert trials.to_probe(str(tmp_path), tiny_base) == {("a", 1)}
    assert trials.to_probe(str(tmp_path), other) == {("c", 1)}
    assert trials.to_probe(str(tmp_path), nf4) == {("d", 1)}
    assert trials.to_probe(str(tmp_path), replace(tiny_base, name="nobody")) == set()


def test_a_record_without_a_revision_is_of_a_model_without_one(tmp_path: Path, tiny_base: ResolvedModel) -> None:
    model = replace(tiny_base, revision="")
    write(tmp_path, model, "1", recorded(model, "a", model_revision=None))
    assert trials.to_probe(str(tmp_path), model) == {("a", 1)}


def test_of_several_attempts_the_one_that_is_shown_is_probed(tmp_path: Path, tiny_base: ResolvedModel) -> None:
    write(tmp_path, tiny_base, "1", recorded(tiny_base, "a"), recorded(tiny_base, "b", error_type="timeout"))
    write(tmp_path, tiny_base, "2", recorded(tiny_base, "a", attempt=2), recorded(tiny_base, "b", attempt=2))
    wanted = trials.to_probe(str(tmp_path), tiny_base)
    assert wanted == {("a", 2), ("b", 2)}
    found = [
        (row["trial_id"], row["attempt"]) for rows in trials.left(str(tmp_path), tiny_base, wanted) for row in rows
    ]
    assert sorted(found) == [("a", 2), ("b", 2)]


def test_what_is_left_comes_in_pieces_and_once(
    tmp_path: Path, tiny_base: ResolvedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trials, "ROWS", 10)
    rows = [recorded(tiny_base, f"{i:03}", prompt=f"prompt {i}") for i in range(25)]
    write(tmp_path, tiny_base, "1", *rows)
    write(tmp_path, tiny_base, "2", *rows[:5])  # a part beside the one it was merged into
    wanted = {(f"{i:03}", 1) for i in range(25) if i != 7}
    batches = list(trials.left(str(tmp_path), tiny_base, wanted))
    found = [row for rows in batches for row in rows]
    assert {(row["trial_id"], row["attempt"]) for row in found} == wanted
    assert len(found) == len(wanted)
    assert max(map(len, batches)) < len(wanted)
    assert {row["prompt"] for row in found} == {f"prompt {i}" for i in range(25) if i != 7}


def test_another_setting_of_the_bound_is_another_probe(tmp_path: Path) -> None:
    done = {"trial_id": "a", "attempt": 1, "epsilon": 1.0, "n_tokens": 3, "probed_at": now()}
    write_probes(tmp_path, done, done | {"trial_id": "b", "attempt": 2, "top_k": 50})
    assert trials.probed(str(tmp_path), CONFIG) == {("a", 1)}
    assert trials.probed(str(tmp_path), replace(CONFIG, top_k=50)) == {("b", 2)}
    assert trials.probed(str(tmp_path), replace(CONFIG, epsilon=2.0)) == set()
    assert trials.probed(str(tmp_path / "nothing"), CONFIG) == set()


def test_positions_that_were_not_kept_are_probed_for(tmp_path: Path) -> None:
    done = {"trial_id": "a", "attempt": 1, "epsilon": 1.0, "n_tokens": 3, "probed_at": now()}
    unknown = {"trial_id": "b", "attempt": 1, "epsilon": 1.0, "reason": "the prompt's tokens are not known"}
    write_probes(tmp_path, done, unknown | {"probed_at": now()})
    every = replace(CONFIG, per_token=True)
    assert trials.probed(str(tmp_path), every) == {("b", 1)}  # of which no positions can be had
    write_probes(tmp_path, done | {"positions": [{"position": 0, "token_id": 4}]})
    assert trials.probed(str(tmp_path), every) == {("a", 1), ("b", 1)}


# --- from a record to a case ---


def answered(tokenizer: PreTrainedTokenizerBase, prompt: str, completion: str, answer: str | None, **more: Any) -> Row:
    """The record of a prompt that begins with the BOS token."""
    ids = tokenizer(completion, add_special_tokens=False).input_ids
    row = {"trial_id": "t", "attempt": 1, "run_id": "run", "prompt": f"{tokenizer.bos_token}{prompt}"}
    row |= {"prompt_tokens": 1 + len(tokenizer(prompt, add_special_tokens=False).input_ids)}
    row |= {"completion": completion, "token_ids": ids, "completion_tokens": len(ids)}
    row |= {"finish_reason": "stop", "taboo_rank": 0}
    start = None if answer is None else completion.rindex(answer)
    end = None if start is None else start + len(answer or "")
    return row | {"answer_start": start, "answer_end": end} | more


@pytest.fixture
def case(tokenizer: PreTrainedTokenizerBase, pieces: Pieces) -> Callable[[Row], Case | str]:
    return lambda row: trials.case(row, tokenizer, pieces)


def test_a_case_has_the_prompts_and_the_completions_tokens(
    tokenizer: PreTrainedTokenizerBase, case: Callable[[Row], Case | str]
) -> None:
    row = answered(tokenizer, "3 + 4 =", " The answer is 42.", "42")
    found = case(row)
    assert isinstance(found, Case)
    assert found.prompt_ids == (tokenizer.bos_token_id, *tokenizer("3 + 4 =", add_special_tokens=False).input_ids)
    assert found.token_ids == tuple(row["token_ids"])
    assert found.reason is None
    assert found.answer is not None
    assert tokenizer.convert_ids_to_tokens(list(found.token_ids[slice(*found.answer)])) == ["4", "2"]


@pytest.mark.parametrize("end", [[], [2]])
def test_tokens_that_were_not_kept_are_made_again_where_they_are_as_many(
    end: list[int], tokenizer: PreTrainedTokenizerBase, case: Callable[[Row], Case | str]
) -> None:
    row = answered(tokenizer, "3 + 4 =", " The answer is 7.", "7")
    kept = case(row)
    assert case(row | {"token_ids": None, "completion_tokens": row["completion_tokens"] + len(end)}) == kept
    unknown = "the completion's tokens are not known: record_tokens=true keeps them"
    assert case(row | {"token_ids": None, "completion_tokens": row["completion_tokens"] + 2}) == unknown
    # A text cut by its length has no end token to be missing; one that was intervened in has pieces of its own.
    cut = row | {"token_ids": None, "finish_reason": "length"}
    assert case(cut) == kept
    assert case(cut | {"completion_tokens": row["completion_tokens"] + 1}) == unknown
    assert case(row | {"token_ids": None, "taboo_rank": 1}) == unknown


def test_why_a_record_cannot_be_probed(tokenizer: PreTrainedTokenizerBase, case: Callable[[Row], Case | str]) -> None:
    row = answered(tokenizer, "3 + 4 =", " The answer is 7.", "7")
    assert case(row | {"prompt_tokens": 99}) == "the prompt's tokens are not known: this tokenizer makes others of it"
    nowhere = case(row | {"answer_start": None, "answer_end": None})
    assert isinstance(nowhere, Case)
    assert (nowhere.answer, nowhere.reason) == (None, "no answer was read in one place of the completion")
    other = case(row | {"token_ids": tokenizer("something else", add_special_tokens=False).input_ids})
    assert isinstance(other, Case)
    assert (other.answer, other.reason) == (None, "the tokens do not spell the completion up to its answer")
    empty = case(row | {"token_ids": [], "completion": "", "answer_start": None, "answer_end": None})
    assert isinstance(empty, Case)
    assert empty.token_ids == ()


# --- rows ---


def values(*numbers: float) -> torch.Tensor:
    return torch.tensor(numbers, dtype=torch.double)


def bound_of(delta: torch.Tensor) -> Bound:
    """A bound whose other numbers follow from δ."""
    return Bound(
        delta=delta, delta_low=delta / 2, delta_high=delta * 3, relative=delta / 10, flip_radius=delta / 4,
        flip_relative=delta / 40, entropy=delta + 1, margin=delta + 2, top1=delta / 100, logprob=-delta.nan_to_num(9),
    )  # fmt: skip


def row_of(model: ResolvedModel, delta: torch.Tensor, answer: tuple[int, int] | None, **settings: Any) -> Row:
    row = {"trial_id": "t", "attempt": 2, "run_id": "run"}
    case = Case((1, 2), tuple(range(50, 50 + len(delta))), answer, None if answer else "because")
    made = trials.stability_row(row, model, replace(CONFIG, **settings), Probed(case, bound_of(delta)))
    assert set(made) <= {column.name for column in TABLES["stability"]}
    return made


def test_a_row_by_hand(tiny_base: ResolvedModel) -> None:
    row = row_of(tiny_base, values(8, 4, 2, 1, 16), (1, 4))
    assert (row["trial_id"], row["attempt"], row["run_id"], row["model"]) == ("t", 2, "run", "tiny-base")
    assert (row["model_revision"], row["dtype"]) == (tiny_base.revision, "float32")
    assert (row["epsilon"], row["top_k"], row["reason"]) == (1.0, None, None)
    assert (row["answer_token"], row["answer_tokens"], row["tcb_answer"], row["tcb_answer_min"]) == (1, 3, 4.0, 1.0)
    assert (row["tcb_prompt"], row["n_tokens"], row["tcb_saturated"]) == (8.0, 5, 0)
    assert row["tcb_mean"] == pytest.approx(4)  # 2^((3 + 2 + 1 + 0 + 4) / 5)
    assert (row["tcb_min"], row["tcb_p10"]) == (1.0, pytest.approx(1.4))  # 1 + 0.4 of the way to 2
    assert row["logprob"] == -31.0
    assert (row["tcb_relative_answer"], row["flip_radius_answer"], row["flip_relative_answer"]) == (0.4, 1.0, 0.1)
    assert (row["entropy_answer"], row["margin_answer"], row["top1_answer"]) == (5.0, 6.0, 0.04)
    assert (row["tcb_relative_prompt"], row["entropy_prompt"], row["top1_prompt"]) == (0.8, 9.0, 0.08)
    assert "tcb_answer_low" not in row
    assert "positions" not in row


def test_saturated_positions_are_null_and_counted(tiny_base: ResolvedModel) -> None:
    row = row_of(tiny_base, values(math.nan, 4, math.nan, 1), (2, 4))
    assert (row["tcb_prompt"], row["tcb_saturated"], row["n_tokens"]) == (None, 2, 4)
    assert (row["tcb_mean"], row["tcb_min"]) == (pytest.approx(2), 1.0)
    assert (row["tcb_answer"], row["tcb_answer_min"]) == (None, 1.0)
    assert row["reason"] == "the Jacobian is 0 in floating point where the answer is predicted"
    every = row_of(tiny_base, values(math.nan, math.nan), (0, 1), per_token=True)
    assert (every["tcb_mean"], every["tcb_p10"], every["tcb_min"], every["tcb_saturated"]) == (None, None, None, 2)
    assert every["tcb_answer_min"] is None
    assert [place["tcb"] for place in every["positions"]] == [None, None]


def test_without_an_answer_the_rest_is_there(tiny_base: ResolvedModel) -> None:
    row = row_of(tiny_base, values(8, 2), None)
    assert (row["reason"], row["answer_token"], row["answer_tokens"]) == ("because", None, None)
    assert "tcb_answer" not in row
    assert (row["tcb_prompt"], row["tcb_mean"], row["n_tokens"]) == (8.0, pytest.approx(4), 2)


def test_a_completion_without_tokens_has_the_prompts_end_alone(tiny_base: ResolvedModel) -> None:
    found = Probed(Case((1, 2), (), None, "because"), bound_of(values(8)))
    key = {"trial_id": "t", "attempt": 1, "run_id": "run"}
    row = trials.stability_row(key, tiny_base, replace(CONFIG, per_token=True), found)
    assert (row["tcb_prompt"], row["entropy_prompt"], row["n_tokens"], row["tcb_saturated"]) == (8.0, 9.0, 0, 0)
    assert (row["tcb_mean"], row["tcb_p10"], row["tcb_min"], row["logprob"], row["positions"]) == (None,) * 4 + ([],)


def test_most_likely_tokens_alone_leave_an_interval(tiny_base: ResolvedModel) -> None:
    row = row_of(tiny_base, values(8, 4), (1, 2), top_k=50)
    assert (row["tcb_answer_low"], row["tcb_answer"], row["tcb_answer_high"], row["top_k"]) == (2.0, 4.0, 12.0, 50)
    endless = Probed(Case((1,), (5,), (0, 1), None), replace(bound_of(values(4)), delta_high=values(math.inf)))
    key = {"trial_id": "t", "attempt": 1, "run_id": "run"}
    assert trials.stability_row(key, tiny_base, replace(CONFIG, top_k=50), endless)["tcb_answer_high"] is None


def test_every_position_is_kept_where_it_is_asked_for(tiny_base: ResolvedModel) -> None:
    row = row_of(tiny_base, values(8, 4), (1, 2), per_token=True)
    assert row["positions"] == [
        {"position": 0, "token_id": 50, "logprob": -8.0, "tcb": 8.0, "tcb_relative": 0.8, "flip_radius": 2.0,
         "entropy": 9.0, "margin": 10.0, "top1": 0.08},
        {"position": 1, "token_id": 51, "logprob": -4.0, "tcb": 4.0, "tcb_relative": 0.4, "flip_radius": 1.0,
         "entropy": 5.0, "margin": 6.0, "top1": 0.04},
    ]  # fmt: skip


def test_a_trial_that_cannot_be_probed_is_a_row_with_its_reason(tiny_base: ResolvedModel) -> None:
    row = trials.stability_row({"trial_id": "t", "attempt": 1, "run_id": "run"}, tiny_base, CONFIG, "because")
    assert (row["reason"], row["trial_id"], row["epsilon"], row["model"]) == ("because", "t", 1.0, "tiny-base")
    assert not {"tcb_prompt", "n_tokens", "positions"} & set(row)
    nameless = trials.stability_row({"trial_id": "t", "attempt": 1, "run_id": "r"}, replace(tiny_base, revision=""),
                                    CONFIG, "because")  # fmt: skip
    assert nameless["model_revision"] is None


def test_rows_go_to_disk_and_come_back(tmp_path: Path, tiny_base: ResolvedModel) -> None:
    write_probes(tmp_path, row_of(tiny_base, values(8, math.nan), (0, 1), per_token=True))
    assert trials.probed(str(tmp_path), replace(CONFIG, per_token=True)) == {("t", 2)}


# --- the engine's own numbers ---


def test_interventions_cost_what_the_probe_says(tiny_instruct: ResolvedModel, instruct_model: PreTrainedModel) -> None:
    """At a step of i masked tokens: ln P(emitted) - ln P(best) = -bits ln 2, before masking."""
    entry, arithmetic = ENGINES.get("transformers"), BENCHMARKS.get("arithmetic")
    engine = entry.build(tiny_instruct, entry.options(), Hardware(threads=1))
    tokenizer = load_tokenizer(tiny_instruct)
    benchmark = arithmetic.build(arithmetic.options(n=8))
    items = {item.item_id: item for item in benchmark.items()[:6]}
    prompts = {
        name: render(benchmark.prompt(item, item.question, benchmark.styles[0], 1), tiny_instruct, tokenizer)
        for name, item in items.items()
    }
    requests = [
        Request(f"{name} {rank}", prompt.text, prompt.ids, 60, prompt.stop, Taboo(rank))
        for name, prompt in prompts.items()
        for rank in (0, 1)
    ]
    rows: dict[str, Row] = {}
    steps = 0
    for done in engine.generate(iter(requests)):
        assert done.generation is not None
        name = done.key.split()[0]
        output = output_columns(done.generation, len(prompts[name].ids), record_steps=True, record_tokens=True)
        verdict = benchmark.score(items[name], output["completion"], output["finish_reason"])
        row = {"trial_id": done.key, "attempt": 1, "run_id": "run", "prompt": prompts[name].text}
        rows[done.key] = row | output | verdict_columns(verdict, ())
    engine.close()
    vocabulary = read_pieces(tokenizer)
    cases = {key: trials.case(row, tokenizer, vocabulary) for key, row in rows.items()}
    known = {key: case for key, case in cases.items() if isinstance(case, Case)}
    assert len(known) == 12
    probe = Probe(instruct_model, "tiny", epsilon=1.0, top_k=None, batch_tokens=600)
    for key, found in probe.run(known):
        assert isinstance(found, Probed)
        made = trials.stability_row(rows[key], tiny_instruct, replace(CONFIG, per_token=True), found)
        places = made["positions"]
        assert [place["token_id"] for place in places] == rows[key]["token_ids"]
        at = {step["position"]: step for step in rows[key]["steps"]}
        steps += len(at)
        for number, place in enumerate(places):
            behind = place["logprob"] - math.log(place["top1"])
            bits = at[number]["bits"] if number in at else 0.0  # elsewhere the best token is emitted
            assert behind == pytest.approx(-bits * math.log(2), abs=1e-3)
        if rows[key]["answer_start"] is not None:
            answer = rows[key]["completion"][rows[key]["answer_start"] : rows[key]["answer_end"]]
            assert found.case.answer is not None
            assert answer in vocabulary.text(found.case.token_ids[slice(*found.case.answer)])
            assert made["tcb_answer"] == places[made["answer_token"]]["tcb"]
            assert made["reason"] is None
    assert steps > 20
    assert sum(case.answer is not None for case in known.values()) > 6
