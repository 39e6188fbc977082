"""Speed and memory of a sweep without a model; run by hand: python tests/performance/scripted_throughput.py [FILE].

20,020 scripted trials over two actors: trials/s after start-up, and how the resident memory of the driver and of each
actor grows between 20% of the trials and the end. Prints a section, and appends it to FILE where one is given.
"""

from __future__ import annotations

import os
import platform
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import pyarrow.parquet as pq

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "cluster")]

from scripted_runs import Workspace  # noqa: E402

ITEMS = 1430
TRIALS = 2 * 7 * ITEMS


def resident(pid: int) -> int | None:
    """Resident memory of a process in bytes; None once it is gone."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return None
    lines = [line for line in status.splitlines() if line.startswith("VmRSS")]
    return int(lines[0].split()[1]) * 1024 if lines else None


def cpu_seconds(pid: int) -> float | None:
    """CPU time of a process so far; None once it is gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def recorded(run_dir: Path) -> int:
    """Rows on disk, read from the parts' footers."""
    total = 0
    for path in run_dir.glob("records/*/*.parquet"):
        try:
            total += pq.ParquetFile(path).metadata.num_rows
        except OSError:
            continue  # merged away
    return total


def measure(folder: Path) -> dict[str, float]:
    """Run the sweep; memory in bytes, times in seconds."""
    workspace, run_dir = Workspace(folder), folder / "run"
    options = [f"limit={ITEMS}", f"benchmark.arithmetic.n={ITEMS}"]
    process = workspace.start(run_dir, *options, models=("one", "two"))
    pids: dict[str, int] = {"driver": process.pid}
    samples: list[tuple[int, dict[str, int]]] = []
    spent: list[tuple[int, dict[str, float]]] = []
    while process.poll() is None:
        time.sleep(0.25)
        for path in run_dir.glob("tables/workers/*.parquet"):
            (row,) = duckdb.sql(f"SELECT model, pid FROM '{path}'").fetchall()
            pids[f"actor {row[0]}"] = row[1]
        memory = {name: size for name, pid in pids.items() if (size := resident(pid)) is not None}
        done = recorded(run_dir)
        samples.append((done, memory))
        spent.append((done, {name: used for name, pid in pids.items() if (used := cpu_seconds(pid)) is not None}))
    output = process.stdout.read() if process.stdout else ""
    assert process.returncode == 0, output
    ((begin, end, count),) = duckdb.sql(
        f"SELECT epoch(min(started_at)), epoch(max(started_at)), count(DISTINCT trial_id) "
        f"FROM '{run_dir}/records/*/*.parquet'"
    ).fetchall()
    assert count == TRIALS
    found = {"trials/s": count / (end - begin)}
    at_work = [(done, used) for done, used in spent if TRIALS / 5 <= done < TRIALS and len(used) == len(pids)]
    (first, before), (last, after) = at_work[0], at_work[-1]
    cpu = {name: (after[name] - before[name]) / (last - first) * 1e6 for name in pids}
    found["microseconds of CPU a trial"] = sum(cpu.values())
    found["microseconds of CPU a trial in the driver"] = cpu["driver"]
    for name in pids:
        at_work = [memory[name] for done, memory in samples if done >= TRIALS / 5 and name in memory]
        while_recording = [m[name] for done, m in samples if TRIALS / 5 <= done < TRIALS and name in m]
        found[f"{name} at 20%"] = at_work[0]
        found[f"{name} growth"] = max(while_recording or at_work) - at_work[0]
        found[f"{name} growth, results included"] = max(at_work) - at_work[0]
    return found


def section(found: dict[str, float]) -> str:
    """The figures as a dated section."""
    allowed = (50 * 1024**2 + 100 * TRIALS) / 1024**2
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    lines = [
        f"## {datetime.now(UTC):%Y-%m-%d}: {TRIALS:,} scripted trials over two actors",
        "",
        f"{os.cpu_count()} CPU cores, Python {platform.python_version()}, load average at the end {load}",
        "",
        f"- {found.pop('trials/s'):,.0f} trials/s after start-up (wanted: 1,500)",
        *(f"- {found.pop(name):,.0f} {name}" for name in [name for name in found if "CPU" in name]),
        *(f"- {name}: {value / 1024**2:,.1f} MiB" for name, value in found.items()),
        f"- growth allowed from 20% to the end: {allowed:.1f} MiB",
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        text = section(measure(Path(temporary)))
    print(text)
    if len(sys.argv) > 1:
        with open(sys.argv[1], "a", encoding="utf-8") as file:
            file.write(f"\n{text}")
