"""From trials to records in one process: scripted engine -> runner -> writer -> records -> retention."""

import json
import random
from dataclasses import replace
from math import log2

import pytest

from taboo_cluster.analysis.database import open_runs, select
from taboo_cluster.benchmarks.base import Prompt, Verdict
from taboo_cluster.engines.base import Completion, EngineInfo, Generation, Step
from taboo_cluster.engines.scripted import ScriptedEngine, ScriptedOptions
from taboo_cluster.errors import EngineDied, UserError
from taboo_cluster.records.reader import find_generations
from taboo_cluster.records.schema import RECORD
from taboo_cluster.records.writer import PartWriter
from taboo_cluster.runner import Origin, TrialRunner
from taboo_cluster.trial import Condition, Item, ResolvedModel, Sampling, Taboo, Trial

MODEL = ResolvedModel(
    name="org/m",
    revision="r1",
    source="m",
    family="f",
    size_b=0.5,
    aligned=False,
    stage="base",
    pair="p",
    quantization="none",
    dtype="float32",
)
ORIGIN = Origin("run", "launch", "worker", "alignment")


class Sums:
    """A benchmark of sums, small enough to see through."""

    name = "sums"
    scorer_version = "7"
    styles = ("direct",)
    default_shots = 0
    max_tokens = 40
    chance = 0.25

    def items(self):
        return [Item(f"i{n}", f"What is {n} + 1?", str(n + 1), "test", f"c{n}", group="g") for n in range(20)]

    def prompt(self, item, question, style, n_shots):
        if item.item_id == "bad":
            raise ValueError("no such thing")
        return Prompt((), question, f"Q: {question}\nA:", ("\nQ:",))

    def score(self, item, completion, finish_reason):
        if "boom" in completion:
            raise RuntimeError("scorer\nbroke")
        answer = completion.rpartition(" ")[2]
        return Verdict("correct" if answer == item.gold else "wrong", answer, float(answer == item.gold))

    def canaries(self):
        return ()


class Rows:
    """A writer that keeps rows in memory."""

    def __init__(self):
        self.rows, self.flushed = [], 0

    def add(self, row):
        self.rows.append(row)

    def flush(self):
        self.flushed = len(self.rows)

    def sorted(self):
        volatile = ("started_at", "latency_s")
        return sorted(
            ({k: v for k, v in row.items() if k not in volatile} for row in self.rows), key=lambda row: row["trial_id"]
        )


class Canned:
    """An engine that answers with given completions, in any order."""

    info = EngineInfo("canned", "1")
    concurrent = False
    max_context = 1000

    def __init__(self, answer, order=list):
        self.tokenizer = ScriptedEngine(ScriptedOptions()).tokenizer
        self.seen, self._answer, self._order = [], answer, order

    def generate(self, requests):
        held = self._order(list(requests))
        self.seen += held
        for request in held:
            completion = self._answer(request)
            if completion is not None:
                yield completion

    def close(self):
        pass


def trial(item, rank=0, **changes):
    return replace(Trial(MODEL, "scripted", "sums", item, Condition("direct", 0, Taboo(rank))), **changes)


def right(request):
    n = int(request.prompt.split()[3])
    return Completion(request.key, Generation(f"It is {n + 1}", (1, 2), "stop"), latency_s=0.5)


def runner(engine, writer, **options):
    return TrialRunner(engine, options.pop("model", MODEL), {"sums": Sums()}, writer, ORIGIN, **options)


def run(trials, answer=right, order=list, **options):
    writer = Rows()
    result = runner(Canned(answer, order), writer, **options).run(trials)
    return writer, result


ITEMS = Sums().items()


