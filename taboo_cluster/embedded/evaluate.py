"""Baseline accuracy of a model on arithmetic, with plain transformers and greedy decoding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from taboo_cluster.benchmarks.arithmetic import Arithmetic, Options
from taboo_cluster.prompts import render
from taboo_cluster.trial import ResolvedModel


@dataclass(frozen=True)
class Evaluation:
    """What greedy decoding came to."""

    correct: tuple[bool, ...]
    completions: tuple[str, ...]
    longest: int
    """Tokens of the longest completion."""

    @property
    def accuracy(self) -> float:
        """Share of correct items."""
        return sum(self.correct) / len(self.correct)


@torch.no_grad()
def evaluate(
    model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, aligned: bool, n: int, batch: int = 50
) -> Evaluation:
    """Greedy decoding of the first n test items of arithmetic, prompted as the benchmark does."""
    benchmark = Arithmetic(Options(n=n))
    items = benchmark.items()
    who = ResolvedModel("tiny", "", "", None, None, aligned, "", None, "none", str(model.dtype))
    prompts = [benchmark.prompt(item, item.question, "cot", benchmark.default_shots) for item in items]
    rendered = [render(prompt, who, tokenizer) for prompt in prompts]
    completions: list[str] = []
    correct: list[bool] = []
    longest = 0
    for start in range(0, n, batch):
        part = rendered[start : start + batch]
        for new in _generate(model, tokenizer, [list(one.ids) for one in part], part[0].stop, benchmark.max_tokens):
            text = str(tokenizer.decode(new, skip_special_tokens=True))
            text = min((text.split(end)[0] for end in part[0].stop), key=len, default=text)
            finish = "length" if len(new) == benchmark.max_tokens else "stop"
            correct.append(benchmark.score(items[len(correct)], text, finish).correct)
            completions.append(text)
            longest = max(longest, len(new))
    return Evaluation(tuple(correct), tuple(completions), longest)


def _generate(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    ids: Sequence[list[int]],
    stop: Sequence[str],
    max_tokens: int,
) -> list[list[int]]:
    """New token ids of each prompt, greedy, without padding."""
    width = max(map(len, ids))
    pad = tokenizer.pad_token_id
    fed = torch.tensor([[pad] * (width - len(row)) + row for row in ids])
    mask = torch.tensor([[0] * (width - len(row)) + [1] * len(row) for row in ids])
    out = model.generate(  # type: ignore[operator]
        fed,
        attention_mask=mask,
        max_new_tokens=max_tokens,
        do_sample=False,
        pad_token_id=pad,
        eos_token_id=tokenizer.eos_token_id,
        **({"stop_strings": list(stop), "tokenizer": tokenizer} if stop else {}),
    )
    return [[token for token in row if token != pad] for row in out[:, width:].tolist()]
