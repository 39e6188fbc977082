"""Interventions that depend on what was generated before: the hook in vLLM's batches against one sequence by itself.

A made-up model gives bf16-rounded logits that follow from request and position, and tokens are chosen greedily or at
random. Requests come, go, change rows and slots, are preempted and read again in parts: each must get exactly the mask,
and the log, that it gets when it runs alone with everything worked out from its whole history in plain Python.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

pytest.importorskip("vllm", reason="vLLM is not installed")

from tiny_tokenizers import byte_level
from tokenizers import AddedToken
from transformers import PreTrainedTokenizerFast
from vllm import SamplingParams
from vllm.v1.sample.logits_processor import BatchUpdate
from vllm.v1.worker.gpu.sample.logits_processor import LogitsContext

from taboo_cluster.taboo.asked import extra_args
from taboo_cluster.taboo.mask import entropy_bits, mask_top
from taboo_cluster.taboo.reasoning import think_tokens
from taboo_cluster.taboo.step_log import unpack
from taboo_cluster.taboo.triggers.base import RowFacts, choose
from taboo_cluster.taboo.vllm_hook import TabooLogitsProcessor
from taboo_cluster.taboo.word_start import WordStartTable, word_start_table
from taboo_cluster.trial import Taboo

LENGTH = 12
TABOOS = (
    Taboo(1, "word_start", "unicode"),
    Taboo(2, "mid_word", "unicode"),
    Taboo(1, "sparse(p=0.5)"),
    Taboo(1, "bit_budget(bits=3)"),
    Taboo(2, "bit_budget(bits=9)", "unicode"),
    Taboo(2, "surprisal_threshold(at_most=2)"),
    Taboo(1, "mass(q=0.4)"),
    Taboo(1, "every_token", scope="after_think"),
    Taboo(3, "content_word", "unicode", protect_special=True),
    Taboo(0, word_start="unicode"),
)


@pytest.fixture(scope="module")
def tokenizer() -> PreTrainedTokenizerFast:
    words = ["Ġthe", "Ġcat", "dog", "Ġit", "'s", "42", "Ġ42", ".", "-b", "(a", "æĹ¥", "Ġof"]
    made = byte_level(words)
    made.add_tokens([AddedToken(token, special=False, normalized=False) for token in ("<think>", "</think>")])
    return made


@pytest.fixture(scope="module")
def vllm_config(tokenizer, tmp_path_factory):
    folder = tmp_path_factory.mktemp("tokenizer")
    tokenizer.save_pretrained(folder)
    model = SimpleNamespace(
        tokenizer=str(folder),
        tokenizer_revision=None,
        trust_remote_code=False,
        max_model_len=64,
        hf_config=SimpleNamespace(get_text_config=lambda: SimpleNamespace(eos_token_id=None)),
        try_get_generation_config=dict,
    )
    return SimpleNamespace(model_config=model, speculative_config=None)


@pytest.fixture(scope="module")
def tables(tokenizer) -> dict[str, WordStartTable]:
    return {kind: word_start_table(tokenizer, kind) for kind in ("marker", "unicode")}


@dataclass
class Sequence:
    """One request: what it asks and what it has."""

    number: int
    taboo: Taboo
    prompt: list[int]
    sampled: bool
    outputs: list[int] = field(default_factory=list)

    @property
    def key(self) -> str:
        return f"s{self.number}"

    def params(self) -> SamplingParams:
        asked = extra_args(self.taboo, self.key, seed=1000 + self.number, entropy=self.number % 2 == 0)
        return SamplingParams(max_tokens=LENGTH, extra_args=asked)

    def logits(self, width: int) -> torch.Tensor:
        generator = torch.Generator().manual_seed(self.number * 1000 + len(self.outputs))
        return (2 * torch.randn(1, width, generator=generator)).bfloat16().float()

    def choose(self, masked: torch.Tensor) -> int:
        """The best token left, or any that is left."""
        if not self.sampled:
            return int((masked == masked.max()).nonzero()[0])
        left = (masked > -torch.inf).nonzero().flatten().tolist()
        return random.Random(self.number * 1000 + len(self.outputs)).choice(left)


@dataclass(frozen=True)
class Alone:
    """What became of a sequence by itself."""

    tokens: list[int]
    masks: list[list[int]]
    steps: list[tuple[int, bool, bool]]
    entropies: list[float]


def alone(sequence: Sequence, width: int, tokenizer, tables) -> Alone:
    """The whole history looked at anew at each step, with the mask core for one row."""
    told = Alone([], [], [], [])
    taboo, table = sequence.taboo, tables[sequence.taboo.word_start]
    trigger, think = choose(taboo.trigger), think_tokens(tokenizer)
    mine = Sequence(sequence.number, taboo, sequence.prompt, sequence.sampled)
    costs: list[float] = []
    for position in range(LENGTH):
        history = [*mine.prompt, *mine.outputs]
        last = [token for token in history if token in (think.start, think.end)][-1:]
        rank = 0 if taboo.scope == "after_think" and last != [think.end] else taboo.rank
        facts = RowFacts(
            state=table.state(torch.tensor([history])),
            position=torch.tensor([position]),
            seed=torch.tensor([1000 + mine.number]),
            paid=torch.tensor([math.fsum(costs)], dtype=torch.double),
            options={name: torch.tensor([value], dtype=torch.double) for name, value in trigger.numbers.items()},
        )
        logits = mine.logits(width)
        masked = logits.clone()
        protect = torch.tensor([taboo.protect_special])
        done = mask_top(masked, torch.tensor([rank]), table, trigger.entry, 3, protect, facts)
        token = mine.choose(masked[0])
        if done.intervened:
            costs.append((float(logits[0].max()) - float(logits[0, token])) / math.log(2))
        mine.outputs.append(token)
        told.masks.append((masked[0] == -torch.inf).nonzero().flatten().tolist())
        told.steps.append((int(done.nominal), bool(done.intervened), bool(done.word_initial)))
        told.entropies.append(float(entropy_bits(logits)))
    told.tokens.extend(mine.outputs)
    return told


def make(number: int, tokenizer) -> Sequence:
    rng = random.Random(number)
    size = len(tokenizer)
    think, close = (tokenizer.convert_tokens_to_ids(token) for token in ("<think>", "</think>"))
    prompt = [rng.randrange(size) for _ in range(rng.randint(1, 24))]
    prompt += rng.choice([[], [think], [close]])
    return Sequence(number, TABOOS[number % len(TABOOS)], prompt, sampled=rng.random() < 0.5)


def check(hook: TabooLogitsProcessor, sequence: Sequence, expected: Alone) -> None:
    """A sequence that has ended: its tokens and its log."""
    assert sequence.outputs == expected.tokens, sequence.taboo
    if not (sequence.taboo.rank or sequence.number % 2 == 0):
        return
    taken = hook.take({sequence.key: LENGTH})[sequence.key]
    steps = [unpack(number) for number in taken.packed]
    assert [(step.nominal_id, step.intervened, step.word_initial) for step in steps] == expected.steps
    if sequence.number % 2 == 0:
        assert taken.entropy == pytest.approx(expected.entropies, abs=1e-5)
    else:
        assert taken.entropy is None


@pytest.mark.parametrize("seed", range(2))
def test_v1_gives_each_request_what_it_gets_alone(vllm_config, tokenizer, tables, seed):
    rng = random.Random(seed)
    hook = TabooLogitsProcessor(vllm_config, torch.device("cpu"), False)
    width = len(tokenizer) + 5
    waiting = [make(seed * 100 + number, tokenizer) for number in range(30)]
    expected = {s.number: alone(s, width, tokenizer, tables) for s in waiting}
    params = {s.number: s.params() for s in waiting}
    running: list[Sequence] = []
    done = 0
    while done < 30:
        ended = [s for s in running if len(s.outputs) == LENGTH]
        preempted = [s for s in running if s not in ended and rng.random() < 0.1]
        removed = [index for index, s in enumerate(running) if s in ended or s in preempted]
        # Requests that stay move up; vLLM only ever fills holes from the end, the hook must take any move.
        kept = [s for s in running if s not in ended and s not in preempted]
        moved = [(running.index(s), kept.index(s)) for s in kept if running.index(s) != kept.index(s)]
        waiting = waiting + preempted
        rng.shuffle(waiting)
        new = [waiting.pop() for _ in range(min(len(waiting), 7 - len(kept), rng.randint(0, 3)))]
        running = kept + new
        for s in ended:
            check(hook, s, expected[s.number])
            done += 1
        added = []
        for index, s in enumerate(running):
            if s in new:
                s.outputs = list(s.outputs)
                added.append((index, params[s.number], s.prompt, s.outputs))
        hook.update_state(BatchUpdate(len(running), removed, [], []) if removed and not running else None)
        if not running:
            continue
        from vllm.v1.sample.logits_processor import MoveDirectionality

        one_way = [(a, b, MoveDirectionality.UNIDIRECTIONAL) for a, b in moved]
        # As told by vLLM: removed, then added, then moved. Rows that are to be moved away are not overwritten before.
        hook.update_state(
            BatchUpdate(max(len(running), max((a + 1 for a, _ in moved), default=0)), removed, [], one_way)
        )
        hook.update_state(BatchUpdate(len(running), [], added, []))
        if rng.random() < 0.2:  # a part of a prompt: a token that is thrown away
            hook.apply(torch.randn(len(running), width))
            hook.update_state(None)
        logits = torch.cat([s.logits(width) for s in running])
        masked = hook.apply(logits)
        for row, s in zip(masked, running, strict=True):
            assert (row == -torch.inf).nonzero().flatten().tolist() == expected[s.number].masks[len(s.outputs)], s.taboo
            s.outputs.append(s.choose(row))


@pytest.mark.parametrize("seed", range(2))
def test_v2_gives_each_request_what_it_gets_alone(vllm_config, tokenizer, tables, seed):
    rng = random.Random(seed)
    slots, width = 6, len(tokenizer) + 5
    states = SimpleNamespace(
        device=torch.device("cpu"),
        max_num_reqs=slots,
        all_token_ids=SimpleNamespace(gpu=torch.full((slots, 64), 3, dtype=torch.int32)),
        prompt_len=SimpleNamespace(gpu=torch.zeros(slots, dtype=torch.int32)),
        prefill_len=SimpleNamespace(gpu=torch.zeros(slots, dtype=torch.int32)),
    )
    hook = TabooLogitsProcessor(vllm_config, states)
    waiting = [make(seed * 100 + number, tokenizer) for number in range(30)]
    expected = {s.number: alone(s, width, tokenizer, tables) for s in waiting}
    running: dict[int, Sequence] = {}
    unread: dict[int, int] = {}
    """Slot -> tokens of a prompt that are read later."""
    done = 0
    while done < 30:
        for slot, s in list(running.items()):
            if len(s.outputs) == LENGTH:
                check(hook, running.pop(slot), expected[s.number])
                done += 1
            elif rng.random() < 0.1:
                waiting.append(running.pop(slot))
        rng.shuffle(waiting)
        for slot in set(range(slots)) - set(running):
            if waiting and rng.random() < 0.6:
                s = running[slot] = waiting.pop()
                tokens = [*s.prompt, *s.outputs]
                states.prompt_len.gpu[slot], states.prefill_len.gpu[slot] = len(s.prompt), len(tokens)
                states.all_token_ids.gpu[slot, : len(tokens)] = torch.tensor(tokens, dtype=torch.int32)
                unread[slot] = rng.randint(1, len(tokens) - 1) if len(tokens) > 1 and rng.random() < 0.5 else 0
                hook.add_request(slot, s.params())
        if not running:
            continue
        order = rng.sample(sorted(running), rng.randint(1, len(running)))
        hook.apply_staged_writes()
        lengths = [len(running[slot].prompt) + len(running[slot].outputs) - unread[slot] for slot in order]
        ctx = LogitsContext(
            expanded_idx_mapping=torch.tensor(order, dtype=torch.int32),
            idx_mapping=torch.tensor(order, dtype=torch.int32),
            idx_mapping_np=np.array(order, dtype=np.int32),
            expanded_local_pos=torch.zeros(len(order), dtype=torch.int32),
            input_ids=torch.zeros(len(order), dtype=torch.int32),
            pos=torch.tensor(lengths, dtype=torch.int32) - 1,
            seq_lens_upper_bound_np=np.array(lengths, dtype=np.int32),
        )
        masked = hook.apply(torch.cat([running[slot].logits(width) for slot in order]), ctx)
        for row, slot in zip(masked, order, strict=True):
            s = running[slot]
            if unread[slot]:
                unread[slot] = 0
                continue
            assert (row == -torch.inf).nonzero().flatten().tolist() == expected[s.number].masks[len(s.outputs)], s.taboo
            token = s.choose(row)
            states.all_token_ids.gpu[slot, len(s.prompt) + len(s.outputs)] = token
            s.outputs.append(token)


def test_c1_what_depends_on_history_is_refused_where_it_is_hidden(vllm_config):
    """Placeholders of asynchronous scheduling in the V1 runner."""
    for taboo in (Taboo(1, word_start="unicode"), Taboo(1, "bit_budget"), Taboo(1, scope="after_think")):
        hook = TabooLogitsProcessor(vllm_config, torch.device("cpu"), False)
        params = SamplingParams(max_tokens=4, extra_args=extra_args(taboo, "k"))
        with pytest.raises(RuntimeError, match="async_scheduling=False"):
            hook.update_state(BatchUpdate(1, [], [(0, params, [1], [12, -1])], []))


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"rank": 1, "trigger": "bit_budget"}, "the trigger bit_budget needs taboo.key"),
        ({"rank": 0, "entropy": True}, "taboo.entropy needs taboo.key"),
        ({"rank": 1, "seed": -1}, "taboo.seed must be from 0"),
        ({"rank": 1, "scope": "after"}, "unknown taboo.scope 'after' - did you mean 'after_think'"),
        ({"rank": 1, "trigger": "sparse(p=2)"}, "sparse: p is a probability"),
    ],
)
def test_settings_that_make_no_sense(asked: dict[str, Any], message: str):
    with pytest.raises(ValueError, match=message):
        TabooLogitsProcessor.validate_params(SamplingParams(extra_args={"taboo": asked}))