def test_from_config_to_retention_in_one_process(tmp_path):
    """Scripted accuracy 1 at rank 0 and 0.5 at rank 2: retention is what the script says."""
    items = [Item(f"i{n}", f"What is {n} + 1?", str(n + 1), "test", f"c{n}") for n in range(200)]
    script = tmp_path / "script.json"
    script.write_text(json.dumps({item.question: f"It is {item.gold}" for item in items}))
    engine = ScriptedEngine(ScriptedOptions(script_path=str(script), accuracy={"2": 0.5}, wrong="It is -1"))
    trials = [trial(item, rank) for item in items for rank in (0, 2)]
    with PartWriter(str(tmp_path / "records" / "m"), "part-x", RECORD) as writer:
        result = runner(engine, writer).run(trials)
    assert (result.counts["sums"].done, result.counts["sums"].failed) == (400, 0)
    with open_runs([str(tmp_path)]) as connection:
        (row,) = select(connection, "SELECT retention, n, dose_bits FROM retention WHERE taboo_rank = 2").to_pylist()
        kept = select(connection, "SELECT count(*) AS n FROM records WHERE taboo_rank = 2 AND correct").to_pylist()
    assert row["n"] == 200
    assert row["retention"] == kept[0]["n"] / 200 == pytest.approx(0.5, abs=0.1)
    assert row["dose_bits"] == pytest.approx(log2(3)), "each word of the scripted engine costs log2(rank + 1) bits"


def test_a_record_holds_what_the_trial_the_engine_and_the_scorer_gave():
    steps = (Step(0, 5, "a", 6, "b", 2, 1.5), Step(3, 7, "c", 8, "d", 2, 0.25))
    generation = Generation("It is 4", (6, 1, 1, 8, 0), "stop", steps, 1, 2, 1, True, True, 0.5, 1.5)
    writer, _ = run([trial(ITEMS[3], 1)], lambda r: Completion(r.key, generation, latency_s=2.0))
    (row,) = writer.rows
    expected = {
        "trial_id": trial(ITEMS[3], 1).trial_id,
        "run_id": "run",
        "launch_id": "launch",
        "worker_id": "worker",
        "sweep": "alignment",
        "model": "org/m",
        "model_revision": "r1",
        "engine": "scripted",
        "item_id": "i3",
        "item_group": "g",
        "cluster_id": "c3",
        "condition": "taboo(rank=1)",
        "taboo_rank": 1,
        "taboo_trigger": "word_start",
        "taboo_word_start": "marker",
        "taboo_trigger_params": '{"protect_special": false, "scope": "all"}',
        "temperature": 0.0,
        "top_p": None,
        "sample_seed": None,
        "max_tokens": 40,
        "stop": ["\nQ:"],
        "question": "What is 3 + 1?",
        "prompt": "Q: What is 3 + 1?\nA:",
        "completion": "It is 4",
        "chance": 0.25,
        "completion_tokens": 5,
        "completion_words": 3,
        "outcome": "correct",
        "correct": True,
        "score": 1.0,
        "scorer_version": "7",
        "interventions": 2,
        "surprisal_total": 1.75,
        "surprisal_mean": 0.875,
        "entropy_mean": 0.5,
        "entropy_word_start": 1.5,
        "skipped_steps": 1,
        "tie_steps": 2,
        "glued": 1,
        "stopped_by_detour": True,
        "taboo_leak": True,
        "latency_s": 2.0,
        "attempt": 1,
        "perturbations": [],
    }
    assert {name: row[name] for name in expected} == expected
    assert row["steps"][1] == {
        "position": 3,
        "nominal_id": 7,
        "nominal": "c",
        "emitted_id": 8,
        "emitted": "d",
        "emitted_rank": 2,
        "bits": 0.25,
    }
    assert row.keys() <= {column.name for column in RECORD}


def test_a_baseline_has_a_dose_of_zero_and_an_unknown_cost_makes_it_null():
    writer, _ = run([trial(ITEMS[0])])
    (row,) = writer.rows
    assert (row["interventions"], row["surprisal_total"], row["surprisal_mean"]) == (0, 0.0, None)
    assert (row["taboo_trigger"], row["taboo_word_start"], row["taboo_trigger_params"]) == (None, None, None)
    steps = (Step(0, 5, "a", 6, "b", 2, 1.5), Step(3, 7, "c", 8, "d", 2, None))
    writer, _ = run([trial(ITEMS[0], 1)], lambda r: Completion(r.key, Generation("", (), "stop", steps)))
    (row,) = writer.rows
    assert (row["interventions"], row["surprisal_total"], row["surprisal_mean"]) == (2, None, None)


