"""Taboo inside vLLM: one logits processor for both of its model runners.

Given to the engine by name, `HOOK`, and never installed as an entry point: other vLLM engines stay as they are.
Settings travel with each request, in `SamplingParams(extra_args={"taboo": {"rank": 1}})`. Over HTTP, where
`vllm_xargs` takes no nested objects, the same object is given as a string: `"vllm_xargs": {"taboo": "{\"rank\": 1}"}`.
Its fields are those of `trial.Taboo`, and `key`, under which the steps are kept for `StepLogExtension`.

The mask of a step depends on that step's logits, the request's settings and the request's own tokens alone, never on
the batch. Tokens are read where they are true: in V1 from the request's running list (which holds placeholders under
asynchronous scheduling: then only their number is used, and what needs more is refused), in V2 on the device. So
preemption and partial prefill change nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import torch
from transformers import AutoTokenizer
from vllm import SamplingParams
from vllm.config import ModelConfig, VllmConfig
from vllm.v1.sample.logits_processor import BatchUpdate, MoveDirectionality
from vllm.v1.sample.logits_processor import LogitsProcessor as ProcessorV1
from vllm.v1.worker.gpu.sample.logits_processor import LogitsContext, LogitsProcRequestState
from vllm.v1.worker.gpu.sample.logits_processor import LogitsProcessor as ProcessorV2

from taboo_cluster.errors import UserError
from taboo_cluster.taboo.asked import Asked, asked_of
from taboo_cluster.taboo.ledger import Ledger
from taboo_cluster.taboo.mask import entropy_bits, mask_top
from taboo_cluster.taboo.owner import end_with_owner
from taboo_cluster.taboo.reasoning import ThinkTokens, think_tokens
from taboo_cluster.taboo.step_log import StepLog, Taken, pack
from taboo_cluster.taboo.triggers.base import RowFacts, choose
from taboo_cluster.taboo.word_start import TAIL, WORD_STARTS, WordStartTable, word_start_table

HOOK = "taboo_cluster.taboo.vllm_hook:TabooLogitsProcessor"
"""For `logits_processors`, and `vllm serve --logits-processors`."""

EXTENSION = "taboo_cluster.taboo.vllm_hook.StepLogExtension"
"""For `worker_extension_cls`."""

_ON, _RANK, _PROTECT, _MODE, _LOG, _LATE, _ENTROPY, _SEED = range(8)
"""What is kept of a request on the device; all 0 for one that is left alone."""

_OPTIONS = 4
"""Most options of a trigger."""


@dataclass(frozen=True)
class _Mode:
    """What the rows of one call of the mask core share."""

    trigger: str
    word_start: str


@dataclass
class _Seat:
    """A request that asks for something, at its place in the batch."""

    asked: Asked
    row: list[int]
    """As it goes to the device."""
    options: list[float]
    prompt: list[int]
    outputs: list[int]
    """V1: prompt and the live list of generated tokens."""
    closed: bool = False
    seen: int = 0
    """V1: whether the reasoning is closed, by so many tokens of both."""


@dataclass(frozen=True)
class _Batch:
    """The rows of one step."""

    settings: torch.Tensor
    """[B, 8] long, see `_ON` and so on."""
    options: torch.Tensor
    """[B, _OPTIONS] double."""
    positions: torch.Tensor
    """[B] long: output position, -1 for a part of a longer prompt, whose token is thrown away."""
    tail: torch.Tensor | None
    """[B, TAIL] long: the last tokens, -1 where there are fewer; None where no row's mode looks at them."""
    closed: torch.Tensor | None
    """[B] bool: the reasoning is closed; None where no row asks."""


