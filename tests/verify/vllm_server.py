"""`vllm serve` on loopback, as docs/vllm.md and docs/engines.md show it."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from taboo_cluster.taboo.vllm_hook import HOOK

SETTINGS = {
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "TORCHDYNAMO_DISABLE": "1",
    "VLLM_NO_USAGE_STATS": "1",
}


@contextmanager
def serving(model: Path, *names: str, max_model_len: int, hook: bool = True) -> Iterator[str]:
    """The address of a server that has the model under these names, in float32; it ends with the block."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    # What `vllm serve` runs; the command itself asks for the metadata of a package that the CPU build is not called.
    command = [sys.executable, "-m", "vllm.entrypoints.openai.api_server", "--model", str(model)]
    command += ["--served-model-name", *names, "--host", "127.0.0.1", "--port", str(port), "--dtype", "float32"]
    command += ["--enforce-eager", "--max-model-len", str(max_model_len), "--generation-config", "vllm"]
    command += ["--no-enable-prefix-caching"]
    command += ["--logits-processors", HOOK, "--logprobs-mode", "raw_logprobs"] if hook else []
    process = subprocess.Popen(command, env=os.environ | SETTINGS)
    url = f"http://127.0.0.1:{port}"
    try:
        _wait(process, url)
        yield url
    finally:
        process.terminate()
        process.wait(timeout=120)


def _wait(process: subprocess.Popen[bytes], url: str) -> None:
    for _ in range(600):
        assert process.poll() is None, "the server ended"
        try:
            urllib.request.urlopen(f"{url}/health", timeout=5).close()
            return
        except OSError:
            time.sleep(1)
    raise AssertionError("the server did not start within ten minutes")
