"""Runs in which something is odd, of what memory costs, of pieces and rows, of pipelines and of managed memory."""

from collections.abc import Callable, Mapping
from dataclasses import replace as changed

import msgspec
import numpy as np

from isthmus.experiment.managed.granularity import probes
from isthmus.record import GIB, KIB, MIB, Case, Faults, Run
from tests.synthetic import allocation, batching, breakeven, managed, migrations, overlap, runs, strided
from tests.synthetic.made import without

replace = msgspec.structs.replace
run = runs.run
Odd = Mapping[str, Callable[[], Run]]


def _of_kinds(*kinds: str) -> Run:
    return run([case for case in allocation.h200() if case.host_memory in kinds])


def _reserved() -> Run:
    """Pinned memory whose pages come when they are touched."""
    costs = dict(allocation.H200)
    costs["pinned", "allocate"] = costs["pinned", "free"] = allocation.Cost(15e-6)
    return run(allocation.cases(costs))


def _without_room() -> list[Case]:
    cost = allocation.Cost(1e-6)
    cases = allocation.cases({("pinned", "allocate"): cost, ("malloc", "allocate"): cost}, [KIB, MIB])
    cases = [case for case in cases if (case.host_memory, case.bytes) != ("pinned", MIB)]
    return [*cases, *allocation.skips("pinned", ["allocate"], [MIB], "over the limit")]


# The clock ticks in steps of what a call takes.
_TICKS = [1e-9, 1e-9, 56e-9, 28e-9, 1e-9, 56e-9, 56e-9, 28e-9]
_PHASES = ("allocate", "free")

ALLOCATION: Odd = {
    "no-choice": lambda: _of_kinds("malloc", "pinned", "registered"),
    "no-host": lambda: _of_kinds("device", "device_pool"),
    "tied": lambda: run(
        allocation.cases(
            {
                (way, phase): allocation.Cost(1e-3, 1e-4, noise=0.3)
                for way in ("pinned", "touched_registered")
                for phase in _PHASES
            }
        )
    ),
    "reserved": _reserved,
    "shared": lambda: run(allocation.h200(), device=runs.cpu_device()),
    "no-gain": lambda: run(
        allocation.cases({(kind, "touch"): allocation.Cost(1e-6, 3e-4) for kind in ("pageable", "pageable_huge")})
    ),
    "one-size": lambda: run(
        allocation.cases({("device", phase): allocation.Cost(1e-6) for phase in _PHASES}, sizes=[4 * KIB])
    ),
    "new-kind": lambda: run(allocation.cases({("some_new_kind", phase): allocation.Cost(1e-6) for phase in _PHASES})),
    "no-room": lambda: run([*_without_room(), allocation.case("malloc", "allocate", 16 * KIB, _TICKS)]),
    "failed": lambda: run(
        [
            Case(
                experiment="allocation",
                method="open_device",
                host_memory="",
                bytes=0,
                skipped=True,
                note="failed: gone",
            )
        ]
    ),
}


def _cheap() -> Run:
    memory = dict(breakeven.H200_MEMORY)
    memory["pinned", "allocate"] = breakeven.Cost(480e-6, 150e-3 / 2**30)
    memory["pinned", "free"] = breakeven.Cost(200e-6, 30e-3 / 2**30)
    return run(breakeven.breakeven(changed(breakeven.H200, memory=memory)))


BREAKEVEN: Odd = {
    "cheap": _cheap,
    "no-staging": lambda: run(breakeven.breakeven(ways=["pageable", "pinned", "registered"])),
    "small": lambda: run(breakeven.breakeven(sizes=[64 * KIB, MIB])),
    "one-way": lambda: run(breakeven.breakeven(ways=["pinned"], sizes=[MIB])),
    "unlike": lambda: run(breakeven.breakeven(ways=["staging", "mapped"], sizes=[MIB])),
    "unknown": lambda: run(
        [replace(case, host_memory="a_way_of_tomorrow") for case in breakeven.breakeven(ways=["staging"], sizes=[MIB])]
    ),
}


def _pieces(**costs: batching.Cost) -> list[Case]:
    return batching.cases(costs)


_LOOP, _PACK = batching.Cost(0, 2e-6, 55e9), batching.Cost(5e-6, 1e-8, 55e9)


_Time = Callable[[int, int], float]


def _jump() -> list[Case]:
    slow, fast = batching.Cost(0, 9e-6, 1e12), batching.Cost(0, 1e-6, 1e12)
    times: dict[str, _Time] = {
        "copies": slow,
        "batch": lambda size, pieces: (slow if size < 64 * KIB else fast)(size, pieces),
    }
    return batching.cases(times, [256, 4 * KIB, 64 * KIB], [16])


def _counts(*counts: int) -> list[Case]:
    times = {"copies": batching.Cost(5e-6, 2e-6, 1e13), "kernel": batching.Cost(3e-6, 0.1e-6, 1e13)}
    return batching.cases(times, [64], counts)


