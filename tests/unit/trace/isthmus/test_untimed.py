"""Copies without times of their own: that all are read, of which memory they were, and when they probably were made."""

from pathlib import Path

import numpy as np
import pytest

from isthmus.trace import UNKNOWN, Allocations, Integers, direction_index, memory_index, open_trace
from isthmus.trace.isthmus.untimed import Columns, Waits, estimated_times
from isthmus.trace.live_memory import kinds_at
from tests.synthetic.trace_file import CALL, COPY, OPERANDS, TEXTS, text_block, whole

# A device begins 2 us after the call, and makes 4 KiB a microsecond.
DELAY, BYTES, LASTS = 2000, 65536, 16000


class Stream:
    """A device that makes the copies of one stream in their order; the truth that estimates are held against."""

    def __init__(self, every_ns: int, count: int) -> None:
        self.called = 1_000_000 + every_ns * np.arange(count)
        self.bytes = np.full(count, BYTES)
        self.start = np.zeros(count, np.int64)
        free = 0
        for place, called in enumerate(self.called.tolist()):
            self.start[place] = max(called + DELAY, free)
            free = self.start[place] + LASTS
        self.end = self.start + LASTS

    def calls(self) -> Columns:
        ends = self.called + 1000
        return self._columns(np.arange(ends.size)) | {"start_ns": self.called, "end_ns": ends, "thread": ends * 0 + 5}

    def copies(self, rows: Integers) -> Columns:
        return self._columns(rows) | {"start_ns": self.start[rows], "end_ns": self.end[rows]}

    def _columns(self, rows: Integers) -> Columns:
        same = {"process": 0, "device": 0, "stream": 7, "direction": 0, "source": 1, "destination": 2}
        return {name: np.full(rows.size, value) for name, value in same.items()} | {
            "correlation": rows + 1,
            "bytes": self.bytes[rows],
        }


NOTHING = {name: np.zeros(0, np.int64) for name in ("start_ns", "end_ns", "process", "device", "stream", "correlation")}


def waits(*stretches: tuple[int, int]) -> Waits:
    begins, ends = np.array(stretches, np.int64).reshape(-1, 2).T
    return Waits(np.zeros(begins.size, np.int64), np.full(begins.size, 5), begins, ends)


@pytest.mark.parametrize(
    ("every_ns", "near"), [(40_000, 1), (5000, 2 * LASTS)], ids=["device waits", "device is behind"]
)
def test_estimates_come_near_the_truth(every_ns: int, near: int) -> None:
    stream = Stream(every_ns, 1000)
    timed = np.flatnonzero((np.arange(1000) % 250) < 20)
    untimed = np.setdiff1d(np.arange(1000), timed)
    over = int(stream.end[-1])
    waited = waits((int(stream.called[-1]) + 1000, over + 500)) if every_ns < LASTS else waits()
    found = estimated_times(stream.copies(timed), NOTHING, stream.copies(untimed), stream.calls(), waited)
    assert np.abs(found["start_ns"] - stream.start[untimed]).max() <= near
    assert np.abs(found["end_ns"] - stream.end[untimed]).max() <= near


def test_a_copy_waits_for_the_kernel_before_it() -> None:
    stream = Stream(40_000, 30)
    timed, untimed = np.arange(20), np.arange(20, 30)
    begin = int(stream.called[25]) - 5000
    kernel = NOTHING | {name: np.array([0]) for name in ("process", "device")}
    kernel |= {"stream": np.array([7]), "correlation": np.array([99])}
    kernel |= {"start_ns": np.array([begin]), "end_ns": np.array([begin + 30_000])}
    found = estimated_times(stream.copies(timed), kernel, stream.copies(untimed), stream.calls(), waits())
    assert found["start_ns"][5] == begin + 30_000
    assert found["start_ns"][[0, 9]].tolist() == stream.start[[20, 29]].tolist()


