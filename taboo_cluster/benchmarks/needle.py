"""needle: which lines of another document were added to a copy? (Text Uncanny Valley, needles in a haystack)"""

from __future__ import annotations

from taboo_cluster.benchmarks.base import BENCHMARKS, BenchmarkEntry
from taboo_cluster.benchmarks.detection import Detection, Options, Wording

WORDING = Wording(
    task="needle",
    change="to which some lines were added",
    asked="Which lines of the second version are not in the first?",
    heading="Added lines:",
)


def build(options: Options) -> Detection:
    """The benchmark; its documents are loaded when its items are first asked for."""
    return Detection("needle", WORDING, options)


BENCHMARKS.register("needle")(BenchmarkEntry(Options, build))
