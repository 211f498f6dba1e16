"""The picture of a trace: very many records, several traces, and a page that stays small."""

import base64
import gzip
import io
import json
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from isthmus.report import write
from isthmus.report.advice import advice_document
from isthmus.report.trace.document import trace_document
from isthmus.report.trace.lanes import MOST_SINGLE, lanes_of
from isthmus.trace import Copies, Trace
from tests.made_traces import FIRST_NS, made_advice, made_trace


def page_of(trace: Trace) -> str:
    out = io.StringIO()
    write(trace_document(trace), "html", out)
    return out.getvalue()


def drawn(page: str) -> Any:
    """What the page's script unpacks."""
    (packed,) = re.findall(r'<script id="timelines"[^>]*>([^<]+)</script>', page)
    return json.loads(gzip.decompress(base64.b64decode(packed)))


def many(count: int) -> Trace:
    """So many copies of 1 us, one every 2 us, the last of 4 us."""
    start = FIRST_NS + np.arange(count) * 2000
    lasted = np.full(count, 1000)
    lasted[-1] = 4000
    zeros = np.zeros(count, np.int64)
    copies = Copies.filled(
        start_ns=start, end_ns=start + lasted, bytes=zeros + 64, direction=zeros, device=zeros, process=zeros
    )
    return replace(made_trace(), copies=copies)


def test_very_many_records_are_the_longest_and_shares() -> None:
    trace = many(100_000)
    lanes = lanes_of(trace)
    copies = lanes.lanes[0]
    assert copies.records == 100_000
    assert max(copies.lasted) == 4000
    assert sum(len(lane.start) for lane in lanes.lanes) <= MOST_SINGLE
    assert set(copies.busy[:-5]) == {128}
    assert copies.start == sorted(copies.start)


@pytest.mark.thorough
def test_the_page_is_of_bounded_size() -> None:
    assert len(page_of(many(400_000))) < 1.5 * len(page_of(many(100_000)))
    assert len(page_of(many(400_000))) < 1 << 20


def test_advice_on_several_traces_shows_each() -> None:
    out = io.StringIO()
    write(advice_document(made_advice(), [made_trace(), many(3)]), "html", out)
    assert len(drawn(out.getvalue())) == 2
    assert re.findall(r'data-lanes="(\d)"', out.getvalue()) == ["0", "1"]
