"""The transformers engine, on a tiny random model saved to disk."""

import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import AutoModelForCausalLM, GenerationConfig, LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

import taboo_cluster.engines.transformers as engine_module
from taboo_cluster.config import ModelConfig
from taboo_cluster.engines.base import ENGINES, Completion, Generation, Hardware, Request
from taboo_cluster.engines.batch import Row, Vocabulary
from taboo_cluster.engines.transformers import TransformersEngine, TransformersOptions
from taboo_cluster.errors import EngineDied, UserError
from taboo_cluster.models import resolve
from taboo_cluster.taboo.pieces import read_pieces
from taboo_cluster.taboo.word_start import word_start_table
from taboo_cluster.trial import ResolvedModel, Sampling, Taboo

CONTEXT = 64
WORDS = [f"Ġ{a}{b}" for a in "bdfgklmnprtv" for b in "aeiouy"]


def make_tokenizer() -> PreTrainedTokenizerFast:
    """Byte-level BPE with some words of two letters."""
    vocab = {piece: index for index, piece in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    merges = []
    for word in WORDS:
        for end in (2, 3):
            if word[:end] not in vocab:
                vocab[word[:end]] = len(vocab)
                merges.append((word[: end - 1], word[end - 1]))
    tokenizer = Tokenizer(models.BPE(vocab, merges))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<|end|>")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tiny")
    tokenizer = make_tokenizer()
    tokenizer.save_pretrained(path)
    config = LlamaConfig(
        vocab_size=len(tokenizer) + 7,
        hidden_size=64,  # the least that can be quantized
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        max_position_embeddings=CONTEXT,
        initializer_range=0.5,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
    )
    with torch.random.fork_rng():
        torch.manual_seed(3)
        model = LlamaForCausalLM(config)
    with torch.no_grad():
        model.lm_head.weight[len(tokenizer) :] = 0  # ids beyond the tokenizer win nowhere
    # What must be ignored of a model's own file, and an end token that must not.
    model.generation_config = GenerationConfig(
        do_sample=True, temperature=5.0, top_k=3, repetition_penalty=9.0, max_length=3, eos_token_id=[WORD_END]
    )
    model.save_pretrained(path)
    return path


WORD_END = 40
"""An ordinary token that the model's generation config says ends a text."""


def resolved(folder: Path, **settings: Any) -> ResolvedModel:
    return resolve(ModelConfig(**({"name": "tiny", "path": str(folder), "dtype": "float32"} | settings)))


def build(folder: Path, **options: Any) -> TransformersEngine:
    engine = ENGINES.get("transformers").build(resolved(folder), TransformersOptions(**options), Hardware(threads=1))
    assert isinstance(engine, TransformersEngine)
    return engine


@pytest.fixture(scope="module")
def engine(folder: Path) -> Iterator[TransformersEngine]:
    built = build(folder)
    yield built
    built.close()


def prompt(index: int, length: int | None = None) -> tuple[int, ...]:
    """Prompts of differing lengths."""
    size = length or 3 + index % 7
    ids = torch.randint(50, 300, (size,), generator=torch.Generator().manual_seed(index))
    return tuple(ids.tolist())


def request(index: int, **settings: Any) -> Request:
    return Request(**({"key": str(index), "prompt": "", "prompt_ids": prompt(index), "max_tokens": 16} | settings))


def run(engine: TransformersEngine, requests: Sequence[Request]) -> dict[str, Completion]:
    completions = list(engine.generate(iter(requests)))
    assert sorted(c.key for c in completions) == sorted(r.key for r in requests)
    return {completion.key: completion for completion in completions}


def generated(engine: TransformersEngine, requests: Sequence[Request]) -> dict[str, Generation]:
    found = {key: completion.generation for key, completion in run(engine, requests).items()}
    assert None not in found.values()
    return found  # type: ignore[return-value]


