"""Reads the files of `isthmus trace`."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from isthmus.errors import TraceFileError
from isthmus.trace.columns import FAULTS, UNKNOWN, Allocations, Calls, Copies, Faults, Integers, Intervals, Windows
from isthmus.trace.isthmus.blocks import RECORDS, Block, Kind, blocks, texts
from isthmus.trace.isthmus.records import (
    MEMORY,
    Indices,
    Records,
    blocking,
    given_back,
    in_order,
    migrated,
    sound,
    timed_copies,
    waits,
)
from isthmus.trace.isthmus.untimed import Reported, Waits, unreported_copies
from isthmus.trace.recorded import ACCELERATED, WHOLE_GRAPH, call_name, looked_up, places_of
from isthmus.trace.trace import Knowledge, Process, Site, Trace

_VERSION = "1"
_MOST_PROCESSES = 100_000
# As the recorder's flags say what it recorded beyond what it always does.
_FLAGS: dict[int, tuple[Knowledge, ...]] = {1: ("call_sites",), 2: ("contents",), 4: ("migrations", "faults")}
_WITHOUT_KERNELS = 8
_ALWAYS: tuple[Knowledge, ...] = ("calls", "kernels", "synchronizations", "addresses", "allocations")
# What a recorder lacked, as it numbers it.
_LACKS = {
    1: "the disk was full",
    2: "the limit on the size of files was reached (ulimit -f)",
    3: "its file could not be opened any more, as when privileges or the folder are given up",
    4: "memory, address space or file descriptors ran out for a while (ulimit -v, ulimit -n)",
}
# Kinds of records that say nothing of what a process did.
_SAYS_NOTHING = ("process", "text", "device", "note")
# CUPTI's counters of faults, in the order of the model's.
_CPU_FAULTS = 3
_FAULTS = {_CPU_FAULTS + place: place for place in range(len(FAULTS))}


def read_isthmus(path: Path) -> Trace:
    """The trace in a file of `isthmus trace`, also of a program that was killed or still runs.

    Raises TraceFileError for a file that is unreadable, of a newer format or none of these. Blocks and records that
    cannot be right are left out; `Trace.notes` tells of it.
    """
    notes: list[str] = []
    file = _File(path, notes)
    calls = sound(file.records("call"), notes, "calls")
    call_process, call_correlation = calls["process"], calls["correlation"]

    def called(records: Records) -> Integers:
        return places_of(records["process"], records["correlation"], call_process, call_correlation)

    operands = file.records("operands")
    names = Indices(file.text)
    kernels, memsets = (
        sound(file.records(kind), notes, words) for kind, words in (("kernel", "kernels"), ("memset", "fills"))
    )
    call_names = names.of(call_process, calls["name"], call_name)
    kernel_names = names.of(kernels["process"], kernels["name"])
    waiting, awaited = waits(call_names, names)
    timed = timed_copies(sound(file.records("copy"), notes, "copies"), operands)
    ended = np.array([process["ended_ns"] > 0 for process in file.processes] or [True])
    waited = Waits(*(calls[name][waiting] for name in Waits._fields))
    got = sound(file.records("allocation"), notes, "allocations")
    kind = looked_up(got["memory"], MEMORY)
    allocations = Allocations.filled(got, call=called(got), bytes=given_back(got), kind=kind)
    ours = [place for place, name in enumerate(names.all) if name.endswith(ACCELERATED)]
    accelerated = np.isin(call_names, ours)
    # Devices tell of the parts, and the call of the copy.
    parts = np.append(accelerated, False)[called(timed)]
    timed = {name: column[~parts] for name, column in timed.items()}
    estimates: list[str] = []
    is_graph = kernel_names == (names.all.index(WHOLE_GRAPH) if WHOLE_GRAPH in names.all else UNKNOWN - 1)
    graphs = {name: column[is_graph] for name, column in kernels.items()}
    reports = Reported(timed, kernels, graphs)
    unreported = unreported_copies(reports, operands, calls, waited, allocations, ended, accelerated, estimates)
    copies = in_order([timed, unreported, migrated(sound(file.records("migration"), notes, "migrations"))])
    work = file.records("host_work")
    of_copy = places_of(copies["process"], copies["correlation"], work["process"], work["correlation"])
    for name in ("system_ns", "faults", "running_ns"):
        copies[name] = np.where(of_copy == UNKNOWN, UNKNOWN, np.append(work[name], UNKNOWN)[of_copy])
    called_for = called(copies)
    del copies["correlation"]
    faults = sound(file.records("fault"), notes, "faults")
    windows = sound(file.records("window"), notes, "windows")
    sites = Indices(file.text)
    call_sites = sites.of(call_process, calls["site"])
    return Trace(
        path=path,
        maker="isthmus",
        version=_VERSION,
        processes=tuple(file.process(index) for index in range(file.shown)),
        devices=file.devices(),
        names=names.all,
        copies=Copies(**copies, call=called_for),
        calls=Calls.filled(calls, name=call_names, site=call_sites, blocking=blocking(calls, operands)),
        kernels=Intervals.filled(kernels, call=called(kernels), name=kernel_names),
        memsets=Intervals.filled(memsets, call=called(memsets)),
        synchronizations=Intervals.filled(
            {name: column[waiting] for name, column in calls.items()}, call=waiting, name=awaited
        ),
        knows=file.knowledge() - ({"addresses"} if operands["process"].size == 0 < timed["process"].size else set()),
        allocations=allocations,
        faults=Faults.filled(
            faults,
            kind=looked_up(faults["counter"], _FAULTS),
            device=np.where(faults["counter"] == _CPU_FAULTS, UNKNOWN, faults["device"]),
        ),
        sites=tuple(_frames(site) for site in sites.all),
        windows=Windows(**windows),
        notes=(*notes, *estimates, *file.noticed(), *file.lacks()),
        lost=(*notes, *file.lacks()),
    )


def _frames(site: str) -> Site:
    return tuple(site.split("\n"))


def _silent(all_blocks: Sequence[Block]) -> set[int]:
    """Those without any records, where others have their process id.

    In one process each recorder writes a part, and a driver's OpenCL loads that of CUDA, too, which tells of nothing.
    Parts that both tell something stay apart: what the process became by an exec, and devices and streams of CUDA and
    OpenCL, which are numbered each in its own way.
    """
    telling = {block.process for block in all_blocks if block.kind not in _SAYS_NOTHING}
    pids = {block.pid for block in all_blocks if block.process in telling}
    return {block.process for block in all_blocks if block.process not in telling and block.pid in pids}


class _File:
    """All blocks of a file by their kinds, with the processes that wrote them."""

    def __init__(self, path: Path, notes: list[str]) -> None:
        self._found: dict[Kind, list[tuple[int, Any]]] = defaultdict(list)
        self._pids: list[int] = []
        self.text: dict[tuple[int, int], str] = {}
        self.processes: list[Any] = []
        all_blocks = list(blocks(path, notes))
        silent = _silent(all_blocks)
        places: dict[int, int] = {}
        for block in sorted(all_blocks, key=lambda block: block.process in silent):
            place = places.setdefault(block.process, len(places))
            if place == len(self.processes):
                if place == _MOST_PROCESSES:
                    raise TraceFileError(f"{path}: more than {_MOST_PROCESSES} processes are no trace of one program")
                self._pids.append(block.pid)
                self.processes.append(np.zeros((), RECORDS[1][1]))
                self.processes[place]["rank"] = UNKNOWN
            if block.kind == "text":
                self.text.update(((place, index), text) for index, text in texts(block))
            elif block.kind == "process":
                self.processes[place] = block.records[0]
            elif block.kind != "device" or block.process not in silent:
                self._found[block.kind].append((place, block.records))

        # The silent ones come last, and only remarks tell of them.
        self.shown = len(places) - len(silent)

    def records(self, kind: Kind) -> Records:
        """All records of one kind as columns, with ``process``; numbers that no 63 bits hold are UNKNOWN."""
        of_kind = self._found[kind]
        fields = next(fields for name, fields in RECORDS.values() if name == kind)
        columns: Records = {}
        for name in fields.names or ():
            parts = [records[name].astype(np.int64) for _, records in of_kind]
            columns[name] = np.concatenate(parts) if parts else np.zeros(0, np.int64)
        sizes = [np.full(records.size, place, np.int64) for place, records in of_kind]
        columns["process"] = np.concatenate(sizes) if sizes else np.zeros(0, np.int64)
        return columns

    def process(self, place: int) -> Process:
        record = self.processes[place]
        rank = int(record["rank"])
        return Process(self._pids[place], self.text.get((place, int(record["name"])), ""), rank if rank >= 0 else None)

    def devices(self) -> dict[int, str]:
        columns = self.records("device")
        rows = zip(columns["process"].tolist(), columns["index"].tolist(), columns["name"].tolist(), strict=True)
        return {index: self.text.get((process, name), "") for process, index, name in rows}

    def knowledge(self) -> frozenset[Knowledge]:
        known: set[Knowledge] = set(_ALWAYS)
        for flag, words in _FLAGS.items():
            if self.shown and all(int(process["flags"]) & flag for process in self.processes[: self.shown]):
                known.update(words)
        in_windows = set(sound(self.records("window"), [], "windows")["process"].tolist())
        lacking = (int(process["flags"]) & _WITHOUT_KERNELS for process in self.processes[: self.shown])
        if any(lacks and place not in in_windows for place, lacks in enumerate(lacking)):
            known.discard("kernels")
        return frozenset(known)

    def noticed(self) -> Iterator[str]:
        """What the recorder noticed, each once."""
        if (self.records("operands")["content"] != 0).any():
            yield "What was copied was hashed, between the calls: that time is in the program's, and it took longer."
        columns = self.records("note")
        texts = zip(columns["process"].tolist(), columns["text"].tolist(), strict=True)
        yield from dict.fromkeys(self.text.get((process, text), "") for process, text in texts if text)

    def lacks(self) -> Iterator[str]:
        """Whose trace is not whole."""
        for place, process in enumerate(self.processes):
            pid = self._pids[place]
            if process["lack"]:
                lack = _LACKS.get(int(process["lack"]), "the recorder could not write")
                yield f"Process {pid}: {lack}; {int(process['dropped'])} records or more are missing."
            elif process["dropped"]:
                yield f"Process {pid}: {int(process['dropped'])} records were lost."
            if not process["ended_ns"]:
                yield (
                    f"Process {pid} was killed, ended without its exit handlers or within a call of CUDA, or still "
                    "runs: what devices did in its last 0.1 s may be missing."
                )
