"""Pinned memory that an allocator rounded up: told by powers of two of which copies use a little more than half."""

import pytest

from isthmus.advice import Finding, advise
from isthmus.record import MIB, Run
from tests.synthetic.traces import Program

HOST, DEVICE, BUFFERS = 0x1000_0000_0000, 0x2000_0000_0000, 8


def over_pinned(run: Run, held: int, used: int, buffers: int = BUFFERS) -> Finding | None:
    program = Program()
    for place in range(buffers):
        program.allocate(held, 1e-2, HOST + place * held)
    for place in range(buffers):
        program.copy(used, used / 55e9, host=HOST + place * held, device=DEVICE + place * held)
    return next((each for each in advise([program.trace()], run).findings if each.rule == "over-pinned"), None)


def test_the_bytes_that_are_left_are_named(run: Run) -> None:
    finding = over_pinned(run, 512 * MIB, 300 * MIB)
    assert finding
    assert (finding.level, finding.gain_seconds, finding.calls) == ("note", None, BUFFERS)
    assert f"{(512 - 300) * BUFFERS} MiB of 4 GiB" in finding.title
    assert finding.cause.endswith("round up so.")


@pytest.mark.parametrize(
    ("held", "used", "buffers"),
    [
        (512 * MIB, 512 * MIB, BUFFERS),
        (512 * MIB, 400 * MIB, BUFFERS),
        (500 * MIB, 300 * MIB, BUFFERS),
        (512 * MIB, 300 * MIB, 3),
        (64 * MIB, 40 * MIB, BUFFERS),
    ],
)
def test_memory_of_its_size_few_or_little_is_none(run: Run, held: int, used: int, buffers: int) -> None:
    assert over_pinned(run, held, used, buffers) is None
