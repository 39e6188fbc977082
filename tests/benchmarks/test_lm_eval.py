"""lm_eval: tasks of lm-evaluation-harness over local files, asked as the harness asks and scored as it scores."""

from __future__ import annotations

import importlib.metadata
import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

pytest.importorskip("lm_eval", reason="lm-eval is not installed")

from taboo_cluster.benchmarks import harness_loading
from taboo_cluster.benchmarks.base import BENCHMARKS
from taboo_cluster.benchmarks.lm_eval import Chosen, Generated, Options, build
from taboo_cluster.canary import check_scorer
from taboo_cluster.errors import TrialError, UserError
from taboo_cluster.perturbations.stack import check_applies, framed_prompt, perturb

GSM8K = Path(__file__).parents[2] / "../shared/data/gsm8k"
SUMS = [{"question": f"What is {n} + {n}?", "answer": f"{n} + {n} = {2 * n}\n#### {2 * n}"} for n in range(1, 13)]
QUIZ = [
    {"passage": "Rome lies on the Tiber.", "question": "Which city?", "choices": ["Rome", "Milan", "Turin"], "gold": 0},
    {"passage": "Rome lies on the Tiber.", "question": "Which river?", "choices": ["Po", "Tiber", "Arno"], "gold": 1},
    {"passage": "The Po is long, as all say.", "question": "Which river?", "choices": ["Po", "Tiber"], "gold": 0},
]
STRICT = {
    "name": "strict",
    "filter": [{"function": "regex", "regex_pattern": r"#### (\-?[0-9]+)"}, {"function": "take_first"}],
}
LAST = {
    "name": "last",
    "filter": [{"function": "regex", "group_select": -1, "regex_pattern": r"(\-?[0-9]+)"}, {"function": "take_first"}],
}
EXACT = {"metric": "exact_match", "aggregation": "mean", "higher_is_better": True, "regexes_to_ignore": ["(?s).*#### "]}


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    import datasets

    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    logging.getLogger("lm_eval").setLevel(logging.ERROR)
    yield
    harness_loading.load.cache_clear()


