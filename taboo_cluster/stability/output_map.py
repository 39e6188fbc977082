"""From final hidden states to logits: the output matrix, its bias, the scale and the soft-cap (METHODS section 4)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch

from taboo_cluster.errors import UserError

_CAPS = ("final_logit_softcapping", "logits_soft_cap", "output_logit_soft_cap")
"""Attributes of a config that hold a soft-cap c: z = c tanh(z / c), in every family that has them."""

_SCALES = {
    ("logit_scale", "cohere"): 1,
    ("lm_head_multiplier", "falcon_h1"): 1,
    ("logits_scaling", "granite"): -1,
    ("logits_scaling", "hyperclovax"): 1,
    ("output_multiplier", "muse_glimmer"): 1,
}
"""(attribute, family) -> its power in the factor of the logits: one name divides here and multiplies there.

As the models of these families in transformers have it; MPT's `logit_scale`, which they ignore, stays unknown.
"""

_SUSPECT = re.compile(r"logit|lm_head|soft_?cap|unembed|output_(mult|scal)|mup_|width_(mult|scal)|dim_model_base")
"""Names of attributes that may change the logits, or the hidden state before the output matrix."""

_HARMLESS = re.compile(
    r"^(attn|attention|router|moe|gate)_|router|_to_keep$|^(lm_head_bias|chunk_size_lm_head|mup_enabled|output_logits)$"
)
"""Suspects that leave them alone: attention, routers, what is computed and returned; a bias is given by its values."""


@dataclass(frozen=True)
class OutputMap:
    """Logits z = cap(scale (W h + bias)), with cap(z) = c tanh(z / c) where there is a cap c.

    Half precision is converted to float32 once, here, and the copy lives as long as the map: to convert in blocks would
    be done anew, twice, for every chunk of positions, and takes about as long as the product with 64 of them.
    """

    weight: torch.Tensor
    """[V, d]: W, the output matrix; float32 or float64 (half precision comes out as float32)."""
    bias: torch.Tensor | None = None
    """[V]."""
    scale: float = 1.0
    """Positive."""
    cap: float | None = None
    """Positive."""

    def __post_init__(self) -> None:
        for name in ("scale", "cap"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise UserError(f"the {name} of a model's logits must be positive, not {value}")
        weight = self.weight.detach()
        weight = weight if weight.dtype == torch.float64 else weight.float()
        object.__setattr__(self, "weight", weight)
        if self.bias is not None:
            object.__setattr__(self, "bias", self.bias.detach().to(weight))

    @cached_property
    def squared_norms(self) -> torch.Tensor:
        """[V]: the squared length of each row of W."""
        norms: torch.Tensor = torch.linalg.vector_norm(self.weight, dim=1)
        return norms.square()

    def raw(self, hidden: torch.Tensor, out: torch.Tensor | None = None) -> torch.Tensor:
        """a = W h + bias [n, V] of hidden states [n, d], in W's dtype, into `out` where it is given."""
        logits = torch.mm(hidden.to(self.weight.dtype), self.weight.T, out=out)
        return logits if self.bias is None else logits.add_(self.bias)

    def logits(self, hidden: torch.Tensor) -> torch.Tensor:
        """z [n, V] of hidden states [n, d], in W's dtype."""
        return self.shaped(self.raw(hidden))

    def shaped(self, raw: torch.Tensor) -> torch.Tensor:
        """z of a, of any shape: the logits of the model, scaled and capped."""
        scaled = raw if self.scale == 1 else raw * self.scale
        return scaled if self.cap is None else (scaled / self.cap).tanh() * self.cap

    def slope(self, raw: torch.Tensor) -> torch.Tensor | None:
        """s of a, of any shape: the cap's slope 1 - (z / c)^2; None without a cap.

        As 1 / cosh^2, which keeps its precision where the cap saturates.
        """
        return None if self.cap is None else (raw * (self.scale / self.cap)).cosh().square().reciprocal()


def output_map_of(config: Any, weight: torch.Tensor, bias: torch.Tensor | None = None) -> OutputMap:
    """The output map of a Hugging Face model: what its config says of scale and cap, with its matrix and bias.

    Args:
        config: the model's config; of a model with several parts, the text part is read.
        weight: [V, d], the output matrix, tied to the embeddings or not, not quantized.
        bias: [V], or None.

    Raises:
        UserError: the config has an attribute that may change the logits in a way not known here, or a scale or cap
            that is not positive.
    """
    if hasattr(config, "get_text_config"):
        config = config.get_text_config(decoder=True)
    family = str(getattr(config, "model_type", ""))
    said = {name: value for name, value in vars(config).items() if _SUSPECT.search(name) and _changes(value)}
    scale, cap = 1.0, None
    for name, value in said.items():
        power = next((power for (known, of), power in _SCALES.items() if known == name and family.startswith(of)), None)
        if name in _CAPS and cap is None:
            cap = float(value)
        elif power is not None:
            scale *= float(value) ** power
        elif not _HARMLESS.search(name):
            raise UserError(
                f"the logits of a {family or 'nameless'} model may depend on {name}={value!r} in an unknown way. "
                f"Known: {_known()}"
            )
    return OutputMap(weight, bias, scale, cap)


def _changes(value: object) -> bool:
    """Whether a value can change anything: no number but 1, no switch that is on, changes nothing."""
    return not (value is None or value is False or value == 1)


def _known() -> str:
    scales = [
        f"{name} ({'divides' if power < 0 else 'multiplies'}, {family})" for (name, family), power in _SCALES.items()
    ]
    return ", ".join([*_CAPS, *scales])
