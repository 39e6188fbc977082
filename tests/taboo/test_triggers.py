"""Each trigger on distributions small enough to be worked out by hand."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from taboo_cluster.errors import UserError
from taboo_cluster.spec import Spec, parse
from taboo_cluster.taboo.draws import row_seed, uniform
from taboo_cluster.taboo.mask import MaskOutcome, mask_top
from taboo_cluster.taboo.triggers.base import TRIGGERS, RowFacts, choose
from taboo_cluster.taboo.word_start import WordStartTable

INF = math.inf
START = [True, False, True, True, False]
"""Of five tokens; the fourth is a function word, the last the end of the text."""
TABLE = WordStartTable(
    start=torch.tensor([START]),
    special=torch.tensor([False] * 4 + [True]),
    known=torch.ones(5, dtype=torch.bool),
    gapless=True,
    function=torch.tensor([False, False, False, True, False]),
)
WORD = [0.5, 0.25, 0.125, 0.0625, 0.0625]
"""Probabilities of a step whose best token begins a word; halving costs a bit."""
INSIDE = [0.25, 0.5, 0.125, 0.0625, 0.0625]
FUNCTION = [0.0625, 0.25, 0.125, 0.5, 0.0625]
END = [0.25, 0.125, 0.0625, 0.0625, 0.5]


def masked(trigger: str, rows: list[list[float]], rank: list[int] | int = 1, **facts: list[float]) -> list[int]:
    return outcome(trigger, rows, rank, **facts)[1].masked.tolist()


def outcome(
    trigger: str, rows: list[list[float]], rank: list[int] | int = 1, **facts: list[float]
) -> tuple[torch.Tensor, MaskOutcome]:
    """One step with a trigger as a config names it; `options` of the rows are the trigger's own."""
    chosen = choose(trigger)
    logits = torch.tensor(rows).log()
    ranks = torch.tensor([rank] * len(rows) if isinstance(rank, int) else rank)
    about = RowFacts.none(len(rows), logits.device)
    about = replace(
        about,
        options={name: torch.full((len(rows),), value, dtype=torch.double) for name, value in chosen.numbers.items()},
        **{name: torch.tensor(values, dtype=getattr(about, name).dtype) for name, values in facts.items()},
    )
    return logits, mask_top(logits, ranks, TABLE, chosen.entry, int(ranks.max()), facts=about)


@pytest.mark.parametrize(
    ("trigger", "expected"),
    [
        ("word_start", [2, 0, 2, 0]),
        ("mid_word", [0, 2, 0, 0]),
        ("every_token", [2, 2, 2, 0]),
        ("content_word", [2, 0, 0, 0]),
        ("sparse(p=1)", [2, 0, 2, 0]),
        ("sparse(p=0)", [0, 0, 0, 0]),
        ("surprisal_threshold", [2, 0, 2, 0]),
        ("bit_budget", [2, 0, 2, 0]),
        ("mass(q=0.5)", [2, 0, 2, 0]),
    ],
)
def test_where_each_trigger_fires_and_never_at_the_end_of_the_text(trigger: str, expected: list[int]) -> None:
    assert masked(trigger, [WORD, INSIDE, FUNCTION, END], 2) == expected


@pytest.mark.parametrize("name", TRIGGERS.names())
def test_rank_0_leaves_every_step_alone(name: str) -> None:
    logits, done = outcome(name, [WORD, INSIDE], [0, 0])
    assert done.masked.tolist() == [0, 0]
    assert torch.equal(logits, torch.tensor([WORD, INSIDE]).log())


@pytest.mark.parametrize("name", TRIGGERS.names())
def test_c17_no_trigger_reads_from_the_device(name: str) -> None:
    """Tensors of the meta device hold no data: whatever asks for a value raises."""
    chosen = choose(name)
    table = TABLE.to("meta")
    logits = torch.zeros(3, 5, device="meta")
    facts = RowFacts.none(3, torch.device("meta"))
    facts = replace(facts, options=dict.fromkeys(chosen.numbers, torch.zeros(3, dtype=torch.double, device="meta")))
    assert mask_top(logits, facts.position, table, chosen.entry, 2, facts=facts).masked.shape == (3,)


