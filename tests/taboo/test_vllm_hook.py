"""The vLLM hook under both runners' interfaces, without an engine: the batches are made by hand."""

from __future__ import annotations

import multiprocessing
import random
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

pytest.importorskip("vllm", reason="vLLM is not installed")

from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast
from vllm import SamplingParams
from vllm.exceptions import VLLMValidationError
from vllm.v1.sample.logits_processor import BatchUpdate, MoveDirectionality
from vllm.v1.sample.logits_processor import LogitsProcessor as ProcessorV1
from vllm.v1.worker.gpu.sample.logits_processor import LogitsContext
from vllm.v1.worker.gpu.sample.logits_processor import LogitsProcessor as ProcessorV2

from taboo_cluster.taboo.asked import asked_of, extra_args
from taboo_cluster.taboo.mask import mask_top
from taboo_cluster.taboo.step_log import unpack
from taboo_cluster.taboo.triggers.base import TRIGGERS
from taboo_cluster.taboo.vllm_hook import HOOK, TabooLogitsProcessor
from taboo_cluster.taboo.word_start import word_start_table
from taboo_cluster.trial import Taboo

WIDTH = 40
"""Wider than the tokenizer: a model's logits may be."""
OWN = 34
"""Ids of the tokenizer: the end token, 16 letters, 15 that begin a word, the lone marker, punctuation."""
SWAP, ONE_WAY = MoveDirectionality.SWAP, MoveDirectionality.UNIDIRECTIONAL


@pytest.fixture(scope="module")
def tokenizer() -> PreTrainedTokenizerFast:
    pieces = ["<|end|>", *"abcdefghijklmnop", *(f"Ġ{letter}" for letter in "abcdefghijklmno"), "Ġ", "."]
    inner = Tokenizer(models.BPE(vocab={piece: i for i, piece in enumerate(pieces)}, merges=[]))
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    return PreTrainedTokenizerFast(tokenizer_object=inner, eos_token="<|end|>")


@pytest.fixture(scope="module")
def table(tokenizer):
    return word_start_table(tokenizer, "marker")


@pytest.fixture(scope="module")
def vllm_config(tokenizer, tmp_path_factory):
    folder = tmp_path_factory.mktemp("tokenizer")
    tokenizer.save_pretrained(folder)
    model = SimpleNamespace(
        tokenizer=str(folder),
        tokenizer_revision=None,
        trust_remote_code=False,
        max_model_len=64,
        hf_config=SimpleNamespace(get_text_config=lambda: SimpleNamespace(eos_token_id=0)),
        try_get_generation_config=dict,
    )
    return SimpleNamespace(model_config=model, speculative_config=None)


def best(logits: torch.Tensor, row: int = 0) -> int:
    """The best of the tokenizer's own ids, the lowest among equals."""
    return int((logits[row, :OWN] == logits[row, :OWN].max()).nonzero()[0])


def params(rank: int = 0, key: str | None = None, max_tokens: int = 16, **settings: Any) -> SamplingParams:
    taboo = {"rank": rank, **settings} | ({"key": key} if key else {})
    return SamplingParams(temperature=0, max_tokens=max_tokens, extra_args={"taboo": taboo} if rank else None)


def random_logits(rows: int, seed: int) -> torch.Tensor:
    """bf16-rounded, so that ties are common."""
    return torch.randn(rows, WIDTH, generator=torch.Generator().manual_seed(seed)).bfloat16().float()


def expected(logits: torch.Tensor, asked: list[Taboo], table) -> torch.Tensor:
    """The mask core, one row at a time."""
    logits = logits.clone()
    for row, taboo in zip(logits, asked, strict=True):
        protect = torch.tensor([True]) if taboo.protect_special else None
        mask_top(row[None], torch.tensor([taboo.rank]), table, TRIGGERS.get("word_start"), max(taboo.rank, 1), protect)
    return logits


