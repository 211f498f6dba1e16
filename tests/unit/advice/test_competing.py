"""Where several rules would change a copy, the one that gains most by it speaks, and no second counts twice."""

from collections.abc import Callable

from isthmus.advice import advise
from isthmus.record import MIB, Run
from tests.synthetic.traces import Program

HOST, DEVICE = 0x1000_0000_0000, 0x2000_0000_0000
SIZE = 64 * MIB


def test_no_copy_counts_twice_in_the_sum(run: Run, seconds: Callable[..., float]) -> None:
    """Pageable, the same content each time, and never read: leaving the copies out gains all there is."""
    program = Program()
    program.kernel(1e-6)
    for _ in range(20):
        program.copy(SIZE, seconds("pageable", "h2d", SIZE), kind="pageable", host=HOST, device=DEVICE, content=5)
    advice = advise([program.trace()], run)
    # One speaks of each copy, and names the others.
    assert {finding.rule for finding in advice.findings} == {"duplicate", "unused"}
    assert any("pageable" in finding.cause for finding in advice.findings if finding.rule == "duplicate")
    assert sum(finding.calls for finding in advice.findings) == 20
    assert advice.gain_seconds
    largest = max(finding.gain_seconds.median for finding in advice.findings if finding.gain_seconds)
    assert largest <= advice.gain_seconds.median <= 1.1 * largest
    assert advice.gain_seconds.high <= advice.span_seconds


def test_one_rule_speaks_of_a_copy(run: Run) -> None:
    """Small pageable copies in a row: packing gains more than pinning, and no copy is in two findings."""
    program = Program()
    for piece in range(400):
        program.copy(4096, 1e-5, kind="pageable", host=HOST + piece * piece * 4096, device=DEVICE + piece * 4096)
    program.kernel(1e-3)
    advice = advise([program.trace()], run)
    assert sum(finding.calls for finding in advice.findings) == 400
    assert "small-copies" in {finding.rule for finding in advice.findings}
