"""absence: which lines of a document are missing from its copy? (Text Uncanny Valley; AbsenceBench, Fu et al. 2025)"""

from __future__ import annotations

from taboo_cluster.benchmarks.base import BENCHMARKS, BenchmarkEntry
from taboo_cluster.benchmarks.detection import Detection, Options, Wording

WORDING = Wording(
    task="absence",
    change="from which some lines were removed",
    asked="Which lines of the first version are missing from the second?",
    heading="Missing lines:",
)


def build(options: Options) -> Detection:
    """The benchmark; its documents are loaded when its items are first asked for."""
    return Detection("absence", WORDING, options)


BENCHMARKS.register("absence")(BenchmarkEntry(Options, build))
