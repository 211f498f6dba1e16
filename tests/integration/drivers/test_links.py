"""Copies over the links of several fake devices, by which ways they go, and what becomes of a neighbour that fails."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

_PROGRAM = """
import json, sys
import numpy as np
import isthmus

MIB = 1 << 20
said = {}
with isthmus.Session("cuda:0", paths=sys.argv[2] if len(sys.argv) > 2 else None) as session:
    for kind in ("pinned", "pageable"):
        size = int(sys.argv[3]) if len(sys.argv) > 3 else 20 * MIB + 3
        host, back = (
            isthmus.pinned_empty(size, "u1", session=session) if kind == "pinned" else np.zeros(size, "u1")
            for _ in range(2)
        )
        host[:] = np.random.default_rng(1).integers(0, 256, size, np.uint8)
        there = session.empty(size, "u1")
        right, failed = [], ""
        for _ in range(3):
            back[:] = 0
            if sys.argv[1] == "async":
                isthmus.copy_async(there, host, session=session).wait()
                isthmus.copy_async(back, there, session=session).wait()
            else:
                try:
                    isthmus.copy(there, host, session=session)
                    isthmus.copy(back, there, session=session)
                except isthmus.errors.CopyFailed as error:
                    failed += str(error)
                    continue
            right.append(bool((back == host).all()))
        told = f"{session.explain(there, host)}; {session.explain(back, there)}"
        said[kind] = {"right": all(right) and len(right) >= 2, "failed": failed, "told": told}
print(json.dumps(said))
"""


@pytest.fixture(scope="module")
def copied(told: Callable[..., Any]) -> Callable[..., Any]:
    """What the program prints with these variables set."""
    return partial(told, _PROGRAM, FAKE_CUDA_DEVICES="2")


@pytest.mark.parametrize("how", ["waits", "async"])
@pytest.mark.parametrize("failing", ["cuMemcpyPeerAsync@1", "cuMemcpyPeerAsync@4"])
def test_what_a_neighbour_that_fails_has_not_brought_goes_by_the_own_link(
    copied: Callable[..., Any], how: str, failing: str
) -> None:
    said = copied(how, "all", FAKE_CUDA_FAIL=failing)
    assert said["pinned"]["right"]
    assert said["pageable"]["right"]
    assert (
        "cuda:1 is not used: it failed: cuMemcpyPeerAsync failed" in said["pageable"]["told"] + said["pinned"]["told"]
    )


@pytest.mark.parametrize("question", [1, 2, 5, 13])
def test_an_answer_that_fails_leaves_no_wrong_byte(copied: Callable[..., Any], question: int) -> None:
    """Of the neighbour's, the copy goes on by the own link; of the device's own, it fails, and the next ones do not."""
    said = copied("waits", "all", FAKE_CUDA_FAIL=f"cuEventQuery@{question}")
    for kind in ("pinned", "pageable"):
        assert said[kind]["right"]
        assert not said[kind]["failed"] or "cuEventQuery failed" in said[kind]["failed"]


def test_devices_that_do_not_reach_each_other_leave_it_to_the_own_link(copied: Callable[..., Any]) -> None:
    said = copied("waits", "all", FAKE_CUDA_NO_PEERS="1")
    for kind in ("pinned", "pageable"):
        assert said[kind]["right"]
        assert "cuda:1 is not used: the driver gives this device no access" in said[kind]["told"]


@pytest.mark.parametrize(
    ("variable", "expected"), [("all", "cuda:1 (50%)"), ("cuda:0,opencl:3,cuda:1", "cuda:1 (50%)"), ("own", "")]
)
def test_the_environment_says_whose_links(copied: Callable[..., Any], variable: str, expected: str) -> None:
    said = copied("waits", ISTHMUS_PATHS=variable)
    assert said["pinned"]["right"]
    assert expected in said["pinned"]["told"]
    assert ("over the links" in said["pinned"]["told"]) == bool(expected)


def test_a_neighbour_without_room_is_not_used(copied: Callable[..., Any]) -> None:
    said = copied("waits", "all", str(9 << 20), FAKE_CUDA_MEMORY=str(40 << 20))
    for kind in ("pinned", "pageable"):
        assert said[kind]["right"]
        assert "cuda:1 is not used: cuMemAlloc_v2 failed" in said[kind]["told"]
