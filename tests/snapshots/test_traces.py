"""What is said of programs: traces, advice on them, and what `isthmus accelerate` did for them."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache

import pytest
from syrupy.assertion import SnapshotAssertion

from isthmus.advice import Advice, advise
from isthmus.document.document import Document
from isthmus.ledger import Counts, Moved
from isthmus.record import KIB, MIB, Run
from isthmus.report.acceleration import acceleration_document
from isthmus.report.advice import advice_document
from isthmus.report.trace.document import trace_document
from isthmus.trace import Copies, Trace
from tests.made_traces import empty_trace, made_advice, made_trace
from tests.snapshots.documents import abridged, in_format, on_terminal
from tests.synthetic import batching, breakeven, managed, runs, strided
from tests.synthetic.traces import Program

HOST, HOST_OUT, DEVICE = (0x1000_0000_0000 * place for place in range(1, 4))


@cache
def priced() -> Run:
    return runs.run(
        [*breakeven.everything(), *batching.h200_cases(), *strided.h200_cases(), *managed.cases()], name="prices"
    )


@cache
def advised() -> tuple[Trace, Advice]:
    """Large copies of pageable memory that are waited for, and thousands of small ones."""
    program = Program()
    for _ in range(20):
        program.copy(64 * MIB, 6e-3, kind="pageable", host=HOST, device=DEVICE)
        program.kernel(1e-3)
        program.copy(64 * MIB, 1.2e-3, kind="pinned", direction="d2h", host=HOST_OUT, device=DEVICE)
    for piece in range(2000):
        program.copy(4 * KIB, 6e-6, kind="pinned", host=HOST + 8 * KIB * piece, device=DEVICE + 4 * KIB * piece)
    trace = program.trace()
    return trace, advise([trace], priced())


COUNTS = Counts(
    processes=2,
    moved=[
        Moved("h2d", 26, 40, 40 * 64 * MIB, 0.05, 4, 4 * 64 * MIB, 0.02),
        Moved("d2h", 24, 10, 10 * 16 * MIB, 0.004),
    ],
    left={"small": (300, 300 * KIB), "not_pageable": (12, 12 * MIB)},
    checked=50,
    queued=(3, 192 * MIB),
    plain={"off": 1},
    failures=["out of memory"],
)
NOTHING = replace(made_advice(), findings=(), gain_seconds=None)
DOCUMENTS: Mapping[str, Callable[[], Document]] = {
    "trace": lambda: trace_document(made_trace(), made_advice()),
    "trace-empty": lambda: trace_document(empty_trace()),
    "advice": lambda: advice_document(made_advice(), [made_trace()]),
    "advice-all": lambda: advice_document(made_advice(), [made_trace()], everything=True),
    "advice-program": lambda: advice_document(advised()[1], [advised()[0]], everything=True),
    "advice-torch": lambda: advice_document(made_advice(), [made_trace()], "torch", everything=True),
    "advice-nothing": lambda: advice_document(NOTHING, [made_trace()]),
    "advice-unseen": lambda: advice_document(replace(NOTHING, unseen=("7 copies were lost.",)), [made_trace()]),
    "advice-no-copies": lambda: advice_document(
        replace(NOTHING, unseen=("Lost calls: 5.",)), [replace(made_trace(), copies=Copies.empty(), notes=("None.",))]
    ),
    "advice-elsewhere": lambda: advice_document(
        replace(made_advice(), priced_elsewhere="The rates are of another machine."), [made_trace()]
    ),
    "accelerated": lambda: acceleration_document(COUNTS, "python"),
}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_program(name: str, text_file: SnapshotAssertion, json_file: SnapshotAssertion) -> None:
    document = DOCUMENTS[name]()
    assert on_terminal(document) == text_file
    assert abridged(in_format(document, "json")) == json_file


@pytest.mark.parametrize("name", ["csv", "chrome"])
def test_a_trace_for_other_programs(name: str, text_file: SnapshotAssertion) -> None:
    text = in_format(trace_document(made_trace()), name)
    assert (abridged(text) if name == "chrome" else text) == text_file
