"""Cells, items and the order of trials."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from hypothesis import given
from hypothesis import strategies as st

from taboo_cluster.benchmarks.base import Benchmark, Prompt, Verdict
from taboo_cluster.config import ModelConfig, RunConfig, SamplingConfig, TabooConfig
from taboo_cluster.hashing import stable_hash
from taboo_cluster.sweep import Cell, blocks, cells, conditions, model_limit, subsample, trials
from taboo_cluster.trial import Item, ResolvedModel, Trial


@dataclass
class FakeBenchmark:
    """Prompts and scores nothing: cells, items and orders are made without, which the raising methods hold to."""

    name: str
    styles: tuple[str, ...] = ("cot", "direct")
    default_shots: int = 2
    scorer_version: str = "1"
    max_tokens: int = 16
    chance: float | None = None

    def items(self) -> Sequence[Item]:
        return ()

    def prompt(self, item: Item, question: str, style: str, n_shots: int) -> Prompt:
        raise NotImplementedError  # on purpose: cells and orders must be made without a prompt

    def score(self, item: Item, completion: str, finish_reason: str) -> Verdict:
        raise NotImplementedError  # on purpose: nothing is scored before it is generated

    def canaries(self) -> tuple[tuple[Item, str, bool], ...]:
        return ()


BENCHMARKS: Mapping[str, Benchmark] = {
    "a": FakeBenchmark("a"),
    "b": FakeBenchmark("b", styles=("direct",), default_shots=0),
}
MODEL = ResolvedModel("m", "r1", "m", None, None, False, "base", None, "none", "float32")


def config(ranks: list[int], replicates: int = 2, models: int = 1, **settings: object) -> RunConfig:
    made = RunConfig(
        sweep="s",
        models=[ModelConfig(f"m{index}") for index in range(models)],
        benchmarks=list(BENCHMARKS),
        benchmark={},
        engine={"name": "scripted"},
        taboo=TabooConfig(ranks=ranks),
        replicates=replicates,
    )
    return replace(made, **settings)  # type: ignore[arg-type]


def make_items(count: int, prefix: str = "i") -> list[Item]:
    return [Item(f"{prefix}{n}", f"question {n}", str(n), "test", f"{prefix}{n}") for n in range(count)]


def plan(cells: Sequence[Cell], benchmark: str = "a") -> list[tuple[int, int, int]]:
    return [(c.condition.taboo.rank, c.replicate, c.phase) for c in cells if c.benchmark == benchmark]


def test_noise_floor_cells_are_the_baseline_and_the_lowest_rank() -> None:
    found = cells(config([0, 2, 4]), [MODEL], BENCHMARKS)
    assert plan(found) == [(0, 0, 0), (0, 1, 1), (2, 0, 0), (2, 1, 1), (4, 0, 1)]
    assert plan(cells(config([0, 2, 4], replicates=3), [MODEL], BENCHMARKS)) == [
        *((0, 0, 0), (0, 1, 1), (0, 2, 1)),
        *((2, 0, 0), (2, 1, 1), (2, 2, 1)),
        (4, 0, 1),
    ]
    assert plan(cells(config([0]), [MODEL], BENCHMARKS)) == [(0, 0, 0), (0, 1, 1)]


def test_without_a_noise_floor_there_is_one_phase() -> None:
    assert plan(cells(config([0, 1, 4], replicates=1), [MODEL], BENCHMARKS)) == [(0, 0, 0), (1, 0, 0), (4, 0, 0)]


def test_conditions_take_each_benchmarks_own_style_unless_one_is_named() -> None:
    found = cells(config([0, 1]), [MODEL], BENCHMARKS)
    assert {(c.benchmark, c.condition.prompt_style, c.condition.n_shots) for c in found} == {
        ("a", "cot", 2),
        ("b", "direct", 0),
    }
    named = cells(config([0, 1], prompt_style="direct", n_shots=1), [MODEL], BENCHMARKS)
    assert {(c.condition.prompt_style, c.condition.n_shots) for c in named} == {("direct", 1)}
    assert [c.condition.name for c in found[:4]] == ["baseline", "baseline", "taboo(rank=1)", "taboo(rank=1)"]


def test_triggers_temperatures_and_seeds_are_crossed_and_the_baseline_is_greedy() -> None:
    taboo = TabooConfig(ranks=[0, 1], trigger=["word_start", "sparse(p=0.5,seed=0)"], word_start="unicode")
    sampling = SamplingConfig(temperatures=[0.0, 0.7], top_p=0.9, seeds=[0, 1])
    every = conditions(config([0], taboo=taboo, sampling=sampling), BENCHMARKS["a"])
    assert [(c.name, c.sampling.seed) for c in every] == [
        ("baseline", None),
        ("sample(t=0.7,top_p=0.9)", 0),
        ("sample(t=0.7,top_p=0.9)", 1),
        ("taboo(rank=1,word_start=unicode)", None),
        ("taboo(rank=1,word_start=unicode) · sample(t=0.7,top_p=0.9)", 0),
        ("taboo(rank=1,word_start=unicode) · sample(t=0.7,top_p=0.9)", 1),
        ("taboo(rank=1,trigger=sparse(p=0.5,seed=0),word_start=unicode)", None),
        ("taboo(rank=1,trigger=sparse(p=0.5,seed=0),word_start=unicode) · sample(t=0.7,top_p=0.9)", 0),
        ("taboo(rank=1,trigger=sparse(p=0.5,seed=0),word_start=unicode) · sample(t=0.7,top_p=0.9)", 1),
    ]
    assert len({stable_hash(c.key) for c in every}) == len(every)


def test_the_baseline_is_greedy_also_where_no_greedy_condition_is_asked_for() -> None:
    made = config([0, 1, 2], sampling=SamplingConfig(temperatures=[1.0], seeds=[0, 1]))
    found = [(c.condition.name, c.condition.sampling.seed, c.replicate) for c in cells(made, [MODEL], BENCHMARKS)]
    hot = "sample(t=1,top_p=1)"
    assert found[: len(found) // 2] == [
        ("baseline", None, 0),
        ("baseline", None, 1),
        (hot, 0, 0),
        (hot, 1, 0),
        (f"taboo(rank=1) · {hot}", 0, 0),
        (f"taboo(rank=1) · {hot}", 0, 1),
        (f"taboo(rank=1) · {hot}", 1, 0),
        (f"taboo(rank=2) · {hot}", 0, 0),
        (f"taboo(rank=2) · {hot}", 1, 0),
    ]


def test_f6_ten_thousand_cells_are_enumerated_by_model() -> None:
    found = cells(config(list(range(100)), models=50), range(50), BENCHMARKS)
    assert len(found) == 50 * 2 * 102
    assert [model for model, _ in itertools.groupby(found, key=lambda cell: cell.model)] == list(range(50))


def test_a_limit_is_the_smaller_of_the_runs_and_the_models() -> None:
    assert [model_limit(*pair) for pair in [(500, 100), (50, 100), (None, 100), (500, None), (None, None)]] == [
        *(100, 50, 100, 500),
        None,
    ]


def test_h11_a_subsample_is_fixed_by_the_items_ids_alone() -> None:
    items = make_items(200)
    chosen = subsample(items, 50, seed=0)
    assert subsample(items[::-1], 50, seed=0) == chosen
    reworded = [replace(item, question="other") for item in items]
    assert [item.item_id for item in subsample(reworded, 50, seed=0)] == [item.item_id for item in chosen]
    assert subsample(items, 50, seed=1) != chosen
    assert chosen != items[:50]
    assert len(subsample(items, None, seed=0)) == len(subsample(items, 999, seed=0)) == 200


@given(small=st.integers(0, 40), large=st.integers(0, 40), seed=st.integers())
def test_h11_a_larger_limit_contains_a_smaller_one(small: int, large: int, seed: int) -> None:
    small, large = sorted((small, large))
    items = make_items(30)
    assert subsample(items, large, seed)[:small] == subsample(items, small, seed)


def all_trials(items: Mapping[str, Sequence[Item]], seed: int = 0, **settings: object) -> list[tuple[int, Trial]]:
    found = cells(config([0, 1, 4], **settings), [MODEL], BENCHMARKS)  # type: ignore[arg-type]
    return list(trials(MODEL, "scripted", found, items, seed))


def test_every_trial_comes_once_and_a_replicate_after_its_replicate_0() -> None:
    items = {"a": make_items(7, "a"), "b": make_items(5, "b")}
    found = all_trials(items)
    assert len({trial.trial_id for _, trial in found}) == len(found) == 5 * 12
    assert [phase for phase, _ in found] == [0] * 24 + [1] * 36
    for phase, trial in found:
        assert trial.item in items[trial.benchmark]
        if trial.replicate:
            assert phase == 1
        elif trial.condition.taboo.rank in (0, 1):
            assert phase == 0
    assert all_trials(items) == found


def test_the_order_is_seeded_and_mixes_benchmarks_conditions_and_replicates() -> None:
    items = {"a": make_items(50, "a"), "b": make_items(50, "b")}
    found = [trial for phase, trial in all_trials(items) if phase == 1]
    early = {(t.benchmark, t.condition.taboo.rank, t.replicate) for t in found[:60]}
    assert len(early) == 6  # two benchmarks; ranks 0 and 1 replicated, and rank 4
    assert [t.trial_id for t in found] != [t.trial_id for phase, t in all_trials(items, seed=1) if phase == 1]
    again = [t.item.item_id for t in found if t.replicate and t.condition.taboo.rank == 0 and t.benchmark == "a"]
    first = [t.item.item_id for phase, t in all_trials(items) if phase == 0 and not t.condition.taboo.rank]
    assert again != [item_id for item_id in first if item_id.startswith("a")]


def test_trials_do_not_depend_on_how_they_are_cut() -> None:
    items = {"a": make_items(40, "a"), "b": make_items(3, "b")}
    found = cells(config([0, 1, 2]), [MODEL], BENCHMARKS)
    whole = [trial for _, trial in trials(MODEL, "scripted", found, items, 0)]
    for size in (1, 7, 256):
        cut = list(blocks(MODEL, "scripted", found, items, 0, size=size))
        assert [trial for block in cut for trial in block.trials] == whole
        assert all(1 <= len(block.trials) <= size for block in cut)
        assert [block.phase for block in cut] == sorted(block.phase for block in cut)
        by_phase = [sum(len(b.trials) for b in cut if b.phase == phase) for phase in (0, 1)]
        assert by_phase == [2 * 43, 3 * 43]


def test_blocks_leave_out_what_is_recorded_and_stay_full() -> None:
    items = {"a": make_items(40, "a"), "b": make_items(40, "b")}
    found = cells(config([0, 1]), [MODEL], BENCHMARKS)
    whole = [trial for _, trial in trials(MODEL, "scripted", found, items, 0)]
    done = {trial.trial_id for trial in whole[::2]}
    cut = list(blocks(MODEL, "scripted", found, items, 0, skip=done, size=16))
    assert [trial for block in cut for trial in block.trials] == whole[1::2]
    assert [len(block.trials) for block in cut] == [16] * 5 + [16] * 5
    assert list(blocks(MODEL, "scripted", found, items, 0, skip={t.trial_id for t in whole})) == []


def test_blocks_are_made_as_they_are_asked_for() -> None:
    class Counted(list[Item]):
        reads = 0

        def __getitem__(self, index):  # type: ignore[no-untyped-def]
            Counted.reads += 1
            return super().__getitem__(index)

    items = {"a": Counted(make_items(100_000, "a")), "b": []}
    found: Iterator[object] = blocks(MODEL, "scripted", cells(config([0, 1]), [MODEL], BENCHMARKS), items, 0)
    next(found)
    assert Counted.reads <= 257


def test_a_benchmark_without_items_has_no_trials() -> None:
    assert all_trials({"a": [], "b": []}) == []


def test_each_prompt_style_has_its_own_baseline_replicates_and_stacks() -> None:
    made = config([0, 1], prompt_style=["direct", "cot"], conditions=["identity"], n_shots=0)
    every = [cell for cell in cells(made, made.models, {"a": BENCHMARKS["a"]}) if cell.benchmark == "a"]
    for style in ("direct", "cot"):
        own = [cell for cell in every if cell.condition.prompt_style == style]
        assert [(cell.condition.name, cell.replicate, cell.phase) for cell in own] == [
            ("baseline", 0, 0),
            ("baseline", 1, 1),
            ("taboo(rank=1)", 0, 0),
            ("taboo(rank=1)", 1, 1),
            ("identity", 0, 2),
            ("identity · taboo(rank=1)", 0, 2),
        ]
    assert {cell.condition.n_shots for cell in every} == {0}
    assert len(every) == 12


def test_a_perturbed_text_is_done_for_both_prompt_styles_at_once() -> None:
    made = config([0], prompt_style=["direct", "cot"], conditions=["identity"])
    every = cells(made, made.models, {"a": BENCHMARKS["a"]})
    items = {"a": [Item(f"i{n}", "q", "g", "test", f"i{n}") for n in range(600)]}
    texts: list[tuple[str, int]] = []
    for phase, trial in trials(MODEL, "scripted", every, items, 0):
        key = (trial.condition.prompt_style, int(trial.item.item_id[1:]) // 256)
        if phase == 2 and key not in texts:
            texts.append(key)
    chunks = [chunk for _, chunk in texts]
    assert sorted(chunks) == [0, 0, 1, 1, 2, 2]
    assert chunks[0] == chunks[1]
    assert chunks[2] == chunks[3]


def test_a_benchmark_has_the_stacks_of_all_and_its_own() -> None:
    own = {"b": ["latex(rate=1)", "identity"], "other": ["typos(rate=0.1,kind=any)"]}
    found = cells(config([0], replicates=1, conditions=["identity"], conditions_for=own), [MODEL], BENCHMARKS)
    assert [(cell.benchmark, cell.condition.name) for cell in found] == [
        ("a", "baseline"),
        ("a", "identity"),
        ("b", "baseline"),
        ("b", "identity"),
        ("b", "latex(rate=1)"),
    ]
