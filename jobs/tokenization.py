"""The run's table `tokenization` on its way: one actor on a CPU core, beside the models or before them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import ray

from actors.tokenization import TokenizationActor
from jobs.failures import failure
from taboo_cluster import compose, tokenized
from taboo_cluster.benchmarks.base import Benchmark
from taboo_cluster.config import RunConfig
from taboo_cluster.launch import Launch
from taboo_cluster.sweep import subsample
from taboo_cluster.trial import ResolvedModel

RESTARTS = 2
"""Times the actor may be started again."""
POLL_S = 0.5


class Tokenizers:
    """Has every distinct tokenizer of a run measured, where its config asks for that.

    What goes wrong with one is a warning, never the end of the sweep. Those of served models are out of reach.

    Args:
        config: the run's.
        models: the run's.
        launch: this one.
        say: shows a line to the user.
    """

    def __init__(
        self, config: RunConfig, models: Sequence[ResolvedModel], launch: Launch, say: Callable[[str], None]
    ) -> None:
        entry, _ = compose.engine_options(config)
        wanted = config.tokenization and not entry.served
        sources = {(model.source, model.revision): model for model in models} if wanted else {}
        self._models = [*sources.values()][:1] if entry.own_tokenizer else [*sources.values()]
        self._make = (compose.to_dict(config), launch.run_dir, launch.launch_id)
        self._say = say
        self._actor: Any = None
        self._calls: dict[Any, ResolvedModel] = {}

    def start(self) -> None:
        """Begin; returns at once."""
        if self._models:
            actor_class: Any = TokenizationActor
            options = {"num_cpus": 0, "max_restarts": RESTARTS, "max_task_retries": RESTARTS}
            self._actor = actor_class.options(**options).remote(*self._make)
            self._calls = {self._actor.measure.remote(model): model for model in self._models}

    def wait(self, tick: Callable[[], None], stopping: Callable[[], bool]) -> bool:
        """Return when all is measured, or the sweep is to stop: true where nothing is left.

        Args:
            tick: called now and then meanwhile.
            stopping: true once the sweep is to end early.
        """
        while self._calls and not stopping():
            ready, _ = ray.wait(list(self._calls), num_returns=1, timeout=POLL_S)
            for call in ready:
                self._back(call, self._calls.pop(call))
            tick()
        return not self._calls

    def close(self) -> None:
        """End the actor."""
        if self._calls:
            self._say("warning: tokenization is not finished: the same command goes on with it")
        if self._actor is not None:
            ray.kill(self._actor)
        self._actor, self._calls = None, {}

    def _back(self, call: Any, model: ResolvedModel) -> None:
        try:
            ray.get(call)
        except Exception as error:  # whatever a tokenizer or a text of its makes go wrong, the records are there
            self._say(f"warning: tokenization of {model.name} was not measured: {failure(error, True).message}")


def unfinished(config: RunConfig, run_dir: str, benchmarks: Mapping[str, Benchmark]) -> bool:
    """Whether a tokenizer that the run's records name has texts left to measure, where the config asks for that.

    Args:
        config: the run's.
        run_dir: of the run.
        benchmarks: of the run, by name.
    """
    if not config.tokenization or compose.engine_options(config)[0].served:
        return False
    tokenizers = tokenized.recorded_tokenizers(run_dir, {model.name for model in config.models})
    for name, benchmark in benchmarks.items():
        items = subsample(benchmark.items(), config.limit, config.seed)
        wanted = tokenized.versions(config, benchmark)
        if any(tokenized.unmeasured(run_dir, tokenizer, name, items, wanted) for tokenizer in tokenizers):
            return True
    return False