class Tasks:
    """A folder of tasks over local files."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "tasks"
        self.folder.mkdir()

    def add(self, task: str, docs: list[dict[str, Any]], train: list[dict[str, Any]] | None = None, **more: Any) -> str:
        files = {}
        for split, rows in (("test", docs), ("train", train or [])):
            if rows:
                files[split] = str(self.folder / f"{task}_{split}.jsonl")
                Path(files[split]).write_text("".join(json.dumps(row) + "\n" for row in rows))
        found = {"task": task, "dataset_path": "json", "dataset_kwargs": {"data_files": files}, "test_split": "test"}
        found |= {"fewshot_split": "train", "training_split": "train"} if train else {}
        (self.folder / f"{task}.yaml").write_text(yaml.safe_dump(found | {"metadata": {"version": 3.0}} | more))
        return task

    def sums(self, task: str = "sums", **more: Any) -> str:
        asked = {
            "output_type": "generate_until",
            "doc_to_text": "Question: {{question}}\nAnswer:",
            "doc_to_target": "{{answer}}",
            "description": "Add up.\n\n",
            "num_fewshot": 2,
            "generation_kwargs": {"until": ["Question:", "\n\n"], "max_gen_toks": 99},
            "filter_list": [STRICT, LAST],
            "metric_list": [EXACT],
        }
        return self.add(task, SUMS[:4], SUMS[4:], **(asked | more))

    def quiz(self, task: str = "quiz", docs: list[dict[str, Any]] = QUIZ, **more: Any) -> str:
        asked = {
            "output_type": "multiple_choice",
            "doc_to_text": "{{passage}}\nQuestion: {{question}}\nAnswer:",
            "doc_to_target": "gold",
            "doc_to_choice": "choices",
        }
        return self.add(task, docs, QUIZ, **(asked | more))

    def generated(self, **options: Any) -> Generated:
        made = build(Options(include_path=str(self.folder), **{"task": "sums", **options}))
        assert isinstance(made, Generated)
        return made

    def chosen(self, **options: Any) -> Chosen:
        made = build(Options(include_path=str(self.folder), **{"task": "quiz", **options}))
        assert isinstance(made, Chosen)
        return made


@pytest.fixture
def tasks(tmp_path: Path) -> Tasks:
    return Tasks(tmp_path)


def texts(items: Any) -> list[str]:
    return [item.question for item in items]


# --- generate_until ---


def test_documents_become_items(tasks: Tasks) -> None:
    tasks.sums()
    made = tasks.generated()
    items = made.items()
    assert texts(items) == [doc["question"] for doc in SUMS[:4]]
    assert items[0].gold == SUMS[0]["answer"]
    assert (items[0].split, items[0].group) == ("test", "sums")
    assert len({item.item_id for item in items}) == 4
    assert (made.name, made.max_tokens, made.default_shots, made.chance, made.styles) == (
        "lm_eval",
        99,
        2,
        None,
        ("lm_eval",),
    )
    version = importlib.metadata.version("lm_eval")
    assert made.scorer_version == f"lm-eval {version}, sums 3.0, strict, exact_match"
    assert made.notes == []
    assert isinstance(BENCHMARKS.get("lm_eval").build(Options("sums", str(tasks.folder))), Generated)


def test_prompts_are_the_harnesss_own_examples_included(tasks: Tasks) -> None:
    tasks.sums()
    made = tasks.generated()
    from lm_eval.tasks import TaskManager

    own = TaskManager(include_path=str(tasks.folder), include_defaults=False).load("sums")["tasks"]["sums"]
    own.set_fewshot_seed(1234)
    own.build_all_requests()
    theirs = {instance.doc["question"]: instance.arguments[0] for instance in own.instances}
    ours = {item.question: made.prompt(item, item.question, "lm_eval", 2).plain for item in reversed(made.items())}
    assert ours == theirs
    assert ours[SUMS[0]["question"]].startswith("Add up.\n\nQuestion: What is ")
    assert ours[SUMS[0]["question"]].endswith("\n\nQuestion: What is 1 + 1?\nAnswer:")


def test_the_chat_form_has_the_examples_as_turns(tasks: Tasks) -> None:
    tasks.sums()
    made = tasks.generated()
    item = made.items()[0]
    prompt = made.prompt(item, item.question, "lm_eval", 1)
    ((user, assistant),) = prompt.shots
    assert user.startswith("Add up.\n\nQuestion: What is ")
    assert assistant.rpartition("#### ")[2].isdigit()
    assert prompt.user == "Question: What is 1 + 1?\nAnswer:"
    assert prompt.stop == ("Question:", "\n\n")
    assert prompt.chat_stop == ("Question:",)  # a blank line would cut every chat answer
    none = made.prompt(item, item.question, "lm_eval", 0)
    assert (none.shots, none.user) == ((), "Add up.\n\nQuestion: What is 1 + 1?\nAnswer:")


def test_the_start_of_an_answer_stands_in_the_plain_form_alone(tasks: Tasks) -> None:
    tasks.sums(gen_prefix="It is")
    made = tasks.generated()
    item = made.items()[0]
    prompt = made.prompt(item, item.question, "lm_eval", 1)
    assert prompt.plain.endswith("Question: What is 1 + 1?\nAnswer: It is")
    assert prompt.user == "Question: What is 1 + 1?\nAnswer:"


def test_only_the_question_of_a_prompt_is_perturbed(tasks: Tasks) -> None:
    tasks.sums()
    made = tasks.generated()
    item = made.items()[0]
    clean = made.prompt(item, item.question, "lm_eval", 2)
    other = made.prompt(item, "What's one and one?", "lm_eval", 2)
    assert other.plain == clean.plain.replace("What is 1 + 1?", "What's one and one?")
    assert other.shots == clean.shots
    assert made.score(item, "#### 2", "stop").correct  # the target is the clean document's
    perturbed = perturb(item, "padding(char=quote)", 0)
    framed = framed_prompt(made, perturbed.subject, "lm_eval", 0)
    assert framed.user == '"Add up.\n\nQuestion: What is 1 + 1?\nAnswer:"'


@pytest.mark.parametrize(
    ("completion", "outcome", "answer"),
    [
        ("1 + 1 = 2\n#### 2", "correct", "2"),
        ("#### 3", "wrong", "3"),
        ("I think 2", "invalid_format", None),
        ("", "no_response", None),
        ("<think>#### 3</think>#### 2", "correct", "2"),
        ("\n\n#### 2", "correct", "2"),  # a chat answer may begin with a blank line
        ("so\n\n#### 2", "invalid_format", None),  # the harness would have stopped at it
        ("Question: x #### 2", "invalid_format", None),
    ],
)
def test_completions_are_scored_by_the_tasks_filter_and_metric(
    tasks: Tasks, completion: str, outcome: str, answer: str | None
) -> None:
    tasks.sums()
    made = tasks.generated()
    verdict = made.score(made.items()[0], completion, "stop")
    assert (verdict.outcome, verdict.answer) == (outcome, answer)
    place = completion.rfind("#### ") + len("#### ")
    assert verdict.span == (None if answer is None else (place, place + 1))
    if outcome == "correct":
        assert verdict.details == {"task": "sums", "metrics": {"exact_match": 1.0}}


@pytest.mark.parametrize(
    ("name", "completion", "outcome"),
    [
        ("strict", "#### 2\nand", "correct"),
        ("strict", "#### 2", "truncated"),  # it may have gone on to 25
        ("strict", "so it is", "truncated"),
        ("last", "2 and", "truncated"),  # a later number would have counted
    ],
)
def test_a_cut_text_counts_where_nothing_that_follows_would_change_its_answer(
    tasks: Tasks, name: str, completion: str, outcome: str
) -> None:
    tasks.sums()
    made = tasks.generated(filter=name)
    verdict = made.score(made.items()[0], completion, "length")
    assert verdict.outcome == outcome
    assert verdict.details.get("truncated_but_parsed", False) is (outcome == "correct")


def test_verdicts_are_the_harnesss(tasks: Tasks) -> None:
    """The same texts through the harness's own request objects, filters and process_results."""
    tasks.sums()
    from lm_eval.tasks import TaskManager

    own = TaskManager(include_path=str(tasks.folder), include_defaults=False).load("sums")["tasks"]["sums"]
    own.set_fewshot_seed(1234)
    said = ["#### 2", "it is 4 #### 5", "4", "#### 08"]
    own.build_all_requests()
    for instance, text in zip(own.instances, said, strict=True):
        instance.resps.append(text)
    own.apply_filters()
    for name in ("strict", "last"):
        made = tasks.generated(filter=name)
        theirs = [own.process_results(i.doc, [i.filtered_resps[name]])["exact_match"] for i in own.instances]
        ours = [made.score(item, text, "stop").score for item, text in zip(made.items(), said, strict=True)]
        assert ours == theirs


