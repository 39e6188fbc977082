"""The shipped models in memory, in float32 on the CPU."""

from __future__ import annotations

import pytest
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from taboo_cluster.config import ModelConfig
from taboo_cluster.engines.base import Hardware
from taboo_cluster.engines.transformers import load_model
from taboo_cluster.models import load_tokenizer, resolve
from taboo_cluster.trial import ResolvedModel


@pytest.fixture(scope="session")
def tiny_base() -> ResolvedModel:
    """The shipped base model, in float32."""
    return resolve(ModelConfig(name="tiny-base", path="embedded:tiny-base", dtype="float32"))


@pytest.fixture(scope="session")
def base_model(tiny_base: ResolvedModel) -> PreTrainedModel:
    return load_model(tiny_base, Hardware(threads=1))


@pytest.fixture
def instruct_model(tiny_instruct: ResolvedModel) -> PreTrainedModel:
    """A copy of one test's own."""
    return load_model(tiny_instruct, Hardware(threads=1))


@pytest.fixture(scope="session")
def tokenizer(tiny_base: ResolvedModel) -> PreTrainedTokenizerBase:
    return load_tokenizer(tiny_base)
