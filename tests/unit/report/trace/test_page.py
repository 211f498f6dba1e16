"""The picture of a trace: lanes, what they hold one by one, and a page that stays small."""

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
from tests.made_traces import FIRST_NS, MS, made_advice, made_trace


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


def test_lanes_are_of_each_device_and_thread() -> None:
    assert [lane.name for lane in lanes_of(made_trace()).lanes] == [
        "device 0: copy H2D pageable",
        "device 0: copy H2D pinned",
        "device 0: copy D2H pinned",
        "device 0: kernels",
        "device 0: memset",
        "device 0: Idle",
        "device 1: migration H2D, by faults",
        "device 1: kernels",
        "device 1: Idle",
        "100 thread 70: calls",
    ]


def test_records_are_there_one_by_one() -> None:
    lanes = lanes_of(made_trace())
    pageable = lanes.lanes[0]
    assert (pageable.start, pageable.lasted) == ([10 * MS, 30 * MS], [10 * MS, 10 * MS])
    assert (pageable.bytes, pageable.busy) == ([100_000_000, 100_000_000], [])
    texts = list(lanes.texts)
    assert texts[pageable.told[0]] == "cudaMemcpy; stream 7; train.py:42 step"
    idle = next(lane for lane in lanes.lanes if lane.name == "device 0: Idle")
    assert idle.start == [0, 20 * MS, 54 * MS, 57 * MS, 61 * MS]


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


def test_the_page_asks_for_nothing_and_packs_every_lane() -> None:
    page = page_of(made_trace())
    assert "http" not in re.sub(r'http-equiv="Content', "", page)
    (timeline,) = drawn(page)
    assert timeline["span"] == 100 * MS
    assert len(timeline["lanes"]) == 10


def test_advice_on_several_traces_shows_each() -> None:
    out = io.StringIO()
    write(advice_document(made_advice(), [made_trace(), many(3)]), "html", out)
    assert len(drawn(out.getvalue())) == 2
    assert re.findall(r'data-lanes="(\d)"', out.getvalue()) == ["0", "1"]
