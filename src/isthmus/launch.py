"""Runs a program unmodified with the recorder in it: its streams, signals and exit code are its own.

Imports nothing that starts threads, as NumPy does: signals are waited for, and one that a thread does not block would
be taken by it.
"""

import os
import shlex
import shutil
import signal
import stat
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Literal, NamedTuple

from isthmus.cupti import cupti_libraries, driver_version
from isthmus.errors import IsthmusError, ProgramAbsent, ProgramNotExecutable, Unsupported, UsageError
from isthmus.files import read_begin, read_bounded
from isthmus.installing import installed_file

_INJECTION = "CUDA_INJECTION64_PATH"
_RECORDER = "libisthmus_tracer.so"
_PRELOADED = "LD_PRELOAD"
_ASAN_OPTIONS = "ASAN_OPTIONS"
_ACCELERATE_OPTIONS = "ISTHMUS_ACCELERATE_OPTIONS"
_PATHS = "ISTHMUS_PATHS"
_OFF = "off"
# Where a file system keeps the capabilities of a program (setcap).
_CAPABILITIES = "security.capability"
# Preloaded by the small libraries of native/interpose/preload.cmake.
_OPENCL_RECORDER = "libisthmus_opencl_tracer"
_ACCELERATOR = "libisthmus_accelerator"
_RACES = "libisthmus_races"
# Sent to the program when they are sent to us. What a terminal sends (Ctrl-C) it sends to both.
_FORWARDED = ("SIGHUP", "SIGINT", "SIGQUIT", "SIGTERM", "SIGUSR1", "SIGUSR2")
# As CPython ignores them, which a program would inherit.
_IGNORED_BY_PYTHON = ("SIGPIPE", "SIGXFSZ")
# The code of a signal that the kernel sends, not a process.
_SI_KERNEL = 0x80
# ELF: files of 64 bits; where their program headers are, how long and how many; the header that names the linker, and
# where that says where the name is and how long.
_ELF64 = b"\x7fELF\x02"
_HEADERS = ((32, 8), (54, 2), (56, 2))
_INTERPRETER = 3
_NAME = (8, 32)
_MOST_HEAD = 1 << 16
# After which the program is looked at even without a signal, which a thread of somebody else's may have taken.
_LOOK_SECONDS = 1.0


class Acceleration(NamedTuple):
    """How a program is accelerated; what is None is as the library has it.

    `budget_bytes` of page-locked memory are for each process and device.
    """

    least_bytes: int | None = None
    budget_bytes: int | None = None
    threads: int | None = None
    verify: bool = False
    pinned: str | None = None  # how pages of page-locked memory are put in place: auto, huge or off
    paths: str | None = None  # over whose links: own, all, or names of devices with commas between them


class Left(NamedTuple):
    """What the processes of a program left: parts of the trace, and each line once that the recorder had to say."""

    parts: list[Path]
    messages: list[str]


def traced_environment(
    environment: Mapping[str, str], folder: Path, options: Sequence[str], *, force: bool = False
) -> dict[str, str]:
    """The environment in which the driver loads the recorder, and the linker that of OpenCL, with parts in `folder`.

    `options` are words of native/tracer/options.hpp. What is to be preloaded already stays so. Raises UsageError where
    another tool is to be loaded by the driver, unless forced; Unsupported where there is no recorder, or one of OpenCL
    at a path that cannot be preloaded.
    """
    other = environment.get(_INJECTION, "")
    if other and not force:
        raise UsageError(
            f"{_INJECTION} is set to {other}, and a program loads one such tool only; unset it, or use --force"
        )
    toolkit = environment.get("CUDA_HOME") or environment.get("CUDA_PATH") or ""
    return {
        **_preloading(environment, _OPENCL_RECORDER),
        _INJECTION: str(_library(_RECORDER)),
        "ISTHMUS_TRACE_FOLDER": str(folder.absolute()),
        "ISTHMUS_TRACE_CUPTI": ":".join(cupti_libraries(driver_version(), toolkit=toolkit)),
        "ISTHMUS_TRACE_OPTIONS": ",".join(options),
    }


