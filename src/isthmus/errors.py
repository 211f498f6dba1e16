"""Every exception that Isthmus raises on purpose; a leaf that any module may import.

The native core reports failures as a status; the bindings turn each status into one of these classes, in one place.
"""

_FAILED, _USAGE, _DEVICE_ABSENT, _INTERRUPTED, _TERMINATED = 1, 2, 3, 130, 143
# As shells have it.
_NOT_EXECUTABLE, _NO_PROGRAM = 126, 127


# Python keeps bytes of names that are no UTF-8 as halves of characters, which no file and no terminal takes.
_BYTES = {0xDC00 + byte: f"\\x{byte:02x}" for byte in range(128, 256)}


def as_text(name: object) -> str:
    r"""A name of the system's as text that can be written anywhere: bytes that are not UTF-8 as ``\xff``."""
    return str(name).translate(_BYTES)


class IsthmusError(Exception):
    """Base class: the message says what was found, what was expected and what to do."""

    def __str__(self) -> str:
        return as_text(super().__str__())


class UsageError(IsthmusError, ValueError):
    """The caller asked for something that does not exist or makes no sense."""


class WrongType(UsageError, TypeError):
    """What was passed is no array, no stream or no session; the message names what is expected."""


class WeightsFileError(UsageError):
    """A file of weights, or an index of such files, is not as its format says; the message names the file and why."""


class NotShared(UsageError, BufferError):
    """An array that Isthmus made cannot be handed to another library as it is; the message names its type."""


class DeviceAbsent(IsthmusError):
    """No such device here; the message lists what was looked for and what to install."""


class LibraryAbsent(DeviceAbsent):
    """A vendor library could not be opened; the message names the files that were tried."""


class FunctionAbsent(IsthmusError):
    """The vendor library is there but too old for one function; the message names the version that has it."""


class Unsupported(IsthmusError):
    """This device cannot do that (a memory kind, a method); the reason becomes a recorded skip."""


class CallFailed(IsthmusError):
    """A driver call failed; the message holds the operation, the driver's code and the bytes concerned.

    For a copy, `operation` is the function that was called, `code` is ``call_failed``, ``timed_out`` or
    ``out_of_memory``, and `bytes_completed` says how much had arrived.
    """

    operation: str = ""
    code: str = ""
    bytes_completed: int = 0


class CopyFailed(CallFailed):
    """A copy failed on its way; `bytes_completed` says how much of it had arrived."""


class OutOfMemory(CallFailed):
    """Host or device memory, or a limit on locked memory, did not suffice."""


class TimedOut(IsthmusError, TimeoutError):
    """What was waited for had not ended in time. It goes on."""


class RegistryError(IsthmusError):
    """An experiment is entered by half: the message names what it lacks."""


class RunFileError(IsthmusError):
    """A run file could not be read or written; the message names the file, the place and what was expected."""


class TraceFileError(IsthmusError):
    """A trace could not be read; the message names the file, what was found, what was expected and what to do."""


class ProgramAbsent(IsthmusError):
    """The program that was to be traced does not exist; the message names it."""


class ProgramNotExecutable(IsthmusError):
    """The program that was to be traced is there and cannot be run; the message says why."""


class Terminated(KeyboardInterrupt):
    """Someone else ended the process, as timeout(1) and schedulers do; what was measured is kept as by Ctrl-C."""


class ReportFailed(IsthmusError):
    """A renderer failed; the message names the format, and nothing is left that would be taken for a report."""


def exit_code(error: BaseException) -> int:
    """What a process that ends by this exception tells its caller."""
    if isinstance(error, KeyboardInterrupt):
        return _TERMINATED if isinstance(error, Terminated) else _INTERRUPTED
    if isinstance(error, UsageError | RunFileError | TraceFileError | ReportFailed):
        return _USAGE
    if isinstance(error, ProgramAbsent | ProgramNotExecutable):
        return _NO_PROGRAM if isinstance(error, ProgramAbsent) else _NOT_EXECUTABLE
    return _DEVICE_ABSENT if isinstance(error, DeviceAbsent) else _FAILED
