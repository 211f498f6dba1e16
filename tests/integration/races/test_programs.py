"""Public bugs of asynchronous copies go wrong on the fake driver as they were reported, and not as they were fixed."""

from collections.abc import Callable
from pathlib import Path

import pytest

from isthmus import _native
from isthmus.trace import join_parts, open_trace
from tests.compiling import compile_program
from tests.processes import ended

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parents[2]
# The fake driver's blocking copies have arrived when they return.
RIGHT_HERE = {"pageable_not_arrived"}


@pytest.fixture(scope="module")
def programs() -> Path:
    options = ["-O1", f"-I{REPOSITORY / 'native'}", f"-I{REPOSITORY}", "-pthread"]
    return compile_program("programs", [HERE / "programs.cpp"], options)


@pytest.mark.parametrize("version", ["plain", "fixed"])
def test_only_the_plain_versions_of_public_bugs_go_wrong(
    programs: Path, compiled: Callable[..., Path], version: str
) -> None:
    libraries = {"LD_LIBRARY_PATH": str(compiled("fake_cuda.cpp").parent)}
    done = ended(programs, "all", version, env=libraries)
    assert done.returncode == 0, done.stdout + done.stderr
    verdicts = dict(line.split() for line in done.stdout.splitlines())
    assert len(verdicts) == 12
    right = {name for name, verdict in verdicts.items() if verdict == "right"}
    assert right == (set(verdicts) if version == "fixed" else RIGHT_HERE)


# What streams do is ordered by calls alone. What the host itself does to memory is not seen.
CALLS_OF = {
    "stored_before_computed": ("cuMemsetD8Async writes", "then cuMemcpyDtoHAsync reads"),
    "loaded_before_zeroed": ("cuMemsetD8Async writes", "then cuMemcpyHtoDAsync writes"),
    "reused_under_copy": ("cuMemcpyDtoHAsync reads", "then cuMemsetD8Async writes"),
    "copied_on_default_stream": ("cuMemsetD8Async writes", "then cuMemcpy reads"),
    "pageable_not_arrived": ("cuMemcpyHtoD writes", "then cuMemcpyDtoHAsync reads"),
}


@pytest.mark.parametrize("version", ["plain", "fixed"])
def test_races_between_streams_are_recorded_though_all_data_are_right(
    programs: Path, compiled: Callable[..., Path], tmp_path: Path, version: str
) -> None:
    driver, cupti = compiled("fake_cuda.cpp"), compiled("fake_tracing.cpp")
    names = ended(programs, "all", "fixed", "prompt", env={"LD_LIBRARY_PATH": str(driver.parent)}).stdout.split()[::2]
    assert len(names) == 12
    recorded = set()
    for name in names:
        folder = tmp_path / name
        folder.mkdir()
        words = {
            "LD_LIBRARY_PATH": str(driver.parent),
            "CUDA_INJECTION64_PATH": str(Path(_native.__file__).with_name("libisthmus_tracer.so")),
            "ISTHMUS_TRACE_CUPTI": str(cupti),
            "ISTHMUS_TRACE_FOLDER": str(folder),
            "ISTHMUS_TRACE_OPTIONS": "races,no-kernels,stacks",
        }
        done = ended(programs, name, version, "prompt", env=words)
        assert done.stdout == f"{name} right\n" or name == "loaded_before_zeroed", done.stdout + done.stderr
        join_parts(sorted(folder.glob("*.part")), folder / "joined")
        notes = open_trace(folder / "joined").notes
        assert sum(note.startswith("Races were looked for") for note in notes) == 1
        races = [note for note in notes if note.startswith("A race")]
        if races:
            assert all(call in races[0] for call in CALLS_OF[name]), races
            recorded.add(name)
    assert recorded == (set(CALLS_OF) if version == "plain" else set())


def test_orders_are_those_of_a_graph_of_all_that_was_asked_for() -> None:
    options = ["-O2", f"-I{REPOSITORY / 'native'}"]
    sources = [HERE / "random_orders.cpp", REPOSITORY / "native" / "tracer" / "cuda" / "order.cpp"]
    done = ended(compile_program("random_orders", sources, options), "1", "10000")
    assert done.returncode == 0, done.stdout
    accesses, races, in_a_race = map(int, done.stdout.split())
    assert accesses > 100_000
    assert 0 < in_a_race < races
