"""The typed config: what the composed Hydra tree is checked against, key by key."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Shape:
    """A decoder's dimensions, so that memory can be estimated without the hub."""

    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    intermediate: int
    vocab: int
    tied: bool
    """Input and output embeddings are one matrix."""
    context: int
    """Longest sequence, prompt and completion together, in tokens."""


@dataclass(frozen=True)
class ModelConfig:
    """One model of a model set (conf/models/*.yaml)."""

    name: str
    """Name on the hub, or the user's own for a local folder; what records carry."""
    path: str | None = None
    """Local folder with config, tokenizer and safetensors; null loads `name` from the hub."""
    revision: str | None = None
    """Branch, tag or commit on the hub; resolved once to a commit."""
    revisions: list[str] | None = None
    """Training checkpoints on the hub, in the place of `revision`: the model once for each, told apart by
    model_revision."""
    family: str | None = None
    size_b: float | None = None
    """Parameters, in billions."""
    aligned: bool = False
    """True: prompts go through the chat template."""
    stage: str = "base"
    """base, sft, dpo or instruct."""
    pair: str | None = None
    """Models with the same pair are compared by the alignment gap."""
    quantization: str = "none"
    """none, nf4 or int8."""
    dtype: str = "bfloat16"
    """bfloat16, float16 or float32."""
    limit: int | None = None
    """At most this many items for this model (the run's `limit` holds too)."""
    shape: Shape | None = None
    """Read from config.json of a local folder where it is left out."""
    source: str | None = None
    """Where the shape was taken from."""
    system_prompt: str | None = None
    chat_template_kwargs: dict[str, Any] = field(default_factory=dict)
    trust_remote_code: bool = False


@dataclass(frozen=True)
class TabooConfig:
    """The interventions of a sweep: one condition per rank; 0 is the baseline."""

    ranks: list[int] = field(default_factory=lambda: [0])
    trigger: list[str] | str = "word_start"
    """One trigger or several, options in parentheses: `sparse(p=0.3)`. Each is taken at every rank above 0."""
    word_start: str = "marker"
    protect_special: bool = False
    scope: str = "all"
    """all, or after_think: no intervention before the model has closed its reasoning (`</think>`)."""


@dataclass(frozen=True)
class SamplingConfig:
    """How tokens are drawn: every intervention at every temperature, with every seed. Rank 0 is greedy as well."""

    temperatures: list[float] = field(default_factory=lambda: [0.0])
    """0 is greedy."""
    top_p: float = 1.0
    """Of every temperature above 0."""
    seeds: list[int] = field(default_factory=lambda: [0])
    """Of every temperature above 0."""


@dataclass(frozen=True)
class PromptConfig:
    """A prompt of the user's own, asked for by its name in `prompt_style`."""

    instruction: str = ""
    """Put in front of the question, for base models in front of the whole prompt."""
    style: str | None = None
    """The benchmark's style that it goes with; null takes its default."""
    n_shots: int | None = None
    """The benchmark's own worked examples; null takes as many as the run says."""
    examples: list[dict[str, str]] = field(default_factory=list)
    """Worked examples in their place: each a `question` and an `answer`, which shows the form asked for."""
    pool_path: str | None = None
    """JSONL file of such examples, from which `pool_n` are drawn."""
    pool_n: int = 4
    pool_seed: int = 0


@dataclass(frozen=True)
class PromptSearchConfig:
    """Choosing among prompts by accuracy and stability (METHODS section 4)."""

    baseline: str
    """The prompt style that the others are compared with."""
    threshold: float = 0.5
    """Accuracy below which a prompt is not chosen."""
    fragile: str | None = None
    """The prompt for items that are right and fragile in the baseline; null leaves them."""
    stubborn: str | None = None
    """The prompt for items that are wrong and stubborn in the baseline; null leaves them."""


@dataclass(frozen=True)
class StabilityConfig:
    """The stability probe: once a model's trials are generated, one forward pass over each gives the bound (METHODS
    section 4) at every position; needs transformers and `record_tokens`."""

    probe: bool = False
    """Probe every trial of the run; also one that is done, given again with this."""
    epsilon: float = 1.0
    """Scale of the bound."""
    top_k: int | None = None
    """Compute it from this many most likely tokens, with the interval that the rest leaves; null takes all."""
    per_token: bool = False
    """Keep every position, not only the numbers of the trial."""
    batch_tokens: int = 8192
    """Most tokens of a batch; halved when memory runs out."""