def _wrong_pieces() -> list[Case]:
    random = np.random.default_rng(1)
    times = {"copies": batching.Cost(0, 1e-6, 1e10), "pack": batching.Cost(1e-5, 0, 1e10)}
    return [
        *batching.cases(times, [64], [16, 65536]),
        batching.case("kernel", 64, 16, 1e-6, random, verified="no"),
        batching.case("kernel", 64, 65536, 1e-3, random),
    ]


def _one_cliff() -> list[Case]:
    smooth: dict[str, _Time] = {**batching.H200, "batch": batching.Cost(5e-6, 1e-6, 55e9)}
    return [*batching.cases(batching.H200), *batching.cases(smooth, direction="d2h")]


BATCHING: Odd = {
    "advice": lambda: run(
        [
            *_pieces(copies=batching.Cost(0, 2e-6, 5e10), graph=batching.Cost(1e-5, 1e-7, 5e10)),
            *batching.cases(
                {"copies": batching.Cost(0, 2e-6, 5e10), "graph": batching.Cost(0, 4e-6, 5e10)}, direction="d2h"
            ),
        ]
    ),
    "no-gain": lambda: run(_pieces(copies=batching.Cost(0, 1e-6, 5e10), pack=batching.Cost(0, 2e-6, 5e10))),
    "jump": lambda: run(_jump()),
    "no-batch": lambda: run(_pieces(copies=_LOOP, pack=_PACK)),
    "no-loop": lambda: run(_pieces(pack=_PACK, kernel=_PACK)),
    "one-method": lambda: run(_pieces(pack=_PACK)),
    "one-piece": lambda: run(batching.cases(batching.H200, [4 * KIB], [1])),
    "smooth": lambda: run(_pieces(copies=_LOOP, batch=batching.Cost(5e-6, 1e-6, 55e9))),
    "one-cliff": lambda: run(_one_cliff()),
    "above-link": lambda: run(_pieces(copies=batching.Cost(0, 1e-6, 55e9), kernel=batching.Cost(0, 0, 90e9))),
    "tied": lambda: run(
        batching.cases(
            {
                "copies": batching.Cost(0, 1e-6, 1e12),
                "pack": batching.Cost(1e-5, 0, 1e12),
                "graph": batching.Cost(1.001e-5, 0, 1e12),
            },
            [64],
            noise=0.05,
        )
    ),
    "few": lambda: run(_counts(16, 256)),
    "always": lambda: run(_counts(1, 256)),
    "doubt": lambda: run(
        batching.cases(
            {"copies": batching.Cost(5e-6, 1e-6, 1e13), "kernel": batching.Cost(9e-6, 1e-6, 1e13)},
            [64],
            [1, 16, 256],
            noise=0.006,
        )
    ),
    "wrong": lambda: run(_wrong_pieces()),
    "refused": lambda: run([batching.refused("kernel", "no memory")]),
}


def _column(**times: float) -> list[Case]:
    return strided.column(times)


def _wrong_column() -> list[Case]:
    return [
        *_column(section=50e-6, device_pack=25e-6),
        *strided.column({"kernel": 15e-6}, verified="no"),
        *(without(case, "no such call") for case in _column(batch=1e-5)),
    ]


STRIDED: Odd = {
    "advice": lambda: run(
        [
            *_column(section=50e-6, kernel=15e-6),
            *strided.column({"section": 50e-6, "kernel": 90e-6}, direction="h2d"),
            *strided.column({"section": 50e-6, "kernel": 90e-6}, memory="pageable"),
        ]
    ),
    "no-gain": lambda: run(_column(section=10e-6, kernel=30e-6, device_pack=25e-6)),
    "noise": lambda: run(strided.column({"section": 10e-6, "kernel": 9.5e-6}, noise=0.3)),
    "grid": lambda: run(strided.grid()),
    "one-method": lambda: run([strided.case("section", 1e-5, 8, KIB, pitch=16)]),
    "no-driver": lambda: run(_column(kernel=15e-6, device_pack=25e-6)),
    "wrong": lambda: run(_wrong_column()),
    "whole": lambda: run(
        strided.grid(
            {
                "section": lambda width, rows: 5e-5,
                "kernel": lambda width, rows: 3e-5,
                "whole": lambda width, rows: 1e-5,
            },
            host="strided",
        )
    ),
    "skipped": lambda: run([without(strided.case("section", 1e-5, 8, KIB, pitch=16), "too large")]),
}


def _pipelines(memory: str = "pinned", **truth: float | bool) -> list[Case]:
    return overlap.cases(memory, overlap.Truth(**truth))  # type: ignore[arg-type]


def _one_fast() -> list[Case]:
    def is_fast(case: Case) -> bool:
        return case.method == "pipeline" and (case.pieces, case.streams) == (16, 4)

    slow = [case for case in _pipelines(overlaps=False) if not is_fast(case)]
    return [*slow, *filter(is_fast, _pipelines())]


def _two_sizes() -> list[Case]:
    times = overlap.PINNED
    large = changed(times, into=4 * times.into, work=4 * times.work, out=4 * times.out)
    return [*overlap.h200_cases(), *overlap.cases("pinned", large, size=4 * overlap.SIZE)]


