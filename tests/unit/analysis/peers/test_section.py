"""The section between devices: matrices hold what was measured, say what was not, and fit a terminal."""

from __future__ import annotations

import io
from types import ModuleType

import msgspec
import pytest

from isthmus.analysis.peers.cells import path_name
from isthmus.analysis.peers.glance import glance
from isthmus.analysis.peers.section import section
from isthmus.document.grid import Cell, Grid
from isthmus.document.section import Section
from isthmus.language import LANGUAGES, speaking
from isthmus.record import KIB, MIB, Case, Run
from isthmus.report import runs_document
from isthmus.report.renderers import html, terminal


def made(run: Run) -> Section:
    found = section([run])
    assert found
    return found


def grid(found: Section, title: str) -> Grid:
    (one,) = [each for part in found.parts for each in part.grids if each.title.startswith(title)]
    return one


def cell(found: Grid, group: str, row: str, column: str) -> Cell:
    (rows,) = [each.rows for each in found.groups if each.title == group]
    (cells,) = [each.cells for each in rows if each.heading == row]
    return cells[[each.name for each in found.columns].index(column)]


def test_a_run_without_peers_or_with_skips_alone_has_no_section(
    synthetic: ModuleType, synthetic_peers: ModuleType
) -> None:
    assert section([synthetic.h200()]) is None
    lone = synthetic.run([synthetic_peers.skipped("copy_write", "", "", "there is one device")])
    assert section([lone]) is None
    assert glance(lone) is None


def test_parts_in_order(synthetic: ModuleType, synthetic_peers: ModuleType) -> None:
    links = [synthetic_peers.link("h2d", 55.0, ["cuda:0"], "cuda:0"), synthetic_peers.link("h2d", 110.0, ["a", "b"])]
    run = synthetic.run([*synthetic_peers.whole(2, sizes=[4 * KIB, MIB]), *links])
    assert [part.title for part in made(run).parts] == [
        "Who reaches whom, and by what",
        "One way",
        "Both ways at once",
        "Latency of one access",
        "One and all",
        "Rate against size",
        "Hosts' links at once",
    ]


def test_matrices_go_from_rows_to_columns(synthetic: ModuleType, synthetic_peers: ModuleType) -> None:
    def rate(method: str, source: str, to: str) -> float:
        return 300.0 if (source, to) == ("cuda:0", "cuda:1") else 200.0

    found = made(synthetic.run(synthetic_peers.whole(3, rate)))
    one_way = grid(found, "One way, 512 MiB, GB/s")
    assert [group.title for group in one_way.groups] == [
        "write, copy engine",
        "read, copy engine",
        "write, kernel",
        "read, kernel",
    ]
    assert cell(one_way, "write, copy engine", "cuda:0", "cuda:1").text == "300"
    assert cell(one_way, "write, copy engine", "cuda:1", "cuda:0").text == "200"
    assert cell(one_way, "write, copy engine", "cuda:1", "cuda:1").text == ""
    # Both ways are a sum, the same in either order; what each has of it is none of one way's figures.
    both = grid(found, "Both ways")
    assert cell(both, "read, kernel", "cuda:0", "cuda:1") == cell(both, "read, kernel", "cuda:1", "cuda:0")
    assert cell(both, "read, kernel", "cuda:0", "cuda:1").text == "591"
    assert cell(grid(found, "Latency"), "", "cuda:2", "cuda:0").text == "830"
    # Sums of two copies at once.
    assert cell(grid(found, "From the column's device to 2 others"), "", "read, kernel", "cuda:2").text == "300"
    assert cell(grid(found, "From 2 others"), "", "write, kernel", "cuda:0").text == "300"


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("nvlink 18", "NV18"),
        ("nvlink", "NVLink"),
        ("pcie PIX", "PIX"),
        ("pcie", "PCIe"),
        ("host SYS", "host"),
        ("peer NODE", "peer"),
        ("", "-"),
        ("sonar 3", "-"),
    ],
)
def test_what_joins_two_devices_has_the_names_of_nvidia_smi(path: str, name: str) -> None:
    assert path_name(path) == name


def test_what_was_wrong_or_not_measured_is_said_in_its_place(
    synthetic: ModuleType, synthetic_peers: ModuleType
) -> None:
    wrong = synthetic_peers.copies(
        "copy_write", 394.0, "cuda:0", "cuda:1", verified="no", note="wrong data", path="pcie"
    )
    why = "the driver gives this device no access"
    run = synthetic.run([wrong, synthetic_peers.skipped("copy_write", "cuda:1", "cuda:0", why)])
    found = made(run)
    one_way = grid(found, "One way")
    assert cell(one_way, "write, copy engine", "cuda:0", "cuda:1").state == "failed"
    left_out = cell(one_way, "write, copy engine", "cuda:1", "cuda:0")
    assert (left_out.state, left_out.detail) == ("skipped", why)
    paths = grid(found, "Who reaches whom")
    assert cell(paths, "", "cuda:0", "cuda:1").text == "PCIe"
    assert cell(paths, "", "cuda:1", "cuda:0").state == "missing"


@pytest.mark.parametrize("language", LANGUAGES)
def test_eight_devices_fit_eighty_columns(synthetic: ModuleType, synthetic_peers: ModuleType, language: str) -> None:
    from rich.cells import cell_len

    run = synthetic.run(synthetic_peers.whole(8, sizes=[MIB]))
    with speaking(language):  # type: ignore[arg-type]
        out = io.StringIO()
        terminal.write(runs_document([run]), out, width=80)
    lines = out.getvalue().splitlines()
    assert max(map(cell_len, lines)) <= 80
    # No matrix is cut into several.
    rows = [line for line in lines if line.startswith("cuda:7")]
    assert len([row for row in rows if len(row.split()) == 8]) >= 9


def test_the_page_has_matrices_and_curves(synthetic: ModuleType, synthetic_peers: ModuleType) -> None:
    out = io.StringIO()
    html.write(runs_document([synthetic.run(synthetic_peers.whole(2, sizes=[4 * KIB, MIB]))]), out)
    page = out.getvalue()
    for text in (
        "Who reaches whom, and by what",
        "NV18",
        "Rate against size, cuda:0 to cuda:1",
        "Latency of one access",
    ):
        assert text in page


def test_a_glance_has_a_line_for_each_kind_of_path(synthetic: ModuleType, synthetic_peers: ModuleType) -> None:
    def rate(method: str, source: str, to: str) -> float:
        return 20.0 if "cuda:2" in (source, to) else 390.0 if source == "cuda:0" else 380.0

    def joined(case: Case) -> Case:
        by_host = "cuda:2" in (case.target, case.peer) and case.path
        return msgspec.structs.replace(case, path="host SYS") if by_host else case

    cases = [joined(case) for case in synthetic_peers.whole(3, rate)]
    found = glance(synthetic.run(cases))
    assert found
    (shown,) = found.grids
    rows = {row.heading: [cell.text for cell in row.cells] for group in shown.groups for row in group.rows}
    assert rows == {
        "NV18, 2 pairs": ["380", "380", "768", "380", "830"],
        "host, 4 pairs": ["20.0", "20.0", "39.4", "20.0", "830"],
    }
