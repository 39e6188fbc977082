"""From the command line to a checked config."""

from __future__ import annotations

import itertools
import json
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal

import pytest
import yaml

from taboo_cluster.compose import build_benchmark, engine_options, from_dict, load_config, to_dict
from taboo_cluster.config import PromptConfig, RunConfig, SamplingConfig
from taboo_cluster.engines.base import ENGINES
from taboo_cluster.engines.scripted import ScriptedOptions
from taboo_cluster.errors import UserError
from taboo_cluster.perturbations.base import PERTURBATIONS
from taboo_cluster.perturbations.stack import members
from taboo_cluster.tree import CONF, group_files
from taboo_cluster.typed import build

BASE = ("+sweep=alignment", "engine=scripted")
EVERY = ["gsm8k", "mmlu", "triviaqa", "humaneval"]
CHOICES = ["mmlu", "arc", "truthfulqa", "mathqa", "gpqa", "logiqa"]
OF_SWEEPS = {
    "alignment": EVERY,
    "scale": EVERY,
    "forbidden_words": ["forbidden_words"],
    "brittleness": CHOICES,
    "compounding": CHOICES,
    "uncanny_valley": ["absence", "needle", "gsm8k"],
}
OFFLINE = {"forbidden_words": ["forbidden_words"], "uncanny_valley": ["absence", "needle", "arithmetic"]}


def fails(*overrides: str, config_dir: str | None = None) -> str:
    with pytest.raises(UserError) as error:
        load_config(overrides, config_dir)
    message = str(error.value)
    assert "\n" not in message
    return message


@pytest.mark.parametrize(("sweep", "models"), list(itertools.product(group_files("sweep"), group_files("models"))))
def test_every_shipped_sweep_and_model_set_composes(sweep: str, models: str) -> None:
    config = load_config([f"+sweep={sweep}", f"models={models}", "engine=scripted"])
    assert config.sweep == sweep
    assert config.taboo.ranks[0] == 0
    assert config.table
    own = OFFLINE.get(sweep, ["arithmetic"]) if models == "embedded" else OF_SWEEPS.get(sweep, ["gsm8k"])
    assert config.benchmarks == own
    assert config.n_shots == (0 if config.benchmarks == CHOICES else None)
    assert from_dict(to_dict(config)) == config
    if models != "embedded":
        for model in config.models:
            assert model.shape is not None
            assert model.source == f"https://huggingface.co/{model.name}/blob/main/config.json"
            assert model.aligned == (model.stage != "base")
            large = (model.size_b or 0) > 30
            assert model.limit == (100 if large else None)
            if sweep != "quantization":
                assert model.quantization == ("nf4" if large else "none")


def test_brittleness_has_every_perturbation_that_nobody_has_to_write_first() -> None:
    config = load_config(["+sweep=brittleness", "engine=scripted"])
    stacks = [*config.conditions, *itertools.chain.from_iterable(config.conditions_for.values())]
    others = {"identity", "paraphrase", *(name for name, entry in PERTURBATIONS if entry.family == "fragmentation")}
    assert {member.name for stack in stacks for member in members(stack)} == set(PERTURBATIONS.names()) - others
    assert all(len(members(stack)) == 1 for stack in stacks)


def test_uncanny_valley_has_eleven_levels_of_any_rule_and_documents_that_a_model_set_can_read() -> None:
    config = load_config(["+sweep=uncanny_valley", "models=qwen2.5", "engine=scripted"])
    assert config.conditions == [f"fragment(p={level / 10:g})" for level in range(1, 11)]
    assert config.benchmark["absence"]["domains"] == ["contracts", "diffs", "poems", "gsm8k"]
    assert (config.benchmark["needle"]["max_tokens"], config.tokenization) == (2048, True)
    other = load_config(["+sweep=uncanny_valley", "engine=scripted", "suite_fragmentation=fragment_regular"])
    assert other.conditions[4] == "fragment_regular(p=0.5)"
    assert (other.benchmark["absence"]["domains"], other.benchmark["absence"]["max_tokens"]) == (["numbers"], 256)


