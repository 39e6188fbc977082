"""The views on prompts over a handful of records and probes, with numbers worked out by hand."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import duckdb
import pytest
from test_stability_views import probe as probe
from test_stability_views import write

from taboo_cluster.analysis.statistics import wilson
from taboo_cluster.records.schema import TABLES
from taboo_cluster.records.writer import PartWriter

Row = dict[str, Any]
Record = Callable[..., Row]
SEED = 5


def chooses(item: str) -> bool:
    """Whether an item is in the half that chooses."""
    ((half,),) = duckdb.sql(f"SELECT md5_number_lower('prompt_search {SEED} {item}') % 2 = 0").fetchall()
    return bool(half)


CHOOSING = [item for item in map(str, range(60)) if chooses(item)][:4]
OTHER = [item for item in map(str, range(60)) if not chooses(item)][:4]


def search(run: Any, later: Any, **settings: Any) -> None:
    """The launch of a run with a prompt search."""
    config = {"seed": SEED, "prompt_search": {"baseline": "plain", "threshold": 0.5, **settings}}
    with PartWriter(f"{run.directory}/tables/launches", "part-l1", TABLES["launches"]) as writer:
        writer.add({"launch_id": "l1", "run_id": "run", "started_at": later(0), "config": json.dumps(config)})


def asked(
    run: Any, record: Record, probe: Record, style: str, right: str, tcb: list[float | None], **more: Any
) -> None:
    """Records of a prompt for the items that choose and the others, right (+) or wrong (-), each with its bound."""
    rows = [
        record(item, sign == "+", prompt_style=style) for item, sign in zip([*CHOOSING, *OTHER], right, strict=True)
    ]
    run.write(*rows)
    write(run, *(probe(row, bound) for row, bound in zip(rows, tcb, strict=True)))


def perturbed_rows(record: Record, style: str, right: str) -> list[Row]:
    members = [{"name": "typos", "family": "word", "params": "{}"}]
    return [
        record(
            item, sign == "+", prompt_style=style, condition="typos", perturbations=members, perturbation_seed=1,
            changed=True, question=f"typos of {item}",
        )
        for item, sign in zip([*CHOOSING, *OTHER], right, strict=True)
    ]  # fmt: skip


@pytest.fixture
def three_prompts(run: Any, record: Record, probe: Record, later: Any) -> Any:
    """plain: right and less stable; careful: as right, more stable; loose: most stable, and too often wrong."""
    search(run, later, fragile="careful", stubborn="loose")
    asked(run, record, probe, "plain", "+++-++--", [1, 2, 4, 8, 1, 2, 4, 8])
    asked(run, record, probe, "careful", "++--+++-", [4, 4, 16, None, 2, 2, 8, 8])
    asked(run, record, probe, "loose", "+---++++", [100] * 8)
    run.write(*perturbed_rows(record, "careful", "+++++-+-"))
    return run


def test_the_most_stable_of_the_accurate_prompts_is_chosen_on_half_of_the_items(three_prompts: Any) -> None:
    rows = {row["prompt_style"]: row for row in three_prompts.ask("FROM prompt_search")}
    assert [name for name, row in rows.items() if row["chosen"]] == ["careful"]
    plain, careful, loose = (rows[name] for name in ("plain", "careful", "loose"))
    assert (plain["accuracy_choosing"], careful["accuracy_choosing"], loose["accuracy_choosing"]) == (0.75, 0.5, 0.25)
    assert plain["tcb_choosing"] == pytest.approx(64 ** (1 / 4))
    assert careful["tcb_choosing"] == pytest.approx(256 ** (1 / 3))  # one has no bound
    logs = [math.log(4), math.log(4), math.log(16)]
    mean = sum(logs) / 3
    assert careful["sd_ln_tcb"] == pytest.approx(math.sqrt(sum((value - mean) ** 2 for value in logs) / 2))
    assert (careful["eligible"], loose["eligible"]) == (True, False)  # half is enough
    assert (loose["reason"], careful["reason"]) == ("accuracy below the threshold", None)
    assert (careful["accuracy"], careful["n"]) == (0.75, 4)
    assert (careful["ci_low"], careful["ci_high"]) == pytest.approx(wilson(3, 4))
    assert (plain["gain"], careful["gain"], loose["gain"]) == (0, 0.25, 0.5)
    assert careful["tcb_answer"] == pytest.approx(256 ** (1 / 4))
    # Of the other half: clean +++-, perturbed +-+-.
    assert (careful["accuracy_perturbed"], careful["flip_rate"], careful["n_perturbed"]) == (0.5, 0.25, 4)
    assert (plain["accuracy_perturbed"], plain["n_perturbed"], plain["is_baseline"]) == (None, 0, True)


def test_none_is_chosen_where_none_is_accurate_or_probed(run: Any, record: Record, probe: Record, later: Any) -> None:
    search(run, later, threshold=0.9)
    asked(run, record, probe, "plain", "+++-++++", [1.0] * 8)
    asked(run, record, probe, "careful", "++++++++", [None] * 8)
    rows = {row["prompt_style"]: row for row in run.ask("FROM prompt_search")}
    assert not any(row["chosen"] for row in rows.values())
    assert (rows["careful"]["reason"], rows["plain"]["reason"]) == ("not probed", "accuracy below the threshold")


def test_a_run_without_a_search_has_no_rows(run: Any, record: Record, probe: Record) -> None:
    asked(run, record, probe, "plain", "+++-++--", [1.0] * 8)
    assert run.ask("FROM prompt_search") == []
    assert run.ask("FROM prompt_moves") == []


def test_each_item_is_given_its_quadrants_prompt(three_prompts: Any) -> None:
    # plain: +1 +2 +4 -8 +1 +2 -4 -8; the median is 3: robust 4, fragile 1 2 1 2, stubborn 8 4 8.
    rows = {row["quadrant"]: row for row in three_prompts.ask("FROM prompt_moves")}
    assert set(rows) == {"robust", "fragile", "stubborn", None}
    robust, fragile, stubborn, every = (rows[name] for name in ("robust", "fragile", "stubborn", None))
    assert (robust["prompt"], fragile["prompt"], stubborn["prompt"], every["prompt"]) == (
        "plain", "careful", "loose", None,
    )  # fmt: skip
    assert (robust["n"], robust["accuracy_before"], robust["accuracy_after"], robust["to_robust"]) == (1, 1, 1, 1)
    # fragile items with `careful`: clean + + + +; perturbed + + + -, so one is right in half of its variants: right.
    assert (fragile["n"], fragile["accuracy_before"], fragile["accuracy_after"]) == (4, 1, 1)
    assert fragile["tcb_before"] == pytest.approx(4 ** (1 / 4))
    assert fragile["tcb_after"] == pytest.approx(64 ** (1 / 4))
    assert (fragile["to_robust"], fragile["to_fragile"], fragile["to_stubborn"], fragile["to_uncertain"]) == (
        2,
        2,
        0,
        0,
    )
    # stubborn items with `loose`: - + + at a bound of 100
    assert (stubborn["n"], stubborn["accuracy_before"], stubborn["accuracy_after"]) == (3, 0, pytest.approx(2 / 3))
    assert (stubborn["to_robust"], stubborn["to_stubborn"]) == (2, 1)
    assert (every["n"], every["accuracy_before"], every["accuracy_after"]) == (8, 5 / 8, 7 / 8)
    assert every["to_robust"] + every["to_fragile"] + every["to_stubborn"] == 8
