"""What all tests share: which of them run, their folders, and devices that not every machine has."""

import gc
import os
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from hashlib import sha256
from zlib import crc32

import pytest
from hypothesis import HealthCheck, settings

from isthmus.machine.devices import probe

# A busy machine takes its time over an example, and over drawing one; folders are one a test, whatever is drawn.
settings.register_profile(
    "isthmus", deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
)
settings.load_profile("isthmus")

# Of which none is left out.
FEW_CASES = 4
# What programs say is compared in English, whoever runs the tests.
os.environ["LC_ALL"] = "C.UTF-8"
# Workers that run tests beside one another inherit the width of the terminal that they report to.
os.environ.pop("COLUMNS", None)


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--every 3`: a third of the cases of each test that has many. `--order 7`: tests in an order drawn from 7.

    `--drawn 4`: a quarter of all, which depends on the seed of the order.
    """
    parser.addoption("--every", type=int, default=1, metavar="N", help="of tests with many cases, one in N of these")
    parser.addoption("--drawn", type=int, default=1, metavar="N", help="of all tests, one in N, drawn by --order")
    parser.addoption("--order", metavar="SEED", help="modules, and the tests of each, in an order drawn from this seed")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """A third more than processors: so much of the time the tests wait for the programs that they start."""
    processors = len(os.sched_getaffinity(0))
    return processors + max(1, processors // 3)


# Before pytest, which then brings together what shares a device.
@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out most cases, and shuffle the rest, where that is asked for.

    The cases that are left out are always the same ones, which follow no parameter. The order of two tests depends on
    the seed and their names alone, so that a failure shows again with a part of the tests.
    """
    # Each process of pytest-xdist must know a test by the same name.
    assert not (placed := [item.nodeid for item in items if " at 0x" in item.nodeid]), placed[0]
    every: int = config.getoption("--every")
    cases = Counter(_test(item) for item in items)
    first = {_test(item): item for item in reversed(items)}
    kept = {
        item
        for item in items
        if item is first[_test(item)] or cases[_test(item)] <= FEW_CASES or crc32(item.nodeid.encode()) % every == 0
    }
    seed = config.getoption("--order") or ""
    drawn: int = config.getoption("--drawn")
    kept = {item for item in kept if drawn == 1 or _drawn(seed, item.nodeid)[0] % drawn == 0}
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = [item for item in items if item in kept]
    if seed:
        items.sort(key=lambda item: [_drawn(seed, name) for name in (item.nodeid.partition("::")[0], item.nodeid)])


def _test(item: pytest.Item) -> str:
    return item.nodeid.partition("[")[0]


def _drawn(seed: str, name: str) -> bytes:
    return sha256(f"{seed} {name}".encode()).digest()


def pytest_collection_finish() -> None:
    """Set aside what collecting has made: every later search for garbage would look at ten thousand tests again."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="module", autouse=True)
def _no_second_search() -> Iterator[None]:
    """The same with what the tests of a module leave behind, such as the packages that they import."""
    yield
    gc.collect()
    gc.freeze()


def pytest_unconfigure() -> None:
    """Let all end as it does without tests: what is left then counts as leaked."""
    gc.unfreeze()


@pytest.fixture(scope="session", autouse=True)
def _own_folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        # What was compiled in an earlier run is not compiled again: ccache keeps it below the first of these folders.
        if shutil.which("ccache"):
            words = ["ccache", "--get-config", "cache_dir"]
            kept = subprocess.run(words, capture_output=True, check=True, text=True).stdout.strip()
            patch.setenv("CCACHE_DIR", kept)
        patch.setenv("ISTHMUS_REPORT_LEAKS", "1")
        for variable in ("XDG_CACHE_HOME", "XDG_STATE_HOME"):
            patch.setenv(variable, str(tmp_path_factory.mktemp("own")))
        # Shared by all workers: what one of them compiles, kernels by PoCL among it, takes seconds in each otherwise.
        shared = tmp_path_factory.getbasetemp()
        shared = shared.parent if "PYTEST_XDIST_WORKER" in os.environ else shared
        built = shared / "built"
        built.mkdir(exist_ok=True)
        patch.setenv("BUILT_FOR_TESTS", str(built))
        patch.setenv("POCL_CACHE_DIR", os.environ.get("POCL_CACHE_DIR", str(shared / "pocl")))
        yield


@pytest.fixture(scope="session")
def skip_without() -> Callable[[str], None]:
    """Skips a test where the device that it names is of a backend without one."""

    def skip_without(spec: str) -> None:
        backend = spec.partition(":")[0]
        if not any(found.name == backend and found.devices for found in probe()):
            pytest.skip(f"no {backend} device" + "; pip install '.[cpu]' brings one" * (backend == "opencl"))

    return skip_without