# surprisal_threshold: the second token of WORD costs 1 bit, the third 2, the fourth 3.


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("at_least=1.9", [0, 2, 3]),
        ("at_most=2.1", [1, 2, 0]),
        ("at_least=1.5,at_most=2.5", [0, 2, 0]),
        ("at_least=3.5", [0, 0, 0]),
    ],
)
def test_surprisal_threshold_looks_at_the_price_of_the_token_that_is_left(options: str, expected: list[int]) -> None:
    assert masked(f"surprisal_threshold({options})", [WORD] * 3, [1, 2, 3]) == expected


def test_surprisal_threshold_with_no_token_left_is_a_skipped_step_not_a_price() -> None:
    few = [0.5, 0.5, 0.0, 0.0, 0.0]
    assert masked("surprisal_threshold(at_most=9)", [few, few], [1, 2]) == [1, 0]


# bit_budget


def test_bit_budget_ends_once_it_is_paid() -> None:
    assert masked("bit_budget(bits=3)", [WORD] * 4, 1, paid=[0.0, 2.999, 3.0, INF]) == [1, 1, 0, 0]


# mass: WORD reaches 0.5, 0.75, 0.875, 0.9375, 1


@pytest.mark.parametrize(("q", "count"), [(0.3, 1), (0.5, 1), (0.51, 2), (0.75, 2), (0.8, 3), (0.9, 4)])
def test_mass_masks_the_fewest_tokens_that_reach_q(q: float, count: int) -> None:
    logits, done = outcome(f"mass(q={q})", [WORD])
    assert done.masked.tolist() == [count]
    assert logits.isinf().tolist() == [[True] * count + [False] * (5 - count)]


def test_mass_masks_rank_tokens_at_least_and_more_than_rank_where_it_has_to() -> None:
    flat = [0.2] * 5
    assert masked("mass(q=0.3)", [flat, WORD, WORD], [1, 3, 1]) == [2, 3, 1]


def test_mass_breaks_ties_by_the_lower_id() -> None:
    logits, _ = outcome("mass(q=0.3)", [[0.2] * 5])
    assert logits.isinf().tolist() == [[True, True, False, False, False]]


def test_mass_that_leaves_nothing_is_a_skipped_step() -> None:
    _, done = outcome("mass(q=0.9999999)", [[1.0, 0.0, 0.0, 0.0, 0.0]])
    assert (done.masked.tolist(), done.skipped.tolist()) == ([0], [True])


# sparse


def test_sparse_hits_the_same_places_at_a_larger_p_and_more() -> None:
    places = list(range(4000))
    hits = {p: masked(f"sparse(p={p})", [WORD] * 4000, 1, position=places, seed=[7] * 4000) for p in (0.1, 0.5, 0.9)}
    for p, found in hits.items():
        assert sum(found) / 4000 == pytest.approx(p, abs=4 * math.sqrt(p * (1 - p) / 4000))
    assert all(a <= b <= c for a, b, c in zip(*hits.values(), strict=True))


def test_sparse_draws_belong_to_request_position_and_seed() -> None:
    def draws(trigger: str, seed: int, size: int = 200) -> list[int]:
        return masked(trigger, [WORD] * size, 1, position=list(range(size)), seed=[seed] * size)

    assert draws("sparse(p=0.5)", 1) == draws("sparse(p=0.5,seed=0)", 1)
    assert draws("sparse(p=0.5)", 1) != draws("sparse(p=0.5)", 2)
    assert draws("sparse(p=0.5)", 1) != draws("sparse(p=0.5,seed=1)", 1)


