"""Which GPUs a process may see, from CUDA_VISIBLE_DEVICES and nvidia-smi's listing."""

import pytest

from actors import devices
from actors.devices import Device
from taboo_cluster.errors import UserError

LISTING = """\
GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-aaaa-1)
  MIG 3g.40gb     Device  0: (UUID: MIG-cccc-1)
  MIG 3g.40gb     Device  1: (UUID: MIG-cccc-2)
GPU 1: NVIDIA H100 80GB HBM3 (UUID: GPU-bbbb-2)
"""
FIRST = Device("NVIDIA H100 80GB HBM3", "GPU-aaaa-1")


@pytest.mark.parametrize(
    ("visible", "device"),
    [
        ("0", FIRST),
        ("1", Device("NVIDIA H100 80GB HBM3", "GPU-bbbb-2")),
        ("GPU-aaaa", FIRST),
        ("MIG-cccc-2", Device("3g.40gb", "MIG-cccc-2")),
    ],
)
def test_e7_devices_are_known_by_uuid(visible, device):
    assert devices.find(visible, LISTING) == device


@pytest.mark.parametrize("visible", ["2", "GPU-none", "MIG-cccc", ""])
def test_an_entry_that_names_no_single_gpu_is_an_error(visible):
    with pytest.raises(UserError, match="CUDA_VISIBLE_DEVICES"):
        devices.find(visible, LISTING)


@pytest.mark.parametrize(("visible", "requested"), [("", 1), ("0", 2), ("0,1", 1), ("0", 0), (None, 1)])
def test_e6_another_number_of_gpus_than_requested_fails_before_anything_is_loaded(monkeypatch, visible, requested):
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if visible is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    monkeypatch.setattr(devices, "listing", lambda: LISTING)
    with pytest.raises(UserError, match=f"asked for {requested} GPU"):
        devices.check(requested)


def test_e6_as_many_as_requested_are_named(monkeypatch):
    monkeypatch.setattr(devices, "listing", lambda: LISTING)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1, 0")
    assert [device.uuid for device in devices.check(2)] == ["GPU-bbbb-2", "GPU-aaaa-1"]
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert devices.check(0) == []
