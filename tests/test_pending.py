"""Which recorded trials are settled, and which are done again."""

import pytest

from taboo_cluster.errors import PERMANENT, TRANSIENT
from taboo_cluster.pending import Pending, pending, tally
from taboo_cluster.records.reader import Recorded


@pytest.mark.parametrize(
    ("row", "permanent", "attempt"),
    [
        (Recorded(1, None), False, None),
        (Recorded(1, None), True, None),
        (Recorded(1, "timeout"), False, 2),
        (Recorded(2, "timeout"), False, 3),
        (Recorded(3, "timeout"), False, None),
        (Recorded(3, "timeout"), True, 4),
        (Recorded(1, "nan_logits"), False, None),
        (Recorded(1, "nan_logits"), True, 2),
        (Recorded(9, "model_load_failed"), False, 10),
        (Recorded(1, "of another version"), False, None),
    ],
)
def test_k3_what_is_done_again(row, permanent, attempt):
    known = pending({"t": row}, max_attempts=3, permanent=permanent)
    assert dict(known.attempts) == ({"t": attempt} if attempt else {})
    assert known.settled == (frozenset() if attempt else {"t"})
    assert known.failed == (frozenset() if attempt or row.error_type is None else {"t"})


@pytest.mark.parametrize("kind", sorted(PERMANENT | TRANSIENT))
def test_every_class_of_error_is_either_settled_or_done_again(kind):
    known = pending({"t": Recorded(1, kind)}, max_attempts=3)
    assert ("t" in known.attempts) == (kind in TRANSIENT)


def test_stale_records_are_done_again_under_the_next_attempt():
    known = pending({"a": Recorded(2, None), "b": Recorded(1, None)}, max_attempts=3, stale={"a"})
    assert known == Pending(frozenset({"b"}), frozenset(), {"a": 3})


class Named:
    def __init__(self, trial_id):
        self.trial_id = trial_id


def test_a_tally_counts_the_sweeps_trials_only():
    known = Pending(frozenset({"a", "b", "elsewhere"}), frozenset({"b", "elsewhere"}))
    counted = tally([Named("a"), Named("b"), Named("c")], known, 3)
    assert (counted.total, counted.settled, counted.failed, counted.missing) == (3, 2, 1, 1)


def test_without_records_nothing_is_enumerated():
    def trials():
        raise AssertionError("enumerated")
        yield

    assert tally(trials(), Pending(), 10**9).missing == 10**9
