"""Memory of a model, and which GPUs it gets."""

from __future__ import annotations

from collections import defaultdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from taboo_cluster.config import Shape
from taboo_cluster.placement import FIXED, GIB, USABLE, Demand, Gpu, Memory, Packing, estimate, pack, parameters

SMALL = Shape(2, 8, 2, 1, 4, 16, 32, True, 128)
"""layers 2, hidden 8, heads 2, kv_heads 1, head_dim 4, intermediate 16, vocab 32, tied."""
QWEN_72B = Shape(80, 8192, 64, 8, 128, 29568, 152064, False, 131072)
QWEN_7B = Shape(28, 3584, 28, 4, 128, 18944, 152064, False, 131072)


def demand(name: str, gib: float, *, heads: int = 8, work_s: float = 0.0, splittable: bool = True) -> Demand:
    """A model whose one GPU's need is `gib`; FIXED of it cannot be split."""
    return Demand(name, Memory(int(gib * GIB) - FIXED, 0, 0, 0, 0), heads, 64, work_s, splittable)


def where(packing: Packing) -> list[tuple[int, tuple[int, ...], int]]:
    return [(p.model, p.gpus, p.wave) for p in packing.placements]


def test_parameters_by_hand() -> None:
    # a layer: q 8x8, k and v 8x4 each, o 8x8 -> 192; gate, up, down 8x16 each -> 384
    assert parameters(SMALL) == (2 * (192 + 384), 32 * 8)
    assert parameters(QWEN_72B) == (70_212_648_960, 2 * 152_064 * 8192)


def test_memory_by_hand() -> None:
    memory = estimate(SMALL, length=64, sequences=4)
    assert memory == Memory(
        weights=2 * (1152 + 256),
        kv_per_sequence=2 * 2 * 4 * 2 * 64,  # key and value, layers, head_dim, bytes, tokens
        logits=4 * 4 * 32 * 4,  # copies, sequences, vocab, bytes
        activations=8192 * (4 * 8 + 2 * 16) * 2,
        load_extra=32 * 8 * 2,
    )
    assert memory.needed(1, 4) == FIXED + 2816 + 2048 + 1_048_576 + 4 * 2048
    assert memory.needed(2, 4) == FIXED + 1408 + 2048 + 1_048_576 + 2 * 2048
    assert estimate(SMALL, dtype="float32").weights == 4 * (1152 + 256)
    assert estimate(SMALL, length=1000).kv_per_sequence == 2 * 2 * 4 * 2 * 128  # never longer than the context


def test_quantized_weights_by_hand() -> None:
    # nf4: half a byte a weight, one byte per 64 (18 blocks), no full second block; embeddings stay bf16
    nf4 = estimate(SMALL, "nf4")
    assert nf4.weights == 576 + 18 + 256 * 2
    assert nf4.load_extra == 8 * 16 * 2 + 8 * 16 // 2
    # int8: a byte a weight, 4 bytes for each of 64 rows (q 8, k 4, v 4, o 8, gate 16, up 16, down 8) of two layers
    assert estimate(SMALL, "int8").weights == 1152 + 4 * 2 * 64 + 256 * 2


def test_parameters_beyond_the_decoder_are_counted_unquantized() -> None:
    assert estimate(SMALL, "nf4", size_b=2e-6).weights == estimate(SMALL, "nf4").weights + 2 * (2000 - 1408)
    assert estimate(SMALL, size_b=1e-6) == estimate(SMALL)  # a rounded size never takes anything away


def test_d3_a_72b_model_in_nf4_is_refused_on_24_and_40_gib_and_fits_80() -> None:
    memory = estimate(QWEN_72B, "nf4", size_b=72.706)
    packed = 70_212_648_960 // 2 + 70_212_648_960 // 64 + 70_212_648_960 // 64 // 256 * 4
    embeddings = 152_064 * 8192 * 2 * 2
    assert packed >= 36e9
    assert embeddings == pytest.approx(5e9, rel=0.01)
    assert memory.weights == packed + embeddings + 2 * (72_706_000_000 - 72_704_065_536)
    wanted = Demand("72B", memory, heads=64)
    for gib, short in ((24, "24.8"), (40, "10.4")):
        assert pack([wanted], [Gpu(gib)]).refused == {
            0: f"72B does not fit: it needs 46.4 GiB on one GPU that may fill {gib * 0.9:.1f} GiB "
            f"(90% of {gib} GiB): {short} GiB too much"
        }
    assert where(pack([wanted], [Gpu(80)])) == [(0, (0,), 0)]


def test_d3_the_peak_while_loading_is_apart_from_the_steady_state() -> None:
    idle = Memory(weights=100, kv_per_sequence=1, logits=10, activations=10, load_extra=1000)
    busy = Memory(weights=100, kv_per_sequence=1000, logits=10, activations=10, load_extra=1000)
    assert idle.needed() == FIXED + 100 + 1000
    assert busy.needed() == FIXED + 100 + 10 + 10 + 8 * 1000


def test_c20_buffers_as_wide_as_the_vocabulary_are_reserved() -> None:
    copies = estimate(QWEN_7B, sequences=256).logits / (256 * 152_064 * 4)
    assert 256 * 152_064 * 4 == 155_713_536
    assert copies == 4


def test_the_largest_model_goes_first_and_small_ones_share() -> None:
    packing = pack([demand("small", 10), demand("large", 60), demand("tiny", 5)], [Gpu(80)])
    assert where(packing) == [(1, (0,), 0), (0, (0,), 0), (2, (0,), 1)]
    shares = {p.model: p.gpu_share for p in packing.placements if p.wave == 0}
    assert sum(shares.values()) == pytest.approx(USABLE)
    assert shares[1] / shares[0] == pytest.approx(6)


