"""A run's directory: begun, resumed, refused."""

import json
from dataclasses import replace

import pytest
import yaml

from taboo_cluster import launch
from taboo_cluster.config import ModelConfig, RunConfig
from taboo_cluster.errors import UserError
from taboo_cluster.records.schema import RECORD
from taboo_cluster.records.writer import PartWriter
from taboo_cluster.rows import now

CONFIG = RunConfig(
    sweep="alignment",
    models=[ModelConfig("org/m"), ModelConfig("mine", path="/models/mine")],
    benchmarks=["arithmetic"],
    benchmark={"arithmetic": {"max_tokens": 100}},
    engine={"name": "scripted", "seed": 0},
)
VERSIONS = {"python": "3", "torch": "1", "scorer arithmetic": "1"}


@pytest.fixture
def begun(tmp_path):
    """A run with one launch."""
    config = replace(CONFIG, run_dir=str(tmp_path / "run"))
    first, earlier = launch.new_launch(config)
    assert earlier == []
    launch.begin(first, config, VERSIONS)
    return config, first


def record(run_dir, launch_id, *trials, error_type=None, attempt=1):
    with PartWriter(f"{run_dir}/records/m", f"part-{launch_id}-{attempt}", RECORD) as writer:
        for trial in trials:
            row = {"trial_id": trial, "launch_id": launch_id, "attempt": attempt, "error_type": error_type}
            writer.add(row | {"started_at": now()})


def test_a_launch_leaves_its_config_its_row_and_a_nonce(begun):
    _, first = begun
    assert yaml.safe_load((launch.Path(first.run_dir) / "config.yaml").read_text())["sweep"] == "alignment"
    (row,) = launch.launches(first.run_dir)
    assert (row["launch_id"], row["run_id"]) == (first.launch_id, first.run_id)
    assert json.loads(row["config"])["benchmark"] == {"arithmetic": {"max_tokens": 100}}
    assert json.loads(row["versions"]) == VERSIONS
    launch.check_nonce(first.run_dir, first.launch_id)


def test_a_resumed_run_keeps_its_id_and_gets_a_new_launch(begun):
    config, first = begun
    second, earlier = launch.new_launch(config)
    assert second.resumed
    assert not first.resumed
    assert second.run_id == first.run_id
    assert second.launch_id != first.launch_id
    assert [row["launch_id"] for row in earlier] == [first.launch_id]


