"""The record: one row per trial. Every column with its type and a line on what it holds.

A missing value is null, never 0, -1, NaN or inf.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

SCHEMA_VERSION = 3
"""Stored as `schema_version` in every part's file metadata."""


@dataclass(frozen=True)
class Column:
    """One column of a table."""

    name: str
    type: pa.DataType
    doc: str
    formerly: str | None = None
    """Its name in parts of older schema versions, where it had another one."""


STEP = pa.struct(
    [
        ("position", pa.int32()),
        ("nominal_id", pa.int32()),
        ("nominal", pa.string()),
        ("emitted_id", pa.int32()),
        ("emitted", pa.string()),
        ("emitted_rank", pa.int32()),
        ("bits", pa.float64()),
    ]
)
LINES = pa.struct(
    [
        ("total", pa.int32()),
        ("kept", pa.int32()),
        ("targets", pa.int32()),
        ("named", pa.int32()),
        ("hits", pa.int32()),
        ("hits_nospace", pa.int32()),
        ("hits_absencebench", pa.int32()),
        ("named_absencebench", pa.int32()),
    ]
)
POSITION = pa.struct(
    [
        ("position", pa.int32()),
        ("token_id", pa.int32()),
        ("logprob", pa.float64()),
        ("tcb", pa.float64()),
        ("tcb_relative", pa.float64()),
        ("flip_radius", pa.float64()),
        ("entropy", pa.float64()),
        ("margin", pa.float64()),
        ("top1", pa.float64()),
    ]
)
PERTURBATION = pa.struct([("name", pa.string()), ("family", pa.string()), ("params", pa.string())])
TIME = pa.timestamp("us", tz="UTC")