def plain(folder: Path, ids: Sequence[int], count: int) -> tuple[int, ...]:
    """Greedy decoding without any of this project's code, up to an end token."""
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    made = list(ids)
    ends = {WORD_END, make_tokenizer().eos_token_id}
    with torch.no_grad():
        while len(made) < len(ids) + count and (len(made) == len(ids) or made[-1] not in ends):
            made.append(int(model(torch.tensor([made])).logits[0, -1].argmax()))
    return tuple(made[len(ids) :])


def test_rank_0_is_the_plain_model_whatever_its_generation_config_says(
    folder: Path, engine: TransformersEngine
) -> None:
    found = generated(engine, [request(i, taboo=Taboo(rank=0 if i < 4 else 2)) for i in range(8)])
    for i in range(4):
        assert found[str(i)].token_ids == plain(folder, prompt(i), 16)
        assert not found[str(i)].steps


def test_a_batch_of_mixed_rows_gives_each_what_it_gets_alone(engine: TransformersEngine) -> None:
    requests = [
        request(
            i,
            taboo=Taboo(rank=(0, 1, 2, 8)[i % 4], protect_special=i % 3 == 0),
            sampling=Sampling(0.9, 0.9, seed=i) if i % 5 == 1 else Sampling(),
            max_tokens=6 + i % 9,
            stop=("a",) if i % 2 else (),
        )
        for i in range(20)
    ]
    together = generated(engine, requests)
    assert sum(len(found.steps) for found in together.values()) > 20
    for one in requests:
        alone = generated(engine, [one])[one.key]
        other = together[one.key]
        assert (alone.text, alone.token_ids, alone.finish_reason) == (other.text, other.token_ids, other.finish_reason)
        assert [step.emitted_id for step in alone.steps] == [step.emitted_id for step in other.steps]
        assert [step.bits for step in alone.steps] == pytest.approx([step.bits for step in other.steps], abs=1e-4)


def test_steps_describe_the_interventions(engine: TransformersEngine) -> None:
    found = generated(engine, [request(i, taboo=Taboo(rank=2)) for i in range(6)])
    table, pieces = word_start_table(engine.tokenizer, "marker"), read_pieces(engine.tokenizer)
    steps = [(one, step) for one in found.values() for step in one.steps]
    assert len(steps) > 5
    for one, step in steps:
        assert one.token_ids[step.position] == step.emitted_id
        assert table.start[0, step.nominal_id]
        assert step.nominal == pieces.readable(step.nominal_id)
        assert step.emitted_rank == 3
        assert step.bits is not None
        assert step.bits > 0
    for one in found.values():
        assert one.glued == sum(not table.start[0, step.emitted_id] for step in one.steps)


def test_every_end_token_ends_a_text_and_is_kept_in_the_ids(engine: TransformersEngine) -> None:
    ends = {engine.tokenizer.eos_token_id, WORD_END}
    found = generated(engine, [request(i, sampling=Sampling(2.0, 1.0, seed=1), max_tokens=40) for i in range(60)])
    last = {one.token_ids[-1] for one in found.values() if one.finish_reason == "stop"}
    assert last == ends, "with these seeds both end tokens occur"
    for one in found.values():
        assert not set(one.token_ids[:-1]) & ends
        assert (one.finish_reason == "length") == (one.token_ids[-1] not in ends)
        assert "<|end|>" not in one.text


def test_c12_a_text_without_end_is_cut_at_max_tokens(engine: TransformersEngine) -> None:
    found = generated(engine, [request(i, max_tokens=1 + i) for i in range(5)])
    for i in range(5):
        assert len(found[str(i)].token_ids) <= 1 + i
        if found[str(i)].finish_reason == "length":
            assert len(found[str(i)].token_ids) == 1 + i


def test_sampling_depends_on_the_request_alone(engine: TransformersEngine) -> None:
    state = torch.random.get_rng_state()
    sampled = [request(i, sampling=Sampling(1.0, 0.95, seed=i)) for i in range(6)]
    first = generated(engine, sampled)
    again = generated(engine, [*sampled[:1:-1], request(9, max_tokens=20), *sampled[:2]])
    assert {key: again[key].token_ids for key in first} == {key: one.token_ids for key, one in first.items()}
    other = generated(engine, [request(i, sampling=Sampling(1.0, 0.95, seed=i + 1)) for i in range(6)])
    assert [one.token_ids for one in first.values()] != [other[key].token_ids for key in first]
    assert torch.equal(torch.random.get_rng_state(), state)


