"""Batches whose pieces lie in allocations of their own, which no one copy of the driver may reach over."""

import numpy as np
import pytest

import isthmus
from isthmus import _native


@pytest.mark.parametrize("pieces", [2, 3, 16, 33])
@pytest.mark.parametrize("size", [1, 8, 256, 512, 4096, 65536])
@pytest.mark.parametrize("kind", ["pageable", "pinned"])
def test_each_piece_arrives(device: _native.Device, pieces: int, size: int, kind: str) -> None:
    """Two pieces always lie at a regular distance, and so do many that an allocator puts side by side."""
    if device.info["backend"] == "opencl" and kind == "pinned":
        pytest.skip("page-locked memory of OpenCL is a buffer")
    data = np.random.default_rng(pieces).integers(0, 255, (pieces, size), np.uint8)
    hosts = [device.allocate(kind, size).host_array() for _ in data]
    with isthmus.Session(device, pinned_budget="2MiB") as session:
        there = [session.empty(size, np.uint8) for _ in data]
        orders = [there]
        if device.info["backend"] == "cuda":
            orders.append(sorted(there, key=lambda array: array.__cuda_array_interface__["data"][0]))
        for order in orders:
            for host, piece in zip(hosts, data, strict=True):
                host[...] = piece
            session.copy_batch(order, hosts)
            for host in hosts:
                host[...] = 255
            session.copy_batch(hosts, order)
            for host, piece in zip(hosts, data, strict=True):
                assert np.array_equal(host, piece)