RECORD: tuple[Column, ...] = (
    Column("trial_id", pa.string(), "hash of what the trial is; the same in every run"),
    Column("generation_id", pa.string(), "hash of what the output depends on; null where nothing was rendered"),
    Column("run_id", pa.string(), "name of the run directory's config, made when the run began"),
    Column("launch_id", pa.string(), "start of the command that made the record (table launches)"),
    Column("worker_id", pa.string(), "actor life that made the record (table workers)"),
    Column("sweep", pa.string(), "name of the sweep"),
    Column("model", pa.string(), "hub name, or the user's name of a local folder"),
    Column("model_revision", pa.string(), "commit of the hub, or hash of a local folder's content"),
    Column("model_family", pa.string(), "family as in conf/models"),
    Column("size_b", pa.float64(), "parameters in billions, as in conf/models"),
    Column("aligned", pa.bool_(), "prompted through the chat template"),
    Column("stage", pa.string(), "base, sft, dpo or instruct"),
    Column("pair", pa.string(), "models compared by the alignment gap share it"),
    Column("quantization", pa.string(), "none, nf4 or int8"),
    Column("dtype", pa.string(), "bfloat16, float16 or float32"),
    Column("engine", pa.string(), "vllm, transformers, scripted ..."),
    Column("tokenizer_hash", pa.string(), "hash of vocabulary, merges and added tokens"),
    Column("benchmark", pa.string(), "name of the benchmark"),
    Column("chance", pa.float64(), "accuracy of guessing; null where guessing gives nothing"),
    Column("split", pa.string(), "split the item comes from"),
    Column("item_id", pa.string(), "the item's id, whatever is done to its text"),
    Column("item_group", pa.string(), "MMLU subject, document domain ..."),
    Column("cluster_id", pa.string(), "the bootstrap's unit"),
    Column("condition", pa.string(), "readable: baseline, taboo(rank=1) ..."),
    Column("prompt_style", pa.string(), "cot, direct ..."),
    Column("n_shots", pa.int32(), "worked examples in the prompt"),
    Column("perturbations", pa.list_(PERTURBATION), "the stack, in the order applied; empty for none"),
    Column("perturbation_seed", pa.int64(), "seed of the stack; null without one"),
    Column("changed", pa.bool_(), "the stack really changed the text; null without one"),
    Column("fragment_p", pa.float64(), "insertion probability of fragmentation"),
    Column("word_fragmentation_rate", pa.float64(), "spaces inserted / slots"),
    Column("taboo_rank", pa.int32(), "masked tokens at each intervention; 0 = none"),
    Column("taboo_trigger", pa.string(), "when to intervene; null at rank 0"),
    Column("taboo_word_start", pa.string(), "kind of word-start table; null at rank 0"),
    Column("taboo_trigger_params", pa.string(), "JSON of the intervention's other settings; null at rank 0"),
    Column("temperature", pa.float64(), "0 = greedy"),
    Column("top_p", pa.float64(), "null when greedy"),
    Column("sample_seed", pa.int64(), "null when greedy"),
    Column("replicate", pa.int32(), "0, or 1 and up for the noise floor"),
    Column("max_tokens", pa.int32(), "most tokens that could be generated"),
    Column("stop", pa.list_(pa.string()), "strings that end the text"),
    Column("question", pa.string(), "the question's text alone, as used"),
    Column("prompt", pa.string(), "as rendered, special tokens included"),
    Column("prompt_tokens", pa.int32(), "tokens of the prompt"),
    Column("completion", pa.string(), "the text generated"),
    Column("completion_tokens", pa.int32(), "tokens generated, the end token included"),
    Column("token_ids", pa.list_(pa.int32()), "tokens of the completion; null with record_tokens=false"),
    Column("completion_words", pa.int32(), "words of the completion (UAX #29)"),
    Column("finish_reason", pa.string(), "stop or length"),
    Column("answer", pa.string(), "as extracted and normalised"),
    Column("answer_start", pa.int32(), "where in the completion the answer was read: its first character, from 0"),
    Column("answer_end", pa.int32(), "the character after its last; null where no single place was read"),
    Column("gold", pa.string(), "the item's gold answer"),
    Column("outcome", pa.string(), "error, no_response, refused, truncated, invalid_format, correct or wrong"),
    Column("parse_ok", pa.bool_(), "an answer was extracted; null on error"),
    Column("correct", pa.bool_(), "outcome is correct; null on error"),
    Column("score", pa.float64(), "the benchmark's measure; null on error"),
    Column("matched_alias", pa.string(), "the alias that matched, where it was not the canonical answer"),
    Column("lines", LINES, "of a document's lines: how many there are, were kept, targets, named, hit; null elsewhere"),
    Column("choice_order", pa.list_(pa.int32()), "original index of each shown choice"),
    Column("scorer_version", pa.string(), "version of extraction and scoring"),
    Column("details", pa.string(), "JSON of the benchmark's own findings"),
    Column("interventions", pa.int32(), "steps where tokens were masked"),
    Column("surprisal_total", pa.float64(), "bits, summed over interventions"),
    Column("surprisal_mean", pa.float64(), "bits per intervention; null if there was none"),
    Column("entropy_mean", pa.float64(), "mean next-token entropy before masking, in bits; null unless measured"),
    Column("entropy_word_start", pa.float64(), "the same over the steps whose nominal token begins a word"),
    Column("skipped_steps", pa.int32(), "steps left alone: no more than rank finite candidates"),
    Column("tie_steps", pa.int32(), "interventions with a tie at the mask's boundary"),
    Column("glued", pa.int32(), "interventions whose emitted token is not word-initial"),
    Column("stopped_by_detour", pa.bool_(), "the emitted token of an intervention ended the text"),
    Column("taboo_leak", pa.bool_(), "the text goes on to spell a masked token's own string"),
    Column("steps", pa.list_(STEP), "each intervention; null with record_steps=false"),
    Column("latency_s", pa.float64(), "seconds from handing the request over to its end"),
    Column("attempt", pa.int32(), "1 for the first attempt at the trial"),
    Column("error_type", pa.string(), "class of the error; null without one"),
    Column("error", pa.string(), "message of the error"),
    Column("text_sanitised", pa.bool_(), "characters that Parquet text cannot hold were replaced in the completion"),
    Column("started_at", TIME, "when the request was handed over"),
)

