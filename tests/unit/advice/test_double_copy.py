"""`.cpu().pin_memory()`: found by the pinned memory that is got right after, of the size or at the line of the copy."""

from collections.abc import Callable
from typing import Any

import pytest

from isthmus.advice import Advice, Finding, advise
from isthmus.record import MIB, Run
from isthmus.trace import Trace
from tests.synthetic.traces import Program

SIZE, STEPS, KERNEL = 48 * MIB, 20, 2e-3
HOST, PINNED, DEVICE = 0x1000_0000_0000, 0x2000_0000_0000, 0x3000_0000_0000
MEMCPY = SIZE / 10e9
LINE = "swap.py:17 out"


def of(advice: Advice) -> Finding | None:
    return next((finding for finding in advice.findings if finding.rule == "double-copy"), None)


def program(
    seconds: Callable[..., float],
    *,
    held: int = 64 * MIB,
    line: str = LINE,
    pause: float = 5e-6,
    again: bool = True,
    sent: bool = False,
    second: float = 2 * MEMCPY,
    beside: float = 0.0,
) -> Trace:
    """Layers that are swapped out into pinned memory, with or without pageable memory on the way."""
    made = Program()
    kind = "pageable" if again else "pinned"
    for _ in range(STEPS):
        made.kernel(KERNEL)
        made.synchronize()
        if not again:
            made.allocate(held, 1e-5, PINNED, site=line)
        copied = seconds(kind, "d2h", SIZE)
        if beside:
            made.kernel(copied + beside, stream=1)
        made.copy(SIZE, copied, direction="d2h", kind=kind, host=HOST, device=DEVICE, site=LINE)
        if again:
            made.call("cudaStreamIsCapturing", 1e-6)
            made.own(pause)
            made.allocate(held, 1e-5, PINNED, site=line)
            made.own(second)
        if sent:
            made.copy(SIZE, seconds("pageable", "h2d", SIZE), kind="pageable", host=HOST, device=DEVICE)
    made.synchronize()
    return made.trace()


def span(trace: Trace) -> float:
    begin, end = trace.span_ns
    return float(end - begin) * 1e-9


def test_the_gain_is_the_faster_copy_and_the_second_one(run: Run, seconds: Callable[..., float]) -> None:
    broken, fixed = (program(seconds, again=again) for again in (True, False))
    finding = of(advise([broken], run))
    assert finding
    assert finding.gain_seconds
    assert (finding.level, finding.calls) == ("ATTENTION", STEPS)
    faster = STEPS * (seconds("pageable", "d2h", SIZE) - seconds("pinned", "d2h", SIZE))
    assert finding.gain_seconds.median > 1.2 * faster
    assert finding.gain_seconds.median <= 1.01 * (span(broken) - span(fixed))
    assert finding.evidence[0].place == LINE
    assert of(advise([fixed], run)) is None


def test_both_copies_beside_work_of_the_device_cost_nothing(run: Run, seconds: Callable[..., float]) -> None:
    assert of(advise([program(seconds, beside=3 * MEMCPY)], run)) is None


def test_a_line_tells_where_sizes_are_not_known(run: Run, seconds: Callable[..., float]) -> None:
    for line, there in ((LINE, True), ("swap.py:99 other", False)):
        whole = program(seconds, line=line)
        assert bool(of(advise([whole], run)))
        unsized = program(seconds, line=line, held=-1)
        assert bool(of(advise([unsized], run))) == there


@pytest.mark.parametrize(
    "how", [{"held": 16 * MIB}, {"held": 512 * MIB}, {"pause": 5e-3}, {"sent": True}, {"second": 1e-5}]
)
def test_other_pinned_memory_is_none_of_the_copys(run: Run, seconds: Callable[..., float], how: dict[str, Any]) -> None:
    assert of(advise([program(seconds, **how)], run)) is None
