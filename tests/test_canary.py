"""The checks before a sweep: each fails for the fault it is there for."""

from dataclasses import replace

import pytest

from taboo_cluster.benchmarks.base import Verdict
from taboo_cluster.canary import CanaryFailed, check_mask, check_scorer
from taboo_cluster.engines.base import Completion, Generation, Request, Step
from taboo_cluster.errors import UserError
from taboo_cluster.trial import Item, Sampling, Taboo

ITEM = Item("i", "What is 1 + 1?", "2", "test", "i")
PROMPT = Request("x", "Q:", (1, 2), 400, ("stop",), Taboo(8), Sampling(0.7, seed=1))
STEP = Step(2, 7, "seven", 9, "nine", 2, 1.0)
PLAIN = Generation("", (5, 6, 7, 8), "length")
MASKED = Generation("", (5, 6, 9, 4), "length", (STEP,))


class Benchmark:
    name = "sums"

    def __init__(self, *canaries, outcome="correct"):
        self._canaries, self._outcome = canaries, outcome

    def canaries(self):
        return self._canaries

    def score(self, item, completion, finish_reason):
        return Verdict(self._outcome if completion == "2" else "no_response", None, 0.0)


class Engine:
    """Gives the next of its generations by rank, and keeps what it was asked."""

    def __init__(self, *pairs):
        self.pairs, self.asked = list(pairs), []

    def generate(self, requests):
        (request,) = requests
        self.asked.append(request)
        generation = self.pairs[0][request.taboo.rank]
        if request.taboo.rank:
            self.pairs.pop(0)
        if generation is None:
            yield Completion(request.key, None, "timeout", "late")
        else:
            yield Completion(request.key, generation)


def test_a_scorer_that_scores_passes():
    check_scorer(Benchmark((ITEM, "2", True), (ITEM, "", False)))


@pytest.mark.parametrize("canary", [(ITEM, "2", False), (ITEM, "", True)])
def test_a_scorer_that_does_not_is_stopped(canary):
    with pytest.raises(CanaryFailed, match="sums scores"):
        check_scorer(Benchmark(canary))


def test_a_mask_that_masks_passes_and_is_asked_greedily_one_prompt_at_a_time():
    engine = Engine((PLAIN, MASKED))
    check_mask(engine, [PROMPT, PROMPT])
    assert [request.taboo for request in engine.asked] == [Taboo(0), Taboo(1)]
    assert all(r.sampling.greedy and r.stop == () and r.max_tokens == 32 for r in engine.asked)
    assert all(r.prompt_ids == (1, 2) for r in engine.asked)


def test_prompts_without_an_intervention_are_passed_over():
    check_mask(Engine((PLAIN, PLAIN), (PLAIN, MASKED)), [PROMPT, PROMPT])


@pytest.mark.parametrize(
    ("pair", "said"),
    [
        ((PLAIN, replace(MASKED, token_ids=(5, 6, 7, 4))), "does not hold"),  # the mask was not applied
        ((PLAIN, replace(MASKED, token_ids=(5, 1, 9, 4))), "before any intervention"),  # it changed something else
        ((replace(PLAIN, token_ids=(5, 6, 3, 8)), MASKED), "does not hold"),  # rank 0 is not the nominal path
        ((PLAIN, replace(MASKED, steps=(replace(STEP, emitted_id=4),))), "does not hold"),  # a wrong report
        ((replace(PLAIN, steps=(STEP,)), MASKED), "rank 0 intervened"),
        ((PLAIN, replace(PLAIN, token_ids=(5, 6, 7, 9))), "before any intervention"),
        ((None, MASKED), "late"),
        ((PLAIN, PLAIN), "never intervened"),
    ],
)
def test_c5_c7_a_mask_that_does_not_hold_is_a_clear_error(pair, said):
    with pytest.raises(CanaryFailed, match=said) as caught:
        check_mask(Engine(pair), [PROMPT])
    assert isinstance(caught.value, UserError)
