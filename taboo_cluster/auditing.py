"""An audit of a run's verdicts: a seeded sample of every cell, judged by a model, and how far it agrees.

Judgements are rows of the table `judgements`. One that the same judge gave to the same completion is not asked for
again, so that an audit can be interrupted, repeated and enlarged. Agreement is with the verdict that the views show
now: it changes when a run is scored again, the judgements do not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence

import duckdb
import pyarrow as pa

from taboo_cluster.analysis.agreement import Agreement
from taboo_cluster.analysis.database import open_runs, select
from taboo_cluster.benchmarks.base import Benchmark
from taboo_cluster.errors import UserError
from taboo_cluster.hashing import stable_hash
from taboo_cluster.judge import PROMPT_VERSION, Case
from taboo_cluster.recorded import Items, as_asked, recorded_items, recorded_settings
from taboo_cluster.records.reader import RECORDS, read_parts
from taboo_cluster.records.schema import RECORD
from taboo_cluster.records.storage import Store
from taboo_cluster.rows import Row
from taboo_cluster.trial import ResolvedModel

PAPER: Mapping[str, float] = {"gsm8k": 0.97, "mmlu": 0.79}
"""The paper's agreement with its judge, on 200 items."""

_TRIALS = """
    SELECT trial_id, run_id, attempt, started_at, cell_id, benchmark, split, item_id, model, quantization, condition,
           outcome, answer, gold, correct, perturbations, perturbation_seed, lines
    FROM recorded
    WHERE replicate = 0 AND correct IS NOT NULL
"""

_TEXTS = """
    SELECT trial_id, parts.question, parts.completion
    FROM parts JOIN sampled USING (trial_id)
    WHERE parts.attempt IS NOT DISTINCT FROM sampled.attempt
        AND parts.started_at IS NOT DISTINCT FROM sampled.started_at
    QUALIFY row_number() OVER (PARTITION BY trial_id) = 1
"""


def draw(trials: Iterable[tuple[str, Hashable]], seed: int, per_cell: int | None, total: int | None) -> list[str]:
    """trial_ids of a sample in which no cell has more than one trial more than another has, while it has any left.

    The order is by seeded hash, so that a larger sample contains a smaller one and no other trial moves it.

    Args:
        trials: (trial_id, cell).
        seed: of the hash.
        per_cell: at most so many of each cell; None for no limit.
        total: at most so many in all; None for no limit.
    """
    taken: Counter[Hashable] = Counter()
    places = []
    for trial_id, cell in sorted(trials, key=lambda trial: stable_hash("audit", seed, trial[0])):
        taken[cell] += 1
        if per_cell is None or taken[cell] <= per_cell:
            places.append((taken[cell], trial_id))
    return [trial_id for _, trial_id in sorted(places, key=lambda place: place[0])][:total]


def sample(run_dir: str, seed: int, per_cell: int | None, total: int | None) -> list[Row]:
    """What the views say of each sampled trial, without long texts. Raises UserError where nothing can be judged."""
    with open_runs([run_dir]) as connection:
        table = select(connection, _TRIALS)
    ids, cells = (table.column(name).to_pylist() for name in ("trial_id", "cell_id"))
    place = {trial_id: n for n, trial_id in enumerate(ids)}
    drawn = draw(zip(ids, cells, strict=True), seed, per_cell, total)
    if not drawn:
        raise UserError(f"{run_dir} holds nothing to judge: no trial without an error")
    rows: list[Row] = table.take(pa.array([place[trial_id] for trial_id in drawn])).to_pylist()
    return rows


def read_cases(run_dir: str, rows: Sequence[Row]) -> list[Case]:
    """Some trials as a judge is to see them, in their order.

    Raises UserError where a benchmark has to be built anew for that and cannot.
    """
    wanted = pa.table({name: [row[name] for row in rows] for name in ("trial_id", "attempt", "started_at")})
    with duckdb.connect() as connection:
        connection.register("sampled", wanted)
        read = lambda: connection.sql(_TEXTS).to_arrow_table()  # noqa: E731
        found = read_parts(connection, [Store.open(run_dir)], RECORDS, RECORD, read).to_pylist()
    texts = {text["trial_id"]: text for text in found}
    present = [row for row in rows if row["trial_id"] in texts]
    read_as = _Readings(run_dir, present)
    return [
        Case(row["trial_id"], *read_as(row, texts[row["trial_id"]]["question"]), texts[row["trial_id"]]["completion"])
        for row in present
    ]


