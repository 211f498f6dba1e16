"""Skipped cases: one line for each reason."""

from isthmus.analysis.skips import SkipGroup, skip_groups, skip_item
from isthmus.record import GIB, MIB, Case
from tests.synthetic import runs as synthetic
from tests.synthetic import threads as synthetic_threads


def test_one_group_for_each_reason_the_largest_first() -> None:
    cases = [
        *synthetic.skips(("copy", "h2d", "pageable_huge"), [GIB], "too large"),
        *synthetic.skips(("copy", "d2h", "write_combined"), [MIB, GIB], "no such memory"),
        *synthetic.skips(("copy", "h2d", "write_combined"), [MIB, GIB], "no such memory"),
    ]
    assert skip_groups(synthetic.run(cases)) == [
        SkipGroup("no such memory", "write_combined: H2D, D2H; 1 MiB to 1 GiB", "4 cases"),
        SkipGroup("too large", "pageable_huge: H2D; 1 GiB", "1 case"),
    ]


def test_a_skip_without_a_reason_is_still_shown() -> None:
    (group,) = skip_groups(synthetic.run(synthetic.skips(("copy", "both", "pinned"), [1], "")))
    assert skip_item(group).words == "pinned: both; 1 B (1 case): no reason given"


def test_groups_of_threads_name_what_tells_them_apart() -> None:
    measured = synthetic_threads.cases({("h2d", "pinned"): lambda threads: 55.0}, sizes=[64 * MIB, GIB])
    skips = synthetic_threads.skips
    run = synthetic.run(
        [
            *measured,
            *skips("there is one device", devices=2),
            *skips("there is one NUMA node", ["h2d"], node=1),
            *skips("a container allows 20 threads", ["both"])[-2:],
        ]
    )
    assert [(group.what, group.cases, group.reason) for group in skip_groups(run)] == [
        ("threads: several devices", "18 cases", "there is one device"),
        ("threads: NUMA nodes", "6 cases", "there is one NUMA node"),
        ("threads, pinned: both; 64 MiB; 16 to 32 threads", "2 cases", "a container allows 20 threads"),
    ]


def test_a_part_that_was_measured_elsewhere_names_what_is_missing() -> None:
    missing = synthetic_threads.skips("no memory there", ["h2d"], node=1)
    lone = Case(experiment="threads", method="peer_copy", host_memory="", bytes=0, skipped=True, note="one device")
    devices = synthetic_threads.skips("one device", ["h2d"], devices=2)[:1]
    run = synthetic.run([synthetic_threads.placed(55.0, node=0), *missing, *devices, lone])
    assert [group.what for group in skip_groups(run)] == [
        "threads, pinned: workers, H2D; 64 MiB; 1 to 32 threads; NUMA node 1",
        "threads: several devices and copies between devices",
    ]


def test_every_skip_of_whole_runs_of_three_experiments_is_a_line_and_not_hundreds() -> None:
    sizes = [1 << power for power in range(8, 31, 2)]
    allocation = [
        Case(experiment="allocation", method=method, host_memory=kind, bytes=size, skipped=True, note="no pools")
        for method in ("allocate", "free", "first_allocate", "first_free")
        for kind in ("device_pool", "device_pool_cold")
        for size in sizes
    ]
    failed = [
        Case(
            experiment="allocation",
            method="allocate",
            host_memory="pinned",
            bytes=size,
            skipped=True,
            note=f"failed: cuMemHostAlloc of {size} bytes gave 2 (out of memory)",
        )
        for size in sizes[-3:]
    ]
    trips = [
        Case(
            experiment="breakeven",
            method=method,
            host_memory="managed",
            bytes=size,
            uses=uses,
            skipped=True,
            note="no managed memory",
        )
        for method in ("round_trip", "reduction")
        for uses in (1, 2, 5, 10)
        for size in sizes
    ]
    measured = synthetic.cases({("copy", "h2d", "pinned"): synthetic.Truth(8e-6, 50e9)}, [MIB])
    opened = Case(experiment="allocation", method="open_device", host_memory="", bytes=0, skipped=True, note="no fork")
    done = Case(experiment="breakeven", method="round_trip_in_place", host_memory="pinned", bytes=MIB)
    groups = skip_groups(synthetic.run([*measured, *allocation, *trips, *failed, opened, done]))
    assert [(group.what, group.cases) for group in groups] == [
        ("allocation, device_pool, device_pool_cold: 4 methods; 256 B to 1 GiB", "96 cases"),
        ("breakeven, managed: round trip, reduction; 256 B to 1 GiB", "96 cases"),
        ("allocation, pinned: allocate; 64 MiB to 1 GiB", "3 cases"),
        ("allocation: open device", "1 case"),
    ]
    assert skip_item(groups[2]).words.endswith(
        "(3 cases), first: failed: cuMemHostAlloc of 67108864 bytes gave 2 (out of memory)"
    )


def test_a_device_that_fails_in_every_case_is_one_line() -> None:
    """Each thread, lane and size words the same failure with its own numbers."""
    cases = [
        case
        for lane in ("h2d", "d2h")
        for size in (MIB, 64 * MIB)
        for thread in (1, 12, 32)
        for case in synthetic_threads.skips(
            f"failed: {lane}: {size} bytes, thread {thread} of 32: cuMemcpyAsync failed (719)"
        )
    ]
    groups = skip_groups(synthetic.run([*cases, *synthetic_threads.skips("there is one device", devices=2)]))
    assert [(group.cases, group.reason, group.varies) for group in groups] == [
        (f"{len(cases)} cases", "failed: h2d: 1048576 bytes, thread 1 of 32: cuMemcpyAsync failed (719)", True),
        ("18 cases", "there is one device", False),
    ]


def test_another_error_is_another_reason() -> None:
    key = ("copy", "h2d", "pinned")
    reasons = ("failed: copy of 1 MiB (719)", "failed: copy of 2 MiB (700)", "failed: copy of 4 MiB (719)")
    cases = [case for reason in reasons for case in synthetic.skips(key, [MIB], reason)]
    assert [group.cases for group in skip_groups(synthetic.run(cases))] == ["2 cases", "1 case"]
