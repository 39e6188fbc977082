"""absence and needle: documents by domain, prompts, scores, cuts."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hub_folders import parquet_folder, serve

from taboo_cluster.benchmarks import detection
from taboo_cluster.benchmarks.base import BENCHMARKS
from taboo_cluster.benchmarks.document_sources import gsm8k_lines, load_documents
from taboo_cluster.canary import check_scorer
from taboo_cluster.documents import PAGES
from taboo_cluster.errors import TrialError, UserError
from taboo_cluster.fitting import lines_that_fit, of_documents
from taboo_cluster.perturbations.stack import check_applies, members, perturb

DATA = Path(__file__).parents[3] / "shared" / "data"
TASKS = ("absence", "needle")


def build(name, **options):
    return BENCHMARKS.get(name).build(detection.Options(**options))


def file(folder, rows, name="rows.jsonl"):
    path = folder / name
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


def poems(folder, count=8, lines=22):
    rows = [{"text": "\n".join(f"verse {n} of poem {number}" for n in range(lines))} for number in range(count)]
    return {"domains": ["poems"], "poems_path": file(folder, rows)}


@pytest.mark.parametrize("name", TASKS)
def test_offline_documents_of_numbers(name):
    benchmark = build(name)
    items = benchmark.items()
    assert (len(items), {item.group for item in items}) == (100, {"numbers"})
    assert len({item.item_id for item in items}) == len({item.cluster_id for item in items}) == 100
    first = items[0].question.split("\n")
    assert len(first) == 24
    assert all(len(line) == 3 and line.isdigit() for line in first)
    assert [item.item_id for item in build(name, n=20).items()] == [item.item_id for item in items[:20]]
    assert of_documents(benchmark)
    check_scorer(benchmark)


def test_the_prompt_of_absence(tmp_path):
    benchmark = build("absence", number_lines=20)
    item = benchmark.items()[0]
    first, second = item.extras[PAGES].versions.first, item.extras[PAGES].versions.second
    prompt = benchmark.prompt(item, item.question, "direct", 0)
    assert prompt.user == (
        "Below are two versions of a list of numbers. The second is a copy of the first from which some lines were "
        "removed.\n\n<first version>\n" + "\n".join(first) + "\n</first version>\n\n<second version>\n"
        + "\n".join(second) + "\n</second version>\n\nWhich lines of the first version are missing from the second? "
        "Write these lines alone, each on a line of its own, exactly as they stand there. If there is none, write none."
    )  # fmt: skip
    assert prompt.plain == f"{prompt.user}\n\nMissing lines:"
    assert prompt.stop == ("\n<first version>", "\nBelow are two versions")
    assert (prompt.shots, prompt.chat_stop) == ((), ())


def test_the_prompt_of_needle_with_reasoning():
    benchmark = build("needle")
    item = benchmark.items()[0]
    prompt = benchmark.prompt(item, item.question, "cot", 0)
    assert "a copy of the first to which some lines were added" in prompt.user
    assert prompt.user.endswith(
        "Which lines of the second version are not in the first? First compare the two versions, part by part. Then "
        "write these lines between <lines> and </lines>, each on a line of its own, exactly as they stand there; "
        "nothing between the two if there is none."
    )
    assert prompt.plain.endswith("\n\nAdded lines:")


def test_worked_examples_are_other_documents_fragmented_alike():
    benchmark = build("absence")
    item = benchmark.items()[0]
    spaced = perturb(item, "fragment(p=1)", 0).subject.item
    for of, digits in ((item, "123"), (spaced, "1 2 3")):
        prompt = benchmark.prompt(of, of.question, "direct", 2)
        assert len(prompt.shots) == 2
        for user, answer in prompt.shots:
            shown = user.split("<first version>\n")[1].split("\n</first version>")[0].split("\n")
            assert len(shown) == 20
            assert {len(line) for line in (*shown, *answer.split("\n"))} == {len(digits)}
            assert set(answer.split("\n")) <= set(shown)
            assert shown[0] not in prompt.user.split("\n")[3]
        assert prompt.plain.count("Missing lines:") == 3
        assert prompt.plain.endswith("Missing lines:")
    questions = {other.question for other in benchmark.items()}
    shown = {user for user, _ in benchmark.prompt(item, item.question, "direct", 4).shots}
    assert not any(question in user for user in shown for question in questions)
    assert benchmark.prompt(item, "", "cot", 1).shots[0][1].startswith("<lines>\n")
    with pytest.raises(UserError, match="n_shots=5 is not from 0 to that"):
        benchmark.prompt(item, item.question, "direct", 5)


@pytest.mark.parametrize("name", TASKS)
@pytest.mark.parametrize(
    "stack", ["fragment(p=0.5)", "fragment(p=1)", "fragment_regular(p=0.5)", "fragment_between(p=1)"]
)
def test_the_gold_answer_follows_the_text_and_is_right(name, stack):
    benchmark = build(name, n=10)
    for item in benchmark.items():
        asked = perturb(item, stack, 7).subject.item
        assert asked.item_id == item.item_id
        verdict = benchmark.score(asked, asked.gold, "stop")
        assert (verdict.outcome, verdict.score) == ("correct", 1.0)
        assert asked.gold.replace(" ", "") == item.gold.replace(" ", "")
        n = len(item.gold.split("\n"))
        assert verdict.lines == {
            "total": 24, "kept": 24, "targets": n, "named": n, "hits": n, "hits_nospace": n, "hits_absencebench": n,
            "named_absencebench": verdict.lines["named_absencebench"],
        }  # fmt: skip


def test_the_answer_of_the_clean_text_is_right_but_for_its_spaces():
    benchmark = build("absence")
    item = benchmark.items()[0]
    asked = perturb(item, "fragment(p=1)", 0).subject.item
    verdict = benchmark.score(asked, item.gold, "stop")
    n = len(item.gold.split("\n"))
    assert (verdict.outcome, verdict.score) == ("wrong", 0.0)
    assert (verdict.lines["hits"], verdict.lines["hits_nospace"], verdict.lines["named"]) == (0, n, n)


def test_an_answer_that_cannot_be_read_names_nothing():
    benchmark = build("absence")
    item = benchmark.items()[0]
    n = len(item.gold.split("\n"))
    for text, finish, outcome in (
        ("", "stop", "no_response"),
        ("I'm sorry, but I can't help with that.", "stop", "refused"),
        ("unfinished", "length", "truncated"),
    ):
        verdict = benchmark.score(item, text, finish)
        assert (verdict.outcome, verdict.answer, verdict.score) == (outcome, None, 0.0)
        assert (verdict.lines["named"], verdict.lines["hits"], verdict.lines["targets"]) == (0, 0, n)
    none = benchmark.score(item, "none", "stop")
    assert (none.outcome, none.answer, none.lines["named"]) == ("wrong", "", 0)


def test_a_list_that_was_cut_counts_its_finished_lines():
    benchmark = build("absence", target_rate=0.5)
    item = benchmark.items()[0]
    first, second, *_ = item.gold.split("\n")
    verdict = benchmark.score(item, f"{first}\n{second[:2]}", "length")
    assert (verdict.outcome, verdict.answer, verdict.lines["hits"]) == ("wrong", first, 1)
    assert verdict.details["truncated_but_parsed"] is True


class Gauge:
    """Every character but a newline is a token."""

    def __init__(self, context):
        self.context = context

    def prompt(self, prompt):
        return self.text(prompt.plain)

    def text(self, text):
        return len(text.replace("\n", ""))


@pytest.mark.parametrize("name", TASKS)
def test_a_document_is_cut_at_its_longest_form(tmp_path, name):
    benchmark = build(name, **poems(tmp_path, lines=60), max_tokens=400)
    item = benchmark.items()[0]
    assert lines_that_fit(benchmark, item, "direct", 0, Gauge(10**6)) == 60
    lines = lines_that_fit(benchmark, item, "direct", 0, Gauge(3500))
    assert 20 <= lines < 60
    longest = perturb(item, "fragment(p=1)", 0).subject.item
    sizes = [
        Gauge(0).prompt(benchmark.prompt(cut, "", "direct", 0)) + 400
        for cut in (benchmark.cut(longest, lines), benchmark.cut(longest, lines + 1))
    ]
    assert sizes[0] <= 3500 < sizes[1]
    for stack in ("fragment(p=0.4)", "fragment_regular_k(k=1)"):
        cut = benchmark.cut(perturb(item, stack, 3).subject.item, lines)
        assert Gauge(0).prompt(benchmark.prompt(cut, "", "direct", 0)) + 400 <= 3500
        verdict = benchmark.score(cut, cut.gold, "stop")
        assert (verdict.outcome, verdict.lines["kept"], verdict.lines["total"]) == ("correct", lines, 60)


def test_a_document_is_cut_where_its_answer_would_be_too_long(tmp_path):
    benchmark = build("absence", **poems(tmp_path, lines=60), target_rate=0.5, max_tokens=400)
    item = benchmark.items()[0]
    lines = lines_that_fit(benchmark, item, "direct", 0, Gauge(10**6))
    longest = benchmark.longest(item)
    golds = [Gauge(0).text(benchmark.cut(longest, n).gold) for n in (lines, lines + 1)]
    assert golds[0] <= 400 < golds[1]


def test_worked_examples_leave_less_room(tmp_path):
    benchmark = build("absence", **poems(tmp_path, count=12, lines=60), max_tokens=200)
    item = benchmark.items()[0]
    assert lines_that_fit(benchmark, item, "direct", 0, Gauge(3500)) > lines_that_fit(
        benchmark, item, "direct", 1, Gauge(3500)
    )


def test_a_document_that_would_keep_too_few_lines_is_skipped(tmp_path):
    benchmark = build("absence", **poems(tmp_path))
    item = benchmark.items()[0]
    assert benchmark.cut(item, 22) is item
    assert benchmark.cut(item, 20).extras[PAGES].versions.first == item.extras[PAGES].document.lines[:20]
    with pytest.raises(TrialError, match="19 lines of 22 fit in the model's context; at least 20") as caught:
        benchmark.cut(item, 19)
    assert caught.value.error_type == "document_skipped"
    lines = lines_that_fit(benchmark, item, "direct", 0, Gauge(1000))
    assert lines < 20


def test_short_documents_are_left_out_and_counted(tmp_path):
    rows = [{"text": "\n".join(f"verse {n} of {number}" for n in range(22))} for number in range(3)]
    rows += [{"text": "too short"}, {"text": "\n".join(["again"] * 30)}]
    benchmark = build("absence", domains=["poems"], poems_path=file(tmp_path, rows))
    assert len(benchmark.items()) == 3
    assert benchmark.notes == ["absence: 2 documents of poems are left out, with fewer than 20 lines or no target"]
    with pytest.raises(UserError, match="none of 1 documents has 20 lines and a target"):
        build("absence", domains=["poems"], poems_path=file(tmp_path, rows[3:4], "short.jsonl")).items()


def test_documents_of_gsm8k_problems():
    assert gsm8k_lines("A hen lays 3.5 eggs. How many in 2 days?", "She lays 3.5*2=<<3.5*2=7>>7.\n#### 7") == [
        "A hen lays 3.5 eggs.",
        "How many in 2 days?",
        "She lays 3.5*2=7.",
        "#### 7",
    ]


def test_gsm8k_documents_have_80_problems(tmp_path):
    rows = [{"question": f"Problem {n}. How many?", "answer": f"It is {n}.\n#### {n}"} for n in range(90)]
    options = detection.Options(domains=["gsm8k"], gsm8k_path=file(tmp_path, rows), n=3)
    documents, short = load_documents(options, "gsm8k", 4)
    assert (len(documents), short) == (7, 0)
    assert all(len(document.lines) == 320 for document in documents)
    assert sum(line.startswith("Problem") for line in documents[0].lines) == 80
    with pytest.raises(UserError, match="a document takes 80 problems, and there are 79"):
        load_documents(detection.Options(gsm8k_path=file(tmp_path, rows[:79], "few.jsonl")), "gsm8k", 4)


def test_the_hubs_data_sets(tmp_path, monkeypatch):
    text = ["\n".join(f"clause {n} of {number}" for n in range(25)) for number in range(3)]
    folder = tmp_path / "cuad"
    for split, rows in (("train", text[:1]), ("test", text)):
        (folder / "default" / split).mkdir(parents=True)
        table = pa.Table.from_pylist([{"title": row[:9], "context": row} for row in rows for _ in range(2)])
        pq.write_table(table, folder / "default" / split / "0000.parquet")
    asked = serve(monkeypatch, "theatticusproject/cuad-qa", folder)
    found, short = load_documents(detection.Options(), "contracts", 4)
    assert ({document.text for document in found}, short, asked) == (set(text), 0, ["refs/convert/parquet"])


def test_absencebench_on_the_hub(tmp_path, monkeypatch):
    rows = [{"original_context": "\n".join(f"verse {n} of {number}" for n in range(25))} for number in range(6)]
    folder = parquet_folder(tmp_path / "absence", "poetry", {"validation": rows})
    asked = serve(monkeypatch, "harveyfin/AbsenceBench", folder)
    benchmark = build("needle", domains=["poems"], revisions={"poems": "v1"})
    assert (len(benchmark.items()), asked) == (5, ["v1"])  # the sixth is kept for worked examples


def test_texts_are_read_from_the_column_that_a_file_has(tmp_path):
    lines = [f"+line {n}" for n in range(20)]
    rows = [{"patch": "\r\n".join(lines) + "\n"}]
    found, _ = load_documents(detection.Options(diffs_path=file(tmp_path, rows)), "diffs", 0)
    assert found[0].lines == tuple(lines)
    with pytest.raises(UserError, match="no column 'text'; it has: body"):
        load_documents(detection.Options(poems_path=file(tmp_path, [{"body": "x"}], "b.jsonl")), "poems", 0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"domains": ["poem"]}, "unknown domain 'poem' - did you mean 'poems'"),
        ({"domains": []}, "names each domain once"),
        ({"domains": ["poems", "poems"]}, "names each domain once"),
        ({"target_rate": 1.5}, "target_rate is a probability from 0 to 1, not 1.5"),
        ({"n": 0}, "absence.n is 0; it has to be 1 or more"),
        ({"max_tokens": 0}, "max_tokens is 0"),
        ({"number_lines": 901}, "number_lines is from 1 to 900"),
        ({"number_lines": 19}, "none of 104 documents has 20 lines"),
        ({"poems_path": "/nowhere", "domains": ["poems"]}, "there is no file or folder /nowhere"),
    ],
)
def test_what_cannot_be_asked_is_said(options, message):
    with pytest.raises(UserError, match=message):
        build("absence", **options).items()


def test_perturbations_that_know_no_lines_are_refused():
    item = build("absence").items()[0]
    for stack in ("fragment", "fragment_regular→fragment_between", "identity"):
        check_applies(stack, item, "absence")
    with pytest.raises(UserError, match="typos does not work on the documents of absence; these do: fragment, "):
        check_applies("typos", item, "absence")


def test_options_of_fragmentation_are_checked():
    assert [str(member.spec) for member in members("fragment(p=0.3,independent=false)")] == ["fragment(p=0.3)"]
    assert [str(member.spec) for member in members("fragment(p=1,independent=true)")] == [
        "fragment(p=1,independent=true)"
    ]
    for stack, message in (
        ("fragment(p=1.1)", "p is a probability from 0 to 1, not 1.1"),
        ("fragment_regular_k(k=0)", "k is a number of characters, 1 or more, not 0"),
        ("fragment(rate=1)", "unknown key"),
    ):
        with pytest.raises(UserError, match=message):
            members(stack)


@pytest.mark.parametrize("domain", ["contracts", "diffs", "poems", "gsm8k"])
@pytest.mark.parametrize("name", TASKS)
def test_real_documents(name, domain):
    files = {
        "contracts": "cuad/contracts.jsonl",
        "diffs": "pr_diffs/locbench_patches.jsonl",
        "poems": "poems/poems.jsonl",
        "gsm8k": "gsm8k/train_first500.jsonl",
    }
    path = DATA / files[domain]
    if not path.exists():
        pytest.skip(f"no {path.name}")
    benchmark = build(name, domains=[domain], n=12, **{f"{domain}_path": str(path)})
    assert len(benchmark.items()) == 12
    for item in benchmark.items():
        asked = perturb(item, "fragment(p=0.5)", 1).subject.item
        verdict = benchmark.score(asked, asked.gold, "stop")
        assert verdict.outcome == "correct"
        assert all(line.startswith(("+", "-")) for line in item.gold.split("\n") if domain == "diffs")
