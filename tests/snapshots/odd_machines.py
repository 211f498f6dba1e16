"""Runs in which something is odd, of bandwidth: kinds of memory that are slow or alike, machines that cost rate."""

from collections.abc import Mapping, Sequence
from typing import Any

from isthmus.record import GIB, KIB, MIB, Case, End, Host, Limits, Link, Memory, NumaNode, Placement, Run, Series
from tests.snapshots.odd_costs import Odd, replace, run
from tests.synthetic import runs
from tests.synthetic.runs import Key, Truth

PINNED: Key = ("copy", "h2d", "pinned")
PINNED_D2H: Key = ("copy", "d2h", "pinned")
PAGEABLE: Key = ("copy", "h2d", "pageable")
HUGE: Key = ("copy", "h2d", "pageable_huge")
TWO_NODES = Host(numa_nodes=[NumaNode(id=0, cpus="0-7"), NumaNode(id=1, cpus="8-15"), NumaNode(id=2)])
# Measured by others with bandwidthTest on PCIe 4.0 x16: every third size or so falls to a third of the rate.
ERRATIC = [9.40, 10.24, 10.30, 3.52, 10.53, 4.55, 10.66, 10.46, 3.39, 3.22, 3.23, 7.77, 10.47, 3.20, 10.27, 10.47]
ERRATIC += [3.23, 11.40, 9.36]


def _rates(rates: Mapping[Key, float | Truth], sizes: Sequence[int] = runs.POWERS, **of_run: Any) -> Run:
    truths = {key: rate if isinstance(rate, Truth) else Truth(8e-6, rate) for key, rate in rates.items()}
    return run(runs.cases(truths, sizes), **of_run)


def _pinned(*more: Case, **of_run: Any) -> Run:
    made = _rates({PINNED: 55e9, PINNED_D2H: 54e9}, **of_run)
    return replace(made, cases=[*made.cases, *more])


def _erratic() -> list[Case]:
    found = runs.cases({PINNED: Truth(0.0, 25.4e9, 0.001)}, runs.SEED_SWEEP)
    for size, rate in zip(runs.SEED_SWEEP, ERRATIC, strict=True):
        found += runs.cases({PAGEABLE: Truth(0.0, rate * 1e9, 0.001)}, [size])
    return found


def _both(rate: float, engines: int) -> Run:
    rates: dict[Key, float | Truth] = {PINNED: 50e9, PINNED_D2H: 50e9}
    both: dict[Key, float | Truth] = {("copy", "both", "pinned"): rate, ("duplex", "h2d", "pinned"): rate / 2}
    return _rates(rates | both, device=runs.gpu(copy_engines=engines))


def _elided() -> list[Case]:
    elided = runs.cases({PINNED: Truth(8e-6, 900e9)}, [2 * GIB], verified="no")
    good = runs.cases({PINNED: Truth(8e-6, 50e9)})
    return [*good, *(replace(case, note="first mismatch at byte 17") for case in elided)]


def _first_calls(experiment: str, samples: int) -> Run:
    """A case from which no experiment concludes anything."""
    series = [Series(metric="host_seconds", samples=[1e-3] * samples)]
    return run([Case(experiment=experiment, method="first_free", host_memory="pinned", bytes=MIB, series=series)])