# settings of a request


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"rank": -1}, "taboo.rank must be 0 or more, not -1"),
        ({"rank": "1"}, "taboo.rank must be of type int, not '1'"),
        ({"rank": 1.0}, "taboo.rank must be of type int, not 1.0"),
        ({"rank": True}, "taboo.rank must be of type int, not True"),
        ({"rnk": 1}, "unknown taboo setting 'rnk' - did you mean 'rank'?"),
        ({"rank": 1, "trigger": "word_strat"}, "unknown trigger 'word_strat' - did you mean 'word_start'?"),
        ({"rank": 1, "word_start": "markr"}, "unknown word-start table 'markr' - did you mean 'marker'?"),
        ({"rank": 1, "protect_special": 1}, "taboo.protect_special must be of type bool, not 1"),
        ({"rank": 1, "key": 7}, "taboo.key must be of type str, not 7"),
        ("rank=1", "taboo must be an object"),
        ("[1]", "taboo must be an object"),
        (1, "taboo must be an object"),
    ],
)
def test_bad_settings_fail_with_one_line_before_anything_runs(given, message):
    with pytest.raises(ValueError, match="^" + message.replace("?", r"\?")) as caught:
        TabooLogitsProcessor.validate_params(SamplingParams(extra_args={"taboo": given}))
    assert "\n" not in str(caught.value)


def test_a_key_names_one_generation():
    with pytest.raises(ValueError, match="n > 1"):
        TabooLogitsProcessor.validate_params(SamplingParams(n=2, extra_args={"taboo": {"rank": 1, "key": "a"}}))


def test_settings_of_requests():
    full = Taboo(rank=3, protect_special=True)
    assert asked_of(SamplingParams(extra_args=extra_args(full, "k"))).taboo == full
    assert asked_of(SamplingParams(extra_args=extra_args(full, "k"))).key == "k"
    assert asked_of(SamplingParams(extra_args={"taboo": '{"rank": 2}'})).taboo == Taboo(rank=2)
    assert asked_of(SamplingParams(extra_args={"taboo": {"rank": 2}})).key is None
    assert asked_of(SamplingParams()) is None
    assert asked_of(SamplingParams(extra_args={"other": 1})) is None
    assert asked_of(SamplingParams(extra_args={"taboo": {"rank": 0}})) is None
    assert extra_args(Taboo(), "k") is None


def test_vllm_refuses_bad_settings_when_a_request_is_admitted():
    """Through vLLM's own loaders of both runners: the class is found by name and accepted by both."""
    from vllm.v1.sample.logits_processor import validate_logits_processors_parameters
    from vllm.v1.worker.gpu.sample.logits_processor import build_custom_logits_processors_params_validator

    validate_v2 = build_custom_logits_processors_params_validator([HOOK])
    for validate in (lambda p: validate_logits_processors_parameters([HOOK], p), validate_v2):
        validate(params(1))
        with pytest.raises(VLLMValidationError, match="rank must be 0 or more"):
            validate(params(-1))


def test_c5_declared_to_change_the_best_token(vllm_config):
    assert TabooLogitsProcessor(vllm_config, torch.device("cpu"), False).is_argmax_invariant() is False
    assert issubclass(TabooLogitsProcessor, ProcessorV1)
    assert issubclass(TabooLogitsProcessor, ProcessorV2)


def test_c6_speculative_decoding_is_refused(vllm_config):
    config = SimpleNamespace(model_config=vllm_config.model_config, speculative_config=object())
    with pytest.raises(ValueError, match="speculative decoding"):
        TabooLogitsProcessor(config, torch.device("cpu"), False)


def load_by_name(name: str, answers: Any) -> None:
    import importlib

    module, _, cls = name.partition(":")
    answers.put(getattr(importlib.import_module(module), cls).__name__)


