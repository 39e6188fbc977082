"""Train the embedded models: `python -m taboo_cluster.embedded.train --out DIR` writes tiny-base and tiny-instruct.

One thread, fixed seeds, no state outside: the same machine gives the same weights. tiny-base reads packed few-shot
documents; tiny-instruct is tiny-base after supervised fine-tuning on conversations, with the loss on answers only.
"""

from __future__ import annotations

import argparse
import copy
import itertools
import json
import math
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerBase, PreTrainedTokenizerFast

from taboo_cluster.embedded.corpus import chat, document
from taboo_cluster.embedded.evaluate import evaluate

BOS, EOS, PAD, TURN, END = "<|bos|>", "<|eos|>", "<|pad|>", "<|im_start|>", "<|im_end|>"

CHAT_TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}"
    "{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>\\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)

IGNORED = -100
"""Label of a position without loss."""


@dataclass(frozen=True)
class Stage:
    """A stretch of training: `steps` batches of `batch` sequences of `length` tokens."""

    steps: int
    batch: int
    length: int


@dataclass(frozen=True)
class Recipe:
    """Everything the weights depend on."""

    seed: int = 0
    vocab: int = 1024
    hidden: int = 192
    layers: int = 4
    heads: int = 6
    intermediate: int = 512
    context: int = 1024
    tokenizer_documents: int = 4000
    base: tuple[Stage, ...] = (Stage(2800, 4, 512), Stage(300, 2, 1024))
    base_rate: float = 2e-3
    instruct: tuple[Stage, ...] = (Stage(500, 4, 512), Stage(100, 2, 1024))
    instruct_rate: float = 5e-4


Stream = Iterator[tuple[list[int], list[int]]]
"""Ids and labels of one text after another."""


def train_tokenizer(recipe: Recipe) -> Tokenizer:
    """Byte-level BPE, digits one by one, one BOS in front of a text."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=recipe.vocab,
        special_tokens=[PAD, BOS, EOS, TURN, END],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    texts = (document(recipe.seed, index) for index in range(recipe.tokenizer_documents))
    chats = (turn["content"] for index in range(recipe.tokenizer_documents // 4) for turn in chat(recipe.seed, index))
    tokenizer.train_from_iterator(itertools.chain(texts, chats, ["system user assistant"] * 100), trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{BOS} $A", pair=f"{BOS} $A $B", special_tokens=[(BOS, _id(tokenizer, BOS))]
    )
    return tokenizer


def wrap_tokenizer(tokenizer: Tokenizer, recipe: Recipe, aligned: bool) -> PreTrainedTokenizerBase:
    """The tokenizer as transformers saves it; only the aligned model's has a chat template and ends at a turn."""
    wrapped = PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=tokenizer,
        bos_token=BOS,
        eos_token=END if aligned else EOS,
        pad_token=PAD,
        model_max_length=recipe.context,
        clean_up_tokenization_spaces=False,
        model_input_names=["input_ids", "attention_mask"],
    )
    if aligned:
        wrapped.chat_template = CHAT_TEMPLATE
    return wrapped


def document_tokens(tokenizer: Tokenizer, seed: int) -> Stream:
    """Ids and labels of the base model's documents, without end."""
    eos = _id(tokenizer, EOS)
    for index in itertools.count():
        ids = [*tokenizer.encode(document(seed, index)).ids, eos]
        yield ids, ids


def chat_tokens(tokenizer: Tokenizer, seed: int) -> Stream:
    """Ids and labels of conversations, without end; labels only on the assistant's text and its end of turn."""
    turn, end, newline = _id(tokenizer, TURN), _id(tokenizer, END), _plain(tokenizer, "\n")
    for index in itertools.count():
        ids = [_id(tokenizer, BOS)]
        labels = [IGNORED]
        for message in chat(seed, index):
            head = [turn, *_plain(tokenizer, message["role"] + "\n")]
            body = [*_plain(tokenizer, message["content"]), end]
            ids += [*head, *body, *newline]
            learned = body if message["role"] == "assistant" else [IGNORED] * len(body)
            labels += [IGNORED] * len(head) + learned + [IGNORED] * len(newline)
        yield ids, labels


def _id(tokenizer: Tokenizer, token: str) -> int:
    number = tokenizer.token_to_id(token)
    if number is None:
        raise ValueError(f"the tokenizer has no token {token}")
    return number


def _plain(tokenizer: Tokenizer, text: str) -> list[int]:
    ids: list[int] = tokenizer.encode(text, add_special_tokens=False).ids
    return ids


