"""Two versions of a document: targets, added lines, cuts, fragmentation."""

import pickle
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from taboo_cluster.documents import Document, Pages, bare_line, needle_places, target_places
from taboo_cluster.fragmentation import EVERY_SLOT, Fragmentation

RULES = [
    Fragmentation("random", 0.3, 5),
    Fragmentation("random", 1.0, 5),
    Fragmentation("regular", 0.3, 5),
    Fragmentation("regular_k", 3, 5),
    Fragmentation("between", 0.5, 5),
]


def document(number, lines=40, **more):
    return Document(f"d{number}", "numbers", tuple(f"line {n} of document {number}" for n in range(lines)), **more)


DOCUMENTS = [document(number) for number in range(100)]
absence = partial(Pages, "absence", seed=0, target_rate=0.1)
needle = partial(Pages, "needle", seed=0, target_rate=0.1)
TASKS = {
    "absence": [absence(one) for one in DOCUMENTS],
    "needle": [needle(one, other=DOCUMENTS[n - 1]) for n, one in enumerate(DOCUMENTS)],
}


@pytest.mark.parametrize(
    ("lines", "able"),
    [
        (("a", "b", "A ", ""), (False, True, False, False)),  # a and A are one line but for case and space
        (("ab", "a b", "c"), (False, False, True)),  # one text once every slot has a space
        (("", "  ", "x"), (False, False, True)),
    ],
)
def test_a_target_is_not_blank_and_occurs_once(lines, able):
    assert Document("d", "poems", lines).candidates() == able


def test_of_a_diff_the_changed_lines_alone_are_targets():
    lines = ("diff --git a/x b/x", "--- a/x", "+++ b/x", "@@ -1 +1 @@", " same", "-old", "+new", "+", "-  ")
    able = Document("d", "diffs", lines, changed_only=True).candidates()
    assert [line for line, fit in zip(lines, able, strict=True) if fit] == ["-old", "+new"]


def test_each_line_draws_for_itself_and_one_is_always_chosen():
    draws = np.array([0.05, 0.9, 0.02, 0.4, 0.01])
    able = [True, True, False, True, True]
    assert target_places(able, draws, 0.1, 5) == (0, 4)
    assert target_places(able, draws, 0.1, 4) == (0,)
    assert target_places(able, draws, 0.0, 5) == (4,)
    assert target_places(able, draws, 0.0, 4) == (0,)
    assert target_places(able, draws, 1.0, 5) == (0, 1, 3, 4)
    assert target_places([False] * 5, draws, 1.0, 5) == ()


def test_absence_removes_its_targets_and_needle_adds_them():
    for pages in TASKS["absence"]:
        shown = pages.versions
        assert shown.first == pages.document.lines
        assert [line for line in shown.first if line not in shown.targets] == list(shown.second)
        assert len(shown.first) == len(shown.second) + len(shown.targets)
    for pages in TASKS["needle"]:
        shown = pages.versions
        assert shown.first == pages.document.lines
        assert [line for line in shown.second if line not in shown.targets] == list(shown.first)
        assert set(shown.targets) <= set(pages.other.lines)


def test_about_a_tenth_of_the_lines_are_targets():
    for of_task in TASKS.values():
        share = sum(len(pages.versions.targets) for pages in of_task) / sum(pages.total for pages in of_task)
        assert share == pytest.approx(0.1, abs=4 * (0.1 * 0.9 / 4000) ** 0.5 + 0.002)  # at least one: 1.5% of documents


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: f"{rule.kind}-{rule.amount:g}")
def test_the_same_targets_at_every_p_and_in_every_variant(task, rule):
    for pages in TASKS[task]:
        clean, spaced = pages.versions, pages.fragmented(rule).versions
        for name in ("first", "second", "targets"):
            before, after = getattr(clean, name), getattr(spaced, name)
            assert [bare_line(line) for line in after] == [bare_line(line) for line in before]


@pytest.mark.parametrize("task", TASKS)
def test_a_kept_line_looks_the_same_in_both_versions_and_a_target_occurs_once(task):
    for pages in TASKS[task]:
        for rule in RULES:
            shown = pages.fragmented(rule).versions
            whole, part = (shown.first, shown.second) if task == "absence" else (shown.second, shown.first)
            assert [line for line in whole if line not in shown.targets] == list(part)
            bare = [bare_line(line) for line in (*shown.first, *shown.second)]
            assert all(bare.count(bare_line(line)) == 1 for line in shown.targets)


def test_independent_versions_are_fragmented_apart():
    pages = TASKS["absence"][0].fragmented(Fragmentation("random", 0.5, 1, independent=True))
    shown = pages.versions
    kept = [line for line in shown.first if line not in shown.targets]
    assert kept != list(shown.second)
    assert [bare_line(line) for line in kept] == [bare_line(line) for line in shown.second]
    assert set(shown.targets) <= set(shown.first)  # the gold line is as the first version shows it
    added = TASKS["needle"][0].fragmented(Fragmentation("random", 0.5, 1, independent=True)).versions
    assert set(added.targets) <= set(added.second)


def test_a_second_fragmentation_works_on_the_first_ones_text():
    pages = TASKS["absence"][0].fragmented(Fragmentation("regular_k", 2, 0)).fragmented(Fragmentation("between", 1, 0))
    assert pages.versions.first[0] == "li  ne  0  of  do  cu  me  nt  0"


@pytest.mark.parametrize("task", TASKS)
def test_a_cut_keeps_the_first_lines_and_their_targets(task):
    for pages in TASKS[task]:
        whole, cut = pages.versions, pages.cut(25).versions
        assert cut.first == whole.first[:25]
        assert whole.targets[: len(cut.targets)] == cut.targets or len(cut.targets) == 1
        spaced = pages.fragmented(EVERY_SLOT)
        assert spaced.cut(25).versions.first == spaced.versions.first[:25]


def test_an_added_line_is_like_none_of_the_document():
    other = Document("o", "poems", ("A b", "new", "", "twice", "twice", "c"))
    assert {other.lines[n] for n in needle_places(other, {"ab"}, 0)} == {"new", "c"}
    assert sorted(needle_places(other, set(), 0)) == [0, 1, 5]
    assert needle_places(other, set(), 0) == needle_places(other, set(), 0)
    orders = {tuple(needle_places(DOCUMENTS[0], set(), seed)) for seed in range(5)}
    assert len(orders) == 5


def test_a_document_with_few_lines_to_add_gives_what_it_has():
    pages = needle(DOCUMENTS[0], other=Document("o", "poems", ("only", "", "")), target_rate=1.0)
    assert pages.versions.targets == ("only",)
    assert pages.versions.second == (DOCUMENTS[0].lines[0], "only", *DOCUMENTS[0].lines[1:])


def test_targets_have_a_seed_of_their_own():
    seeds = {absence(DOCUMENTS[0], seed=seed).versions.targets for seed in range(8)}
    assert len(seeds) > 1
    keys = {replace(RULES[0], key=key) for key in range(4)}
    bare = {tuple(map(bare_line, TASKS["absence"][0].fragmented(rule).versions.targets)) for rule in keys}
    assert len(bare) == 1


def test_what_travels_is_the_document_alone():
    pages = TASKS["needle"][3].fragmented(RULES[0])
    before = pages.versions
    again = pickle.loads(pickle.dumps(pages))
    assert "versions" not in vars(again)
    assert again == pages
    assert again.versions == before
