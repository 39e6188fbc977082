"""A run's trials on their way to the probe and back: what is left to probe, and the rows of the table `stability`."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

import duckdb
import numpy as np
from transformers import PreTrainedTokenizerBase

from taboo_cluster.config import StabilityConfig
from taboo_cluster.prompts import bos_to_add
from taboo_cluster.records.reader import BEST_FIRST, RECORDS, read_part_by_part, read_parts, side_table
from taboo_cluster.records.schema import RECORD
from taboo_cluster.records.storage import Store
from taboo_cluster.records.writer import model_slug
from taboo_cluster.rows import Row, now
from taboo_cluster.stability.probe import Case, Probed, token_span
from taboo_cluster.taboo.pieces import Pieces
from taboo_cluster.trial import ResolvedModel

TABLE = "stability"

ROWS = 256
"""Trials in memory at once."""

Key = tuple[str, int]
"""trial_id and attempt."""

_OF_MODEL = """
    error_type IS NULL AND model = $name AND coalesce(model_revision, '') = $revision AND quantization = $quantization
    AND dtype = $dtype
"""

_NEEDED = """
    trial_id, attempt, run_id, prompt, prompt_tokens, completion, completion_tokens, finish_reason, token_ids,
    answer_start, answer_end, taboo_rank
"""


def probed(run_dir: str, config: StabilityConfig) -> set[Key]:
    """The trials that were probed with these settings."""
    rows = side_table(
        run_dir,
        TABLE,
        "SELECT trial_id, attempt FROM parts WHERE epsilon = $epsilon AND top_k IS NOT DISTINCT FROM $top_k "
        "AND (NOT $per_token OR positions IS NOT NULL OR n_tokens IS NULL)",
        epsilon=config.epsilon,
        top_k=config.top_k,
        per_token=config.per_token,
    )
    return {(row["trial_id"], row["attempt"]) for row in rows}


def to_probe(run_dir: str, model: ResolvedModel) -> set[Key]:
    """The model's trials that have a completion, each with the attempt that the views show."""
    query = f"""
        SELECT trial_id, attempt FROM parts WHERE {_OF_MODEL}
        QUALIFY row_number() OVER (PARTITION BY trial_id ORDER BY {BEST_FIRST}) = 1
    """
    with duckdb.connect() as connection:
        found = read_parts(
            connection,
            [Store.open(run_dir)],
            _folder(model),
            RECORD,
            lambda: connection.sql(query, params=_identity(model)).fetchall(),
        )
    return set(found)


def left(run_dir: str, model: ResolvedModel, wanted: Collection[Key]) -> Iterator[list[Row]]:
    """Rows with what the probe needs of the wanted trials, some at a time."""
    query = f"SELECT {_NEEDED} FROM parts WHERE {_OF_MODEL}"
    open_keys = set(wanted)
    with duckdb.connect() as connection:

        def read() -> Any:
            return connection.sql(query, params=_identity(model)).to_arrow_reader(ROWS)

        for batch in read_part_by_part(connection, Store.open(run_dir), _folder(model), RECORD, read):
            rows = [row for row in batch.to_pylist() if (row["trial_id"], row["attempt"]) in open_keys]
            open_keys -= {(row["trial_id"], row["attempt"]) for row in rows}
            if rows:
                yield rows


def case(row: Mapping[str, Any], tokenizer: PreTrainedTokenizerBase, pieces: Pieces) -> Case | str:
    """A record as the probe takes it, or why it cannot be probed."""
    prompt_ids = _prompt_ids(row["prompt"], tokenizer)
    if len(prompt_ids) != row["prompt_tokens"]:
        return "the prompt's tokens are not known: this tokenizer makes others of it"
    tokens = row["token_ids"]
    if tokens is None:
        tokens = tokenizer(row["completion"], add_special_tokens=False).input_ids
        missing = row["completion_tokens"] - len(tokens)  # the end token is no part of the text
        # An intervention makes pieces that the tokenizer would not: as many of them prove nothing.
        if row["taboo_rank"] or missing not in ((0,) if row["finish_reason"] == "length" else (0, 1)):
            return "the completion's tokens are not known: record_tokens=true keeps them"
    start, end = row["answer_start"], row["answer_end"]
    if start is None:
        return Case(prompt_ids, tuple(tokens), None, "no answer was read in one place of the completion")
    span = token_span(pieces, tokens, row["completion"], start, end)
    why = None if span else "the tokens do not spell the completion up to its answer"
    return Case(prompt_ids, tuple(tokens), span, why)


