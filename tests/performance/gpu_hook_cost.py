"""What the hook costs the transformers engine on a GPU: a randomly initialised model of 7B shape, bf16 and nf4.

    python tests/performance/gpu_hook_cost.py [--report docs/measured/gpu_hook_cost.md] [--layers 28] [--pairs 3]

For each precision: tokens per second at rank 0 and at rank 1, in alternating pairs after a warm-up. Nothing is fetched:
weights and vocabulary are made up, and written to a temporary folder (15 GB), so that the engine loads them as it loads
any model. About five minutes. On a machine without a GPU it runs on the CPU, for which smaller numbers are wanted:
--layers 2 --hidden 256 --vocab 4096 --tokens 8.
"""

from __future__ import annotations

import argparse
import datetime
import statistics
import tempfile
import time
from typing import Any

import torch
from tokenizers import Tokenizer, models
from transformers import AutoModelForCausalLM, PreTrainedTokenizerFast, Qwen2Config

from taboo_cluster.config import ModelConfig
from taboo_cluster.engines.base import ENGINES, Hardware, Request
from taboo_cluster.models import resolve
from taboo_cluster.trial import Taboo


def made_up(folder: str, arguments: argparse.Namespace, device: str) -> None:
    """A model of the shape of Qwen2.5-7B, and a vocabulary in which half of the tokens begin a word."""
    vocab = {f"{'Ġ' if i % 2 else ''}w{i}": i for i in range(arguments.vocab - arguments.vocab // 400)}
    PreTrainedTokenizerFast(tokenizer_object=Tokenizer(models.WordLevel(vocab, unk_token="w0"))).save_pretrained(folder)
    heads = max(1, arguments.hidden // 128)
    config = Qwen2Config(
        vocab_size=arguments.vocab,
        hidden_size=arguments.hidden,
        intermediate_size=arguments.hidden * 37 // 7 // 128 * 128,
        num_hidden_layers=arguments.layers,
        num_attention_heads=heads,
        num_key_value_heads=max(1, heads // 7),
        max_position_embeddings=4096,
        tie_word_embeddings=False,
        bos_token_id=None,
        eos_token_id=None,
    )
    torch.manual_seed(0)
    with torch.device(device):
        model = AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16)
    model.save_pretrained(folder)


def tokens_per_second(engine: Any, rank: int, arguments: argparse.Namespace) -> float:
    """Of one batch."""
    asked = [
        Request(str(n), "", tuple(range(7 * n, 7 * n + 64)), arguments.tokens, taboo=Taboo(rank))
        for n in range(arguments.rows)
    ]
    begin = time.perf_counter()
    completions = list(engine.generate(asked))
    seconds = time.perf_counter() - begin
    made = [completion.generation for completion in completions]
    assert all(one is not None and len(one.token_ids) == arguments.tokens for one in made), completions[0]
    assert all(bool(one.steps) == (rank > 0) for one in made)
    return arguments.rows * arguments.tokens / seconds


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    for name, value in (
        *(("layers", 28), ("hidden", 3584), ("vocab", 152064)),
        *(("rows", 64), ("tokens", 128), ("pairs", 3)),
    ):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--report")
    arguments = parser.parse_args()
    gpu = torch.cuda.is_available()
    device = torch.cuda.get_device_name() if gpu else "CPU"
    lines = [
        f"{arguments.layers} layers of width {arguments.hidden}, {arguments.vocab} logits, random weights; batch of"
    ]
    lines[0] += f" {arguments.rows}, {arguments.tokens} tokens each, {arguments.pairs} alternating pairs. {device}."
    lines += ["", "| precision | rank 0, tokens/s | rank 1, tokens/s | rank 1 / rank 0 | spread |", "| --- " * 5 + "|"]
    entry = ENGINES.get("transformers")
    with tempfile.TemporaryDirectory() as folder:
        made_up(folder, arguments, "cuda" if gpu else "cpu")
        for precision, quantization in (("bf16", "none"), ("nf4", "nf4")):
            model = resolve(ModelConfig(name="random", path=folder, quantization=quantization))
            hardware = Hardware(gpu_share=0.9 if gpu else None)
            engine: Any = entry.build(model, entry.options(batch_size=arguments.rows), hardware)
            rates: dict[int, list[float]] = {0: [], 1: []}
            for rank in (0, 1):
                tokens_per_second(engine, rank, arguments)
            for number in range(arguments.pairs):
                for rank in (0, 1) if number % 2 == 0 else (1, 0):
                    rates[rank].append(tokens_per_second(engine, rank, arguments))
            engine.close()
            ratios = [one / none for none, one in zip(rates[0], rates[1], strict=True)]
            spread = (max(ratios) - min(ratios)) / statistics.median(ratios)
            middle = [statistics.median(rates[rank]) for rank in (0, 1)]
            lines.append(
                f"| {precision} | {middle[0]:.0f} | {middle[1]:.0f} | {statistics.median(ratios):.3f} | {spread:.1%} |"
            )
    text = "\n".join([f"## Hook in the transformers engine, {datetime.date.today()}", "", *lines, ""])
    print(text)
    if arguments.report:
        with open(arguments.report, "a", encoding="utf-8") as out:
            out.write(text + "\n")


if __name__ == "__main__":
    main()