def test_the_canaries_are_a_gold_answer_and_an_empty_one(tasks: Tasks) -> None:
    tasks.sums()
    made = tasks.generated()
    assert [(text, right) for _, text, right in made.canaries()] == [(SUMS[0]["answer"], True), ("", False)]
    check_scorer(made)
    tasks.sums("said", doc_to_target="{{answer.split('#### ')[1]}}")
    assert tasks.generated(task="said").canaries()[0][1] == "#### 2"
    odd = {"name": "odd", "filter": [{"function": "regex", "regex_pattern": r"=> (\d+)"}, {"function": "take_first"}]}
    tasks.sums("odd", filter_list=[odd])
    made = tasks.generated(task="odd")
    assert [(text, right) for _, text, right in made.canaries()] == [("", False)]
    assert "finds no gold answer" in made.notes[0]


def test_a_task_without_filters_compares_the_whole_text(tasks: Tasks) -> None:
    tasks.sums(filter_list=None, doc_to_target="{{answer.split('#### ')[1]}}", repeats=5)
    made = tasks.generated()
    item = made.items()[0]
    assert made.score(item, "2", "stop").correct
    assert made.score(item, "2", "length").outcome == "truncated"
    assert made.score(item, "it is 2", "stop").outcome == "wrong"
    assert "asked once, not 5 times" in made.notes[0]


def test_a_document_that_occurs_twice_counts_once(tasks: Tasks) -> None:
    tasks.add(
        "twice",
        [SUMS[0], SUMS[1], SUMS[0]],
        output_type="generate_until",
        doc_to_text="question",
        doc_to_target="answer",
    )
    assert texts(tasks.generated(task="twice").items()) == texts_of(SUMS[:2])


def texts_of(docs: list[dict[str, Any]]) -> list[str]:
    return [doc["question"] for doc in docs]