def test_steps_can_be_left_out():
    steps = (Step(0, 5, "a", 6, "b", 2, 1.5),)
    answer = lambda r: Completion(r.key, Generation("It is 1", (6,), "stop", steps))  # noqa: E731
    writer, _ = run([trial(ITEMS[0], 1)], answer, record_steps=False)
    assert (writer.rows[0]["steps"], writer.rows[0]["interventions"]) == (None, 1)


def test_a34_shuffled_completions_give_the_same_rows():
    trials = [trial(item, rank) for item in ITEMS for rank in (0, 1)]
    plain, _ = run(trials)
    for seed in range(3):
        shuffled, _ = run(trials, order=lambda held, seed=seed: random.Random(seed).sample(held, len(held)))
        assert shuffled.rows != plain.rows
        assert shuffled.sorted() == plain.sorted()


def test_rows_do_not_depend_on_blocks():
    trials = [trial(item, rank) for item in ITEMS for rank in (0, 1)]
    whole, _ = run(trials)
    writer = Rows()
    made = runner(Canned(right), writer)
    for start in range(0, len(trials), 7):
        made.run(trials[start : start + 7])
    assert writer.sorted() == whole.sorted()


def test_c16_one_prompt_too_long_is_one_record_with_its_error():
    long = Item("long", "What is 5 + 1?" + " really?" * 200, "6", "test", "c")
    writer, result = run([trial(item) for item in [*ITEMS, long]])
    errors = [row for row in writer.rows if row.get("error_type")]
    assert [(row["item_id"], row["error_type"], row["outcome"]) for row in errors] == [
        ("long", "prompt_too_long", "error")
    ]
    assert "1000" in errors[0]["error"]
    assert len(writer.rows) == len(ITEMS) + 1
    assert result.errors == {"prompt_too_long": 1}


def test_every_way_to_fail_costs_one_trial_only():
    def answer(request):
        if "What is 0 +" in request.prompt:
            return Completion(request.key, None, "timeout", "took too long")
        if "What is 1 +" in request.prompt:
            return Completion(request.key, Generation("boom", (1,), "stop"))
        if "What is 2 +" in request.prompt:
            return None
        return right(request)

    bad = Item("bad", "?", "1", "test", "c")
    writer, result = run([trial(item) for item in [bad, *ITEMS[:5]]], answer)
    kinds = {row["item_id"]: row.get("error_type") for row in writer.rows}
    assert kinds == {
        "bad": "render_failed",
        "i0": "timeout",
        "i1": "scorer_failed",
        "i2": "generation_failed",
        "i3": None,
        "i4": None,
    }
    by_item = {row["item_id"]: row for row in writer.rows}
    assert by_item["i1"]["error"] == "RuntimeError: scorer broke"
    assert by_item["i1"]["completion"] == "boom", "what was generated is kept"
    assert "correct" not in by_item["i0"]
    assert "generation_id" not in by_item["bad"]
    assert all(row["started_at"] is not None for row in writer.rows)
    assert (result.counts["sums"].done, result.counts["sums"].failed) == (6, 4)


def test_a_model_that_cannot_be_prompted_as_asked_is_a_users_mistake():
    aligned = replace(MODEL, aligned=True)
    engine = Canned(right)
    engine.tokenizer.chat_template = None
    writer = Rows()
    with pytest.raises(UserError, match="chat template"):
        runner(engine, writer, model=aligned).run([trial(ITEMS[0], model=aligned)])


