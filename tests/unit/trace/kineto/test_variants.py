"""What other writers of the format do: times as text or before zero, ends apart, ranges; and slices of any length."""

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from isthmus.trace.columns import UNKNOWN
from isthmus.trace.kineto import slices
from isthmus.trace.kineto.reader import read_kineto
from tests.unit.trace.kineto.events import PID, THREAD, call, copy, event, on_device, read


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "trace.json"


def test_times_may_be_texts_and_before_zero(path: Path) -> None:
    trace = read(path, call(-19_000.5), copy("-18990.25"), {**on_device("kernel", "add", "10"), "dur": "7.5"})
    assert trace.calls.start_ns.tolist() == [-19_000_500]
    assert trace.copies.start_ns.tolist() == [-18_990_250]
    assert trace.kernels.end_ns.tolist() == [17_500]
    assert not trace.notes
    # In a file whose clock counts from 1970 they are damage.
    trace = read(path, copy(1695835572943613), copy(-5))
    assert trace.copies.start_ns.tolist() == [1695835572943613000]
    assert trace.notes == ("Left out 1 records, whose times are missing or cannot be.",)


def test_beginnings_and_ends_are_joined(path: Path) -> None:
    def apart(whole: dict[str, Any]) -> list[dict[str, Any]]:
        begin = {key: value for key, value in whole.items() if key != "dur"} | {"ph": "B"}
        return [begin, {"ph": "E", "pid": whole["pid"], "tid": whole["tid"], "ts": whole["ts"] + whole["dur"]}]

    outer, inner = {**call(100), "dur": 20}, {**call(102, "cuMemcpyHtoDAsync_v2"), "dur": 10}
    begin, end = apart(outer)
    trace = read(path, begin, *apart(inner), end, *apart(copy(110)), end, {**begin, "tid": 9})
    assert trace.calls.lasted_ns.tolist() == [20_000, 10_000]
    assert trace.copies.lasted_ns.tolist() == [5000]
    assert trace.copies.call.tolist() == [0]
    assert trace.notes == ("Left out 2 events, whose beginning or end is missing.",)


def test_threads_below_zero_are_kept_apart(path: Path) -> None:
    threads = [{**call(100 + place), "tid": number} for place, number in enumerate((-1, -7, -1, 7))]
    numbers = read(path, *threads).calls.thread.tolist()
    assert numbers[0] == numbers[2]
    assert len(set(numbers)) == 3
    assert UNKNOWN not in numbers


def test_what_a_program_named_is_read_as_ranges(path: Path) -> None:
    steps = [event("user_annotation", f"ProfilerStep#{step}", 100 * step, {}, pid=PID, tid=THREAD) for step in (1, 2)]
    trace = read(path, call(), *steps)
    assert [trace.range_names[name] for name in trace.ranges.name] == ["ProfilerStep#1", "ProfilerStep#2"]
    assert trace.ranges.start_ns.tolist() == [100_000, 200_000]
    assert trace.ranges.process.tolist() == [0, 0]


def test_large_files_are_parsed_in_slices_whatever_their_length(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All but the beginning and the end: a file whose first chunks made a whole slice went to the slow parser."""
    read(path, *(copy(110 + number, correlation=number) for number in range(3000)))
    for size in (1000, 65_536, 100_000):
        monkeypatch.setattr(slices, "SLICE_BYTES", size)
        batches = [events for section, events in slices.Slices(path) if section == "traceEvents"]
        assert sum(map(len, batches)) == 3000
        singly = sum(len(events) for events in batches if len(events) == 1)
        assert singly * 200 < 2 * size + 65_536


def test_slices_give_what_the_thorough_parser_gives(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    generator = random.Random(5)
    odd: list[Any] = [None, 5, {"ph": "X", "args": [{"a": 1}, {"b": "}, {"}]}, {"ph": "X", "name": "\ud800"}]
    events: list[Any] = []
    for number in range(400):
        moment = 1695835572943613 + number + generator.choice([0, 0.125])
        events += [call(moment, correlation=number), copy(moment, correlation=number)]
        events += [generator.choice(odd)] if number % 50 == 0 else []
    whole = read(path, *events)
    monkeypatch.setattr(slices, "SLICE_BYTES", 700)
    sliced = read_kineto(path)
    assert len(whole.copies) == 400
    for table in ("copies", "calls"):
        for name, column in vars(getattr(whole, table)).items():
            assert np.array_equal(column, getattr(getattr(sliced, table), name)), (table, name)


def test_calls_without_a_device_say_what_to_record(path: Path) -> None:
    assert "what devices did" in read(path, call(), call(200)).notes[0]
    assert not read(path, call(), copy()).notes
    # Of others torch records calls alone.
    other = {**call(name="enqueueCommand memcpyHtoDAsync"), "cat": "mtia_runtime"}
    assert not read(path, other).notes


def test_events_of_unknown_devices_are_named(path: Path) -> None:
    other = {**call(name="dma_request"), "cat": "mtia_ccp_events"}
    (note,) = read(path, {**call(name="memcpyHtoDAsync"), "cat": "mtia_runtime"}, other).notes
    assert note == "What devices did is in events that are not read: mtia_ccp_events."