class TabooLogitsProcessor(ProcessorV1, ProcessorV2):  # type: ignore[misc]
    """Masks the top logits of the requests that ask for it.

    The runner shows in the constructor: V1 gives (config, device, is_pin_memory), V2 (config, request states). A place
    is a row of the batch in V1, where requests are moved, and a slot in V2, where rows are mapped to slots each step.
    """

    def __init__(
        self, vllm_config: VllmConfig, where: torch.device | LogitsProcRequestState, is_pin_memory: bool = False
    ) -> None:
        if vllm_config.speculative_config is not None:
            raise ValueError("Taboo and speculative decoding exclude each other: start vLLM without a draft model")
        end_with_owner()
        self._states = None if isinstance(where, torch.device) else where
        self._device = where if isinstance(where, torch.device) else where.device
        self._pinned = is_pin_memory
        self._longest = vllm_config.model_config.max_model_len
        self._tables, self._think = _of_tokenizer(vllm_config.model_config, self._device)
        self._modes: list[_Mode] = []
        self.log = StepLog(self._device)
        self.ledger = Ledger(self._device)
        self._seats: dict[int, _Seat] = {}
        self._places = 0 if self._states is None else self._states.max_num_reqs
        self._changed = True
        self._host = np.zeros((0, 8), dtype=np.int64)
        self._batch: _Batch | None = None

    @classmethod
    def validate_params(cls, sampling_params: SamplingParams) -> None:
        """Refuse a request whose settings make no sense (ValueError, one line)."""
        asked_of(sampling_params)

    def is_argmax_invariant(self) -> bool:
        """False: the best token is what is masked, so greedy requests need the hook too."""
        return False

    # V1

    def update_state(self, batch_update: BatchUpdate | None) -> None:
        """Follow the requests to their rows, and count the tokens each has generated."""
        if batch_update is not None:
            self._places = batch_update.batch_size
            self._changed = True
            for index in batch_update.removed:
                self._seats.pop(index, None)
            for index, params, prompt, outputs in batch_update.added:
                self._seat(index, params, prompt or [], outputs)
            for source, target, direction in batch_update.moved:
                moved, other = self._seats.pop(source, None), self._seats.pop(target, None)
                if moved is not None:
                    self._seats[target] = moved
                if other is not None and direction is MoveDirectionality.SWAP:
                    self._seats[source] = other
        if self._seats:
            self._upload()
            self._batch = self._counted()

    def _counted(self) -> _Batch:
        """V1: the rows as the requests' running lists have them."""
        assert self._batch is not None
        positions = np.zeros(self._places, dtype=np.int64)
        tail = np.full((self._places, TAIL), -1, dtype=np.int64) if self._looks_back() else None
        closed = np.zeros(self._places, dtype=bool) if self._host[:, _LATE].any() else None
        for index, seat in self._seats.items():
            positions[index] = len(seat.outputs)
            if tail is not None:
                last = (seat.prompt[-TAIL:] + seat.outputs[-TAIL:])[-TAIL:]
                tail[index, TAIL - len(last) :] = _known(last)
            if closed is not None and seat.row[_LATE]:
                new = _known(seat.prompt[seat.seen :] + seat.outputs[max(0, seat.seen - len(seat.prompt)) :])
                for token in new:
                    seat.closed = token == self._think.end or (seat.closed and token != self._think.start)
                seat.seen += len(new)
                closed[index] = seat.closed
        return replace(
            self._batch,
            positions=self._to_device(positions),
            tail=None if tail is None else self._to_device(tail),
            closed=None if closed is None else self._to_device(closed),
        )

    # V2

    def add_request(self, req_idx: int, sampling_params: SamplingParams) -> bool:
        """Give a slot its new request; whatever held it before is gone."""
        return self._seat(req_idx, sampling_params, [], [])

    def apply_staged_writes(self) -> None:
        """Bring new requests' settings to the device."""
        self._upload()

    # both

    def apply(self, logits: torch.Tensor, ctx: LogitsContext | None = None) -> torch.Tensor:
        """Mask the logits [rows, V] in place."""
        if not self._seats or self._batch is None:
            return logits
        if ctx is None or self._states is None:
            self._mask(logits, self._host, self._batch)
            return logits
        host = self._host[ctx.idx_mapping_np]
        if host[:, _ON].any():
            self._mask(logits, host, self._mapped(host, ctx, self._states, self._batch))
        return logits

    def _mapped(self, host: np.ndarray, ctx: LogitsContext, states: LogitsProcRequestState, batch: _Batch) -> _Batch:
        """V2: the rows of this step, from the slots and their tokens on the device."""
        slots = ctx.expanded_idx_mapping.long()
        length = ctx.pos.long() + 1
        sampled = length >= states.prefill_len.gpu[slots]
        tail = closed = None
        if self._looks_back():
            place = length[:, None] + torch.arange(-TAIL, 0, device=self._device)
            ids = states.all_token_ids.gpu[slots[:, None], place.clamp(min=0)].long()
            tail = torch.where(place >= 0, ids, -1)
        if host[:, _LATE].any():
            longest = int(ctx.seq_lens_upper_bound_np.max())
            ids = states.all_token_ids.gpu[slots, :longest].long()
            closed = self._think.closed(
                torch.where(torch.arange(longest, device=self._device) < length[:, None], ids, -1)
            )
        return _Batch(
            settings=batch.settings[slots],
            options=batch.options[slots],
            positions=torch.where(sampled, length - states.prompt_len.gpu[slots], -1),
            tail=tail,
            closed=closed,
        )

    def take(self, lengths: Mapping[str, int]) -> dict[str, Taken]:
        """The log's steps of these keys; a request that still runs for a step or two is no longer logged."""
        for seat in self._seats.values():
            if seat.asked.key in lengths:
                seat.row[_LOG] = 0
                self._changed = True
        return self.log.take(lengths)

    def _seat(self, place: int, params: SamplingParams, prompt: list[int], outputs: list[int]) -> bool:
        self._seats.pop(place, None)
        self._changed = True
        asked = asked_of(params)
        if asked is None:
            return False
        taboo = asked.taboo
        trigger = choose(taboo.trigger)
        mode = _Mode(trigger.name, taboo.word_start)
        if mode not in self._modes:
            self._modes.append(mode)
        row = [0] * 8
        row[_ON], row[_RANK], row[_PROTECT], row[_SEED] = 1, taboo.rank, int(taboo.protect_special), asked.seed
        row[_MODE], row[_LATE] = self._modes.index(mode), int(taboo.scope == "after_think")
        row[_ENTROPY] = int(asked.entropy)
        if asked.key is not None:
            known = asked.key in self.log
            row[_LOG] = self.log.open(asked.key, params.max_tokens or self._longest, asked.entropy)
            if taboo.rank and trigger.entry.counts_bits and not known:
                self.ledger.clear(row[_LOG], self.log.size)
        self._seats[place] = _Seat(asked, row, list(trigger.numbers.values()), prompt, outputs)
        return True

    def _looks_back(self) -> bool:
        """Whether a request's mode needs to know its last tokens."""
        used = np.unique(self._host[self._host[:, _ON] > 0, _MODE])
        return any(
            self._tables[self._modes[mode].word_start].after is not None
            or choose(self._modes[mode].trigger).entry.counts_bits
            for mode in used
        )

    def _upload(self) -> None:
        """Bring what changed to the device."""
        if self._changed or self._batch is None:
            self._host = np.zeros((self._places, 8), dtype=np.int64)
            options = np.zeros((self._places, _OPTIONS))
            for place, seat in self._seats.items():
                self._host[place] = seat.row
                options[place, : len(seat.options)] = seat.options
            none = torch.zeros(0, dtype=torch.long, device=self._device)
            self._batch = _Batch(self._to_device(self._host), self._to_device(options), none, None, None)
            self._changed = False

    def _to_device(self, array: np.ndarray) -> torch.Tensor:
        # A fresh pinned tensor each time: the last one may still be on its way while this is filled.
        return torch.tensor(array, pin_memory=self._pinned).to(self._device, non_blocking=True)

    def _mask(self, logits: torch.Tensor, host: np.ndarray, batch: _Batch) -> None:
        """Mask the logits [B, V]; `host` holds the settings that occur."""
        host = host[host[:, _ON] > 0]
        rows = batch.settings
        entropy = entropy_bits(logits) if host[:, _ENTROPY].any() else None
        protect = rows[:, _PROTECT].bool() if host[:, _PROTECT].any() else None
        for number in np.unique(host[:, _MODE]):
            mode = self._modes[number]
            trigger, table = choose(mode.trigger), self._tables[mode.word_start]
            mine = (rows[:, _ON] > 0) & (rows[:, _MODE] == number)
            rank = torch.where(mine, rows[:, _RANK], 0)
            if batch.closed is not None:
                rank = torch.where((rows[:, _LATE] > 0) & ~batch.closed, 0, rank)
            log_row = torch.where(mine, rows[:, _LOG], 0)
            none = RowFacts.none(len(logits), self._device)
            paid = none.paid
            if trigger.entry.counts_bits and batch.tail is not None:
                paid = self.ledger.paid(log_row, batch.positions, batch.tail[:, -1])
            facts = RowFacts(
                state=none.state if batch.tail is None else table.state(batch.tail),
                position=batch.positions,
                seed=rows[:, _SEED],
                paid=paid,
                options={name: batch.options[:, place] for place, name in enumerate(trigger.numbers)},
            )
            max_rank = int(host[host[:, _MODE] == number, _RANK].max())
            outcome = mask_top(logits, rank, table, trigger.entry, max_rank, protect, facts)
            if trigger.entry.counts_bits:
                self.ledger.keep(log_row, batch.positions, outcome, logits)
            if host[:, _LOG].any():
                self.log.write(log_row, batch.positions, pack(outcome), entropy)


