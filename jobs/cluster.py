"""Ray started or joined, and what its machines have."""

from __future__ import annotations

import logging
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from actors import devices
from jobs.worker import Need
from taboo_cluster.checkout import ROOT
from taboo_cluster.config import ClusterConfig, RunConfig
from taboo_cluster.engines.base import Hardware
from taboo_cluster.errors import UserError
from taboo_cluster.placement import GIB, Gpu
from taboo_cluster.planning import plan
from taboo_cluster.runner import describe

EXCLUDES = [".git", ".venv", "runs", "docs", "tests", "*.parquet", "*.duckdb"]
"""Of the checkout, what no node needs."""
ACTORS = {"ARROW_DEFAULT_MEMORY_POOL": "system"}
"""Environment of the actors: parts are merged in bursts, after which Arrow's own allocator keeps twice the memory."""
OBJECT_STORE = 256 * 1024**2
"""Bytes for objects in flight where this command starts Ray: only ids travel."""
AGENT_MS = "120000"
"""Milliseconds that Ray's node waits for its helpers; its own default is too short for a busy machine."""
FULL = 0.95
"""Share of a disk from which on a warning is given."""


@dataclass(frozen=True)
class Machines:
    """What the cluster has for engines."""

    cpus: float
    gpus: tuple[Gpu, ...]


@contextmanager
def cluster(config: ClusterConfig) -> Iterator[Machines]:
    """Start Ray on this machine, or join a running cluster; left again at the end.

    A started Ray shows its dashboard on 127.0.0.1 only. A joined cluster gets this checkout as its working_dir.
    Raises UserError where there is no cluster at the address.
    """
    _start(config) if config.address is None else _join(config.address)
    try:
        yield machines(config)
    finally:
        ray.shutdown()


def _start(config: ClusterConfig) -> None:
    logging.getLogger("ray").setLevel(logging.ERROR)
    os.environ.setdefault("RAY_agent_register_timeout_ms", AGENT_MS)
    try:
        ray.init(
            address="local",  # never one that happens to run here already
            num_cpus=config.cpus or os.cpu_count(),
            include_dashboard=config.dashboard,
            dashboard_host="127.0.0.1",
            object_store_memory=OBJECT_STORE,
            log_to_driver=False,
            logging_level=logging.ERROR,
            runtime_env={"env_vars": {"PYTHONPATH": _python_path(), **ACTORS}},
        )
    except Exception as error:  # Ray raises a bare Exception where a busy machine takes more than 30 s to start it
        raise UserError(f"Ray does not start on this machine (is it very busy?): {describe(error)}") from error


def _join(address: str) -> None:
    logging.getLogger("ray").setLevel(logging.ERROR)
    try:
        ray.init(
            address=address,
            log_to_driver=False,
            logging_level=logging.ERROR,
            runtime_env={"working_dir": str(ROOT), "excludes": EXCLUDES, "env_vars": ACTORS},
        )
    except Exception as error:  # no cluster there, another version of Ray or Python, no token ...
        raise UserError(
            f"cannot join the Ray cluster at cluster.address={address}: {describe(error)} (a cluster with token "
            "authentication, Ray's default, wants RAY_AUTH_MODE=token and its token here, unless the address is auto)"
        ) from error


def _python_path() -> str:
    """Ours first, so that workers import the packages that this process runs."""
    return os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))


def machines(config: ClusterConfig) -> Machines:
    """Cores and GPUs of the cluster; a GPU's memory is the config's where it says so, else asked of its node."""
    total = ray.cluster_resources()  # type: ignore[no-untyped-call]
    cpus = min(total.get("CPU", 0.0), config.cpus or float("inf"))
    count = int(total.get("GPU", 0))
    if not count:
        return Machines(cpus, ())
    if config.gpus is not None:
        return Machines(cpus, tuple(Gpu(gib) for gib in config.gpus[:count]))
    gpus: list[Gpu] = []
    for node in ray.nodes():  # type: ignore[no-untyped-call]
        if node["Alive"] and node["Resources"].get("GPU"):
            strategy = NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
            memory = ray.remote(devices.memory).options(num_cpus=0, scheduling_strategy=strategy).remote()
            gpus += [Gpu(size / GIB, node["NodeID"]) for size in ray.get(memory, timeout=120)]
    return Machines(cpus, tuple(gpus[:count]))


def needs(config: RunConfig, found: Machines, uses_gpu: bool) -> list[Need]:
    """What an engine of each model takes.

    Raises UserError for a model that fits on none of the GPUs, or where the cores are too few for one engine.
    """
    cores = config.cluster.cpus_per_engine
    on_cpu = Need(cores, 0.0, Hardware(threads=cores))
    if not found.gpus or not uses_gpu:
        chosen = [on_cpu] * len(config.models)
    else:
        packing = plan(config, found.gpus).packing
        if packing is None or packing.refused:
            raise UserError("; ".join(packing.refused.values() if packing else ["no placement was made"]))
        first = {placement.model: placement for placement in reversed(packing.placements)}
        chosen = []
        for index in range(len(config.models)):
            place = first[index]
            hardware = Hardware(place.gpu_share, place.tensor_parallel, threads=1)
            chosen.append(Need(1.0, place.num_gpus, hardware))
    if max(need.cpus for need in chosen) > found.cpus:
        raise UserError(
            f"an engine takes {cores} CPU cores, the cluster has {found.cpus:g}: lower cluster.cpus_per_engine"
        )
    return chosen


def full_disks(run_dir: str) -> list[str]:
    """A warning for each disk that a run writes to and that is nearly full."""
    places = {"Ray's directory": tempfile.gettempdir(), "the run": run_dir}
    warnings = []
    for what, path in places.items():
        if os.path.isdir(path):
            usage = shutil.disk_usage(path)
            if usage.used > FULL * usage.total:
                free = usage.free / GIB
                warnings.append(
                    f"the disk of {what}, {path}, is {usage.used / usage.total:.0%} full ({free:.1f} GiB free)"
                )
    return warnings
