"""What an actor reports to Ray's metrics: the names that the dashboards draw."""

from __future__ import annotations

from ray.util.metrics import Counter

from taboo_cluster.runner import BlockResult

TAGS = ("model", "benchmark")


class ModelMetrics:
    """Counters of one model's work, by benchmark. Rates (tokens/s) are taken from the counters."""

    def __init__(self, model: str) -> None:
        self._model = model
        self._done = Counter("taboo_trials_done", "Trials recorded, errors included", TAGS)
        self._failed = Counter("taboo_trials_failed", "Trials recorded with an error", TAGS)
        self._tokens = Counter("taboo_tokens_generated", "Tokens generated", TAGS)
        self._interventions = Counter("taboo_interventions", "Steps where tokens were masked", TAGS)
        self._bits = Counter("taboo_surprisal_bits", "Injected surprisal, in bits", TAGS)
        self._starts = Counter("taboo_engine_starts", "Engines loaded: restarts are those after the first", ("model",))

    def started(self) -> None:
        """An engine is loaded."""
        self._starts.inc(1, {"model": self._model})

    def add(self, result: BlockResult) -> None:
        """Add a block's numbers."""
        for benchmark, counts in result.counts.items():
            tags = {"model": self._model, "benchmark": benchmark}
            for counter, value in (
                (self._done, counts.done),
                (self._failed, counts.failed),
                (self._tokens, counts.tokens),
                (self._interventions, counts.interventions),
                (self._bits, counts.bits),
            ):
                if value > 0:
                    counter.inc(value, tags)
