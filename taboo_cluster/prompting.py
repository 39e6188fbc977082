"""Prompts of the user's own: a benchmark's prompt with an instruction in front, or with other worked examples.

Each has a name (`prompts` in the config) and is asked for like a benchmark's own styles, in `prompt_style`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from taboo_cluster.benchmarks.base import Benchmark, Prompt
from taboo_cluster.benchmarks.sources import local_rows
from taboo_cluster.config import PromptConfig
from taboo_cluster.documents import PAGES
from taboo_cluster.errors import UserError
from taboo_cluster.hashing import stable_hash, stable_rng
from taboo_cluster.trial import Item


class Prompted:
    """A benchmark that knows prompts of the user's own besides its styles; in all else it is the benchmark.

    Raises UserError for a prompt with the name of a style, or of an unknown style.
    """

    def __init__(self, benchmark: Benchmark, prompts: Mapping[str, PromptConfig]) -> None:
        for name, prompt in prompts.items():
            if name in benchmark.styles:
                raise UserError(f"prompts.{name}: {benchmark.name} has a prompt style of that name")
            if prompt.style is not None and prompt.style not in benchmark.styles:
                raise UserError(
                    f"prompts.{name}.style: {benchmark.name} has no style {prompt.style!r}; it has: "
                    f"{', '.join(benchmark.styles)}"
                )
        self._benchmark, self._prompts = benchmark, prompts
        self.styles = (*benchmark.styles, *prompts)
        self._examples = {name: worked_examples(name, prompt) for name, prompt in prompts.items()}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._benchmark, name)

    def content(self, style: str) -> str | None:
        """Hash of what a prompt of the user's own says; None for a style of the benchmark's."""
        return stable_hash(asdict(self._prompts[style])) if style in self._prompts else None

    def shots(self, style: str) -> int | None:
        """How many worked examples a prompt brings or asks for; None where the run decides."""
        if style not in self._prompts:
            return None
        return len(self._examples[style]) or self._prompts[style].n_shots

    def prompt(self, item: Item, question: str, style: str, n_shots: int) -> Prompt:
        """As in `benchmarks.base.Benchmark`; raises UserError for examples that its items cannot take."""
        if style not in self._prompts:
            return self._benchmark.prompt(item, question, style, n_shots)
        asked, examples = self._prompts[style], self._examples[style]
        own = asked.style or self._benchmark.styles[0]
        made = self._benchmark.prompt(item, question, own, 0 if examples else n_shots)
        if examples:
            for own_kind, what in (("choices", "choices"), (PAGES, "documents")):
                if own_kind in item.extras:
                    raise UserError(f"prompts.{style}.examples: {self._benchmark.name} has {what}, which they have not")
            blocks = [
                self._benchmark.prompt(replace(item, question=example), example, own, 0) for example, _ in examples
            ]
            answers = [answer for _, answer in examples]
            plain = [f"{block.plain} {answer}" for block, answer in zip(blocks, answers, strict=True)]
            made = replace(
                made,
                shots=tuple((block.user, answer) for block, answer in zip(blocks, answers, strict=True)),
                plain="\n\n".join([*plain, made.plain]),
            )
        if not asked.instruction:
            return made
        return replace(made, user=f"{asked.instruction}\n\n{made.user}", plain=f"{asked.instruction}\n\n{made.plain}")


def resolved(name: str, prompt: PromptConfig) -> PromptConfig:
    """The prompt with the examples that its pool gives written in it: what is run, compared on resume and saved."""
    if prompt.pool_path is None:
        return prompt
    drawn = [{"question": question, "answer": answer} for question, answer in worked_examples(name, prompt)]
    return replace(prompt, examples=drawn, pool_path=None)


def worked_examples(name: str, prompt: PromptConfig) -> Sequence[tuple[str, str]]:
    """The (question, answer) pairs of a prompt: those written in it, else those drawn from its pool.

    Raises UserError for pairs that are none, or a pool with too few.
    """
    if prompt.n_shots is not None and (prompt.examples or prompt.pool_path):
        raise UserError(
            f"prompts.{name} has examples of its own and n_shots, which asks for the benchmark's: one of the two"
        )
    rows: Sequence[Mapping[str, Any]] = prompt.examples
    where = f"prompts.{name}.examples"
    if prompt.pool_path is not None:
        if rows:
            raise UserError(f"prompts.{name} has examples and pool_path: one of the two")
        pool = [row.values for row in local_rows(prompt.pool_path, "train")]
        if not 1 <= prompt.pool_n <= len(pool):
            raise UserError(f"prompts.{name}.pool_n is {prompt.pool_n}; {prompt.pool_path} has {len(pool)} examples")
        drawn = stable_rng("example pool", prompt.pool_seed).permutation(len(pool))[: prompt.pool_n]
        rows, where = [pool[index] for index in drawn], prompt.pool_path
    for row in rows:
        if not all(isinstance(row.get(key), str) and row[key].strip() for key in ("question", "answer")):
            raise UserError(f"{where}: an example is a question and an answer, both texts, not {dict(row)!r}")
    return [(row["question"], row["answer"]) for row in rows]
