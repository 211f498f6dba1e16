"""Builds the OpenACC programs: into a cache for one machine, or into a folder that goes to others."""

import hashlib
import os
import platform
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import isthmus
from isthmus.cache import kept, reason
from isthmus.errors import CallFailed, Unsupported, UsageError
from isthmus.files import read_bounded

# For programs built in nvc++'s managed mode.
MANAGED_SUFFIX = "_managed"

_FLAGS = ("-std=c++17", "-O3")
# Code for sm_70 runs on every device since; older code, GCC's default, is more than new drivers take. It must not be
# position-independent. An old-style run path is also searched for the plugin that libgomp opens by name.
_GCC_FLAGS = (
    "-fopenacc",
    "-foffload=nvptx-none",
    "-foffload-options=nvptx-none=-misa=sm_70",
    "-no-pie",
    "-Wl,--disable-new-dtags,-rpath,$ORIGIN",
)
_NVCPP_FLAGS = ("-acc=gpu",)
_NVCPP_MANAGED_FLAGS = ("-acc=gpu", "-gpu=managed", "-DMANAGED_MODE")
# With GCC's plugin the programs of a folder run where GCC is not installed.
_GCC_RUNTIME = ("libgomp.so.1", "libgomp-plugin-nvptx.so.1")
_GCC_MAJORS = range(17, 9, -1)
_ASK_SECONDS = 20

_NOTHING = (
    "no compiler for OpenACC on NVIDIA devices: looked for nvc++ on PATH and below $NVHPC_ROOT and $NVHPC, and for "
    "{gcc}; install g++ with gcc-offload-nvptx (Debian; on Ubuntu 24.04 gcc-13-offload-nvptx) or the NVIDIA HPC SDK, "
    "or give programs that were built elsewhere: --binaries FOLDER"
)


class Compiler(NamedTuple):
    """A compiler, and the flags of each kind of program that it makes, by the suffix of the program's name."""

    path: str
    version: str
    flags: Mapping[str, Sequence[str]]
    runtime: Sequence[str] = ()  # libraries that travel with the programs

    def command(self, suffix: str, source: Path, program: Path) -> list[str]:
        """Builds one program."""
        return [self.path, *self.flags[suffix], str(source), "-o", str(program), "-ldl"]


def find_compiler(environment: Mapping[str, str] = os.environ) -> Compiler:
    """nvc++ if there is one, since it has the managed mode; else the first GCC that offloads to nvptx.

    Raises Unsupported with the packages to install.
    """
    for path in _nvcpp_paths(environment):
        if found := re.search(r"nvc\+\+ (\d+\.\d+)", _said([path, "--version"], environment)):
            flags = {"": (*_FLAGS, *_NVCPP_FLAGS), MANAGED_SUFFIX: (*_FLAGS, *_NVCPP_MANAGED_FLAGS)}
            return Compiler(path, f"nvc++ {found[1]}", flags)
    without = []
    for path in _gcc_paths(environment):
        version = _said([path, "-dumpfullversion"], environment)
        # Both are named as they were asked for where the compiler does not have them.
        helper = _said([path, "-print-prog-name=accel/nvptx-none/mkoffload"], environment)
        runtime = [_said([path, f"-print-file-name={name}"], environment) for name in _GCC_RUNTIME]
        if version and all(Path(name).is_absolute() for name in (helper, *runtime)):
            return Compiler(path, f"g++ {version}", {"": (*_FLAGS, *_GCC_FLAGS)}, runtime)
        without.append(f"{Path(path).name} {version}".strip())
    gcc = f"g++ with offloading to nvptx, which {', '.join(without)} cannot do" if without else "g++, which is not here"
    raise Unsupported(_NOTHING.format(gcc=gcc))


def build_path(environment: Mapping[str, str]) -> str:
    """PATH without folders of CUDA's ptxas, by which GCC has code checked: newer ones refuse that of older GCCs."""
    folders = environment.get("PATH", os.defpath).split(os.pathsep)
    kept = [folder for folder in folders if not (Path(folder) / "ptxas").exists() or (Path(folder) / "g++").exists()]
    return os.pathsep.join(kept)


def _nvcpp_paths(environment: Mapping[str, str]) -> Iterator[str]:
    if on_path := shutil.which("nvc++", path=environment.get("PATH", os.defpath)):
        yield on_path
    # What the kit's environment modules set: the folder of all versions, and that of one.
    for variable, pattern in (("NVHPC_ROOT", "compilers/bin/nvc++"), ("NVHPC", "Linux_*/*/compilers/bin/nvc++")):
        if root := environment.get(variable):
            yield from sorted(map(str, Path(root).glob(pattern)), reverse=True)


