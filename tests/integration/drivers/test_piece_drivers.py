"""Pieces, sections and pipelines on NVIDIA's drivers as they are in the field: whole, too old, with null streams."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.processes import python

Pieces = Callable[..., dict[str, str]]

# Every method on every layout of 24 pieces of 48 bytes that has room for it; prints what came of each.
_CODE = """
import json
import numpy as np
from isthmus import _native
from isthmus.errors import IsthmusError
from isthmus.machine.devices import open_device
from isthmus.experiment.engine.pieces import METHODS

device = open_device("cuda:0").native
width, rows, slices, pitch, slice_pitch = 48, 6, 4, 64, 512
extent = (width, rows, slices)
size = slices * slice_pitch
offsets = np.arange(24, dtype=np.uint64)[::-1].copy() * 64
places = {
    "contiguous": (0, width, rows * width, None), "strided": (16, pitch, slice_pitch, None),
    "scattered": (0, 0, 0, offsets),
}
reference = device.allocate("pageable", size)
reference.fill_pattern(0, size, 1)
staging = _native.create_staging(device, size, 2, 24)
found = {}
for way in ("h2d", "d2h"):
    source = device.allocate("pinned" if way == "h2d" else "device", size)
    source.fill_pattern(0, size, 1)
    destination = device.allocate("device" if way == "h2d" else "pinned", size)
    for method in METHODS:
        for to in places:
            for from_ in places:
                name = f"{way} {method} {from_} {to}"
                try:
                    transfer = _native.create_pieces(
                        method, (destination, *places[to]), (source, *places[from_]), extent, reference, staging)
                    transfer.poison()
                    transfer.run(1, 2, 2, 0.0)
                    found[name] = "arrived" if transfer.verify() == [(0, 2**64 - 1), (0, 0)] else "wrong"
                except IsthmusError as error:
                    found[name] = str(error)
                transfer = None
data = device.allocate("pinned", 4096)
data.fill_pattern(0, 4096, 1)
pipeline = _native.create_pipeline(
    data, device.allocate("device", 4096), device.allocate("pinned", 4096), None, 4096, 4, 2, 5, ["in", "work", "out"])
pipeline.poison()
pipeline.run(0, 1, 1, 0.0)
found["pipeline"] = "arrived" if pipeline.verify() == [(0, 0)] else "wrong"
print(json.dumps(found))
"""


@pytest.fixture
def pieces(compiled: Callable[..., Path]) -> Pieces:
    """What came of each method, direction, source's and destination's layout on a driver."""

    def pieces(*omitted: str, **environment: str) -> dict[str, str]:
        done = python(_CODE, env={"LD_LIBRARY_PATH": str(compiled("fake_cuda.cpp", *omitted).parent)} | environment)
        assert done.returncode == 0, done.stderr
        found: dict[str, str] = json.loads(done.stdout)
        return found

    return pieces


def test_every_method_brings_every_piece_and_touches_nothing_else(pieces: Pieces, tmp_path: Path) -> None:
    found = pieces(FAKE_CUDA_LIVE=str(tmp_path / "live"))
    assert found.pop("pipeline") == "arrived"
    arrived = {name for name, result in found.items() if result == "arrived"}
    for method in ("waited_copies", "copies", "batch", "graph", "kernel"):
        assert {name for name in found if name.split()[1] == method} <= arrived
    # Those that need a layout say which.
    ruled_out = {result for name, result in found.items() if name not in arrived}
    assert ruled_out == {
        "2-D and 3-D copies take rows at regular distances",
        "the two sides differ in their layout",
        "nothing lies between the pieces",
        "the pieces lie apart in host memory, which kernels cannot pack",
        "the pieces lie side by side on the device",
        "the pieces lie side by side in memory that needs no staging",
    }
    assert {name for name in arrived if "section" in name and "contiguous" in name.split()[2:]}
    assert {name for name in arrived if "whole" in name} == {"h2d whole strided strided", "d2h whole strided strided"}
    assert (tmp_path / "live").read_text().split()[0] == "0"


def test_the_older_signature_of_the_batch_call_serves_where_the_newer_is_absent(pieces: Pieces) -> None:
    found = pieces("cuMemcpyBatchAsync_v2")
    assert {result for name, result in found.items() if " batch " in name} == {"arrived"}


def test_a_driver_without_batch_call_and_graphs_loses_those_and_nothing_else(pieces: Pieces) -> None:
    found = pieces("cuMemcpyBatchAsync", "cuMemcpyBatchAsync_v2", "cuGraphInstantiateWithFlags")
    batch = {result for name, result in found.items() if " batch " in name}
    assert batch == {"cuMemcpyBatchAsync is absent: the driver is too old; it needs CUDA 12.8"}
    graph = {result for name, result in found.items() if " graph " in name}
    assert graph == {"cuGraphInstantiateWithFlags is absent: the driver is too old; it needs CUDA 11.4"}
    assert {result for name, result in found.items() if " copies " in name} == {"arrived"}


def test_the_batch_call_is_not_given_a_null_stream(pieces: Pieces) -> None:
    found = pieces(FAKE_CUDA_NULL_STREAMS="1")
    batch = {result for name, result in found.items() if " batch " in name}
    assert batch == {"the driver's batch call takes no null stream: create one for it"}
    assert {result for name, result in found.items() if " copies " in name} == {"arrived"}
