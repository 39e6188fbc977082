"""The mask core, against a slow reference in plain Python: the same ids masked, always."""

import math
from dataclasses import dataclass

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from taboo_cluster.taboo.mask import MaskOutcome, entropy_bits, mask_top, ordered_top
from taboo_cluster.taboo.triggers.base import TRIGGERS
from taboo_cluster.taboo.word_start import WordStartTable

WORD_START = TRIGGERS.get("word_start")
INF = math.inf


@dataclass
class Expected:
    nominal: int | None = None
    masked: tuple[int, ...] = ()
    tied: bool = False
    skipped: bool = False
    invalid: bool = False


def reference(
    logits: list[float], rank: int, start: list[bool], special: list[bool], known: list[bool], protect: bool
) -> Expected:
    """METHODS section 1, read aloud."""
    tokens = [i for i in range(min(len(logits), len(start))) if known[i]]
    order = sorted(tokens, key=lambda i: (-logits[i], i))
    if any(math.isnan(z) for z in logits) or not order or math.isinf(logits[order[0]]):
        return Expected(invalid=True)
    nominal = order[0]
    if rank == 0 or special[nominal] or not start[nominal]:
        return Expected(nominal)
    if protect:
        order = [i for i in order if not special[i]]
    if sum(logits[i] > -INF for i in order) <= rank:
        return Expected(nominal, skipped=True)
    return Expected(nominal, tuple(sorted(order[:rank])), tied=logits[order[rank - 1]] == logits[order[rank]])


def table_of(start: list[bool], special: list[bool] | None = None, known: list[bool] | None = None) -> WordStartTable:
    special = special or [False] * len(start)
    known = known or [True] * len(start)
    return word_starts(torch.tensor(start), torch.tensor(special), torch.tensor(known), all(known))


def word_starts(start: torch.Tensor, special: torch.Tensor, known: torch.Tensor, gapless: bool) -> WordStartTable:
    """A table with one state and no function words."""
    return WordStartTable(start[None], special, known, gapless, function=torch.zeros_like(special))


def run(
    logits: list[list[float]], rank: list[int], table: WordStartTable, protect: list[bool] | None = None
) -> tuple[torch.Tensor, MaskOutcome]:
    tensor = torch.tensor(logits)
    protected = torch.tensor(protect) if protect else None
    outcome = mask_top(tensor, torch.tensor(rank), table, WORD_START, max(rank), protected)
    return tensor, outcome


def check(logits: torch.Tensor, rank: list[int], table: WordStartTable, protect: list[bool]) -> None:
    masked = logits.clone()
    protected = torch.tensor(protect) if any(protect) else None
    outcome = mask_top(masked, torch.tensor(rank), table, WORD_START, max(rank), protected)
    flags = (table.start[0].tolist(), table.special.tolist(), table.known.tolist())
    for row, before in enumerate(logits.tolist()):
        expected = reference(before, rank[row], *flags, protect[row])
        changed = [i for i, (a, b) in enumerate(zip(before, masked[row].tolist(), strict=True)) if a != b and a == a]
        assert changed == list(expected.masked)
        assert all(masked[row, i] == -INF for i in expected.masked)
        assert outcome.masked[row] == len(expected.masked)
        assert outcome.intervened[row] == bool(expected.masked)
        assert (outcome.tied[row], outcome.skipped[row], outcome.invalid[row]) == (
            expected.tied,
            expected.skipped,
            expected.invalid,
        )
        removed = sorted(z for z in outcome.removed[row].tolist() if z > -INF)
        assert removed == sorted(before[i] for i in expected.masked)
        if expected.nominal is not None:
            assert outcome.nominal[row] == expected.nominal
            assert outcome.nominal_logit[row] == before[expected.nominal]


LOGIT = st.sampled_from([-INF, -INF, -2.0, -0.5, 0.0, 0.5, 1.0, 1.5])


