"""humaneval: items, prompts, scores by running programs."""

from __future__ import annotations

import ast
import json
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from taboo_cluster.benchmarks.base import BENCHMARKS
from taboo_cluster.benchmarks.humaneval import INSTRUCTION, SHOTS, HumanEval, Options
from taboo_cluster.canary import CanaryFailed, check_scorer
from taboo_cluster.config import RunConfig
from taboo_cluster.errors import UserError
from taboo_cluster.sandbox import sandbox
from taboo_cluster.sandbox.program import Limits, Program, Result, run_program
from taboo_cluster.sandbox.sandbox import Sandbox, find_box
from taboo_cluster.trial import Item

DATA = Path(__file__).parents[2] / "../shared/data/humaneval/HumanEval.jsonl"
needs_data = pytest.mark.skipif(not DATA.is_file(), reason="no HumanEval file at ../shared/data/humaneval")

ROW = {
    "task_id": "HumanEval/900",
    "prompt": 'def twice(x: int) -> int:\n    """Two times x.\n    >>> twice(2)\n    4\n    """\n',
    "canonical_solution": "    return 2 * x\n",
    "test": "\n\ndef check(candidate):\n    assert candidate(2) == 4\n    assert candidate(-1) == -2\n",
    "entry_point": "twice",
}


@pytest.fixture(scope="module")
def boxed() -> None:
    try:
        find_box()
    except UserError as error:
        pytest.skip(str(error))


def benchmark(folder: Path, *rows: dict[str, str], **options: float) -> HumanEval:
    (folder / "test.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows or (ROW,)))
    return HumanEval(Options(path=str(folder), **options))  # type: ignore[arg-type]


def real(**options: float) -> HumanEval:
    return HumanEval(Options(path=str(DATA), **options))  # type: ignore[arg-type]


def test_items(tmp_path: Path) -> None:
    (item,) = benchmark(tmp_path).items()
    assert item == Item(
        "HumanEval/900",
        ROW["prompt"],
        "    return 2 * x\n",
        "test",
        "HumanEval/900",
        extras={"entry_point": "twice", "test": ROW["test"]},
    )


def test_h12_the_order_of_rows_does_not_matter_and_a_row_twice_counts_once(tmp_path: Path) -> None:
    other = {**ROW, "task_id": "HumanEval/1"}
    one, two = (benchmark(tmp_path, *rows).items() for rows in ((ROW, other, ROW), (other, ROW)))
    assert one == two
    assert [item.item_id for item in one] == ["HumanEval/1", "HumanEval/900"]


def test_h12_two_tasks_of_one_id_are_a_mistake(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="line 2: another row has the task_id HumanEval/900 too, and they differ"):
        benchmark(tmp_path, ROW, {**ROW, "canonical_solution": "    return x + x\n"}).items()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"timeout_s": 0}, "timeout_s is 0"),
        ({"timeout_s": float("nan")}, "timeout_s is nan"),
        ({"max_tokens": 0}, "max_tokens is 0"),
        ({"stop": ["\n"]}, "cannot be a stop string"),
    ],
)
def test_options_that_no_run_could_use(options: dict[str, float], said: str) -> None:
    with pytest.raises(UserError, match=re.escape(said)):
        real(**options)


def test_prompts(tmp_path: Path) -> None:
    made = benchmark(tmp_path)
    (item,) = made.items()
    prompt = made.prompt(item, item.question, "direct", 0)
    assert prompt.plain == ROW["prompt"].rstrip(), "a base model goes on after the docstring, not after white space"
    assert prompt.user == f"{INSTRUCTION}\n\n```python\n{ROW['prompt'].rstrip()}\n```"
    assert prompt.shots == ()
    assert prompt.stop == ("\nclass", "\ndef", "\n#", "\nif", "\nprint")
    assert prompt.chat_stop == ()
    shot = made.prompt(item, item.question, "direct", 2)
    asked, body = SHOTS[0]
    assert shot.plain.startswith(f"{asked}\n{body}\n\n\n{SHOTS[1][0]}\n")
    assert shot.plain.endswith(f"\n\n\n{prompt.plain}")
    assert shot.shots[0] == (f"{INSTRUCTION}\n\n```python\n{asked}\n```", f"```python\n{asked}\n{body}\n```")
    with pytest.raises(UserError, match="humaneval has 2 worked examples; n_shots=3"):
        made.prompt(item, item.question, "direct", 3)
    with pytest.raises(UserError, match="no prompt style 'cot'"):
        made.prompt(item, item.question, "cot", 0)