def test_c8_found_by_name_in_a_fresh_child_and_never_an_entry_point():
    from importlib.metadata import entry_points

    context = multiprocessing.get_context("spawn")
    answers = context.Queue()
    child = context.Process(target=load_by_name, args=(HOOK, answers))
    child.start()
    assert answers.get(timeout=120) == "TabooLogitsProcessor"
    child.join()
    assert not [e for e in entry_points(group="vllm.logits_processors") if "taboo" in e.value]


# Model Runner V1


@dataclass
class BatchV1:
    """Plays vLLM's persistent batch: rows of (settings, generated tokens), and the updates told to the hook."""

    hook: TabooLogitsProcessor
    rows: list[tuple[Taboo, list[int]]] = field(default_factory=list)

    def step(self, logits: torch.Tensor, table, update: BatchUpdate | None = None) -> torch.Tensor:
        """One forward pass: the update, the mask, and a token (or the placeholder for one) for each row."""
        self.hook.update_state(update)
        before = logits.clone()
        after = self.hook.apply(logits)
        assert after is logits
        assert torch.equal(after, expected(before, [taboo for taboo, _ in self.rows], table))
        for _, outputs in self.rows:
            outputs.append(-1)
        return after


def update_of(size, removed=(), added=(), moved=()) -> BatchUpdate:
    return BatchUpdate(batch_size=size, removed=list(removed), added=list(added), moved=list(moved))


@pytest.fixture
def v1(vllm_config) -> BatchV1:
    return BatchV1(TabooLogitsProcessor(vllm_config, torch.device("cpu"), False))


def steps_of(hook: TabooLogitsProcessor, key: str, length: int) -> list[Any]:
    packed = hook.take({key: length})[key].packed
    return [unpack(number) if number >= 0 else None for number in packed]


def test_v1_leaves_a_batch_without_taboo_alone(v1, table):
    v1.rows = [(Taboo(), []), (Taboo(), [])]
    logits = random_logits(2, 0)
    before = logits.clone()
    update = update_of(2, added=[(0, params(), [1], v1.rows[0][1]), (1, SamplingParams(), [1], v1.rows[1][1])])
    assert torch.equal(v1.step(logits, table, update), before)


def test_v1_mixed_ranks_in_one_batch(v1, table):
    asked = [Taboo(1), Taboo(), Taboo(8), Taboo(2, protect_special=True), Taboo(4)]
    v1.rows = [(taboo, []) for taboo in asked]
    added = [
        (i, params(taboo.rank, protect_special=taboo.protect_special), [1], outputs)
        for i, (taboo, outputs) in enumerate(v1.rows)
    ]
    v1.step(random_logits(5, 0), table, update_of(5, added=added))
    for seed in range(1, 20):
        v1.step(random_logits(5, seed), table)


def test_c3_a_taboo_request_takes_the_row_of_a_plain_one_that_finishes_in_the_same_step(v1, table):
    plain, one, two = (Taboo(), []), (Taboo(1), []), (Taboo(2), [])
    v1.rows = [plain, one]
    added = [(0, params(), [1], plain[1]), (1, params(1, "one"), [1], one[1])]
    v1.step(random_logits(2, 0), table, update_of(2, added=added))
    v1.rows = [two, one]
    v1.step(random_logits(2, 1), table, update_of(2, added=[(0, params(2, "two"), [1], two[1])]))
    v1.step(random_logits(2, 2), table)
    assert len([s for s in steps_of(v1.hook, "one", 3) if s]) == 3
    assert len([s for s in steps_of(v1.hook, "two", 2) if s]) == 2


def test_c3_a_plain_request_takes_the_row_of_a_taboo_one(v1, table):
    v1.rows = [(Taboo(3), [])]
    v1.step(random_logits(1, 0), table, update_of(1, added=[(0, params(3), [1], v1.rows[0][1])]))
    v1.rows = [(Taboo(), [])]
    update = update_of(1, removed=[0], added=[(0, params(), [1], v1.rows[0][1])])
    v1.step(random_logits(1, 1), table, update)


