"""The GPUs that a command outside a cluster may reckon with."""

from __future__ import annotations

from taboo_cluster.config import ClusterConfig
from taboo_cluster.placement import GIB, Gpu


def seen_gpus(cluster: ClusterConfig) -> list[Gpu]:
    """The GPUs named in the config, else those of this machine."""
    if cluster.gpus is not None:
        return [Gpu(gib) for gib in cluster.gpus]
    import torch

    if not torch.cuda.is_available():
        return []
    return [Gpu(torch.cuda.get_device_properties(i).total_memory / GIB) for i in range(torch.cuda.device_count())]