def test_own_stop_strings_hold_for_both_forms(tmp_path: Path) -> None:
    made = HumanEval(Options(path=str(DATA), stop="\n\n\n\nX"))
    prompt = made.prompt(Item("i", "def f(): ...", "", "test", "i"), "def f(): ...", "direct", 0)
    assert prompt.stop == prompt.chat_stop == ("\n\n\n\nX",)


def test_the_worked_examples_are_right() -> None:
    """Their docstring's example holds."""
    for asked, body in SHOTS:
        names: dict[str, object] = {}
        exec(f"{asked}\n{body}", names)  # noqa: S102
        call, wanted = re.findall(r">>> (.*)\n +(.*)\n", asked)[0]
        assert eval(call, names) == ast.literal_eval(wanted)  # noqa: S307


RIGHT = "```python\ndef twice(x):\n    return x + x\n```"


ENDED = "the program's process ended before its tests did: exit 0"


@pytest.mark.parametrize(
    ("completion", "outcome", "status", "message"),
    [
        (RIGHT, "correct", "passed", None),
        ("\n    return x + x", "correct", "passed", None),
        ("\n    return x * x", "wrong", "failed", "AssertionError: assert candidate(-1) == -2"),
        ("\n    return 1 / 0", "wrong", "failed", "ZeroDivisionError: division by zero: assert candidate(2) == 4"),
        ("\n    while True: pass", "wrong", "timeout", "not done after 1 s"),
        ("\n    return (", "wrong", "failed", "SyntaxError: '(' was never closed (solution.py, line 6)"),
        ("\n    import os\n    os._exit(0)", "wrong", "killed", ENDED),
        ("The function doubles.", "invalid_format", None, None),
        ("I'm sorry, but I can't help with that.", "refused", None, None),
        (" \n", "no_response", None, None),
    ],
)
def test_outcomes(
    tmp_path: Path, boxed: None, completion: str, outcome: str, status: str | None, message: str | None
) -> None:
    made = benchmark(tmp_path, timeout_s=1.0)
    found = made.score(made.items()[0], completion, "stop")
    assert (found.outcome, found.details.get("sandbox"), found.details.get("message")) == (outcome, status, message)
    assert found.score == float(outcome == "correct")
    assert found.parse_ok is (outcome in ("correct", "wrong"))


@pytest.mark.parametrize(
    ("completion", "outcome"),
    [
        ("\n    return x + x\n    return", "correct"),
        (f"{RIGHT}\nThis function", "correct"),
        ("\n    return x", "wrong"),
        ("\n    return (x +", "truncated"),
        ("```python\ndef twice(x):\n    if x >", "truncated"),
        ("Let me think about", "truncated"),
    ],
)
def test_of_a_text_stopped_by_length_what_compiles_is_run(
    tmp_path: Path, boxed: None, completion: str, outcome: str
) -> None:
    made = benchmark(tmp_path)
    found = made.score(made.items()[0], completion, "length")
    assert (found.outcome, found.details.get("truncated_but_parsed", False)) == (outcome, outcome != "truncated")
    assert ("sandbox" in found.details) is (outcome != "truncated")


def test_the_answer_is_the_program_that_was_run(tmp_path: Path, boxed: None) -> None:
    made = benchmark(tmp_path)
    (item,) = made.items()
    assert made.score(item, "\n    return x + x", "stop").answer == ROW["prompt"] + "    return x + x\n"
    assert made.score(item, RIGHT, "stop").answer == "def twice(x):\n    return x + x\n"


