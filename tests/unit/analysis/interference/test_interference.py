"""What copies cost other work: slowdowns are of each turn by itself."""

import pytest

from isthmus.analysis.interference import costs
from isthmus.record import MIB, Case, Metric, Run, Series
from tests.synthetic import runs as synthetic

SIZE = 64 * MIB


def case(
    method: str,
    slowdown: float,
    rate: float,
    *,
    neighbour: str = "compute",
    memory: str = "pinned",
    direction: str = "h2d",
    blocks: int | None = None,
    threads: int | None = None,
    size: int = SIZE,
    verified: str = "yes",
) -> Case:
    """Turns on a device whose clock rises: each takes less than the one before, alone and beside."""
    alone = [0.01 * (1 - turn / 100) for turn in range(12)]
    times: dict[Metric, list[float]] = {
        "alone_seconds": alone,
        "beside_seconds": [seconds * (1 + slowdown) for seconds in alone],
        "host_seconds": [size / rate] * 12,
    }
    fields: dict[str, object] = {"method": method, "direction": direction, "host_memory": memory, "bytes": size}
    fields |= {"blocks": blocks, "threads": threads, "neighbour": neighbour, "verified": verified}
    series = [Series(metric=metric, samples=samples) for metric, samples in times.items()]
    return Case(experiment="interference", series=series, **fields)  # type: ignore[arg-type]


CASES = [
    case("copy", 0.012, 54.8e9),
    case("kernel", 0.10, 29.8e9, blocks=1),
    case("kernel", 0.104, 49.6e9, blocks=2),
    case("kernel", 0.10, 50.6e9, blocks=4),
    case("kernel", 1.62, 50.8e9, blocks=0),
    case("copy", 0.001, 9e9, memory="pageable"),
    case("isthmus", 0.002, 12e9, memory="pageable", threads=1),
    case("isthmus", 0.02, 48e9, memory="pageable", threads=12),
    case("copy", -0.015, 55e9, direction="d2h"),
    case("copy", 0.03, 54e9, neighbour="thread"),
    case("copy", 0.5, 30e9, size=16 * MIB),
]


@pytest.fixture
def run() -> Run:
    return synthetic.run(CASES)


def test_a_slowdown_is_of_each_turn_by_itself(run: Run) -> None:
    found = {(cost.bytes, cost.neighbour, cost.direction, cost.key): cost for cost in costs(run)}
    assert len(found) == len(CASES)
    two = found[SIZE, "compute", "h2d", ("kernel", "pinned", 2, 0)]
    assert two.slowdown.median == pytest.approx(0.104)
    assert two.slowdown.high - two.slowdown.low < 1e-9, "a clock that rises is no uncertainty"
    assert two.rate.median == pytest.approx(49.6e9)
