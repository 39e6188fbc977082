"""Items with options to choose from: rows to items, and what an item shows of its options.

A row whose options or answer cannot be used (no options, a blank one, an answer beyond them, two answers to one
question) is an item all the same: each of its trials becomes a record with the error `item_invalid`. It is neither
wrong nor left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from taboo_cluster.benchmarks.choices import LETTERS, lettered, shuffled_order
from taboo_cluster.errors import TrialError
from taboo_cluster.hashing import stable_hash, stable_rng
from taboo_cluster.trial import Item


def choice_item(
    question: str,
    choices: Any,
    answer: Any,
    split: str,
    where: str,
    group: str | None = None,
    cluster_id: str | None = None,
) -> Item:
    """An item whose `extras` hold its choices, and its `problem` where it cannot be asked.

    Its id is a hash of group, question and options, so that neither place nor order in a file matters.

    Args:
        question: without its options.
        choices: the options' texts, in the order to be shown.
        answer: index of the right one, from 0.
        split: of the data set.
        where: what a message calls the row.
        group: recorded as item_group.
        cluster_id: None for the item itself.
    """
    question = question.strip()
    problem = _problem(choices, answer)
    shown = [str(choice).strip() for choice in choices] if isinstance(choices, list) else []
    item_id = stable_hash(group, question, shown)[:16]
    gold = str(answer) if problem else LETTERS[int(str(answer))]
    extras: dict[str, Any] = {"choices": shown} | ({"problem": f"{where}: {problem}"} if problem else {})
    return Item(item_id, question, gold, split, cluster_id or item_id, group, extras)


def _problem(choices: Any, answer: Any) -> str | None:
    if not isinstance(choices, list) or not choices:
        return "the question has no options"
    if not 2 <= len(choices) <= len(LETTERS):
        return f"the question has {len(choices)} options, not 2 to {len(LETTERS)}"
    if not all(isinstance(choice, str) and choice.strip() for choice in choices):
        return "an option is blank or not text"
    if type(answer) is not int or not 0 <= answer < len(choices):
        return f"the answer {answer!r} is not an index from 0 to {len(choices) - 1}"
    return None


def mixed(item: Item) -> Item:
    """The item with its options in an order of its own, for data sets that list the right one first.

    The order follows from the item alone: it is the same in every run.
    """
    if "problem" in item.extras:
        return item
    choices = checked_choices(item)
    order = shuffled_order(choices, stable_rng("options", item.item_id))
    gold = LETTERS[order.index(LETTERS.index(item.gold))]
    return replace(item, gold=gold, extras={**item.extras, "choices": [choices[index] for index in order]})


def unique_choices(items: Iterable[Item]) -> list[Item]:
    """Each item once, by id, those with a problem last; a question with two answers has one."""
    known: dict[str, dict[str, Item]] = {}
    for item in items:
        known.setdefault(item.item_id, {}).setdefault(item.gold, item)
    found = [next(iter(same.values())) if len(same) == 1 else _contradicted(same) for same in known.values()]
    return sorted(found, key=lambda item: ("problem" in item.extras, item.item_id))


def _contradicted(same: Mapping[str, Item]) -> Item:
    golds, item = "/".join(sorted(same)), next(iter(same.values()))
    problem = f"its rows give different answers, {golds}: {item.question[:80]!r}"
    return replace(item, gold=golds, extras={**item.extras, "problem": problem})


def check_item(item: Item) -> None:
    """Raise TrialError `item_invalid` for an item that cannot be asked."""
    if "problem" in item.extras:
        raise TrialError("item_invalid", item.extras["problem"])


def checked_choices(item: Item) -> Sequence[str]:
    """The options of an item, in the order shown; raises TrialError `item_invalid` where it cannot be asked."""
    check_item(item)
    choices: Sequence[str] = item.extras["choices"]
    return choices


def labels(item: Item) -> Sequence[str]:
    """The letter of each option, in the order shown: A, B, C ... unless `extras` has other `labels`."""
    found: Sequence[str] = item.extras.get("labels", LETTERS[: len(item.extras["choices"])])
    return found


def shown(item: Item, question: str) -> str:
    """The question, and its options one a line; raises TrialError `item_invalid` where it cannot be asked."""
    return f"{question}\n{lettered(checked_choices(item), labels(item))}"


def by_letter(item: Item) -> list[str]:
    """The options' texts in the order of their letters."""
    return [choice for _, choice in sorted(zip(labels(item), item.extras["choices"], strict=True))]
