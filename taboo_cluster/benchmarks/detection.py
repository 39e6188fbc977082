"""Which lines differ between two versions of a document? What the benchmarks `absence` and `needle` share.

METHODS section 3; Text Uncanny Valley, section 3.3. An item's question is the whole document, its gold answer the
target lines; what a model sees is made of the item's `Pages`, cut to what fits in the model's context.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from taboo_cluster.benchmarks.base import Prompt, Verdict
from taboo_cluster.benchmarks.document_sources import DOMAINS, DocumentOptions, load_documents
from taboo_cluster.benchmarks.few_shot import COT, DIRECT, check_condition, checked
from taboo_cluster.benchmarks.line_lists import SCORER_VERSION, read_lines, score_lines
from taboo_cluster.benchmarks.line_marks import normalised
from taboo_cluster.benchmarks.outcome import verdict, without_reasoning
from taboo_cluster.documents import PAGES, Document, Pages, Task, bare_line
from taboo_cluster.errors import SKIPPED, TrialError, UserError
from taboo_cluster.fragmentation import EVERY_SLOT
from taboo_cluster.hashing import stable_hash
from taboo_cluster.trial import Item

MOST_SHOTS = 4
"""Documents of each domain that are kept for worked examples, no item among them."""

EXAMPLE_LINES = 20
"""Lines of a worked example: the beginning of its document."""


@dataclass(frozen=True)
class Options(DocumentOptions):
    """Settings of absence and needle."""

    target_rate: float = 0.1
    """Probability of a line to be removed, or to be followed by an added one; at least one is."""
    target_seed: int = 0
    """Draws the target lines; fragmentation has a seed of its own."""
    max_tokens: int = 4096
    """Most tokens of a completion; a document is cut where its answer would take more."""
    stop: list[str] | str | None = None
    """Strings that end a completion; null takes an invented next document for base models, none for aligned ones."""


@dataclass(frozen=True)
class Wording:
    """How a task is put into words."""

    task: Task
    change: str
    """What became of the second version."""
    asked: str
    """The question."""
    heading: str
    """What a base model goes on from."""


HEADINGS = ("<first version>", "Below are two versions")
"""What an invented next document begins with."""

STOP = tuple(f"\n{heading}" for heading in HEADINGS)
"""Ends a base model's completion: an invented next document."""

_FORM = {
    DIRECT: "Write these lines alone, each on a line of its own, exactly as they stand there. If there is none, write "
    "none.",
    COT: "First compare the two versions, part by part. Then write these lines between <lines> and </lines>, each on a "
    "line of its own, exactly as they stand there; nothing between the two if there is none.",
}


