"""Fixtures of the tests that start Ray."""

import os
import signal
import subprocess
import sys

import pytest
from scripted_runs import TOKEN, Joined, Workspace

# Ray reads its token once in a process, so it is set before a test can make it look. Commands of their own do without.
os.environ.update(TOKEN)

CLUSTER = """
import ray, sys
ray.init("local", num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR",
         _system_config={"metrics_report_interval_ms": 1000})
print(ray.get_runtime_context().gcs_address, ray.nodes()[0]["MetricsExportPort"], flush=True)
sys.stdin.read()
"""


@pytest.fixture(scope="session")
def workspace(tmp_path_factory):
    """Commands run here start a Ray of their own."""
    return Workspace(tmp_path_factory.mktemp("workspace"))


@pytest.fixture(scope="session")
def joined(workspace):
    """Commands run here join one running cluster, which is faster, and is how a team's cluster is used."""
    for _ in range(4):  # Ray gives up where it takes over 30 s to start, as on a busy machine
        head = subprocess.Popen(
            [sys.executable, "-c", CLUSTER],
            env=os.environ | {"RAY_agent_register_timeout_ms": "120000"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
        )
        started = head.stdout.readline().split()
        if started:
            break
    assert started, "Ray did not start"
    address, port = started
    yield Joined(workspace, address, metrics=f"http://127.0.0.1:{port}/metrics")
    head.stdin.close()
    try:
        head.wait(timeout=30)
    except subprocess.TimeoutExpired:
        os.killpg(head.pid, signal.SIGKILL)