def test_c16_one_prompt_that_is_too_long_is_one_error(engine: TransformersEngine) -> None:
    requests = [request(i, max_tokens=1) for i in range(99)] + [request(99, prompt_ids=prompt(9, CONTEXT))]
    found = run(engine, requests)
    assert [key for key, one in found.items() if one.error_type] == ["99"]
    assert (found["99"].error_type, found["99"].generation) == ("prompt_too_long", None)


def test_the_context_ends_a_generation(engine: TransformersEngine) -> None:
    found = generated(engine, [request(i, prompt_ids=prompt(i, CONTEXT - 3), max_tokens=50) for i in range(8)])
    lengths = {len(one.token_ids) for one in found.values() if one.finish_reason == "length"}
    assert lengths == {3}


def test_a_prompt_without_tokens_is_an_error_of_its_own(engine: TransformersEngine) -> None:
    found = run(engine, [request(0, prompt_ids=()), request(1)])
    assert (found["0"].error_type, found["1"].error_type) == ("generation_failed", None)


def test_batches_keep_to_their_limits_and_every_request_is_drawn_once(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = build(folder, batch_size=3, max_batch_tokens=60)
    sizes: list[int] = []
    real = engine_module.generate_batch

    def spy(model: Any, vocabulary: Vocabulary, batch: Sequence[Request], limits: Sequence[int]) -> list[Completion]:
        sizes.append(len(batch))
        longest = max(len(one.prompt_ids) for one in batch) + max(limits)
        assert len(batch) <= 3
        assert len(batch) == 1 or len(batch) * longest <= 60
        assert len({one.taboo.trigger for one in batch if one.taboo.rank}) <= 1
        return real(model, vocabulary, batch, limits)

    monkeypatch.setattr(engine_module, "generate_batch", spy)
    drawn = []

    def source() -> Iterator[Request]:
        for i in range(40):
            drawn.append(i)
            yield request(i, max_tokens=3 + i % 20)

    completions = engine.generate(source())
    next(completions)
    assert len(drawn) == 12
    assert len(list(completions)) == 39
    assert {2, 3} <= set(sizes), "both limits were at work"
    assert sum(sizes) == 40


def out_of_memory_above(rows: int, error: Exception) -> Any:
    real = engine_module.generate_batch

    def limited(model: Any, vocabulary: Vocabulary, batch: Sequence[Request], limits: Sequence[int]) -> Any:
        if len(batch) > rows:
            raise error
        return real(model, vocabulary, batch, limits)

    return limited


@pytest.mark.parametrize(
    "error",
    [
        torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB"),
        RuntimeError("[enforce fail at alloc_cpu.cpp:117] err == 0. DefaultCPUAllocator: can't allocate memory: ..."),
        RuntimeError("DefaultCPUAllocator: not enough memory: you tried to allocate 1 bytes."),
        MemoryError(),
    ],
)
def test_every_way_of_running_out_of_memory_is_known(error: Exception) -> None:
    assert engine_module.out_of_memory(error)
    assert not engine_module.out_of_memory(RuntimeError("shape '[2, 3]' is invalid for input of size 5"))


def test_a_batch_that_does_not_fit_is_halved(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = build(folder, batch_size=16)
    requests = [request(i, max_tokens=5) for i in range(9)]
    expected = generated(engine, requests)
    monkeypatch.setattr(engine_module, "gc", SimpleNamespace(collect=lambda: 0))  # seconds, beside all other tests
    monkeypatch.setattr(engine_module, "generate_batch", out_of_memory_above(3, torch.OutOfMemoryError("CUDA ...")))
    found = generated(engine, requests)
    assert {key: one.token_ids for key, one in found.items()} == {key: one.token_ids for key, one in expected.items()}
    assert max(map(len, engine._batches(requests))) <= 4, "what did not fit once is not tried again"


def test_a_row_that_does_not_fit_alone_is_an_error(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = build(folder)
    monkeypatch.setattr(engine_module, "gc", SimpleNamespace(collect=lambda: 0))  # seconds, beside all other tests
    monkeypatch.setattr(engine_module, "generate_batch", out_of_memory_above(0, torch.OutOfMemoryError("CUDA ...")))
    found = run(engine, [request(i) for i in range(2)])
    assert {one.error_type for one in found.values()} == {"out_of_memory"}


def test_another_failure_costs_its_batch_alone(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = build(folder, batch_size=2)
    real = engine_module.generate_batch

    def faulty(model: Any, vocabulary: Vocabulary, batch: Sequence[Request], limits: Sequence[int]) -> Any:
        if any(one.key == "2" for one in batch):
            raise RuntimeError("a fault\nof two lines")
        return real(model, vocabulary, batch, limits)

    monkeypatch.setattr(engine_module, "generate_batch", faulty)
    found = run(engine, [request(i) for i in range(6)])
    failed = [one for one in found.values() if one.error_type]
    assert 1 <= len(failed) <= 2
    assert {(one.error_type, one.error) for one in failed} == {
        ("generation_failed", "RuntimeError: a fault of two lines")
    }


def test_a_broken_device_is_a_dead_engine(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = build(folder)
    fault = torch.AcceleratorError("CUDA error: device-side assert triggered")
    monkeypatch.setattr(engine_module, "gc", SimpleNamespace(collect=lambda: 0))  # seconds, beside all other tests
    monkeypatch.setattr(engine_module, "generate_batch", out_of_memory_above(0, fault))
    with pytest.raises(EngineDied, match="device-side assert"):
        run(engine, [request(0)])


def test_nan_logits_are_an_error_of_their_row_alone(folder: Path) -> None:
    engine = build(folder)
    poison = 299
    with torch.no_grad():
        engine._model.get_input_embeddings().weight[poison] = float("nan")
    requests = [request(i, taboo=Taboo(rank=i % 2)) for i in range(6)]
    requests[3] = request(3, prompt_ids=(*prompt(3)[:2], poison), taboo=Taboo(rank=1))
    requests[4] = request(4, prompt_ids=(poison, *prompt(4)), sampling=Sampling(1.0, 0.9, 1))
    clean = [one for one in requests if poison not in one.prompt_ids]
    found = run(engine, requests)
    assert {key for key, one in found.items() if one.error_type == "nan_logits"} >= {"3", "4"}
    alone = run(engine, clean)
    for one in clean:
        assert found[one.key].error_type == alone[one.key].error_type
        if one_generation := alone[one.key].generation:
            assert found[one.key].generation.token_ids == one_generation.token_ids  # type: ignore[union-attr]


# The row: where a text ends


def row(stop: tuple[str, ...] = (), limit: int = 50) -> tuple[Row, PreTrainedTokenizerFast]:
    tokenizer = make_tokenizer()
    ends = frozenset({tokenizer.eos_token_id})
    vocabulary = Vocabulary(tokenizer, read_pieces(tokenizer), ends, word_start_table(tokenizer, "marker"))
    return Row(request(0, stop=stop), limit, vocabulary), tokenizer


def fed(text: str, stop: tuple[str, ...] = (), limit: int = 50, end: bool = False) -> Row:
    made, tokenizer = row(stop, limit)
    ids = tokenizer.encode(text) + ([tokenizer.eos_token_id] if end else [])
    for token_id in ids:
        if made.open:
            made.add(token_id)
    return made


def test_a_stop_string_is_cut_off_even_across_tokens() -> None:
    made = fed("ba da\n\nQuestion: bo", stop=("\n\nQ:", "\n\nQuestion:"))
    assert (made.text, made.finish_reason) == ("ba da", "stop")
    assert make_tokenizer().decode(made.ids) == "ba da\n\nQuestion:"


def test_the_first_of_several_stop_strings_cuts() -> None:
    assert fed("one two", stop=("two", "e t", "t")).text == "on"


def test_a_stop_string_at_the_limit_is_a_stop() -> None:
    assert fed("ab", stop=("b",), limit=2).finish_reason == "stop"
    assert fed("ab", limit=2).finish_reason == "length"


def test_b15_white_space_is_kept() -> None:
    text = "    if x:\n\treturn  1 \n"
    made = fed(text, end=True)
    assert (made.text, made.finish_reason) == (text, "stop")


def test_a_character_cut_off_at_the_limit_is_replaced() -> None:
    assert fed("a日", limit=2).text == "a\ufffd"
    assert fed("a日", stop=("日",)).text == "a"


# Loading


def test_options_that_make_no_sense_are_refused() -> None:
    with pytest.raises(UserError, match="batch_size must be at least 1, not 0"):
        TransformersOptions(batch_size=0)


def test_several_gpus_are_refused(folder: Path) -> None:
    with pytest.raises(UserError, match="use engine=vllm"):
        engine_module.build(resolved(folder), TransformersOptions(), Hardware(gpu_share=0.9, tensor_parallel=2))


def test_quantization_without_its_library_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(UserError, match="quantization=nf4 needs bitsandbytes and accelerate"):
        engine_module.build(resolved(folder, quantization="nf4"), TransformersOptions(), Hardware())


def test_weights_that_are_not_there_are_refused(folder: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    shutil.copytree(folder, broken)
    weights = load_file(broken / "model.safetensors")
    del weights["model.layers.1.mlp.up_proj.weight"]
    save_file(weights, broken / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(UserError, match=r"lacks 1 weights of the model, model\.layers\.1\.mlp\.up_proj\.weight"):
        engine_module.build(resolved(broken), TransformersOptions(), Hardware())


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_lower_precision_runs(folder: Path, dtype: str) -> None:
    built = engine_module.build(resolved(folder, dtype=dtype), TransformersOptions(), Hardware())
    assert built._model.dtype is getattr(torch, dtype)
    generated(built, [request(i, taboo=Taboo(rank=2), max_tokens=3) for i in range(3)])


def test_what_the_engine_says_of_itself(engine: TransformersEngine) -> None:
    assert engine.info.name == "transformers"
    assert engine.info.version.startswith("5.")
    assert engine.info.settings == {"device": "cpu", "attention": "sdpa"}
    assert engine.max_context == CONTEXT
    assert not engine.concurrent


@pytest.mark.verify
@pytest.mark.parametrize("quantization", ["nf4", "int8"])
def test_quantized_models_run_on_the_cpu(folder: Path, quantization: str) -> None:
    pytest.importorskip("bitsandbytes", reason="bitsandbytes is not installed")
    built = engine_module.build(
        resolved(folder, quantization=quantization, dtype="bfloat16"), TransformersOptions(), Hardware()
    )
    generated(built, [request(i, taboo=Taboo(rank=1)) for i in range(2)])


@pytest.mark.verify
def test_smollm2_says_something_else_at_rank_1() -> None:
    folder = Path(os.environ.get("TABOO_MODELS", "")) / "SmolLM2-135M-Instruct"
    if not folder.is_dir():
        pytest.skip("no SmolLM2-135M-Instruct (set TABOO_MODELS to a folder of models)")
    model = resolved(folder, name="smollm2", aligned=True)
    built = engine_module.build(model, TransformersOptions(), Hardware(threads=2))
    chat = [{"role": "user", "content": "What is the capital of France?"}]
    ids = tuple(built.tokenizer.apply_chat_template(chat, add_generation_prompt=True, return_dict=False))
    found = generated(built, [request(rank, prompt_ids=ids, taboo=Taboo(rank=rank)) for rank in (0, 1, 8)])
    assert found["0"].text == "The capital of France is Paris."
    for rank in (1, 8):
        assert found[str(rank)].text != found["0"].text
        assert {step.emitted_rank for step in found[str(rank)].steps} == {rank + 1}
