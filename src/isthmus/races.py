"""Races of copies with the host and each other, as `isthmus races` recorded them: what processes left, with lines."""

import re
import shutil
import struct
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from isthmus.errors import IsthmusError
from isthmus.files import read_begin

# As native/races/record.hpp has them.
_FORMAT = b"ISTHRAC2"
_HEAD = struct.Struct("=8s6Q64s1024s")
_FINDING = struct.Struct("=5Q6IQ2I1536s1536s")
_MOST_FINDINGS = 256
_BY_SYSTEM_CALL, _BY_STREAM, _BY_FREE = 1, 2, 3
_PAGE = 4096
_SIZE = -(-(_HEAD.size + _MOST_FINDINGS * _FINDING.size) // _PAGE) * _PAGE
_NATIVE = re.compile(r"(/.*|[^/:]+)\+0x([0-9a-f]+)")
# Frames of these say nothing of the program.
_PLUMBING = ("libc.so", "libc-", "ld-linux", "libstdc++", "libm.so", "libpthread", "libpython", "python", "libcuda")
_LOOK_UP_SECONDS = 60
# How `addr2line -a` begins each answer, and where lines are that no program wrote.
_ADDRESS = re.compile(r"^0x[0-9a-f]+\n", re.MULTILINE)
_HEADERS = "/usr/"


@dataclass(frozen=True)
class Race:
    """Two places that met `count` times: a copy that was asked for, and a touch of its bytes that is behind nothing.

    The host touches them, or work of `other_stream`, where `between_streams`: another copy, a fill, or the end of the
    memory (`frees`). `copied_at` and `touched_at` are the program's frames, the innermost first. `offset` bytes behind
    where the copy begins was the first touch. A stream of 0 is the default one. `into_host`: the copy writes what is
    touched; `writes`: the touch does.
    """

    program: str
    process: int
    count: int
    stream: int
    bytes: int
    offset: int
    copy_thread: int
    touch_thread: int
    into_host: bool
    writes: bool
    by_system_call: bool
    between_streams: bool
    frees: bool
    other_stream: int
    copied_at: tuple[str, ...]
    touched_at: tuple[str, ...]

    @property
    def place(self) -> str:
        """What tells it from other races, a line of a file of those to ignore."""
        return f"{next(iter(self.copied_at), '?')} / {next(iter(self.touched_at), '?')}"

    @property
    def in_python(self) -> bool:
        """Whether the program is one of Python, so that its cure is, too."""
        return any(_is_python(line) for line in self.copied_at)


@dataclass
class Races:
    """What all processes of a program left; `reasons` are why something was not followed, in English."""

    processes: int = 0
    followed: int = 0
    without_room: int = 0
    without_slot: int = 0
    ignored: int = 0
    races: list[Race] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)


def read_races(folder: Path, ignored: Iterable[str] = ()) -> Races:
    """The races of all processes, without those whose place is `ignored`. Never raises for what is in the folder."""
    seen, leave = Races(), set(ignored)
    for path in sorted(folder.glob("*.races")):
        try:
            data = read_begin(path, _SIZE + 1)
        except IsthmusError as error:
            seen.refused.append(str(error))
            continue
        # The process was killed before it had begun.
        if not data.strip(b"\0"):
            continue
        if data[: len(_FORMAT)] != _FORMAT or len(data) != _SIZE or _HEAD.unpack_from(data)[5] > _MOST_FINDINGS:
            seen.refused.append(f"{path.name}: no races of this version of Isthmus")
            continue
        _add(seen, data, leave)
    seen.reasons = list(dict.fromkeys(seen.reasons))
    return seen


def _add(seen: Races, data: bytes, leave: set[str]) -> None:
    _, process, followed, without_room, _, count, without_slot, program, reasons = _HEAD.unpack_from(data)
    seen.processes += 1
    seen.followed += followed
    seen.without_room += without_room
    seen.without_slot += without_slot
    seen.reasons += _text(reasons).splitlines()
    for index in range(count):
        race = _race(data, _HEAD.size + index * _FINDING.size, process, _text(program))
        if race is None:
            continue
        if race.place in leave:
            seen.ignored += 1
        else:
            seen.races.append(race)


def _race(data: bytes, at: int, process: int, program: str) -> Race | None:
    count, stream, size, offset, other, copier, toucher, into, writes, kind, complete, *_, copied, touched = (
        _FINDING.unpack_from(data, at)
    )
    # The process was killed while it wrote.
    if not complete:
        return None
    return Race(
        program=program,
        process=process,
        count=count,
        stream=stream,
        bytes=size,
        offset=offset,
        copy_thread=copier,
        touch_thread=toucher,
        into_host=bool(into),
        writes=bool(writes),
        by_system_call=kind == _BY_SYSTEM_CALL,
        between_streams=kind in (_BY_STREAM, _BY_FREE),
        frees=kind == _BY_FREE,
        other_stream=other,
        copied_at=_lines(_text(copied), first_is_a_call=True),
        # A touch itself is where it is; what a system call or a stream touches is asked for by a call.
        touched_at=_lines(_text(touched), first_is_a_call=bool(kind)),
    )


def _text(raw: bytes) -> str:
    return raw.partition(b"\0")[0].decode(errors="replace")


def _is_python(line: str) -> bool:
    return _NATIVE.fullmatch(line) is None and ".py:" in line


def _lines(text: str, *, first_is_a_call: bool) -> tuple[str, ...]:
    """The program's frames with their lines where debug information has them, else as module and offset."""
    frames = text.splitlines()
    python = [line for line in frames if not _NATIVE.fullmatch(line)]
    native = [
        (match[1], int(match[2], 16) - (1 if index or first_is_a_call else 0))
        for index, match in enumerate(filter(None, map(_NATIVE.fullmatch, frames[len(python) :])))
    ]
    own = [frame for frame in native if not Path(frame[0]).name.startswith(_PLUMBING)] or native
    return (*python, *(_looked_up(own)))


def _looked_up(frames: Sequence[tuple[str, int]]) -> Iterator[str]:
    known: dict[tuple[str, int], list[str]] = {}
    tool = shutil.which("addr2line")
    for module in {path for path, _ in frames} if tool else ():
        offsets = [offset for path, offset in frames if path == module]
        words = [str(tool), "-a", "-i", "-C", "-f", "-e", module, *map(hex, offsets)]
        with suppress(OSError, subprocess.SubprocessError):
            done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=_LOOK_UP_SECONDS)
            # After each address: a name and a line for the function, before it those that the compiler put inside it.
            for offset, answer in zip(offsets, _ADDRESS.split(done.stdout)[1:], strict=False):
                known[module, offset] = list(_functions(module, offset, answer.splitlines()))
    for module, offset in frames:
        yield from known.get((module, offset)) or [_named(module, offset)]


def _functions(module: str, offset: int, answer: Sequence[str]) -> Iterator[str]:
    """The functions at one address, the innermost first: those of the system's headers only where there is no other."""
    places = [place.partition(" (discriminator")[0] for place in answer[1::2]]
    has_others = not all(place.startswith((_HEADERS, "??")) for place in places)
    for name, place in zip(answer[::2], places, strict=False):
        if name != "??" and not (has_others and place.startswith(_HEADERS)):
            yield _named(module, offset, name) if place.startswith("??") else f"{place} {name}"


def _named(module: str, offset: int, name: str = "") -> str:
    return f"{Path(module).name}+{offset:#x} {name}".rstrip()
