"""What the commands' tests share: the command line in this process, a model's folder, a run."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_files import Call, Outcome, Refused, model_at, record

from taboo_cluster.__main__ import main
from taboo_cluster.records.schema import RECORD
from taboo_cluster.records.writer import PartWriter


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Call:
    """(exit status, stdout, stderr) of one command."""
    for name in ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE"):
        monkeypatch.setenv(name, "1")  # put back at the end, also where a command sets it

    def run(*arguments: str) -> Outcome:
        status = main(arguments)
        out, err = capsys.readouterr()
        return status, out, err

    return run


@pytest.fixture
def refused(call: Call) -> Refused:
    """The one line of a command that must end with exit status 2."""

    def run(*arguments: str) -> str:
        status, out, err = call(*arguments)
        assert (status, out) == (2, "")
        assert err.startswith("error: ")
        assert err.count("\n") == 1
        return err.strip()

    return run


@pytest.fixture
def model_folder(tmp_path: Path) -> Path:
    """A model's folder as far as it is looked at before it is loaded."""
    return model_at(tmp_path / "mine")


@pytest.fixture
def run_dir(tmp_path: Path) -> Path:
    """A run of two models: three trials recorded, one of them in error."""
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "config.yaml").write_text("sweep: alignment\n")
    rows = [
        record(),
        record(trial_id="t2", item_id="i2", correct=False, score=0.0, outcome="wrong"),
        record(trial_id="t3", model="n", outcome="error", correct=None, parse_ok=None, score=None)
        | {"error_type": "timeout", "error": "too slow", "completion_tokens": None},
    ]
    with PartWriter(str(folder / "records" / "m"), "part-l-w", RECORD) as writer:
        for row in rows:
            writer.add(row)
    return folder
