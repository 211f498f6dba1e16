"""What the fastest way costs what runs beside it, from a run that has measured that."""

import pytest

from isthmus.language import LANGUAGES, Language, speaking
from isthmus.plan import Method, Plan, beside_words
from isthmus.plan.planner import beside
from isthmus.record import KIB, MIB, BufferNeed, Case, Direction, Interval, ManagedNeed, Metric, PiecesNeed, Run, Series
from tests.synthetic import batching as synthetic_batching
from tests.synthetic import runs as synthetic


def case(
    method: str,
    memory: str,
    slowdown: float,
    direction: Direction = "h2d",
    neighbour: str = "compute",
    blocks: int | None = None,
    threads: int | None = None,
) -> Case:
    times: dict[Metric, float] = {"alone_seconds": 1.0, "beside_seconds": 1 + slowdown, "host_seconds": 1e-3}
    return Case(
        experiment="interference",
        method=method,
        host_memory=memory,
        direction=direction,
        bytes=MIB,
        neighbour=neighbour,
        series=[Series(metric=metric, samples=[seconds] * 12) for metric, seconds in times.items()],
        blocks=blocks,
        threads=threads,
    )


CASES = [
    case("copy", "pinned", 0.01),
    case("copy", "pinned", 0.02, "d2h"),
    case("copy", "pageable", 0.001),
    case("kernel", "pinned", 0.10, blocks=2),
    case("kernel", "pinned", 1.62, blocks=0),
    case("kernel", "pinned", 0.04, neighbour="memory", blocks=2),
    case("isthmus", "pageable", 0.03, threads=1),
    case("isthmus", "pageable", 0.05, threads=12),
]


@pytest.fixture
def run() -> Run:
    return synthetic.run([*synthetic_batching.h200_cases(), *CASES])


@pytest.mark.parametrize(
    ("way", "costs"),
    [
        ("kernel", {"compute": 0.10, "memory": 0.04}),
        ("pack_kernel", {"compute": 0.10, "memory": 0.04}),
        ("isthmus", {"compute": 0.05}),
        ("pack_threads", {"compute": 0.05}),
        ("copies", {"compute": 0.01}),
        ("registered", {"compute": 0.01}),
        ("pageable", {"compute": 0.001}),
    ],
)
def test_a_way_costs_what_it_is_made_of(run: Run, way: str, costs: dict[str, float]) -> None:
    assert beside(run, PiecesNeed(64, KIB), way) == pytest.approx(costs)


def test_both_ways_cost_what_the_worse_one_does(run: Run) -> None:
    assert beside(run, BufferNeed(MIB, "both"), "pinned") == pytest.approx({"compute": 0.02})


def test_nothing_is_said_where_nothing_was_measured(run: Run) -> None:
    assert beside(synthetic.run([]), PiecesNeed(64, KIB), "kernel") == {}
    assert beside(run, ManagedNeed(MIB, fraction=0.5), "kernel") == {}
    assert beside_words(Plan(BufferNeed(MIB), ())) == ""


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_says_it(language: Language) -> None:
    plan = Plan(BufferNeed(MIB), (Method("pinned", Interval(1, 1, 1)),), beside={"compute": 0.1, "thread": -0.004})
    with speaking(language):
        said = beside_words(plan)
    assert ("10 %" in said, "-0.4 %" in said) == (True, True)
