"""Every sweep that the embedded pair can do, as a newcomer would start it; written to docs/measured/."""

from __future__ import annotations

import importlib.metadata
import time
from pathlib import Path

import pytest
from measured import command, write_page

SWEEPS = {
    "ablation": (),
    "sampling": ("limit=100",),
    "quantization": ("precisions=[float32,nf4]",),
    "brittleness": (),
    "compounding": (),
}
"""With what is said besides: quantization compares with bfloat16 unless told otherwise."""
PACKAGES = ("transformers", "torch", "bitsandbytes")

pytestmark = [pytest.mark.verify, pytest.mark.timeout(3600)]


def test_the_embedded_pair_does_every_sweep_in_minutes(tmp_path: Path) -> None:
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in PACKAGES)
    lines = [f"tiny-base and tiny-instruct on arithmetic, transformers engine ({versions}), one after the other.", ""]
    for sweep, settings in SWEEPS.items():
        began = time.monotonic()
        said = command(f"+sweep={sweep}", *settings, "engine=transformers", f"run_dir={tmp_path / sweep}")
        seconds = time.monotonic() - began
        tables = said[: said.rindex("\n", 0, said.index(" trials recorded in "))].strip("\n")
        counts = command(
            "sql", str(tmp_path / sweep), "SELECT count(*) AS trials, count(error_type) AS errors FROM records",
            "--format", "csv",
        )  # fmt: skip
        trials, errors = map(int, counts.splitlines()[1].split(","))
        lines += [
            f"## {' '.join([f'+sweep={sweep}', *settings])}",
            "",
            f"{seconds:.0f} s from command to prompt, {trials:,} trials, {errors} errors.",
            "",
            "```text",
            tables,
            "```",
            "",
        ]
        assert errors == 0
    write_page("embedded_sweeps", "The embedded models' sweeps", lines)
