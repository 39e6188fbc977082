"""What may change when a run is resumed or extended, and what may not."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest

from taboo_cluster.compose import load_config, to_dict
from taboo_cluster.drift import drift

Config = dict[str, Any]
RUN = to_dict(
    load_config(
        [
            "+sweep=alignment",
            "engine=scripted",
            "benchmarks=[arithmetic]",
            "models=[{name: org/m, revision: abc},{path: /models/n, aligned: true, stage: instruct}]",
        ]
    )
)


def changed(change: Callable[[Config], Any]) -> list[str]:
    new = deepcopy(RUN)
    change(new)
    return drift(RUN, new)


def put(*path: str | int, value: Any) -> Callable[[Config], None]:
    def change(config: Config) -> None:
        for key in path[:-1]:
            config = config[key]  # type: ignore[index]
        config[path[-1]] = value  # type: ignore[index]

    return change


def test_the_same_config_has_no_drift() -> None:
    assert changed(lambda config: None) == []


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (put("seed", value=1), "seed: 0 -> 1"),
        (put("prompt_style", value="direct"), "prompt_style: null -> direct"),
        (put("n_shots", value=4), "n_shots: null -> 4"),
        (put("benchmark", "arithmetic", "n", value=7), "benchmark.arithmetic.n: 1000 -> 7"),
        (put("engine", "wrong", value="no"), "engine.wrong: The answer is -1. -> no"),
        (put("engine", value={"name": "transformers"}), "engine: scripted -> transformers"),
        (put("models", 0, "revision", value="def"), "models.org/m.revision: abc -> def"),
        (put("models", 1, "path", value="/models/other"), "models.n.path: /models/n -> /models/other"),
        (put("models", 1, "system_prompt", value="Be kind."), "models.n.system_prompt: null -> Be kind."),
        (put("models", 1, "chat_template_kwargs", value={"a": 1}), "models.n.chat_template_kwargs: {} -> {'a': 1}"),
        (put("models", 1, "aligned", value=False), "models.n.aligned: True -> False"),
        (put("models", 1, "stage", value="dpo"), "models.n.stage: instruct -> dpo"),
    ],
)
def test_a_setting_that_would_alter_recorded_trials_is_named(change: Callable[[Config], Any], line: str) -> None:
    if line.startswith("benchmark.arithmetic.n:"):
        line = f"benchmark.arithmetic.n: {RUN['benchmark']['arithmetic']['n']} -> 7"
    assert changed(change) == [line]


def test_a_prompt_style_may_be_added_but_not_taken_away() -> None:
    old = RUN | {"prompt_style": "cot"}
    assert drift(old, RUN | {"prompt_style": ["direct", "cot"]}) == []
    assert drift(RUN | {"prompt_style": ["direct", "cot"]}, old) == ["prompt_style: ['direct', 'cot'] -> cot"]
    assert drift(RUN, RUN | {"prompt_style": ["cot"]}) == ["prompt_style: null -> ['cot']"]


@pytest.mark.parametrize(
    "change",
    [
        put("taboo", "ranks", value=[0, 1, 16]),
        put("taboo", "protect_special", value=True),
        put("limit", value=9999),
        put("limit", value=1),
        put("replicates", value=3),
        put("sweep", value="dose"),
        put("benchmarks", value=["arithmetic", "gsm8k"]),
        put("cluster", "cpus", value=2),
        put("record_steps", value=False),
        put("max_error_share", value=1.0),
        put("table", value=[]),
        put("run_dir", value="/elsewhere"),
        put("models", 0, "limit", value=3),
        put("models", 0, "revision", value=None),
        put("engine", "delay_s", value=1.0),
        put("engine", "die_after", value=5),
        put("models", 0, "quantization", value="nf4"),
        put("models", 0, "dtype", value="float32"),
        lambda config: config["models"].pop(),
        lambda config: config["models"].append({**config["models"][0], "name": "third"}),
        lambda config: config["models"].reverse(),
    ],
)
def test_what_extends_or_repeats_a_run_is_no_drift(change: Callable[[Config], Any]) -> None:
    """Quantization and dtype are part of a trial's id: another model, not another version of this one."""
    assert changed(change) == []


def test_options_of_a_benchmark_that_is_not_asked_for_do_not_matter() -> None:
    old = to_dict(load_config(["+sweep=alignment", "engine=scripted", "benchmarks=[arithmetic]"]))
    new = deepcopy(old)
    new["benchmarks"], new["benchmark"] = ["gsm8k"], {"gsm8k": {"path": "/x"}}
    assert drift(old, new) == []


def test_a_setting_that_only_one_version_knows_says_nothing() -> None:
    old = deepcopy(RUN)
    del old["engine"]["churn"], old["benchmark"]["arithmetic"]["n"], old["models"][0]["trust_remote_code"]
    assert drift(old, RUN) == drift(RUN, old | {"seed": RUN["seed"]}) == []


@pytest.mark.parametrize(
    ("engine", "harmless", "deciding"),
    [
        ("transformers", {"batch_size": 1, "max_batch_tokens": 1}, {"max_context": 1}),
        ("vllm", {"max_num_seqs": 1, "gpu_memory_utilization": 0.5, "cpu_kvcache_gib": 9.0}, {"prefix_caching": True}),
    ],
)
def test_pace_and_memory_of_an_engine_may_change(engine: str, harmless: Config, deciding: Config) -> None:
    old = to_dict(load_config(["+sweep=alignment", f"engine={engine}"]))
    assert drift(old, old | {"engine": old["engine"] | harmless}) == []
    changed = drift(old, old | {"engine": old["engine"] | deciding})
    assert [line.split(":")[0] for line in changed] == [f"engine.{name}" for name in deciding]


def of_revisions(*revisions: str | None, **settings: Any) -> Config:
    new = deepcopy(RUN)
    new["models"] = [new["models"][0] | {"revision": revision} | settings for revision in revisions]
    return new


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (["a"], ["a", "b"]), (["a"], ["c", "b"]), (["a", "b"], ["b", "a"]), (["a", "b"], ["c"]),
        (["a", "b"], ["b", "c"]), (["a", "b"], [None]),
    ],
)  # fmt: skip
def test_another_revision_beside_others_is_an_added_model(old: list[str], new: list[str | None]) -> None:
    assert drift(of_revisions(*old), of_revisions(*new)) == []


def test_each_of_several_revisions_is_held_against_its_own_record() -> None:
    old = of_revisions("a", "b")
    old["models"][1]["system_prompt"] = "Be kind."
    assert drift(old, of_revisions("a")) == []
    assert drift(old, of_revisions("a", "b")) == ["models.org/m.system_prompt: Be kind. -> null"]
    assert drift(old, of_revisions("a", "c", stage="sft")) == ["models.org/m.stage: base -> sft"]
