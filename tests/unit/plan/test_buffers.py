"""Plans for one buffer, against runs whose every cost is known."""

import msgspec
import pytest

from isthmus.plan import Plan, answer
from isthmus.record import KIB, MIB, BufferNeed, Run
from tests.synthetic import breakeven as synthetic_breakeven
from tests.synthetic import runs as synthetic


@pytest.fixture(scope="module")
def run() -> Run:
    made: Run = synthetic.run(synthetic_breakeven.everything())
    return made


def seconds(plan: Plan) -> dict[str, float]:
    return {way.name: way.seconds.median for way in plan.methods}


@pytest.mark.parametrize("size", [6 * KIB, 3 * MIB, 100 * MIB])
@pytest.mark.parametrize("uses", [1, 7, 300])
def test_every_way_takes_what_it_truly_takes(run: Run, size: int, uses: int) -> None:
    machine = synthetic_breakeven.H200
    copy = {kind: machine.copies[kind, "h2d"].seconds(size) for kind in ("pageable", "registered", "pinned")}
    fill = machine.fill.seconds(size) - machine.fill.fixed
    lock = sum(machine.memory["registered", phase].seconds(size) for phase in ("allocate", "free"))
    pinned = sum(machine.memory["pinned", phase].seconds(size) for phase in ("allocate", "free"))
    found = seconds(answer(run, BufferNeed(size, "h2d", uses)))
    assert found == pytest.approx(
        {
            "pageable": uses * copy["pageable"],
            "registered": lock + uses * copy["registered"],
            "staging": uses * (fill + copy["pinned"]),
            "pinned": pinned + uses * (fill + copy["pinned"]),
        },
        rel=0.05,
    )


def test_an_interval_holds_what_the_model_leaves_out(run: Run) -> None:
    """Samples alone said less than a tenth: of 217 times measured after they were predicted, 60 lay outside."""
    for way in answer(run, BufferNeed(3 * MIB, "h2d", 7)).methods:
        assert way.seconds.low < way.seconds.median / 1.4
        assert way.seconds.high > way.seconds.median * 1.4


def test_new_memory_costs_what_holding_it_costs_and_its_moves(run: Run) -> None:
    machine, size, uses = synthetic_breakeven.H200, 48 * MIB, 5
    found = seconds(answer(run, BufferNeed(size, "d2h", uses, "new")))
    for way in ("pageable", "pinned", "registered", "touched_registered", "mapped"):
        kind = {"touched_registered": "registered"}.get(way, way)
        expected = machine.once(way, size) + uses * machine.copies[kind, "d2h"].seconds(size)
        assert found[way] == pytest.approx(expected, rel=0.03), way


def test_managed_pages_go_back_before_they_are_written_again(run: Run) -> None:
    machine, size = synthetic_breakeven.H200, 16 * MIB
    there, back = (machine.copies["managed", way].seconds(size) for way in ("h2d", "d2h"))
    once = machine.once("managed_prefetch", size)
    one_way = seconds(answer(run, BufferNeed(size, "h2d", 4, "new")))["managed_prefetch"]
    both = seconds(answer(run, BufferNeed(size, "both", 4, "new")))["managed_prefetch"]
    assert one_way == pytest.approx(once + 4 * there + 3 * back, rel=0.03)
    assert both == pytest.approx(once + 4 * there + 4 * back, rel=0.03)


def test_the_first_choice_turns_where_locking_pays(run: Run) -> None:
    machine, size = synthetic_breakeven.H200, MIB
    lock = sum(machine.memory["registered", phase].seconds(size) for phase in ("allocate", "free"))
    saved = machine.copies["pageable", "h2d"].seconds(size) - machine.copies["registered", "h2d"].seconds(size)
    pays = lock / saved
    below, above = BufferNeed(size, uses=int(pays * 0.7)), BufferNeed(size, uses=int(pays * 1.4) + 1)
    assert [answer(run, need).methods[0].name for need in (below, above)] == ["pageable", "registered"]


def test_data_in_pinned_memory_is_copied_or_reached_by_a_kernel(run: Run) -> None:
    copies = synthetic_breakeven.H200.copies
    found = seconds(answer(run, BufferNeed(MIB, "both", 3, "pinned")))
    expected = {
        kind: 3 * sum(copies[kind, way].seconds(MIB) for way in ("h2d", "d2h")) for kind in ("pinned", "mapped")
    }
    assert found == pytest.approx(expected, rel=0.03)


def test_steps_add_up_to_the_time(run: Run) -> None:
    for need in (BufferNeed(5 * MIB, "both", 9), BufferNeed(5 * MIB, "h2d", 9, "new")):
        for way in answer(run, need).methods:
            total = sum(step.count * step.seconds.median for step in way.steps)
            assert total == pytest.approx(way.seconds.median), way.name


def test_intervals_hold_the_truth(run: Run) -> None:
    copies = synthetic_breakeven.H200.copies
    for size in (5 * KIB, 77 * KIB, 3 * MIB, 300 * MIB):
        (way, *_) = (each for each in answer(run, BufferNeed(size, source="pinned")).methods if each.name == "pinned")
        assert way.seconds.low <= copies["pinned", "h2d"].seconds(size) <= way.seconds.high
        assert way.seconds.low > 0


def test_a_rival_without_a_time_leaves_no_fastest(run: Run) -> None:
    plan = answer(run, BufferNeed(MIB))
    assert plan.unpriced.keys() == {"isthmus"}
    assert plan.fastest is None
    truths = {("isthmus", "h2d", "pageable"): synthetic.Truth(1e-5, 500e9)}
    known = msgspec.structs.replace(run, cases=[*run.cases, *synthetic.cases(truths)])
    first = answer(known, BufferNeed(MIB)).fastest
    assert first is not None
    assert first.name == "isthmus"


def test_staging_through_memory_of_the_library_is_priced_by_its_own_allocation(run: Run) -> None:
    """A run without figures for such memory says nothing of it."""
    need = BufferNeed(64 * MIB)
    without = answer(run, need)
    assert "touched_registered_huge" not in {
        *(way.name for way in without.methods),
        *without.unpriced,
        *without.unknown,
    }
    pinned = [case for case in run.cases if (case.experiment, case.host_memory) == ("allocation", "pinned")]
    quick = [
        msgspec.structs.replace(
            case,
            host_memory="touched_registered_huge",
            series=[
                msgspec.structs.replace(each, samples=[sample / 8 for sample in each.samples]) for each in case.series
            ],
        )
        for case in pinned
    ]
    ways = {way.name: way for way in answer(msgspec.structs.replace(run, cases=[*run.cases, *quick]), need).methods}
    steps = {name: {step.name: step.seconds.median for step in way.steps} for name, way in ways.items()}
    found, other = steps["touched_registered_huge"], steps["pinned"]
    assert found["allocate"] == pytest.approx(other["allocate"] / 8)
    assert found["memcpy_h2d"] == pytest.approx(other["memcpy_h2d"])
