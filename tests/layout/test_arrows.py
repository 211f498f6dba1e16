"""Who may include and import whom: the arrows of the design, so that folders stay the stages that they name."""

import ast
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from isthmus.registry import EXPERIMENTS
from tests.layout.every import every

REPOSITORY = Path(__file__).resolve().parents[2]
NATIVE = REPOSITORY / "native"
PACKAGE = REPOSITORY / "src" / "isthmus"
MOST_FILES = 30
MOST_EXPORTS = 80

# A folder may include its own files and those of the folders named here, whether they exist yet or not.
NATIVE_ARROWS: dict[str, set[str]] = {
    "base": set(),
    "kernels": set(),
    "driver": {"base"},
    "backend": {"base", "driver", "kernels"},
    "experiment": {"base", "backend", "transfer"},  # What it measures is how the library moves pieces.
    "transfer": {"base", "backend"},
    "trace": {"base", "interpose"},
    "interpose": {"base", "driver"},
    "tracer": {"base", "driver", "interpose", "trace"},  # Never backend: it leaves devices to their programs.
    "accelerator": {"base", "driver", "interpose", "backend", "transfer"},
    "races": {"base", "driver", "interpose", "tracer"},  # Lines of Python as a trace has them.
    "capi": {"base", "backend", "transfer"},  # It opens devices, and gives out memory of them.
    "judge": set(),  # It knows facts alone, whatever measured them.
    "bindings": {"base", "backend", "experiment", "judge", "transfer", "trace"},
    # A program of its own; it measures as a run does.
    "check": {"base", "driver", "backend", "experiment", "judge"},
}
# Likewise inside native/transfer: what is copied and page-locked memory at the bottom, a session's calls at the top.
TRANSFER_ARROWS: dict[str, set[str]] = {
    "copy": set(),
    "pinned": set(),
    "links": {"copy"},
    "pieces": {"links", "pinned"},
    "staging": {"pieces", "pinned"},
    "rows": {"copy", "staging"},
    "table": {"links", "pieces"},
    "session": {"copy", "pinned", "links", "pieces", "staging", "rows", "table"},
}
# Likewise a package; `isthmus` is its __init__: the version, and what everybody may call.
_MEANING = {"errors", "language", "record", "analysis", "document"}
PYTHON_ARROWS: dict[str, set[str]] = {
    "isthmus": {"c_interface"},
    "cache": {"errors", "files"},
    "c_interface": {"installing"},
    "cupti": set(),
    "files": {"errors"},
    "installing": set(),
    "races": {"errors", "files"},
    "launch": {"cupti", "errors", "files", "installing"},
    "ledger": {"errors", "files"},
    "messages": {"errors"},
    "own_files": set(),
    "python": set(),
    "errors": set(),
    "grouping": set(),
    "language": set(),
    "record": {"cache", "errors", "files", "installing", "own_files"},
    "registry": {"errors"},
    "machine": {"isthmus", "errors", "installing", "record", "_native"},
    "experiment": {
        *{"isthmus", "cache", "cupti", "errors", "files", "grouping", "installing", "messages", "python"},
        *{"record", "registry", "machine", "_native"},
    },
    "document": {"language", "record"},
    "analysis": {"errors", "files", "grouping", "language", "messages", "record", "registry", "document"},
    "plan": {"errors", "language", "record", "analysis"},
    # Outputs of other tools, as runs.
    "outputs": {"errors", "files", "own_files", "record"},
    # The rules of checks are native.
    "compare": {"errors", "files", "language", "record", "analysis", "document", "_native"},
    # What a way costs its neighbours is a question of a plan.
    "transfer": {"isthmus", "errors", "files", "record", "machine", "plan", "_native"},
    "weights": {"errors", "files"},
    # Imported by who has torch alone.
    "plugins": {"isthmus", "errors", "torch"},
    "torch": {"isthmus", "errors", "files", "weights", "transfer"},
    "jax": {"isthmus", "errors", "transfer"},
    "trace": {"errors", "files", "own_files", "messages", "record"},
    "advice": {"errors", "language", "record", "trace", "analysis", "document", "plan"},
    # How its devices differ, and what a reference expects of them, is what comparing is about.
    "fleet": {"errors", "files", "grouping", "own_files", "language", "python", "record", "analysis", "compare"},
    "report": _MEANING
    | {"cache", "files", "grouping", "installing", "ledger", "messages", "races"}
    | {"plan", "compare", "trace", "advice", "fleet", "_native"},
    # What programs call; the command line says the same in a terminal.
    "notebook": _MEANING | {"machine", "messages", "experiment", "compare", "report", "_native"},
    "commands": {
        *_MEANING,
        *{"isthmus", "cache", "c_interface", "files", "messages", "own_files"},
        *{"registry", "launch", "ledger", "races", "machine", "experiment", "transfer"},
        *{"plan", "compare", "trace", "advice", "fleet", "outputs", "report"},
    },
    "__main__": {"commands"},
    "_native": set(),
}
# Packages that are used through what their __init__ exports.
FRONT_DOORS = {"language", "record", "plan", "compare", "trace", "advice", "fleet", "outputs", "notebook", "commands"}
# What works from saved files on any machine, so loads no native module when it is imported.
WITHOUT_NATIVE = ("analysis", "document", "report", "plan", "compare", "fleet", "advice", "outputs")

