"""Exit statuses and error lines; what needs no run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from command_files import Call, Refused

from taboo_cluster import __main__, cli
from taboo_cluster.errors import UserError

BASE = ("+sweep=alignment", "engine=scripted")


def test_without_arguments_the_commands_are_shown(call: Call) -> None:
    status, out, _ = call()
    assert status == 0
    for name in ("run", "plan", "sql", "status", "list", "doctor"):
        assert f"\n  {name} " in out
    assert call("--help")[1] == out


@pytest.mark.parametrize("name", cli.names())
def test_every_command_explains_itself(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as done:
        __main__.main([name, "--help"])
    assert done.value.code == 0
    assert cli.command(name).help in capsys.readouterr().out


def test_version(call: Call) -> None:
    assert call("--version") == (0, "taboo_cluster 0.1.0\n", "")


def test_an_unknown_command_is_told_the_nearest(refused: Refused) -> None:
    assert "unknown command 'stats' - did you mean 'status'?" in refused("stats", "runs/x")
    assert "unknown command 'alignment'" in refused("alignment")
    assert "unknown command ''" in refused("")


def test_bad_options_are_one_line(refused: Refused) -> None:
    assert "unrecognized arguments: --limit" in refused(*BASE, "--limit")
    assert "invalid choice: 'xml'" in refused("sql", "x", "SELECT 1", "--format", "xml")
    assert "the following arguments are required: DIR" in refused("status")


@pytest.mark.parametrize("command", [(), ("run",), ("plan",)])
def test_a_bad_config_ends_in_status_2_before_anything_starts(command: tuple[str, ...], refused: Refused) -> None:
    for wrong, said in [
        (("+sweep=alignmnt",), "unknown sweep 'alignmnt' - did you mean 'alignment'?"),
        ((*BASE, "models=embeded"), "unknown model set 'embeded' - did you mean 'embedded'?"),
        ((*BASE, "benchmarks=[gsm8kk]"), "unknown benchmark 'gsm8kk' - did you mean 'gsm8k'?"),
        ((*BASE, "+taboo.rnks=1"), "unknown key 'taboo.rnks' - did you mean 'taboo.ranks'?"),
        ((*BASE, "+limitt=3"), "unknown key 'limitt' - did you mean 'limit'?"),
        ((*BASE, "taboo.ranks=[-1]"), "at least 0 (0 is the baseline), not -1"),
        ((*BASE, "limit=-3"), "limit must be at least 1 (null takes every item), not -3"),
    ]:
        assert said in refused(*command, *wrong)


@pytest.mark.parametrize("command", ["run", "plan"])
def test_missing_files_end_in_status_2_before_anything_starts(
    command: str, refused: Refused, tmp_path: Path, model_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    mine = f"models=[{{path: {model_folder}}}]"
    gsm8k = "benchmarks=[gsm8k]"
    assert f"there is no file or folder {tmp_path}/none.jsonl" in refused(
        command, *BASE, mine, gsm8k, "benchmark.gsm8k.path=none.jsonl"
    )
    (tmp_path / "empty.jsonl").touch()
    assert f"{tmp_path}/empty.jsonl holds no rows" in refused(
        command, *BASE, mine, gsm8k, "benchmark.gsm8k.path=empty.jsonl"
    )
    (model_folder / "model.safetensors").unlink()
    assert f"mine: {model_folder} has no weights (*.safetensors)" in refused(command, *BASE, mine)
    assert f"absent: there is no folder {tmp_path}/absent" in refused(command, *BASE, "models=[{path: absent}]")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.txt").touch()
    assert f"{tmp_path}/full is not a run" in refused(command, *BASE, "run_dir=full")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty.jsonl", "full", "mine"]


def test_what_an_engine_or_run_would_miss_is_said_before_anything_starts(
    refused: Refused, tmp_path: Path, model_folder: Path
) -> None:
    mine = (f"models=[{{path: {model_folder}, aligned: true}}]", "benchmarks=[arithmetic]", f"run_dir={tmp_path}/new")
    assert f"engine.script_path: there is no file or folder {tmp_path}/none.json" in refused(
        *BASE, *mine, f"engine.script_path={tmp_path}/none.json"
    )
    assert f"reuse: no such run directory: {tmp_path}/nope" in refused(*BASE, *mine, f"reuse=[{tmp_path}/nope]")
    assert f"reuse: {model_folder} holds no records" in refused(*BASE, *mine, f"reuse=[{model_folder}]")
    assert "mine is aligned but its tokenizer has no chat template: set aligned=false" in refused(
        "+sweep=alignment", "engine=transformers", *mine
    )
    assert "run_dir is empty: name a path, or leave it out" in refused(*BASE, *mine[:2], "run_dir=")
    assert not (tmp_path / "new").exists()


def test_hydra_never_answers_with_a_traceback(refused: Refused) -> None:
    for override in ("limit=${nothing}", "limit=[1", "~nothing", "x=a(b", "models=a,b", "limit=???"):
        assert "Traceback" not in refused(*BASE, override)


def test_an_interrupt_ends_in_130(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr("taboo_cluster.cli.doctor.run", interrupted)
    assert call("doctor") == (130, "", "interrupted\n")


def test_a_long_message_becomes_one_line(refused: Refused, monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(_: object) -> int:
        raise UserError("first\n  second")

    monkeypatch.setattr("taboo_cluster.cli.doctor.run", wrong)
    assert refused("doctor") == "error: first second"


def test_the_command_line_starts_without_heavy_imports() -> None:
    code = (
        "import sys, taboo_cluster.__main__ as m, taboo_cluster.cli.sql, taboo_cluster.cli.status, taboo_cluster.tree\n"
        "m.main(['list', 'sweeps'])\n"
        "print([name for name in ('torch', 'transformers', 'ray', 'vllm', 'datasets') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.splitlines()[-1] == "[]"


def test_python_m_passes_the_exit_status_on() -> None:
    command = [sys.executable, "-m", "taboo_cluster", "stats"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: unknown command 'stats'")


def shell(line: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """`{}` in the line is the command."""
    line = line.replace("{}", f"{sys.executable} -m taboo_cluster")
    return subprocess.run(
        ["bash", "-c", line], capture_output=True, text=True, timeout=120, check=False, env=os.environ | environment
    )


def test_closed_output_is_one_line() -> None:
    done = shell("{} --version >&-")
    assert (done.returncode, done.stderr) == (2, "error: standard output is closed; > /dev/null throws it away\n")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_output_to_a_full_disk_is_one_line(unbuffered: str) -> None:
    done = shell("{} list sweeps >/dev/full", PYTHONUNBUFFERED=unbuffered)
    assert (done.returncode, done.stderr) == (1, "error: cannot write the output: No space left on device\n")


def test_a_reader_that_has_seen_enough_is_no_error() -> None:
    done = shell("{} list sweeps | true; exit ${PIPESTATUS[0]}")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("kind", "entry"),
    [
        ("sweeps", "alignment "),
        ("models", "qwen2.5 "),
        ("clusters", "local "),
        ("benchmarks", "gsm8k "),
        ("engines", "transformers "),
        ("triggers", "word_start "),
        ("word_starts", "marker "),
        ("views", "retention "),
    ],
)
def test_list_names_what_there_is_with_a_line_each(kind: str, entry: str, call: Call) -> None:
    status, out, _ = call("list", kind)
    lines = out.splitlines()[1:]
    assert status == 0
    assert any(line.startswith(entry) for line in lines)
    assert all(len(line.split("  ", 1)) == 2 for line in lines)  # each has its line


def test_list_of_an_unknown_kind_names_the_nearest(refused: Refused) -> None:
    assert "unknown kind 'viws' - did you mean 'views'?" in refused("list", "viws")
    assert "list what? sweeps, models" in refused("list")


def test_list_finds_a_users_own_tree(call: Call, refused: Refused, tmp_path: Path) -> None:
    (tmp_path / "sweep").mkdir()
    (tmp_path / "sweep" / "mine.yaml").write_text("# @package _global_\n# All mine.\nlimit: 1\n")
    assert re.search(r"^mine +All mine\.$", call("list", "sweeps", "--config-dir", str(tmp_path))[1], re.MULTILINE)
    assert "no such directory" in refused("list", "models", "--config-dir", str(tmp_path / "none"))


def test_another_package_of_our_name_stops_the_command(tmp_path: Path) -> None:
    (tmp_path / "jobs").mkdir()
    (tmp_path / "jobs" / "__init__.py").touch()
    command = [sys.executable, "-m", "taboo_cluster", *BASE]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 2
    assert f"package 'jobs' is imported from {tmp_path / 'jobs'}, which shadows" in done.stderr
