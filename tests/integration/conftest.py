"""What several commands are tested with: vendor libraries made of host memory, and the launcher of MPI programs."""

import importlib.util
import io
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from zlib import crc32

import pytest

from isthmus.files import write_whole
from isthmus.record import Run
from isthmus.report import write
from isthmus.report.runs import runs_document
from tests.compiling import compile_program
from tests.processes import HANGS_SECONDS

_HERE = Path(__file__).parent
_REPOSITORY = _HERE.parent.parent
_NAMES = {
    "fake_cuda.cpp": "libcuda.so.1",
    "fake_graph_nodes.cpp": "libcuda.so.1",
    "fake_cupti.cpp": "libcupti.so.13",
    "fake_tracing.cpp": "libcupti.so.13",
    "fake_node.cpp": "libcuda.so.1",
    "fake_nvml.cpp": "libnvidia-ml.so.1",
    "fake_opencl.cpp": "libOpenCL.so.1",
    "opencl_loader.cpp": "libOpenCL.so.1",
}
# Those that would make a process believe that it is one of several.
LAUNCHERS = ("OMPI_COMM_", "PMI", "MV2_", "PALS_", "SLURM_", "HYDRA_", "MPI")

Started = Callable[..., subprocess.Popen[str]]
Ended = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session")
def compiled() -> Callable[..., Path]:
    """A fake library under its real name, without the functions that are named."""

    def compiled(source: str, *omitted: str) -> Path:
        # As real ones, they call their own functions whatever another library has in front of them.
        links = ["-shared", "-Wl,-Bsymbolic", f"-Wl,-soname,{_NAMES[source]}"]
        if omitted:
            links.append(f"-Wl,--version-script={without(omitted)}")
        options = ["-O1", "-fPIC", f"-I{_REPOSITORY / 'native'}"]
        return compile_program(_NAMES[source], [_HERE / "fakes" / source], options, links)

    def without(names: tuple[str, ...]) -> Path:
        hidden = Path(os.environ["BUILT_FOR_TESTS"], f"{crc32(' '.join(names).encode())}.map")
        with write_whole(hidden) as file:
            file.write(b"{ global: *; local: " + b"".join(f"{name}; ".encode() for name in names) + b"};\n")
        return hidden

    return compiled


@pytest.fixture(scope="session")
def node(compiled: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the driver and the NVML of `fake_node.cpp`."""
    folder = tmp_path_factory.mktemp("node")
    for name in ("libcuda.so.1", "libnvidia-ml.so.1"):
        shutil.copy(compiled("fake_node.cpp"), folder / name)
    return folder


def drivers_of(node: Path) -> dict[str, str]:
    """What makes a program use them, and the host's clock that the driver keeps."""
    # What is there already, such as a sanitizer's library, comes first.
    preloaded = " ".join(filter(None, [os.environ.get("LD_PRELOAD"), str(node / "libcuda.so.1")]))
    return {"LD_LIBRARY_PATH": str(node), "LD_PRELOAD": preloaded}


def environment(**more: str) -> dict[str, str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith(LAUNCHERS)}
    return clean | {"PYTHONPATH": os.pathsep.join(sys.path)} | more


@pytest.fixture(scope="session")
def mpirun() -> str:
    """The mpirun of this environment's mpich; a test that needs one is skipped where there is none that works."""
    if importlib.util.find_spec("mpi4py") is None:
        pytest.skip("needs mpi4py: pip install '.[mpi]'")
    folders = [str(Path(sys.executable).parent), *sys.path, os.environ.get("PATH", "")]
    # Beside the interpreter, or beside the packages where an environment borrows those of another.
    folders += [str(Path(folder).parents[2] / "bin") for folder in sys.path if folder.endswith("site-packages")]
    found = shutil.which("mpirun", path=os.pathsep.join(folders))
    if found is None:
        pytest.skip("needs mpirun: pip install '.[mpi]' brings MPICH's")
    words = [found, "-n", "2", sys.executable, "-c", "from mpi4py import MPI; assert MPI.COMM_WORLD.Get_size() == 2"]
    tried = subprocess.run(words, capture_output=True, text=True, check=False, env=environment(), timeout=HANGS_SECONDS)
    if tried.returncode:
        pytest.skip(f"needs an mpi4py that is of {found}: {tried.stderr.strip().splitlines()[-1:]}")
    return found


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Started]:
    """Starts these words in the test's folder; whatever is still there at the end of the test is ended."""
    began: list[subprocess.Popen[str]] = []

    def started(*words: str, **more: str) -> subprocess.Popen[str]:
        began.append(
            subprocess.Popen(
                words,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                cwd=tmp_path,
                env=environment(**more),
                start_new_session=True,
            )
        )
        return began[-1]

    yield started
    for process in began:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


@pytest.fixture
def run(start: Started) -> Ended:
    """The same, to its end."""

    def ended(*words: str, **more: str) -> subprocess.CompletedProcess[str]:
        process = start(*words, **more)
        out, err = process.communicate(timeout=HANGS_SECONDS)
        return subprocess.CompletedProcess(words, process.returncode, out, err)

    return ended


@pytest.fixture(scope="session")
def children() -> Callable[[int], Iterator[int]]:
    """All processes below one."""

    def children(pid: int) -> Iterator[int]:
        for path in Path("/proc").glob("[0-9]*/stat"):
            try:
                fields = path.read_text().rpartition(")")[2].split()
            except (FileNotFoundError, ProcessLookupError):
                continue
            if int(fields[1]) == pid:
                child = int(path.parent.name)
                yield child
                yield from children(child)

    return children


@pytest.fixture(scope="session")
def told() -> Callable[[Run], str]:
    """All that a report says of a run, on long lines."""

    def told(run: Run) -> str:
        out = io.StringIO()
        write(runs_document([run]), "terminal", out)
        return out.getvalue()

    return told
