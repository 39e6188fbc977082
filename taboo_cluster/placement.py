"""How much memory a model needs, and which GPUs it gets. Pure: shapes and sizes in, a placement out.

Sizes are bytes. The estimate is deliberately simple and a little high; its parts are shown by `plan`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from taboo_cluster.config import Shape

GIB = 1024**3

USABLE = 0.9
"""Part of a GPU that engines may fill; the rest is left to the driver, fragmentation and other processes."""
FIXED = int(1.5 * GIB)
"""CUDA context, kernels and captured graphs of one engine, on each of its GPUs."""
STEP_TOKENS = 8192
"""Tokens of one prefill step, which the activations are reckoned for."""
LOGIT_COPIES = 4
"""float32 logits of a step: as computed, log-probabilities, masked, sorted."""
MIN_SEQUENCES = 8
"""Sequences of full length whose KV cache has to fit at least."""
MIN_REPLICA_SECONDS = 300.0
"""A replica has to save this much work, or loading the model again is not worth it."""

_BYTES = {"bfloat16": 2, "float16": 2, "float32": 4}
_NF4_BLOCK, _NF4_SECOND_BLOCK = 64, 256


@dataclass(frozen=True)
class Memory:
    """One engine's memory, in bytes, over all its GPUs together unless it says otherwise."""

    weights: int
    kv_per_sequence: int
    """KV cache of one sequence of full length."""
    logits: int
    """Buffers as wide as the vocabulary; on each GPU."""
    activations: int
    """Of one prefill step; on each GPU."""
    load_extra: int
    """What loading needs on top of the weights: the largest matrix before and after quantization. On each GPU."""

    def needed(self, tensor_parallel: int = 1, sequences: int = MIN_SEQUENCES) -> int:
        """Bytes on each of `tensor_parallel` GPUs, at the fuller of two moments: while loading, or while running."""
        weights = -(-self.weights // tensor_parallel)
        running = self.logits + self.activations + -(-self.kv_per_sequence * sequences // tensor_parallel)
        return FIXED + weights + max(self.load_extra, running)


def parameters(shape: Shape) -> tuple[int, int]:
    """(weights of the linear layers, weights of embeddings and output head). Norms and biases are left out."""
    attention = shape.hidden * shape.head_dim * (2 * shape.heads + 2 * shape.kv_heads)
    linear = shape.layers * (attention + 3 * shape.hidden * shape.intermediate)
    return linear, shape.vocab * shape.hidden * (1 if shape.tied else 2)


def estimate(
    shape: Shape,
    quantization: str = "none",
    dtype: str = "bfloat16",
    size_b: float | None = None,
    length: int = 2048,
    sequences: int = 64,
) -> Memory:
    """Memory of a decoder.

    Linear layers are quantized, embeddings and head never: nf4 takes half a byte a weight plus scales (one byte per
    block of 64, one float32 per 256 of those: double quantization), int8 one byte plus one float32 per row.

    Args:
        shape: the decoder's dimensions.
        quantization: none, nf4 or int8.
        dtype: of everything that is not quantized, the KV cache included.
        size_b: parameters in billions; what exceeds the decoder's own (a vision tower) is counted unquantized.
        length: tokens of prompt and completion together, at most the context.
        sequences: sequences decoded at once.
    """
    width = _BYTES[dtype]
    linear, embeddings = parameters(shape)
    other = max(0, int((size_b or 0) * 1e9) - linear - embeddings)
    largest = shape.hidden * shape.intermediate
    if quantization == "nf4":
        blocks = linear // _NF4_BLOCK
        packed = linear // 2 + blocks + blocks // _NF4_SECOND_BLOCK * 4
        load_extra = largest * width + largest // 2
    elif quantization == "int8":
        rows = shape.layers * (
            shape.head_dim * (shape.heads + 2 * shape.kv_heads) + 2 * shape.hidden + 2 * shape.intermediate
        )
        packed = linear + 4 * rows
        load_extra = largest * width + largest
    else:
        packed = linear * width
        load_extra = shape.vocab * shape.hidden * width
    return Memory(
        weights=packed + (embeddings + other) * width,
        kv_per_sequence=2 * shape.layers * shape.kv_heads * shape.head_dim * width * min(length, shape.context),
        logits=LOGIT_COPIES * sequences * shape.vocab * 4,
        activations=STEP_TOKENS * (4 * shape.hidden + 2 * shape.intermediate) * width,
        load_extra=load_extra,
    )


@dataclass(frozen=True)
class Gpu:
    """One GPU as the cluster reports it."""

    gib: float
    node: str = ""


@dataclass(frozen=True)
class Demand:
    """One model that wants GPUs."""

    name: str
    memory: Memory
    heads: int
    sequences: int = 64
    """Sequences it would decode at once, memory allowing."""
    work_s: float = 0.0
    """Estimated GPU-seconds of work left."""
    splittable: bool = True
    """False where its weights cannot be split over GPUs (quantized before they were saved)."""


@dataclass(frozen=True)
class Placement:
    """Where one engine runs."""

    model: int
    """Index of the demand."""
    gpus: tuple[int, ...]
    """Indexes of its GPUs; more than one means tensor parallelism inside one node."""
    gpu_share: float
    """Part of each GPU's memory the engine may take."""
    wave: int
    """Engines of one wave run at the same time; a later wave starts as GPUs become free."""
    replica: int = 0

    @property
    def tensor_parallel(self) -> int:
        """GPUs the model is split over."""
        return len(self.gpus)

    @property
    def num_gpus(self) -> float:
        """What Ray is asked for: whole GPUs when split, else this engine's part of one."""
        if len(self.gpus) > 1:
            return float(len(self.gpus))
        return min(1.0, int(self.gpu_share / USABLE * 10_000 + 1e-6) / 10_000)


@dataclass(frozen=True)
class Packing:
    """Placements in the order they are to be started, and a line for each model that fits nowhere."""

    placements: tuple[Placement, ...] = ()
    refused: dict[int, str] = field(default_factory=dict)


def pack(demands: Sequence[Demand], gpus: Sequence[Gpu]) -> Packing:
    """Place models on GPUs.

    Largest first, each on the GPU with the most room left, so that small ones share a GPU once every GPU has a tenant.
    A model is split over 2, 4, 8 ... GPUs of one node only where fewer are too small. What finds no room waits for the
    next wave. GPUs that stay empty in the last wave become replicas of its model with most work left. A GPU's tenants
    divide its usable memory in proportion to what they want; never more is given than there is.
    """
    refused, splits = {}, {}
    for index, demand in enumerate(demands):
        split = _smallest_split(demand, gpus)
        if split is None:
            refused[index] = _shortfall(demand, gpus)
        else:
            splits[index] = split
    waiting = sorted(splits, key=lambda index: -demands[index].memory.needed())
    placements: list[Placement] = []
    wave = 0
    while waiting:
        room = _Room(gpus)
        left = [index for index in waiting if not room.take(index, demands[index], splits[index])]
        if not left:
            _add_replicas(room, demands, splits, waiting)
        placements += room.placements(wave)
        waiting, wave = left, wave + 1
    return Packing(tuple(placements), refused)


@dataclass(frozen=True)
class _Tenant:
    model: int
    gpus: tuple[int, ...]
    taken: float
    """Bytes on each of its GPUs."""
    replica: int


class _Room:
    """Memory left on each GPU while one wave is packed."""

    def __init__(self, gpus: Sequence[Gpu]) -> None:
        self._gpus = gpus
        self._free = [gpu.gib * GIB * USABLE for gpu in gpus]
        self._tenants: list[_Tenant] = []

    def take(self, index: int, demand: Demand, split: int, replica: int = 0) -> bool:
        """Give the model what it wants, or what is left where that is enough; a split model gets whole GPUs.

        A replica only goes where no other engine is. False where there is no room.
        """
        need = demand.memory.needed(split)
        alone = split > 1 or replica > 0
        fits = [g for g, free in enumerate(self._free) if free >= need and not (alone and self._taken(g))]
        chosen = self._of_one_node(fits, split) if split > 1 else tuple(sorted(fits, key=lambda g: -self._free[g])[:1])
        if not chosen:
            return False
        wanted = demand.memory.needed(split, max(demand.sequences, MIN_SEQUENCES))
        taken = min(wanted, *(self._free[g] for g in chosen)) if split == 1 else min(self._free[g] for g in chosen)
        for g in chosen:
            self._free[g] = self._free[g] - taken if split == 1 else 0.0
        self._tenants.append(_Tenant(index, chosen, taken, replica))
        return True

    def _of_one_node(self, fits: Sequence[int], split: int) -> tuple[int, ...]:
        for node in dict.fromkeys(self._gpus[g].node for g in fits):
            together = [g for g in fits if self._gpus[g].node == node]
            if len(together) >= split:
                return tuple(together[:split])
        return ()

    def _taken(self, gpu: int) -> bool:
        return any(gpu in tenant.gpus for tenant in self._tenants)

    def placements(self, wave: int) -> list[Placement]:
        """Tenants with their shares: a GPU's usable memory divided in proportion to what each took."""
        return [
            Placement(tenant.model, tenant.gpus, USABLE * self._part(tenant), wave, tenant.replica)
            for tenant in self._tenants
        ]

    def _part(self, tenant: _Tenant) -> float:
        beside = sum(other.taken for other in self._tenants if tenant.gpus[0] in other.gpus)
        return tenant.taken / beside


def _add_replicas(room: _Room, demands: Sequence[Demand], splits: dict[int, int], models: Sequence[int]) -> None:
    copies = dict.fromkeys(models, 1)

    def per_copy(index: int) -> float:
        return demands[index].work_s / copies[index]

    while True:
        for index in sorted(models, key=per_copy, reverse=True):
            saved = per_copy(index) / (copies[index] + 1)
            if saved >= MIN_REPLICA_SECONDS and room.take(index, demands[index], splits[index], copies[index]):
                copies[index] += 1
                break
        else:
            return


def _splits(demand: Demand, gpus: Sequence[Gpu]) -> list[tuple[int, float]]:
    """(GPUs, bytes the smallest of them may fill) for every power of two that one node has and the heads allow."""
    found = []
    for node in dict.fromkeys(gpu.node for gpu in gpus):
        sizes = sorted((gpu.gib for gpu in gpus if gpu.node == node), reverse=True)
        split = 1
        while split <= len(sizes) and (split == 1 or (demand.splittable and demand.heads % split == 0)):
            found.append((split, sizes[split - 1] * GIB * USABLE))
            split *= 2
    return sorted(found)


def _smallest_split(demand: Demand, gpus: Sequence[Gpu]) -> int | None:
    fitting = (split for split, usable in _splits(demand, gpus) if demand.memory.needed(split) <= usable)
    return next(fitting, None)


def _shortfall(demand: Demand, gpus: Sequence[Gpu]) -> str:
    """Says by how much the best try misses."""
    if not gpus:
        return f"{demand.name} does not fit: there is no GPU"
    split, usable = min(_splits(demand, gpus), key=lambda found: demand.memory.needed(found[0]) - found[1])
    need = demand.memory.needed(split)
    where = "one GPU" if split == 1 else f"each of {split} GPUs"
    why = "" if demand.splittable else "; it is quantized already and cannot be split over GPUs"
    return (
        f"{demand.name} does not fit: it needs {need / GIB:.1f} GiB on {where} that may fill {usable / GIB:.1f} GiB "
        f"({USABLE:.0%} of {usable / USABLE / GIB:g} GiB): {(need - usable) / GIB:.1f} GiB too much{why}"
    )
