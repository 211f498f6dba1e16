"""Builds the OpenACC programs: into a cache for one machine, or into a folder that goes to others."""

import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

import isthmus
from isthmus.errors import CallFailed, Unsupported, UsageError
from isthmus.experiment.openacc.compilers import MANAGED_SUFFIX, Compiler, build_path, find_compiler

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


def program_path(folder: Path, program: str, way: str) -> Path | None:
    """The program of a folder that moves data in this way; None where its compiler has no such way."""
    managed = folder / f"{program}{MANAGED_SUFFIX}"
    if way == "explicit":
        return folder / program
    if managed.exists():
        return managed
    return None if way == "both" else folder / program


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

    Raises CallFailed when the compiler fails, and Unsupported where the cache cannot be written.
    """
    sources = source_folder()
    cache = environment.get("XDG_CACHE_HOME") or str(Path(environment.get("HOME", "~")).expanduser() / ".cache")
    folder = Path(cache) / "isthmus" / "openacc" / _digest(sources, compiler)
    if folder.is_dir():
        return folder
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
            built = Path(scratch) / "built"
            built.mkdir()
            _build(compiler, sources, built, environment)
            # Whole or not at all; where another process was first, its programs are as good.
            if not folder.is_dir():
                built.rename(folder)
    except OSError as error:
        if folder.is_dir():
            return folder
        raise Unsupported(
            f"the OpenACC programs cannot be kept in {folder.parent}: {error.strerror}; set XDG_CACHE_HOME to a "
            "folder that can be written, or build them with --build FOLDER"
        ) from error
    return folder


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


def _digest(sources: Path, compiler: Compiler) -> str:
    digest = hashlib.sha256(repr((platform.machine(), compiler.path, compiler.version, dict(compiler.flags))).encode())
    for source in sorted(sources.glob("*.[ch]pp")):
        digest.update(source.name.encode() + b"\0" + source.read_bytes())
    return digest.hexdigest()[:16]


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
                said = [line for line in ended.stderr.splitlines() if "error" in line.lower()]
                why = next(iter(said or ended.stderr.splitlines()), f"exit code {ended.returncode}")
                raise CallFailed(f"{compiler.version} ({compiler.path}) did not build {name}: {why.strip()}")
