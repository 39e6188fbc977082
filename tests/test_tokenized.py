from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from taboo_cluster.benchmarks.base import BENCHMARKS, Benchmark
from taboo_cluster.config import RunConfig
from taboo_cluster.engines.scripted import byte_tokenizer
from taboo_cluster.perturbations.stack import canonical, perturb, variant_seed
from taboo_cluster.records.schema import RECORD, TABLES
from taboo_cluster.records.writer import PartWriter
from taboo_cluster.tokenization import Tokenizer
from taboo_cluster.tokenized import CLEAN, TABLE, Version, recorded_tokenizers, rows, unmeasured, versions
from taboo_cluster.trial import Item

FRAGMENTED, REGULAR = canonical("fragment(p=0.5)"), canonical("fragment_regular(p=1)")
ITEMS = [Item(f"i{n}", f"Tom has {n} red apples.", str(n), "test", f"c{n}", "fruit") for n in range(3)]


def arithmetic() -> Benchmark:
    entry = BENCHMARKS.get("arithmetic")
    return entry.build(entry.options(n=20))


def config(*conditions: str, **more: Any) -> RunConfig:
    return RunConfig("s", [], ["arithmetic"], {}, {}, conditions=[*map(canonical, conditions)], **more)


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer(byte_tokenizer())


def test_the_clean_text_and_every_stack_that_fragments_are_measured() -> None:
    assert versions(config(), arithmetic()) == [CLEAN]
    assert versions(config("typos", "padding"), arithmetic()) == [CLEAN]
    stacked = canonical("typos(rate=0.1)+fragment(p=0.5)")
    run = config("typos", "fragment(p=0.5)", "typos(rate=0.1)+fragment(p=0.5)", seed=3, variants=2)
    seeds = [variant_seed(3, 0), variant_seed(3, 1)]
    assert versions(run, arithmetic()) == [CLEAN, *((stack, seed) for stack in (FRAGMENTED, stacked) for seed in seeds)]
    single = config(conditions_for={"arithmetic": [REGULAR], "gsm8k": [FRAGMENTED]})
    assert versions(single, arithmetic()) == [CLEAN, (REGULAR, variant_seed(0, 0))]


def test_rows_of_an_item(tokenizer: Tokenizer) -> None:
    item, wanted = ITEMS[1], [CLEAN, (FRAGMENTED, 5), (REGULAR, 5), (canonical("fragment_regular_k(k=2)"), 5)]
    clean, half, apart, pairs = rows(tokenizer, "b", item, wanted, 0)
    assert clean.keys() == {column.name for column in TABLES[TABLE]}
    assert (clean["perturbations"], clean["perturbation_seed"]) == CLEAN
    assert (clean["fragment_p"], clean["word_fragmentation_rate"]) == (None, None)
    assert (clean["split"], clean["item_id"], clean["item_group"], clean["cluster_id"]) == ("test", "i1", "fruit", "c1")
    assert (half["perturbations"], half["perturbation_seed"], half["fragment_p"]) == (FRAGMENTED, 5, 0.5)
    # Tom has 1 red apples.: 17 characters in 5 words, so 12 slots
    assert (apart["fragment_p"], apart["word_fragmentation_rate"]) == (1.0, 1.0)
    assert (pairs["fragment_p"], pairs["word_fragmentation_rate"]) == (None, pytest.approx(6 / 12))
    assert half["word_fragmentation_rate"] == perturb(item, FRAGMENTED, 5).subject.numbers["word_fragmentation_rate"]
    # a byte a token, a letter or digit with the space before it one too: 21 bytes with 4 such spaces
    assert (clean["tokens"], clean["characters"], clean["single_character_share"]) == (17, 17, 1.0)
    assert (apart["tokens"], apart["characters"]) == (17 + 1, 17)  # the space before the full stop stays alone
    assert apart["single_character_share"] == pytest.approx(17 / 18)
    assert {row["fixed_tokens"] for row in (clean, half, apart, pairs)} == {17}
    assert clean["entropy_fixed"] == clean["entropy"]
    assert len({row["measured_at"] for row in (clean, half, apart, pairs)}) == 1


def test_draws_do_not_depend_on_what_is_measured_before(tokenizer: Tokenizer) -> None:
    def numbers(run_seed: int, *wanted: Version) -> dict[Any, Any]:
        found = [rows(tokenizer, "b", item, wanted, run_seed) for item in ITEMS]
        return {(r["item_id"], r["perturbations"]): r["entropy_fixed"] for of_item in found for r in of_item}

    one, two = (FRAGMENTED, 1), (REGULAR, 1)
    assert numbers(0, CLEAN, one, two) == numbers(0, two, one, CLEAN)
    assert numbers(0, CLEAN, one, two) != numbers(1, CLEAN, one, two)


def write(run_dir: Path, found: list[dict[str, Any]], stem: str) -> None:
    with PartWriter(f"{run_dir}/tables/{TABLE}", stem, TABLES[TABLE]) as writer:
        for row in found:
            writer.add(row)


def test_what_is_in_the_table_is_not_measured_again(tokenizer: Tokenizer, tmp_path: Path) -> None:
    run_dir, wanted = str(tmp_path), [CLEAN, (FRAGMENTED, 1)]
    more = [CLEAN, (REGULAR, 1), (FRAGMENTED, 1)]

    def left(wanted: list[Version], benchmark: str = "b", hash_: str = tokenizer.hash) -> list[str]:
        return [item.item_id for item in unmeasured(run_dir, hash_, benchmark, ITEMS, wanted)]

    assert left(wanted) == ["i0", "i1", "i2"]
    write(tmp_path, rows(tokenizer, "b", ITEMS[0], wanted, 0), "part-a")
    write(tmp_path, rows(tokenizer, "b", ITEMS[1], wanted, 0)[:1], "part-b")  # killed in between
    assert left(wanted) == ["i1", "i2"]
    assert left([CLEAN]) == ["i2"]
    assert left([CLEAN, (FRAGMENTED, 2)]) == left(more) == ["i0", "i1", "i2"]
    assert left(wanted, benchmark="other") == left(wanted, hash_="other") == ["i0", "i1", "i2"]

    # extended by a level, and killed after the rows that are new: the older ones have another fixed_tokens
    later = [
        row | {"measured_at": row["measured_at"] + timedelta(seconds=1)}
        for row in rows(tokenizer, "b", ITEMS[0], more, 0)
    ]
    write(tmp_path, later[:2], "part-c")
    assert left(more) == ["i0", "i1", "i2"]
    write(tmp_path, later[2:], "part-d")
    assert left(more) == ["i1", "i2"]
    assert left(wanted) == ["i1", "i2"]


def test_tokenizers_that_records_name(tmp_path: Path) -> None:
    assert recorded_tokenizers(str(tmp_path), {"m"}) == []
    with PartWriter(f"{tmp_path}/records/m", "part-a", RECORD) as writer:
        for number, (model, tokenizer) in enumerate([("m", "h1"), ("m", "h1"), ("n", "h0"), ("m", None), ("o", "h2")]):
            writer.add({"trial_id": str(number), "model": model, "tokenizer_hash": tokenizer})
    assert recorded_tokenizers(str(tmp_path), {"m", "n"}) == ["h0", "h1"]