def test_e3_what_was_finished_is_durable_when_the_engine_dies():
    class Dies(Canned):
        def generate(self, requests):
            for n, request in enumerate(requests):
                if n == 3:
                    raise EngineDied("gone")
                yield right(request)

    writer = Rows()
    with pytest.raises(EngineDied):
        runner(Dies(right), writer).run([trial(item) for item in ITEMS])
    assert writer.flushed == 3


def test_rows_are_durable_when_run_returns():
    writer, _ = run([trial(item) for item in ITEMS])
    assert writer.flushed == len(ITEMS)


def test_what_is_on_disk_is_skipped_but_not_another_attempt():
    trials = [trial(item) for item in ITEMS[:3]]
    known = frozenset({(trials[0].trial_id, 1), (trials[1].trial_id, 1)})
    trials[1] = replace(trials[1], attempt=2)
    writer, result = run(trials, recorded=known)
    assert [(row["item_id"], row["attempt"]) for row in writer.rows] == [("i1", 2), ("i2", 1)]
    assert result.counts["sums"].done == 2


def test_trials_with_the_same_generation_id_share_one_generation():
    twin = replace(ITEMS[0], item_id="twin", gold="other")
    engine, writer = Canned(right), Rows()
    result = runner(engine, writer).run([trial(ITEMS[0]), trial(twin), trial(ITEMS[0], replicate=1)])
    assert len(engine.seen) == 2, "a replicate is generated by itself"
    assert [row["outcome"] for row in writer.rows] == ["correct", "wrong", "correct"]
    assert len({row["generation_id"] for row in writer.rows}) == 2
    assert len({row["trial_id"] for row in writer.rows}) == 3
    assert (result.counts["sums"].reused, result.counts["sums"].tokens) == (1, 4)


def test_i14_identity_is_not_generated_again_and_moves_no_figure(tmp_path):
    identity = Condition("direct", 0, perturbations="identity", perturbation_seed=5)
    for number in range(3):

        def answer(request, fewest=5 * number):
            known = int(request.prompt.split()[3]) >= fewest
            return right(request) if known else Completion(request.key, Generation("no idea", (1,), "stop"))

        model, engine = replace(MODEL, name=f"org/m{number}"), Canned(answer)
        with PartWriter(str(tmp_path / "records" / model.name), "part-x", RECORD) as writer:
            mine = runner(engine, writer, model=model, find_clean=lambda ids: find_generations([str(tmp_path)], ids))
            mine.run([trial(item, model=model) for item in ITEMS])
            result = mine.run([trial(item, model=model, condition=identity) for item in ITEMS])
        assert len(engine.seen) == len(ITEMS)
        assert (result.counts["sums"].reused, result.counts["sums"].done) == (20, 20)
    with open_runs([str(tmp_path)]) as connection:

        def ask(query):
            return [tuple(row.values()) for row in select(connection, query).to_pylist()]

        changed = "drop, drop_changed, retention_changed, n_changed, n_unchanged, n"
        assert ask(f"SELECT {changed} FROM perturbed") == [(0.0, None, None, 0, 20, 20)] * 3
        assert ask(f"SELECT range, {changed} FROM drops") == [(0.0, 0.0, None, None, 0, 20, 20)] * 3
        # The first model is right everywhere: nothing varies.
        assert ask("SELECT pi FROM brittleness_by_model ORDER BY model") == [(None,), (0.0,), (0.0,)]
        assert ask("SELECT pi FROM brittleness_by_benchmark") == [(0.0,)]
        assert ask("SELECT spearman, kendall, flip_rate, order_changed FROM rank_correlation") == [
            (1.0, 1.0, 0.0, False)
        ]
        assert ask("SELECT DISTINCT moved FROM ranking") == [(0,)]