def test_compounding_has_all_ordered_pairs_and_their_members() -> None:
    stacks = load_config(["+sweep=compounding", "engine=scripted"]).conditions
    alone = [stack for stack in stacks if len(members(stack)) == 1]
    assert set(stacks) == {*alone, *map("→".join, itertools.permutations(alone, 2))}


def test_stacks_for_a_benchmark_that_nobody_knows_are_refused() -> None:
    assert "unknown benchmark 'gsm9k'" in fails(*BASE, "conditions_for={gsm9k: [latex]}")


def test_paper_pairs_every_base_with_an_instruct_model() -> None:
    config = load_config(["+sweep=scale", "models=paper", "engine=scripted"])
    assert len(config.models) == 24
    stages: dict[Any, set[str]] = {}
    for model in config.models:
        stages.setdefault(model.pair, set()).add(model.stage)
    assert stages.pop("olmo2-7b") == {"base", "sft", "dpo", "instruct"}
    assert set(map(frozenset, stages.values())) == {frozenset({"base", "instruct"})}


def test_a_shape_is_the_models_own() -> None:
    """Parameters counted from each shape agree with the size that the model set gives (text decoder of Gemma: less)."""
    from taboo_cluster.placement import parameters

    for model in load_config(["+sweep=scale", "models=paper", "engine=scripted"]).models:
        assert model.shape is not None
        assert model.size_b is not None
        counted = sum(parameters(model.shape)) / 1e9
        low = 0.96 if model.family == "gemma3" else 0.999
        assert low * model.size_b < counted < 1.001 * model.size_b, model.name


SAMPLES: dict[str, tuple[str, Any]] = {
    "benchmarks": ("[gsm_symbolic]", ["gsm_symbolic"]),
    "prompt_style": ("cot", "cot"),
    "n_shots": ("1", 1),
    "replicates": ("3", 3),
    "limit": ("7", 7),
    "seed": ("5", 5),
    "run_dir": ("/runs/x", "/runs/x"),
    "reuse": ("[/runs/y]", ["/runs/y"]),
    "plugins": ("[json]", ["json"]),
    "max_error_share": ("0.5", 0.5),
    "max_attempts": ("2", 2),
    "retry": ("permanent", "permanent"),
    "on_drift": ("keep", "keep"),
    "conditions": ("[identity]", ["identity"]),
    "conditions_for": ("{gsm8k:[latex]}", {"gsm8k": ["latex(rate=1)"]}),
    "variants": ("2", 2),
    "record_steps": ("false", False),
    "record_entropy": ("true", True),
    "record_tokens": ("true", True),
    "prompts": ("{mine:{instruction:look}}", {"mine": PromptConfig("look")}),
    "tokenization": ("true", True),
    "allow_unsafe_code": ("true", True),
    "table": ("['SELECT 1']", ["SELECT 1"]),
}
"""Every plain setting of a run: how it is written, what it becomes."""


def test_every_key_can_be_set_with_and_without_plus() -> None:
    groups = {"sweep", "models", "benchmark", "engine", "cluster", "taboo", "sampling", "stability", "prompt_search"}
    assert set(SAMPLES) | groups | {"precisions"} == {f.name for f in fields(RunConfig)}
    settings = [f"{name}={text}" for name, (text, _) in SAMPLES.items()]
    settings += ["taboo.ranks=[2]", "taboo.protect_special=true", "cluster.cpus=2", "engine.seed=4"]
    settings += ["sampling.temperatures=[0,1]", "sampling.top_p=0.9", "sampling.seeds=[3]", "taboo.scope=after_think"]
    config = load_config([*BASE, *settings])
    assert {name: getattr(config, name) for name in SAMPLES} == {name: value for name, (_, value) in SAMPLES.items()}
    assert (config.taboo.ranks, config.taboo.protect_special, config.cluster.cpus) == ([0, 2], True, 2)
    assert (config.sampling, config.taboo.scope) == (SamplingConfig([0.0, 1.0], 0.9, [3]), "after_think")
    assert load_config([*BASE, *(f"+{setting}" for setting in settings)]) == config


