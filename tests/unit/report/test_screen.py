"""The first screen after a measurement: short on any terminal, the fault first, and quiet where nothing is wrong."""

import io
import re
from functools import cache
from pathlib import Path

import msgspec
import pytest

from isthmus.experiment.breakeven.cases import BRIEF
from isthmus.language import LANGUAGES, Language, speaking
from isthmus.record import Run, read_run
from isthmus.report.renderers import terminal
from isthmus.report.runs import runs_document
from isthmus.report.screen import screen_document
from tests.synthetic import breakeven

RESULTS = Path(__file__).resolve().parents[3] / "results"
KEPT = sorted(path.name.removesuffix(".json.gz") for path in RESULTS.glob("*.json.gz"))
QUICK = ("h200-cuda", "pocl", "h100-latency", "h200-stencil")
# Documents of other kinds that are kept beside runs.
OTHERS = {
    "accelerated-h100",
    "h100x2-fleet",
    "h100-plan-check",
    "h200-plan-check",
    "h200-trace",
    "h200-transfer",
    "h200-transfer-2",
    "h200-batching-5",
    "rows-h100",
}
RUNS = [
    name if name in QUICK else pytest.param(name, marks=pytest.mark.thorough) for name in KEPT if name not in OTHERS
]
# Experiments that a fault of the machine itself does not concern.
HEALTHY = [
    "h200-cuda",
    *(
        pytest.param(f"h200-{name}", marks=pytest.mark.thorough)
        for name in ("all", "managed", "strided", "overlap", "batching")
    ),
]


@cache
def kept(name: str) -> Run:
    return read_run(RESULTS / f"{name}.json.gz")


def lines(run: Run, width: int = 100) -> list[str]:
    out = io.StringIO()
    terminal.write(screen_document(run), out, width=width)
    return out.getvalue().splitlines()


def experiments(run: Run) -> int:
    return len({case.experiment for case in run.cases if case.series})


def half_width(run: Run) -> Run:
    """The run as a link with half of its lanes would have given it."""
    device = run.fingerprint.device
    assert device.link
    link = msgspec.structs.replace(device.link, width_under_load=8, width=8)
    device = msgspec.structs.replace(device, link=link)
    cases = [
        msgspec.structs.replace(
            case,
            series=[
                msgspec.structs.replace(each, samples=[2 * sample for sample in each.samples]) for each in case.series
            ],
        )
        for case in run.cases
    ]
    fingerprint = msgspec.structs.replace(run.fingerprint, device=device)
    return msgspec.structs.replace(run, fingerprint=fingerprint, cases=cases)


@pytest.mark.parametrize("width", [100, 80])
@pytest.mark.parametrize("name", RUNS)
def test_it_is_forty_lines_and_twelve_for_each_further_experiment(name: str, width: int) -> None:
    run = kept(name)
    shown = lines(run, width)
    # The page, the tables and what is next follow, in four lines.
    assert len(shown) + 4 <= 40 + 12 * (max(experiments(run), 1) - 1)
    assert max(map(len, shown)) <= width


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", ["pocl", pytest.param("h200-all", marks=pytest.mark.thorough)])
def test_forty_columns_are_enough_to_say_it_in_any_language(name: str, language: Language) -> None:
    with speaking(language):
        shown = lines(kept(name), 40)
    assert not [line for line in shown if len(line) > 40]
    assert "(columns " not in "".join(shown)


@pytest.mark.parametrize("name", HEALTHY)
def test_a_healthy_machine_is_quiet(name: str) -> None:
    text = "\n".join(lines(kept(name)))
    assert not {"FAULT", "ATTENTION", "warning"} & {*text.replace(":", " ").split()}


@pytest.mark.parametrize("width", [100, 80])
def test_a_fault_comes_before_any_figure_here_and_in_the_report(width: int) -> None:
    run = half_width(kept("h200-cuda"))
    out = io.StringIO()
    terminal.write(runs_document([run]), out, width=width)
    for shown in (lines(run, width), out.getvalue().splitlines()):
        assert shown[0].startswith("NVIDIA H200 · cuda:0 · PCIe 5.0 x8")
        assert shown[3].startswith("FAULT  The link runs at PCIe 5.0 x8 under load")


def test_a_fault_ends_with_what_a_vendor_asks_for() -> None:
    run = half_width(kept("h200-cuda"))
    text = " ".join(" ".join(lines(run)).split())
    assert f"A vendor asks for: UUID {run.fingerprint.device.uuid}" in text


def test_what_two_faults_have_in_common_to_do_is_said_once() -> None:
    run = kept("h200-cuda")
    slow = [
        msgspec.structs.replace(
            case,
            series=[
                msgspec.structs.replace(each, samples=[1.5 * sample for sample in each.samples]) for each in case.series
            ],
        )
        for case in run.cases
    ]
    text = " ".join(" ".join(lines(msgspec.structs.replace(run, cases=slow))).split())
    assert text.count("FAULT") > 1
    assert text.count("ACS or an IOMMU that reroutes") == 1


def test_that_nothing_was_measured_is_said_once() -> None:
    run = kept("h200-cuda")
    nothing = [
        msgspec.structs.replace(case, series=[], skipped=True, verified="n/a", note="no time") for case in run.cases
    ]
    text = " ".join(" ".join(lines(msgspec.structs.replace(run, cases=nothing))).split())
    assert text.count("to conclude") == 1


def test_a_brief_experiment_is_a_sentence() -> None:
    """From which size on pinning pays, in both cases, once and ten times; no table of a few sizes."""
    run = kept("h200-cuda")
    trips = breakeven.breakeven(
        ways=["pageable", "pinned"], sizes=BRIEF.sizes, kinds_of_case=["round_trip", "reduction"]
    )
    settings = msgspec.structs.replace(run.settings, options={"brief": "breakeven"})
    brief = msgspec.structs.replace(run, settings=settings, cases=[*run.cases, *trips])
    shown = lines(brief)
    text = " ".join(" ".join(shown).split())
    assert re.search(
        r"Pinning a buffer pays: there and back .* \(1 use\), from [\d.-]+ [KM]iB on \(10 uses\); where only a result "
        r"comes back .* \(1 use\), .* \(10 uses\)\.",
        text,
    )
    assert "Wins from this size" not in text
    assert len(lines(brief, 80)) + 4 <= 40
    whole = msgspec.structs.replace(brief, settings=run.settings)
    assert "Wins from this size" in " ".join(lines(whole)), "asked for by name"
