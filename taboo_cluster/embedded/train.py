"""Train the embedded models: `python -m taboo_cluster.embedded.train --out DIR` writes tiny-base and tiny-instruct.

One thread, fixed seeds, no state outside: the same machine gives the same weights. tiny-base reads packed few-shot
documents; tiny-instruct is tiny-base after supervised fine-tuning on conversations, with the loss on answers only.
"""

from __future__ import annotations

import argparse
import bisect
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

from taboo_cluster.embedded.card import model_card
from taboo_cluster.embedded.corpus import Text, chat, document
from taboo_cluster.embedded.evaluate import evaluate
from taboo_cluster.hashing import stable_hash

BOS, EOS, PAD, TURN, END = "<|bos|>", "<|eos|>", "<|pad|>", "<|im_start|>", "<|im_end|>"

CHAT_TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}"
    "{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>\\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)


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
    hidden: int = 128
    layers: int = 3
    heads: int = 4
    intermediate: int = 384
    context: int = 1024
    tokenizer_documents: int = 4000
    base: tuple[Stage, ...] = (Stage(1800, 8, 256), Stage(450, 4, 512), Stage(80, 2, 1024))
    base_rate: float = 5e-3
    instruct: tuple[Stage, ...] = (Stage(350, 4, 512), Stage(50, 2, 1024))
    instruct_rate: float = 1.5e-3


Stream = Iterator[tuple[list[int], list[float]]]
"""One text after another, without end: token ids and the weight of each in the loss."""


def fingerprint(seed: int, texts: int = 100) -> str:
    """Hash of the first texts of both corpora: weights and the script that claims them stay together."""
    return stable_hash([document(seed, index) for index in range(texts)], [chat(seed, index) for index in range(texts)])


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
    texts = (piece for index in range(recipe.tokenizer_documents) for piece, _ in document(recipe.seed, index))
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


def _id(tokenizer: Tokenizer, token: str) -> int:
    number = tokenizer.token_to_id(token)
    if number is None:
        raise ValueError(f"the tokenizer has no token {token}")
    return number


def documents(seed: int) -> Iterator[Text]:
    """The base model's texts, without end."""
    for index in itertools.count():
        yield [*document(seed, index), (EOS, 1.0)]


def conversations(seed: int) -> Iterator[Text]:
    """The aligned model's texts, without end; only what the assistant says, with its end of turn, has weight."""
    for index in itertools.count():
        text: Text = []
        for turn in chat(seed, index):
            text.append((f"{TURN}{turn['role']}\n", 0.0))
            text.append((f"{turn['content']}{END}", float(turn["role"] == "assistant")))
            text.append(("\n", 0.0))
        yield text


def encode(tokenizer: Tokenizer, texts: Iterator[Text]) -> Stream:
    """Token ids of each text, BOS first, and their weights; the pieces of a text are tokenized together."""
    for text in texts:
        encoding = tokenizer.encode("".join(piece for piece, _ in text))
        ends = list(itertools.accumulate(len(piece) for piece, _ in text))
        yield encoding.ids, [text[bisect.bisect_left(ends, end)][1] for _, end in encoding.offsets]


def batches(stream: Stream, stages: tuple[Stage, ...]) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """The stream packed without gaps: ids, long [batch, length], and weights, float [batch, length]."""
    ids: list[int] = []
    weights: list[float] = []
    for stage in stages:
        shape = (stage.batch, stage.length)
        need = stage.batch * stage.length
        for _ in range(stage.steps):
            while len(ids) < need:
                more_ids, more_weights = next(stream)
                ids += more_ids
                weights += more_weights
            yield torch.tensor(ids[:need]).view(shape), torch.tensor(weights[:need]).view(shape)
            ids, weights = ids[need:], weights[need:]


def fit(model: LlamaForCausalLM, stream: Stream, stages: tuple[Stage, ...], rate: float) -> dict[str, Any]:
    """Train in place, in bfloat16 autocast, with a short warm-up and linear decay; returns what it took.

    Muon for the layers' matrices, AdamW for embeddings and norms.
    """
    total = sum(stage.steps for stage in stages)
    embeddings = model.get_input_embeddings().weight
    matrices = [p for p in model.parameters() if p.ndim == 2 and p is not embeddings]
    others = [p for p in model.parameters() if p.ndim == 1 or p is embeddings]
    optimizers = [
        torch.optim.Muon(matrices, lr=rate, weight_decay=0.1, adjust_lr_fn="match_rms_adamw"),
        torch.optim.AdamW(others, lr=rate, betas=(0.9, 0.95), weight_decay=0.0),
    ]
    warm = min(100, total // 10 + 1)

    def share(step: int) -> float:
        return min((step + 1) / warm, max(0.02, 1 - step / total))

    schedules = [torch.optim.lr_scheduler.LambdaLR(optimizer, share) for optimizer in optimizers]
    start, tokens, recent = time.perf_counter(), 0, math.nan
    model.train()
    for step, (ids, weights) in enumerate(batches(stream, stages), 1):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            logits = model(input_ids=ids, use_cache=False).logits
        each = torch.nn.functional.cross_entropy(
            logits[:, :-1].float().flatten(0, 1), ids[:, 1:].flatten(), reduction="none"
        )
        wanted = weights[:, 1:].flatten()
        loss = (each * wanted).sum() / wanted.sum().clamp(min=1.0)
        torch.autograd.backward(loss)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for optimizer, schedule in zip(optimizers, schedules, strict=True):
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


def save(model: LlamaForCausalLM, tokenizer: PreTrainedTokenizerBase, folder: Path) -> None:
    """Write weights (bfloat16), config and tokenizer."""
    model.config.eos_token_id = model.generation_config.eos_token_id = tokenizer.eos_token_id
    saved = copy.deepcopy(model)
    torch.nn.Module.to(saved, torch.bfloat16)
    saved.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def measure(folder: Path, aligned: bool, n: int) -> dict[str, Any]:
    """Baseline of the saved model on the first n test items, in float32 and in bfloat16."""
    tokenizer = PreTrainedTokenizerFast.from_pretrained(folder)
    found = {}
    for dtype in (torch.float32, torch.bfloat16):
        model = LlamaForCausalLM.from_pretrained(folder, dtype=dtype)
        found[str(dtype).removeprefix("torch.")] = evaluate(model, tokenizer, aligned, n)
    return {
        "n": n,
        "correct": {name: sum(evaluation.correct) for name, evaluation in found.items()},
        "longest": max(evaluation.longest for evaluation in found.values()),
    }


def train(recipe: Recipe, out: Path, n: int = 200) -> None:
    """Tokenizer, base model, aligned model, each with its report and its card; accuracy on the first n test items."""
    tokenizer = train_tokenizer(recipe)
    model = new_model(recipe, tokenizer)
    known = {
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "tokens_known": tokenizer.get_vocab_size(),
        "corpus": fingerprint(recipe.seed),
    }
    for name, aligned in (("tiny-base", False), ("tiny-instruct", True)):
        stream = encode(tokenizer, (conversations if aligned else documents)(recipe.seed))
        stages, rate = (recipe.instruct, recipe.instruct_rate) if aligned else (recipe.base, recipe.base_rate)
        report = {"recipe": asdict(recipe), **known, **fit(model, stream, stages, rate)}
        folder = out / name
        save(model, wrap_tokenizer(tokenizer, recipe, aligned), folder)
        report["evaluated"] = measure(folder, aligned, n)
        (folder / "training.json").write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
        (folder / "README.md").write_text(model_card(name, report), encoding="utf-8")
        print(name, report["evaluated"], flush=True)


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
