"""What is said about the smallest steps: their figures in sentences, and one table."""

from types import ModuleType

import pytest

from isthmus.analysis.latency.findings import findings, takeaway
from isthmus.analysis.latency.section import section
from isthmus.language import LANGUAGES, Language, speaking
from isthmus.record import MIB, Case, Metric, Run, Series


def case(method: str, memory: str = "", size: int = 0, peer: str = "", **seconds: float) -> Case:
    series = [Series(metric=name, samples=[value] * 12) for name, value in seconds.items()]  # type: ignore[arg-type]
    target = "cuda:0" if peer else ""
    fields: dict[str, object] = {"experiment": "latency", "method": method, "host_memory": memory, "bytes": size}
    return Case(**fields, target=target, peer=peer, series=series)  # type: ignore[arg-type]


CASES = [
    case("launch", host_seconds=6.8e-6, enqueue_seconds=2.1e-6),
    case("event", host_seconds=0.9e-6, device_seconds=1e-6),
    case("wait", host_seconds=0.4e-6),
    case("access", "pinned", 2 * MIB, device_seconds=1.2e-6),
    case("access", "device", 2 * MIB, "cuda:1", device_seconds=2e-6),
    case("copy", "device", 64 * MIB, host_seconds=40e-6),
    case("copy", "device", 256 * MIB, host_seconds=134.217728e-6),
]


@pytest.fixture
def run(synthetic: ModuleType) -> Run:
    return synthetic.run(CASES)  # type: ignore[no-any-return]


def test_the_findings_have_the_figures(run: Run) -> None:
    assert {each.topic: each.text for each in findings(run)} == {
        "latency_access": "One access of a device thread: pinned memory 1.20 us, cuda:0 - cuda:1 2.00 us.",
        "latency_launch": "Queueing a kernel takes 2.10 us; it has run after 6.80 us.",
    }
    taken = takeaway(run)
    assert taken
    assert taken.cure == "Fuse kernels that run shorter than 6.80 us, or launch them as a graph."


def test_the_table_has_a_row_a_step(run: Run) -> None:
    found = section([run])
    assert found
    [grid] = found.parts[0].grids
    rows = {row.heading: [f"{cell.text} {cell.unit}".strip() for cell in row.cells] for row in grid.groups[0].rows}
    assert rows["launch"] == ["6.80 us", "2.10 us", ""]
    assert rows["access, pinned"] == ["1.20 us", "", ""]
    assert rows["copy within the device, 256 MiB"] == ["134 us", "", "2000"]
    assert len(rows) == len(CASES)


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_says_it(run: Run, language: Language) -> None:
    with speaking(language):
        assert len(findings(run)) == 2
        assert section([run])


def test_what_was_skipped_or_wrong_is_no_figure(synthetic: ModuleType) -> None:
    gone = Case(experiment="latency", method="access", host_memory="pinned", bytes=MIB, skipped=True, note="no reach")
    wrong = Case(
        experiment="latency",
        method="access",
        host_memory="pinned",
        bytes=MIB,
        verified="no",
        series=[Series(metric="device_seconds", samples=[1e-6] * 12)],
    )
    metric: Metric = "device_seconds"
    assert wrong.samples(metric)
    run = synthetic.run([gone, wrong])
    assert (findings(run), takeaway(run), section([run])) == ([], None, None)