def accelerated_environment(
    environment: Mapping[str, str], wanted: Acceleration, folder: Path | None = None
) -> dict[str, str]:
    """The environment in which the linker loads the library that accelerates; counts go to `folder`, if any.

    What is to be preloaded already stays so. Raises Unsupported where there is no such library, or one at a path that
    cannot be preloaded.
    """
    numbers = {
        "min": wanted.least_bytes,
        "budget": wanted.budget_bytes,
        "threads": wanted.threads,
        "pinned": wanted.pinned,
    }
    # What the environment asks for already stays so where nothing else is asked for: of two words the last counts.
    options = list(filter(None, [environment.get(_ACCELERATE_OPTIONS, "")]))
    options += [f"{name}={number}" for name, number in numbers.items() if number is not None]
    options += ["verify"] if wanted.verify else []
    return {
        **_preloading(environment, _ACCELERATOR),
        **({_ACCELERATE_OPTIONS: ",".join(options)} if options else {}),
        **({_PATHS: wanted.paths} if wanted.paths else {}),
        **({"ISTHMUS_ACCELERATE_FOLDER": str(folder.absolute())} if folder else {}),
    }


def races_environment(environment: Mapping[str, str], folder: Path) -> dict[str, str]:
    """The environment in which the linker loads the library that looks for races; what it sees goes to `folder`.

    What is to be preloaded already stays so. Raises Unsupported as `accelerated_environment` does.
    """
    return {**_preloading(environment, _RACES), "ISTHMUS_RACES_FOLDER": str(folder.absolute())}


def why_not_preloaded(program: str) -> str:
    """Why the linker loads nothing into this program; empty where it does, or nothing is known of it."""
    executable = shutil.which(program)
    if executable is None:
        return ""
    try:
        status = Path(executable).stat()
        head = read_begin(Path(executable), _MOST_HEAD)
    except (OSError, IsthmusError):
        return ""
    if rights := _rights_of_others(Path(executable), status):
        return f"it runs with {rights}, and the linker preloads nothing into such programs"
    linker = _linker_of(head) if head[:5] == _ELF64 else ""
    if linker is None:
        return "it is linked statically, without the linker that would load the library"
    return "it is linked with musl, and the library is of glibc" if "musl" in Path(linker).name else ""


def switched_off(environment: Mapping[str, str], command: Literal["ACCELERATE", "RACES", "TRACE"]) -> str:
    """The variable that has programs run as without us, and its value; empty where it is not set so."""
    variable = f"ISTHMUS_{command}"
    return f"{variable}={_OFF}" if environment.get(variable) == _OFF else ""


def has_driver() -> bool:
    """Whether programs find a CUDA driver on this machine."""
    return bool(driver_version())


def _rights_of_others(program: Path, status: os.stat_result) -> str:
    """What a program may do that we may not, in words; empty where that is nothing."""
    if status.st_mode & stat.S_ISUID and status.st_uid != os.getuid():
        return "the rights of another user (setuid)"
    if status.st_mode & stat.S_ISGID and status.st_mode & stat.S_IXGRP and status.st_gid != os.getgid():
        return "the rights of another group (setgid)"
    with suppress(OSError):
        # The superuser has them all.
        if os.getuid() != 0 and os.getxattr(program, _CAPABILITIES):
            return "capabilities of its own (setcap)"
    return ""


def _linker_of(head: bytes) -> str | None:
    """The dynamic linker that an ELF file of 64 bits names, empty where that is further on; None where it has none."""

    def number(at: int, width: int) -> int:
        return int.from_bytes(head[at : at + width], sys.byteorder)

    offset, size, count = (number(*place) for place in _HEADERS)
    headers = [at for at in range(offset, offset + size * count, size) if at < len(head)] if size else []
    for at in headers:
        if number(at, 4) == _INTERPRETER:
            begin, length = number(at + _NAME[0], 8), number(at + _NAME[1], 8)
            return os.fsdecode(head[begin : begin + length].rstrip(b"\0"))
    return "" if not headers else None