def test_v1_follows_swaps_and_moves(v1, table):
    v1.rows = [(Taboo(rank), []) for rank in (1, 0, 4, 8)]
    added = [(i, params(t.rank), [1], outputs) for i, (t, outputs) in enumerate(v1.rows)]
    v1.step(random_logits(4, 0), table, update_of(4, added=added))
    v1.rows = [v1.rows[2], v1.rows[1], v1.rows[0], v1.rows[3]]
    v1.step(random_logits(4, 1), table, update_of(4, moved=[(0, 2, SWAP)]))
    v1.rows = [v1.rows[1], v1.rows[0], v1.rows[2], v1.rows[3]]  # swapped with a plain one
    v1.step(random_logits(4, 2), table, update_of(4, moved=[(0, 1, SWAP)]))
    v1.rows = [v1.rows[0], v1.rows[3], v1.rows[2]]  # row 1 ended, the last one fills its place
    v1.step(random_logits(3, 3), table, update_of(3, removed=[1], moved=[(3, 1, ONE_WAY)]))
    v1.rows = [v1.rows[0], v1.rows[1]]  # the last one ended
    v1.step(random_logits(2, 4), table, update_of(2, removed=[2]))


def test_v1_against_the_core_through_random_batches(v1, table):
    """vLLM's own bookkeeping of rows: freed ones are filled by new requests first, then from the end."""
    rng = random.Random(5)
    for seed in range(200):
        removed = [i for i in range(len(v1.rows)) if rng.random() < 0.2]
        added, moved, rows = [], [], dict(enumerate(v1.rows))
        for index in removed:
            del rows[index]
        free = list(removed)
        for _ in range(rng.randint(0, 2)):
            taboo = Taboo(rng.choice([0, 0, 1, 2, 8]), protect_special=rng.random() < 0.3)
            index = free.pop(0) if free else len(rows)
            rows[index] = (taboo, [])
            settings = params(taboo.rank, protect_special=taboo.protect_special)
            added.append((index, settings, [1], rows[index][1]))
        while free and free[0] < len(rows):
            last = max(rows)
            moved.append((last, free[0], ONE_WAY))
            rows[free.pop(0)] = rows.pop(last)
        if len(rows) > 1 and rng.random() < 0.3:
            a, b = rng.sample(sorted(rows), 2)
            rows[a], rows[b] = rows[b], rows[a]
            moved.append((a, b, SWAP))
        v1.rows = [rows[i] for i in range(len(rows))]
        if v1.rows:
            v1.step(random_logits(len(v1.rows), seed), table, update_of(len(v1.rows), free, added, moved))
        else:
            v1.hook.update_state(update_of(0, free))


def test_two_requests_with_the_same_prompt_keep_their_own_state(v1, table):
    v1.rows = [(Taboo(1), []), (Taboo(2), [])]
    added = [(i, params(t.rank, f"k{i}"), [1, 2], outputs) for i, (t, outputs) in enumerate(v1.rows)]
    after = v1.step(word_start_logits(17, 3, 4).repeat(2, 1), table, update_of(2, added=added))
    assert (after == -torch.inf).sum(1).tolist() == [1, 2]


def word_start_logits(nominal: int, *others: int) -> torch.Tensor:
    """Logits whose best tokens are these, in this order, one bit of log-odds apart."""
    logits = torch.full((1, WIDTH), -10.0)
    for place, token in enumerate((nominal, *others)):
        logits[0, token] = 5.0 - place
    return logits