@dataclass(frozen=True)
class ClusterConfig:
    """Where actors run."""

    address: str | None = None
    """Address of a running Ray cluster (`auto` finds the local one); null starts Ray on this machine."""
    gpus: list[float] | None = None
    """GiB of each GPU, for `plan` and to place models; null asks the cluster."""
    cpus: int | None = None
    """CPU cores to use; null takes all. Without GPUs every engine takes at least one."""
    cpus_per_engine: int = 1
    """CPU cores (and torch threads) of one engine on a machine without GPUs."""
    dashboard: bool = True
    """Start Ray's dashboard on 127.0.0.1 (only where this command starts Ray)."""
    max_restarts: int = 3
    """Times one model's actor may be started again before its trials become errors."""
    stall_s: float | None = 1800.0
    """Seconds without a completion, though requests are in flight, after which an engine counts as hung and is started
    again; null waits forever. The transformers engine answers once a batch."""


@dataclass(frozen=True)
class RunConfig:
    """Everything a run depends on."""

    sweep: str
    models: list[ModelConfig]
    benchmarks: list[str]
    benchmark: dict[str, dict[str, Any]]
    """Options by benchmark, checked against the dataclass beside each benchmark."""
    engine: dict[str, Any]
    """`name` and the engine's own options, checked against the dataclass beside it."""
    cluster: ClusterConfig = field(default_factory=ClusterConfig)
    taboo: TabooConfig = field(default_factory=TabooConfig)
    sampling: SamplingConfig = field(default_factory=SamplingConfig)
    stability: StabilityConfig = field(default_factory=StabilityConfig)
    conditions: list[str] = field(default_factory=list)
    """Stacks of perturbations, each a condition beside the clean prompt: `typos(rate=0.1)+padding(char=quote)`."""
    conditions_for: dict[str, list[str]] = field(default_factory=dict)
    """More of them for single benchmarks, by name: those that only choices, a program or a word problem give something
    to work on. One that is not run is passed over."""
    variants: int = 1
    """Seeds of each stack; a stack and a seed are one variant."""
    precisions: list[str] | None = None
    """Run every model in each of these (float32, bfloat16, float16, int8, nf4) instead of its own; null keeps that."""
    prompts: dict[str, PromptConfig] = field(default_factory=dict)
    """Prompts of the user's own by name, besides each benchmark's styles."""
    prompt_search: PromptSearchConfig | None = None
    """Choose among the prompts in `prompt_style` once all are done, and save the choice; null leaves it."""
    prompt_style: list[str] | str | None = None
    """One style or several (`[direct, cot]`), each with a baseline of its own; null takes each benchmark's default."""
    n_shots: int | None = None
    """null takes each benchmark's default number of examples."""
    replicates: int = 2
    """Replicates of the baseline and of the lowest rank: 2 or more measure the noise floor, 1 leaves it out."""
    limit: int | None = None
    """At most this many items per benchmark: the same ones for all, a larger limit contains a smaller one."""
    seed: int = 0
    run_dir: str | None = None
    """Where to write; an existing run is resumed or extended. null makes runs/<sweep>-<time>."""
    reuse: list[str] = field(default_factory=list)
    """Earlier runs whose generations may be taken instead of made again."""
    plugins: list[str] = field(default_factory=list)
    """Modules to import first, in driver and actors: they may register benchmarks, engines ..."""
    max_error_share: float = 0.1
    """A model stops early once more than this share of its trials (20 at least) are errors; exit status 1."""
    max_attempts: int = 3
    """Attempts at a trial that fails for a transient reason."""
    retry: str = "transient"
    """Which recorded errors a resumed run redoes: transient or permanent (both)."""
    on_drift: str = "fail"
    """When a setting or version would change recorded trials: fail, keep (the records) or redo."""
    record_steps: bool = True
    """Keep each intervention in `steps`."""
    record_tokens: bool = False
    """Keep each completion's tokens in `token_ids`: what the stability probe reads."""
    record_entropy: bool = False
    """Measure next-token entropy at every step (entropy_mean, entropy_word_start)."""
    tokenization: bool = False
    """Measure how each model's tokenizer cuts the clean questions and the fragmented ones (table tokenization)."""
    allow_unsafe_code: bool = False
    """Run generated code where this machine has no means to shut it in."""
    table: list[str] = field(default_factory=list)
    """SELECTs over the views, shown when the sweep ends."""