@pytest.mark.parametrize("benchmark", ["arithmetic", "gsm_symbolic"])
def test_more_examples_than_a_benchmark_has_are_refused(benchmark: str) -> None:
    assert "worked examples; n_shots=99" in fails(*BASE, f"benchmarks=[{benchmark}]", "n_shots=99")


def test_triggers_are_completed_with_their_options() -> None:
    def triggers(value: str) -> list[str] | str:
        return load_config([*BASE, f"taboo.trigger={value}"]).taboo.trigger

    assert triggers("mid_word") == ["mid_word"]
    assert triggers('["sparse(p=0.25)",word_start]') == ["sparse(p=0.25,seed=0)", "word_start"]
    assert triggers('["sparse(p=0.25,seed=0)","sparse(p=0.25)"]') == ["sparse(p=0.25,seed=0)"]
    assert "unknown trigger 'wordstart' - did you mean 'word_start'" in fails(*BASE, "taboo.trigger=wordstart")
    assert "taboo.trigger is empty" in fails(*BASE, "taboo.trigger=[]")
    assert "sparse: p is a probability" in fails(*BASE, 'taboo.trigger="sparse(p=3)"')
    assert "quote a value" in fails(*BASE, "taboo.trigger=[sparse(p=0.3)]")


def test_precisions_make_a_model_of_each() -> None:
    models = load_config([*BASE, "precisions=[float32,nf4]"]).models
    assert [(m.name, m.dtype, m.quantization) for m in models] == [
        ("tiny-base", "float32", "none"),
        ("tiny-base", "bfloat16", "nf4"),
        ("tiny-instruct", "float32", "none"),
        ("tiny-instruct", "bfloat16", "nf4"),
    ]
    assert load_config([*BASE, "precisions=[float32,nf4]"]).precisions is None
    assert "unknown precision 'bf16' - did you mean" in fails(*BASE, "precisions=[bf16]")
    assert "unknown precision 'none'" in fails(*BASE, "precisions=[none]")
    assert "is listed 2 times" in fails(*BASE, "precisions=[nf4,nf4]")


def test_revisions_make_a_model_of_each() -> None:
    config = load_config([*BASE, "models=[{name: org/m, revisions: [step1, step2], limit: 7},{name: org/n}]"])
    assert [(m.name, m.revision, m.revisions, m.limit) for m in config.models] == [
        ("org/m", "step1", None, 7), ("org/m", "step2", None, 7), ("org/n", None, None, None),
    ]  # fmt: skip
    assert from_dict(to_dict(config)) == config
    both = load_config([*BASE, "models=[{name: org/m, revisions: [a, b]}]", "precisions=[float32,nf4]"]).models
    assert [(m.revision, m.dtype, m.quantization) for m in both] == [
        ("a", "float32", "none"), ("a", "bfloat16", "nf4"), ("b", "float32", "none"), ("b", "bfloat16", "nf4"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (
            "{name: m, revision: a, revisions: [b]}",
            "models.m.revisions names revisions on the hub, which revision does",
        ),
        ("{path: /models/m, revisions: [b]}", "models.m.revisions names revisions on the hub, which path does too"),
        ("{name: m, revisions: []}", "models.m.revisions is empty: name branches, tags or commits"),
        ("{name: m, revisions: a}", "models.m.revisions must be a list, like [a]"),
        ("{name: m, revisions: [a, a]}", "models: m@a (none, bfloat16) is listed 2 times"),
        ("{name: m, revision: a}, {name: m, revisions: [b, a]}", "models: m@a (none, bfloat16) is listed 2 times"),
    ],
)
def test_revisions_that_make_no_sense_are_refused(model: str, message: str) -> None:
    assert message in fails(*BASE, f"models=[{model}]")


