"""Runs in which something is odd, of threads, devices, links, stencils, other work and the smallest steps."""

from collections.abc import Mapping

import msgspec

from isthmus.record import GIB, MIB, Case, Direction, Run, Series
from tests.snapshots.odd_costs import Odd, replace, run
from tests.synthetic import openacc, paths, peers, runs, stencil, threads

SPECS = [f"cuda:{index}" for index in range(4)]
PORT = "0000:16:01.0"


def _rates(rate: threads.Rates, memory: str = "pageable", direction: Direction = "h2d", **fields: object) -> list[Case]:
    return threads.cases({(direction, memory): rate}, **fields)  # type: ignore[arg-type]


def _gain() -> list[Case]:
    slow = _rates(lambda count: min(7.0 * count, 28.0))
    fast = {("h2d", "pageable"): lambda count: min(9.0 * count, 36.0)}
    return [*slow, *threads.cases(fast, [threads.OWN], counts=threads.COUNTS[1:])]


def _at_once(together: float, memory: str = "pinned", alone: float = 55.0) -> list[Case]:
    found = []
    for at, spec in enumerate(SPECS[:2]):
        place = {"target": spec, "memory": memory}
        found.append(threads.placed(alone, devices=1, seed=at, **place))  # type: ignore[arg-type]
        found.append(threads.placed(together, devices=2, seed=at + 2, **place))  # type: ignore[arg-type]
    return [*found, threads.placed(2 * together, devices=2, memory=memory)]


def _both_at_once(one_way: float) -> list[Case]:
    found = []
    rates: Mapping[Direction, tuple[float, float]] = {"h2d": (50.0, 50.0), "d2h": (50.0, one_way), "both": (96.0, 72.0)}
    for way, (alone, together) in rates.items():
        for at, spec in enumerate(SPECS[:2]):
            found.append(threads.placed(alone, devices=1, target=spec, direction=way, seed=at))
            found.append(threads.placed(together, devices=2, target=spec, direction=way, seed=at + 2))
        found.append(threads.placed(2 * together, devices=2, direction=way, seed=7))
    return found


def _with_neighbours() -> list[Case]:
    exchange = threads.placed(300.0, method="peer_copy", direction="peer", target="cuda:0", peer="cuda:1")
    return [
        *_at_once(40.0, alone=50.0),
        exchange,
        *(threads.placed(rate, node=node, target="cuda:1") for node, rate in enumerate((40.0, 50.0))),
    ]


def _wrong_threads() -> list[Case]:
    cases = _rates(lambda _: 50.0, "pinned", counts=[1, 2, 4])
    cases[1] = replace(cases[1], verified="no", note="first mismatch at byte 17")
    failed = threads.skips("failed: worker 3: cuMemcpyHtoDAsync gave 719", ["both"], target="cuda:1", node=1)
    return [*cases, *failed[3:4], *threads.skips("a container allows 20 threads", ["h2d"])[-1:]]


THREADS: Odd = {
    "gain": lambda: run(_gain()),
    "other-size": lambda: run(
        [*_rates(lambda _: 7.0, sizes=[64 * MIB]), *_rates(lambda count: 7.0 + count, sizes=[GIB])]
    ),
    "doubt": lambda: run(_rates(lambda _: 6.5, noise=0.2)),
    "bound": lambda: run(
        [
            *_rates(lambda count: 14.0 if count < 8 else 10.0, direction="d2h", noise=0.06),
            *_rates(lambda _: 55.0, "pinned", "d2h"),
        ]
    ),
    "one-direction": lambda: run(
        [*_rates(lambda count: min(7.0 * count, 28.0)), *_rates(lambda _: 14.0, direction="d2h")]
    ),
    "free": lambda: run(
        _rates(
            lambda _: 55.0,
            "pinned",
            ways=(threads.SHARED, threads.SPAWN),
            costs=threads.Costs(fixed=0.0, per_thread=0.0),
            noise=0.02,
        )
    ),
    "enough": lambda: run(_rates(lambda count: min(20.0 * count, 40.0), "pinned")),
    "one-count": lambda: run(_rates(lambda _: 55.0, "pinned", counts=[16])),
    "cpu": lambda: run(threads.h200_cases(), device=runs.cpu_device()),
    "above-link": lambda: run(_rates(lambda count: 55.0 + 25 * (count == 32), "pinned", noise=1e-3)),
    "wrong": lambda: run(_wrong_threads()),
    "skipped": lambda: run(threads.skips("no memory left")),
    "no-direction": lambda: run([replace(case, direction=None) for case in threads.h200_cases()[:8]]),
    "no-threads": lambda: run([replace(case, threads=None) for case in threads.h200_cases()[:8]]),
    "devices-both": lambda: run(_both_at_once(50.0)),
    "neighbours": lambda: run(_with_neighbours()),
}


def _slow_pair(slow: float) -> Run:
    return run(peers.whole(3, lambda _, source, to: slow if (source, to) == ("cuda:2", "cuda:0") else 390.0))


def _links(below: float, at_once: float) -> list[Case]:
    alone = [peers.link("h2d", 55.0, [spec], spec) for spec in SPECS]
    pairs = [peers.link("h2d", below / 2, SPECS[:2], spec, PORT) for spec in SPECS[:2]]
    whole = [peers.link("h2d", at_once / 4, SPECS, spec) for spec in SPECS]
    return [*alone, *pairs, *whole, peers.link("h2d", below, SPECS[:2], port=PORT), peers.link("h2d", at_once, SPECS)]