def splitmix(seed: int, stream: int, position: int) -> float:
    """The same in Python's whole numbers."""
    golden, low = 0x9E3779B97F4A7C15, 2**64 - 1

    def mixed(bits: int) -> int:
        bits = (bits ^ bits >> 30) * 0xBF58476D1CE4E5B9 & low
        bits = (bits ^ bits >> 27) * 0x94D049BB133111EB & low
        return bits ^ bits >> 31

    start = mixed(seed + stream * golden & low)
    return (mixed(start + (position + 1) * golden & low) >> 11) * 2.0**-53


@given(st.integers(0, 2**60 - 1), st.integers(0, 2**31 - 1), st.integers(0, 10**6))
@settings(max_examples=200)
def test_draws_are_those_of_whole_number_arithmetic(seed: int, stream: int, position: int) -> None:
    got = uniform(torch.tensor([seed]), torch.tensor([position]), torch.tensor([stream], dtype=torch.double))
    assert got.tolist() == [splitmix(seed, stream, position)]
    assert 0 <= got.item() < 1


def test_a_requests_seed_follows_from_its_prompt_and_its_samplings_seed() -> None:
    assert row_seed([1, 2]) == row_seed([1, 2]) != row_seed([1, 3])
    assert row_seed([1, 2], 0) != row_seed([1, 2], 1)
    assert 0 <= row_seed([1, 2]) < 2**60


# names with options


@pytest.mark.parametrize(
    ("given", "written"),
    [
        ("word_start", "word_start"),
        ("sparse", "sparse(p=0.5,seed=0)"),
        (" sparse ( seed=3 , p=0.25 ) ", "sparse(p=0.25,seed=3)"),
        ("sparse(p=1)", "sparse(p=1,seed=0)"),
        ("surprisal_threshold(at_most=2)", "surprisal_threshold(at_least=0,at_most=2)"),
        ("surprisal_threshold", "surprisal_threshold(at_least=0)"),
        ("mass()", "mass(q=0.5)"),
    ],
)
def test_a_triggers_full_name_has_all_its_options_in_order(given: str, written: str) -> None:
    assert str(choose(given).spec) == written
    assert str(choose(written).spec) == written


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sprse(p=1)", "unknown trigger 'sprse' - did you mean 'sparse'"),
        ("sparse(q=1)", "unknown key 'trigger sparse.q'"),
        ("sparse(p=2)", "sparse: p is a probability from 0 to 1, not 2"),
        ("sparse(p=x)", "trigger sparse.p must be a number, not 'x'"),
        ("sparse(p)", "cannot read 'p' in 'sparse(p)': an option is written key=value"),
        ("sparse(p=1", "cannot read 'sparse(p=1': it is written name or name(option=value,...)"),
        ("sparse(p=1,p=2)", "p is given twice"),
        ("sparse(seed=-1)", "sparse: seed is a whole number from 0"),
        ("mass(q=1)", "mass: q is a probability above 0 and below 1, not 1"),
        ("mass(q=0)", "mass: q is a probability above 0"),
        ("bit_budget(bits=0)", "bit_budget: bits is a number above 0, not 0"),
        ("bit_budget(bits=.nan)", "bit_budget: bits is a number above 0, not nan"),
        ("surprisal_threshold(at_least=-1)", "at_least is a number of bits from 0 up, not -1"),
        ("surprisal_threshold(at_least=3,at_most=2)", "at_most=2 is below at_least=3"),
        ("", "cannot read ''"),
    ],
)
def test_a_trigger_that_makes_no_sense_is_one_line(text: str, message: str) -> None:
    with pytest.raises(UserError) as caught:
        choose(text)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_values_are_read_as_yaml_scalars() -> None:
    spec = parse("x(a=1, b=0.5, c=true, d=word)")
    assert spec == Spec("x", {"a": 1, "b": 0.5, "c": True, "d": "word"})
    assert str(spec) == "x(a=1,b=0.5,c=true,d=word)"
