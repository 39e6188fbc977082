"""The logits processor for transformers, on a tiny random model."""

import math

import pytest
import torch
from tiny_tokenizers import byte_level
from transformers import LlamaConfig, LlamaForCausalLM, LogitsProcessor

from taboo_cluster.errors import UserError
from taboo_cluster.taboo.transformers_hook import TabooLogitsProcessor
from taboo_cluster.taboo.word_start import word_start_table
from taboo_cluster.trial import Taboo

TOKENIZER = byte_level(["Ġthe", "Ġcat", "Ġsat", *(f"Ġ{a}{b}" for a in "bdfgklmnprtv" for b in "aeiouy"), "at"])
WIDTH = len(TOKENIZER) + 7
STEPS = 12


class Keep(LogitsProcessor):
    """Copies of the scores that come by."""

    def __init__(self) -> None:
        self.seen: list[torch.Tensor] = []

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        self.seen.append(scores.clone())
        return scores


@pytest.fixture(scope="module")
def model() -> LlamaForCausalLM:
    config = LlamaConfig(
        vocab_size=WIDTH,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        max_position_embeddings=128,
        initializer_range=0.6,
        bos_token_id=None,
        eos_token_id=None,
    )
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return LlamaForCausalLM(config).eval()


PROMPTS = torch.randint(0, len(TOKENIZER), (5, 6), generator=torch.Generator().manual_seed(1))


def generate(model: LlamaForCausalLM, *processors: LogitsProcessor, prompts: torch.Tensor = PROMPTS) -> torch.Tensor:
    mask = torch.ones_like(prompts)
    return model.generate(
        prompts, attention_mask=mask, max_new_tokens=STEPS, do_sample=False, pad_token_id=0, logits_processor=processors
    )


def test_the_log_is_what_a_plain_reading_of_the_nominal_logits_gives(model: LlamaForCausalLM) -> None:
    taboos = [Taboo(rank=rank) for rank in (0, 1, 2, 8, 3)]
    raw, taboo, masked = Keep(), TabooLogitsProcessor(TOKENIZER, taboos), Keep()
    output = generate(model, raw, taboo, masked)
    start = word_start_table(TOKENIZER, "marker").start[0].tolist() + [False] * 7
    detours = taboo.detours(output)
    fired = 0
    for row, rank in enumerate(taboo.rank for taboo in taboos):
        found = {detour.position: detour for detour in detours[row]}
        for step in range(STEPS):
            logits = raw.seen[step][row].double()
            nominal = int(logits[: len(TOKENIZER)].argmax())
            emitted = int(output[row, PROMPTS.shape[1] + step])
            assert (step in found) == (rank > 0 and start[nominal])
            if step in found:
                fired += 1
                detour = found[step]
                assert (detour.nominal_id, detour.emitted_id) == (nominal, emitted)
                assert detour.emitted_rank == int((logits >= logits[emitted]).sum())
                logprobs = logits.log_softmax(0)
                bits = float(logprobs[nominal] - logprobs[emitted]) / math.log(2)
                assert detour.bits == pytest.approx(bits, abs=1e-5)
                assert int((masked.seen[step][row] == -math.inf).sum()) == rank
            else:
                assert torch.equal(masked.seen[step][row], raw.seen[step][row])
    assert fired >= 10, "the model never begins a word: nothing was tested"


def test_c5_c9_a_greedy_detour_emits_the_next_rank(model: LlamaForCausalLM) -> None:
    narrow = TabooLogitsProcessor(TOKENIZER, Taboo(rank=2))
    output = generate(model, narrow)
    ranks = {
        detour.emitted_rank for row in narrow.detours(output) for detour in row if detour.emitted_id < len(TOKENIZER)
    }
    # An id beyond the tokenizer takes no place, but where its logit is higher it is counted.
    assert min(ranks) == 3


def test_rank_0_is_the_plain_model(model: LlamaForCausalLM) -> None:
    assert torch.equal(generate(model, TabooLogitsProcessor(TOKENIZER, Taboo())), generate(model))


