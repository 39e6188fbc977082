"""triviaqa: trivia questions answered in a few words (Joshi et al. 2017), from the hub or from local JSONL.

The canonical answer and its aliases are kept apart. Aliases come from page titles and are noisy; `matched_alias`
names the alias that made an answer right, and is null where the canonical answer did. So accuracy by the canonical
answer alone is

    avg(CASE WHEN correct AND matched_alias IS NULL THEN 1 ELSE 0 END)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from taboo_cluster.benchmarks.base import BENCHMARKS, BenchmarkEntry, Prompt, Verdict
from taboo_cluster.benchmarks.few_shot import COT, DIRECT, Example, check_condition, checked, few_shot, instruction
from taboo_cluster.benchmarks.outcome import verdict
from taboo_cluster.benchmarks.short_answer import find_answer, is_no_answer, normalise, place_of, readings
from taboo_cluster.benchmarks.sources import DataSet, Row, SplitOptions
from taboo_cluster.errors import UserError
from taboo_cluster.hashing import stable_hash
from taboo_cluster.trial import Item

DATA = DataSet("mandarjoshi/trivia_qa", "rc.nocontext", ("README.md", "rc.nocontext/*"))
HIDDEN = "<unk>"
"""Stands for the answers of the test split, which are not public."""

SHOTS = (
    Example(
        "Into which sea does the river of Prague carry its water in the end?",
        "The river of Prague is the Vltava. It joins the Elbe, which ends near Hamburg in the North Sea.",
        "North Sea",
    ),
    Example(
        "Which of the gases in the air does a candle flame use up?",
        "A flame is the burning of wax vapour. Burning takes oxygen from the air and leaves the nitrogen.",
        "Oxygen",
    ),
    Example(
        "How many faces do two dice have together?",
        "A die is a cube and has six faces. Two of them have twice as many: twelve.",
        "Twelve",
    ),
    Example(
        "What does one call the daughter of one's father's brother?",
        "A father's brother is an uncle. An uncle's child is a cousin.",
        "Cousin",
    ),
)
"""Worked examples, written for this project: in no data set."""


@dataclass(frozen=True)
class Options(SplitOptions):
    """Settings of triviaqa; `path`: JSONL file, or folder with `<split>.jsonl`."""

    split: str = "validation"
    max_tokens: int = 256


class TriviaQa:
    """Short answers, right where they equal the canonical answer or an alias once both are normalised."""

    name = "triviaqa"
    scorer_version = "triviaqa-1"
    styles: tuple[str, ...] = (DIRECT, COT)
    default_shots = 2
    chance: float | None = None

    def __init__(self, options: Options) -> None:
        self.max_tokens = options.max_tokens
        self._stop = checked(self.name, options.max_tokens, options.stop)
        self._options = options

    @cached_property
    def _items(self) -> Sequence[Item]:
        options = self._options
        rows = DATA.rows(options.path, options.split, options.revision)
        return _merged(_item(row, options.split) for row in rows)

    def items(self) -> Sequence[Item]:
        """The items, in order of their ids. Raises UserError for a missing, empty or malformed source."""
        return self._items

    def prompt(self, item: Item, question: str, style: str, n_shots: int) -> Prompt:
        """The question, then the answer, in style cot after some reasoning. Raises UserError."""
        check_condition(self.name, self.styles, style, n_shots, len(SHOTS))
        return few_shot(question, SHOTS[:n_shots], style, instruction(style, "the answer in a few words"), self._stop)

    def score(self, item: Item, completion: str, finish_reason: str) -> Verdict:
        """The answer against the canonical one, then against the aliases."""
        found = find_answer(completion, "first_line")
        if found is None:
            return verdict(completion, finish_reason, answer=None, final=False, score=0.0)
        canonical = normalise(item.gold)
        aliases = {normalise(alias): alias for alias in reversed(item.extras["aliases"])}
        read = readings(found.words)
        given = [normalise(reading.text) for reading in read]
        right = canonical if canonical in given else next((form for form in given if form in aliases), None)
        answer = right or (None if is_no_answer(found.text) else given[0])
        return verdict(
            completion,
            finish_reason,
            answer=answer,
            final=found.complete,
            score=float(right is not None),
            matched_alias=None if right in (None, canonical) else aliases[right],
            details={"form": found.form},
            span=None if answer is None else place_of(read[given.index(answer)]),
        )

    def canaries(self) -> tuple[tuple[Item, str, bool], ...]:
        """The canonical answer is correct; an empty text and the answer's denial are not."""
        item = self.items()[0]
        return ((item, f"Answer: {item.gold}", True), (item, "", False), (item, f"Answer: not {item.gold}", False))


def _item(row: Row, split: str) -> Item:
    """From the hub's columns (question, answer with value and aliases) or from context, answer, aliases."""
    answer = row.values.get("answer")
    if isinstance(answer, Mapping):
        question, values = row.text("question"), answer
        gold = Row(f"{row.where}, answer", answer).text("value")
    else:
        question = row.text("question" if "question" in row.values else "context")
        question = question.strip().removeprefix("Question:").removesuffix("Answer:")
        gold, values = row.text("answer"), row.values
    if gold == HIDDEN:
        raise UserError(f"{row.where}: the answer is not public; take another split (benchmark.triviaqa.split)")
    if not normalise(gold):
        raise UserError(f"{row.where}: the answer {gold!r} is nothing but punctuation")
    question = question.strip()
    item_id = stable_hash(question)[:16]
    return Item(item_id, question, gold.strip(), split, item_id, extras={"aliases": _aliases(row, values)})


def _aliases(row: Row, values: Mapping[str, Any]) -> list[str]:
    """As written, without those that would match an empty answer."""
    aliases = values.get("aliases") or []
    if not isinstance(aliases, list) or not all(isinstance(alias, str) for alias in aliases):
        raise UserError(f"{row.where}: 'aliases' must be a list of texts, not {str(aliases)[:80]}")
    return sorted({alias for alias in aliases if normalise(alias)})


def _merged(items: Iterable[Item]) -> list[Item]:
    """Each question once, by id. Where its rows differ the alphabetically first canonical answer stands, the others
    and all aliases are its aliases."""
    known: dict[str, list[Item]] = {}
    for item in items:
        known.setdefault(item.item_id, []).append(item)
    return [_joined(same) for _, same in sorted(known.items())]


def _joined(same: Sequence[Item]) -> Item:
    first = min(same, key=lambda item: item.gold)
    aliases = {alias for item in same for alias in [*item.extras["aliases"], item.gold]}
    return Item(
        first.item_id,
        first.question,
        first.gold,
        first.split,
        first.cluster_id,
        extras={"aliases": sorted(aliases)},
    )


BENCHMARKS.register("triviaqa")(BenchmarkEntry(Options, TriviaQa))
