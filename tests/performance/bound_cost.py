"""Precision and cost of the token constraint bound at full size, beside the product that makes the logits.

    python tests/performance/bound_cost.py [--threads 2] [--vocab 152064] [--d 896] [--dtype float32] [--device cpu]
        [--report PAGE.md]

Precision: relative error of δ in float32 against its definition in float64, the worst of some positions of each kind of
distribution, for the form that is used and for two plainer ones. Cost: the median of 3 runs over that of the logits
product alone, in the matrix's own dtype, and the most memory above hidden states, matrix and logits.
"""

import argparse
import ctypes
import datetime
import os
import platform
import statistics
import time
from collections.abc import Callable, Iterator
from itertools import chain

import torch

from taboo_cluster.stability.bound import bound
from taboo_cluster.stability.output_map import OutputMap

POSITIONS = 2
"""Of each kind of distribution, and of the naive loop."""
PEAK = 1e-6
"""Probability left to all tokens but the top one."""
ROWS = 8192
"""Of the matrix at a time, in the naive loop."""
PRODUCT = "logits product"
M_MMAP_THRESHOLD = -3
"""glibc's name for a setting."""


def mebibytes() -> tuple[float, float]:
    """Resident memory of this process now, and the most since its peak was last cleared."""
    with open("/proc/self/status", encoding="utf-8") as status:
        found = {line.split(":")[0]: int(line.split()[1]) / 1024 for line in status if line.startswith("Vm")}
    return found["VmRSS"], found["VmHWM"]


def added(work: Callable[[], object], device: torch.device) -> float:
    """The most memory, in MiB, that work holds above what was there before it."""
    if device.type == "cuda":
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        work()
        return (torch.cuda.max_memory_allocated() - before) / 2**20
    # What is freed goes back at once, now and from here on: room left by other work would hide a peak. It takes time.
    libc = ctypes.CDLL(None)
    libc.mallopt(M_MMAP_THRESHOLD, 1 << 16)
    libc.malloc_trim(0)
    with open("/proc/self/clear_refs", "w", encoding="utf-8") as peak:
        peak.write("5")
    before = mebibytes()[0]
    work()
    return mebibytes()[1] - before


def seconds(work: Callable[[], object], device: torch.device) -> float:
    """Time of one run."""
    begin = time.perf_counter()
    work()
    if device.type == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter() - begin


