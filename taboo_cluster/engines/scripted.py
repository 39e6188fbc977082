"""Answers from a script instead of a model: makes the whole pipeline testable, with a known effect and known faults.

The engine knows no benchmark. A script is a JSON file of {piece of a prompt: completion}; where a prompt holds several
pieces, the one that begins last is the question asked (worked examples come before it). Everything it says depends on
the request and the options alone, never on order, batches or process.
"""

from __future__ import annotations

import json
import string
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from math import log2
from pathlib import Path

from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerBase, PreTrainedTokenizerFast

from taboo_cluster.engines.base import (
    ENGINES,
    HARMLESS,
    Completion,
    EngineEntry,
    EngineInfo,
    Generation,
    Hardware,
    Request,
    Step,
)
from taboo_cluster.errors import EngineDied, UserError
from taboo_cluster.hashing import stable_hash
from taboo_cluster.trial import ResolvedModel

VERSION = "1"
SPACE = "\u0120"
"""How byte-level BPE vocabularies spell a leading space."""


@dataclass(frozen=True)
class ScriptedOptions:
    """What the scripted engine says and what goes wrong with it."""

    script_path: str | None = None
    """JSON file of {piece of a prompt: completion}; null says `wrong` to every prompt."""
    wrong: str = "The answer is -1."
    """Said where the script is silent or the draw of `accuracy` fails."""
    accuracy: dict[str, float] = field(default_factory=dict)
    """Probability of following the script, by rank; a rank left out takes the next lower one's, 1 below all. The
    draw belongs to the prompt, so that the right answers at a lower accuracy are among those at a higher one."""
    churn: float = 0.0
    """Share of requests that draw by their own key instead: replicates of them differ."""
    seed: int = 0
    max_context: int = 32768
    delay_s: float = field(default=0.0, metadata=HARMLESS)
    """Seconds each request takes."""
    refuse: list[str] = field(default_factory=list, metadata=HARMLESS)
    """Names of models that fail to load."""
    fail: float = field(default=0.0, metadata=HARMLESS)
    """Share of requests that end in an error."""
    fail_type: str = field(default="generation_failed", metadata=HARMLESS)
    die_after: int | None = field(default=None, metadata=HARMLESS)
    """The engine is gone once it has answered this many requests."""
    hang_after: int | None = field(default=None, metadata=HARMLESS)
    """The engine falls silent for good once it has answered this many requests."""
    once_path: str | None = field(default=None, metadata=HARMLESS)
    """Folder that remembers faults: each request fails, the engine dies and hangs at most once; null repeats them."""


