"""What each experiment measures and leaves out, with the reason: on a GPU that can do everything and on others.

A line is what several cases share and every value of the rest: all combinations of a line are measured.
"""

import importlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from types import ModuleType
from typing import Any, NamedTuple, TypeAlias

import pytest
from syrupy.assertion import SnapshotAssertion

from isthmus import _native
from isthmus.experiment.engine.batch import Planned
from isthmus.experiment.engine.options import Options
from isthmus.experiment.openacc.build import Compiler
from isthmus.machine.devices import open_device
from isthmus.record import GIB, KIB, MIB, PARAMETERS, Case, Device, NumaNode, case_key, format_bytes
from isthmus.registry import MEASURED
from tests.synthetic import runs

Row: TypeAlias = tuple[frozenset[object], ...]
CARDS = [runs.gpu(index=index, name="GPU", pci_address=f"0000:0{index + 1}:00.0") for index in range(3)]
NODES = [NumaNode(id=0, cpus="0-7", memory_bytes=64 * GIB), NumaNode(id=1, cpus="8-15", memory_bytes=64 * GIB)]
HOST = Device(backend="host", index=0, name="CPU", memory_bytes=64 * GIB, shares_host_memory=True)
COMPILER = Compiler("/opt/nvc++", "nvc++ 24.5", {"": (), "_managed": ()})
# Follow from others.
DERIVED = ("experiment", "compiler")
OF_PIECES = ("bytes", "moved_bytes")
ABILITIES = ("why_no_prefetch", "why_no_advice", "why_no_reach", "why_no_migration")

CHOSEN = Options(
    *("quick", [64 * KIB, 3 * MIB], ["pinned"], ["d2h"]),
    alignment_bytes=64,
    sides=[64],
    halos=[2],
    threads=[1, 3, 96],
    together=True,
)


class Plan(NamedTuple):
    options: Options = Options("quick")
    device: Device = CARDS[0]
    memory_bytes: int = 256 * GIB
    lacks: Collection[str] = ()


PLANS: Mapping[str, Plan] = {
    "quick": Plan(),
    "default": Plan(Options()),
    "full": Plan(Options("full")),
    "host": Plan(Options(), HOST),
    "chosen": Plan(CHOSEN),
    "little": Plan(memory_bytes=4 * MIB),
    "little-host": Plan(device=HOST, memory_bytes=4 * MIB),
    "unable": Plan(lacks=(*ABILITIES, "kernels_reach")),
    "no-kinds": Plan(lacks=("why_not", "why_no_doubles")),
}


@pytest.fixture
def plan(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Plan:
    """On a machine of three cards, two NUMA nodes and 16 processors, whatever there is."""
    plan = PLANS[request.param]
    for why in ("why_not", "why_no_doubles", *ABILITIES):
        reason = f"{why} says so" if why in plan.lacks else None
        monkeypatch.setattr(_native.Device, why, lambda *_, reason=reason: reason)
    monkeypatch.setattr(_native.Device, "kernels_reach", lambda *_: "kernels_reach" not in plan.lacks)
    monkeypatch.setattr(_native.Device, "free_bytes", lambda _: min(139 * GIB, plan.memory_bytes))
    monkeypatch.setattr(_native, "allowed_processors", lambda: 16)
    known = {
        "neighbours": lambda own: [own] if own == HOST else CARDS,
        "read_numa_nodes": lambda: NODES,
        "find_compiler": lambda: COMPILER,
    }
    for experiment in MEASURED:
        for name, known_by in known.items():
            monkeypatch.setattr(module(experiment.name), name, known_by, raising=False)
    return plan


def module(experiment: str) -> ModuleType:
    return importlib.import_module(f"isthmus.experiment.{experiment}.cases")


def cases_of(experiment: str, plan: Plan) -> Iterator[Case]:
    """Templates of what would be measured, as far as is known before memory is got, and what is skipped."""
    device = open_device("host")._replace(description=plan.device)
    planned: Planned = module(experiment).plan(device, plan.options, plan.memory_bytes)
    for batch in planned.batches:
        # First calls of memory, which are made in a process of their own, are cases once they were made.
        with suppress(AttributeError, IndexError):
            yield from (case for case in batch.prepare.args[1] if isinstance(case, Case))  # type: ignore[attr-defined]
    yield from planned.skipped


def shown(name: str, value: object) -> str:
    if value is None:
        return "-"
    return format_bytes(value) if name.endswith("bytes") and isinstance(value, int) else str(value)


def field(name: str, values: frozenset[Any]) -> str:
    ordered = sorted(values, key=lambda value: (value is not None, value))
    return f"{name} {', '.join(shown(name, value) for value in ordered)}"


def lines(cases: Iterable[Case]) -> list[str]:
    """What differs in one field alone is merged, field after field, from the one with most values on."""
    fields = [name for name in (*PARAMETERS, "moved_bytes", "note") if name not in DERIVED]
    rows: set[Row] = {
        tuple(frozenset([None if name in OF_PIECES and case.width_bytes else getattr(case, name)]) for name in fields)
        for case in cases
    }
    for at in sorted(range(len(fields)), key=lambda at: -len({row[at] for row in rows})):
        merged: dict[Row, frozenset[object]] = {}
        for row in rows:
            rest = row[:at] + row[at + 1 :]
            merged[rest] = merged.get(rest, frozenset()) | row[at]
        rows = {(*rest[:at], values, *rest[at:]) for rest, values in merged.items()}
    return sorted(
        "; ".join(field(name, values) for name, values in zip(fields, row, strict=True) if values - {"", None})
        for row in rows
    )


@pytest.mark.parametrize("plan", PLANS, indirect=True)
@pytest.mark.parametrize("experiment", [each.name for each in MEASURED])
def test_a_plan(experiment: str, plan: Plan, text_file: SnapshotAssertion) -> None:
    every = list(cases_of(experiment, plan))
    assert len(set(map(case_key, every))) == len(every), "each case once"
    assert "".join(f"{line}\n" for line in lines(every)) == text_file