def test_models_spread_over_gpus_before_they_share() -> None:
    packing = pack([demand("a", 10), demand("b", 10), demand("c", 5)], [Gpu(80), Gpu(80)])
    assert where(packing) == [(0, (0,), 0), (1, (1,), 0), (2, (0,), 0)]
    assert [p.num_gpus for p in packing.placements] == pytest.approx([2 / 3, 1.0, 1 / 3], abs=1e-4)


def test_what_finds_no_room_waits_for_the_next_wave() -> None:
    packing = pack([demand("a", 60), demand("b", 60), demand("c", 20)], [Gpu(80)])
    assert where(packing) == [(0, (0,), 0), (1, (0,), 1), (2, (0,), 2)]


def test_a_model_is_split_only_where_one_gpu_is_too_small() -> None:
    gpus = [Gpu(24)] * 4
    assert where(pack([demand("a", 20)], gpus)) == [(0, (0,), 0)]
    assert where(pack([demand("a", 30)], gpus)) == [(0, (0, 1), 0)]
    assert where(pack([demand("a", 60)], gpus)) == [(0, (0, 1, 2, 3), 0)]
    split = pack([demand("a", 30)], gpus).placements[0]
    assert (split.tensor_parallel, split.num_gpus, split.gpu_share) == (2, 2.0, USABLE)


def test_a_split_stays_in_one_node_and_divides_the_heads() -> None:
    apart = [Gpu(24, "x"), Gpu(24, "y"), Gpu(24, "z"), Gpu(24, "z")]
    assert where(pack([demand("a", 30)], apart)) == [(0, (2, 3), 0)]
    assert "does not fit" in pack([demand("a", 30)], apart[:3]).refused[0]
    assert "does not fit" in pack([demand("a", 30, heads=7)], apart).refused[0]


def test_d1_weights_saved_quantized_are_not_split() -> None:
    line = pack([demand("a", 30, splittable=False)], [Gpu(24)] * 2).refused[0]
    assert line.endswith("8.4 GiB too much; it is quantized already and cannot be split over GPUs")


def test_spare_gpus_become_replicas_of_the_model_with_most_work_left() -> None:
    demands = [demand("short", 10, work_s=400), demand("long", 10, work_s=4000)]
    packing = pack(demands, [Gpu(80)] * 4)
    assert where(packing) == [(0, (0,), 0), (1, (1,), 0), (1, (2,), 0), (1, (3,), 0)]
    assert [p.replica for p in packing.placements] == [0, 0, 1, 2]


def test_a_replica_has_to_be_worth_loading_the_model_again() -> None:
    assert len(pack([demand("a", 10, work_s=500)], [Gpu(80)] * 4).placements) == 1


def test_no_gpu_fits_nothing() -> None:
    assert pack([demand("a", 1)], []).refused == {0: "a does not fit: there is no GPU"}
    assert pack([], [Gpu(80)]) == Packing((), {})


gpus = st.lists(st.builds(Gpu, st.sampled_from([16.0, 24.0, 40.0, 80.0, 141.0]), st.sampled_from("xy")), max_size=9)
models = st.lists(
    st.builds(
        Demand,
        st.just("m"),
        st.builds(
            Memory,
            st.integers(0, 200 * GIB),
            st.integers(0, GIB),
            st.integers(0, GIB),
            st.integers(0, 2 * GIB),
            st.integers(0, 4 * GIB),
        ),
        st.sampled_from([1, 2, 7, 12, 64]),
        st.integers(1, 256),
        st.floats(0, 1e5),
        st.booleans(),
    ),
    max_size=12,
)


@settings(deadline=None)
@given(models, gpus)
def test_a_gpu_is_never_over_committed(demands: list[Demand], gpus: list[Gpu]) -> None:
    packing = pack(demands, gpus)
    share: dict[tuple[int, int], float] = defaultdict(float)
    asked: dict[tuple[int, int], float] = defaultdict(float)
    waves = defaultdict(set)
    for p in packing.placements:
        d = demands[p.model]
        waves[p.model].add(p.wave)
        assert p.tensor_parallel in (1, 2, 4, 8)
        assert len({gpus[g].node for g in p.gpus}) == 1
        assert p.tensor_parallel == 1 or (d.splittable and d.heads % p.tensor_parallel == 0)
        for g in p.gpus:
            assert p.gpu_share * gpus[g].gib * GIB >= d.memory.needed(p.tensor_parallel) * (1 - 1e-9)
            share[p.wave, g] += p.gpu_share
            asked[p.wave, g] += p.num_gpus / p.tensor_parallel
    assert all(total <= USABLE + 1e-9 for total in share.values())
    assert all(total <= 1.0 for total in asked.values())
    assert all(len(of_model) == 1 for of_model in waves.values())
    assert set(waves) | set(packing.refused) == set(range(len(demands)))
    assert not set(waves) & set(packing.refused)
    for wave in range(1, max((p.wave for p in packing.placements), default=0) + 1):
        assert any(p.wave == wave for p in packing.placements)


@settings(deadline=None)
@given(models, gpus)
def test_a_refused_model_would_not_fit_alone_either(demands: list[Demand], gpus: list[Gpu]) -> None:
    for index in pack(demands, gpus).refused:
        assert pack([demands[index]], gpus).refused
