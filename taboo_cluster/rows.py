"""What of a trial, an output and a verdict goes into which column of the record. Pure."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from taboo_cluster.benchmarks.base import Benchmark, Verdict
from taboo_cluster.engines.base import Generation, Usage
from taboo_cluster.errors import TrialError
from taboo_cluster.perturbations.stack import Perturbed, members
from taboo_cluster.taboo.surprisal import dose
from taboo_cluster.trial import Trial
from taboo_cluster.words import count_words

Row = dict[str, Any]

OUTPUT = (
    "prompt_tokens",
    "completion",
    "completion_tokens",
    "token_ids",
    "completion_words",
    "finish_reason",
    "interventions",
    "surprisal_total",
    "surprisal_mean",
    "entropy_mean",
    "entropy_word_start",
    "skipped_steps",
    "tie_steps",
    "glued",
    "stopped_by_detour",
    "taboo_leak",
    "steps",
    "text_sanitised",
)
"""Columns filled by what an engine made: trials with one generation_id share them."""


def trial_columns(trial: Trial, benchmark: Benchmark) -> Row:
    """What is known of a trial before anything is rendered."""
    model, item, condition = trial.model, trial.item, trial.condition
    taboo, sampling = condition.taboo, condition.sampling
    return {
        "trial_id": trial.trial_id,
        "model": model.name,
        "model_revision": model.revision or None,
        "model_family": model.family,
        "size_b": model.size_b,
        "aligned": model.aligned,
        "stage": model.stage,
        "pair": model.pair,
        "quantization": model.quantization,
        "dtype": model.dtype,
        "engine": trial.engine,
        "benchmark": trial.benchmark,
        "chance": benchmark.chance,
        "split": item.split,
        "item_id": item.item_id,
        "item_group": item.group,
        "cluster_id": item.cluster_id,
        "condition": condition.name,
        "prompt_style": condition.prompt_style,
        "n_shots": condition.n_shots,
        "perturbations": _stack(condition.perturbations),
        "perturbation_seed": condition.perturbation_seed,
        "taboo_rank": taboo.rank,
        "taboo_trigger": taboo.trigger_name if taboo.rank else None,
        "taboo_word_start": taboo.word_start if taboo.rank else None,
        "taboo_trigger_params": taboo.params_json,
        "temperature": sampling.temperature,
        "top_p": None if sampling.greedy else sampling.top_p,
        "sample_seed": None if sampling.greedy else sampling.seed,
        "replicate": trial.replicate,
        "max_tokens": benchmark.max_tokens,
        "question": item.question,
        "gold": item.gold,
        "scorer_version": benchmark.scorer_version,
        "attempt": trial.attempt,
    }


def _stack(text: str) -> list[dict[str, str]]:
    found = members(text) if text else ()
    return [{"name": one.name, "family": one.entry.family, "params": one.params_json} for one in found]


def perturbed_columns(perturbed: Perturbed) -> Row:
    """What a stack made of the item."""
    subject = perturbed.subject
    return {
        "changed": perturbed.changed,
        "question": subject.item.question,
        "gold": subject.item.gold,
        "choice_order": None if subject.choice_order is None else list(subject.choice_order),
        **subject.numbers,
    }


def output_columns(generation: Generation, prompt_tokens: int, record_steps: bool, record_tokens: bool = False) -> Row:
    """The columns of `OUTPUT`, dose in bits; `text_sanitised` is left to the writer, which replaces the characters.

    Tokens are the engine's, unless a server has counted them.
    """
    paid = dose(step.bits for step in generation.steps)
    tokens = generation.usage or Usage(prompt_tokens, len(generation.token_ids))
    return {
        "prompt_tokens": tokens.prompt_tokens,
        "completion": generation.text,
        "completion_tokens": tokens.completion_tokens,
        "token_ids": list(generation.token_ids) if record_tokens else None,
        "completion_words": count_words(generation.text),
        "finish_reason": generation.finish_reason,
        "interventions": len(generation.steps),
        "surprisal_total": paid.total,
        "surprisal_mean": paid.mean,
        "entropy_mean": generation.entropy_mean,
        "entropy_word_start": generation.entropy_word_start,
        "skipped_steps": generation.skipped_steps,
        "tie_steps": generation.tie_steps,
        "glued": generation.glued,
        "stopped_by_detour": generation.stopped_by_detour,
        "taboo_leak": generation.taboo_leak,
        "steps": [vars(step) for step in generation.steps] if record_steps else None,
        "text_sanitised": False,
    }


def verdict_columns(verdict: Verdict, prompt_warnings: Sequence[str]) -> Row:
    """The columns that scoring fills; warnings about the prompt go with the details."""
    details = dict(verdict.details) | ({"prompt_warnings": list(prompt_warnings)} if prompt_warnings else {})
    return {
        "answer": verdict.answer,
        "answer_start": verdict.span[0] if verdict.span else None,
        "answer_end": verdict.span[1] if verdict.span else None,
        "outcome": verdict.outcome,
        "parse_ok": verdict.parse_ok,
        "correct": verdict.correct,
        "score": verdict.score,
        "matched_alias": verdict.matched_alias,
        "lines": verdict.lines,
        "details": json.dumps(details, sort_keys=True) if details else None,
    }


def error_columns(error: TrialError) -> Row:
    """The columns of a trial that could not be done."""
    return {"outcome": "error", "error_type": error.error_type, "error": str(error)}


def now() -> datetime:
    """The time, with its zone, as every time is recorded."""
    return datetime.now(UTC)
