"""Have a model put benchmarks' questions in other words, for the perturbation `paraphrase`.

  python -m taboo_cluster paraphrase 'benchmarks=[mmlu,gsm8k]' limit=500 --model Qwen/Qwen2.5-72B-Instruct engine=vllm
  python -m taboo_cluster paraphrase 'benchmarks=[gsm8k]' --model /models/my-writer --kind free --out my-paraphrases
  python -m taboo_cluster +sweep=alignment 'benchmarks=[gsm8k]' 'conditions=["paraphrase(kind=free)"]'

The writer runs in this process. What it writes is checked (numbers, formulas, answers, length; with --embedding also
how near it is) and goes to the folder, the rejected ones with the reason. What is there is not asked for again: the
same command goes on where it was stopped, and another model or sampling seed tries what was rejected so far.
Settings: benchmarks, benchmark.NAME.option=..., limit, seed (draw the items a sweep with the same draws), sampling,
engine, engine.option=..., cluster.cpus, cluster.gpus, plugins=[...].
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from taboo_cluster.errors import UserError
from taboo_cluster.forms import add_format, check_format, write
from taboo_cluster.paraphrases import KINDS, LEAST_COSINE

if TYPE_CHECKING:
    from taboo_cluster.config import RunConfig
    from taboo_cluster.paraphrases.writing import Source
    from taboo_cluster.trial import Sampling

OUT = "paraphrases"


def arguments(parser: argparse.ArgumentParser) -> None:
    """The questions, the writer, the kinds, the folder, and the check by embeddings."""
    parser.add_argument("overrides", nargs="*", metavar="key=value", help="whose questions, and the writer's engine")
    parser.add_argument(
        "--model", required=True, metavar="MODEL", help="a model of any model set, a hub name, a folder, or {...}"
    )
    parser.add_argument("--out", default=OUT, metavar="DIR", help=f"the folder or fsspec URL (default: {OUT})")
    parser.add_argument(
        "--kind", action="append", choices=KINDS, help="this one alone; may be given more than once (default: all)"
    )
    parser.add_argument("--embedding", metavar="PATH", help="folder of a sentence-transformers model that compares")
    parser.add_argument(
        "--least-cosine", type=float, default=LEAST_COSINE, metavar="C", help=f"of it (default: {LEAST_COSINE})"
    )
    parser.add_argument("--config-dir", metavar="DIR", help="your own conf tree, searched beside the shipped one")
    add_format(parser)


def run(arguments: argparse.Namespace) -> int:
    """Write what is not written yet, list what there is; exit status 1 where too many could not be asked for."""
    from jobs.progress import ModelState, SweepProgress
    from taboo_cluster.embedding import Embedder
    from taboo_cluster.launch import new_id
    from taboo_cluster.paraphrases.store import PARAPHRASES, counts, settled
    from taboo_cluster.paraphrases.writing import write as put_in_other_words
    from taboo_cluster.paraphrases.writing import writer_columns
    from taboo_cluster.records.storage import Store
    from taboo_cluster.records.writer import PartWriter
    from taboo_cluster.rows import now
    from taboo_cluster.solo import SETTABLE, solo

    check_format(arguments.format)
    own = ("benchmarks", "benchmark", "limit", "seed", "sampling")
    if not any(text.lstrip("+").startswith("benchmarks=") for text in arguments.overrides):
        raise UserError("whose questions? say it like 'benchmarks=[gsm8k]'")
    alone = solo("writer", arguments.model, arguments.overrides, arguments.config_dir, (*own, *SETTABLE))
    sampling = _sampling(alone.config)
    every = _sources(alone.config, arguments.kind or KINDS)
    out, model = Store.open(arguments.out).url, alone.model
    writer = writer_columns(model, alone.engine_name, sampling)
    known = settled(out, writer)
    waiting = [source for source in every if source.place not in known]
    embedder = Embedder(arguments.embedding) if arguments.embedding else None
    failed = done = 0
    if waiting:
        with SweepProgress("paraphrase") as progress:
            progress.line(f"loading {model.name} to write {len(waiting):,} paraphrases")
            with alone.loaded() as engine, PartWriter(out, f"part-{new_id(now())}", PARAPHRASES) as parts:
                cosine = embedder.cosine if embedder else None
                for made in put_in_other_words(engine, model, waiting, sampling, cosine, arguments.least_cosine):
                    if made.row is None:
                        failed += 1
                        progress.line(f"warning: not written: {' '.join(made.source.place[:2])}: {made.error}")
                    else:
                        parts.add({**made.row, **writer})
                    done += 1
                    progress.update([ModelState(model.name, done, len(waiting), failed, "running")])
    write(counts(out), arguments.format)
    return int(failed > alone.config.max_error_share * len(waiting))


def _sampling(config: RunConfig) -> Sampling:
    """The one way in which tokens are drawn."""
    from taboo_cluster.sweep import samplings

    greedy, drawn = samplings(config.sampling)
    if len(greedy + drawn) > 1:
        raise UserError("a writer draws in one way: one of sampling.temperatures, one of sampling.seeds")
    return (greedy + drawn)[0]


def _sources(config: RunConfig, kinds: list[str] | tuple[str, ...]) -> list[Source]:
    """Every question of every kind; the items that a sweep with this limit and seed draws."""
    from taboo_cluster.compose import build_benchmark
    from taboo_cluster.paraphrases.writing import Source
    from taboo_cluster.perturbations.stack import has
    from taboo_cluster.sweep import subsample

    found = []
    for name in config.benchmarks:
        items = subsample(build_benchmark(config, name).items(), config.limit, config.seed)
        if has(items[0], "code"):
            raise UserError(f"{name} asks for programs: its questions are code and have no paraphrase")
        found += [Source(kind, name, item) for kind in kinds for item in items]
    return found