def test_the_log_tells_what_was_done_at_each_position(v1):
    """Ids 17 to 31 begin words, 1 to 16 do not, 0 is the end token."""
    outputs: list[int] = []
    hook = v1.hook
    hook.update_state(update_of(1, added=[(0, params(2, "a"), [1], outputs)]))
    tie = word_start_logits(17, 18, 19)
    tie[0, 20] = tie[0, 18]  # the second best is tied with the next one
    few = torch.full((1, WIDTH), -torch.inf)
    few[0, [17, 18]] = torch.tensor([1.0, 0.0])
    broken = torch.full((1, WIDTH), torch.nan)
    for logits in (word_start_logits(17, 3, 4), word_start_logits(3, 17, 18), tie, few, broken, word_start_logits(0)):
        hook.apply(logits)
        outputs.append(9)
        hook.update_state(None)
    intervened, mid_word, tied, skipped, invalid, end = steps_of(hook, "a", 6)
    assert (intervened.nominal_id, intervened.intervened, intervened.tied) == (17, True, False)
    assert (mid_word.nominal_id, mid_word.intervened, mid_word.skipped) == (3, False, False)
    assert (tied.nominal_id, tied.intervened, tied.tied) == (17, True, True)
    assert (skipped.nominal_id, skipped.intervened, skipped.skipped) == (17, False, True)
    assert (invalid.invalid, invalid.intervened) == (True, False)
    assert (end.nominal_id, end.intervened) == (0, False)


def test_c1_placeholders_of_asynchronous_scheduling_count_as_tokens(v1):
    """The mask reads no history; the log's position is the number of tokens, known or still on the device."""
    hook = v1.hook
    hook.update_state(update_of(1, added=[(0, params(1, "a"), [1], [12, -1])]))
    hook.apply(word_start_logits(17, 3))
    assert [step and step.nominal_id for step in steps_of(hook, "a", 3)] == [None, None, 17]


def test_c2_partial_prefill_runs_on_half_a_prompt_and_leaves_nothing_behind(v1):
    hook = v1.hook
    outputs: list[int] = []
    hook.update_state(update_of(1, added=[(0, params(1, "a"), [1] * 32, outputs)]))
    hook.apply(word_start_logits(18, 3))  # half the prompt: its token is thrown away
    hook.update_state(None)
    hook.apply(word_start_logits(17, 3))  # the whole prompt
    assert [step.nominal_id for step in steps_of(hook, "a", 1)] == [17]


def test_c2_preemption_takes_a_request_out_and_brings_it_back_with_what_it_had(v1, table):
    first, other = (Taboo(1), []), (Taboo(2), [])
    v1.rows = [first, other]
    added = [(0, params(1, "a"), [1], first[1]), (1, params(2, "b"), [1], other[1])]
    v1.step(random_logits(2, 0), table, update_of(2, added=added))
    v1.step(random_logits(2, 1), table)
    v1.rows = [other]
    v1.step(random_logits(1, 2), table, update_of(1, removed=[0], moved=[(1, 0, ONE_WAY)]))
    newcomer = (Taboo(4), [])
    v1.rows = [other, newcomer]
    v1.step(random_logits(2, 3), table, update_of(2, added=[(1, params(4, "c"), [1], newcomer[1])]))
    back = (Taboo(1), list(first[1]))  # a new list of the two tokens it had
    v1.rows = [other, newcomer, back]
    v1.step(random_logits(3, 4), table, update_of(3, added=[(2, params(1, "a"), [1], back[1])]))
    steps = steps_of(v1.hook, "a", 3)
    assert [step.nominal_id for step in steps[:2]] == [best(random_logits(2, s)) for s in (0, 1)]
    assert steps[2].nominal_id == best(random_logits(3, 4), 2)


def test_the_log_outlives_its_request_and_is_forgotten_once_taken(v1, table):
    v1.rows = [(Taboo(1), [])]
    v1.step(random_logits(1, 0), table, update_of(1, added=[(0, params(1, "a"), [1], v1.rows[0][1])]))
    v1.rows = [(Taboo(2), [])]
    v1.step(random_logits(1, 1), table, update_of(1, added=[(0, params(2, "b"), [1], v1.rows[0][1])]))
    assert len(v1.hook.log) == 2
    assert None not in steps_of(v1.hook, "a", 1)
    assert len(v1.hook.log) == 1
    assert v1.hook.take({"a": 1, "unknown": 4}) == {}