class Detection:
    """A benchmark that asks for the lines in which two versions of a document differ.

    `fit` and `cut` make a document short enough for a model; see `fitting`.
    """

    scorer_version = SCORER_VERSION
    styles: tuple[str, ...] = (DIRECT, COT)
    default_shots = 0
    chance: float | None = None

    def __init__(self, name: str, wording: Wording, options: Options) -> None:
        self.name = name
        self.max_tokens = options.max_tokens
        self._stop = checked(name, options.max_tokens, options.stop)
        self._wording, self._options = wording, options
        if not 0 <= options.target_rate <= 1:
            raise UserError(f"benchmark.{name}.target_rate is a probability from 0 to 1, not {options.target_rate:g}")
        if options.n < 1:
            raise UserError(f"benchmark.{name}.n is {options.n}; it has to be 1 or more")
        if not options.domains or len(set(options.domains)) < len(options.domains):
            raise UserError(f"benchmark.{name}.domains names each domain once, not {options.domains}")

    @cached_property
    def _documents(self) -> Mapping[str, tuple[list[Document], int]]:
        return {domain: load_documents(self._options, domain, MOST_SHOTS) for domain in self._options.domains}

    @cached_property
    def _items(self) -> Sequence[Item]:
        return [self._item(pages) for domain in self._documents for pages in self._pages(domain, examples=False)]

    @cached_property
    def _examples(self) -> Mapping[str, Sequence[Pages]]:
        return {
            domain: [pages.cut(min(EXAMPLE_LINES, pages.total)) for pages in self._pages(domain, examples=True)]
            for domain in self._documents
        }

    @property
    def notes(self) -> Sequence[str]:
        """Documents that are left out as too short."""
        return [
            f"{self.name}: {short} documents of {domain} are left out, with fewer than {self._options.min_lines} lines "
            "or no target"
            for domain, (_, short) in self._documents.items()
            if short
        ]

    def items(self) -> Sequence[Item]:
        """One for each document, by domain. Raises UserError for a missing, empty or malformed source."""
        return self._items

    def prompt(self, item: Item, question: str, style: str, n_shots: int) -> Prompt:
        """Both versions of the document, worked examples of other documents first, fragmented alike.

        `question` is not read: what is shown is the item's `Pages`. Raises UserError for too many examples.
        """
        pages: Pages = item.extras[PAGES]
        examples = self._examples[pages.document.domain][:MOST_SHOTS] if n_shots else ()
        check_condition(self.name, self.styles, style, n_shots, len(examples))
        shown = [replace(example, fragmentations=pages.fragmentations) for example in examples[:n_shots]]
        shots = [(self._asked(example, style), _answer(example, style)) for example in shown]
        asked = self._asked(pages, style)
        heading = self._wording.heading
        return Prompt(
            shots=tuple(shots),
            user=asked,
            plain="\n\n".join([*(f"{user}\n\n{heading}\n{answer}" for user, answer in shots), f"{asked}\n\n{heading}"]),
            stop=STOP if self._stop is None else self._stop,
            chat_stop=self._stop or (),
        )

    def score(self, item: Item, completion: str, finish_reason: str) -> Verdict:
        """Lines named against target lines, as multisets, without case; `score` is the document's F1."""
        pages: Pages = item.extras[PAGES]
        versions = pages.versions
        absence = self._wording.task == "absence"
        present = versions.second if absence else versions.first
        known = frozenset(map(normalised, (*versions.first, *versions.second)))
        named = read_lines(completion, known, finish_reason == "length", HEADINGS)
        found = score_lines(named or (), versions.targets, present, without_reasoning(completion))
        return verdict(
            completion,
            finish_reason,
            answer=None if named is None else "\n".join(named),
            final=named is not None,
            score=found.f1,
            lines={"total": pages.total, "kept": pages.used, **found.numbers},
            details={"lines": found.per_line},
        )

    def judged_as(self, item: Item, question: str) -> tuple[str, str]:
        """For a judge: both versions with the question, and the target lines."""
        return self._asked(item.extras[PAGES], DIRECT), item.gold

    def whole(self, item: Item) -> int:
        """Lines of the item's document."""
        pages: Pages = item.extras[PAGES]
        return pages.total

    def longest(self, item: Item) -> Item:
        """The item with a space at every slot."""
        pages: Pages = item.extras[PAGES]
        return replace(pages, fragmentations=(EVERY_SLOT,)).of(item)

    def cut(self, item: Item, lines: int) -> Item:
        """The item with the first lines of its document alone.

        Raises TrialError (`document_skipped`) where fewer than min_lines are left, or no target.
        """
        pages: Pages = item.extras[PAGES]
        if lines == pages.total:
            return item
        made = pages.cut(lines).of(item)
        least = self._options.min_lines
        if lines < least or not made.gold:
            raise TrialError(
                SKIPPED,
                f"{lines} lines of {pages.total} fit in the model's context; at least {least} are to be shown, with a "
                "target among them",
            )
        return made

    def canaries(self) -> tuple[tuple[Item, str, bool], ...]:
        """The target lines are correct; an empty text, none of them and one line too many are not."""
        item = self.items()[0]
        return ((item, item.gold, True), (item, "", False), (item, "none", False), (item, f"{item.gold}\n-?-", False))

    def _asked(self, pages: Pages, style: str) -> str:
        versions, wording = pages.versions, self._wording
        first, second = "\n".join(versions.first), "\n".join(versions.second)
        return (
            f"Below are two versions of {DOMAINS[pages.document.domain].kind}. The second is a copy of the first "
            f"{wording.change}.\n\n<first version>\n{first}\n</first version>\n\n<second version>\n{second}\n"
            f"</second version>\n\n{wording.asked} {_FORM[style]}"
        )

    def _item(self, pages: Pages) -> Item:
        document = pages.document
        item_id = stable_hash(document.name, self._wording.task, pages.seed, pages.target_rate)[:16]
        blank = Item(item_id, "", "", "test", cluster_id=document.name, group=document.domain)
        return pages.of(blank)

    def _pages(self, domain: str, *, examples: bool) -> list[Pages]:
        """The documents of a domain, or those kept for worked examples; lines are added from the one that follows."""
        documents, _ = self._documents[domain]
        kept = min(MOST_SHOTS, len(documents) // 5)
        items = min(self._options.n, len(documents) - kept)
        chosen = range(items, items + kept) if examples else range(items)
        options, task = self._options, self._wording.task
        return [
            Pages(task, documents[n], options.target_seed, options.target_rate, self._other(documents, n))
            for n in chosen
        ]

    def _other(self, documents: Sequence[Document], place: int) -> Document | None:
        """The next document that has a line to add which this one has not."""
        if self._wording.task == "absence":
            return None
        own = {bare_line(line) for line in documents[place].lines}
        for step in range(1, len(documents)):
            other = documents[(place + step) % len(documents)]
            lines = zip(other.lines, other.candidates(), strict=True)
            if any(able and bare_line(line) not in own for line, able in lines):
                return other
        raise UserError(f"{self.name}: no other document of {documents[place].domain} has a line to add")


def _answer(pages: Pages, style: str) -> str:
    lines = "\n".join(pages.versions.targets)
    return f"<lines>\n{lines}\n</lines>" if style == COT else lines or "none"
