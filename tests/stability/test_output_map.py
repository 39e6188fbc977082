"""What a model's config says of its logits."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch
from transformers import AutoConfig

from taboo_cluster.errors import UserError
from taboo_cluster.stability.output_map import OutputMap, output_map_of

WEIGHT = torch.eye(3)


def read(model_type: str, **options: Any) -> OutputMap:
    return output_map_of(AutoConfig.for_model(model_type, **options), WEIGHT)


@pytest.mark.parametrize(
    ("model_type", "options", "scale", "cap"),
    [
        ("llama", {}, 1, None),
        ("qwen2", {}, 1, None),
        ("gpt2", {}, 1, None),
        ("mixtral", {"output_router_logits": True}, 1, None),
        ("phimoe", {"lm_head_bias": True}, 1, None),
        ("gemma2", {}, 1, 30),
        ("gemma2", {"final_logit_softcapping": None}, 1, None),
        ("gemma3_text", {}, 1, None),
        ("gemma3", {"text_config": {"final_logit_softcapping": 20.0}}, 1, 20),
        ("recurrent_gemma", {}, 1, 30),
        ("xlstm", {"output_logit_soft_cap": 12.0}, 1, 12),
        ("cohere", {"logit_scale": 0.25}, 0.25, None),
        ("cohere2", {"logit_scale": 0.5}, 0.5, None),
        ("granite", {"logits_scaling": 8.0}, 0.125, None),
        ("granitemoehybrid", {"logits_scaling": 4.0}, 0.25, None),
        ("falcon_h1", {"lm_head_multiplier": 0.5}, 0.5, None),
    ],
)
def test_scale_and_cap(model_type: str, options: dict[str, Any], scale: float, cap: float | None) -> None:
    found = read(model_type, **options)
    assert (found.scale, found.cap) == (scale, cap)


def test_a_name_that_divides_in_one_family_multiplies_in_another() -> None:
    assert output_map_of(SimpleNamespace(model_type="granite", logits_scaling=4.0), WEIGHT).scale == 0.25
    assert output_map_of(SimpleNamespace(model_type="hyperclovax", logits_scaling=4.0), WEIGHT).scale == 4


@pytest.mark.parametrize(
    ("model_type", "attribute"),
    [
        ("llama", {"logit_scale": 0.5}),
        ("mpt", {"logit_scale": "inv_sqrt_d_model"}),
        ("minicpm3", {"dim_model_base": 256}),
        ("somebody", {"lm_head_multiplier": 2.0}),
        ("grok", {"output_multiplier_scale": 0.5}),
        ("jais", {"mup_width_scale": 0.1}),
        ("bert", {"final_logits_temperature": 3.0}),
    ],
)
def test_an_unknown_map_is_refused_in_one_line(model_type: str, attribute: dict[str, Any]) -> None:
    with pytest.raises(UserError) as refusal:
        output_map_of(SimpleNamespace(model_type=model_type, **attribute), WEIGHT)
    message = str(refusal.value)
    assert f"{model_type} model" in message
    assert next(iter(attribute)) in message
    assert "final_logit_softcapping" in message
    assert "logits_scaling (divides, granite)" in message
    assert "\n" not in message


@pytest.mark.parametrize("value", [None, False, 1, 1.0])
def test_an_unknown_attribute_that_does_nothing_is_no_obstacle(value: object) -> None:
    assert output_map_of(SimpleNamespace(model_type="llama", logit_scale=value), WEIGHT).scale == 1


@pytest.mark.parametrize("values", [{"scale": 0.0}, {"scale": -2.0}, {"cap": 0.0}, {"scale": float("nan")}])
def test_only_positive_ones(values: dict[str, float]) -> None:
    with pytest.raises(UserError, match=r"(scale|cap) .* must be positive"):
        OutputMap(WEIGHT, **values)


def test_logits() -> None:
    """z = c tanh(a (W h + bias) / c) by hand: h = (1, 2, 3), bias 1, a = 1/2 -> (1, 3/2, 2)."""
    output = OutputMap(WEIGHT, torch.ones(3), scale=0.5, cap=2)
    found = output.logits(torch.tensor([[1.0, 2.0, 3.0]]))
    torch.testing.assert_close(found, 2 * torch.tensor([[0.5, 0.75, 1.0]]).tanh())


def test_the_slope_keeps_its_precision_where_the_cap_saturates() -> None:
    """1 - tanh² of 12 is 1.5e-10, which float32's tanh, 1 there, has lost."""
    slope = OutputMap(WEIGHT, cap=1).slope(torch.tensor([12.0, 0.0]))
    assert slope is not None
    assert slope.tolist() == pytest.approx([1.51005e-10, 1], rel=1e-5)
    assert OutputMap(WEIGHT).slope(torch.ones(1)) is None


def test_dtypes() -> None:
    """Half precision is widened once; nothing else is copied."""
    assert OutputMap(WEIGHT.bfloat16(), torch.ones(3, dtype=torch.half)).weight.dtype == torch.float32
    assert OutputMap(WEIGHT).weight.data_ptr() == WEIGHT.data_ptr()
    assert OutputMap(WEIGHT.double(), torch.ones(3)).raw(torch.ones(1, 3)).dtype == torch.float64
    assert not OutputMap(torch.nn.Parameter(WEIGHT)).weight.requires_grad