def stability_row(row: Mapping[str, Any], model: ResolvedModel, config: StabilityConfig, found: Probed | str) -> Row:
    """A row of the table `stability`: of what was measured, or of why nothing was."""
    same = {
        "trial_id": row["trial_id"],
        "attempt": row["attempt"],
        "run_id": row["run_id"],
        "model": model.name,
        "model_revision": model.revision or None,
        "quantization": model.quantization,
        "dtype": model.dtype,
        "epsilon": config.epsilon,
        "top_k": config.top_k,
        "probed_at": now(),
    }
    if isinstance(found, str):
        return same | {"reason": found}
    return same | _measured(found, config)


def _measured(found: Probed, config: StabilityConfig) -> Row:
    case, of = found.case, found.bound
    columns: dict[str, list[float | None]] = {
        name: [float(value) if np.isfinite(value) else None for value in getattr(of, field).numpy()]
        for name, field in _BOUND.items()
    }
    count = len(case.token_ids)
    delta = np.array([value for value in columns["tcb"][:count] if value is not None])
    made: Row = {
        "answer_token": case.answer[0] if case.answer else None,
        "answer_tokens": case.answer[1] - case.answer[0] if case.answer else None,
        "tcb_prompt": columns["tcb"][0],
        "tcb_mean": float(np.exp(np.log(delta).mean())) if len(delta) else None,
        "tcb_p10": float(np.quantile(delta, 0.1)) if len(delta) else None,
        "tcb_min": float(delta.min()) if len(delta) else None,
        "tcb_saturated": count - len(delta),
        "logprob": float(of.logprob.sum()) if count else None,
        "n_tokens": count,
        "reason": case.reason,
    }
    for name in _AT_PLACES:
        made[f"{name}_prompt"] = columns[name][0]
    if case.answer:
        first, end = case.answer
        span = [value for value in columns["tcb"][first:end] if value is not None]
        made |= {f"{name}_answer": columns[name][first] for name in ("tcb", *_AT_PLACES)}
        made["tcb_answer_min"] = min(span) if span else None
        if config.top_k is not None:
            made |= {f"tcb_answer_{end_}": columns[end_][first] for end_ in ("low", "high")}
        if made["tcb_answer"] is None:
            made["reason"] = "the Jacobian is 0 in floating point where the answer is predicted"
    if config.per_token:
        made["positions"] = [
            {
                "position": place,
                "token_id": token,
                "logprob": float(of.logprob[place]),
                **{name: columns[name][place] for name in ("tcb", *_PER_TOKEN)},
            }
            for place, token in enumerate(case.token_ids)
        ]
    return made


_BOUND = {
    "tcb": "delta",
    "low": "delta_low",
    "high": "delta_high",
    "tcb_relative": "relative",
    "flip_radius": "flip_radius",
    "flip_relative": "flip_relative",
    "entropy": "entropy",
    "margin": "margin",
    "top1": "top1",
}
"""The record's names -> the fields of `Bound`."""

_AT_PLACES = ("tcb_relative", "flip_radius", "flip_relative", "entropy", "margin", "top1")
_PER_TOKEN = ("tcb_relative", "flip_radius", "entropy", "margin", "top1")


def _identity(model: ResolvedModel) -> dict[str, str]:
    return {
        "name": model.name,
        "revision": model.revision,
        "quantization": model.quantization,
        "dtype": model.dtype,
    }


def _folder(model: ResolvedModel) -> str:
    return f"{RECORDS}/{model_slug(model.name)}"


def _prompt_ids(prompt: str, tokenizer: PreTrainedTokenizerBase) -> tuple[int, ...]:
    """Tokens of a prompt as rendered, whose BOS token stands in the text (`prompts.render`)."""
    bos = bos_to_add(tokenizer)
    if bos is not None and prompt.startswith(str(tokenizer.bos_token)):
        rest = prompt.removeprefix(str(tokenizer.bos_token))
        return (bos, *tokenizer(rest, add_special_tokens=False).input_ids)
    return tuple(tokenizer(prompt, add_special_tokens=False).input_ids)