def test_a_request_that_runs_on_after_its_log_was_taken_writes_into_no_other_log(v1, table):
    """A stop string is found outside the engine, which may run the request for another step."""
    ended = (Taboo(1), [])
    v1.rows = [ended]
    v1.step(random_logits(1, 0), table, update_of(1, added=[(0, params(1, "a"), [1], ended[1])]))
    v1.hook.take({"a": 1})
    fresh = (Taboo(1), [])
    v1.rows = [ended, fresh]
    v1.step(random_logits(2, 1), table, update_of(2, added=[(1, params(1, "b"), [1], fresh[1])]))
    v1.step(random_logits(2, 2), table)
    assert [step.nominal_id for step in steps_of(v1.hook, "b", 2)] == [
        best(random_logits(2, seed), 1) for seed in (1, 2)
    ]


def test_without_a_key_nothing_is_kept(v1, table):
    v1.rows = [(Taboo(1), [])]
    v1.step(random_logits(1, 0), table, update_of(1, added=[(0, params(1), [1], v1.rows[0][1])]))
    assert len(v1.hook.log) == 0


def test_the_log_grows_to_the_longest_generation_asked_for(v1, table):
    short, long = (Taboo(1), []), (Taboo(1), [])
    v1.rows = [short]
    v1.step(random_logits(1, 0), table, update_of(1, added=[(0, params(1, "a", max_tokens=2), [1], short[1])]))
    v1.rows = [short, long]
    update = update_of(2, added=[(1, params(1, "b", max_tokens=30), [1], long[1])])
    v1.step(random_logits(2, 1), table, update)
    for seed in range(2, 31):
        v1.step(random_logits(2, seed), table)
    taken = v1.hook.take({"a": 2, "b": 30})
    assert -1 not in taken["a"].packed + taken["b"].packed
    assert len(taken["b"].packed) == 30


# Model Runner V2


@dataclass
class BatchV2:
    """Plays the V2 runner: slots with their lengths, and the layout of each step."""

    hook: TabooLogitsProcessor
    states: Any
    slots: dict[int, Taboo] = field(default_factory=dict)

    def add(self, slot: int, taboo: Taboo, key: str | None = None, prompt: int = 4, prefill: int = 4) -> bool:
        self.slots[slot] = taboo
        self.states.prompt_len.gpu[slot] = prompt
        self.states.prefill_len.gpu[slot] = prefill
        return self.hook.add_request(slot, params(taboo.rank, key, protect_special=taboo.protect_special))

    def step(self, logits: torch.Tensor, slots: list[int], pos: list[int], table, rows: int = 1) -> torch.Tensor:
        """One forward pass over these slots, `rows` logits rows for each, `pos` being the position of each row."""
        self.hook.apply_staged_writes()
        expanded = [slot for slot in slots for _ in range(rows)]
        ctx = LogitsContext(
            expanded_idx_mapping=torch.tensor(expanded, dtype=torch.int32),
            idx_mapping=torch.tensor(slots, dtype=torch.int32),
            idx_mapping_np=np.array(slots, dtype=np.int32),
            expanded_local_pos=torch.tensor(list(range(rows)) * len(slots), dtype=torch.int32),
            input_ids=torch.zeros(len(expanded), dtype=torch.int32),
            pos=torch.tensor(pos, dtype=torch.int32),
            seq_lens_upper_bound_np=np.zeros(len(slots), dtype=np.int32),
        )
        before = logits.clone()
        after = self.hook.apply(logits, ctx)
        assert after is logits
        assert torch.equal(after, expected(before, [self.slots[slot] for slot in expanded], table))
        return after


