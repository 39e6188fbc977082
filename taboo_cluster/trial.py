"""What a sweep is made of: item, condition, model, trial. Words as in the methods' definitions."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from taboo_cluster.hashing import stable_hash
from taboo_cluster.spec import parse

ID_SCHEME = 1
"""Version of how ids are made; part of every id."""


@dataclass(frozen=True)
class Item:
    """One benchmark question with its gold answer."""

    item_id: str
    """Never changes, whatever is done to the text."""
    question: str
    gold: str
    split: str
    cluster_id: str
    """The bootstrap's unit: template of generated items, document, shared passage; else the item."""
    group: str | None = None
    """Recorded as item_group: MMLU subject, document domain ..."""
    extras: Mapping[str, Any] = field(default_factory=dict)
    """What only the item's own benchmark reads: choices, aliases ..."""


@dataclass(frozen=True)
class Taboo:
    """A decoding-level intervention; rank 0 means none."""

    rank: int = 0
    trigger: str = "word_start"
    """Name, with its options where it has some: `sparse(p=0.3,seed=0)`."""
    word_start: str = "marker"
    protect_special: bool = False
    scope: str = "all"
    """`all`, or `after_think`: not before the model has closed its reasoning."""

    @property
    def trigger_name(self) -> str:
        """The trigger without its options."""
        return parse(self.trigger).name

    @property
    def params_json(self) -> str | None:
        """What is recorded as taboo_trigger_params: the trigger's options and the rest; null without intervention."""
        if not self.rank:
            return None
        rest = {"protect_special": self.protect_special, "scope": self.scope}
        return json.dumps({**parse(self.trigger).options, **rest}, sort_keys=True)

    def __str__(self) -> str:
        parts = [f"rank={self.rank}"]
        parts += [f"trigger={self.trigger}"] if self.trigger != "word_start" else []
        parts += [f"word_start={self.word_start}"] if self.word_start != "marker" else []
        parts += ["protect_special"] if self.protect_special else []
        parts += [f"scope={self.scope}"] if self.scope != "all" else []
        return f"taboo({','.join(parts)})"


@dataclass(frozen=True)
class Sampling:
    """How tokens are drawn. Temperature 0 is greedy: top_p and seed are then without effect."""

    temperature: float = 0.0
    top_p: float = 1.0
    seed: int | None = None

    @property
    def greedy(self) -> bool:
        """True where decoding takes the best token."""
        return self.temperature == 0.0


@dataclass(frozen=True)
class Condition:
    """What is done to an item: prompt style x perturbation stack x intervention x sampling."""

    prompt_style: str
    n_shots: int
    taboo: Taboo = Taboo()
    sampling: Sampling = Sampling()
    perturbations: str = ""
    """The stack, in the order applied, each member with its options: `typos(rate=0.1)→padding(char=quote)`."""
    perturbation_seed: int | None = None
    """Of the stack; a stack and a seed are one variant."""
    prompt_content: str | None = None
    """Hash of a prompt of the user's own, whose name says nothing of it."""

    @property
    def name(self) -> str:
        """Readable and unique within a run and prompt style: `baseline`, `taboo(rank=1)`."""
        parts = [self.perturbations] if self.perturbations else []
        parts += [str(self.taboo)] if self.taboo.rank else []
        if not self.sampling.greedy:
            parts.append(f"sample(t={self.sampling.temperature:g},top_p={self.sampling.top_p:g})")
        return " · ".join(parts) or "baseline"

    @property
    def key(self) -> list[Any]:
        """What of the condition enters a trial's id (sampling's seed only where it has an effect)."""
        taboo = asdict(self.taboo) if self.taboo.rank else None
        sampling = [self.sampling.temperature, self.sampling.top_p] if not self.sampling.greedy else None
        seed = None if self.sampling.greedy else self.sampling.seed
        stack = [self.perturbations, self.perturbation_seed] if self.perturbations else None
        own = [self.prompt_content] if self.prompt_content else []
        return [self.prompt_style, self.n_shots, stack, taboo, sampling, seed, *own]

    @property
    def generation_key(self) -> list[Any]:
        """What of the condition an output depends on beside the prompt: intervention and sampling."""
        return self.key[3:]


@dataclass(frozen=True)
class ResolvedModel:
    """A model of the config with its weights found: what one actor is pinned to."""

    name: str
    revision: str
    """Commit of the hub, or hash of config, tokenizer and weight headers of a local folder; empty where a server holds
    the model and does not say."""
    source: str
    """What is handed to the loaders: a hub name or a local folder; to a server its name of the model."""
    family: str | None
    size_b: float | None
    aligned: bool
    stage: str
    pair: str | None
    quantization: str
    dtype: str
    system_prompt: str | None = None
    chat_template_kwargs: Mapping[str, Any] = field(default_factory=dict)
    trust_remote_code: bool = False
    is_local: bool = False

    @property
    def key(self) -> list[Any]:
        """What of the model enters a trial's id."""
        return [self.name, self.revision, self.quantization, self.dtype]


@dataclass(frozen=True)
class Trial:
    """One record to be: model x benchmark x item x condition x replicate."""

    model: ResolvedModel
    engine: str
    benchmark: str
    item: Item
    condition: Condition
    replicate: int = 0
    attempt: int = 1

    @property
    def trial_id(self) -> str:
        """Computable before anything is rendered; the same trial has the same id in every run."""
        item = self.item
        return stable_hash(
            ID_SCHEME,
            self.model.key,
            self.engine,
            self.benchmark,
            item.split,
            item.item_id,
            stable_hash(item.question, item.gold),
            self.condition.key,
            self.replicate,
        )
