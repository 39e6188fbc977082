"""The GPUs this process may see, by name and UUID, without touching one."""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass

from taboo_cluster.errors import UserError

_GPU = re.compile(r"GPU \d+: (?P<name>.+) \(UUID: (?P<uuid>GPU-[^)]+)\)")
_MIG = re.compile(r"MIG (?P<name>\S+).*\(UUID: (?P<uuid>MIG-[^)]+)\)")


@dataclass(frozen=True)
class Device:
    """One GPU, or one MIG slice of one."""

    name: str
    uuid: str


def check(requested: int) -> list[Device]:
    """This process's GPUs; raises UserError unless they are as many as were requested.

    A process that asked for none must see none.
    """
    named = [part.strip() for part in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if part.strip()]
    if len(named) != requested:
        raise UserError(
            f"this engine asked for {requested} GPU(s) but CUDA_VISIBLE_DEVICES={','.join(named) or '(empty)'}: "
            "Ray and the machine disagree on its GPUs"
        )
    return [find(name, listing()) for name in named] if named else []


def listing() -> str:
    """What `nvidia-smi -L` prints; raises UserError where it cannot be run."""
    try:
        found = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, check=True, timeout=60)
    except (OSError, subprocess.SubprocessError) as error:
        raise UserError(f"GPUs were requested but nvidia-smi cannot be run: {error}") from error
    return found.stdout


def find(visible: str, text: str) -> Device:
    """The device that an entry of CUDA_VISIBLE_DEVICES (an index, or the start of a UUID) means in a listing."""
    gpus = [Device(m["name"], m["uuid"]) for m in map(_GPU.search, text.splitlines()) if m]
    slices = [Device(m["name"], m["uuid"]) for m in map(_MIG.search, text.splitlines()) if m]
    if visible.isdecimal():
        found = gpus[int(visible) : int(visible) + 1]
    else:
        found = [device for device in gpus + slices if device.uuid.startswith(visible)]
    if len(found) != 1:
        raise UserError(f"CUDA_VISIBLE_DEVICES names {visible!r}, which is not one of this machine's GPUs")
    return found[0]


def memory() -> list[int]:
    """Bytes of each GPU of this machine, in nvidia-smi's order; raises UserError where it cannot be run."""
    query = ["nvidia-smi", "--query-gpu=memory.total", "--format=csv,noheader,nounits"]
    try:
        found = subprocess.run(query, capture_output=True, text=True, check=True, timeout=60)
    except (OSError, subprocess.SubprocessError) as error:
        raise UserError(f"Ray reports GPUs but nvidia-smi cannot be run: {error}") from error
    return [int(line) * 1024**2 for line in found.stdout.split()]