def test_the_scorers_version_names_the_time_limit(tmp_path: Path) -> None:
    assert benchmark(tmp_path).scorer_version == "humaneval-1, 5 s"
    assert benchmark(tmp_path, timeout_s=2.5).scorer_version == "humaneval-1, 2.5 s"


# --- before a run ---


def test_j1_a_passing_and_a_failing_program_prove_it_first(
    tmp_path: Path, boxed: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = benchmark(tmp_path)
    assert [(completion, right) for _, completion, right in made.canaries()] == [
        ("    return 2 * x\n", True),
        ("    return None\n", False),
        ("", False),
    ]
    check_scorer(made)
    monkeypatch.setattr(Sandbox, "run", lambda *_: Result("passed", "", "", 0.1))
    with pytest.raises(CanaryFailed, match="scores '    return None"):
        check_scorer(made)
    monkeypatch.setattr(Sandbox, "run", lambda *_: Result("failed", "", "", 0.1))
    with pytest.raises(CanaryFailed, match="scores '    return 2"):
        check_scorer(made)


def test_j2_without_a_sandbox_the_check_refuses_and_allow_unsafe_code_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from taboo_cluster.compose import build_benchmark

    find_box.cache_clear()
    monkeypatch.setattr(sandbox, "boxes", lambda: [])
    (tmp_path / "test.jsonl").write_text(json.dumps(ROW))
    config = RunConfig("s", [], ["humaneval"], {"humaneval": {"path": str(tmp_path)}}, {})
    with pytest.raises(UserError, match="allow_unsafe_code=true"):
        check_scorer(build_benchmark(config, "humaneval"))
    unsafe = RunConfig("s", [], ["humaneval"], {"humaneval": {"path": str(tmp_path)}}, {}, allow_unsafe_code=True)
    check_scorer(build_benchmark(unsafe, "humaneval"))
    find_box.cache_clear()


# --- the real problems ---


@needs_data
def test_real_items_read_and_their_solutions_are_read_as_they_are() -> None:
    items = real().items()
    assert len(items) == 164
    assert BENCHMARKS.get("humaneval").build(Options(path=str(DATA))).items() == items
    for item in items:
        prompt = real().prompt(item, item.question, "direct", 0)
        assert not prompt.plain[-1].isspace()
    assert not {item.extras["entry_point"] for item in items} & {"count_changes", "initials"}


@needs_data
def test_a_sample_of_canonical_solutions_passes_and_none_fails(boxed: None) -> None:
    """Among them tests that use helpers of the prompt (32, 38, 50), and odd white space (81, 134)."""
    items = [
        item for item in real().items() if item.item_id.split("/")[1] in ("0", "32", "38", "50", "81", "134", "163")
    ]
    assert scored(items, "gold") == ["correct"] * 7
    assert scored(items, "chat") == ["correct"] * 7
    assert scored(items, "none") == ["wrong"] * 7


@pytest.mark.verify
@needs_data
def test_every_canonical_solution_passes_and_every_none_fails(boxed: None) -> None:
    items = real().items()
    assert scored(items, "gold") == ["correct"] * 164
    assert scored(items, "chat") == ["correct"] * 164
    assert scored(items, "none") == ["wrong"] * 164


def scored(items: list[Item], kind: str) -> list[str]:
    made = real(timeout_s=20.0)
    completion = {
        "gold": lambda item: item.gold,
        "chat": lambda item: f"Here it is:\n```python\n{item.question}{item.gold}```\nIt works.",
        "none": lambda item: "    return None\n",
    }[kind]
    with ThreadPoolExecutor(2) as pool:
        return [v.outcome for v in pool.map(lambda item: made.score(item, completion(item), "stop"), items)]


@needs_data
def test_the_tests_run_where_the_program_cannot_reach_them(boxed: None) -> None:
    """A program that answers every call with what the canonical tests want would have to know them."""
    item = real().items()[0]
    source = "def has_close_elements(*x):\n    import sys\n    return sys._getframe(1).f_globals['candidate']\n"
    program = Program(source, "has_close_elements", item.extras["test"], item.question)
    assert run_program(program, find_box(), Limits()).message.startswith("KeyError: ")
