"""What is to be done of one model: its trials in blocks, its two phases, and how far it is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from actors.task import Ref
from taboo_cluster.benchmarks.base import Benchmark
from taboo_cluster.config import RunConfig
from taboo_cluster.labels import labels
from taboo_cluster.pending import Pending, Tally, pending, tally
from taboo_cluster.perturbations.stack import TextKey
from taboo_cluster.records.reader import recorded
from taboo_cluster.runner import BlockResult, Counts
from taboo_cluster.sweep import CHUNK, Block, Cell, blocks, trials
from taboo_cluster.trial import Item, ResolvedModel, Trial

BLOCK = 256
"""Trials handed to an actor at once."""
LEAST_TRIALS = 20
"""Trials that must be done before a share of errors says anything."""


class ModelWork:
    """One model's trials: hands out blocks, counts what comes back.

    Work goes in rounds. When a round is over the records on disk say what is left: trials lost with a killed actor,
    and transient errors that may be tried again.

    Attributes:
        model: the model.
        index: its place in the config.
        label: its name, with revision and precision where the run has it in several.
        benchmarks: by name.
        total: trials of the sweep.
        problem: why the model was given up; None while it goes well.
    """

    def __init__(
        self,
        config: RunConfig,
        index: int,
        model: ResolvedModel,
        cells: Sequence[Cell],
        benchmarks: Mapping[str, Benchmark],
        items: Mapping[str, Sequence[Item]],
        run_dir: str,
        stale: frozenset[str] = frozenset(),
    ) -> None:
        self.index = index
        self.label = labels(config.models)[index]
        self.benchmarks = benchmarks
        self.model = model
        self.problem: str | None = None
        self.errors: Counter[str] = Counter()
        self.examples: dict[str, str] = {}
        self._config = config
        self._engine = config.engine["name"]
        self._numbers = {self._key(cell): n for n, cell in enumerate(cells) if cell.model == index}
        self._cells = [cell for cell in cells if cell.model == index]
        self._items = items
        perturbed = any(cell.condition.perturbations for cell in self._cells)
        self._places = (
            {(name, item.item_id): place for name, of in items.items() for place, item in enumerate(of)}
            if perturbed
            else {}
        )
        self._run_dir = run_dir
        self.total = sum(len(items[cell.benchmark]) for cell in self._cells)
        self._in_flight = 0
        self._finished = Counts()
        self._rounds = 0
        self._begin_round(permanent=config.retry == "permanent", stale=stale)

    @staticmethod
    def _key(cell: Cell | Trial) -> tuple[object, ...]:
        return cell.benchmark, cell.condition, cell.replicate

    def _begin_round(self, permanent: bool = False, stale: frozenset[str] = frozenset()) -> None:
        known = recorded(self._run_dir, self.model.name)
        self.known: Pending = pending(known, max_attempts=self._config.max_attempts, permanent=permanent, stale=stale)
        every = (trial for _, trial in trials(self.model, self._engine, self._cells, self._items, self._config.seed))
        self.tally: Tally = tally(every, self.known, self.total)
        self._finished = Counts()
        self._blocks = self._make_blocks() if self.tally.missing else iter(())
        self._next = next(self._blocks, None)
        self._phase = self._next.phase if self._next else 0

    def _make_blocks(self) -> Iterator[Block]:
        return blocks(self.model, self._engine, self._cells, self._items, self._config.seed, self.known.settled, BLOCK)

    @property
    def redoes(self) -> bool:
        """Some of the trials to be done have a record."""
        return bool(self.known.attempts)

    @property
    def done(self) -> int:
        """Trials that are settled or done since the round began."""
        return self.tally.settled + self._finished.done

    @property
    def failed(self) -> int:
        """Of the trials done: in error."""
        return self.tally.failed + self._finished.failed

    @property
    def over(self) -> bool:
        """Nothing is left to hand out or to wait for."""
        return self.problem is not None or (self._next is None and not self._in_flight)

    @property
    def left(self) -> int:
        """Trials that are not handed out or done."""
        return max(0, self.total - self.done - self._in_flight * BLOCK)

    def next_block(self) -> tuple[list[Ref], list[TextKey]] | None:
        """References to the next trials and the texts they need; None where these wait for the phase before."""
        block = self._next
        if block is None or self.problem or (block.phase != self._phase and self._in_flight):
            return None
        self._phase = block.phase
        self._next = next(self._blocks, None)
        self._in_flight += 1
        return [self._ref(trial) for trial in block.trials], self._texts(block)

    def coming(self) -> list[TextKey]:
        """The texts that the block after needs."""
        return self._texts(self._next) if self._next else []

    def _texts(self, block: Block) -> list[TextKey]:
        found: dict[TextKey, None] = {}
        for trial in block.trials:
            condition = trial.condition
            if condition.perturbations:
                chunk = self._places[trial.benchmark, trial.item.item_id] // CHUNK
                seed = condition.perturbation_seed or 0
                found[TextKey(trial.benchmark, condition.perturbations, seed, chunk)] = None
        return list(found)

    def _ref(self, trial: Trial) -> Ref:
        attempt = self.known.attempts.get(trial.trial_id, 1) if self.known.attempts else 1
        return Ref(self._numbers[self._key(trial)], trial.item.item_id, attempt)

    def returned(self, result: BlockResult) -> None:
        """Count a block that came back."""
        self._in_flight -= 1
        for counts in result.counts.values():
            self._finished.add(counts)
        self.errors.update(result.errors)
        self.examples = result.examples | self.examples
        share = self._config.max_error_share
        if self.done >= LEAST_TRIALS and self.failed > share * self.done:
            self.problem = (
                f"{self.failed} of {self.done} trials failed, more than max_error_share={share:g} allows: "
                f"{self.commonest_error()}"
            )

    def lost(self) -> None:
        """A block did not come back: what of it is missing on disk goes into the next round."""
        self._in_flight -= 1

    def again(self) -> bool:
        """Begin another round; False where nothing is left, or nothing more can be got done (then `problem` is set)."""
        self._rounds += 1
        self._begin_round()
        if self.tally.missing and self._rounds > self._config.max_attempts + 1:
            self.problem = f"{self.tally.missing} trials have no record after {self._rounds} rounds"
        return bool(self.tally.missing) and self.problem is None

    def commonest_error(self) -> str:
        """The error_type seen most in this launch, with one of its messages."""
        if not self.errors:
            return "in an earlier launch"
        kind, count = self.errors.most_common(1)[0]
        return f"{kind} ({count}): {self.examples[kind]}"

    def recount(self) -> None:
        """Count again what is on disk."""
        self._begin_round()

    def first_missing(self) -> Trial | None:
        """The first trial, in the order of the sweep, that has no record or is to be redone."""
        self._begin_round()
        if self._next is None:
            return None
        trial = self._next.trials[0]
        return replace(trial, attempt=self.known.attempts.get(trial.trial_id, 1))