TABLES: dict[str, tuple[Column, ...]] = {
    "launches": (
        Column("launch_id", pa.string(), "one start of the command"),
        Column("run_id", pa.string(), "the run"),
        Column("started_at", TIME, "when it began"),
        Column("config", pa.string(), "resolved config, JSON"),
        Column("git_commit", pa.string(), "commit of this checkout; null outside one"),
        Column("git_dirty", pa.bool_(), "uncommitted changes were present"),
        Column("versions", pa.string(), "JSON: python, ray, torch, transformers, vllm with its model runner ..."),
        Column("host", pa.string(), "host of the driver"),
        Column("pid", pa.int64(), "process id of the driver"),
    ),
    "workers": (
        Column("worker_id", pa.string(), "one life of one actor"),
        Column("launch_id", pa.string(), "the launch it worked for"),
        Column("model", pa.string(), "the model it held"),
        Column("host", pa.string(), "host name"),
        Column("pid", pa.int64(), "process id"),
        Column("gpu_names", pa.list_(pa.string()), "names of its GPUs; empty on a CPU"),
        Column("gpu_uuids", pa.list_(pa.string()), "their UUIDs"),
        Column("versions", pa.string(), "JSON, as seen in the actor"),
        Column("engine", pa.string(), "engine with version and settings, JSON"),
        Column("load_s", pa.float64(), "seconds to load the model and pass the canaries; null where it did not"),
        Column("started_at", TIME, "start of this life"),
        Column("ended_at", TIME, "end; null while alive or when killed"),
        Column("end_reason", pa.string(), "the engine died or hung: how; null where neither is known"),
    ),
    "texts": (
        Column("benchmark", pa.string(), "name of the benchmark"),
        Column("split", pa.string(), "split the item comes from"),
        Column("item_id", pa.string(), "the item"),
        Column("perturbations", pa.string(), "the stack, as in `condition`"),
        Column("perturbation_seed", pa.int64(), "its seed"),
        Column("changed", pa.bool_(), "the stack really changed what the model sees"),
        Column("clean", pa.string(), "the question as it was"),
        Column("question", pa.string(), "the question as it became"),
        Column("before", pa.string(), "put in front of the user's message"),
        Column("after", pa.string(), "put behind it"),
        Column("choices", pa.string(), "JSON of the choices as shown; null without any"),
        Column("gold", pa.string(), "the gold answer, which follows shuffled choices"),
    ),
    "tokenization": (
        Column("tokenizer_hash", pa.string(), "hash of vocabulary, merges and added tokens, as in the record"),
        Column("benchmark", pa.string(), "name of the benchmark"),
        Column("split", pa.string(), "split the item comes from"),
        Column("item_id", pa.string(), "the item"),
        Column("item_group", pa.string(), "document domain ..."),
        Column("cluster_id", pa.string(), "the bootstrap's unit"),
        Column("perturbations", pa.string(), "the stack, as in `condition`; null for the clean text"),
        Column("perturbation_seed", pa.int64(), "its seed; null without one"),
        Column("fragment_p", pa.float64(), "insertion probability of fragmentation; null without it"),
        Column("word_fragmentation_rate", pa.float64(), "spaces inserted / slots; null without it"),
        Column("tokens", pa.int64(), "tokens of the text"),
        Column("characters", pa.int64(), "grapheme clusters of the text, white space left out"),
        Column("entropy", pa.float64(), "Shannon entropy of the token ids' frequencies, in bits"),
        Column("entropy_fixed", pa.float64(), "the same of `fixed_tokens` tokens drawn from the text"),
        Column("fixed_tokens", pa.int64(), "tokens of the item's shortest text"),
        Column("single_character_share", pa.float64(), "share of tokens that spell at most one character"),
        Column("measured_at", TIME, "when; the latest measurement counts"),
    ),
    "stability": (
        Column("trial_id", pa.string(), "the trial"),
        Column("attempt", pa.int32(), "attempt whose completion was probed"),
        Column("run_id", pa.string(), "run of the record"),
        Column("model", pa.string(), "name of the model"),
        Column("model_revision", pa.string(), "its revision"),
        Column("quantization", pa.string(), "none, nf4 or int8"),
        Column("dtype", pa.string(), "of the weights; the bound is computed in float32 at least"),
        Column("epsilon", pa.float64(), "scale of the bound"),
        Column("top_k", pa.int32(), "tokens that the bound was computed from; null for all"),
        Column("answer_token", pa.int32(), "the answer's first token, counted from 0 in the completion"),
        Column("answer_tokens", pa.int32(), "tokens of the answer"),
        Column("tcb_answer", pa.float64(), "bound where the answer's first token is predicted"),
        Column("tcb_answer_low", pa.float64(), "lowest that top_k leaves possible; null without top_k"),
        Column("tcb_answer_high", pa.float64(), "highest that top_k leaves possible; null without top_k"),
        Column("tcb_answer_min", pa.float64(), "least bound over the answer's tokens"),
        Column("tcb_prompt", pa.float64(), "bound at the last position of the prompt"),
        Column("tcb_mean", pa.float64(), "geometric mean over the completion's tokens"),
        Column("tcb_p10", pa.float64(), "10th percentile over the completion's tokens"),
        Column("tcb_min", pa.float64(), "least over the completion's tokens"),
        Column("tcb_saturated", pa.int32(), "of the completion's tokens: without a bound, the Jacobian being 0"),
        *(
            Column(f"{name}_{place}", pa.float64(), f"{doc} {where}")
            for place, where in (("answer", "where tcb_answer is"), ("prompt", "where tcb_prompt is"))
            for name, doc in (
                ("tcb_relative", "bound over the norm of the hidden state,"),
                ("flip_radius", "least move of the hidden state that changes the greedy token,"),
                ("flip_relative", "the same over the norm of the hidden state,"),
                ("entropy", "next-token entropy in bits,"),
                ("margin", "ln of the best over the second token's probability,"),
                ("top1", "probability of the best token,"),
            )
        ),
        Column("logprob", pa.float64(), "natural log-probability of the completion's tokens, summed"),
        Column("n_tokens", pa.int32(), "tokens of the completion"),
        Column("reason", pa.string(), "why there is no tcb_answer; null where there is one"),
        Column("positions", pa.list_(POSITION), "every token of the completion; null unless stability.per_token"),
        Column("probed_at", TIME, "when; the latest probe counts"),
    ),
    "heartbeat": (
        Column("launch_id", pa.string(), "the launch"),
        Column("seen_at", TIME, "time of the last sign of life", formerly="at"),
        Column("state", pa.string(), "running, done, failed or interrupted"),
        Column("done", pa.int64(), "trials recorded, those of earlier launches included"),
        Column("failed", pa.int64(), "of them in error"),
        Column("total", pa.int64(), "trials of the sweep"),
    ),
    "scores": (
        Column("rescore_id", pa.string(), "one start of the command rescore"),
        Column("run_id", pa.string(), "run of the record"),
        Column("trial_id", pa.string(), "the trial"),
        Column("attempt", pa.int32(), "attempt whose completion was scored: another attempt's record is not touched"),
        Column("benchmark", pa.string(), "benchmark of the record"),
        Column("scorer_version", pa.string(), "scorer's version, after its benchmark's name where that is another"),
        Column("scored_at", TIME, "when; the latest score of a completion is the one that views show"),
        Column("outcome", pa.string(), "as in the record; error where this scorer failed"),
        Column("answer", pa.string(), "as extracted and normalised"),
        Column("answer_start", pa.int32(), "as in the record"),
        Column("answer_end", pa.int32(), "as in the record"),
        Column("parse_ok", pa.bool_(), "an answer was extracted; null on error"),
        Column("correct", pa.bool_(), "outcome is correct; null on error"),
        Column("score", pa.float64(), "the benchmark's measure; null on error"),
        Column("matched_alias", pa.string(), "the alias that matched, where it was not the canonical answer"),
        Column("lines", LINES, "as in the record"),
        Column("details", pa.string(), "JSON of the benchmark's own findings"),
        Column("error_type", pa.string(), "scorer_failed; null without an error"),
        Column("error", pa.string(), "message of the error"),
        Column("earlier_outcome", pa.string(), "what the views showed before"),
        Column("earlier_answer", pa.string(), "what the views showed before"),
        Column("earlier_score", pa.float64(), "what the views showed before"),
    ),
    "judgements": (
        Column("audit_id", pa.string(), "one start of the command audit"),
        Column("run_id", pa.string(), "run of the record"),
        Column("trial_id", pa.string(), "the trial"),
        Column("attempt", pa.int32(), "attempt whose completion was judged"),
        Column("benchmark", pa.string(), "benchmark of the record"),
        Column("judge", pa.string(), "name of the judge model"),
        Column("judge_revision", pa.string(), "commit of the hub, or hash of a local folder's content"),
        Column("judge_quantization", pa.string(), "none, nf4 or int8"),
        Column("judge_dtype", pa.string(), "bfloat16, float16 or float32"),
        Column("engine", pa.string(), "engine of the judge"),
        Column("prompt_version", pa.string(), "version of the judge's prompt and of how its verdict is read"),
        Column("verdict", pa.string(), "right or wrong; null where the judge gave no verdict in the form asked for"),
        Column("judge_completion", pa.string(), "what the judge said"),
        Column("judged_at", TIME, "when"),
    ),
    "preservation": (
        Column("audit_id", pa.string(), "one start of the command audit"),
        Column("benchmark", pa.string(), "benchmark of the text"),
        Column("split", pa.string(), "split the item comes from"),
        Column("item_id", pa.string(), "the item"),
        Column("perturbations", pa.string(), "the stack, as in table texts"),
        Column("perturbation_seed", pa.int64(), "its seed"),
        Column("text_hash", pa.string(), "hash of question, perturbed question, choices and gold answer as seen"),
        Column("rater", pa.string(), "name of the judge model, or of the CSV file of a person"),
        Column("rater_kind", pa.string(), "model or human"),
        Column("judge_revision", pa.string(), "commit of the hub, or hash of a local folder's content"),
        Column("judge_quantization", pa.string(), "none, nf4 or int8"),
        Column("judge_dtype", pa.string(), "bfloat16, float16 or float32"),
        Column("engine", pa.string(), "engine of the judge"),
        Column("prompt_version", pa.string(), "version of the judge's prompt and of how its verdict is read"),
        Column("verdict", pa.string(), "kept or lost; null where a judge gave no verdict in the form asked for"),
        Column("judge_completion", pa.string(), "what the judge said"),
        Column("judged_at", TIME, "when; a person's latest verdict on a text counts"),
    ),
}


def arrow_schema(columns: tuple[Column, ...]) -> pa.Schema:
    """The one explicit schema of a table, with schema_version and each column's line of documentation."""
    fields = [pa.field(c.name, c.type, metadata={"doc": c.doc}) for c in columns]
    return pa.schema(fields, metadata={"schema_version": str(SCHEMA_VERSION)})
