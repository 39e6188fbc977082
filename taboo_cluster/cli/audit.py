"""Have a judge model, or people, check a sample of a run: its verdicts, or its perturbed texts.

  python -m taboo_cluster audit runs/NAME --judge Qwen/Qwen2.5-72B-Instruct engine=vllm
  python -m taboo_cluster audit runs/NAME --judge '{name: org/judge, aligned: true, quantization: nf4}' --n 200
  python -m taboo_cluster audit runs/NAME --perturbations --judge /models/my-judge --embedding /models/my-embedder
  python -m taboo_cluster audit runs/NAME --perturbations --write-csv ada.csv
  python -m taboo_cluster audit runs/NAME --perturbations --human ada.csv ben.csv --judge /models/my-judge

Without --perturbations a judge sees question, gold answer and completion, and says whether the completion is right.
With it, it sees a question before and after its perturbations, and says whether meaning and gold answer are kept;
people say so in the column `verdict` of a form that --write-csv makes (kept or lost).

The judge runs in this process. Verdicts go to the table `judgements`, or `preservation`; one that is there is not asked
for again, so that the same command goes on where it was stopped. Settings: engine, engine.option=..., cluster.cpus,
cluster.gpus, plugins=[...].
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from taboo_cluster.display import print_table, show
from taboo_cluster.errors import UserError

if TYPE_CHECKING:
    from taboo_cluster.asking import Judgement
    from taboo_cluster.engines.base import Engine
    from taboo_cluster.preservation.texts import Place, Text
    from taboo_cluster.rows import Row
    from taboo_cluster.solo import Solo

PER_CELL = 20
WHAT = {"judgements": "completions", "preservation": "perturbed texts"}
"""What is judged, by the table that the verdicts go to."""
OF_TEXTS = {"human": "--human", "write_csv": "--write-csv", "embedding": "--embedding"}
"""Options that only perturbed texts have."""


def arguments(parser: argparse.ArgumentParser) -> None:
    """The run, who judges, the size of the sample, and overrides of how a judge model runs."""
    parser.add_argument("dir", metavar="DIR", help="the run")
    parser.add_argument("overrides", nargs="*", metavar="key=value", help="settings of the judge's engine")
    parser.add_argument("--judge", metavar="MODEL", help="a model of any model set, a hub name, a folder, or {...}")
    parser.add_argument("--per-cell", type=_count, metavar="K", help=f"of each cell, or stack (default: {PER_CELL})")
    parser.add_argument("--n", type=_count, metavar="N", help="in all, spread evenly over cells or stacks")
    parser.add_argument("--seed", type=int, default=0, metavar="SEED", help="of the sample (default: 0)")
    parser.add_argument("--config-dir", metavar="DIR", help="your own conf tree, searched beside the shipped one")
    texts = parser.add_argument_group("perturbed texts")
    texts.add_argument("--perturbations", action="store_true", help="check perturbed texts instead of verdicts")
    texts.add_argument("--human", nargs="+", action="extend", metavar="FILE", help="filled CSV forms, one per person")
    texts.add_argument("--write-csv", metavar="FILE", help="write the sample as an empty form, and no more")
    texts.add_argument("--embedding", metavar="PATH", help="folder of a sentence-transformers model: mean cosine")


def run(arguments: argparse.Namespace) -> int:
    """Draw, judge what is not judged yet, report; exit status 1 where too much could not be judged."""
    if arguments.perturbations:
        return _perturbations(arguments)
    if alone := [option for name, option in OF_TEXTS.items() if getattr(arguments, name)]:
        raise UserError(f"{alone[0]} is for perturbed texts: add --perturbations")
    if arguments.judge is None:
        raise UserError("the following arguments are required: --judge (python -m taboo_cluster audit --help)")
    return _verdicts(arguments)


def _verdicts(arguments: argparse.Namespace) -> int:
    """A judge's verdicts on completions against those that the views show."""
    from taboo_cluster import auditing
    from taboo_cluster.judge import judge
    from taboo_cluster.records.storage import Store

    run_dir = Store.open(arguments.dir).url
    alone = _judge_model(arguments)
    rows = auditing.sample(run_dir, arguments.seed, _per_cell(arguments), arguments.n)
    judged_by = auditing.identity(alone.model, alone.engine_name)
    verdicts = auditing.known_verdicts(run_dir, rows, judged_by)
    if waiting := [row for row in rows if row["trial_id"] not in verdicts]:
        cases = auditing.read_cases(run_dir, waiting)
        facts = ("run_id", "trial_id", "attempt", "benchmark")
        made_of = {row["trial_id"]: {**{name: row[name] for name in facts}, **judged_by} for row in waiting}
        verdicts |= _ask(run_dir, "judgements", alone, lambda engine: judge(engine, alone.model, cases), made_of)
    lines = list(auditing.report(rows, verdicts))
    _print(lines)
    columns = ("benchmark", "model", "quantization", "condition", "item_id", "outcome", "answer", "gold", "trial_id")
    if other := auditing.disagreements(rows, verdicts):
        print()
        print_table(columns, [[row[name] for name in columns] for row in other])
    return int(len(rows) - len(verdicts) > alone.config.max_error_share * len(rows))