def test_runs_are_named_by_sweep_and_time(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made, _ = launch.new_launch(CONFIG)
    assert made.run_dir.startswith(str(tmp_path / "runs" / "alignment-20"))
    assert not (tmp_path / "runs").exists(), "nothing is written before the run begins"


def test_a_directory_of_something_else_is_refused_an_empty_one_is_not(tmp_path):
    launch.new_launch(replace(CONFIG, run_dir=str(tmp_path)))
    (tmp_path / "letter.txt").write_text("dear")
    with pytest.raises(UserError, match="is not a run"):
        launch.new_launch(replace(CONFIG, run_dir=str(tmp_path)))
    with pytest.raises(UserError, match="is not a run"):
        launch.new_launch(replace(CONFIG, run_dir=str(tmp_path / "letter.txt")))


@pytest.mark.parametrize("run_dir", ["nowhere://x/y", "nowhere::x"])
def test_a_scheme_nobody_knows_is_refused(run_dir):
    with pytest.raises(UserError, match=f"cannot use the directory {run_dir}: "):
        launch.new_launch(replace(CONFIG, run_dir=run_dir))


def test_an_actor_that_sees_another_directory_says_so(begun, tmp_path):
    _, first = begun
    with pytest.raises(UserError, match="run_dir is not shared with node"):
        launch.check_nonce(str(tmp_path / "elsewhere"), first.launch_id)
    with pytest.raises(UserError, match="run_dir is not shared with node"):
        launch.check_nonce(first.run_dir, "another launch")


def drift(config, first, versions=VERSIONS, on_drift="fail"):
    plain = launch.to_dict(config)
    return launch.check_drift(plain, versions, first.run_dir, launch.launches(first.run_dir), on_drift)


def test_a_changed_setting_is_refused_by_name_left_alone_or_redone(begun):
    config, first = begun
    record(first.run_dir, first.launch_id, "a", "b")
    assert drift(config, first) == frozenset()
    changed = replace(config, benchmark={"arithmetic": {"max_tokens": 50}})
    with pytest.raises(UserError, match=r"benchmark.arithmetic.max_tokens: 100 -> 50"):
        drift(changed, first)
    assert drift(changed, first, on_drift="keep") == frozenset()
    assert drift(changed, first, on_drift="redo") == {"a", "b"}


def test_what_was_redone_is_no_longer_stale(begun):
    config, first = begun
    record(first.run_dir, first.launch_id, "a", "b")
    changed = replace(config, benchmark={"arithmetic": {"max_tokens": 50}})
    second, _ = launch.new_launch(changed)
    launch.begin(second, changed, VERSIONS)
    record(first.run_dir, second.launch_id, "a", attempt=2)
    assert drift(changed, first, on_drift="redo") == {"b"}
    record(first.run_dir, second.launch_id, "b", attempt=3)
    assert drift(changed, first) == frozenset()


def test_a_run_without_a_good_record_may_change(begun):
    config, first = begun
    record(first.run_dir, first.launch_id, "a", error_type="prompt_too_long")
    assert drift(replace(config, benchmark={"arithmetic": {"max_tokens": 50}}), first) == frozenset()


@pytest.mark.parametrize(
    ("engine", "name", "drifts"),
    [
        ("vllm", "vllm", True),
        ("transformers", "torch", True),
        ("scripted", "torch", False),
        ("transformers", "ray", False),
        ("scripted", "scorer arithmetic", True),
        ("scripted", "weights mine", True),
    ],
)
def test_an_upgrade_is_drift_where_it_can_change_what_is_recorded(engine, name, drifts):
    assert launch.version_drift({name: "1"}, {name: "2"}, engine) == ([f"{name}: 1 -> 2"] if drifts else [])
    assert launch.version_drift({name: "1"}, {name: "1"}, engine) == []


def test_a_run_keeps_to_the_revision_it_began_with(begun):
    config, first = begun
    pinned = replace(config, models=[replace(config.models[0], revision="c0ffee"), config.models[1]])
    second, _ = launch.new_launch(pinned)
    launch.begin(second, pinned, VERSIONS)
    again = launch.recorded_revisions(config, launch.launches(first.run_dir))
    assert [model.revision for model in again.models] == ["c0ffee", None]
    asked = replace(config, models=[replace(config.models[0], revision="main")])
    assert launch.recorded_revisions(asked, launch.launches(first.run_dir)).models[0].revision == "main"


def test_revisions_of_one_model_are_not_mixed_up(begun):
    config, first = begun
    several = [ModelConfig("org/m", revision="a"), ModelConfig("org/m", revision="b"), ModelConfig("org/n")]
    pinned = replace(config, models=[*several[:2], replace(several[2], revision="c")])
    second, _ = launch.new_launch(pinned)
    launch.begin(second, pinned, VERSIONS)
    asked = replace(config, models=[*several, ModelConfig("org/m")])
    again = launch.recorded_revisions(asked, launch.launches(first.run_dir))
    assert [model.revision for model in again.models] == ["a", "b", "c", None]
    # a later launch with one of them decides
    third, _ = launch.new_launch(pinned)
    launch.begin(third, replace(config, models=[several[1]]), VERSIONS)
    again = launch.recorded_revisions(asked, launch.launches(first.run_dir))
    assert [model.revision for model in again.models] == ["a", "b", "c", "b"]


def test_versions_name_the_engine_and_no_environment():
    found = launch.versions("scripted")
    assert {"python", "ray", "torch", "transformers"} <= found.keys()
    assert "vllm" not in found


def test_runs_to_reuse_must_be_there_and_hold_records(begun, tmp_path):
    _, first = begun
    launch.check_reuse([])
    with pytest.raises(UserError, match=f"reuse: no such run directory: {tmp_path}/none"):
        launch.check_reuse([f"{tmp_path}/none"])
    with pytest.raises(UserError, match="holds no records"):
        launch.check_reuse([first.run_dir])
    record(first.run_dir, first.launch_id, "t1")
    launch.check_reuse([first.run_dir])
