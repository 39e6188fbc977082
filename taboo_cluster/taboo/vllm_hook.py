"""Taboo inside vLLM: one logits processor for both of its model runners.

Given to the engine by name, `HOOK`, and never installed as an entry point: other vLLM engines stay as they are.
Settings travel with each request, in `SamplingParams(extra_args={"taboo": {"rank": 1}})`. Over HTTP, where
`vllm_xargs` takes no nested objects, the same object is given as a string: `"vllm_xargs": {"taboo": "{\"rank\": 1}"}`.
Its fields are those of `trial.Taboo`, and `key`, under which the steps are kept for `StepLogExtension`.

The mask of a step depends on that step's logits and the request's settings alone; of the tokens generated so far only
their number is used, to place the step in the log. So preemption, partial prefill and the placeholders that
asynchronous scheduling puts in the place of tokens still on the device change nothing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

import numpy as np
import torch
from transformers import AutoTokenizer
from vllm import SamplingParams
from vllm.config import ModelConfig, VllmConfig
from vllm.v1.sample.logits_processor import BatchUpdate, MoveDirectionality
from vllm.v1.sample.logits_processor import LogitsProcessor as ProcessorV1
from vllm.v1.worker.gpu.sample.logits_processor import LogitsContext, LogitsProcRequestState
from vllm.v1.worker.gpu.sample.logits_processor import LogitsProcessor as ProcessorV2

from taboo_cluster.errors import UserError, unknown
from taboo_cluster.taboo.mask import mask_top
from taboo_cluster.taboo.owner import end_with_owner
from taboo_cluster.taboo.step_log import StepLog, pack
from taboo_cluster.taboo.triggers.base import TRIGGERS
from taboo_cluster.taboo.word_start import WORD_STARTS, WordStartTable, word_start_table
from taboo_cluster.trial import Taboo

HOOK = "taboo_cluster.taboo.vllm_hook:TabooLogitsProcessor"
"""For `logits_processors`, and `vllm serve --logits-processors`."""

EXTENSION = "taboo_cluster.taboo.vllm_hook.StepLogExtension"
"""For `worker_extension_cls`."""

_RANK, _PROTECT, _MODE, _LOG = range(4)
"""What is kept of a request on the device; all 0 for one that is left alone."""


@dataclass(frozen=True)
class Asked:
    """What a request asks of the hook."""

    taboo: Taboo
    key: str | None = None
    """Name under which the steps are kept; None keeps none."""


def asked_of(params: SamplingParams) -> Asked | None:
    """What a request's `extra_args` ask for, None for nothing (rank 0 included); ValueError for what makes no sense."""
    given = (params.extra_args or {}).get("taboo")
    if given is None:
        return None
    if isinstance(given, str):
        try:
            given = json.loads(given)
        except ValueError:
            given = None
    if not isinstance(given, Mapping):
        raise ValueError('taboo must be an object such as {"rank": 1}, or that as a JSON string')
    settings = dict(given)
    key = settings.pop("key", None)
    if key is not None and not isinstance(key, str):
        raise ValueError(f"taboo.key must be a string, not {key!r}")
    if key is not None and params.n != 1:
        raise ValueError("taboo.key names one generation: it cannot be given with n > 1")
    taboo = _checked(settings)
    return Asked(taboo, key) if taboo.rank else None


def _checked(settings: dict[str, Any]) -> Taboo:
    known = {field.name: type(field.default) for field in fields(Taboo)}
    for name, value in settings.items():
        if name not in known:
            raise ValueError(str(unknown("taboo setting", name, known)))
        if type(value) is not known[name]:
            raise ValueError(f"taboo.{name} must be of type {known[name].__name__}, not {value!r}")
    taboo = Taboo(**settings)
    if taboo.rank < 0:
        raise ValueError(f"taboo.rank must be 0 or more, not {taboo.rank}")
    if taboo.word_start not in WORD_STARTS:
        raise ValueError(str(unknown("word-start table", taboo.word_start, WORD_STARTS)))
    try:
        TRIGGERS.get(taboo.trigger)
    except UserError as error:
        raise ValueError(str(error)) from error
    return taboo


def extra_args(taboo: Taboo, key: str) -> dict[str, Any] | None:
    """What to give a request as `extra_args`; None at rank 0, which is a request like any other."""
    return {"taboo": asdict(taboo) | {"key": key}} if taboo.rank else None