def _known(tokens: list[int]) -> list[int]:
    """The tokens as they are; RuntimeError for placeholders of tokens that are still on the device."""
    if any(token < 0 for token in tokens):
        raise RuntimeError(
            "this intervention depends on the tokens before it, which asynchronous scheduling hides from logits "
            "processors of vLLM's V1 runner: start the engine with async_scheduling=False"
        )
    return tokens


class StepLogExtension:
    """What the engine can ask its workers for, by `collective_rpc`; mixed into vLLM's worker class."""

    def taboo_runner(self) -> str:
        """The model runner in use: V1 or V2."""
        return "V2" if self.use_v2_model_runner else "V1"  # type: ignore[attr-defined]

    def take_taboo_steps(self, lengths: dict[str, int]) -> dict[str, tuple[list[int], list[float] | None]]:
        """The first so many steps of each key, as `Taken` has them and as far as this worker does; then forgotten."""
        runner = self.model_runner  # type: ignore[attr-defined]
        processors = (
            runner.sampler.logits_processors if self.taboo_runner() == "V2" else runner.input_batch.logitsprocs.all
        )
        hook = next(processor for processor in processors if isinstance(processor, TabooLogitsProcessor))
        return {key: (taken.packed, taken.entropy) for key, taken in hook.take(lengths).items()}


def end_ids(model: ModelConfig) -> list[int]:
    """Ids that end the text by the model's own config and generation config."""
    ends = [model.hf_config.get_text_config().eos_token_id, model.try_get_generation_config().get("eos_token_id")]
    return [i for end in ends if end is not None for i in (end if isinstance(end, list) else [end])]


def _of_tokenizer(model: ModelConfig, device: torch.device) -> tuple[dict[str, WordStartTable], ThinkTokens]:
    """A word-start table of each kind for the model's tokenizer, on the device, and its tokens around reasoning."""
    tokenizer = AutoTokenizer.from_pretrained(
        model.tokenizer, revision=model.tokenizer_revision, trust_remote_code=model.trust_remote_code
    )
    tables = {kind: word_start_table(tokenizer, kind, end_ids(model)).to(device) for kind in WORD_STARTS}
    try:
        return tables, think_tokens(tokenizer)
    except UserError:
        return tables, ThinkTokens(-2, -2)  # no token: the reasoning of such a model is never closed