SOURCES = sorted(path for suffix in ("cpp", "hpp", "h", "cu") for path in NATIVE.rglob(f"*.{suffix}"))
MODULES = sorted(PACKAGE.rglob("*.py"))
INCLUDE = re.compile(r'^\s*#\s*include\s+(["<])([^">]+)[">]', re.MULTILINE)
# A function of CUDA, OpenCL, NVML or CUPTI that is called, directly or through a table.
VENDOR_CALL = re.compile(r"\b(?:cu|cl|nvml|cupti)[A-Z]\w*\s*\(")


def name_of(path: Path) -> str:
    return str(path.relative_to(REPOSITORY))


def code_of(path: Path) -> str:
    """A C++ file without its comments and texts."""
    return re.sub(r'//[^\n]*|"(?:\\.|[^"\\\n])*"', "", path.read_text("utf-8"))


def includes(path: Path) -> dict[str, str]:
    """What a file includes, each with the bracket it is written in."""
    return {name: bracket for bracket, name in INCLUDE.findall(path.read_text("utf-8"))}


def import_statements(path: Path) -> Iterator[tuple[str, str]]:
    """What a module imports of ours, wherever in it: the module that is named, and the name taken out of it if any."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        found: list[tuple[str, str]] = []
        if isinstance(node, ast.Import):
            found = [(alias.name, "") for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name_of(path)}: imports are absolute"
            found = [(node.module or "", alias.name) for alias in node.names]
        yield from (pair for pair in found if pair[0].partition(".")[0] == "isthmus")


def imports(path: Path) -> Iterator[str]:
    """The same as dotted names."""
    yield from (f"{module}.{name}" if name else module for module, name in import_statements(path))


def package_of(dotted: str) -> str:
    """The package of ours that a dotted name leads to: ``record`` for ``isthmus.record.Case``."""
    name = dotted.split(".")[1] if "." in dotted else "isthmus"
    return name if name in PYTHON_ARROWS else "isthmus"


def home_of(path: Path) -> str:
    name = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    return "isthmus" if name == "__init__" else name


def module_of(dotted: str) -> Path | None:
    """The file that a dotted name leads to: the module itself, or the one that holds the name."""
    parts = dotted.split(".")[1:]
    for end in range(len(parts), -1, -1):
        stem = PACKAGE.joinpath(*parts[:end])
        for path in (stem.with_suffix(".py"), stem / "__init__.py"):
            if path.exists() and path != PACKAGE.with_suffix(".py"):
                return path
    return None


def assert_no_cycle(graph: Mapping[Path, set[Path]]) -> None:
    try:
        list(TopologicalSorter(graph).static_order())
    except CycleError as cycle:
        pytest.fail(f"a cycle: {' <- '.join(map(name_of, cycle.args[1]))}")


def test_experiments_ask_the_engine_and_not_each_other() -> None:
    folder, names = PACKAGE / "experiment", {each.name for each in EXPERIMENTS}
    arrows = {
        (path.relative_to(folder).parts[0], dotted.split(".")[2])
        for path in folder.rglob("*.py")
        for dotted in imports(path)
        if dotted.startswith("isthmus.experiment.") and dotted.split(".")[2] in names
    }
    assert {(here, there) for here, there in arrows if here != there} == {
        # A need says how long its work takes, which is for no sweep of ratios to know.
        ("contenders", "overlap"),
        # Options of these two are checked before a device is open.
        *(("measure.py", there) for there in ("openacc", "stencil")),
    }


def test_the_files_are_found() -> None:
    assert NATIVE / "backend" / "device.hpp" in SOURCES
    assert PACKAGE / "record" / "run.py" in MODULES
    assert "backend/region.hpp" in includes(NATIVE / "experiment" / "buffer.hpp")
    assert "isthmus.record.Case" in set(imports(PACKAGE / "experiment" / "engine" / "rounds.py"))


@pytest.mark.parametrize(
    ("root", "arrows"),
    [(NATIVE, NATIVE_ARROWS), (NATIVE / "transfer", TRANSFER_ARROWS), (PACKAGE, PYTHON_ARROWS)],
    ids=["native", "transfer", "python"],
)
def test_every_folder_has_its_arrows(root: Path, arrows: dict[str, set[str]]) -> None:
    sources = [path for path in (*SOURCES, *MODULES) if path.is_relative_to(root)]
    folders = {path.relative_to(root).parts[0] for path in sources if len(path.relative_to(root).parts) > 1}
    assert folders <= set(arrows), "say in this file whom the new folder may use"


@every(SOURCES, name_of)
def test_native_includes_follow_the_arrows(path: Path) -> None:
    folder = path.relative_to(NATIVE).parts[0]
    ours = [name for name, bracket in includes(path).items() if bracket == '"']
    for name in ours:
        assert (NATIVE / name).is_file(), f"{name} is not written from native/ on"
        assert name.split("/")[0] in NATIVE_ARROWS[folder] | {folder}


@every([path for path in SOURCES if path.is_relative_to(NATIVE / "transfer")], name_of)
def test_includes_inside_transfer_follow_the_arrows(path: Path) -> None:
    folder = path.relative_to(NATIVE / "transfer").parts[0]
    for name in includes(path):
        if name.startswith("transfer/"):
            assert name.split("/")[1] in TRANSFER_ARROWS[folder] | {folder}, name


@every([path for path in SOURCES if path.is_relative_to(NATIVE / "backend")], name_of)
def test_backends_do_not_know_each_other(path: Path) -> None:
    backend = path.relative_to(NATIVE / "backend").parts[:-1]
    for name in includes(path):
        parts = Path(name).parts[1:-1] if name.startswith("backend/") else ()
        assert parts in {(), backend}


@every(SOURCES, name_of)
def test_only_the_bindings_see_python(path: Path) -> None:
    python = {name for name in includes(path) if name == "Python.h" or name.startswith("nanobind/")}
    assert not python or path.is_relative_to(NATIVE / "bindings")


def test_bindings_keep_to_the_limited_api() -> None:
    """One wheel serves Python 3.12 and later, in whose limited API macros such as PyTuple_GET_SIZE do not exist."""
    macro = re.compile(r"\bPy[A-Z]\w*_(GET|SET|AS)_[A-Z_]+\(")
    files = sorted((NATIVE / "bindings").rglob("*.[ch]pp"))
    assert files
    assert [f"{path.name}: {found[0]}" for path in files if (found := macro.search(path.read_text("utf-8")))] == []


@every(SOURCES, name_of)
def test_vendors_are_called_by_driver_backend_and_guests_of_programs_alone(path: Path) -> None:
    parts = path.relative_to(NATIVE).parts
    # What all guests share that hook functions of the driver.
    folder = "accelerator" if parts[:2] == ("interpose", "hooks") else parts[0]
    code = code_of(path)
    assert folder in {"driver", "backend", "tracer", "accelerator"} or not VENDOR_CALL.findall(code)
    assert folder in {"driver", "tracer", "accelerator"} or not re.search(r"\bdl(?:open|m?sym)\s*\(", code)


def test_a_vendor_call_would_be_noticed() -> None:
    assert VENDOR_CALL.findall("api.cuMemAlloc(&p, 1); clFinish (queue); nvmlInit_v2();")
    assert not VENDOR_CALL.findall("cuda::open(); ClStream(context); cublas(); clear();")


def test_native_includes_have_no_cycle() -> None:
    assert_no_cycle({path: {NATIVE / name for name in includes(path) if (NATIVE / name).is_file()} for path in SOURCES})


@every(MODULES, name_of)
def test_python_imports_follow_the_arrows(path: Path) -> None:
    home = home_of(path)
    for dotted in imports(path):
        assert package_of(dotted) in PYTHON_ARROWS[home] | {home}, dotted


@every(MODULES, name_of)
def test_packages_are_entered_by_their_front_door(path: Path) -> None:
    for module, name in import_statements(path):
        package = package_of(module)
        if package in FRONT_DOORS - {home_of(path)}:
            assert module == f"isthmus.{package}", f"{module}.{name}: import it from isthmus.{package}"


def test_python_imports_have_no_cycle() -> None:
    found = {path: {module_of(dotted) for dotted in imports(path)} for path in MODULES}
    # A package's __init__ names its own modules, and they name one another.
    assert_no_cycle({path: {other for other in others if other and other != path} for path, others in found.items()})


def test_what_needs_no_device_never_loads_the_native_module() -> None:
    """Every module of these packages, in a Python of its own."""
    modules = [
        ".".join(("isthmus", *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__")
        for path in MODULES
        if path.relative_to(PACKAGE).parts[0] in WITHOUT_NATIVE and "snippets" not in path.parts
    ]
    assert len(modules) > 100
    code = (
        "import importlib, sys\n"
        f"for name in {modules!r}:\n"
        "    importlib.import_module(name)\n"
        "    assert 'isthmus._native' not in sys.modules, name\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)})


def test_a_folder_of_code_can_be_read_at_a_glance() -> None:
    """At most 30 files; catalogues of texts and snippets of code that plans print are data."""
    folders = Counter(
        path.parent
        for root in (NATIVE, PACKAGE, REPOSITORY / "tests")
        for path in root.rglob("*")
        if path.is_file() and path.suffix in {".py", ".pyi", ".c", ".cpp", ".hpp", ".h", ".cu", ".cl"}
        if "snippets" not in path.parts
    )
    assert [f"{name_of(folder)}: {count} files" for folder, count in folders.items() if count > MOST_FILES] == []


def test_no_package_exports_what_nobody_can_read() -> None:
    """A facade of many names hides which module is used."""
    for path in MODULES:
        if path.name == "__init__.py":
            assert len(list(import_statements(path))) <= MOST_EXPORTS, name_of(path)


@pytest.mark.parametrize(
    ("one", "pattern"),
    [
        # Keeps files of the current folder from being run: `pickle.py` there is somebody else's.
        ("python.py", r"sys\.executable|get_context\(|PYTHONSAFEPATH"),
        # Sees to it that nobody else can write there; messages name the variable through it.
        ("cache.py", r"XDG_(?:CACHE|STATE|DATA|CONFIG)|[\"'/]\.(?:cache|local|config)\b|Path\.home\(|expanduser"),
        # Escapes what would command a terminal.
        ("messages.py", r"file=sys\.stderr|stderr\.write|echo\(.*err=True"),
    ],
    ids=["python is started", "the user's cache is known", "standard error is written"],
)
def test_it_is_by_one_module_alone(one: str, pattern: str) -> None:
    named = {path.relative_to(PACKAGE).as_posix() for path in MODULES if re.search(pattern, path.read_text("utf-8"))}
    assert named == {one}
