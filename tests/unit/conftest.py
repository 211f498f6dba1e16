"""What unit tests share: a cache of their own, reports as text, trees of files, a compiler, NVIDIA's packages."""

import importlib.util
import io
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from isthmus.record import Run
from tests.compiling import compile_program
from tests.processes import ended

REPOSITORY = Path(__file__).resolve().parents[2]

Tree = Callable[[Mapping[str, str]], Path]


@pytest.fixture(scope="session")
def repository() -> Path:
    return REPOSITORY


@pytest.fixture(scope="session")
def build_cpp() -> Callable[..., Path]:
    """Compiles C++ sources into a program, once for all tests that want it; what does not compile fails the test."""

    def build(*sources: Path, flags: tuple[str, ...] = ()) -> Path:
        options = ["-Wall", "-Wextra", f"-I{REPOSITORY / 'native'}", *flags]
        return compile_program("program", sources, options)

    return build


@pytest.fixture(scope="session")
def run_cpp(build_cpp: Callable[..., Path]) -> Callable[..., str]:
    """Compiles C++ sources into a program, runs it, and gives what it printed; either failing fails the test."""

    def run(*sources: Path, flags: tuple[str, ...] = ()) -> str:
        ran = ended(build_cpp(*sources, flags=flags))
        assert ran.returncode == 0, ran.stdout + ran.stderr
        return ran.stdout

    return run


@pytest.fixture(scope="session")
def nvidia_file() -> Callable[[str, str, str], Path]:
    """Finds a file of a package that unpacks into the namespace `nvidia`, such as `bin/ptxas` in `nvidia.cu13`."""

    def find(module: str, relative: str, package: str) -> Path:
        try:
            spec = importlib.util.find_spec(module)
        except ModuleNotFoundError:
            spec = None
        for folder in (spec.submodule_search_locations or ()) if spec else ():
            path = Path(folder) / relative
            if path.exists():
                return path
        pytest.skip(f"needs {package}: pip install '.[ptx]'")

    return find


@pytest.fixture
def reachable() -> Iterator[Path]:
    """A folder that other users reach; those of `tmp_path` lie in one that is closed to them."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@pytest.fixture
def rendered() -> Callable[..., str]:
    """Writes the document of runs in a format, and gives what was written."""

    def render(format_name: str, *runs: Run) -> str:
        from isthmus.report import write
        from isthmus.report.runs import runs_document

        out = io.StringIO()
        write(runs_document(runs), format_name, out)
        return out.getvalue()

    return render


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    """Writes the files, given as path -> text, and returns the root."""

    def write(files: Mapping[str, str]) -> Path:
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return tmp_path

    return write


@pytest.fixture
def unreadable(monkeypatch: pytest.MonkeyPatch) -> Callable[[Path], None]:
    """Makes everything below a path answer EACCES, also to root, for whom file modes mean nothing."""

    def deny(top: Path) -> None:
        def refusing(name: str) -> None:
            original = getattr(Path, name)

            def call(self: Path, *arguments: object, **options: object) -> object:
                if self.is_relative_to(top):
                    raise PermissionError(13, "Permission denied", str(self))
                return original(self, *arguments, **options)

            monkeypatch.setattr(Path, name, call)

        for name in ("read_bytes", "iterdir", "stat", "open"):
            refusing(name)

    return deny
