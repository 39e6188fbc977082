"""vLLM's asynchronous engine: requests join its batch as room allows, completions come back as each ends.

The model lives in vLLM's own processes, the client in an event loop on a thread of its own. Nominal log-probabilities
come back with the tokens (`raw_logprobs`, taken before the mask); what else the mask did is fetched from the hook's log
when a request ends.
"""

from __future__ import annotations

import asyncio
import importlib.metadata
import itertools
import os
import queue
import threading
import time
from collections.abc import AsyncIterator, Coroutine, Iterable, Iterator
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, TypeVar

from taboo_cluster.engines.base import Completion, EngineInfo, Generation, Hardware, Request
from taboo_cluster.engines.vllm.arguments import VllmOptions, cause, engine_arguments, environment, sampling_params
from taboo_cluster.engines.vllm.steps import Fetched, StepFetcher, detours
from taboo_cluster.errors import EngineDied, TrialError, UserError
from taboo_cluster.models import load_tokenizer
from taboo_cluster.taboo.detours import generation
from taboo_cluster.taboo.pieces import read_pieces
from taboo_cluster.taboo.word_start import WordStartTable, word_start_table
from taboo_cluster.trial import ResolvedModel

if TYPE_CHECKING:
    from vllm.v1.engine.async_llm import AsyncLLM

T = TypeVar("T")
_Ended = queue.SimpleQueue[tuple[int, Completion | EngineDied]]


class VllmEngine:
    """Keeps the engine protocol on top of a running AsyncLLM.

    A prompt that leaves no room in the context is an error of its own. Where the context ends before `max_tokens`, so
    does the generation, with finish_reason `length`.
    """

    concurrent = True

    def __init__(self, model: ResolvedModel, options: VllmOptions, hardware: Hardware) -> None:
        self.tokenizer = load_tokenizer(model)
        self._pieces = read_pieces(self.tokenizer)
        self._tables: dict[str, WordStartTable] = {}
        self._room = options.max_num_seqs + max(1, options.max_num_seqs // 8)
        self._numbers = itertools.count()
        self._llm: AsyncLLM | None = None
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="vllm", daemon=True)
        self._thread.start()
        try:
            with environment(hardware):
                arguments = engine_arguments(model, options, hardware)
                if arguments["enforce_eager"]:
                    os.environ["TORCHDYNAMO_DISABLE"] = "1"  # the sampler would still compile: a minute, a C++ compiler
                runner = self._wait(self._start(arguments))
        except UserError:
            self.close()
            raise
        except Exception as error:
            self.close()
            raise UserError(f"vllm cannot load {model.name}: {cause(error)}") from error
        config = self._running.vllm_config
        self.max_context: int = config.model_config.max_model_len
        self.info = EngineInfo(
            name="vllm",
            version=f"{_version()}/{runner}",
            settings={
                "device": config.device_config.device_type,
                "dtype": model.dtype,
                "quantization": model.quantization,
                "tensor_parallel": hardware.tensor_parallel,
                "prefix_caching": options.prefix_caching,
                "eager": config.model_config.enforce_eager,
                "async_scheduling": config.scheduler_config.async_scheduling,
                "batch_invariant": _batch_invariant(),
            },
        )

    def generate(self, requests: Iterable[Request]) -> Iterator[Completion]:
        """Yield one completion per request, in the order they end; at most a full batch and a little is in flight."""
        source = iter(requests)
        ended: _Ended = queue.SimpleQueue()
        running: dict[int, Future[None]] = {}
        try:
            while True:
                for request in itertools.islice(source, self._room - len(running)):
                    number = next(self._numbers)
                    work = self._complete(number, request, ended)
                    running[number] = asyncio.run_coroutine_threadsafe(work, self._loop)
                if not running:
                    return
                number, completion = ended.get()
                del running[number]
                if isinstance(completion, EngineDied):
                    raise completion
                yield completion
        finally:
            for task in running.values():
                task.cancel()

    def close(self) -> None:
        """Stop vLLM's processes and the thread; safe to call twice."""
        if self._loop.is_closed():
            return
        self._wait(self._stop())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    @property
    def _running(self) -> AsyncLLM:
        if self._llm is None:
            raise EngineDied("the engine is closed")
        return self._llm

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    async def _start(self, arguments: dict[str, Any]) -> str:
        """Start vLLM; returns the model runner in use."""
        from vllm.engine.arg_utils import AsyncEngineArgs
        from vllm.v1.engine.async_llm import AsyncLLM

        from taboo_cluster.taboo.vllm_hook import end_ids

        self._llm = AsyncLLM.from_engine_args(AsyncEngineArgs(**arguments))
        self._steps = StepFetcher(self._llm)
        self._end_ids = end_ids(self._llm.model_config)
        return str((await self._llm.collective_rpc("taboo_runner"))[0])

    async def _stop(self) -> None:
        """Stop vLLM, and end what still waits for it."""
        llm, self._llm = self._llm, None
        if llm is not None:
            llm.shutdown()
            del self._steps
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _complete(self, number: int, request: Request, ended: _Ended) -> None:
        """Put a request's completion, or the death of the engine, where `generate` waits for it."""
        from vllm.v1.engine.exceptions import EngineDeadError

        started = time.monotonic()
        made, error_type, message = None, None, None
        try:
            made = await self._generation(number, request)
        except TrialError as error:
            error_type, message = error.error_type, str(error)
        except (EngineDeadError, EngineDied) as error:
            ended.put((number, EngineDied(f"vllm's engine is gone: {cause(error)}")))
            return
        except Exception as error:
            error_type, message = "generation_failed", cause(error)
        ended.put((number, Completion(request.key, made, error_type, message, time.monotonic() - started)))

    async def _generation(self, number: int, request: Request) -> Generation:
        from vllm.inputs import tokens_input

        length = len(request.prompt_ids)
        if length >= self.max_context:
            raise TrialError(
                "prompt_too_long", f"a prompt of {length} tokens leaves no room in a context of {self.max_context}"
            )
        key = str(number)
        params = sampling_params(request, key, self._end_ids)
        stream = self._running.generate(tokens_input(list(request.prompt_ids)), params, key)
        try:
            output = (await _last(stream)).outputs[0]
        except BaseException:
            self._steps.abandon(key)
            raise
        logged = Fetched([], [])
        if request.taboo.rank or request.entropy:
            logged = await self._steps.fetch(key, len(output.token_ids))
        if output.finish_reason not in ("stop", "length"):
            raise TrialError("generation_failed", f"vllm ended the request with {output.finish_reason!r}")
        return generation(
            text=output.text,
            prompt_ids=request.prompt_ids,
            token_ids=output.token_ids,
            finish_reason=output.finish_reason,
            detours=detours(logged.steps, output.token_ids, output.logprobs),
            skipped_steps=sum(step.skipped for step in logged.steps),
            pieces=self._pieces,
            table=self._table(request.taboo.word_start),
            entropies=logged.entropies,
        )

    def _table(self, kind: str) -> WordStartTable:
        if kind not in self._tables:
            self._tables[kind] = word_start_table(self.tokenizer, kind, self._end_ids)
        return self._tables[kind]


async def _last(stream: AsyncIterator[Any]) -> Any:
    """What a stream ends with."""
    last = None
    async for item in stream:
        last = item
    return last


def _version() -> str:
    """Version of vLLM, whose CPU build is a package of another name."""
    names = importlib.metadata.packages_distributions()["vllm"]
    return importlib.metadata.version(names[0])


def _batch_invariant() -> bool:
    from vllm import envs

    return bool(envs.VLLM_BATCH_INVARIANT)
