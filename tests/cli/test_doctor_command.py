"""`doctor`: what it finds on a machine."""

from __future__ import annotations

import socket

import pytest
from command_files import Call

from taboo_cluster.cli import doctor


def test_a_line_each_and_status_0_where_nothing_is_missing(call: Call) -> None:
    status, out, _ = call("doctor")
    assert status == 0
    assert {line.split()[0] for line in out.splitlines()} <= {"ok", "note", "warning"}
    for part in ("Python 3", "torch 2", "ray 2", "packages actors and jobs", "free"):
        assert part in out


def test_what_is_missing_gives_status_1(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "packages", lambda: [doctor.package("ray", "==2.60.0", None)])
    status, out, _ = call("doctor")
    assert status == 1
    assert "missing  ray is not installed: pip install 'ray==2.60.0'" in out


def test_versions_are_held_against_what_is_asked_for() -> None:
    assert doctor.package("torch", "==2.13.0", "2.13.0+cpu") == doctor.Finding("ok", "torch 2.13.0+cpu")
    found = doctor.package("torch", "==2.13.0", "2.12.0")
    assert (found.level, found.text) == (
        "warning",
        "torch 2.12.0 is installed, ==2.13.0 is what this version was tested with",
    )
    assert doctor.python((3, 10)).level == "missing"
    assert doctor.python((3, 11)).level == "ok"


def test_e4_a_disk_nearly_full_is_named() -> None:
    assert doctor.disk("/tmp", 100, 95) == doctor.Finding(
        "warning", "/tmp: 0.0 GB free, 95% full: Ray stops spilling objects at 95%"
    )
    assert doctor.disk("/tmp", 100 * 10**9, 94 * 10**9) == doctor.Finding("ok", "/tmp: 6.0 GB free")


def test_a_taken_port_is_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        monkeypatch.setattr(doctor, "RAY_PORTS", {port: "a test"})
        assert [finding.text for finding in doctor.ports()] == [
            f"port {port} is taken, by a test perhaps: cluster=auto joins a running Ray"
        ]
    assert list(doctor.ports()) == []
