"""Trials on documents: one cut for each document and model, skipped ones apart, the same verdicts when scored again."""

import json
from types import MappingProxyType

import pytest
from test_runner import MODEL, ORIGIN, Canned, Rows

from taboo_cluster.benchmarks.base import BENCHMARKS
from taboo_cluster.benchmarks.detection import Options
from taboo_cluster.documents import PAGES
from taboo_cluster.engines.base import Completion, Generation
from taboo_cluster.perturbations.stack import perturb
from taboo_cluster.recorded import as_asked
from taboo_cluster.runner import TrialRunner
from taboo_cluster.trial import Condition, Trial

STACKS = ("", "fragment(p=0.3)", "fragment(p=1)", "fragment_regular(p=0.5)")


def absence(tmp_path, lines=(40, 60, 40), **options):
    texts = ["\n".join(f"verse {n} of poem {number}" for n in range(count)) for number, count in enumerate(lines)]
    path = tmp_path / "poems.jsonl"
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    given = {"domains": ["poems"], "poems_path": str(path), "max_tokens": 200, **options}
    return BENCHMARKS.get("absence").build(Options(**given))


def run(benchmark, context, stacks=STACKS, styles=("direct",)):
    """Rows of every item in every condition, from an engine that names the first line of each document."""

    def answer(request):
        named = request.prompt.split("<first version>\n")[1].split("\n")[0]
        return Completion(request.key, Generation(named, (1, 2), "stop"))

    engine = Canned(answer)
    engine.max_context = context
    rows = Rows()
    runner = TrialRunner(engine, MODEL, {"absence": benchmark}, rows, ORIGIN)
    trials = [
        Trial(MODEL, "scripted", "absence", item, Condition(style, 0, perturbations=stack, perturbation_seed=seed))
        for style in styles
        for stack, seed in ((stack, 9 if stack else None) for stack in stacks)
        for item in benchmark.items()
    ]
    result = runner.run(trials, MappingProxyType({}))
    return rows.rows, result


def test_one_cut_for_each_document_in_every_condition(tmp_path):
    rows, _ = run(absence(tmp_path), 1600)
    kept = {}
    for row in rows:
        assert row.get("error_type") is None, row["error"]
        assert row["prompt_tokens"] + 200 <= 1600
        kept.setdefault(row["item_id"], set()).add(row["lines"]["kept"])
        assert row["lines"]["total"] in (40, 60)
        shown = row["prompt"].split("<first version>\n")[1].split("\n</first version>")[0]
        assert shown.count("\n") + 1 == row["lines"]["kept"]
    assert len(kept) == 3
    assert all(len(of) == 1 for of in kept.values())
    assert {next(iter(of)) for of in kept.values()} < set(range(20, 40))
    full, _ = run(absence(tmp_path), 10**6)
    assert all(row["lines"]["kept"] == row["lines"]["total"] for row in full)


def test_question_and_gold_stay_those_of_the_whole_document(tmp_path):
    benchmark = absence(tmp_path)
    items = {item.item_id: item for item in benchmark.items()}
    for context in (1600, 10**6):
        rows, _ = run(benchmark, context)
        for row in rows:
            item = items[row["item_id"]]
            if row["perturbations"]:
                stack = row["condition"]
                item = perturb(item, stack, 9).subject.item
            assert (row["question"], row["gold"]) == (item.question, item.gold)


def test_a_document_of_which_too_little_fits_is_skipped_and_no_failure(tmp_path):
    rows, result = run(absence(tmp_path), 900, stacks=("", "fragment(p=1)"))
    assert {row["error_type"] for row in rows} == {"document_skipped"}
    assert {row["outcome"] for row in rows} == {"error"}
    assert "at least 20 are to be shown" in rows[0]["error"]
    assert all(row.get("lines") is None for row in rows)
    (counts,) = result.counts.values()
    assert (counts.done, counts.failed) == (6, 0)
    assert result.errors == {"document_skipped": 6}


@pytest.mark.parametrize("context", [1600, 10**6])
def test_scored_again_a_record_has_the_same_verdict(tmp_path, context):
    benchmark = absence(tmp_path)
    items = {item.item_id: item for item in benchmark.items()}
    rows, _ = run(benchmark, context)
    for row in rows:
        item = as_asked(benchmark, items[row["item_id"]], row)
        assert item.extras[PAGES].used == row["lines"]["kept"]
        verdict = benchmark.score(item, row["completion"], row["finish_reason"])
        assert dict(verdict.lines) == row["lines"]
        assert (verdict.outcome, verdict.score) == (row["outcome"], row["score"])


def test_a_text_that_fragmentation_leaves_as_it_is_is_unchanged():
    benchmark = BENCHMARKS.get("absence").build(Options(n=5))
    for item in benchmark.items():
        for stack, changed in (
            ("fragment(p=0)", False),
            ("fragment_regular(p=0.3)", False),  # two slots a line: none is reached
            ("fragment_between(p=1)", False),  # one word a line
            ("fragment_regular(p=0.5)", True),
            ("fragment(p=1)", True),
        ):
            assert perturb(item, stack, 1).changed is changed, stack


def test_a_scorer_that_fails_leaves_what_was_kept(tmp_path, monkeypatch):
    benchmark = absence(tmp_path)
    monkeypatch.setattr(type(benchmark), "score", lambda *_: 1 / 0)
    rows, _ = run(benchmark, 1600, stacks=("",))
    assert {row["error_type"] for row in rows} == {"scorer_failed"}
    assert all(20 <= row["lines"]["kept"] < row["lines"]["total"] for row in rows)
