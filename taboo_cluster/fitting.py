"""Documents too long for a model: cut at a line, once per document and model, the same for every condition.

METHODS section 3: decided on the longest form, a space at every slot, with both copies, worked examples and the answer
counted. So a curve over p compares the same lines, and a run can be extended by any p.
"""

from __future__ import annotations

from typing import Protocol, TypeGuard

from taboo_cluster.benchmarks.base import Prompt
from taboo_cluster.errors import TrialError
from taboo_cluster.trial import Item


class OfDocuments(Protocol):
    """A benchmark whose items can be cut."""

    max_tokens: int

    def prompt(self, item: Item, question: str, style: str, n_shots: int) -> Prompt:
        """As in `benchmarks.base.Benchmark`."""
        ...

    def whole(self, item: Item) -> int:
        """Lines of the item's document."""
        ...

    def longest(self, item: Item) -> Item:
        """The item in its longest form."""
        ...

    def cut(self, item: Item, lines: int) -> Item:
        """The item with its first lines alone; raises TrialError (`document_skipped`) where these are too few."""
        ...


def of_documents(benchmark: object) -> TypeGuard[OfDocuments]:
    """Whether a benchmark's items can be cut."""
    return hasattr(benchmark, "longest") and hasattr(benchmark, "cut")


class Gauge(Protocol):
    """Counts a model's tokens."""

    @property
    def context(self) -> int:
        """Tokens of prompt and completion together, at most."""
        ...

    def prompt(self, prompt: Prompt) -> int:
        """Tokens of a prompt as the model is fed it."""
        ...

    def text(self, text: str) -> int:
        """Tokens of a text."""
        ...


def lines_that_fit(benchmark: OfDocuments, item: Item, style: str, n_shots: int, gauge: Gauge) -> int:
    """How many of the document's lines are used: all, or as many as fit with their answer."""
    longest = benchmark.longest(item)

    def fits(lines: int) -> bool:
        try:
            cut = benchmark.cut(longest, lines)
        except TrialError:  # too few to be of use, so that more are tried
            return True
        prompt = benchmark.prompt(cut, cut.question, style, n_shots)
        answer = gauge.text(cut.gold)
        return answer <= benchmark.max_tokens and gauge.prompt(prompt) + benchmark.max_tokens <= gauge.context

    fitting, over = 0, benchmark.whole(item) + 1
    if fits(over - 1):
        return over - 1
    while over - fitting > 1:
        middle = (fitting + over) // 2
        fitting, over = (middle, over) if fits(middle) else (fitting, middle)
    return fitting
