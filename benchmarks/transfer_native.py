"""benchmarks/transfer_powers.c, built against the installed library: the C interface without Python around it."""

import ctypes
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from isthmus import _native
from isthmus.errors import CallFailed, LibraryAbsent

SOURCE = Path(__file__).with_name("transfer_powers.c")
# Ways of turns_copy, ...
ISTHMUS, DRIVER, BY_ADDRESS, ARRIVED, QUEUED = 0, 1, 2, 3, 4
# ... and of turns_pieces.
LOOP, BATCH = 1, 2

Addresses = npt.NDArray[np.uint64]


class Native:
    """Copies whose seconds are measured in C, in a session of its own on one device.

    Raises LibraryAbsent, with what to do, where there is no C compiler or no installed library to link to.
    """

    def __init__(self, device: str, folder: Path) -> None:
        self._library = ctypes.CDLL(str(_built(folder)))
        for name, result, arguments in _FUNCTIONS:
            # Not by subscription, which makes another object each time.
            function = getattr(self._library, name)
            function.restype, function.argtypes = result, arguments
        if self._library.turns_open(device.encode()):
            raise CallFailed(self._error())

    def device(self, size: int) -> int:
        """The address of device memory that goes with the session."""
        address: int | None = self._library.turns_allocate(size)
        if address is None:
            raise CallFailed(self._error())
        return address

    def copy(
        self,
        way: int,
        to_device: bool,
        device: int,
        host: int,
        size: int,
        slot_bytes: int = 0,
        slots: int = 1,
        first: int = 0,
        repeats: int = 1,
    ) -> float:
        """Seconds of one of so many copies of `size` bytes, each from or to the next slot of the host's memory.

        By ISTHMUS, which is told the direction; by ISTHMUS, which asks BY_ADDRESS; by the DRIVER, whose copies of
        pageable memory to the device return before the bytes have ARRIVED, or until then; or by the driver's
        asynchronous copy, QUEUED on the default stream and waited for.
        """
        return self._seconds("turns_copy", way, to_device, device, host, size, slot_bytes, slots, first, repeats)

    def question(self, name: str, of_default: bool, repeats: int) -> float:
        """Seconds of one call of this function of the driver, of the default stream or context where it takes one."""
        return self._seconds("turns_question", name.encode(), of_default, repeats)

    def pieces(
        self, way: int, to_device: bool, destinations: Addresses, sources: Addresses, sizes: npt.NDArray[np.uint64]
    ) -> float:
        """Seconds of all pieces by ISTHMUS, a LOOP of copies or the driver's BATCH call."""
        lists = [each.ctypes.data for each in (destinations, sources, sizes)]
        return self._seconds("turns_pieces", way, to_device, destinations.size, *lists)

    def column(
        self, ours: bool, destination: int, source: int, width: int, rows: int, pitch: int, repeats: int
    ) -> float:
        """Seconds of rows every `pitch` bytes of the device, side by side to the host: of one such copy of some."""
        return self._seconds("turns_column", ours, destination, source, width, rows, pitch, repeats)

    @property
    def pinned(self) -> tuple[int, int]:
        """Page-locked bytes of its session, and its budget."""
        held: int = self._library.turns_pinned_bytes()
        budget: int = self._library.turns_pinned_budget_bytes()
        return held, budget

    def close(self) -> None:
        """Close the session."""
        if self._library.turns_close():
            raise CallFailed(self._error())

    def _seconds(self, name: str, *arguments: object) -> float:
        seconds: float = getattr(self._library, name)(*arguments)
        if seconds < 0:
            raise CallFailed(self._error())
        return seconds

    def _error(self) -> str:
        text: bytes = self._library.turns_error()
        return text.decode()


_INT, _SIZE, _POINTER = ctypes.c_int, ctypes.c_size_t, ctypes.c_void_p
_FUNCTIONS: Sequence[tuple[str, type | None, list[type]]] = (
    ("turns_open", _INT, [ctypes.c_char_p]),
    ("turns_close", _INT, []),
    ("turns_allocate", _POINTER, [_SIZE]),
    ("turns_error", ctypes.c_char_p, []),
    ("turns_pinned_bytes", _SIZE, []),
    ("turns_pinned_budget_bytes", _SIZE, []),
    ("turns_copy", ctypes.c_double, [_INT, _INT, _POINTER, _POINTER, _SIZE, _SIZE, _SIZE, _SIZE, _SIZE]),
    ("turns_question", ctypes.c_double, [ctypes.c_char_p, _INT, _SIZE]),
    ("turns_pieces", ctypes.c_double, [_INT, _INT, _SIZE, _POINTER, _POINTER, _POINTER]),
    ("turns_column", ctypes.c_double, [_INT, _POINTER, _POINTER, _SIZE, _SIZE, _SIZE, _SIZE]),
)


def _built(folder: Path) -> Path:
    """The shared library, built into this folder."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        raise LibraryAbsent("no C compiler: install one as cc, gcc or clang")
    package = Path(_native.__file__).parent
    if not (package / "lib").is_dir():
        raise LibraryAbsent(f"no C library in {package}: install the package (pip install .), not its sources in place")
    built = folder / "libtransfer_powers.so"
    library = ["-L", str(package / "lib"), f"-Wl,-rpath,{package / 'lib'}", "-listhmus", "-ldl"]
    command = [compiler, "-O2", "-shared", "-fPIC", "-I", str(package / "include"), str(SOURCE), "-o", str(built)]
    done = subprocess.run([*command, *library], capture_output=True, text=True, check=False)
    if done.returncode:
        raise LibraryAbsent(f"{compiler} could not build {SOURCE.name}: {done.stderr.strip()}")
    return built