def test_several_targets_are_all_right(tasks: Tasks) -> None:
    docs = [{"question": "Name a city.", "answers": ["Rome", "Milan"]}]
    metric = {"metric": "exact_match", "aggregation": "mean", "higher_is_better": True}
    tasks.add(
        "many",
        docs,
        output_type="generate_until",
        doc_to_text="{{question}}",
        doc_to_target="answers",
        metric_list=[metric],
    )
    made = tasks.generated(task="many")
    (item,) = made.items()
    assert item.gold == "Rome"
    assert [made.score(item, text, "stop").correct for text in ("Rome", "Milan", "Turin")] == [True, True, False]


def test_own_stop_strings_and_lengths(tasks: Tasks) -> None:
    tasks.sums()
    made = tasks.generated(stop="END", max_tokens=7)
    item = made.items()[0]
    assert (made.prompt(item, item.question, "lm_eval", 0).stop, made.max_tokens) == (("END",), 7)


def test_a_metric_that_gives_no_number_is_one_clear_line(tasks: Tasks) -> None:
    tasks.sums(metric_list=[{"metric": "bleu", "aggregation": "bleu", "higher_is_better": True}, EXACT])
    with pytest.raises(UserError, match="bleu of sums gives no number for one answer: set another metric"):
        check_scorer(tasks.generated())
    check_scorer(tasks.generated(metric="exact_match"))


# --- what is perturbed ---


def test_the_question_is_a_field_that_stands_in_the_prompt(tasks: Tasks) -> None:
    tasks.quiz()
    items = tasks.chosen().items()
    assert set(texts(items)) == {"Which city?", "Which river?"}
    assert len(items) == 3
    assert len({item.cluster_id for item in items}) == 2  # the shared passage
    passages = tasks.chosen(question_field="passage")
    assert set(texts(passages.items())) == {doc["passage"] for doc in QUIZ}
    with pytest.raises(UserError, match=r"hold no field 'gold' as it is; they hold: passage, question"):
        tasks.chosen(question_field="gold")


def test_without_such_a_field_the_whole_text_is_the_question_and_a_note_says_so(tasks: Tasks) -> None:
    tasks.sums(doc_to_text="Q: {{question | upper}}\nA:")
    made = tasks.generated()
    item = made.items()[0]
    assert item.question == "Q: WHAT IS 1 + 1?\nA:"
    assert "change the whole text" in made.notes[0]
    clean, other = (made.prompt(item, text, "lm_eval", 1) for text in (item.question, "Hm:"))
    assert other.plain == clean.plain.removesuffix(item.question) + "Hm:"
    assert (other.user, other.shots) == ("Hm:", clean.shots)


# --- multiple_choice ---


def test_options_are_listed_and_the_letter_is_read(tasks: Tasks) -> None:
    tasks.quiz()
    made = tasks.chosen()
    item = next(item for item in made.items() if item.gold == "B")
    prompt = made.prompt(item, item.question, "direct", 0)
    asked = "Rome lies on the Tiber.\nQuestion: Which river?\nA. Po\nB. Tiber\nC. Arno"
    assert prompt.user.startswith(asked + "\n\nDo not explain")
    assert prompt.plain.startswith("Question: " + asked)
    assert made.score(item, "<answer>B</answer>", "stop").correct
    assert made.score(item, "A", "stop").outcome == "wrong"
    assert made.chance == pytest.approx((1 / 3 + 1 / 3 + 1 / 2) / 3)
    assert made.default_shots == 0
    assert "not the harness's" in made.notes[0]
    assert made.judged_as(item, item.question) == (asked, "B. Tiber")
    check_scorer(made)


def test_examples_come_from_the_harness_where_no_reasoning_is_asked_for(tasks: Tasks) -> None:
    tasks.quiz()
    made = tasks.chosen()
    item = made.items()[0]
    prompt = made.prompt(item, item.question, "direct", 2)
    assert len(prompt.shots) == 2
    assert all("Question: Which" in user and answer in ("Answer: A", "Answer: B") for user, answer in prompt.shots)
    reasoned = made.prompt(item, item.question, "cot", 1)
    assert "\nAnswer: " in reasoned.shots[0][1]
    assert not any(doc["passage"] in reasoned.shots[0][0] for doc in QUIZ)