def test_outputs_of_an_earlier_run_are_taken_and_scored_again(tmp_path):
    trials = [trial(item, 1) for item in ITEMS]
    steps = (Step(0, 5, "a", 6, "b", 2, 1.5),)
    with PartWriter(str(tmp_path / "records" / "m"), "part-x", RECORD) as writer:
        first = runner(
            Canned(lambda r: replace(right(r), generation=replace(right(r).generation, steps=steps))), writer
        )
        first.run(trials[:10])
    engine, rows = Canned(right), Rows()
    result = runner(engine, rows, find=lambda ids: find_generations([str(tmp_path)], ids)).run(trials)
    assert len(engine.seen) == 10
    assert (result.counts["sums"].reused, result.counts["sums"].done) == (10, 20)
    taken = [row for row in rows.rows if row["trial_id"] in {t.trial_id for t in trials[:10]}]
    assert all(row["correct"] and row["surprisal_total"] == 1.5 and len(row["steps"]) == 1 for row in taken)
    assert all(row["launch_id"] == "launch" and row.get("latency_s") is None for row in taken)


def generation_id(**changes):
    engine = Canned(right)
    engine.info = changes.pop("info", engine.info)
    model = changes.pop("model", MODEL)
    writer = Rows()
    runner(engine, writer, model=model).run([trial(changes.pop("item", ITEMS[0]), model=model, **changes)])
    return writer.rows[0]["generation_id"]


def test_k2_generation_id_changes_with_what_changes_an_output():
    base = generation_id()
    other = [
        generation_id(model=replace(MODEL, revision="r2")),
        generation_id(model=replace(MODEL, quantization="nf4")),
        generation_id(model=replace(MODEL, aligned=True)),
        generation_id(info=EngineInfo("canned", "2")),
        generation_id(info=EngineInfo("canned", "1", {"prefix_caching": True})),
        generation_id(condition=Condition("direct", 0, Taboo(1))),
        generation_id(condition=Condition("direct", 0, Taboo(1, protect_special=True))),
        generation_id(condition=Condition("direct", 0, sampling=Sampling(0.7, seed=1))),
        generation_id(condition=Condition("direct", 0, sampling=Sampling(0.7, seed=2))),
        generation_id(item=ITEMS[1]),
        generation_id(replicate=1),
    ]
    assert len({base, *other}) == len(other) + 1


def test_k2_and_with_nothing_else():
    base = generation_id()
    assert generation_id() == base
    assert generation_id(attempt=2) == base
    assert generation_id(item=replace(ITEMS[0], item_id="other", gold="?")) == base
    assert generation_id(model=replace(MODEL, stage="sft", pair=None)) == base
    assert generation_id(condition=Condition("direct", 0, sampling=Sampling(0.0, seed=9))) == base
    assert generation_id(info=EngineInfo("canned", "1", {"a": 1, "b": 2})) == generation_id(
        info=EngineInfo("canned", "1", {"b": 2, "a": 1})
    )


def test_stopping_keeps_what_is_finished_and_invents_nothing():
    writer = Rows()
    made = runner(Canned(right), writer)

    class Stops(Canned):
        def generate(self, requests):
            for n, request in enumerate(requests):
                if n == 4:
                    made.stop()
                yield right(request)

    made._engine = Stops(right)
    made.run([trial(item) for item in ITEMS])
    assert len(writer.rows) == writer.flushed == 5
    assert not any(row.get("error_type") for row in writer.rows)
    assert made.run([trial(item) for item in ITEMS]).counts == {}


def test_progress_of_a_block_can_be_asked_for_while_it_runs():
    seen = []

    class Looks(Canned):
        def generate(self, requests):
            for request in requests:
                seen.append(made.in_hand().done)
                yield right(request)

    made = runner(Looks(right), Rows())
    made.run([trial(item) for item in ITEMS[:3]])
    assert seen == [0, 1, 2]
    assert made.in_hand().done == 0


def test_a_trailing_space_in_the_prompt_is_noted(monkeypatch):
    monkeypatch.setattr(Sums, "prompt", lambda self, item, question, style, n: Prompt((), question, "A: 0 + ", ()))
    writer, _ = run([trial(ITEMS[0])], lambda r: Completion(r.key, Generation("It is 1", (1,), "stop")))
    assert json.loads(writer.rows[0]["details"]) == {"prompt_warnings": ["prompt_ends_in_white_space"]}
