"""Time of the host around copies: pages of a mapped file before them, a second copy of what was fetched after them."""

from __future__ import annotations

from typing import Any

import pytest

from isthmus.advice import Finding, advise
from isthmus.record import MIB, Run
from isthmus.trace import Trace
from tests.synthetic.traces import EVERYTHING, Program

SIZE, COPIES = 64 * MIB, 12
HOST, DEVICE = 0x1000_0000_0000, 0x2000_0000_0000


def of(trace: Trace, run: Run, rule: str) -> Finding | None:
    return next((finding for finding in advise([trace], run).findings if finding.rule == rule), None)


def weights(pages: float, *, first: float = 50e-3, queued: float = 0.0) -> Trace:
    """Weights that are copied once each; the call waits for pages, or for kernels, before the device begins."""
    program = Program()
    for place in range(COPIES):
        wait = first if place == 0 else pages
        if queued and place:
            program.kernel(queued)
        place_of: dict[str, Any] = {"host": HOST + place * SIZE, "device": DEVICE + place * SIZE}
        program.copy(
            SIZE, 7e-3 + wait, kind="pageable", call="cudaMemcpyAsync", launch=wait + 1e-6, waits=True, **place_of
        )
    program.synchronize()
    return program.trace()


def test_pages_that_copies_wait_for_are_named(run: Run) -> None:
    finding = of(weights(30e-3), run, "mapped-pages")
    assert finding
    assert finding.gain_seconds
    # The first call loads modules.
    assert finding.calls == COPIES - 1
    assert 0.5 * 11 * 30e-3 < finding.gain_seconds.median < 11 * 30e-3
    assert finding.gain_seconds.low == 0
    assert "isthmus.copy_from_file" in finding.change


@pytest.mark.parametrize("trace", [weights(0.0), weights(30e-3, queued=40e-3)], ids=["first call", "queued kernels"])
def test_other_waits_are_for_no_pages(run: Run, trace: Trace) -> None:
    assert of(trace, run, "mapped-pages") is None


@pytest.mark.parametrize(("after", "is_copy"), [(SIZE / 3e9, True), (0.5, False), (1e-4, False)])
def test_what_xla_fetched_is_copied_once_more(run: Run, after: float, is_copy: bool) -> None:
    program = Program()
    for _ in range(COPIES):
        program.kernel(5e-3)
        program.copy(SIZE, 2e-3, direction="d2h", call="MemcpyD2H", host=HOST, device=DEVICE, waits=True)
        program.own(after)
    program.kernel(1e-3)
    known = EVERYTHING - {"addresses", "allocations", "contents"}
    finding = of(program.trace(known, maker="xla"), run, "fetched-again")
    assert (finding is not None) is is_copy
    if finding is not None:
        assert finding.gain_seconds
        assert finding.gain_seconds.median == pytest.approx(COPIES * after, rel=0.1)
        assert "isthmus.to_host(x, out=array)" in finding.change
    # Who is recorded by another tool is not known to be XLA.
    assert of(program.trace(known), run, "fetched-again") is None
