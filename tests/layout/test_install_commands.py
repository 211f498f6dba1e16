"""What our texts tell people to install: what can be installed, and nothing by a name that is not ours to give."""

import platform
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from isthmus.installing import OURS, install_extra
from tests.layout.every import every

tomllib = pytest.importorskip("tomllib", reason="reads pyproject.toml, which Python can from 3.11 on")
REPOSITORY = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text("utf-8"))["project"]
EXTRAS: dict[str, list[str]] = PROJECT["optional-dependencies"]
SUFFIXES = {
    ".py",
    ".pyi",
    ".json",
    ".j2",
    ".md",
    ".yaml",
    ".yml",
    ".sh",
    ".c",
    ".cpp",
    ".hpp",
    ".h",
    ".cu",
    ".toml",
    "",
}
FOLDERS = (
    "src",
    "native",
    "include",
    "docs",
    "examples",
    "scripts",
    "benchmarks",
    "tests",
    ".github",
    ".devcontainer",
    ".ci",
)

# A requirement by its name. Packages of others that texts name, besides those that pyproject.toml does.
NAME = re.compile(r"[A-Za-z][\w.-]*")
OTHERS = {"torch", "safetensors", "pre-commit", "intel-opencl-rt", "intel-cmplr-lib-rt", "nvidia-cuda-cupti-cu12"}
BUILD = tomllib.loads((REPOSITORY / "pyproject.toml").read_text("utf-8"))["build-system"]["requires"]
NAMED = [*BUILD, *PROJECT["dependencies"], *(each for packages in EXTRAS.values() for each in packages)]
KNOWN = OTHERS | {name for each in NAMED for name in NAME.findall(each)[:1]}
# A command ends with its line, its quotation or its sentence; in a text of several lines it may go on in the next.
COMMAND = re.compile(r"pip install((?:\s+(?:'[^'\n]*'|[^\s'\"`;,:()&|#]+))*)")
# Extras that are not for each processor and Python.
ELSEWHERE = {"fuzz"} | ({"cpu"} if platform.machine() != "x86_64" else set())
EXTRA_OF_OURS = re.compile(rf"\bisthmus\[(?:{'|'.join(EXTRAS)}|\{{)")


def texts() -> Iterator[Path]:
    yield from (REPOSITORY / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"))
    for folder in FOLDERS:
        for path in sorted((REPOSITORY / folder).rglob("*")):
            if (
                path.is_file()
                and path.suffix in SUFFIXES
                and "__pycache__" not in path.parts
                and path != Path(__file__)
            ):
                yield path


def wanted(command: str) -> list[str]:
    """What a command installs, up to the first word that is none: a sentence goes on there."""
    words: list[str] = []
    for word in shlex.split(re.sub(r"--target \S+", "", command)):
        requirement = word.rstrip(".") or word
        if requirement.startswith("-"):
            continue
        if requirement == ".*" or not (requirement[0] in "./{" or NAME.match(requirement)):
            break
        if words and NAME.fullmatch(requirement) and requirement not in KNOWN | {"isthmus"}:
            break
        words.append(requirement)
    return words


def is_installable(requirement: str) -> bool:
    if requirement.endswith((".whl", ".tar.gz")) or requirement == ".":
        return True
    if extra := re.fullmatch(r"\.\[(\w+)\]", requirement):
        return extra.group(1) in EXTRAS
    name = NAME.match(requirement)
    return name is not None and name.group() in KNOWN


@every(list(texts()), lambda path: str(path.relative_to(REPOSITORY)))
def test_every_text_names_what_can_be_installed(path: Path) -> None:
    text = path.read_text("utf-8", errors="replace")
    for command in COMMAND.findall(text):
        for requirement in wanted(command):
            assert is_installable(requirement), f"pip install {command.strip()}: {requirement}"
    assert not (named := EXTRA_OF_OURS.search(text)), f"{named}: no registry has us; name the packages, or '.[EXTRA]'"


def test_a_name_in_a_registry_would_be_noticed() -> None:
    for command in ("isthmus", "--upgrade isthmus", "'isthmus>=1'", "mpich isthmus brings it", "'.[gpu]'", "nunpy"):
        assert not all(map(is_installable, wanted(command))), command
    assert wanted("pocl-binary-distribution brings one") == ["pocl-binary-distribution"]
    assert EXTRA_OF_OURS.search("pip install 'isthmus[cpu]'")


def test_an_extra_is_named_by_its_packages() -> None:
    for name, packages in EXTRAS.items():
        bare = [package.partition(";")[0] for package in packages]
        assert name in ELSEWHERE or install_extra(name) == shlex.join(["pip", "install", *bare]), name


def test_without_metadata_it_is_named_by_its_source(monkeypatch: pytest.MonkeyPatch) -> None:
    assert install_extra("absent") == OURS
    monkeypatch.setattr("importlib.metadata.distributions", lambda **_: iter(()))
    monkeypatch.setattr("importlib.metadata.Distribution.discover", lambda **_: iter(()))
    assert install_extra("cpu") == OURS


def spoken() -> list[str]:
    """The commands of our messages, but for those that are made as they are said."""
    text = "\n".join(path.read_text("utf-8") for path in sorted((REPOSITORY / "src").rglob("*.py")))
    return [shlex.join(["pip", "install", *words]) for words in map(wanted, COMMAND.findall(text)) if words]


@pytest.mark.thorough
@pytest.mark.parametrize(
    "command", sorted({*map(install_extra, {"cpu", "figures", "mpi", "trace"} - ELSEWHERE), *spoken()})
)
def test_pip_takes_the_commands(command: str) -> None:
    """What it would install; nothing is built, since its build's tools are here already."""
    arguments = [*shlex.split(command)[1:], "--dry-run", "--no-deps", "--no-build-isolation"]
    subprocess.run([sys.executable, "-m", "pip", "--disable-pip-version-check", *arguments], cwd=REPOSITORY, check=True)