@st.composite
def batches(draw: st.DrawFn) -> tuple[torch.Tensor, list[int], WordStartTable, list[bool]]:
    rows, ids = draw(st.integers(1, 4)), draw(st.integers(1, 24))
    width = max(1, ids + draw(st.integers(-2, 5)))
    odd = st.sampled_from([math.nan, INF])
    logits = draw(st.lists(st.lists(LOGIT, min_size=width, max_size=width), min_size=rows, max_size=rows))
    if draw(st.integers(0, 5)) == 0:
        logits[0][draw(st.integers(0, min(ids, width) - 1))] = draw(odd)
    flags = st.lists(st.booleans(), min_size=ids, max_size=ids)
    known = draw(st.one_of(st.just([True] * ids), flags.filter(lambda f: any(f[:width]))))
    special = draw(flags)
    start = [a and not b and c for a, b, c in zip(draw(flags), special, known, strict=True)]
    for row in logits:  # a fault at a hole of the vocabulary is not seen: keep them to the candidates
        for i in range(min(ids, width)):
            if not known[i] and not math.isfinite(row[i]):
                row[i] = 3.0
    rank = draw(st.lists(st.integers(0, 6), min_size=rows, max_size=rows))
    protect = draw(st.lists(st.booleans(), min_size=rows, max_size=rows))
    return torch.tensor(logits), rank, table_of(start, special, known), protect


@settings(max_examples=300, deadline=None)
@given(batches())
def test_any_batch_agrees_with_the_reference(
    batch: tuple[torch.Tensor, list[int], WordStartTable, list[bool]],
) -> None:
    check(*batch)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("width", [640, 1000, 3001])
def test_random_and_rounded_logits_agree_with_the_reference(dtype: torch.dtype, width: int) -> None:
    generator = torch.Generator().manual_seed(width)
    ids = width - 9
    for _ in range(3):
        logits = torch.randn(24, width, generator=generator).to(dtype).float()
        flags = torch.rand(3, ids, generator=generator)
        special = flags[1] < 0.02
        table = word_starts((flags[0] < 0.7) & ~special, special, torch.ones(ids, dtype=torch.bool), True)
        ranks = torch.randint(0, 17, (24,), generator=generator).tolist()
        check(logits, ranks, table, (torch.rand(24, generator=generator) < 0.3).tolist())


def test_rounded_logits_do_tie_at_the_boundary() -> None:
    """The test above would prove little about ties if there were none."""
    logits = torch.randn(24, 3001, generator=torch.Generator().manual_seed(0)).bfloat16().float()
    table = table_of([True] * 3001)
    outcome = mask_top(logits, torch.full((24,), 8), table, WORD_START, 8)
    assert int(outcome.tied.sum()) >= 3


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_ordered_top_orders_equal_values_by_id(data: st.DataObject) -> None:
    size, k = data.draw(st.integers(1, 300)), data.draw(st.integers(1, 20))
    generator = torch.Generator().manual_seed(data.draw(st.integers(0, 2**31)))
    values = torch.randint(-2, 3, (3, size), generator=generator).float()
    values[torch.rand(3, size, generator=generator) < 0.2] = -INF
    best, ids = ordered_top(values, k)
    for row, row_ids in zip(values.tolist(), ids.tolist(), strict=True):
        assert row_ids == sorted(range(size), key=lambda i: (-row[i], i))[:k]
    assert torch.equal(best, values.gather(1, ids))


def test_c10_ties_are_masked_by_lowest_id() -> None:
    logits, outcome = run([[5.0, 5.0, 5.0, 1.0]], [2], table_of([True] * 4))
    assert logits.tolist() == [[-INF, -INF, 5.0, 1.0]]
    assert outcome.nominal.tolist() == [0]
    assert outcome.tied.tolist() == [True]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_every_dtype_masks_in_place(dtype: torch.dtype) -> None:
    logits = torch.tensor([[0.0, 2.0, 1.0]], dtype=dtype)
    mask_top(logits, torch.tensor([1]), table_of([True] * 3), WORD_START, 1)
    assert logits.tolist() == [[0.0, -INF, 1.0]]


def test_c11_too_few_candidates_leave_the_step_alone() -> None:
    table = table_of([True, True, True])
    for rank, masked, skipped in [(1, 1, False), (2, 0, True), (3, 0, True), (50, 0, True)]:
        logits, outcome = run([[1.0, -INF, 2.0]], [rank], table)
        assert (outcome.masked.tolist(), outcome.skipped.tolist()) == ([masked], [skipped])
        assert logits.tolist() == ([[1.0, -INF, -INF]] if masked else [[1.0, -INF, 2.0]])


def test_c11_protected_tokens_are_no_candidates() -> None:
    table = table_of([True, True, False], [False, False, True])
    logits, outcome = run([[3.0, 2.0, 1.0], [3.0, 2.0, 1.0]], [2, 2], table, [False, True])
    assert logits.tolist() == [[-INF, -INF, 1.0], [3.0, 2.0, 1.0]]
    assert outcome.skipped.tolist() == [False, True]


