"""Have a judge model check a sample of a run's verdicts, and report how far it agrees.

  python -m taboo_cluster audit runs/NAME --judge Qwen/Qwen2.5-72B-Instruct engine=vllm
  python -m taboo_cluster audit runs/NAME --judge /models/my-judge --n 200
  python -m taboo_cluster audit runs/NAME --judge '{name: org/judge, aligned: true, quantization: nf4}'

The judge sees question, gold answer and completion, and runs in this process. Its judgements go to the table
`judgements`; one that is there is not made again, so that the same command goes on where it was stopped. Settings:
engine, engine.option=..., cluster.cpus, cluster.gpus, plugins=[...].
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from taboo_cluster.display import print_table
from taboo_cluster.errors import EngineDied, UserError, unknown

if TYPE_CHECKING:
    from taboo_cluster.config import RunConfig
    from taboo_cluster.engines.base import Hardware
    from taboo_cluster.rows import Row
    from taboo_cluster.trial import ResolvedModel

PER_CELL = 20
SETTABLE = ("engine", "cluster", "plugins")


def arguments(parser: argparse.ArgumentParser) -> None:
    """The run, the judge, the size of the sample, and overrides of how the judge runs."""
    parser.add_argument("dir", metavar="DIR", help="the run")
    parser.add_argument("overrides", nargs="*", metavar="key=value", help="settings of the judge's engine")
    parser.add_argument(
        "--judge", required=True, metavar="MODEL", help="a model of any model set, a hub name, a folder, or {...}"
    )
    parser.add_argument("--per-cell", type=_count, metavar="K", help=f"trials of each cell (default: {PER_CELL})")
    parser.add_argument("--n", type=_count, metavar="N", help="trials in all, spread evenly over the cells")
    parser.add_argument("--seed", type=int, default=0, metavar="SEED", help="of the sample (default: 0)")
    parser.add_argument("--config-dir", metavar="DIR", help="your own conf tree, searched beside the shipped one")


def run(arguments: argparse.Namespace) -> int:
    """Draw, judge what is not judged yet, report; exit status 1 where too many trials could not be judged."""
    from taboo_cluster import auditing
    from taboo_cluster.models import resolve
    from taboo_cluster.records.storage import Store

    run_dir = Store.open(arguments.dir).url
    config = judge_config(arguments.judge, arguments.overrides, arguments.config_dir)
    per_cell = PER_CELL if arguments.per_cell is None and arguments.n is None else arguments.per_cell
    rows = auditing.sample(run_dir, arguments.seed, per_cell, arguments.n)
    model = resolve(config.models[0])
    judged_by = auditing.identity(model, str(config.engine["name"]))
    verdicts = auditing.known_verdicts(run_dir, rows, judged_by)
    if waiting := [row for row in rows if row["trial_id"] not in verdicts]:
        verdicts |= _judge(run_dir, config, model, judged_by, waiting)
    lines = list(auditing.report(rows, verdicts))
    print_table(list(lines[0]), [list(line.values()) for line in lines])
    if other := auditing.disagreements(rows, verdicts):
        columns = (
            "benchmark",
            "model",
            "quantization",
            "condition",
            "item_id",
            "outcome",
            "answer",
            "gold",
            "trial_id",
        )
        print()
        print_table(columns, [[row[name] for name in columns] for row in other])
    return int(len(rows) - len(verdicts) > config.max_error_share * len(rows))


def judge_config(judge: str, overrides: Sequence[str], config_dir: str | None) -> RunConfig:
    """A config whose one model is the judge: as a model set has it, or by itself. Raises UserError."""
    from taboo_cluster.compose import load_config
    from taboo_cluster.tree import group_files

    for text in overrides:
        if text.lstrip("+").partition("=")[0].partition(".")[0] not in SETTABLE:
            raise UserError(f"{text!r} has no effect on a judge; what can be set: {', '.join(SETTABLE)}")
    fixed = ["+sweep=alignment", "benchmarks=[arithmetic]", *overrides]  # which sweep and benchmark has no effect
    if judge.startswith("{"):
        return load_config([*fixed, f"models=[{judge}]"], config_dir)
    sets = load_config([*fixed, f"models=[{','.join(group_files('models', config_dir))}]"], config_dir)
    for model in sets.models:
        if model.name == judge:
            return replace(sets, models=[model])
    if judge.startswith(("/", ".", "~", "embedded:")) or os.path.isdir(judge):
        key = "path"
    elif judge.count("/") == 1:
        key = "name"
    else:
        raise unknown("judge", judge, [model.name for model in sets.models])
    quoted = judge.replace("\\", "\\\\").replace("'", "\\'")
    return load_config([*fixed, f"models=[{{{key}: '{quoted}', aligned: true, stage: instruct}}]"], config_dir)


def _judge(
    run_dir: str, config: RunConfig, model: ResolvedModel, judged_by: Row, rows: Sequence[Row]
) -> dict[str, str | None]:
    """Judge these trials and record it as it comes; trial_id -> verdict."""
    from jobs.progress import ModelState, SweepProgress
    from taboo_cluster.auditing import read_cases
    from taboo_cluster.compose import engine_options
    from taboo_cluster.judge import judge
    from taboo_cluster.launch import new_id
    from taboo_cluster.records.schema import TABLES
    from taboo_cluster.records.writer import PartWriter
    from taboo_cluster.rows import now

    entry, options = engine_options(config)
    cases = read_cases(run_dir, rows)
    by_id = {row["trial_id"]: row for row in rows}
    audit_id = new_id(now())
    verdicts: dict[str, str | None] = {}
    failed = 0
    with SweepProgress("audit") as progress:
        progress.line(f"loading {model.name} to judge {len(rows):,} completions")
        engine = entry.build(model, options, _hardware(config, model, entry.uses_gpu))
        try:
            with PartWriter(f"{run_dir}/tables/judgements", f"part-{audit_id}", TABLES["judgements"]) as writer:
                for said in judge(engine, model, cases):
                    if said.error is None:
                        row = by_id[said.key]
                        made_of = {name: row[name] for name in ("run_id", "trial_id", "attempt", "benchmark")}
                        verdict = {"verdict": said.verdict, "judge_completion": said.text, "judged_at": now()}
                        writer.add({"audit_id": audit_id, **made_of, **judged_by, **verdict})
                        verdicts[said.key] = said.verdict
                    else:
                        failed += 1
                        progress.line(f"warning: not judged: {said.key}: {said.error}")
                    done = len(verdicts) + failed
                    progress.update([ModelState(model.name, done, len(rows), failed, "running")])
        except EngineDied as error:
            raise UserError(f"the judge's engine is gone ({error}); the same command goes on from here") from error
        finally:
            engine.close()
    return verdicts


def _hardware(config: RunConfig, model: ResolvedModel, uses_gpu: bool) -> Hardware:
    """All the cores, or the fewest GPUs that hold the judge. Raises UserError for one that fits on none."""
    from taboo_cluster.cli.plan import seen_gpus
    from taboo_cluster.engines.base import Hardware
    from taboo_cluster.models import load_config, shape_of
    from taboo_cluster.placement import Demand, estimate, pack

    gpus = seen_gpus(config.cluster) if uses_gpu else []
    if not gpus:
        return Hardware(threads=config.cluster.cpus or os.cpu_count() or 1)
    shape = config.models[0].shape or shape_of(load_config(model))
    memory = estimate(shape, model.quantization, model.dtype, model.size_b)
    packing = pack([Demand(model.name, memory, shape.heads)], gpus)
    if packing.refused:
        raise UserError(packing.refused[0])
    place = packing.placements[0]
    return Hardware(place.gpu_share, place.tensor_parallel)


def _count(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1, not {number}")
    return number