def test_c3_rows_do_not_meet(model: LlamaForCausalLM) -> None:
    taboos = [Taboo(rank=rank) for rank in (8, 0, 1, 2, 1)]
    together = generate(model, TabooLogitsProcessor(TOKENIZER, taboos))
    for row, taboo in enumerate(taboos):
        alone = generate(model, TabooLogitsProcessor(TOKENIZER, taboo), prompts=PROMPTS[row : row + 1])
        assert torch.equal(alone[0], together[row])


def test_the_masks_of_sampled_rows_act_before_sampling(model: LlamaForCausalLM) -> None:
    taboo, masked = TabooLogitsProcessor(TOKENIZER, Taboo(rank=3)), Keep()
    with torch.random.fork_rng():
        torch.manual_seed(0)
        output = model.generate(
            PROMPTS,
            attention_mask=torch.ones_like(PROMPTS),
            max_new_tokens=STEPS,
            do_sample=True,
            temperature=2.0,
            top_k=0,
            pad_token_id=0,
            logits_processor=[taboo, masked],
        )
    detours = [detour for row in taboo.detours(output) for detour in row if detour.emitted_id < len(TOKENIZER)]
    assert detours
    assert all(detour.emitted_rank >= 4 and detour.bits > 0 for detour in detours)


def test_steps_left_alone_are_told() -> None:
    taboo = TabooLogitsProcessor(TOKENIZER, Taboo(rank=1))
    the, cat = TOKENIZER.convert_tokens_to_ids(["Ġthe", "Ġcat"])
    few, many = torch.full((2, 1, WIDTH), -math.inf)
    few[0, the] = 1.0
    many[0, [the, cat]] = torch.tensor([2.0, 1.0])
    ids = torch.zeros(1, 4, dtype=torch.long)
    for scores, emitted in ((few, the), (many, cat), (few, the)):
        taboo(ids, scores)
        ids = torch.cat([ids, torch.tensor([[emitted]])], 1)
    assert taboo.skipped() == [[0, 2]]
    (found,) = taboo.detours(ids)
    assert [(d.position, d.nominal_id, d.emitted_id, d.emitted_rank) for d in found] == [(1, the, cat, 2)]
    assert found[0].bits == pytest.approx(1 / math.log(2))


def test_a_protected_token_above_the_masked_ones_is_counted_right() -> None:
    end, the, cat, sat = TOKENIZER.convert_tokens_to_ids(["<|end|>", "Ġthe", "Ġcat", "Ġsat"])
    taboo = TabooLogitsProcessor(TOKENIZER, Taboo(rank=2, protect_special=True))
    scores = torch.full((1, WIDTH), -9.0)
    scores[0, [the, end, cat, sat]] = torch.tensor([4.0, 3.0, 2.0, 1.0])
    taboo(torch.zeros(1, 4, dtype=torch.long), scores)
    assert (scores[0] == -math.inf).nonzero().flatten().tolist() == sorted([the, cat])
    (found,) = taboo.detours(torch.tensor([[0, 0, 0, 0, end]]))
    assert (found[0].emitted_id, found[0].emitted_rank) == (end, 2)


def test_one_object_serves_one_call(model: LlamaForCausalLM) -> None:
    taboo = TabooLogitsProcessor(TOKENIZER, Taboo(rank=1))
    generate(model, taboo)
    with pytest.raises(ValueError, match="one call of generate"):
        generate(model, taboo)


def test_what_makes_no_sense_is_refused(model: LlamaForCausalLM) -> None:
    with pytest.raises(ValueError, match="0 or more"):
        TabooLogitsProcessor(TOKENIZER, Taboo(rank=-1))
    with pytest.raises(ValueError, match="must share"):
        TabooLogitsProcessor(TOKENIZER, [Taboo(rank=1), Taboo(rank=1, trigger="other")])
    with pytest.raises(UserError, match="unknown trigger"):
        TabooLogitsProcessor(TOKENIZER, Taboo(rank=1, trigger="word_strat"))
    with pytest.raises(ValueError, match="2 interventions were given for a batch of 5 rows"):
        generate(model, TabooLogitsProcessor(TOKENIZER, [Taboo(rank=1)] * 2))