def _gcc_paths(environment: Mapping[str, str]) -> Iterator[str]:
    for name in ("g++", *(f"g++-{major}" for major in _GCC_MAJORS)):
        if path := shutil.which(name, path=environment.get("PATH", os.defpath)):
            yield path


def _said(command: Sequence[str], environment: Mapping[str, str]) -> str:
    """What a compiler answers; nothing where it fails or hangs, as one that is not there."""
    try:
        ended = subprocess.run(
            command, env=dict(environment), capture_output=True, text=True, check=False, timeout=_ASK_SECONDS
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return ended.stdout.strip() if ended.returncode == 0 else ""


PROGRAMS = ("contiguous", "stride", "stencil")
_COMPILE_SECONDS = 300


def source_folder() -> Path:
    """Where the programs' sources are: in the installed package, or in a checkout beside it.

    Raises Unsupported where they are in neither.
    """
    package = Path(isthmus.__file__).parent
    for folder in (package / "examples" / "openacc", package.parent.parent / "examples" / "openacc"):
        if folder.is_dir():
            return folder
    raise Unsupported(f"the sources of the OpenACC programs are missing: expected {package}/examples/openacc")


def program_path(folder: Path, program: str, mode: str) -> Path | None:
    """The program of a folder that moves data in this mode; None where its compiler has no such mode."""
    managed = folder / f"{program}{MANAGED_SUFFIX}"
    if mode == "explicit":
        return folder / program
    if managed.exists():
        return managed
    return None if mode == "both" else folder / program


def check_folder(folder: Path) -> None:
    """Raises UsageError unless the folder has every program."""
    missing = [name for name in PROGRAMS if not os.access(folder / name, os.X_OK)]
    if missing:
        raise UsageError(
            f"--binaries {folder}: no program {missing[0]} there; expected {', '.join(PROGRAMS)} as "
            "isthmus measure openacc --build FOLDER makes them"
        )


def cached_programs(compiler: Compiler, environment: Mapping[str, str] = os.environ) -> Path:
    """The folder of programs built from these sources by this compiler; built now unless they are there.

    Raises CallFailed when the compiler fails, and Unsupported where the cache cannot be written or may be another's.
    """
    sources = source_folder()
    digest = hashlib.sha256(repr((platform.machine(), compiler.path, compiler.version, dict(compiler.flags))).encode())
    for source in sorted(sources.glob("*.[ch]pp")):
        digest.update(source.name.encode() + b"\0" + read_bounded(source))
    key = digest.hexdigest()[:16]
    try:
        return kept("openacc", key, lambda folder: _build(compiler, sources, folder, environment), environment)
    except OSError as error:
        raise Unsupported(
            f"the OpenACC programs cannot be kept: {reason(error)}, or build them with --build FOLDER"
        ) from error


def build_folder(folder: Path, environment: Mapping[str, str] = os.environ) -> Compiler:
    """Build into a new or empty folder, with the libraries that travel along; returns the compiler that did it.

    Raises UsageError where something is in the folder, Unsupported without a compiler, CallFailed when it fails.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"--build {folder}: expected a new or an empty folder")
    compiler = find_compiler(environment)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _build(compiler, source_folder(), folder, environment)
        for library in compiler.runtime:
            shutil.copy(library, folder)
    except OSError as error:
        raise UsageError(f"--build {folder}: {error.strerror or error}") from error
    return compiler


def _build(compiler: Compiler, sources: Path, folder: Path, environment: Mapping[str, str]) -> None:
    given = {**environment, "PATH": build_path(environment)}
    for name in PROGRAMS:
        for suffix in compiler.flags:
            command = compiler.command(suffix, sources / f"{name}.cpp", folder / f"{name}{suffix}")
            try:
                ended = subprocess.run(
                    command, env=given, capture_output=True, text=True, check=False, timeout=_COMPILE_SECONDS
                )
            except subprocess.TimeoutExpired as error:
                raise CallFailed(f"{compiler.version} did not build {name} within {_COMPILE_SECONDS} s") from error
            if ended.returncode != 0:
                errors = [line for line in ended.stderr.splitlines() if "error" in line.lower()]
                why = next(iter(errors or ended.stderr.splitlines()), f"exit code {ended.returncode}")
                raise CallFailed(f"{compiler.version} ({compiler.path}) did not build {name}: {why.strip()}")