def test_choices_can_be_shuffled_and_gold_follows(tasks: Tasks) -> None:
    tasks.quiz()
    made = tasks.chosen()
    for item in made.items():
        check_applies("shuffle_choices", item, made.name)
        moved = perturb(item, "shuffle_choices", 3).subject.item
        gold = dict(zip("ABC", moved.extras["choices"], strict=False))[moved.gold]
        assert gold == dict(zip("ABC", item.extras["choices"], strict=False))[item.gold]
        assert f"{moved.gold}. {gold}" in made.prompt(moved, moved.question, "direct", 0).user


def test_options_that_the_text_lists_are_not_listed_again_and_not_moved(tasks: Tasks) -> None:
    text = "{{question.strip()}}\nA. {{choices[0]}}\nB. {{choices[1]}}\nAnswer:"
    tasks.quiz(docs=QUIZ[2:], doc_to_text=text, doc_to_choice=["A", "B"])
    made = tasks.chosen()
    (item,) = made.items()
    assert made.prompt(item, item.question, "direct", 0).user.startswith("Which river?\nA. Po\nB. Tiber\n\nDo not")
    assert (item.gold, made.options(item), made.chance) == ("A", ["A", "B"], 0.5)
    assert made.score(item, "Answer: A", "stop").correct
    with pytest.raises(UserError, match="needs answers to choose from"):
        check_applies("shuffle_choices", item, made.name)


def test_targets_may_be_texts_and_bad_ones_are_errors_of_their_items(tasks: Tasks) -> None:
    docs = [{**QUIZ[0], "gold": "Milan"}, {**QUIZ[1], "gold": "Nile"}]
    tasks.quiz(docs=docs, doc_to_text="{{question}}")
    made = tasks.chosen()
    good, bad = made.items()
    assert (good.gold, "problem" in bad.extras) == ("B", True)
    with pytest.raises(TrialError, match="quiz, document 1") as caught:
        made.prompt(bad, bad.question, "direct", 0)
    assert caught.value.error_type == "item_invalid"


# --- a task as shipped ---


@pytest.mark.skipif(not GSM8K.is_dir(), reason="no GSM8K files at ../shared/data/gsm8k")
def test_the_shipped_gsm8k_over_local_files(tasks: Tasks) -> None:
    import lm_eval
    from lm_eval.tasks import TaskManager

    shipped = Path(lm_eval.__file__).parent / "tasks/gsm8k/gsm8k.yaml"
    files = {"test": str(GSM8K / "test.jsonl"), "train": str(GSM8K / "train_first500.jsonl")}
    own = {"include": str(shipped), "task": "local_gsm8k", "dataset_path": "json", "dataset_name": None}
    text = yaml.safe_dump(own | {"dataset_kwargs": {"data_files": files}})
    (tasks.folder / "local.yaml").write_text(text)
    made = tasks.generated(task="local_gsm8k")
    items = made.items()
    assert (len(items), made.default_shots, made.max_tokens) == (700, 5, 256)
    assert all(made.score(item, item.gold, "stop").correct for item in items)
    theirs = TaskManager(include_path=str(tasks.folder), include_defaults=False).load("local_gsm8k")["tasks"][
        "local_gsm8k"
    ]
    theirs.set_fewshot_seed(1234)
    theirs.build_all_requests(limit=20)
    for item, instance in zip(items, theirs.instances, strict=False):
        assert made.prompt(item, item.question, "lm_eval", 5).plain == instance.arguments[0]


# --- what cannot be asked ---


