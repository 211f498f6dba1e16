"""What copies of a place take: in calls by thread, and on the device by engine; time in a queue is neither."""

from __future__ import annotations

import pytest

from isthmus.advice import advise
from isthmus.record import Run
from tests.synthetic.traces import LAUNCH, WAIT, Program

COPIES, KERNEL, COPYING = 300, 60e-6, 6e-6


@pytest.mark.parametrize("kind", ["pageable", "pinned"])
def test_time_in_a_queue_is_nobodys(run: Run, kind: str) -> None:
    program = Program()
    for _ in range(COPIES):
        # Small pageable copies are staged, and the call returns.
        program.copy(120, COPYING, kind=kind, call="cudaMemcpyAsync", site="train.py:7 feed", waits=False, staged=True)
        program.kernel(KERNEL)
    program.synchronize()
    trace = program.trace()
    for finding in advise([trace], run).findings:
        for place in finding.evidence:
            assert place.seconds <= program.span_seconds
            if finding.rule == "pageable":
                assert place.seconds == pytest.approx(COPIES * LAUNCH, rel=0.01)
                assert place.device_seconds == pytest.approx(COPIES * (COPYING - LAUNCH - WAIT), rel=0.01)
    assert kind == "pinned" or any(each.rule == "pageable" for each in advise([trace], run).findings)
