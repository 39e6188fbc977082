"""Grade-school word problems with a worked solution and one number as answer: prompts and scoring of the GSM family."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from taboo_cluster.benchmarks.base import Prompt, Verdict
from taboo_cluster.benchmarks.few_shot import COT, DIRECT, STOP, check_condition, checked, zero_shot
from taboo_cluster.benchmarks.numeric import SCORER_VERSION, score_number
from taboo_cluster.errors import UserError
from taboo_cluster.hashing import stable_hash
from taboo_cluster.trial import Item

INSTRUCTIONS = {
    COT: "Reason step by step. Write the answer on the last line as #### followed by the number alone.",
    DIRECT: "Reply with one line: #### followed by the number alone.",
}
"""By prompt style, where worked examples show the form."""

SHOTS = (
    (
        "A bakery fills 12 trays with 15 rolls each. By noon 97 rolls are sold, and 8 of the rest are given away. "
        "How many rolls are left?",
        "The bakery makes 12 * 15 = 180 rolls.\nAfter the sales there are 180 - 97 = 83 rolls.\n"
        "After the gift there are 83 - 8 = 75 rolls.\n#### 75",
    ),
    (
        "Nora cycles 6 miles to work and the same way back, 5 days a week. Her tires last 1,500 miles. "
        "How many weeks do her tires last?",
        "A day has 6 * 2 = 12 miles.\nA week has 12 * 5 = 60 miles.\nThe tires last 1500 / 60 = 25 weeks.\n#### 25",
    ),
    (
        "Three notebooks cost $4.50 and a pen costs $2. Omar buys 6 notebooks and 4 pens. How much does he pay?",
        "One notebook costs 4.50 / 3 = $1.50.\nSix notebooks cost 6 * 1.50 = $9.\nFour pens cost 4 * 2 = $8.\n"
        "Together he pays 9 + 8 = $17.\n#### 17",
    ),
    (
        "A tank holds 240 liters and is one third full. A pump adds 16 liters a minute. "
        "How many minutes does it take to fill the tank?",
        "The tank has 240 / 3 = 80 liters in it.\nIt lacks 240 - 80 = 160 liters.\n"
        "That takes 160 / 16 = 10 minutes.\n#### 10",
    ),
    (
        "Ines is 4 years older than Pavel. In 6 years their ages will add up to 40. How old is Pavel now?",
        "In 6 years they will be 6 * 2 = 12 years older together, so now their ages add up to 40 - 12 = 28.\n"
        "Without the 4 extra years of Ines it would be 28 - 4 = 24.\nPavel is 24 / 2 = 12 years old.\n#### 12",
    ),
    (
        "A jacket of $80 is sold at 25% off, and members get another $5 off. What does a member pay?",
        "The discount is 80 * 25 / 100 = $20.\nThe sale price is 80 - 20 = $60.\nA member pays 60 - 5 = $55.\n#### 55",
    ),
    (
        "A class of 28 pupils is split so that there are 4 more girls than boys. How many girls are in the class?",
        "Without the 4 extra girls there are 28 - 4 = 24 pupils, half of them girls: 24 / 2 = 12.\n"
        "With them there are 12 + 4 = 16 girls.\n#### 16",
    ),
    (
        "A printer makes 18 pages a minute. It printed for 25 minutes, stopped, and printed 150 more pages. "
        "How many pages did it print?",
        "First it printed 18 * 25 = 450 pages.\nIn all it printed 450 + 150 = 600 pages.\n#### 600",
    ),
)
"""Worked examples, written for this project: in no data set, so in no test split."""


class WordProblems:
    """A benchmark of word problems: fixed worked examples, exact value of the final number.

    Args:
        name: of the benchmark.
        load: makes the items when they are first asked for; see `problem_item` and `unique`.
        max_tokens: most tokens of a completion.
        stop: strings that end a completion, in place of the benchmark's own; None keeps those.
    """

    scorer_version = SCORER_VERSION
    styles: tuple[str, ...] = (COT, DIRECT)
    default_shots = 2
    chance: float | None = None

    def __init__(
        self,
        name: str,
        load: Callable[[], Sequence[Item]],
        max_tokens: int,
        stop: Sequence[str] | str | None = None,
    ) -> None:
        self.name = name
        self.max_tokens = max_tokens
        self._load = load
        self._items: Sequence[Item] | None = None
        self._stop = checked(name, max_tokens, stop)

    def items(self) -> Sequence[Item]:
        """The items, in order of their ids. Raises UserError for a missing, empty or malformed source."""
        if self._items is None:
            self._items = self._load()
        return self._items

    def prompt(self, item: Item, question: str, style: str, n_shots: int) -> Prompt:
        """`Question: ... Answer: ...` blocks for base models, turns for aligned ones. Raises UserError.

        Style `direct` leaves the reasoning out of the examples: their answers are the last lines alone.
        """
        check_condition(self.name, self.styles, style, n_shots, len(SHOTS))
        if not n_shots:
            return zero_shot(question, style, "the final number alone", self._stop)
        shots = [(asked, answer if style == COT else answer.splitlines()[-1]) for asked, answer in SHOTS[:n_shots]]
        blocks = [f"Question: {asked}\nAnswer: {answer}" for asked, answer in shots]
        return Prompt(
            shots=tuple((f"{asked}\n\n{INSTRUCTIONS[style]}", answer) for asked, answer in shots),
            user=f"{question}\n\n{INSTRUCTIONS[style]}",
            plain="\n\n".join([*blocks, f"Question: {question}\nAnswer:"]),
            stop=STOP if self._stop is None else self._stop,
            chat_stop=self._stop or (),
        )

    def score(self, item: Item, completion: str, finish_reason: str) -> Verdict:
        """Exact value of the final number; 60% counts as 60, as in GSM8K."""
        return score_number(item.gold, completion, finish_reason)

    def canaries(self) -> tuple[tuple[Item, str, bool], ...]:
        """The gold answer is correct; an empty text and another number are not."""
        item = self.items()[0]
        return ((item, f"#### {item.gold}", True), (item, "", False), (item, f"#### {item.gold}1", False))


def problem_item(question: str, gold: str, split: str, cluster_id: str | None = None) -> Item:
    """An item whose id is a hash of its question, so that neither place nor order in a file matters."""
    question = question.strip()
    item_id = stable_hash(question)[:16]
    return Item(item_id, question, gold, split, cluster_id or item_id)


def unique(items: Iterable[Item], name: str) -> list[Item]:
    """Each item once, in order of the ids. Raises UserError for a question that has two different answers."""
    known: dict[str, Item] = {}
    for item in items:
        if known.setdefault(item.item_id, item).gold != item.gold:
            other = known[item.item_id].gold
            raise UserError(f"{name}: one question has two answers, {other} and {item.gold}: {item.question[:80]!r}")
    return sorted(known.values(), key=lambda item: item.item_id)