def test_tasks_that_cannot_be_asked_are_refused_in_one_line(tasks: Tasks, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UserError, match="task is not set"):
        build(Options())
    tasks.sums("likely", output_type="loglikelihood", metric_list=None, filter_list=None, generation_kwargs=None)
    with pytest.raises(UserError, match="output_type loglikelihood, which scores given texts"):
        tasks.generated(task="likely")
    tasks.sums("unsafe", unsafe_code=True)
    for name in ("unsafe", tasks.sums("cruxeval_mine"), tasks.sums("longproc_countdown_2k")):  # these do not say so
        with pytest.raises(UserError, match="runs generated code outside any sandbox"):
            tasks.generated(task=name)
    tasks.sums("seen", doc_to_image=["question"])
    with pytest.raises(UserError, match="images or sound"):
        tasks.generated(task="seen")
    tasks.quiz("fill", doc_to_text="gold")
    with pytest.raises(UserError, match="several contexts"):
        tasks.chosen(task="fill")
    tasks.sums("gone", dataset_kwargs={"data_files": {"test": "/nowhere.jsonl"}})
    with pytest.raises(UserError, match="lm-eval cannot load gone: FileNotFoundError"):
        tasks.generated(task="gone")
    with pytest.raises(UserError, match="include_path: there is no folder /nowhere"):
        build(Options("sums", "/nowhere"))
    monkeypatch.setattr(harness_loading.importlib.metadata, "version", lambda name: "0.4.99")
    with pytest.raises(UserError, match=r"needs lm-eval 0.4.13, not 0.4.99: pip install 'taboo_cluster\[lm_eval\]'"):
        tasks.generated(task="other")


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"filter_list": []}, "bare has no filter, so nothing"),
        ({"metric_list": []}, "bare has no metric, so nothing"),
        ({"metric_list": [EXACT | {"higher_is_better": False}]}, "bare has no metric, so nothing"),  # 1 is not right
        ({"doc_to_text": "{{ undefined_name }}"}, "lm-eval cannot load bare: UndefinedError"),
        ({"doc_to_text": "{{ question"}, "lm-eval cannot load bare: TemplateSyntaxError"),
        ({"test_split": "tset"}, "lm-eval cannot load bare: KeyError"),
        ({"output_type": "chat"}, "lm-eval cannot load bare: ValueError"),
    ],
)
def test_a_task_file_that_cannot_work_is_one_line(tasks: Tasks, wrong: dict[str, Any], said: str) -> None:
    tasks.sums("bare", **wrong)
    with pytest.raises(UserError) as caught:
        tasks.generated(task="bare")
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_no_tokens_are_no_answer(tasks: Tasks) -> None:
    tasks.sums()
    tasks.quiz()
    for make in (tasks.generated, tasks.chosen):
        with pytest.raises(UserError, match=r"benchmark\.lm_eval\.max_tokens is 0; it has to be 1 or more"):
            make(max_tokens=0)


def test_looking_for_a_task_runs_nothing_and_loading_it_runs_its_functions(tasks: Tasks) -> None:
    """What docs/benchmarks.md says of task files: they are programs."""
    mark = tasks.folder / "ran"
    (tasks.folder / "utils.py").write_text(
        f"from pathlib import Path\nPath({str(mark)!r}).touch()\ndef text(doc):\n    return doc['question']\n"
    )
    tasks.sums("program")
    file = tasks.folder / "program.yaml"
    asked = yaml.safe_load(file.read_text()) | {"doc_to_text": None}
    text = yaml.safe_dump(asked).replace("doc_to_text: null", "doc_to_text: !function utils.text")
    file.write_text(text)
    tasks.sums()
    tasks.generated(task="sums")
    assert not mark.exists()
    assert texts(tasks.generated(task="program").items()) == texts_of(SUMS[:4])
    assert mark.exists()


def test_filters_metrics_styles_and_shots_that_are_not_there(tasks: Tasks) -> None:
    tasks.sums()
    with pytest.raises(UserError, match=r"unknown filter of sums 'strct' - did you mean 'strict'"):
        tasks.generated(filter="strct")
    with pytest.raises(UserError, match=r"unknown metric of sums 'acc'"):
        tasks.generated(metric="acc")
    made = tasks.generated()
    item = made.items()[0]
    with pytest.raises(UserError, match="has no prompt style 'cot'"):
        made.prompt(item, item.question, "cot", 0)
    with pytest.raises(UserError, match="has not 9 worked examples"):
        made.prompt(item, item.question, "lm_eval", 9)


def test_a_shipped_task_is_found_by_its_file(tasks: Tasks) -> None:
    with pytest.raises(UserError, match="lm-eval cannot load arc_easy: ") as caught:  # its data is on the hub
        tasks.generated(task="arc_easy")
    assert "unknown" not in str(caught.value)


@pytest.mark.verify  # the harness reads the 13,000 files of its own tasks: half a minute
def test_shipped_tasks_are_found_and_unknown_ones_named_with_the_nearest(tasks: Tasks) -> None:
    with pytest.raises(UserError, match=r"unknown lm-eval task 'arc_esy' - did you mean 'arc_easy'"):
        tasks.generated(task="arc_esy")
    with pytest.raises(UserError, match="mmlu is a group of lm-eval tasks"):
        tasks.generated(task="mmlu")
