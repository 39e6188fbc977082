"""One model in memory for the stability probe: reads its records, writes the run's table `stability`."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from itertools import takewhile

import ray
from transformers import PreTrainedTokenizerBase

from actors import devices
from actors.life import Life
from actors.loaded import same_model
from actors.task import Task
from taboo_cluster import compose, launch
from taboo_cluster.engines.transformers import load_model
from taboo_cluster.models import load_tokenizer
from taboo_cluster.records.schema import TABLES
from taboo_cluster.records.writer import PartWriter
from taboo_cluster.rows import Row
from taboo_cluster.stability import trials
from taboo_cluster.stability.probe import Case, Probe, Probed
from taboo_cluster.taboo.pieces import Pieces, read_pieces


@ray.remote(concurrency_groups={"control": 1})  # type: ignore[call-overload]  # missing in Ray's annotations
class ProbeActor:
    """Probes what is left of one model's trials, then ends."""

    def __init__(self, task: Task) -> None:
        self._task = task
        self._done = 0
        self._stopped = threading.Event()

    def __repr__(self) -> str:
        return f"ProbeActor({self._task.label})"

    def run(self) -> int:
        """Probe every trial that is not in the table yet; returns how many that were.

        Begins anew where a life before this one ended. Raises UserError for a model that cannot be probed.
        """
        task = self._task
        devices.check(task.gpus)
        launch.check_nonce(task.run_dir, task.launch_id)
        config = compose.from_dict(task.config)
        model, settings = same_model(task, config), config.stability
        life = Life(task)
        wanted = trials.to_probe(task.run_dir, model) - trials.probed(task.run_dir, settings)
        tokenizer = load_tokenizer(model)
        pieces = read_pieces(tokenizer)
        folder, stem = f"{task.run_dir}/tables/{trials.TABLE}", f"part-{task.launch_id}-{life.worker_id}"
        probe = Probe(
            load_model(model, task.hardware),
            model.name,
            epsilon=settings.epsilon,
            top_k=settings.top_k,
            batch_tokens=settings.batch_tokens,
        )
        with PartWriter(folder, stem, TABLES[trials.TABLE]) as writer:
            measured = (
                pair
                for rows in trials.left(task.run_dir, model, wanted)
                for pair in probed(rows, probe, tokenizer, pieces)
            )
            for row, found in takewhile(lambda _: not self._stopped.is_set(), measured):
                writer.add(trials.stability_row(row, model, settings, found))
                self._done += 1
        life.end()
        return self._done

    @ray.method(concurrency_group="control")
    def progress(self) -> int:
        """Trials probed so far in this life."""
        return self._done

    @ray.method(concurrency_group="control")
    def stop(self) -> None:
        """End soon, what is probed on disk."""
        self._stopped.set()


def probed(
    rows: Sequence[Row], probe: Probe, tokenizer: PreTrainedTokenizerBase, pieces: Pieces
) -> Iterator[tuple[Row, Probed | str]]:
    """Each record with what was measured of it, or why nothing was."""
    by_trial = {row["trial_id"]: row for row in rows}
    cases = {trial_id: trials.case(row, tokenizer, pieces) for trial_id, row in by_trial.items()}
    yield from ((by_trial[trial_id], why) for trial_id, why in cases.items() if isinstance(why, str))
    known = {trial_id: case for trial_id, case in cases.items() if isinstance(case, Case)}
    yield from ((by_trial[trial_id], found) for trial_id, found in probe.run(known))
