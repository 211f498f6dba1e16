"""Random programs are the same with the library as without, in all that they can see."""

from collections.abc import Callable
from pathlib import Path

import pytest

from isthmus.ledger import read_counts
from isthmus.trace import open_trace
from isthmus.trace.isthmus.blocks import join_parts
from tests.integration.accelerate import differential
from tests.integration.accelerate.differential import (
    PLAIN_RUNS,
    Comparison,
    Facts,
    Runner,
    compare_all,
    compared,
    shortest,
)
from tests.integration.accelerate.programs import IS_SANITIZED, LIBRARY
from tests.integration.accelerate.test_faults import SURROUNDINGS

pytestmark = pytest.mark.skipif(IS_SANITIZED, reason="the programs get at the driver by dlsym")

MOST_LEFT_OUT = 0.05
# Most of the time the programs wait: whether a call returns is seen by nothing happening.
JOBS = 4


@pytest.fixture(scope="module")
def programs(build: Callable[..., Path]) -> Path:
    return build("differential.cpp", "-O2")


@pytest.fixture
def plain(programs: Path, driver: Path) -> Runner:
    # Modules are loaded as by a real driver, which waits for all streams of the context.
    return Runner(programs, {"LD_LIBRARY_PATH": str(driver.parent), "FAKE_CUDA_LOADS_WAIT": "1"})


def see_no_difference(plain: Runner, folder: Path, seeds: range, alone: range, cupti: Path | None = None) -> Comparison:
    """Run so many programs of both kinds under the library; with a CUPTI under the tracer, too, and under both."""
    names = ["accelerated"] if cupti is None else ["accelerated", "trace", "both"]
    ways = differential.ways(plain.program, names, LIBRARY, folder, ())
    last = {} if cupti is None else {"ISTHMUS_TRACE_CUPTI": str(cupti)}
    others = {name: Runner(way.program, {**plain.environment, **way.environment, **last}) for name, way in ways.items()}
    result = compare_all(plain, others, seeds, alone, JOBS)
    print(result.summary())
    assert result.programs == len(seeds) + len(alone)
    assert (result.differences, result.waited_elsewhere) == ([], set())
    assert result.share_left_out <= MOST_LEFT_OUT
    return result


@pytest.mark.parametrize(
    ("first", "count", "alone"), [(1, 10, 2), pytest.param(10_001, 2_000, 100, marks=pytest.mark.thorough)]
)
def test_random_programs_see_no_difference(
    plain: Runner, compiled: Callable[..., Path], tmp_path: Path, first: int, count: int, alone: int
) -> None:
    cupti = compiled("fake_tracing.cpp")
    see_no_difference(plain, tmp_path, range(first, first + count), range(first, first + alone), cupti)
    assert sum(row.copies for row in read_counts(tmp_path).moved) > count
    parts = sorted(tmp_path.glob("*.part"))
    join_parts(parts, tmp_path / "joined")
    assert len(open_trace(tmp_path / "joined").calls) > count


@pytest.mark.thorough
@pytest.mark.parametrize("surroundings", SURROUNDINGS)
def test_they_see_none_with_other_drivers(plain: Runner, tmp_path: Path, surroundings: str) -> None:
    other = Runner(plain.program, {**plain.environment, **SURROUNDINGS[surroundings]})
    see_no_difference(other, tmp_path, range(20_001, 20_101), range(20_001, 20_005))


def test_a_driver_whose_copies_lack_a_byte_is_noticed_and_shown(plain: Runner) -> None:
    short = Runner(plain.program, {**plain.environment, "FAKE_CUDA_SHORT": "1"})
    result = compare_all(plain, {"short": short}, range(1, 9), range(0), JOBS)
    assert result.differences
    seed = result.differences[0][0]
    assert f"program {seed}" in shortest(plain, short, seed)


@pytest.mark.parametrize(
    ("name", "plain", "other", "differences", "waited"),
    [
        ("returned", "late", "early", 1, set()),
        ("returned_elsewhere", "late", "early", 0, set()),
        ("returned_to_device", "late", "early", 0, set()),
        ("returned_to_device", "early", "late", 1, set()),
        ("returned_elsewhere", "early", "late", 0, {1}),
    ],
)
def test_waits_for_gates_that_do_not_keep_a_copy_are_counted_apart(
    name: str, plain: str, other: str, differences: int, waited: set[int]
) -> None:
    def run(returned: str, data: str = "5") -> dict[int, Facts]:
        arrived = {("0", "arrived"): "7"} if returned == "late" else {}
        return {1: {("0", name): returned, **arrived, ("end", "host0"): data}}

    runs = [run(plain)] * PLAIN_RUNS
    result = compared(runs, {"other": run(other)})
    assert (len(result.differences), result.waited_elsewhere) == (differences, waited)
    assert result.is_right == (differences == 0 and not waited)
    # Whatever waited, the same is there in the end.
    assert compared(runs, {"other": run(other, "6")}).differences != []


def test_a_program_that_ends_its_process_is_one_of_its_own_facts(plain: Runner) -> None:
    found = Runner(Path("/bin/false")).programs(5, 2)
    assert found == {5: {("process", "ended"): "1"}, 6: {("process", "ended"): "1"}}
    assert set(plain.programs(3, 2)) == {3, 4}


def test_only_facts_in_which_plain_runs_agree_are_compared() -> None:
    def run(**values: str) -> dict[int, Facts]:
        return {1: {("0", name): value for name, value in values.items()}}

    plain = [run(code="0", early="early", data=str(number)) for number in range(PLAIN_RUNS)]
    same = compared(plain, {"other": run(code="0", early="?", data="9")})
    assert (same.compared, same.left_out, same.differences) == (2, 1, [])
    unlike = compared(plain, {"other": run(code="1", early="early", data="0")})
    assert unlike.differences == [(1, "other", "step 0, code: plain 0, other 1")]
    assert unlike.share_left_out == pytest.approx(1 / 3)
    ends = [{1: {("0", "code"): "0"}}] * PLAIN_RUNS
    died = compared(ends, {"other": {1: {("process", "ended"): "-11"}}})
    assert died.differences == [(1, "other", "step 0, code: plain 0, other None; ended with -11")]
    # What one run lacks, too.
    assert compared(plain, {"other": run(code="0", data="0")}).differences != []
    assert compared([plain[0], plain[1], {1: {}}], {"other": plain[0]}).compared == 0
