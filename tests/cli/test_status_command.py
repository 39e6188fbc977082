"""`status`: how far a run is, from disk alone."""

from __future__ import annotations

import subprocess
import sys
from datetime import timedelta
from pathlib import Path

from command_files import Call, Refused, beat


def test_totals_and_what_is_recorded_of_each_model(call: Call, run_dir: Path) -> None:
    beat(run_dir, "running", timedelta(seconds=5))
    status, out, err = call("status", str(run_dir))
    assert (status, err) == (0, "")
    first, *table = out.splitlines()
    assert first.startswith(f"{run_dir}: running, 3 / 8 trials recorded, 1 of them failed (as of ")
    assert [line.split()[:5] for line in table] == [
        ["model", "benchmark", "recorded", "failed", "tokens"],
        ["m", "b", "2", "0", "8"],
        ["n", "b", "1", "1", "-"],
    ]
    assert table[1].endswith("2026-01-02 03:04:05 UTC")


def test_e8_a_run_without_a_sign_of_life_is_lost(call: Call, run_dir: Path) -> None:
    beat(run_dir, "running", timedelta(minutes=5))
    assert f"{run_dir}: lost, 3 / 8 trials known of when it was last heard of" in call("status", str(run_dir))[1]


def test_e8_a_run_that_said_its_last_word_is_not_lost(call: Call, run_dir: Path) -> None:
    beat(run_dir, "running", timedelta(minutes=6))
    beat(run_dir, "interrupted", timedelta(minutes=5))
    assert f"{run_dir}: interrupted, 3 / 8 trials recorded" in call("status", str(run_dir))[1]


def test_e9_counts_that_are_not_known_are_na(call: Call, run_dir: Path) -> None:
    beat(run_dir, "running", timedelta(seconds=1), total=None, failed=None)
    assert "running, 3 / n/a trials recorded, n/a of them failed" in call("status", str(run_dir))[1]


def test_e9_ray_is_not_needed(run_dir: Path) -> None:
    code = (
        "import sys; sys.modules['ray'] = None\n"
        f"from taboo_cluster.__main__ import main; sys.exit(main(['status', {str(run_dir)!r}]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    assert "no heartbeat" in done.stdout


def test_a_run_that_has_begun_but_recorded_nothing(call: Call, tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("sweep: alignment\n")
    beat(tmp_path, "running", timedelta(seconds=1), done=0, failed=0)
    assert call("status", str(tmp_path))[1].startswith(f"{tmp_path}: running, 0 / 8 trials recorded")


def test_a_directory_that_is_no_run_is_one_line(refused: Refused, tmp_path: Path) -> None:
    assert "no such run directory" in refused("status", str(tmp_path / "none"))
    (tmp_path / "thesis").mkdir()
    assert "is not a run directory" in refused("status", str(tmp_path / "thesis"))
