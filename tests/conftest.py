"""What several packages' tests share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import settings

from taboo_cluster.config import ModelConfig
from taboo_cluster.models import resolve
from taboo_cluster.trial import ResolvedModel

settings.register_profile("no deadline", deadline=None)  # a busy machine is no fault
settings.load_profile("no deadline")


@pytest.fixture(scope="session")
def tiny_instruct() -> ResolvedModel:
    """The shipped aligned model, in float32: the same text whatever else is in the batch."""
    return resolve(ModelConfig(name="tiny-instruct", path="embedded:tiny-instruct", dtype="float32", aligned=True))


@pytest.fixture(scope="module")
def vllm_engine(tiny_instruct: ResolvedModel) -> Iterator[Any]:
    """vLLM with the tiny aligned model, for one file: its worker keeps a core busy while nothing is asked."""
    pytest.importorskip("vllm", reason="vLLM is not installed")
    from taboo_cluster.engines.base import ENGINES, Hardware

    entry = ENGINES.get("vllm")
    engine = entry.build(tiny_instruct, entry.options(max_num_seqs=16, cpu_kvcache_gib=0.25), Hardware(threads=2))
    yield engine
    engine.close()