def _one_direction() -> list[Case]:
    found = []
    rates: Mapping[Direction, float] = {"h2d": 55.0, "d2h": 109.5}
    for way, at_once in rates.items():
        found += [peers.link(way, 55.0, [spec], spec) for spec in SPECS[:2]]
        found += [peers.link(way, at_once / 2, SPECS[:2], spec, PORT) for spec in SPECS[:2]]
        found.append(peers.link(way, at_once, SPECS[:2], port=PORT))
    return found


def _wrong_peers() -> list[Case]:
    wrong = peers.copies("copy_write", 394.0, "cuda:0", "cuda:1", verified="no", note="wrong data", path="pcie")
    return [wrong, peers.skipped("copy_write", "cuda:1", "cuda:0", "the driver gives this device no access")]


def _two_paths() -> list[Case]:
    def rate(_: str, source: str, to: str) -> float:
        return 20.0 if "cuda:2" in (source, to) else 390.0 if source == "cuda:0" else 380.0

    def joined(case: Case) -> Case:
        return replace(case, path="host SYS") if "cuda:2" in (case.target, case.peer) and case.path else case

    return [*map(joined, peers.whole(3, rate))]


PEERS: Odd = {
    "by-host": lambda: run(peers.whole(3, lambda *_: 22.0, path="host SYS")),
    "slow-pair": lambda: _slow_pair(200.0),
    "fair-pair": lambda: _slow_pair(360.0),
    "two-pairs": lambda: run(peers.whole(2, lambda _, source, to: 200.0 if source == "cuda:0" else 390.0)),
    "two-paths": lambda: run(_two_paths()),
    "eight": lambda: run(peers.whole(8)),
    "sizes": lambda: run(peers.whole(2, sizes=[4096, MIB])),
    "links": lambda: run(_links(55.0, 165.0)),
    "links-free": lambda: run(_links(109.5, 219.0)),
    "links-one-direction": lambda: run(_one_direction()),
    "wrong": lambda: run(_wrong_peers()),
    "wrong-copies": lambda: run(
        [*peers.whole(2), *runs.cases({("copy", "h2d", "pinned"): runs.Truth(8e-6, 50e9)}, [1 << 20], verified="no")]
    ),
    "alone": lambda: run([peers.skipped("copy_write", "", "", "there is one device")]),
}

PATHS: Odd = {
    "four": lambda: run(paths.whole(4, targets=[f"cuda:{index}" for index in range(4)])),
    "eight": lambda: run(paths.whole(8)),
    "late-gain": lambda: run(paths.whole(2, factors={16 * MIB: 1.0, 64 * MIB: 1.02, 256 * MIB: 1.5, GIB: 1.9})),
    "no-gain": lambda: run(paths.whole(2, factors=dict.fromkeys(paths.SIZES, 1.01))),
    "loss": lambda: run(paths.whole(2, loss=0.3)),
    "same-loss": lambda: run([paths.beside(method, "copies_h2d", 0.3, 54.0) for method in ("own", "one")]),
    "own": lambda: run([paths.copies("own", 54.8)]),
    "wrong": lambda: run(
        [
            paths.copies("own", 54.8),
            paths.skipped("one", "no peer access", "cuda:1"),
            paths.copies("one", 99.0, peer="cuda:2", verified="no", note="wrong data"),
        ]
    ),
    "alone": lambda: run([paths.skipped("own", "there is one device")]),
}


_TIMES = (1.0, 0.1, 0.1, 0.1, 0.1)


STENCIL: Odd = {
    "other-side": lambda: run(
        [stencil.case(3072, way, _TIMES) for way in (("cpu_columns", "managed"), ("cpu_whole", "pageable"))]
    ),
    "wrong": lambda: run(
        [
            stencil.case(64, ("gpu_pack", "pinned"), _TIMES),
            stencil.case(64, ("gpu_pack", "pageable"), _TIMES, verified="no"),
            stencil.skip(64, ("cpu_whole", "managed"), "no pages move here"),
        ]
    ),
    "skipped": lambda: run([stencil.skip(64, ("gpu_pack", "managed"), "no")]),
}


def _step(method: str, memory: str = "", size: int = 0, peer: str = "", **seconds: float) -> Case:
    return Case(
        experiment="latency",
        method=method,
        host_memory=memory,
        bytes=size,
        target="cuda:0" if peer else "",
        peer=peer,
        series=[Series(metric=name, samples=[value] * 12) for name, value in seconds.items()],  # type: ignore[arg-type]
    )


LATENCY: Odd = {
    "steps": lambda: run(
        [
            _step("launch", host_seconds=6.8e-6, enqueue_seconds=2.1e-6),
            _step("event", host_seconds=0.9e-6, device_seconds=1e-6),
            _step("wait", host_seconds=0.4e-6),
            _step("access", "pinned", 2 * MIB, device_seconds=1.2e-6),
            _step("access", "device", 2 * MIB, "cuda:1", device_seconds=2e-6),
            _step("copy", "device", 64 * MIB, host_seconds=40e-6),
            _step("copy", "device", 256 * MIB, host_seconds=134.217728e-6),
        ]
    ),
    "wrong": lambda: run(
        [
            Case(experiment="latency", method="access", host_memory="pinned", bytes=MIB, skipped=True, note="no reach"),
            msgspec.structs.replace(_step("access", "mapped", MIB, device_seconds=1e-6), verified="no"),
        ]
    ),
}


def _programs(*ways: str, alike: bool = False) -> Run:
    truths = {way: openacc.WHOLE["explicit" if alike else way] for way in ways}
    return run(openacc.array("contiguous", truths, fraction=1.0))


OPENACC: Odd = {
    "directives": lambda: run(openacc.array("contiguous", openacc.WHOLE, fraction=1.0)),
    "alike": lambda: _programs("explicit", "automatic", alike=True),
    "one-way": lambda: _programs("explicit"),
}