def test_a_special_token_among_the_top_is_masked_like_any_other_unless_protected() -> None:
    table = table_of([True, False, True, True], [False, True, False, False])
    logits, _ = run([[4.0, 3.0, 2.0, 1.0]] * 2, [2, 2], table, [False, True])
    assert logits.tolist() == [[-INF, -INF, 2.0, 1.0], [-INF, 3.0, -INF, 1.0]]


def test_c12_a_special_top_token_is_left_alone() -> None:
    table = word_starts(*(torch.tensor(flags) for flags in ([True] * 3, [True, False, False], [True] * 3)), True)
    logits, outcome = run([[4.0, 3.0, 2.0], [1.0, 3.0, 2.0]], [1, 1], table)
    assert logits.tolist() == [[4.0, 3.0, 2.0], [1.0, -INF, 2.0]]
    assert outcome.masked.tolist() == [0, 1]


def test_a_top_token_inside_a_word_is_left_alone_and_rank_0_is_bit_for_bit_the_baseline() -> None:
    table = table_of([True, False])
    logits, outcome = run([[1.0, 2.0], [2.0, 1.0], [2.0, 1.0]], [1, 0, 1], table)
    assert logits.tolist() == [[1.0, 2.0], [2.0, 1.0], [-INF, 1.0]]
    assert outcome.nominal.tolist() == [1, 0, 0]


def test_b11_ids_beyond_the_tokenizer_are_never_masked_nor_nominal() -> None:
    table = table_of([True] * 4)
    narrow, _ = run([[4.0, 3.0, 2.0, 1.0]], [2], table)
    wide, outcome = run([[4.0, 3.0, 2.0, 1.0, 9.0, 9.0, 9.0]], [2], table)
    assert wide[:, :4].tolist() == narrow.tolist() == [[-INF, -INF, 2.0, 1.0]]
    assert wide[:, 4:].tolist() == [[9.0, 9.0, 9.0]]
    assert outcome.nominal.tolist() == [0]


@pytest.mark.parametrize("fault", [math.nan, INF])
def test_a_row_without_a_distribution_is_left_alone_and_told(fault: float) -> None:
    logits, outcome = run([[1.0, fault, 3.0], [1.0, 2.0, 3.0], [-INF] * 3], [1, 1, 1], table_of([True] * 3))
    assert outcome.invalid.tolist() == [True, False, True]
    assert outcome.masked.tolist() == [0, 1, 0]
    assert logits[0, [0, 2]].tolist() == [1.0, 3.0]


def test_nan_beyond_the_tokenizer_is_told_too() -> None:
    _, outcome = run([[1.0, 2.0, math.nan]], [1], table_of([True] * 2))
    assert outcome.invalid.tolist() == [True]


def test_zero_and_minus_zero_tie() -> None:
    logits, outcome = run([[-0.0, 0.0, -1.0]], [1], table_of([True] * 3))
    assert logits.tolist() == [[-INF, 0.0, -1.0]]
    assert outcome.tied.tolist() == [True]


def test_c17_nothing_is_read_back_from_the_device() -> None:
    """Tensors of the meta device hold no data: whatever asks for a value raises."""
    flags = torch.zeros(200, dtype=torch.bool, device="meta")
    table = word_starts(flags, flags, flags, gapless=False)
    logits = torch.zeros(3, 300, device="meta")
    rank = torch.zeros(3, dtype=torch.long, device="meta")
    outcome = mask_top(logits, rank, table, WORD_START, 4, protect_special=rank > 0)
    assert outcome.masked.shape == (3,)


def test_entropy_is_that_of_the_whole_distribution_in_bits() -> None:
    halves = torch.tensor(
        [[0.0, 0.0, -INF, -INF], [0.0, 0.0, 0.0, 0.0], [5.0, -INF, -INF, -INF], [0.0, math.nan, 1, 2]]
    )
    assert entropy_bits(halves)[:3].tolist() == pytest.approx([1.0, 2.0, 0.0])
    assert entropy_bits(halves)[3].isnan()
    # 0.5, 0.25, 0.25: 0.5 * 1 + 2 * 0.25 * 2 bits
    assert entropy_bits(torch.tensor([[0.5, 0.25, 0.25]]).log()).item() == pytest.approx(1.5)
