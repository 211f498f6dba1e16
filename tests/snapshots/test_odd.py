"""Reports of runs in which something is odd: ties, noise, wrong data, skips, and too little to conclude from."""

import pytest
from syrupy.assertion import SnapshotAssertion

from isthmus.report.runs import runs_document
from tests.snapshots.documents import charts, details, on_terminal
from tests.snapshots.odd_costs import ALLOCATION, BATCHING, BREAKEVEN, MANAGED, OVERLAP, STRIDED
from tests.snapshots.odd_machines import BANDWIDTH, MACHINE
from tests.snapshots.odd_places import LATENCY, OPENACC, PATHS, PEERS, STENCIL, THREADS

ODD = {
    f"{experiment}-{name}": made
    for experiment, every in {
        "allocation": ALLOCATION,
        "bandwidth": BANDWIDTH,
        "batching": BATCHING,
        "breakeven": BREAKEVEN,
        "latency": LATENCY,
        "machine": MACHINE,
        "managed": MANAGED,
        "openacc": OPENACC,
        "overlap": OVERLAP,
        "paths": PATHS,
        "peers": PEERS,
        "stencil": STENCIL,
        "strided": STRIDED,
        "threads": THREADS,
    }.items()
    for name, made in every.items()
}


@pytest.mark.parametrize("name", ODD)
def test_an_odd_run(name: str, text_file: SnapshotAssertion) -> None:
    document = runs_document([ODD[name]()])
    assert "\n".join([on_terminal(document), details(document), charts(document)]) == text_file