def _wrong_pipelines() -> list[Case]:
    cases = [
        replace(case, verified="no") if (case.pieces, case.streams) == (4, 4) else case
        for case in overlap.cases("pinned", overlap.Truth(), chunks=(1, 2, 4))
    ]
    return [*cases, *overlap.skips("pinned", "no room", chunks=(8,))]


OVERLAP: Odd = {
    "two-sizes": lambda: run(_two_sizes()),
    "more-work": lambda: run(_pipelines("pageable", work=3.6e-3)),
    "work-unknown": lambda: run(
        [case for case in overlap.cases("pinned", overlap.Truth(), ratio=3.0) if case.method != "work_alone"]
    ),
    "costly-chunks": lambda: run(_pipelines(overlaps=False, chunk=1e-3)),
    "one-fast": lambda: run(_one_fast()),
    "cpu": lambda: run(_pipelines(share=0.6), device=runs.cpu_device()),
    "noise": lambda: run(_pipelines(overlaps=False, noise=0.3)),
    "one-chunk": lambda: run(overlap.cases("pinned", overlap.Truth(), chunks=(1,))),
    "no-single": lambda: run(overlap.cases("pinned", overlap.Truth(), chunks=(4, 16))),
    "above-link": lambda: run(_pipelines(into=0.5e-3)),
    "timeline": lambda: run([overlap.traced(chunks=2, seconds=1e-3)]),
    "no-spans": lambda: run([replace(overlap.traced(), spans=[])]),
    "wrong": lambda: run(_wrong_pipelines()),
    "skipped": lambda: run(overlap.skips("pinned", "no")),
}


def _managed(more: Mapping[managed.Key, managed.Truth] = {}, **fields: object) -> list[Case]:
    return managed.cases({**managed.H200, **more}, **fields)  # type: ignore[arg-type]


def _without(*keys: managed.Key) -> list[Case]:
    return managed.cases({key: truth for key, truth in managed.H200.items() if key not in keys})


_ON_DEMAND = ("managed", "managed")
_COPY = ("explicit_whole", "pageable")


def _few_reports() -> Run:
    faults = {16: 16, 40: 16, 21: 15}
    cases = migrations.counted(migrations.Pretended())
    for at, (count, groups) in enumerate(faults.items()):
        cases[at] = replace(cases[at], faults=[Faults(side="device", count=count, groups=groups)])
    return run(cases)


MANAGED: Odd = {
    "one-copy": lambda: run(_without(_COPY)),
    "no-copy": lambda: run(_without(_COPY, ("explicit_whole", "pinned"))),
    "from": lambda: run(_managed({_ON_DEMAND: lambda share: (0.5 * (1.1 - share), 0.1)})),
    "never": lambda: run(_managed({_ON_DEMAND: lambda share: (1.0 + share, 1.0)})),
    "anywhere": lambda: run(_managed({_ON_DEMAND: lambda share: (0.15 * share, 0.170)}, noise=0.05)),
    "noise": lambda: run(_managed({_ON_DEMAND: managed.H200[_COPY]}, noise=0.3)),
    "slow-prefetch": lambda: run(_managed({("prefetch_whole", "managed"): lambda _: (0.2, 0.5)})),
    "advice": lambda: run(_managed({("accessed_by", "managed"): lambda share: (0.04 * share, 0.1)})),
    "advice-part": lambda: run(
        [
            *_managed({("prefer_device", "managed"): lambda share: (0.2, 0.5)}),
            managed.case(("accessed_by", "managed"), 1e-4, 1e-3, fraction=0.01),
        ]
    ),
    "few-points": lambda: run(
        [
            *managed.cases(percents=[10, 50]),
            *(managed.case(key, 1e-4, 0.01, stride=16 * MIB) for key in (("explicit_touched", "pageable"), _ON_DEMAND)),
        ]
    ),
    "few-ways": lambda: run(
        managed.cases({key: truth for key, truth in managed.H200.items() if key[0] in {"explicit_whole", "managed"}})
    ),
    "stays": lambda: run([*managed.cases(), managed.stays("they are the host's")]),
    "two-sizes": lambda: run([*managed.cases(size=64 * MIB), *managed.cases(size=GIB)]),
    "mapped": lambda: run(_managed({("mapped", "mapped"): lambda share: (0.01 * share, 0.02)})),
    "published": lambda: run(managed.cases(strides=[4 * KIB, 128 * KIB, 4 * MIB])),
    "wrong": lambda: run(managed.cases(verified="no")),
    "wrong-point": lambda: run(
        [
            *managed.cases(percents=[10, 100], strides=[4 * KIB]),
            managed.case(_ON_DEMAND, 0.1, 0.2, fraction=0.5, verified="no"),
            *managed.skips(("system", "pageable"), "kernels do not reach it", percents=[10]),
        ]
    ),
    "copy-curve": lambda: run([*managed.cases(), managed.case(_COPY, 0.135, 0.17, fraction=0.01)]),
    "skipped": lambda: run(managed.skips(_ON_DEMAND, "no managed memory")),
    "no-step": lambda: run(migrations.probed(migrations.Pretended(fault=0.0, rate=1e15), probes("quick"))),
    "few-reports": _few_reports,
}
