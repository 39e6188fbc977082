"""Fixtures of the tests that start Ray."""

import pytest
from scripted_runs import Workspace


@pytest.fixture(scope="session")
def workspace(tmp_path_factory):
    return Workspace(tmp_path_factory.mktemp("workspace"))