class _Readings:
    """Question and reference answer as a judge reads them: what is recorded, unless the benchmark says otherwise."""

    def __init__(self, run_dir: str, rows: Sequence[Row]) -> None:
        self._own: dict[str, tuple[Benchmark, Items]] = {}
        settings = recorded_settings(run_dir)
        for name in {row["benchmark"] for row in rows}:
            benchmark = settings.build(name)
            if hasattr(benchmark, "judged_as"):
                own = {
                    (row["split"], row["item_id"], None if row["perturbations"] else row["gold"])
                    for row in rows
                    if row["benchmark"] == name
                }
                self._own[name] = benchmark, recorded_items(benchmark, own)

    def __call__(self, row: Row, question: str) -> tuple[str, str]:
        if row["benchmark"] not in self._own:
            return question, row["gold"]
        benchmark, items = self._own[row["benchmark"]]
        read: tuple[str, str] = benchmark.judged_as(  # type: ignore[attr-defined]
            as_asked(benchmark, items[row["split"], row["item_id"]], row), question
        )
        return read


def identity(model: ResolvedModel, engine: str) -> Row:
    """The columns of `judgements` that say who judges, and by which rules."""
    return {
        "judge": model.name,
        "judge_revision": model.revision,
        "judge_quantization": model.quantization,
        "judge_dtype": model.dtype,
        "engine": engine,
        "prompt_version": PROMPT_VERSION,
    }


def known_verdicts(run_dir: str, rows: Sequence[Row], judged_by: Row) -> dict[str, str | None]:
    """trial_id -> verdict of the trials that this judge has judged already."""
    with open_runs([run_dir]) as connection:
        found = select(connection, "FROM judgements").to_pylist()
    verdicts = {
        (row["run_id"], row["trial_id"], row["attempt"]): row["verdict"]
        for row in found
        if all(row[name] == value for name, value in judged_by.items())
    }
    keys = {row["trial_id"]: (row["run_id"], row["trial_id"], row["attempt"]) for row in rows}
    return {trial_id: verdicts[key] for trial_id, key in keys.items() if key in verdicts}


def report(rows: Sequence[Row], verdicts: Mapping[str, str | None]) -> Iterator[Row]:
    """One row per benchmark: how far the judge agrees with the verdicts shown.

    Args:
        rows: the sampled trials.
        verdicts: by trial_id; None where the judge gave none; a trial left out was not judged.
    """
    for benchmark in sorted({row["benchmark"] for row in rows}):
        own = [row for row in rows if row["benchmark"] == benchmark]
        pairs = Counter((row["correct"], verdicts[row["trial_id"]]) for row in own if row["trial_id"] in verdicts)
        found = Agreement(*(pairs[pair] for pair in _PAIRS))
        low, high = found.interval
        yield {
            "benchmark": benchmark,
            "n": found.n,
            "agreement": found.share,
            "ci_low": low,
            "ci_high": high,
            "kappa": found.kappa,
            "n_only_scorer_right": found.only_first,
            "n_only_judge_right": found.only_second,
            "n_no_verdict": sum(count for (_, verdict), count in pairs.items() if verdict is None),
            "n_not_judged": len(own) - pairs.total(),
            "paper": PAPER.get(benchmark),
        }


_PAIRS = ((True, "right"), (True, "wrong"), (False, "right"), (False, "wrong"))
"""(correct, verdict) in the order of Agreement's counts."""


def disagreements(rows: Sequence[Row], verdicts: Mapping[str, str | None]) -> list[Row]:
    """The sampled trials on which the judge says otherwise."""
    said = {True: "wrong", False: "right"}
    return [row for row in rows if verdicts.get(row["trial_id"]) == said[row["correct"]]]