class Script:
    """Finds what to say to a prompt, in time that does not grow with the script."""

    def __init__(self, lines: dict[str, str]) -> None:
        if not all(isinstance(line, str) and piece for piece, line in lines.items()):
            raise UserError("a script must be one JSON object of {piece of a prompt: completion}, all texts")
        self._width = min((len(piece) for piece in lines), default=1)
        self._by_start: dict[str, list[str]] = {}
        for piece in sorted(lines, key=len, reverse=True):
            self._by_start.setdefault(piece[: self._width], []).append(piece)
        self.lines = lines

    @classmethod
    def load(cls, path: str) -> Script:
        """The script in a file; UserError where it cannot be read or is not an object of texts."""
        try:
            lines = json.loads(Path(path).read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise UserError(f"engine.script_path={path} cannot be read: {error}") from error
        if not isinstance(lines, dict):
            raise UserError(f"engine.script_path={path} must hold one JSON object of {{piece of a prompt: completion}}")
        return cls(lines)

    def find(self, prompt: str) -> str | None:
        """The completion of the piece that begins last in the prompt (the longest, if several begin there)."""
        for at in range(len(prompt) - self._width, -1, -1):
            for piece in self._by_start.get(prompt[at : at + self._width], ()):
                if prompt.startswith(piece, at):
                    return self.lines[piece]
        return None


class ScriptedEngine:
    """Keeps the engine protocol without a model."""

    concurrent = False

    def __init__(self, options: ScriptedOptions) -> None:
        self.options = options
        self.tokenizer: PreTrainedTokenizerBase = byte_tokenizer()
        self.max_context = options.max_context
        self._script = Script.load(options.script_path) if options.script_path else Script({})
        self._accuracy = _by_rank(options.accuracy)
        said = [options.wrong, self._accuracy, options.churn, options.seed]
        self.info = EngineInfo("scripted", VERSION, {"said": stable_hash(self._script.lines, said)}, masks=False)
        self._pieces = {i: piece for piece, i in self.tokenizer.get_vocab().items()}
        self._word_starts = {i for i, piece in self._pieces.items() if len(piece) > 1 and piece[0] == SPACE}
        self._encode = lru_cache(4096)(self._encode_once)
        self._answered = 0

    def generate(self, requests: Iterable[Request]) -> Iterator[Completion]:
        """Answer one request after the other."""
        for request in requests:
            if self._answered == self.options.die_after and self._first_time("death"):
                raise EngineDied("the scripted engine was told to die")
            if self._answered == self.options.hang_after and self._first_time("hang"):
                threading.Event().wait()
            self._answered += 1
            if self.options.delay_s:
                time.sleep(self.options.delay_s)
            yield self._answer(request)

    def close(self) -> None:
        """Nothing to free."""

    def _answer(self, request: Request) -> Completion:
        options = self.options
        if options.fail and self._draw("fail", request.key) < options.fail and self._first_time(request.key):
            return Completion(request.key, None, options.fail_type, "the scripted engine was told to fail")
        line = self._script.find(request.prompt)
        if line is None or self._draw("answer", *self._subject(request)) >= self._accuracy_at(request.taboo.rank):
            line = options.wrong
        return Completion(request.key, self._say(line, request))

    def _accuracy_at(self, rank: int) -> float:
        """The value of the highest rank listed that is not above this one."""
        return next((accuracy for known, accuracy in reversed(self._accuracy) if known <= rank), 1.0)

    def _subject(self, request: Request) -> list[object]:
        """What the draw depends on: the prompt and, when sampling, its seed; the key where the request churns."""
        sampling = request.sampling
        seed = None if sampling.greedy else sampling.seed
        own = self.options.churn > 0 and self._draw("churn", request.key) < self.options.churn
        return [request.key if own else request.prompt, seed]

    def _draw(self, *parts: object) -> float:
        return int(stable_hash(self.options.seed, *parts), 16) / 2**128

    def _first_time(self, name: str) -> bool:
        """True for a fault that is still to happen; with `once` it is remembered on disk first."""
        if self.options.once_path is None:
            return True
        try:
            Path(self.options.once_path, name).touch(exist_ok=False)
        except FileExistsError:
            return False
        return True

    def _say(self, line: str, request: Request) -> Generation:
        """The line as if it had been decoded: at rank i each word costs log2(i + 1) bits."""
        cut = min((at for at in (line.find(stop) for stop in request.stop if stop) if at >= 0), default=len(line))
        ids = self._encode(line[:cut])
        stopped = len(ids) < request.max_tokens
        ids = [*ids, self.tokenizer.eos_token_id] if stopped and cut == len(line) else ids[: request.max_tokens]
        return Generation(
            text=line[:cut] if stopped else str(self.tokenizer.decode(ids)),
            token_ids=tuple(ids),
            finish_reason="stop" if stopped else "length",
            steps=tuple(self._steps(ids, request.taboo.rank)) if request.taboo.rank else (),
        )

    def _encode_once(self, text: str) -> list[int]:
        ids: list[int] = self.tokenizer(text, add_special_tokens=False)["input_ids"]
        return ids

    def _steps(self, ids: list[int], rank: int) -> Iterator[Step]:
        for position, emitted in enumerate(ids):
            if emitted in self._word_starts:
                nominal = emitted - 1 if emitted - 1 in self._word_starts else emitted + 1
                pieces = self._pieces[nominal], self._pieces[emitted]
                yield Step(position, nominal, pieces[0], emitted, pieces[1], rank + 1, log2(rank + 1))


def byte_tokenizer() -> PreTrainedTokenizerBase:
    """A lossless tokenizer made on the spot: one token per byte, and one per letter or digit with a space before."""
    vocab = {"<|end|>": 0}
    for piece in sorted(pre_tokenizers.ByteLevel.alphabet()):
        vocab[piece] = len(vocab)
    merges = [(SPACE, letter) for letter in string.ascii_letters + string.digits]
    for left, right in merges:
        vocab[left + right] = len(vocab)
    tokenizer = Tokenizer(models.BPE(vocab=vocab, merges=merges))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    made: PreTrainedTokenizerBase = PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=tokenizer,
        eos_token="<|end|>",
        chat_template=(
            "{% for m in messages %}<|{{ m.role }}|>\n{{ m.content }}\n{% endfor %}"
            "{% if add_generation_prompt %}<|assistant|>\n{% endif %}"
        ),
        clean_up_tokenization_spaces=False,
    )
    return made


def _by_rank(accuracy: Mapping[str, float]) -> list[tuple[int, float]]:
    """(rank, accuracy), by rank."""
    try:
        return sorted((int(rank), value) for rank, value in accuracy.items())
    except ValueError as error:
        raise UserError(f"engine.accuracy holds a probability for each rank, like {{0: 0.9}}: {error}") from error


def build(model: ResolvedModel, options: ScriptedOptions, hardware: Hardware) -> ScriptedEngine:
    """The engine for one model; raises UserError for a model it was told to refuse."""
    if model.name in options.refuse:
        raise UserError(f"{model.name} was refused: it is named in engine.refuse")
    return ScriptedEngine(options)


ENGINES.register("scripted")(
    EngineEntry(options=ScriptedOptions, build=build, uses_gpu=False, own_tokenizer=byte_tokenizer)
)