def test_a_server_has_one_revision() -> None:
    message = fails(
        "+sweep=alignment", "engine=openai", "engine.base_url=http://x", "models=[{name: m, revisions: [a, b]}]"
    )
    assert message == "models.m.revisions: a server holds one revision of a model; engine=transformers loads each"


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("sampling.temperatures=[-1]", "a temperature is 0 (greedy) or more, not -1"),
        ("sampling.temperatures=[]", "sampling.temperatures is empty"),
        ("sampling.temperatures=[1,1]", "1 is listed 2 times"),
        ("sampling.temperatures=0.7", "sampling.temperatures must be a list, like [0.7]"),
        ("sampling.top_p=0", "sampling.top_p is a probability above 0 and up to 1, not 0"),
        ("sampling.seeds=[]", "sampling.seeds is empty"),
        ("sampling.seeds=[-1]", "a seed must be at least 0, not -1"),
        ("sampling.seed=1", "unknown key 'sampling.seed' - did you mean 'sampling.seeds'"),
        ("taboo.scope=think", "unknown taboo.scope 'think' - did you mean 'after_think'"),
    ],
)
def test_sampling_that_makes_no_sense_is_refused(setting: str, message: str) -> None:
    assert message in fails(*BASE, setting)


def test_a_sweep_of_ones_own_that_would_set_nothing_is_refused(tmp_path: Path) -> None:
    (tmp_path / "sweep").mkdir()
    file = tmp_path / "sweep" / "mine.yaml"
    file.write_text("taboo:\n  ranks: [7]\n")
    message = fails("+sweep=mine", "engine=scripted", config_dir=str(tmp_path))
    assert message == f"{file} must begin with the line '# @package _global_'"
    file.write_bytes(b"# \xff\n")
    message = fails("+sweep=mine", "engine=scripted", config_dir=str(tmp_path))
    assert message.startswith(f"{file} cannot be read: ")


def test_ranks_are_sorted_without_doubles_and_hold_the_baseline() -> None:
    assert load_config([*BASE, "taboo.ranks=[4,1,4]"]).taboo.ranks == [0, 1, 4]


def test_several_model_sets_and_inline_models() -> None:
    config = load_config([*BASE, "models=[embedded,olmo2,{path: weights/mine, aligned: true},{name: org/other}]"])
    names = [model.name for model in config.models]
    assert names[:2] == ["tiny-base", "tiny-instruct"]
    assert names[-2:] == ["mine", "org/other"]
    assert len(names) == 8
    assert config.models[-2].path == str(Path.cwd() / "weights/mine")
    assert config.models[-1].path is None


def test_inline_models_alone_take_the_benchmark_of_real_models() -> None:
    config = load_config([*BASE, "models=[{path: /models/x}]"])
    assert [model.name for model in config.models] == ["x"]
    assert (config.benchmarks, config.limit) == (EVERY, 500)


def test_the_command_line_wins_over_model_set_and_sweep() -> None:
    config = load_config([*BASE, "benchmarks=[gsm_symbolic]", "limit=11", "replicates=1"])
    assert (config.benchmarks, config.limit, config.replicates) == (["gsm_symbolic"], 11, 1)


def test_engine_and_benchmark_options_come_from_their_dataclasses() -> None:
    config = load_config([*BASE, "benchmarks=[gsm8k]", "benchmark.gsm8k.path=data/test.jsonl"])
    assert config.benchmark["gsm8k"]["path"] == str(Path.cwd() / "data/test.jsonl")
    assert config.benchmark["gsm8k"]["split"] == "test"
    assert build_benchmark(config, "gsm8k").name == "gsm8k"
    entry, options = engine_options(config)
    assert entry.options is ScriptedOptions
    assert options == ScriptedOptions()
    assert "did you mean 'benchmark.gsm8k.path'" in fails(*BASE, "benchmarks=[gsm8k]", "benchmark.gsm8k.pth=x")


def test_engine_auto_is_decided_before_trials_have_ids() -> None:
    assert load_config(["+sweep=alignment", "cluster.gpus=[80]"]).engine["name"] == "vllm"
    assert load_config(["+sweep=alignment", "cluster.gpus=[]"]).engine["name"] == "transformers"


