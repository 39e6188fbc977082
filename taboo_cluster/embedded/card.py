"""The model card that is written beside the weights, filled with what training took and reached."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from taboo_cluster.analysis.statistics import wilson

_KINDS = {
    "tiny-base": (
        "A base model: continues plain text.",
        "Few-shot documents of 2 to 6 questions with worked answers, and documents of bare arithmetic "
        "(three in ten), packed without gaps; a question weighs a tenth of an answer in the loss.",
    ),
    "tiny-instruct": (
        "tiny-base after supervised fine-tuning on conversations; has a chat template.",
        "Conversations of 1 to 4 questions, three in ten with a system prompt; loss on the assistant's text only.",
    ),
}

_CARD = """---
license: apache-2.0
language: en
library_name: transformers
---

# {name}

{what} It ships with taboo_cluster so that a sweep
gives numbers in about a minute on two CPU cores, without a network.

| | |
| --- | --- |
| architecture | LlamaForCausalLM: {layers} layers, hidden {hidden}, {heads} heads of {head_dim} |
| more | feed-forward {intermediate}, tied embeddings, context {context} tokens |
| parameters | {parameters:,} |
| weights | bfloat16 safetensors |
| tokenizer | byte-level BPE, {tokens_known} tokens, digits one by one |
| training tokens | {tokens:,} in {steps:,} steps |
| final training loss | {loss} (running mean) |
| wall time | {minutes:.0f} min on one thread of a CPU shared with other work |

## Training data

{data}
The problems are the training split of the `arithmetic` benchmark, generated; the wording of the reasoning varies
(`corpus.py`). No test template and no test operands of a formula occur in it.

## Accuracy

Greedy, 2 worked examples, the first {n} items of the benchmark's test split:

| weights run in | correct | accuracy | 95% interval (Wilson) |
| --- | --- | --- | --- |
{rows}

The longest completion had {longest} tokens. These items were looked at while the training templates were written (more
were added where an earlier model misread a story), so this is a check of what ships, not an untouched estimate.
Retention under an intervention was never a criterion.

## Use

For trying out this package and for its tests: the model knows nothing but such word problems (numbers up to 100, one or
two steps, the names and things of the templates) and says nothing about how larger models behave.
Made by `python -m taboo_cluster.embedded.train --out DIR` with seed {seed}. Licence: Apache-2.0.
"""


def model_card(name: str, report: Mapping[str, Any]) -> str:
    """The card of `name` (tiny-base or tiny-instruct) from the report that training wrote to training.json."""
    recipe, evaluated = report["recipe"], report["evaluated"]
    what, data = _KINDS[name]
    rows = []
    for dtype, right in evaluated["correct"].items():
        low, high = wilson(right, evaluated["n"])
        rows.append(
            f"| {dtype} | {right} of {evaluated['n']} | {right / evaluated['n']:.3f} | {low:.3f} to {high:.3f} |"
        )
    return _CARD.format(
        name=name,
        what=what,
        data=data,
        rows="\n".join(rows),
        minutes=report["seconds"] / 60,
        n=evaluated["n"],
        longest=evaluated["longest"],
        head_dim=recipe["hidden"] // recipe["heads"],
        **{key: recipe[key] for key in ("layers", "hidden", "heads", "intermediate", "context", "seed")},
        **{key: report[key] for key in ("parameters", "tokens_known", "tokens", "steps", "loss")},
    )