def batches(stream: Stream, stages: tuple[Stage, ...]) -> Iterator[torch.Tensor]:
    """The stream packed without gaps; each batch is ids and labels, long [2, batch, length]."""
    ids: list[int] = []
    labels: list[int] = []
    for stage in stages:
        need = stage.batch * stage.length
        for _ in range(stage.steps):
            while len(ids) < need:
                more_ids, more_labels = next(stream)
                ids += more_ids
                labels += more_labels
            yield torch.tensor([ids[:need], labels[:need]]).view(2, stage.batch, stage.length)
            ids, labels = ids[need:], labels[need:]


def fit(model: LlamaForCausalLM, stream: Stream, stages: tuple[Stage, ...], rate: float) -> dict[str, Any]:
    """Train in place with AdamW, a short warm-up and linear decay, in bfloat16 autocast; returns what it took."""
    total = sum(stage.steps for stage in stages)
    matrices = [p for p in model.parameters() if p.ndim > 1]
    others = [p for p in model.parameters() if p.ndim == 1]
    groups = [{"params": matrices, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=rate, betas=(0.9, 0.95))
    warm = min(100, total // 10 + 1)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min((step + 1) / warm, max(0.02, 1 - step / total))
    )
    start, tokens, recent = time.perf_counter(), 0, math.nan
    model.train()
    for step, (ids, labels) in enumerate(batches(stream, stages), 1):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            logits = model(input_ids=ids, use_cache=False).logits
        loss = torch.nn.functional.cross_entropy(
            logits[:, :-1].float().flatten(0, 1), labels[:, 1:].flatten(), ignore_index=IGNORED
        )
        torch.autograd.backward(loss)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad(set_to_none=True)
        tokens += ids.numel()
        recent = loss.item() if math.isnan(recent) else 0.98 * recent + 0.02 * loss.item()
        if step % 50 == 0 or step == total:
            seconds = time.perf_counter() - start
            print(f"step {step}/{total} loss {recent:.4f} tokens/s {tokens / seconds:.0f}", flush=True)
    model.train(False)
    return {"steps": total, "tokens": tokens, "loss": round(recent, 4), "seconds": round(time.perf_counter() - start)}


def new_model(recipe: Recipe, tokenizer: Tokenizer) -> LlamaForCausalLM:
    """A freshly initialised model."""
    config = LlamaConfig(
        vocab_size=tokenizer.get_vocab_size(),
        hidden_size=recipe.hidden,
        num_hidden_layers=recipe.layers,
        num_attention_heads=recipe.heads,
        num_key_value_heads=recipe.heads,
        head_dim=recipe.hidden // recipe.heads,
        intermediate_size=recipe.intermediate,
        max_position_embeddings=recipe.context,
        tie_word_embeddings=True,
        bos_token_id=_id(tokenizer, BOS),
        eos_token_id=_id(tokenizer, EOS),
        pad_token_id=_id(tokenizer, PAD),
    )
    with torch.random.fork_rng():
        torch.manual_seed(recipe.seed)
        return LlamaForCausalLM(config)  # type: ignore[no-untyped-call]


def save(model: LlamaForCausalLM, tokenizer: PreTrainedTokenizerBase, folder: Path, report: dict[str, Any]) -> None:
    """Write weights (bfloat16), config, tokenizer and what training took."""
    model.config.eos_token_id = model.generation_config.eos_token_id = tokenizer.eos_token_id
    saved = copy.deepcopy(model)
    torch.nn.Module.to(saved, torch.bfloat16)
    saved.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    (folder / "training.json").write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


def train(recipe: Recipe, out: Path, n: int = 200) -> None:
    """Tokenizer, base model, aligned model; accuracy on the first `n` test items goes into each training.json."""
    tokenizer = train_tokenizer(recipe)
    model = new_model(recipe, tokenizer)
    parameters = sum(parameter.numel() for parameter in model.parameters())
    for name, aligned in (("tiny-base", False), ("tiny-instruct", True)):
        stream = (chat_tokens if aligned else document_tokens)(tokenizer, recipe.seed)
        stages, rate = (recipe.instruct, recipe.instruct_rate) if aligned else (recipe.base, recipe.base_rate)
        report = {"recipe": asdict(recipe), "parameters": parameters, **fit(model, stream, stages, rate)}
        wrapped = wrap_tokenizer(tokenizer, recipe, aligned)
        save(model, wrapped, out / name, report)
        for dtype in (torch.float32, torch.bfloat16):
            loaded = LlamaForCausalLM.from_pretrained(out / name, dtype=dtype)
            report[f"accuracy_{str(dtype).removeprefix('torch.')}"] = evaluate(loaded, wrapped, aligned, n).accuracy
        save(model, wrapped, out / name, report)
        print(name, {key: value for key, value in report.items() if key != "recipe"}, flush=True)


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="folder that gets tiny-base/ and tiny-instruct/")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    train(Recipe(seed=arguments.seed), arguments.out)


if __name__ == "__main__":
    main()