def test_f4_unknown_keys_are_refused_with_the_nearest_one() -> None:
    for override in ("+taboo.rnks=[5]", "taboo.rnks=1", "+taboo.rnks=1"):
        assert "unknown key 'taboo.rnks' - did you mean 'taboo.ranks'?" in fails(*BASE, override)
    for override in ("+limitt=3", "limitt=3"):
        assert "unknown key 'limitt' - did you mean 'limit'?" in fails(*BASE, override)
    assert "did you mean 'taboo.ranks'?" in fails(*BASE, "ranks=[1]")
    assert "did you mean 'models.x.path'?" in fails(*BASE, "models=[{name: x, pth: y}]")


def test_f4_bad_ranks_are_refused() -> None:
    assert "at least 0 (0 is the baseline), not -1" in fails(*BASE, "taboo.ranks=[-1]")
    assert fails(*BASE, "taboo.ranks=[five]") == "taboo.ranks[0] must be a whole number, not 'five'"
    assert fails(*BASE, "taboo.ranks=5") == "taboo.ranks must be a list, like [5], not 5"
    assert "write 'taboo.ranks=[1,2]'" in fails(*BASE, "taboo.ranks=1,2")
    assert "taboo.ranks[0] must be a whole number, not True" in fails(*BASE, "taboo.ranks=[true]")
    assert "taboo.ranks[0] must be a whole number, not 1.0" in fails(*BASE, "taboo.ranks=[1.0]")


@pytest.mark.parametrize(
    ("override", "said"),
    [
        ("limit=-3", "limit must be at least 1 (null takes every item), not -3"),
        ("limit=0", "limit must be at least 1"),
        ("limit=ten", "limit must be a whole number, not 'ten'"),
        ("replicates=0", "replicates must be at least 1, not 0"),
        ("run_dir=", "run_dir is empty: name a path, or leave it out"),
        ('reuse=[" "]', "reuse is empty: name a path"),
        ('models=[{name: m, path: ""}]', "models.m.path is empty: name a path"),
        ("engine.script_path=/no/such.json", "engine.script_path: there is no file or folder /no/such.json"),
        ("n_shots=-1", "n_shots must be at least 0"),
        ("max_error_share=1.5", "max_error_share is a share from 0 to 1"),
        ("max_error_share=nan", "max_error_share is a share from 0 to 1"),
        ("cluster.gpus=[80,0]", "cluster.gpus holds the GiB of each GPU, not 0"),
        ("cluster.cpus=0", "cluster.cpus must be at least 1"),
        ("retry=permanant", "unknown retry 'permanant' - did you mean 'permanent'?"),
        ("on_drift=kep", "unknown on_drift 'kep' - did you mean 'keep'?"),
        ("taboo.trigger=word_strat", "unknown trigger 'word_strat' - did you mean 'word_start'?"),
        ("taboo.word_start=markr", "unknown taboo.word_start 'markr' - did you mean 'marker'?"),
        ("benchmarks=[arithmetik]", "unknown benchmark 'arithmetik' - did you mean 'arithmetic'?"),
        ("benchmark.gsm8.path=x", "unknown benchmark 'gsm8' - did you mean 'gsm8k'?"),
        ("benchmarks=arithmetic", "benchmarks must be a list, like [arithmetic]"),
        ("benchmark=arithmetic", "to choose one: benchmarks=[arithmetic]"),
        ("benchmarks=[]", "benchmarks is empty"),
        ("benchmarks=[arithmetic,arithmetic]", "benchmarks: arithmetic is listed 2 times"),
        ("prompt_style=cott", "unknown prompt_style of arithmetic 'cott' - did you mean 'cot'?"),
        ("prompt_style=[cot,cott]", "unknown prompt_style of arithmetic 'cott' - did you mean 'cot'?"),
        ("prompt_style=[cot,cot]", "prompt_style: cot is listed 2 times"),
        ("prompt_style=[]", "prompt_style is empty"),
        ("engine=scriptd", "unknown engine 'scriptd' - did you mean 'scripted'?"),
        ("models=embeded", "unknown model set 'embeded' - did you mean 'embedded'?"),
        ("models=[]", "models is empty"),
        ("models=/models/x", "'models=[{path: /models/x}]'"),
        ("models=Qwen/Qwen2.5-7B", "'models=[{name: Qwen/Qwen2.5-7B}]'"),
        ("models=[{path: /x/a},{path: /y/a}]", "models: a (none, bfloat16) is listed 2 times"),
        ("models=[{path: /x, quantization: nf5}]", "unknown models.x.quantization 'nf5' - did you mean 'nf4'?"),
        ("models=[{path: /x, dtype: float23}]", "unknown models.x.dtype 'float23' - did you mean 'float32'?"),
        ("models=[{aligned: true}]", "models.name is not set"),
        ("models=[{path: /x, revision: 1234567}]", "models.x.revision must be text, not 1234567"),
        ("cluster=autoo", "unknown cluster 'autoo' - did you mean 'auto'?"),
        ("plugins=[no_such_module]", "plugin 'no_such_module' cannot be imported: ModuleNotFoundError"),
        ("limit=${nothing}", "Interpolation key 'nothing' not found"),
        ("conditions=[typos+padding(char=quote)]", "'conditions=[\"typos+padding(char=quote)\"]'"),
        ("limit", "settings are written key=value"),
        ("~nothing", "does not exist"),
    ],
)
def test_bad_values_end_in_one_helpful_line(override: str, said: str) -> None:
    assert said in fails(*BASE, override)