BANDWIDTH: Odd = {
    "erratic": lambda: run(_erratic()),
    "alike": lambda: _rates({key: Truth(8e-6, 10e9, 0.02) for key in (PINNED, PAGEABLE)}),
    "repeats": lambda: _rates({PAGEABLE: Truth(8e-6, 10e9, 0.02, flips=(1.0, 1.0, 2.5))}, device=runs.cpu_device()),
    "cpu": lambda: _rates({PINNED: 20e9, PAGEABLE: 10e9}, device=runs.cpu_device()),
    "huge": lambda: _rates({PAGEABLE: Truth(0.0, 10e9), HUGE: Truth(0.0, 13e9)}),
    "huge-alike": lambda: _rates({PAGEABLE: Truth(0.0, 10e9), HUGE: Truth(0.0, 10e9)}),
    "mapped": lambda: _rates({PINNED: 50e9, ("kernel", "h2d", "mapped"): Truth(4e-6, 40e9)}),
    "managed": lambda: _rates({("prefetch", "h2d", "managed"): 30e9}),
    "both-ways": lambda: _both(90e9, 3),
    "turns": lambda: _both(50e9, 3),
    "one-engine": lambda: _both(50e9, 1),
    "sum": lambda: _rates({("copy", "both", "pinned"): 99e9}),
    "above-link": lambda: _rates({PINNED: 90e9}),
    "elided": lambda: run(_elided()),
    "failed": lambda: _pinned(
        *runs.skips(("copy", "h2d", "registered"), [MIB, 2 * MIB], "failed: cuMemHostRegister gave 719"),
        *runs.skips(("copy", "h2d", "managed"), [MIB], "this device has no managed memory"),
    ),
    "imprecise": lambda: _rates({PINNED: Truth(8e-6, 50e9, 0.001), PAGEABLE: Truth(8e-6, 9e9, 0.5)}),
    "library": lambda: _rates(
        {
            PAGEABLE: 5e9,
            ("isthmus", "h2d", "pageable"): 25e9,
            ("copy", "d2h", "untouched"): 2e9,
            ("isthmus", "d2h", "untouched"): 8e9,
        }
    ),
    "small": lambda: _rates({PINNED: 50e9}, [1, 2, 4, KIB]),
}

MACHINE: Odd = {
    "no-link": lambda: _pinned(device=runs.gpu(link=None)),
    "idle-link": lambda: _pinned(device=runs.gpu(link=Link(generation=1, width=16, max_generation=5, max_width=16))),
    "killed": lambda: _pinned(end=None),
    "interrupted": lambda: _pinned(end=End(status="interrupted", message="SIGTERM")),
    "unbound": lambda: _pinned(
        host=TWO_NODES, end=End(status="complete", placement=Placement(note="set_mempolicy is not permitted"))
    ),
    "one-node": lambda: _pinned(
        host=Host(numa_nodes=[NumaNode(id=0, cpus="0-7")]), end=End(status="complete", placement=Placement())
    ),
    "stray-pages": lambda: _pinned(
        host=TWO_NODES,
        end=End(
            status="complete",
            placement=Placement(
                bound_node=0, pages={"pageable": {"0": 0.25, "1": 0.75}, "pinned": {"0": 1.0}, "registered": {"1": 1.0}}
            ),
        ),
    ),
    "confidential-host": lambda: _pinned(host=Host(confidential="SEV-SNP guest")),
    "confidential-device": lambda: _pinned(device=runs.gpu(conditions={"confidential_computing": "on"})),
    "confidential-off": lambda: _pinned(device=runs.gpu(conditions={"confidential_computing": "off"})),
    "locked-memory": lambda: _pinned(
        *runs.skips(("copy", "h2d", "registered"), [4 * KIB, 16 * MIB, 32 * MIB], "out of memory"),
        host=Host(limits=Limits(locked_memory_bytes=8 * MIB)),
    ),
    "locked-enough": lambda: _pinned(host=Host(limits=Limits(locked_memory_bytes=8 * MIB))),
    "huge-pages-off": lambda: run(
        runs.skips(HUGE, [MIB], "switched off"), host=Host(memory=Memory(transparent_huge_pages="never"))
    ),
    "nothing": lambda: run([]),
    "skips": lambda: run(runs.skips(PINNED, [1, 2], "no memory")),
    "few-samples": lambda: _first_calls("allocation", 3),
    "no-answer": lambda: _first_calls("allocation", 12),
    "unknown-experiment": lambda: _first_calls("strides", 3),
}