@dataclass(frozen=True)
class _Seat:
    """A request with an intervention, at its place in the batch."""

    asked: Asked
    row: tuple[int, ...]
    """Rank, protection, mode and row of the log, as they go to the device."""
    outputs: list[int]
    """V1: the live list of generated tokens; only its length is used."""


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
        self._tables = _tables(vllm_config.model_config, self._device)
        self._modes: list[tuple[str, str]] = []
        self.log = StepLog(self._device)
        self._seats: dict[int, _Seat] = {}
        self._places = 0 if self._states is None else self._states.max_num_reqs
        self._changed = True
        self._host = np.zeros((0, 4), dtype=np.int64)
        self._rows = torch.zeros((0, 4), dtype=torch.long, device=self._device)
        self._positions = torch.zeros(0, dtype=torch.long, device=self._device)

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
            for index, params, _, outputs in batch_update.added:
                self._seat(index, params, outputs)
            for source, target, direction in batch_update.moved:
                moved, other = self._seats.pop(source, None), self._seats.pop(target, None)
                if moved is not None:
                    self._seats[target] = moved
                if other is not None and direction is MoveDirectionality.SWAP:
                    self._seats[source] = other
        if self._seats:
            self._upload()
            positions = np.zeros(self._places, dtype=np.int64)
            for index, seat in self._seats.items():
                positions[index] = len(seat.outputs)
            self._positions = self._to_device(positions)

    # V2

    def add_request(self, req_idx: int, sampling_params: SamplingParams) -> bool:
        """Give a slot its new request; whatever held it before is gone."""
        return self._seat(req_idx, sampling_params, [])

    def apply_staged_writes(self) -> None:
        """Bring new requests' settings to the device."""
        self._upload()

    # both

    def apply(self, logits: torch.Tensor, ctx: LogitsContext | None = None) -> torch.Tensor:
        """Mask the logits [rows, V] in place."""
        if not self._seats:
            return logits
        if ctx is None or self._states is None:
            self._mask(logits, self._host, self._rows, self._positions)
            return logits
        host = self._host[ctx.idx_mapping_np]
        if host[:, _RANK].any():
            slots = ctx.expanded_idx_mapping.long()
            length = ctx.pos.long() + 1
            # A part of a longer prompt samples a token that is thrown away: it is no output position.
            sampled = length >= self._states.prefill_len.gpu[slots]
            positions = torch.where(sampled, length - self._states.prompt_len.gpu[slots], -1)
            self._mask(logits, host, self._rows[slots], positions)
        return logits

    def take(self, lengths: Mapping[str, int]) -> dict[str, list[int]]:
        """The log's packed steps of these keys; a request that still runs for a step or two is no longer logged."""
        for place, seat in self._seats.items():
            if seat.asked.key in lengths:
                self._seats[place] = replace(seat, row=(*seat.row[:_LOG], 0))
                self._changed = True
        return self.log.take(lengths)

    def _seat(self, place: int, params: SamplingParams, outputs: list[int]) -> bool:
        self._seats.pop(place, None)
        self._changed = True
        asked = asked_of(params)
        if asked is None:
            return False
        mode = (asked.taboo.trigger, asked.taboo.word_start)
        if mode not in self._modes:
            self._modes.append(mode)
        log_row = self.log.open(asked.key, params.max_tokens or self._longest) if asked.key is not None else 0
        row = (asked.taboo.rank, int(asked.taboo.protect_special), self._modes.index(mode), log_row)
        self._seats[place] = _Seat(asked, row, outputs)
        return True

    def _upload(self) -> None:
        """Bring what changed to the device."""
        if self._changed:
            self._host = np.zeros((self._places, 4), dtype=np.int64)
            for place, seat in self._seats.items():
                self._host[place] = seat.row
            self._rows = self._to_device(self._host)
            self._changed = False

    def _to_device(self, array: np.ndarray) -> torch.Tensor:
        # A fresh pinned tensor each time: the last one may still be on its way while this is filled.
        return torch.tensor(array, pin_memory=self._pinned).to(self._device, non_blocking=True)

    def _mask(self, logits: torch.Tensor, host: np.ndarray, rows: torch.Tensor, positions: torch.Tensor) -> None:
        """Mask the logits [B, V] by the settings [B, 4] of each row; `host` holds the settings that occur."""
        host = host[host[:, _RANK] > 0]
        protect = rows[:, _PROTECT].bool() if host[:, _PROTECT].any() else None
        for mode in np.unique(host[:, _MODE]):
            trigger, kind = self._modes[mode]
            rank = torch.where(rows[:, _MODE] == mode, rows[:, _RANK], 0)
            max_rank = int(host[:, _RANK].max())
            outcome = mask_top(logits, rank, self._tables[kind], TRIGGERS.get(trigger), max_rank, protect)
            if host[:, _LOG].any():
                self.log.write(torch.where(rank > 0, rows[:, _LOG], 0), positions, pack(outcome))


class StepLogExtension:
    """What the engine can ask its workers for, by `collective_rpc`; mixed into vLLM's worker class."""

    def taboo_runner(self) -> str:
        """The model runner in use: V1 or V2."""
        return "V2" if self.use_v2_model_runner else "V1"  # type: ignore[attr-defined]

    def take_taboo_steps(self, lengths: dict[str, int]) -> dict[str, list[int]]:
        """The first so many packed steps of each key, as far as this worker has them; they are then forgotten."""
        runner = self.model_runner  # type: ignore[attr-defined]
        processors = (
            runner.sampler.logits_processors if self.taboo_runner() == "V2" else runner.input_batch.logitsprocs.all
        )
        hook = next(processor for processor in processors if isinstance(processor, TabooLogitsProcessor))
        return hook.take(lengths)


def end_ids(model: ModelConfig) -> list[int]:
    """Ids that end the text by the model's own config and generation config."""
    ends = [model.hf_config.get_text_config().eos_token_id, model.try_get_generation_config().get("eos_token_id")]
    return [i for end in ends if end is not None for i in (end if isinstance(end, list) else [end])]


def _tables(model: ModelConfig, device: torch.device) -> dict[str, WordStartTable]:
    """A word-start table of each kind for the model's tokenizer, on the device."""
    tokenizer = AutoTokenizer.from_pretrained(
        model.tokenizer, revision=model.tokenizer_revision, trust_remote_code=model.trust_remote_code
    )
    return {kind: word_start_table(tokenizer, kind, end_ids(model)).to(device) for kind in WORD_STARTS}
