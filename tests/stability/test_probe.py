"""The probe against plain forward passes of the shipped models, and where an answer's tokens are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields
from typing import Any

import pytest
import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from taboo_cluster.errors import UserError
from taboo_cluster.stability.bound import Bound, bound
from taboo_cluster.stability.output_map import OutputMap
from taboo_cluster.stability.probe import Case, Probe, Probed, token_span
from taboo_cluster.taboo.pieces import Pieces, read_pieces

TEXTS = {
    "short": ("Two and", " three"),
    "long": ("Ann has 3 apples and buys 4 more. How many apples has she now?\n", " She has 3 + 4 = 7 apples."),
    "middle": ("The answer is", " 42. The answer is 42.\n"),
    "one": ("x", "y"),
    "nothing": ("She has 3 + 4 =", ""),
}


@pytest.fixture(scope="module")
def cases(tokenizer: PreTrainedTokenizerBase) -> dict[str, Case]:
    def ids(text: str) -> tuple[int, ...]:
        return tuple(tokenizer(text, add_special_tokens=False).input_ids)

    return {name: Case((1, *ids(prompt)), ids(made), None, None) for name, (prompt, made) in TEXTS.items()}


def probe_of(model: PreTrainedModel, **settings: Any) -> Probe:
    return Probe(model, "tiny", **{"epsilon": 1.0, "top_k": None, "batch_tokens": 8192} | settings)


def found(probe: Probe, cases: dict[str, Case]) -> dict[str, Bound]:
    every = list(probe.run(cases))
    assert sorted(name for name, _ in every) == sorted(cases)
    bounds = {}
    for name, one in every:
        assert isinstance(one, Probed)
        assert one.case == cases[name]
        bounds[name] = one.bound
    return bounds


def same(left: Bound, right: Bound, rtol: float = 1e-5) -> None:
    for field in fields(Bound):
        own, other = (getattr(each, field.name) for each in (left, right))
        torch.testing.assert_close(own, other, rtol=rtol, atol=1e-7, equal_nan=True, msg=field.name)


# --- hidden states and positions ---


@torch.no_grad()
def alone(model: PreTrainedModel, case: Case) -> Bound:
    """Each position from a forward pass of the tokens before it alone, nothing batched or padded."""
    head: Any = model.get_output_embeddings()  # type: ignore[no-untyped-call]
    parts = []
    for place in range(max(1, len(case.token_ids))):
        ids = torch.tensor([[*case.prompt_ids, *case.token_ids[:place]]])
        output: Any = model(ids, output_hidden_states=True)
        emitted = torch.tensor([case.token_ids[place] if case.token_ids else 0])
        state = output.hidden_states[-1][0, -1:]  # after the last norm
        torch.testing.assert_close(state @ head.weight.T, output.logits[0, -1:])
        parts.append(bound(state, OutputMap(head.weight), emitted=emitted))
    return Bound.join(parts)


@pytest.mark.parametrize("name", TEXTS)
def test_each_position_is_that_of_its_prefix(name: str, base_model: PreTrainedModel, cases: dict[str, Case]) -> None:
    bounds = found(probe_of(base_model), cases)
    assert len(bounds[name].delta) == max(1, len(cases[name].token_ids))
    same(bounds[name], alone(base_model, cases[name]), rtol=1e-4)
    torch.testing.assert_close(bounds[name].delta, alone(base_model, cases[name]).delta, rtol=1e-5, atol=0)


@torch.no_grad()
def test_log_probabilities_are_the_models_own(base_model: PreTrainedModel, cases: dict[str, Case]) -> None:
    bounds = found(probe_of(base_model), cases)
    for name, case in cases.items():
        if case.token_ids:
            logits: Any = base_model(torch.tensor([[*case.prompt_ids, *case.token_ids]])).logits[0]
            own = logits.double().log_softmax(1)[len(case.prompt_ids) - 1 : -1]
            emitted = own.gather(1, torch.tensor(case.token_ids)[:, None])[:, 0]
            torch.testing.assert_close(bounds[name].logprob, emitted, rtol=0, atol=1e-5)
            torch.testing.assert_close(bounds[name].top1.log(), own.amax(1), rtol=0, atol=1e-5)


@pytest.mark.parametrize("batch_tokens", [1, 60, 200])
def test_batches_and_padding_change_nothing(
    batch_tokens: int, base_model: PreTrainedModel, cases: dict[str, Case]
) -> None:
    together = found(probe_of(base_model), cases)
    apart = found(probe_of(base_model, batch_tokens=batch_tokens), cases)
    for name in cases:
        same(apart[name], together[name])


def test_a_batch_has_no_more_tokens_than_asked_for_padding_included(
    base_model: PreTrainedModel, cases: dict[str, Case], monkeypatch: pytest.MonkeyPatch
) -> None:
    probe, sizes = probe_of(base_model, batch_tokens=60), []
    measure = Probe._measure

    def measured(self: Probe, batch: Sequence[Case]) -> Iterator[Probed]:
        sizes.append(len(batch) * max(len(case.prompt_ids) + len(case.token_ids) for case in batch))
        return measure(self, batch)

    monkeypatch.setattr(Probe, "_measure", measured)
    found(probe, cases)
    longest = max(len(case.prompt_ids) + len(case.token_ids) for case in cases.values())
    assert max(sizes) <= max(60, longest)
    assert len(sizes) < len(cases)


def test_no_cases(base_model: PreTrainedModel) -> None:
    assert list(probe_of(base_model).run({})) == []


def test_the_scale_and_the_most_likely_tokens(base_model: PreTrainedModel, cases: dict[str, Case]) -> None:
    exact = found(probe_of(base_model), cases)
    for name, of in found(probe_of(base_model, epsilon=3.0), cases).items():
        torch.testing.assert_close(of.delta, 3 * exact[name].delta)
        torch.testing.assert_close(of.flip_radius, exact[name].flip_radius)
    for name, of in found(probe_of(base_model, top_k=20), cases).items():
        assert (of.delta_low <= exact[name].delta * (1 + 1e-6)).all()
        assert (exact[name].delta <= of.delta_high * (1 + 1e-6)).all()
        assert (of.delta_low < of.delta_high).all()
        torch.testing.assert_close(of.logprob, exact[name].logprob)


# --- what goes wrong ---


class Memory:
    """Measures no more than `most` cases at once; keeps the sizes of the batches it was asked for."""

    def __init__(self, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asked: list[int] = []
        measure = Probe._measure

        def measured(probe: Probe, batch: Sequence[Case]) -> Iterator[Probed]:
            self.asked.append(len(batch))
            if len(batch) > most:
                raise torch.OutOfMemoryError("CUDA out of memory")
            return measure(probe, batch)

        monkeypatch.setattr(Probe, "_measure", measured)


def test_batches_are_halved_when_memory_runs_out(
    base_model: PreTrainedModel, cases: dict[str, Case], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = found(probe_of(base_model), cases)
    memory = Memory(2, monkeypatch)
    halved = found(probe_of(base_model), cases)
    assert memory.asked[:2] == [5, 2]
    for name in cases:
        same(halved[name], whole[name])


def test_a_case_that_does_not_fit_alone_is_said_so(
    base_model: PreTrainedModel, cases: dict[str, Case], monkeypatch: pytest.MonkeyPatch
) -> None:
    Memory(0, monkeypatch)
    assert dict(probe_of(base_model).run(cases)) == dict.fromkeys(cases, "memory ran out")


def test_another_error_ends_the_probe(
    base_model: PreTrainedModel, cases: dict[str, Case], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> Iterator[Probed]:
        raise RuntimeError("device-side assert")

    monkeypatch.setattr(Probe, "_measure", broken)
    with pytest.raises(RuntimeError, match="device-side assert"):
        list(probe_of(base_model).run(cases))


@pytest.mark.parametrize("factor", [2.0, 0.9])
def test_a_scale_that_the_config_does_not_tell_is_noticed(
    factor: float, instruct_model: PreTrainedModel, cases: dict[str, Case]
) -> None:
    head: Any = instruct_model.get_output_embeddings()  # type: ignore[no-untyped-call]
    head.register_forward_hook(lambda module, given, logits: logits * factor)
    with pytest.raises(UserError, match="tiny: its logits are not what its output matrix and config make") as error:
        list(probe_of(instruct_model).run(cases))
    assert "\n" not in str(error.value)


def test_a_scale_that_the_config_tells_is_taken(instruct_model: PreTrainedModel, cases: dict[str, Case]) -> None:
    plain = found(probe_of(instruct_model), cases)
    head: Any = instruct_model.get_output_embeddings()  # type: ignore[no-untyped-call]
    head.register_forward_hook(lambda module, given, logits: 2 * torch.tanh(logits / 2))
    instruct_model.config.final_logit_softcapping = 2.0
    capped = found(probe_of(instruct_model), cases)
    assert not torch.allclose(capped["long"].delta, plain["long"].delta, rtol=0.1)


def test_a_model_whose_map_is_not_known_is_refused(instruct_model: PreTrainedModel) -> None:
    instruct_model.config.logit_scale = 0.5
    with pytest.raises(UserError, match=r"may depend on logit_scale=0\.5 in an unknown way"):
        probe_of(instruct_model)


def test_a_model_without_an_output_matrix_is_refused(
    instruct_model: PreTrainedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(instruct_model, "get_output_embeddings", lambda: None)
    with pytest.raises(UserError, match="tiny has no output matrix that the bound could be computed from"):
        probe_of(instruct_model)


def test_bfloat16_is_within_its_rounding(base_model: PreTrainedModel, cases: dict[str, Case]) -> None:
    """Of the states, that is: the bound itself is computed in float32."""
    exact = found(probe_of(base_model), cases)
    model: Any = base_model
    try:
        rounded = found(probe_of(model.to(torch.bfloat16)), cases)
    finally:
        model.to(torch.float32)
    for name in cases:
        off = (rounded[name].logprob - exact[name].logprob).abs()
        assert off[~off.isnan()].median() < 0.1
        assert rounded[name].delta.dtype == torch.double


def test_the_models_own_logits_are_asked_for_once(
    base_model: PreTrainedModel, cases: dict[str, Case], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []
    check = Probe._check

    def checked(*given: Any) -> None:
        asked.append(1)
        check(*given)

    monkeypatch.setattr(Probe, "_check", checked)
    probe = probe_of(base_model, batch_tokens=1)
    found(probe, cases)
    found(probe, cases)
    assert asked == [1]


# --- where the answer's tokens are ---


def pieces_of(*pieces: str, special: frozenset[int] = frozenset()) -> Pieces:
    """A SentencePiece vocabulary."""
    return Pieces("▁", pieces, special, special)


def span(pieces: Pieces, text: str, answer: str, ids: Sequence[int] | None = None) -> tuple[int, int] | None:
    """Of the last place where the answer stands in the text."""
    start = text.rindex(answer)
    return token_span(pieces, ids or range(len(pieces.raw)), text, start, start + len(answer))


def test_an_answer_of_one_token_and_of_several() -> None:
    pieces = pieces_of("▁The", "▁answer", "▁is", "▁", "4", "2", ".")
    assert span(pieces, " The answer is 42.", "42") == (4, 6)
    assert span(pieces, " The answer is 42.", "is") == (2, 3)
    assert span(pieces, " The answer is 42.", " The answer is 42.") == (0, 7)


def test_an_answer_inside_a_token() -> None:
    pieces = pieces_of("▁is", "▁42.50", "▁(B).")
    assert span(pieces, " is 42.50 (B).", "42") == (1, 2)
    assert span(pieces, " is 42.50 (B).", "50") == (1, 2)
    assert span(pieces, " is 42.50 (B).", "B") == (2, 3)
    assert span(pieces, " is 42.50 (B).", "0 (B") == (1, 3)


def test_characters_of_several_tokens_begin_with_the_first() -> None:
    pieces = pieces_of("▁a", "<0xE2>", "<0x82>", "<0xAC>", "5", "<0xF0>", "<0x9F>", "<0x98>", "<0x80>", "x")
    assert span(pieces, " a€5😀x", "€") == (1, 4)
    assert span(pieces, " a€5😀x", "5") == (4, 5)
    assert span(pieces, " a€5😀x", "€5") == (1, 5)
    assert span(pieces, " a€5😀x", "😀") == (5, 9)
    assert span(pieces, " a€5😀x", "x") == (9, 10)


def test_byte_level_tokens_of_a_real_vocabulary(tokenizer: PreTrainedTokenizerBase) -> None:
    pieces, text = read_pieces(tokenizer), "naïve 😀 costs €1,234 in all"
    ids = tokenizer(text, add_special_tokens=False).input_ids
    for answer in ("ï", "😀", "€1,234", "1,234", "all"):
        first, last = span(pieces, text, answer, ids) or (0, 0)
        before, through = pieces.text(ids[:first]), pieces.text(ids[:last])
        start = text.index(answer)
        assert len(before) <= start < len(pieces.text(ids[: first + 1]))
        assert through.startswith(text[: start + len(answer)])
        assert not pieces.text(ids[: last - 1]).startswith(text[: start + len(answer)])


def test_special_tokens_spell_nothing() -> None:
    pieces = pieces_of("<think>", "▁7", "</think>", "▁8", "<end>", special=frozenset({0, 2, 4}))
    assert span(pieces, " 7 8", "7") == (1, 2)
    assert span(pieces, " 7 8", "8") == (3, 4)


def test_tokens_behind_the_answer_need_not_be_in_the_text() -> None:
    """A stop string cuts the text, not the tokens."""
    assert span(pieces_of("▁7", "▁so", "\n\n"), " 7 s", "7") == (0, 1)


def test_tokens_that_do_not_spell_the_text_have_no_span() -> None:
    assert span(pieces_of("▁7", "▁8"), " 7 9", "9") is None
    assert span(pieces_of("▁7"), " 7 8", "8") is None
    assert token_span(pieces_of("x"), [], "x", 0, 1) is None
