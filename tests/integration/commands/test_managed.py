"""`isthmus measure managed` with a driver that has what no processor has: prefetching and advice."""

from collections.abc import Callable
from pathlib import Path

from isthmus.record import Run, read_run
from tests.processes import Done

QUICK = ("managed", "--time", "0.1s")

# What a CUDA device has that no processor has.
CUDA_WAYS = {"prefetch_whole", "prefetch_touched", "read_mostly", "prefer_device", "accessed_by"}


def test_prefetching_and_advice_are_measured_where_the_driver_has_them(
    own_process: Callable[..., Done], tmp_path: Path, compiled: Callable[..., Path], told: Callable[[Run], str]
) -> None:
    words = (*QUICK, "--device", "cuda:0", "--sizes", "2MiB", "--memory", "managed,pageable", "--quick")
    fake = str(compiled("fake_cuda.cpp").parent)
    done = own_process("measure", *words, "-o", "a.json", LD_LIBRARY_PATH=fake)
    assert done.returncode == 0, done.stderr
    run = read_run(tmp_path / "a.json")
    found = {case.method: case for case in run.cases if not case.skipped}
    assert found.keys() >= CUDA_WAYS
    assert {found[method].verified for method in CUDA_WAYS} == {"yes"}
    [refused] = {case.note for case in run.cases if case.method == "system"}
    assert "pageableMemoryAccess is 0" in refused
    assert "Best advice with 100 % touched: " in told(run).replace("\n", " ")