def test_other_sizes_take_times_in_proportion() -> None:
    stream = Stream(100_000, 8)
    stream.bytes[4:] = [BYTES // 2, BYTES, 2 * BYTES, 4 * BYTES]
    timed = stream.copies(np.arange(4))
    timed["bytes"][0], timed["end_ns"][0] = BYTES // 4, timed["start_ns"][0] + LASTS // 4
    found = estimated_times(timed, NOTHING, stream.copies(np.arange(4, 8)), stream.calls(), waits())
    assert (found["end_ns"] - found["start_ns"]).tolist() == [LASTS // 2, LASTS, 2 * LASTS, 4 * LASTS]


def test_without_timed_copies_calls_tell_all_there_is() -> None:
    stream = Stream(100_000, 3)
    nothing = {name: column[:0] for name, column in stream.copies(np.arange(3)).items()}
    found = estimated_times(nothing, NOTHING, stream.copies(np.arange(3)), stream.calls(), waits())
    assert found["start_ns"].tolist() == stream.called.tolist()
    assert (found["end_ns"] - found["start_ns"]).tolist() == [1000] * 3


def test_untimed_copies_are_read_and_mistaken_records_left_out(tmp_path: Path) -> None:
    def call(correlation: int, at: int) -> dict[str, int]:
        return CALL | {"correlation": 10 + correlation, "start_ns": at, "end_ns": at + 20}

    def asked(correlation: int, timing: int, size: int = 4096) -> dict[str, int]:
        return OPERANDS | {"correlation": 10 + correlation, "timing": timing, "bytes": size, "device": 1, "stream": 7}

    def record(correlation: int, at: int, size: int = 4096) -> dict[str, int]:
        return COPY | {"correlation": 10 + correlation, "start_ns": at, "end_ns": at + 60, "bytes": size}

    path = tmp_path / "trace.itrace"
    path.write_bytes(
        whole(
            process=[{"started_ns": 1, "ended_ns": 9000, "name": 1}],
            call=[call(number, 1000 * number) for number in range(1, 7)],
            operands=[asked(1, 1), asked(2, 3), asked(3, 2), asked(4, 2, 64), asked(5, 2, 128), asked(6, 1)],
            # The record of 5 has the correlation of 4, and that of 3 the one of 1; 6 is on its way still.
            copy=[record(1, 1010), record(1, 3010), record(4, 5010, 128)],
        )
    )
    trace = open_trace(path)
    copies = trace.copies.taken(trace.copies.migration == 0)
    # Of 6 nothing is known: its device was asked, and the program has ended.
    assert copies.bytes.tolist() == [4096, 4096, 4096, 64, 128]
    assert copies.estimated.tolist() == [0, 1, 1, 1, 1]
    assert trace.calls.start_ns[copies.call].tolist() == [1000, 2000, 3000, 4000, 5000]
    assert set(copies.direction.tolist()) == {direction_index("h2d")}
    assert (set(copies.device.tolist()), set(copies.stream.tolist())) == ({1}, {7})
    # The source lies in what was got as pinned memory, until it was given back at 500: the first is the device's word.
    assert copies.source.tolist() == [memory_index("pinned")] + [memory_index("pageable")] * 4
    assert copies.lasted_ns[[1, 2]].tolist() == [60, 60]
    for words in ("1 of 5 copies came so fast", "3 of 5 copies have no time"):
        assert any(note.startswith(words) for note in trace.notes)


def test_copies_of_graphs_that_kernels_make_are_counted_where_no_kernels_are_recorded(tmp_path: Path) -> None:
    """Devices report what engines copy of each launch, and what kernels copy within a window alone."""
    kinds = {1: 4096, 8: 512, 2: 64}  # CUPTI's numbers of H2D, D2D and D2H, and a size for each
    # All copies of the first launch are reported, all but D2D of the second; the third reports what is not called for.
    reported = [(1, 1), (1, 8), (1, 2), (2, 1), (2, 2), (3, 1), (3, 1), (3, 8), (3, 2)]
    path = tmp_path / "trace.itrace"
    path.write_bytes(
        whole(
            process=[{"started_ns": 1, "ended_ns": 9000, "name": 1}],
            call=[CALL | {"correlation": n, "start_ns": 1000 * n, "end_ns": 1000 * n + 20} for n in (11, 12, 13)],
            operands=[
                OPERANDS
                | {"correlation": launch, "timing": 4, "bytes": size, "copy_kind": kind, "stream": 7}
                | {"source": 100 * kind, "destination": 100 * kind + 1}
                for launch in (11, 12, 13)
                for kind, size in kinds.items()
            ],
            copy=[
                COPY
                | {"correlation": 10 + launch, "copy_kind": kind, "bytes": kinds[kind]}
                | {"start_ns": 1000 * (10 + launch) + 100 * place, "end_ns": 1000 * (10 + launch) + 100 * place + 60}
                for place, (launch, kind) in enumerate(reported)
            ],
        )
    )
    copies = open_trace(path).copies
    copies = copies.taken(copies.migration == 0)
    counts = {name: int((copies.direction == direction_index(name)).sum()) for name in ("h2d", "d2d", "d2h")}
    assert counts == {"h2d": 4, "d2d": 3, "d2h": 3}
    (estimated,) = np.flatnonzero(copies.estimated == 1)
    assert copies.direction[estimated] == direction_index("d2d")
    for name, kind in (("h2d", 1), ("d2d", 8), ("d2h", 2)):
        mine = copies.taken(copies.direction == direction_index(name))
        assert set(mine.source_address.tolist()) <= {100 * kind, UNKNOWN}
        assert int((mine.source_address == UNKNOWN).sum()) == (1 if name == "h2d" else 0)


@pytest.mark.parametrize("named", ["the launch", "the call within"])
def test_copies_of_a_graph_that_was_reported_as_a_whole_are_within_it(tmp_path: Path, named: str) -> None:
    """Two launches, queued one behind the other; what comes to the host does so at the end."""
    kinds = {1: direction_index("h2d"), 2: direction_index("d2h")}
    begins = (20_000, 90_000)
    path = tmp_path / "trace.itrace"
    numbers = (11, 12) if named == "the launch" else (501, 502)
    path.write_bytes(
        whole(
            process=[{"started_ns": 1, "ended_ns": 900_000, "name": 1}],
            call=[CALL | {"correlation": n, "start_ns": 1000 * n, "end_ns": 1000 * n + 400} for n in (11, 12)],
            operands=[
                OPERANDS | {"correlation": n, "timing": 4, "bytes": 4096, "copy_kind": kind, "stream": 7}
                for n in (11, 12)
                for kind in kinds
            ],
            copy=[],
            kernel=[
                {"correlation": n, "start_ns": begin, "end_ns": begin + 50_000, "stream": 7, "name": 90}
                for n, begin in zip(numbers, begins, strict=True)
            ],
        )
        + text_block({**TEXTS, 90: "CUDA graph"})
    )
    copies = open_trace(path).copies
    copies = copies.taken(copies.migration == 0)
    assert set(copies.estimated.tolist()) == {1}
    sent, fetched = (copies.taken(copies.direction == kinds[kind]) for kind in kinds)
    assert sorted(sent.start_ns.tolist()) == list(begins)
    assert sorted(fetched.end_ns.tolist()) == [begin + 50_000 for begin in begins]


@pytest.mark.parametrize("reported", [[512], [64], [4096, 64], [777]], ids=str)
@pytest.mark.parametrize("correlation", [11, 99], ids=["its launch", "another call"])
def test_what_a_window_cut_off_of_a_launch_has_its_own_sizes(
    tmp_path: Path, reported: list[int], correlation: int
) -> None:
    """A window may end within a graph: some of its copies by kernels are reported, whichever they are."""
    sizes = [4096, 512, 64]
    path = tmp_path / "trace.itrace"
    path.write_bytes(
        whole(
            process=[{"started_ns": 1, "ended_ns": 9000, "name": 1}],
            call=[CALL | {"correlation": 11, "start_ns": 1000, "end_ns": 1020}],
            operands=[OPERANDS | {"correlation": 11, "timing": 4, "bytes": size, "copy_kind": 8} for size in sizes],
            copy=[
                COPY
                | {"correlation": correlation, "copy_kind": 8, "bytes": size}
                | {"start_ns": 1100 + 100 * place, "end_ns": 1160 + 100 * place}
                for place, size in enumerate(reported)
            ],
        )
    )
    copies = open_trace(path).copies
    copies = copies.taken(copies.migration == 0)
    # A record of a size that no copy of the graph has is still one of them.
    expected = [512, 64, 777] if reported == [777] else sorted(sizes)
    assert sorted(copies.bytes.tolist()) == sorted(expected)
    assert int((copies.estimated == 1).sum()) == len(sizes) - len(reported)


def test_a_copy_of_the_library_s_is_one_copy_with_the_time_of_its_call(tmp_path: Path) -> None:
    name = 90
    called = CALL | {"correlation": 11, "start_ns": 1000, "end_ns": 4000, "name": name}
    asked = OPERANDS | {"correlation": 11, "timing": 3, "bytes": 1 << 20, "device": 1, "stream": 7}
    # The parts that it was made in, of which the last was not timed.
    parts = [
        COPY | {"correlation": 11, "start_ns": at, "end_ns": at + 60, "bytes": 1 << 18} for at in (2000, 2500, 3000)
    ]
    path = tmp_path / "trace.itrace"
    process = [{"started_ns": 1, "ended_ns": 9000, "name": 1}]
    text = text_block({name: "cudaMemcpy_v3020, by isthmus accelerate"})
    path.write_bytes(whole(process=process, call=[called], operands=[asked], copy=parts) + text)
    trace = open_trace(path)
    copies = trace.copies.taken(trace.copies.migration == 0)
    assert copies.bytes.tolist() == [1 << 20]
    assert (copies.start_ns.tolist(), copies.end_ns.tolist()) == ([1000], [4000])
    assert trace.names[trace.calls.name[copies.call[0]]] == "cudaMemcpy, by isthmus accelerate"
    assert not any("estimated" in note for note in trace.notes)


def test_an_address_is_of_the_memory_that_was_there_then() -> None:
    pinned, managed = memory_index("pinned"), memory_index("managed")
    events = [
        # when, process, address, bytes, kind, whether given back
        (10, 0, 100, 50, pinned, 0),
        (20, 0, 400, 100, managed, 0),
        (30, 0, 100, 50, pinned, 1),
        (40, 0, 120, 10, managed, 0),
        (40, 1, 100, 50, managed, 0),
        (50, 0, 700, UNKNOWN, pinned, 1),
    ]
    columns = np.array(events, np.int64).T
    names = ("start_ns", "process", "address", "bytes", "kind", "release")
    allocations = Allocations.filled(end_ns=columns[0], **dict(zip(names, columns, strict=True)))
    asked = [
        (0, 120, 5, UNKNOWN),
        (0, 100, 15, pinned),
        (0, 149, 15, pinned),
        (0, 150, 15, UNKNOWN),
        (0, 450, 25, managed),
        (0, 120, 35, UNKNOWN),
        (0, 125, 60, managed),
        (1, 125, 60, managed),
        (2, 125, 60, UNKNOWN),
    ]
    process, address, moment, expected = np.array(asked, np.int64).T
    assert kinds_at(process, address, moment, allocations).tolist() == expected.tolist()


def test_times_and_sizes_that_cannot_be_cost_nothing_but_sense(tmp_path: Path) -> None:
    last = (1 << 62) - 1
    path = tmp_path / "trace.itrace"
    path.write_bytes(
        whole(
            call=[CALL | {"correlation": 10 + n, "start_ns": last - n, "end_ns": last} for n in range(99)],
            operands=[OPERANDS | {"correlation": 10 + n, "timing": 3, "bytes": 1 << 48} for n in range(1, 99)],
            copy=[COPY | {"correlation": 10, "start_ns": 1, "end_ns": 1 << 54, "bytes": 1}],
        )
    )
    copies = open_trace(path).copies
    untimed = copies.taken(copies.estimated == 1)
    assert len(untimed) == 98
    assert (untimed.start_ns >= last - 99).all()
    assert (untimed.start_ns <= untimed.end_ns).all()
    assert (untimed.end_ns <= last + 10**15).all()