@pytest.fixture
def v2(vllm_config) -> BatchV2:
    states = SimpleNamespace(
        device=torch.device("cpu"),
        max_num_reqs=6,
        prompt_len=SimpleNamespace(gpu=torch.zeros(6, dtype=torch.int32)),
        prefill_len=SimpleNamespace(gpu=torch.zeros(6, dtype=torch.int32)),
    )
    return BatchV2(TabooLogitsProcessor(vllm_config, states), states)


def test_v2_says_which_requests_it_changes(v2):
    assert v2.add(0, Taboo()) is False
    assert v2.add(1, Taboo(1)) is True


def test_v2_mixed_ranks_and_reordered_rows(v2, table):
    for slot, taboo in enumerate([Taboo(1), Taboo(), Taboo(8), Taboo(2, protect_special=True)]):
        v2.add(slot, taboo)
    for seed, slots in enumerate([[0, 1, 2, 3], [3, 0], [1], [2, 1, 0, 3], [2, 3, 1]]):
        v2.step(random_logits(len(slots), seed), slots, [4] * len(slots), table)


def test_v2_a_recycled_slot_keeps_nothing_of_its_last_request(v2, table):
    v2.add(3, Taboo(8), "a")
    v2.step(random_logits(1, 0), [3], [3], table)
    v2.add(3, Taboo())
    v2.step(random_logits(1, 1), [3], [3], table)
    v2.add(3, Taboo(1), "b")
    v2.step(random_logits(1, 2), [3], [3], table)
    assert [step.nominal_id for step in steps_of(v2.hook, "a", 1)] == [best(random_logits(1, 0))]
    assert [step.nominal_id for step in steps_of(v2.hook, "b", 1)] == [best(random_logits(1, 2))]


def test_v2_several_rows_of_one_slot(v2, table):
    v2.add(0, Taboo(2))
    v2.add(4, Taboo())
    v2.step(random_logits(6, 0), [4, 0], [4, 5, 6, 7, 8, 9], table, rows=3)


def test_v2_a_batch_without_taboo_rows_is_left_alone(v2, table):
    v2.add(0, Taboo(4))
    v2.add(1, Taboo())
    logits = random_logits(1, 0)
    before = logits.clone()
    assert torch.equal(v2.step(logits, [1], [4], table), before)


def test_v2_logs_by_position_and_not_while_a_prompt_is_read(v2, table):
    v2.add(2, Taboo(1), "a", prompt=8, prefill=8)
    v2.step(random_logits(1, 0), [2], [3], table)  # half the prompt
    v2.step(random_logits(1, 1), [2], [7], table)  # its end: the first token
    v2.step(random_logits(1, 2), [2], [8], table)
    # preempted, its slot given away, back in another one: ten tokens are read again, in two parts
    v2.add(2, Taboo(2), "b")
    v2.step(random_logits(1, 3), [2], [3], table)
    v2.add(5, Taboo(1), "a", prompt=8, prefill=10)
    v2.step(random_logits(2, 4), [5, 2], [8, 4], table)
    v2.step(random_logits(2, 5), [5, 2], [9, 5], table)
    assert [step.nominal_id for step in steps_of(v2.hook, "a", 3)] == [
        best(random_logits(rows, seed)) for rows, seed in ((1, 1), (1, 2), (2, 5))
    ]
    assert [step.nominal_id for step in steps_of(v2.hook, "b", 3)] == [
        best(random_logits(rows, seed), rows - 1) for rows, seed in ((1, 3), (2, 4), (2, 5))
    ]


def test_v2_against_the_core_through_random_batches(v2, table):
    rng = random.Random(7)
    for slot in range(6):
        v2.add(slot, Taboo(rng.choice([0, 1, 2])))
    for seed in range(200):
        if rng.random() < 0.4:
            v2.add(rng.randrange(6), Taboo(rng.choice([0, 0, 1, 2, 8]), protect_special=rng.random() < 0.3))
        slots = rng.sample(range(6), rng.randint(1, 6))
        v2.step(random_logits(len(slots), seed), slots, [rng.randrange(20) for _ in slots], table)