def run(command: Sequence[str], environment: Mapping[str, str], caller: str) -> int:
    """Run a program to its end; its exit code, or less than 0 the signal that killed it.

    It has our standard streams and whatever else is open to be inherited. Signals that other processes send to us it
    gets too. Raises ProgramAbsent or ProgramNotExecutable, in words of the command of ours that is the `caller`.
    """
    forwarded = {getattr(signal, name) for name in _FORWARDED}
    # The default, unlike one that was inherited, leaves ended children to be waited for.
    before = signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {*forwarded, signal.SIGCHLD})
    try:
        pid = _start(command, environment, mask, caller)
        # Wait for the program, and send it meanwhile what other processes send to us.
        while True:
            received = signal.sigtimedwait({*forwarded, signal.SIGCHLD}, _LOOK_SECONDS)
            if received is not None and received.si_signo in forwarded and received.si_code != _SI_KERNEL:
                os.kill(pid, received.si_signo)
            # A child that is only stopped has not ended.
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                return os.waitstatus_to_exitcode(status)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        signal.signal(signal.SIGCHLD, before)


def left_in(folder: Path) -> Left:
    """What is in the folder after the program has ended."""
    lines = [
        line
        for path in sorted(folder.glob("*.message"))
        for line in read_bounded(path).decode(errors="replace").splitlines()
        if line.strip()
    ]
    parts = sorted(folder.glob("*.part"))
    # Where the disk or a limit left no room for a first record, it had none for a message either.
    lines += [
        f"{part}: no room for what this process did: the disk is full, or the size of files is limited (ulimit -f)"
        for part in parts
        if not part.stat().st_size and not any(line.startswith(str(part)) for line in lines)
    ]
    return Left(parts, list(dict.fromkeys(lines)))


def _preloading(environment: Mapping[str, str], name: str) -> dict[str, str]:
    """The environment with a library of ours behind those that are to be preloaded already, for programs of glibc."""
    # Its library would refuse to start behind ours, before which nothing of it is needed.
    sanitizer = ["verify_asan_link_order=0", environment.get(_ASAN_OPTIONS, "")]
    # Where the library itself were missing, the linker would say nothing.
    _library(f"{name}.so")
    # The path, unless the linker would take it for several.
    path = _library(f"{name}_preload.so")
    if any(character in ": \t\n" for character in str(path)):
        raise Unsupported(f"{path} cannot be preloaded: its path has a space or a colon; install the package elsewhere")
    preloaded = [environment.get(_PRELOADED, ""), str(path)]
    return {
        **environment,
        _PRELOADED: " ".join(filter(None, preloaded)),
        _ASAN_OPTIONS: ":".join(filter(None, sanitizer)),
    }


def _library(name: str) -> Path:
    """A library that is to be loaded into the program."""
    try:
        return installed_file(name)
    except FileNotFoundError as error:
        raise Unsupported(str(error)) from None


def _start(command: Sequence[str], environment: Mapping[str, str], mask: set[signal.Signals | int], caller: str) -> int:
    defaults = [getattr(signal, name) for name in _IGNORED_BY_PYTHON]
    is_python = command[0].endswith(".py") and Path(command[0]).is_file()
    by_python = f"{command[0]} is a Python file: isthmus {caller} -- python {shlex.join(command)}" if is_python else ""
    try:
        return os.posix_spawnp(command[0], list(command), environment, setsigmask=mask, setsigdef=defaults)
    except FileNotFoundError as error:
        absent = f"{command[0]}: no such program; name it by its path or as PATH finds it"
        raise ProgramAbsent(by_python or absent) from error
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise ProgramNotExecutable(by_python or f"{command[0]}: cannot be run: {reason}") from error
