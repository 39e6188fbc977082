"""Our readings and verdicts against lm-evaluation-harness's flexible GSM8K filter.

On 200 completions of a real model, kept in docs/measured, and on GSM8K's worked solutions without their `####` line,
which are written by people and nearly all right. Each text that the two read differently stands in the page beside the
completions with the reason. `python tests/verify/test_lm_eval_agreement.py` makes the completions again; the page is
then to be written anew.
"""

from __future__ import annotations

import json
import os
import re
from fractions import Fraction
from pathlib import Path

import pytest

from taboo_cluster.benchmarks.numeric import score_number

ROOT = Path(__file__).parents[2]
COMPLETIONS = ROOT / "docs/measured/lm_eval_gsm8k_completions.jsonl"
PAGE = ROOT / "docs/measured/lm_eval_gsm8k_differences.md"
DATA = ROOT / "../shared/data/gsm8k"
MODEL, ITEMS, MAX_TOKENS = "SmolLM2-135M-Instruct", 200, 200

pytestmark = [
    pytest.mark.verify,
    pytest.mark.skipif(not COMPLETIONS.exists(), reason=f"{COMPLETIONS.name} is not made yet: run this file"),
]


def records() -> list[dict[str, str]]:
    return [json.loads(line) for line in COMPLETIONS.read_text(encoding="utf-8").splitlines()]


def solutions() -> list[dict[str, str]]:
    """GSM8K's worked solutions as completions, without calculator marks and the line with the answer."""
    found = []
    for file in ("test", "train_first500"):
        for number, line in enumerate((DATA / f"{file}.jsonl").read_text(encoding="utf-8").splitlines(), 1):
            text, gold = json.loads(line)["answer"].split("\n#### ")
            text = re.sub("<<.*?>>", "", text)
            record = {"item_id": f"{file}:{number}", "gold": gold.replace(",", ""), "completion": text}
            found.append({**record, "finish_reason": "stop"})
    return found


def harness_readings(found: list[dict[str, str]]) -> list[tuple[str, bool]]:
    """(text read, verdict) of each completion, by lm-eval's own stop strings, filter and metric."""
    lm_eval = pytest.importorskip("lm_eval", reason="lm-eval is not installed")
    yaml = pytest.importorskip("yaml")
    from lm_eval.api.metrics import exact_match_hf_evaluate
    from lm_eval.filters.extraction import RegexFilter

    task = yaml.safe_load((Path(lm_eval.__file__).parent / "tasks/gsm8k/gsm8k.yaml").read_text())
    (flexible,) = [entry for entry in task["filter_list"] if entry["name"] == "flexible-extract"]
    regex = {key: value for key, value in flexible["filter"][0].items() if key != "function"}
    metric = {key: task["metric_list"][0][key] for key in ("regexes_to_ignore", "ignore_case", "ignore_punctuation")}
    until = re.compile("|".join(map(re.escape, task["generation_kwargs"]["until"])))
    texts = [[until.split(record["completion"])[0]] for record in found]
    taken = [first for first, *_ in RegexFilter(**regex).apply(texts, [{}] * len(texts))]
    readings = []
    for text, record in zip(taken, found, strict=True):
        right = bool(exact_match_hf_evaluate([text], [f"#### {record['gold']}"], **metric)["exact_match"])
        for ignored in metric["regexes_to_ignore"]:
            text = re.sub(ignored, "", text)
        readings.append((text, right))
    return readings


def same_reading(harness: str, ours: str | None) -> bool:
    """Both read the same value, or both none."""
    if harness == "[invalid]" or ours is None:
        return harness == "[invalid]" and ours is None
    try:
        return Fraction(harness) == Fraction(ours)
    except ValueError:  # such as "1.2.3" or "."
        return False


def differences(found: list[dict[str, str]]) -> dict[str, tuple[str, ...]]:
    """(harness reads, we read, do the verdicts agree) by item, where value or verdict differs."""
    differing = {}
    for record, (text, theirs) in zip(found, harness_readings(found), strict=True):
        verdict = score_number(record["gold"], record["completion"], record["finish_reason"])
        agree = verdict.correct == theirs
        if not agree or not same_reading(text, verdict.answer):
            row = (text[:24], verdict.answer or verdict.outcome, "agree" if agree else "differ")
            differing[record["item_id"]] = row
    return differing


def listed() -> dict[str, tuple[str, ...]]:
    row = re.compile(r"^\| `(.*?)` \| `(.*?)` \| `(.*?)` \| (agree|differ) \| \S.{15,} \|$", re.MULTILINE)
    return {item_id: tuple(rest) for item_id, *rest in row.findall(PAGE.read_text(encoding="utf-8"))}


def test_completions_are_read_differently_only_where_the_page_says_why() -> None:
    found = records()
    assert len({record["item_id"] for record in found}) == ITEMS
    assert {key: value for key, value in listed().items() if ":" not in key} == differences(found)


@pytest.mark.skipif(not DATA.is_dir(), reason="no GSM8K files at ../shared/data/gsm8k")
def test_solutions_are_judged_differently_only_where_the_page_says_why() -> None:
    found = solutions()
    assert len(found) == 1200
    judged = {key: value for key, value in differences(found).items() if value[2] == "differ"}
    assert {key: value for key, value in listed().items() if ":" in key} == judged


def generate(models: Path, data: Path) -> None:
    """Write the completions: greedy, float32, a seeded choice of test items, with 2 worked examples or none in turn."""
    from taboo_cluster.benchmarks.gsm8k import Options, build
    from taboo_cluster.config import ModelConfig
    from taboo_cluster.engines.base import ENGINES, Hardware, Request
    from taboo_cluster.hashing import stable_hash
    from taboo_cluster.models import resolve
    from taboo_cluster.prompts import render

    benchmark = build(Options(path=str(data)))
    items = sorted(benchmark.items(), key=lambda item: stable_hash(0, item.item_id))[:ITEMS]
    gold = {item.item_id: item.gold for item in items}
    model = resolve(ModelConfig(name=MODEL, path=str(models / MODEL), aligned=True, dtype="float32"))
    entry = ENGINES.get("transformers")
    engine = entry.build(model, entry.options(batch_size=50), Hardware(threads=2))
    requests = []
    for number, item in enumerate(items):
        prompt = benchmark.prompt(item, item.question, "cot", n_shots=2 * (number % 2))
        rendered = render(prompt, model, engine.tokenizer)
        requests.append(Request(item.item_id, rendered.text, rendered.ids, MAX_TOKENS, rendered.stop))
    with COMPLETIONS.open("w", encoding="utf-8") as out:
        for done in engine.generate(requests):
            assert done.generation is not None, done.error
            record = {
                "item_id": done.key,
                "gold": gold[done.key],
                "completion": done.generation.text,
                "finish_reason": done.generation.finish_reason,
            }
            out.write(json.dumps(record, ensure_ascii=False) + "\n")
            out.flush()


if __name__ == "__main__":
    generate(Path(os.environ["TABOO_MODELS"]), DATA)
