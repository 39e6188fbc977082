"""Which paraphrase counts, and what need not be asked again."""

from __future__ import annotations

from pathlib import Path

import pytest
from stored import folder, row

from taboo_cluster.errors import UserError
from taboo_cluster.paraphrases.store import check_benchmark, question_hash, read_accepted, settled

WRITER = {"model": "w", "model_revision": "r", "quantization": "none", "dtype": "bfloat16", "engine": "e"}
WRITER |= {"prompt_version": "1", "temperature": 0.0, "top_p": None, "sample_seed": None}
KEY = ("i1", question_hash("How many?"))


def test_the_first_accepted_of_a_kind_counts_for_good(tmp_path: Path) -> None:
    folder(tmp_path, row("How many?", "second", minute=2))
    folder(tmp_path, row("How many?", "rejected", minute=0, accepted=False), name="part-b-000000")
    folder(tmp_path, row("How many?", "first", minute=1), name="part-c-000000")
    folder(tmp_path, row("How many?", "other kind", kind="lexical"), name="part-d-000000")
    assert read_accepted(str(tmp_path), "free") == {KEY: "first"}
    assert read_accepted(str(tmp_path), "lexical") == {KEY: "other kind"}


def test_a_folder_without_any_of_that_kind_is_one_line_with_the_command(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="holds no free paraphrases; they are made by: python -m taboo_cluster"):
        read_accepted(str(tmp_path / "nowhere"), "free")
    folder(tmp_path, row("How many?", None, accepted=False))
    with pytest.raises(UserError, match="holds no free paraphrases"):
        read_accepted(str(tmp_path), "free")


def test_a_benchmark_without_any_is_one_line_that_says_what_there_is(tmp_path: Path) -> None:
    folder(tmp_path, row("q", "p"), row("q2", "p2", benchmark="mmlu", accepted=False))
    check_benchmark(str(tmp_path), "free", "gsm8k")
    message = r"holds no free paraphrases of mmlu \(it has some for gsm8k\); they are made by: .*benchmarks=\[mmlu\]"
    with pytest.raises(UserError, match=message):
        check_benchmark(str(tmp_path), "free", "mmlu")
    with pytest.raises(UserError, match="holds no lexical paraphrases of gsm8k; they"):
        check_benchmark(str(tmp_path), "lexical", "gsm8k")


def test_what_is_accepted_or_was_tried_by_the_same_writer_is_settled(tmp_path: Path) -> None:
    failed = {"accepted": False, "reason": "empty"}
    folder(
        tmp_path,
        row("accepted", "p", model="somebody"),
        row("mine", None, **failed),
        row("other model", None, **failed, model="somebody"),
        row("other seed", None, **failed, temperature=0.7, top_p=1.0, sample_seed=3),
        row("other version", None, **failed, prompt_version="0"),
    )
    assert settled(str(tmp_path), WRITER) == {("free", "i1", question_hash(text)) for text in ("accepted", "mine")}
    drawn = WRITER | {"temperature": 0.7, "top_p": 1.0, "sample_seed": 3}
    assert settled(str(tmp_path), drawn) == {("free", "i1", question_hash(text)) for text in ("accepted", "other seed")}
    assert settled(str(tmp_path / "nowhere"), WRITER) == set()