def test_a_sweep_is_needed_and_known() -> None:
    known = (
        "ablation, alignment, brittleness, compounding, dose, forbidden_words, prompt_search, quantization, sampling, "
        "scale, stability, uncanny_valley"
    )
    assert fails("limit=3") == f"no sweep given: add +sweep=NAME. Known: {known}"
    assert "unknown sweep 'alignmnt' - did you mean 'alignment'?" in fails("+sweep=alignmnt")


def test_f7_actors_get_plain_dicts_with_interpolations_resolved() -> None:
    plain = to_dict(load_config([*BASE, "limit=30", "seed=${limit}"]))
    assert plain["seed"] == 30
    assert yaml.safe_load(yaml.safe_dump(plain)) == plain
    assert json.loads(json.dumps(plain)) == plain


def test_f8_paths_are_absolute_from_where_the_command_is_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    config = load_config([*BASE, "run_dir=results", "reuse=[old,s3://bucket/run]", "models=[{path: w}]"])
    assert config.run_dir == str(tmp_path / "results")
    assert config.reuse == [str(tmp_path / "old"), "s3://bucket/run"]
    assert config.models[0].path == str(tmp_path / "w")


def test_f8_shipped_models_and_urls_keep_their_scheme() -> None:
    config = load_config([*BASE, "run_dir=memory://runs/x"])
    assert config.run_dir == "memory://runs/x"
    assert config.models[0].path == "embedded:tiny-base"


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_config_dir_adds_sweeps_model_sets_clusters_and_engines(tmp_path: Path) -> None:
    write(
        tmp_path / "sweep/mine.yaml",
        "# @package _global_\ndefaults:\n  - override /models: pet\ntaboo: {ranks: [3]}\nlimit: 5\n",
    )
    write(tmp_path / "models/pet.yaml", "# @package _global_\nmodels:\n  pet: {path: /models/pet}\n")
    write(tmp_path / "models/listed.yaml", "# @package _global_\nmodels:\n  - {path: /models/toad}\n")
    write(tmp_path / "cluster/lab.yaml", "gpus: [24, 24]\n")
    write(tmp_path / "engine/loud.yaml", "name: scripted\n")
    config = load_config(["+sweep=mine", "cluster=lab", "engine=loud", "limit=6"], str(tmp_path))
    assert [model.name for model in config.models] == ["pet"]
    assert (config.taboo.ranks, config.limit, config.cluster.gpus) == ([0, 3], 6, [24.0, 24.0])
    assert config.engine["name"] == "scripted"
    assert load_config([*BASE, "models=listed"], str(tmp_path)).models[0].name == "toad"
    assert load_config(["+sweep=mine", "models=embedded", "engine=loud"], str(tmp_path)).models[0].name == "tiny-base"
    assert "did you mean 'mine'" in fails("+sweep=mien", config_dir=str(tmp_path))


