"""What all tests share: runs whose truth is known, and the C interface."""

import gc
import sys
from collections.abc import Callable
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

from isthmus.experiment.devices import probe


def pytest_collection_finish() -> None:
    """Set aside what collecting has made: every later search for garbage would look at ten thousand tests again."""
    gc.collect()
    gc.freeze()


def pytest_unconfigure() -> None:
    """Let all end as it does without tests: what is left then counts as leaked."""
    gc.unfreeze()


def _load(name: str) -> ModuleType:
    """A module beside this file, which tests cannot import by name because they are no package."""
    spec = spec_from_file_location(f"isthmus_tests_{name}", Path(__file__).with_name(f"{name}.py"))
    assert spec
    assert spec.loader
    module = module_from_spec(spec)
    # Dataclasses look their module up while they are made.
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def skip_without() -> Callable[[str], None]:
    """Skips a test where the device that it names is of a backend without one."""

    def skip_without(spec: str) -> None:
        backend = spec.partition(":")[0]
        if not any(found.name == backend and found.devices for found in probe()):
            pytest.skip(f"no {backend} device" + "; pip install 'isthmus[cpu]' brings one" * (backend == "opencl"))

    return skip_without


@pytest.fixture(scope="session")
def synthetic() -> ModuleType:
    """tests/synthetic.py: whole runs, and cases of the bandwidth experiment."""
    return _load("synthetic")


@pytest.fixture(scope="session")
def synthetic_fleet() -> ModuleType:
    """tests/synthetic_fleet.py: fleet files of many hosts, some devices slower than the others."""
    return _load("synthetic_fleet")


@pytest.fixture(scope="session")
def synthetic_threads() -> ModuleType:
    """tests/synthetic_threads.py: cases of the threads experiment."""
    return _load("synthetic_threads")


@pytest.fixture(scope="session")
def synthetic_allocation() -> ModuleType:
    """tests/synthetic_allocation.py: cases of the allocation experiment."""
    return _load("synthetic_allocation")


@pytest.fixture(scope="session")
def synthetic_breakeven() -> ModuleType:
    """tests/synthetic_breakeven.py: cases of the breakeven experiment, and those that it can be derived from."""
    return _load("synthetic_breakeven")


@pytest.fixture(scope="session")
def synthetic_batching() -> ModuleType:
    """tests/synthetic_batching.py: cases of the batching experiment."""
    return _load("synthetic_batching")


@pytest.fixture(scope="session")
def synthetic_strided() -> ModuleType:
    """tests/synthetic_strided.py: cases of the strided experiment."""
    return _load("synthetic_strided")


@pytest.fixture(scope="session")
def synthetic_overlap() -> ModuleType:
    """tests/synthetic_overlap.py: cases of the overlap experiment."""
    return _load("synthetic_overlap")


@pytest.fixture(scope="session")
def synthetic_migrations() -> ModuleType:
    """tests/synthetic_migrations.py: managed memory of known units, and the cases that it gives."""
    return _load("synthetic_migrations")


@pytest.fixture(scope="session")
def synthetic_managed() -> ModuleType:
    """tests/synthetic_managed.py: cases of the managed experiment."""
    return _load("synthetic_managed")


@pytest.fixture(scope="session")
def synthetic_openacc() -> ModuleType:
    """tests/synthetic_openacc.py: cases of the openacc experiment."""
    return _load("synthetic_openacc")


@pytest.fixture(scope="session")
def synthetic_stencil() -> ModuleType:
    """tests/synthetic_stencil.py: cases of the stencil experiment."""
    return _load("synthetic_stencil")


@pytest.fixture(scope="session")
def c_library() -> ModuleType:
    """tests/c_library.py: isthmus.h for ctypes."""
    return _load("c_library")


@pytest.fixture(scope="session")
def synthetic_traces() -> ModuleType:
    """tests/synthetic_traces.py: traces of programs whose every step has a known time."""
    return _load("synthetic_traces")