def naive(hidden: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """δ by its definition, position by position."""
    norms = []
    for state in hidden:
        o = (weight @ state).softmax(0)
        mean = o @ weight
        parts = zip(o.split(ROWS), weight.split(ROWS), strict=True)
        norms.append(torch.stack([(some[:, None] * (rows - mean)).square().sum() for some, rows in parts]).sum().sqrt())
    return 1 / torch.stack(norms)


def expanded(hidden: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """δ by the expansion of ‖w_i - μ‖² around 0, which cancels."""
    o = (hidden @ weight.T).softmax(1)
    mean, square = o @ weight, o.square()
    norms = weight.square().sum(1)
    squared = square @ norms - 2 * ((square @ weight) * mean).sum(1) + square.sum(1) * mean.square().sum(1)
    return 1 / squared.clamp(min=0).sqrt()


def distributions(weight: torch.Tensor, generator: torch.Generator) -> Iterator[tuple[str, torch.Tensor]]:
    """Kinds of next-token distributions, and hidden states [POSITIONS, d] that make them; rows have length about 1."""
    size = weight.shape[1]
    yield "random", 8 * torch.randn(POSITIONS, size, generator=generator)
    tokens = torch.randint(len(weight), (2, POSITIONS), generator=generator)
    first, second = weight[tokens].cpu().float()
    yield "peaked, many rivals", tuned(weight, tokens[0], first, torch.zeros_like(first))
    yield "peaked, one rival", tuned(weight, tokens[0], first - second, 45 * second)
    yield "two tokens", 25 * (first + second)
    yield "flat", 1e-3 * torch.randn(POSITIONS, size, generator=generator)


def tuned(weight: torch.Tensor, top: torch.Tensor, along: torch.Tensor, start: torch.Tensor) -> torch.Tensor:
    """start + x along, with the x of each position that leaves PEAK to the other tokens."""
    low, high = torch.zeros(len(top), 1), torch.full([len(top), 1], 60.0)
    base, slope = ((part.to(weight) @ weight.T).double().cpu() for part in (start, along))
    for _ in range(60):
        middle = (low + high) / 2
        logits = base + middle * slope
        others = logits.scatter(1, top[:, None], -torch.inf).logsumexp(1, keepdim=True)
        sharp = others - logits.gather(1, top[:, None]) < torch.tensor(PEAK).log()
        low, high = torch.where(sharp, low, middle), torch.where(sharp, middle, high)
    return start + high * along


def precision(weight: torch.Tensor, generator: torch.Generator) -> Iterator[str]:
    """Lines of a table."""
    output = OutputMap(weight)
    yield "| distribution | largest probability | this form | plain expansion | differences from μ |"
    yield "| --- | --- | --- | --- | --- |"
    for kind, states in distributions(output.weight, generator):
        hidden = states.to(output.weight)
        truth = naive64(hidden, output.weight)
        found = bound(hidden, output, flip=False)
        errors = [
            float((delta.double() / truth - 1).abs().max())
            for delta in (found.delta, expanded(hidden, output.weight), naive(hidden, output.weight))
        ]
        yield f"| {kind} | {float(found.top1[0]):.7f} | " + " | ".join(f"{error:.1e}" for error in errors) + " |"


def naive64(hidden: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """δ by its definition in float64."""
    return naive(hidden.double(), weight.double())


def works(count: int, weight: torch.Tensor, generator: torch.Generator) -> dict[str, Callable[[], object]]:
    """What is measured, by name, at some positions."""
    output = OutputMap(weight)
    capped = OutputMap(output.weight, cap=30.0)
    capped.squared_norms, output.squared_norms  # noqa: B018 - made once for a model
    hidden = (8 * torch.randn(count, weight.shape[1], generator=generator)).to(weight)
    wide = hidden.to(output.weight)
    logits = torch.empty(count, len(weight), dtype=wide.dtype, device=wide.device)
    found: dict[str, Callable[[], object]] = {
        PRODUCT: lambda: torch.mm(wide, output.weight.T, out=logits),
        "bound": lambda: bound(hidden, output, flip=False),
        "bound, soft-capped": lambda: bound(hidden, capped, flip=False),
        "bound and flip radius": lambda: bound(hidden, output),
        "bound from 64 tokens": lambda: bound(hidden, output, flip=False, top_k=64),
    }
    if count <= 16:
        found[f"naive loop over {POSITIONS} positions"] = lambda: naive(wide[:POSITIONS], output.weight)
    if weight.dtype != output.weight.dtype:
        found[f"product in {weight.dtype}"] = lambda: hidden @ weight.T
    return found


def cost(weight: torch.Tensor, generator: torch.Generator) -> Iterator[str]:
    """Lines of a table."""
    chosen = {count: works(count, weight, generator) for count in (16, 64)}
    # Times first: measuring memory costs time from then on.
    times = {count: timed(work, weight.device) for count, work in chosen.items()}
    for count, work in chosen.items():
        size = count * len(weight) * 4 / 2**20
        for name, run in work.items():
            above = added(run, weight.device) - (size if name.startswith("bound") else 0)
            taken = times[count][name]
            ratio = taken / times[count][PRODUCT]
            yield f"| {count} | {name} | {1e3 * taken:.0f} | {ratio:.2f} | {above:.0f} | {above / size:.2f} |"


def timed(work: dict[str, Callable[[], object]], device: torch.device) -> dict[str, float]:
    """The median of 3 runs of each, in turns, after a first one, from which on libraries keep buffers of their own."""
    times: dict[str, list[float]] = {name: [] for name in work}
    for turn in range(4):
        for name, run in work.items():
            taken = seconds(run, device)
            times[name] += [taken] if turn else []
    return {name: statistics.median(taken) for name, taken in times.items()}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    for name, value in (("threads", 2), ("vocab", 152064), ("d", 896)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--report")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    torch.set_grad_enabled(False)
    generator = torch.Generator().manual_seed(0)
    weight = torch.randn(arguments.vocab, arguments.d, generator=generator) / arguments.d**0.5
    weight = weight.to(arguments.device, getattr(torch, arguments.dtype))
    device = torch.cuda.get_device_name() if weight.is_cuda else f"{arguments.threads} threads, {os.cpu_count()} cores"
    lines = chain(
        [
            f"## {datetime.date.today()}",
            "",
            f"{arguments.vocab} tokens, d = {arguments.d}, {arguments.dtype}, on {device} ({platform.machine()}), "
            f"torch {torch.__version__}, load {os.getloadavg()[0]:.1f}.",
            "",
            "| positions | work | median, ms | / product | memory above logits, MiB | / logits |",
            "| --- | --- | --- | --- | --- | --- |",
        ],
        cost(weight, generator),
        [""],
        precision(weight, generator),
        [""],
    )
    with open(arguments.report or os.devnull, "a", encoding="utf-8") as out:
        for line in lines:
            print(line, flush=True)
            print(line, file=out, flush=True)


if __name__ == "__main__":
    main()