def test_a_users_file_never_hides_or_is_hidden_by_a_shipped_one(tmp_path: Path) -> None:
    write(tmp_path / "sweep/alignment.yaml", "# @package _global_\n")
    assert "has the name of a shipped config" in fails(*BASE, config_dir=str(tmp_path))
    assert "no such directory" in fails(*BASE, config_dir=str(tmp_path / "nowhere"))


def test_broken_yaml_is_one_line(tmp_path: Path) -> None:
    write(tmp_path / "sweep/broken.yaml", "# @package _global_\ntaboo: [1\nlimit: {\n")
    assert fails("+sweep=broken", config_dir=str(tmp_path)).startswith("cannot compose the config: ")


def test_plugins_are_imported_first_and_may_register_an_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(
        tmp_path / "loud_plugin.py",
        "from dataclasses import dataclass\n"
        "from taboo_cluster.engines.base import ENGINES, EngineEntry\n"
        "@dataclass(frozen=True)\nclass Options:\n    volume: int = 11\n"
        "ENGINES.register('loud_plugin')(EngineEntry(Options, lambda *_: None))\n",
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    ENGINES.names()  # all loaded, so that the registry can be put back as it was
    monkeypatch.setattr(ENGINES, "_entries", dict(ENGINES._entries))
    config = load_config(["+sweep=alignment", "plugins=[loud_plugin]", "engine=loud_plugin", "engine.volume=3"])
    assert config.engine == {"name": "loud_plugin", "volume": 3}
    write(tmp_path / "sad_plugin.py", "raise RuntimeError('no luck')\n")
    assert fails(*BASE, "plugins=[sad_plugin]") == "plugin 'sad_plugin' cannot be imported: RuntimeError: no luck"


def test_no_output_folder_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    load_config(BASE)
    assert list(tmp_path.iterdir()) == []


def test_shipped_yaml_lies_beside_the_package() -> None:
    assert (CONF / "config.yaml").is_file()


@dataclass(frozen=True)
class Inner:
    size: int = 1


@dataclass(frozen=True)
class Outer:
    word: Literal["a", "b"]
    inner: Inner = Inner()
    many: tuple[int, ...] = ()
    by_name: dict[str, float] = field(default_factory=dict)
    maybe: float | None = None
    either: list[str] | str | None = None


def test_typed_values_convert_without_guessing() -> None:
    given = {"word": "a", "inner": {"size": 2}, "many": [1, 2], "by_name": {"x": 1}, "maybe": 3, "either": "s"}
    assert build(Outer, given) == Outer("a", Inner(2), (1, 2), {"x": 1.0}, 3.0, "s")
    for key, value, said in [
        ("word", "c", "word must be one of a, b, not 'c'"),
        ("inner", 3, "inner must be a mapping of settings, not 3"),
        ("inner", {"sizes": 3}, "unknown key 'inner.sizes' - did you mean 'inner.size'? Known: size"),
        ("many", ["1"], "many[0] must be a whole number, not '1'"),
        ("by_name", {"x": "y"}, "by_name.x must be a number, not 'y'"),
        ("maybe", "3", "maybe must be a number, not '3'"),
        ("maybe", True, "maybe must be a number, not True"),
        ("size", 3, "unknown key 'size' - did you mean 'inner.size'?"),
    ]:
        with pytest.raises(UserError) as error:
            build(Outer, {**given, key: value})
        assert str(error.value).startswith(said)
    with pytest.raises(UserError, match="word is not set"):
        build(Outer, {})