def _perturbations(arguments: argparse.Namespace) -> int:
    """What raters say of perturbed texts."""
    from taboo_cluster.embedding import Embedder
    from taboo_cluster.preservation import ratings
    from taboo_cluster.preservation.people import rater_name, read_form, write_form
    from taboo_cluster.preservation.texts import places, read_texts, sample
    from taboo_cluster.records.storage import Store

    if not (arguments.judge or any(getattr(arguments, name) for name in OF_TEXTS)):
        raise UserError(f"who is to check the texts? add --judge MODEL, or one of {', '.join(OF_TEXTS.values())}")
    run_dir = Store.open(arguments.dir).url
    known = set(places(run_dir))
    drawn = sample(known, arguments.seed, _per_cell(arguments), arguments.n)
    if arguments.write_csv:
        texts = read_texts(run_dir, drawn)
        print(f"{write_form(arguments.write_csv, [texts[place] for place in drawn]):,} texts in {arguments.write_csv}")
        return 0
    people = {rater_name(file): read_form(file, known) for file in arguments.human or ()}
    if len(people) < len(arguments.human or ()):
        raise UserError("two of the --human files have one name, by which their raters are known")
    alone = _judge_model(arguments) if arguments.judge else None
    embedder = Embedder(arguments.embedding) if arguments.embedding else None
    sampled = set(drawn) if alone or not people else set()
    chosen = sampled.union(*people.values())
    texts = read_texts(run_dir, chosen)
    raters: dict[str, dict[Place, str | None]] = {}
    if alone is not None:
        raters[alone.model.name] = _judge_texts(run_dir, alone, [texts[place] for place in drawn])
    for name, found in people.items():
        _keep_form(run_dir, name, found, texts)
        raters[name] = dict(found)
    cosines = {}
    if embedder is not None:
        near = embedder.cosines([(text.clean, text.perturbed) for text in texts.values()])
        cosines = dict(zip(texts, near, strict=True))
    names, verdicts = list(raters), list(raters.values())
    _print(list(ratings.report(chosen, verdicts, cosines, arguments.seed)))
    for more in (list(ratings.pairs(names, verdicts)), list(ratings.lost(chosen, names, verdicts))):
        if more:
            print()
            _print(more)
    if alone is None:
        return 0
    return int(len(drawn) - len(raters[alone.model.name]) > alone.config.max_error_share * len(drawn))


def _judge_texts(run_dir: str, alone: Solo, texts: Sequence[Text]) -> dict[Place, str | None]:
    """The judge's verdict on each text, those it has given already included."""
    from taboo_cluster.preservation.judging import judge
    from taboo_cluster.preservation.ratings import known_verdicts, model_rater, verdict_row

    rater = model_rater(alone.model, alone.engine_name)
    verdicts = known_verdicts(run_dir, rater, texts)
    if waiting := [text for text in texts if text.place not in verdicts]:
        made_of = {text.place.key: verdict_row(text, rater) for text in waiting}
        said = _ask(run_dir, "preservation", alone, lambda engine: judge(engine, alone.model, waiting), made_of)
        verdicts |= {text.place: said[text.place.key] for text in waiting if text.place.key in said}
    return verdicts


def _keep_form(run_dir: str, name: str, found: Mapping[Place, str], texts: Mapping[Place, Text]) -> None:
    """Record what a person says, unless it is recorded already."""
    from taboo_cluster.launch import new_id
    from taboo_cluster.preservation.ratings import human_rater, known_verdicts, verdict_row
    from taboo_cluster.records.schema import TABLES
    from taboo_cluster.records.writer import PartWriter
    from taboo_cluster.rows import now

    rater, at = human_rater(name), now()
    known = known_verdicts(run_dir, rater, [texts[place] for place in found])
    audit_id = new_id(at)
    with PartWriter(f"{run_dir}/tables/preservation", f"part-{audit_id}", TABLES["preservation"]) as writer:
        for place, verdict in found.items():
            if known.get(place) != verdict:
                row = verdict_row(texts[place], rater)
                writer.add({"audit_id": audit_id, **row, "verdict": verdict, "judged_at": at})


def _ask(
    run_dir: str,
    table: str,
    alone: Solo,
    judging: Callable[[Engine], Iterable[Judgement]],
    made_of: Mapping[str, Row],
) -> dict[str, str | None]:
    """Judge, and record it as it comes; verdicts by key.

    Args:
        run_dir: the run.
        table: its side table.
        alone: the judge.
        judging: yields a judgement for each key, in any order.
        made_of: by key the other columns of its row.
    """
    from jobs.progress import ModelState, SweepProgress
    from taboo_cluster.launch import new_id
    from taboo_cluster.records.schema import TABLES
    from taboo_cluster.records.writer import PartWriter
    from taboo_cluster.rows import now

    audit_id, name, total = new_id(now()), alone.model.name, len(made_of)
    verdicts: dict[str, str | None] = {}
    failed = 0
    with SweepProgress("audit") as progress:
        progress.line(f"loading {name} to judge {total:,} {WHAT[table]}")
        with (
            alone.loaded() as engine,
            PartWriter(f"{run_dir}/tables/{table}", f"part-{audit_id}", TABLES[table]) as writer,
        ):
            for said in judging(engine):
                if said.error is None:
                    verdict = {"verdict": said.verdict, "judge_completion": said.text, "judged_at": now()}
                    writer.add({"audit_id": audit_id, **made_of[said.key], **verdict})
                    verdicts[said.key] = said.verdict
                else:
                    failed += 1
                    progress.line(f"warning: not judged: {show(said.key)}: {said.error}")
                progress.update([ModelState(name, len(verdicts) + failed, total, failed, "running")])
    return verdicts


def _judge_model(arguments: argparse.Namespace) -> Solo:
    from taboo_cluster.solo import solo

    return solo("judge", arguments.judge, arguments.overrides, arguments.config_dir)


def _per_cell(arguments: argparse.Namespace) -> int | None:
    return PER_CELL if arguments.per_cell is None and arguments.n is None else arguments.per_cell


def _print(rows: Sequence[Row]) -> None:
    """Rows of one table; what one of them lacks is missing."""
    columns = list(rows[0])
    print_table(columns, [[row.get(name) for name in columns] for row in rows])


def _count(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1, not {number}")
    return number
