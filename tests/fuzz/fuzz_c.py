"""Gives the C interface argument sets made up from a seed, right and wrong ones, and knows what must arrive.

    python tests/fuzz/fuzz_c.py LIBRARY DEVICE [SEED [SETS]]

DEVICE is host, or cuda:0 with the fake driver on LD_LIBRARY_PATH. Every call must end with a code of isthmus.h and
agree with its status; what succeeded must have moved exactly the bytes that a model in NumPy moves, and what was
refused none.
"""

import random
import sys
from collections.abc import Callable
from ctypes import byref, c_size_t, c_void_p, sizeof
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests import c_library as c

SIZE = 1 << 16
CODES = range(9)
# No memory of anybody's.
NOWHERE = (0, 1, 16, 4095, (1 << 47) - 4096, (1 << 64) - 1)
DIRECTIONS = (c.BY_ADDRESS, c.H2D, c.D2H, c.D2D, c.H2H)
HUGE = (0, 1 << 32, (1 << 63) - 1, 1 << 63, (1 << 64) - 1)

Bytes = npt.NDArray[np.uint8]


class Memory:
    """Bytes of one side at an address, and what they must be."""

    def __init__(self, address: int, side: int, seed: int) -> None:
        self.address, self.side = address, side
        self.expected: Bytes = np.random.default_rng(seed).integers(0, 256, SIZE, np.uint8)


class Fuzzer:
    """A session with two blocks of memory on each side."""

    def __init__(self, library: c.Library, device: str, seed: int) -> None:
        self.library, self.random = library, random.Random(seed)
        self.session = c_void_p()
        library.must("open", device.encode(), None, byref(self.session))
        self.counts: dict[str, int] = {}
        self.memories: list[Memory] = []
        # Above this all is ours to use; zones around it are watched.
        self.blocks = [np.full(SIZE + 2 * c.GUARD, 0xA5, np.uint8) for _ in range(2)]
        for number, block in enumerate(self.blocks):
            self.memories.append(Memory(block.ctypes.data + c.GUARD, c.HOST, number))
            block[c.GUARD : -c.GUARD] = self.memories[-1].expected
        for number in range(2, 4):
            there = library.allocate(self.session, SIZE)
            assert there.value is not None
            self.memories.append(Memory(there.value, c.DEVICE, number))
            sent = self.memories[-1].expected
            library.must("copy", self.session, there, c_void_p(sent.ctypes.data), SIZE, c.H2D, None)

    def step(self) -> None:
        """One argument set, of any function."""
        kinds: list[Callable[[], None]] = [self.copy, self.copy, self.array, self.array, self.batch, self.other]
        self.random.choice(kinds)()

    def wrong(self, share: float = 0.15) -> bool:
        """Whether the next argument shall be a wrong one."""
        return self.random.random() < share

    def check(self) -> None:
        """Compare all memory with what it must hold."""
        for memory, block in zip(self.memories, self.blocks, strict=False):
            assert (block[: c.GUARD] == 0xA5).all(), "written before the memory"
            assert (block[-c.GUARD :] == 0xA5).all(), "written behind the memory"
            assert np.array_equal(block[c.GUARD : -c.GUARD], memory.expected), "other bytes on the host"
        for memory in self.memories[2:]:
            arrived = np.empty(SIZE, np.uint8)
            there, here = c_void_p(memory.address), c_void_p(arrived.ctypes.data)
            self.library.must("copy", self.session, here, there, SIZE, c.D2H, None)
            assert np.array_equal(arrived, memory.expected), "other bytes on the device"

    def call(self, name: str, *arguments: Any) -> bool:
        """Whether the call, waiting or not, succeeded."""
        asynchronous = name.startswith("copy") and self.random.random() < 0.4
        if not asynchronous:
            return self._code(name, self.library.call(name, *arguments))
        transfer = c_void_p()
        begun = self._code(f"{name}_async", self.library.call(f"{name}_async", *arguments, byref(transfer)))
        if not begun:
            assert not transfer.value, "a transfer of a copy that was refused"
            return False
        if self.random.random() < 0.3:
            self.library["isthmus_done"](transfer)
            self.library.call("hold_stream", transfer, None)
            self.library.must("wait", transfer)
        return self._code("finish", self.library.call("finish", transfer))

    def _code(self, name: str, status: c.Status) -> bool:
        assert status.code in CODES, status.code
        assert b"\0" in bytes(status)[-960:], "a message without an end"
        done = f"{name} {'done' if status.code == c.OK else 'refused'}"
        self.counts[done] = self.counts.get(done, 0) + 1
        return bool(status.code == c.OK)

    def pair(self) -> tuple[Memory, Memory, int]:
        """A destination and another source, and what says their sides, if anything does."""
        to, source = self.random.sample(self.memories, 2)
        said = {
            (c.DEVICE, c.HOST): c.H2D,
            (c.HOST, c.DEVICE): c.D2H,
            (c.DEVICE, c.DEVICE): c.D2D,
            (c.HOST, c.HOST): c.H2H,
        }[to.side, source.side]
        return to, source, self.random.choice([said, c.BY_ADDRESS])

    def copy(self) -> None:
        """isthmus_copy."""
        to, source, direction = self.pair()
        size = self.random.choice([0, 1, 7, 64, 4096, self.random.randrange(SIZE)])
        at, start = (self.random.randrange(SIZE - size + 1) for _ in range(2))
        destination, origin, session, spoilt = to.address + at, source.address + start, self.session, False
        if self.wrong():
            # What is nowhere is looked at only where nobody said what it is.
            direction, spoilt = c.BY_ADDRESS, True
            which = self.random.randrange(4)
            if which == 0:
                destination = self.random.choice(NOWHERE)
            elif which == 1:
                origin = self.random.choice(NOWHERE)
            elif which == 2:
                direction = self.random.choice([-1, 5, 1 << 30])
            else:
                session = c_void_p()
        arguments = (session, c_void_p(destination), c_void_p(origin), size, direction, None)
        if self.call("copy", *arguments):
            assert not spoilt or size == 0, "nothing lies there"
            to.expected[at : at + size] = source.expected[start : start + size]

    def array(self) -> None:
        """isthmus_copy_array and isthmus_explain."""
        to, source, direction = self.pair()
        views = []
        element = self.random.choice([1, 2, 4, 8, 3])
        shape = tuple(self.random.choice([0, 1, 2, 3, 5, 8]) for _ in range(self.random.randrange(4)))
        infer = direction == c.BY_ADDRESS
        for memory in (to, source):
            order = self.random.sample(range(len(shape)), len(shape))
            strides, step = [0] * len(shape), element
            for dimension in order:
                step *= self.random.choice([1, 1, 2])
                strides[dimension] = step * self.random.choice([1, 1, -1])
                step *= max(shape[dimension], 1)
            first = sum(max(count - 1, 0) * -stride for count, stride in zip(shape, strides, strict=True) if stride < 0)
            assert step <= SIZE
            first += self.random.randrange(SIZE - step + 1)
            view = np.lib.stride_tricks.as_strided(memory.expected[first:], (*shape, element), (*strides, 1))
            given = c.array(c_void_p(memory.address), shape, element, tuple(strides), c.INFER if infer else memory.side)
            given.offset_bytes = first
            views.append((view, given))
        (to_view, to_given), (source_view, source_given) = views
        spoilt = self.wrong() and self._spoil(self.random.choice([to_given, source_given]))
        pair = (byref(to_given), byref(source_given))
        if self.wrong(0.2):
            explanation = c.Explanation(struct_bytes=self.random.choice([sizeof(c.Explanation), 0, 8]))
            self.call("explain", self.session, *pair, byref(explanation))
            return
        if self.call("copy_array", self.session, *pair, None):
            assert not spoilt, "what makes no sense was copied"
            to_view[...] = source_view

    def _spoil(self, given: c.Array) -> bool:
        """Make one argument wrong; whether that must be refused."""
        which = self.random.randrange(5)
        if which == 0:
            given.side = self.random.choice([-1, 3, 99])
        elif which == 1:
            given.element_bytes = self.random.choice([0, (1 << 64) - 1, 1 << 63])
        elif which == 2:
            given.dimensions = self.random.choice([33, 1 << 40, (1 << 64) - 1])
        elif which == 3 and given.dimensions:
            given.shape[0] += 1
        elif given.dimensions:
            given.shape = None
        else:
            return False
        return True

    def batch(self) -> None:
        """isthmus_copy_batch and isthmus_explain_batch."""
        to, source, direction = self.pair()
        pieces = self.random.choice([0, 1, 2, 17, 64])
        room = SIZE // max(pieces, 1)
        sizes = [self.random.choice([0, 1, 8, self.random.randrange(room)]) for _ in range(pieces)]
        order = self.random.sample(range(pieces), pieces)
        starts = [order[i] * room for i in range(pieces)]
        destinations, sources = (c_void_p * pieces)(), (c_void_p * pieces)()
        lengths = (c_size_t * pieces)(*sizes)
        for i in range(pieces):
            destinations[i], sources[i] = to.address + i * room, source.address + starts[i]
        spoilt = self.wrong() and pieces > 0
        lists: list[Any] = [destinations, sources, lengths]
        if spoilt:
            direction, victim = c.BY_ADDRESS, self.random.randrange(pieces)
            which = self.random.randrange(4)
            if which == 0:
                lists[self.random.randrange(3)] = None
            elif which == 1:
                lengths[victim], (destinations if self.wrong(0.5) else sources)[victim] = 8, None
            elif which == 2:
                direction = self.random.choice([-1, 7])
            else:
                lengths[victim] = self.random.choice(HUGE[1:])
        if self.wrong(0.2):
            explanation = c.Explanation(struct_bytes=sizeof(c.Explanation))
            self.call("explain_batch", self.session, pieces, *lists, direction, byref(explanation))
            return
        if self.call("copy_batch", self.session, pieces, *lists, direction, None):
            assert not spoilt, "what makes no sense was copied"
            for i, size in enumerate(sizes):
                to.expected[i * room : i * room + size] = source.expected[starts[i] : starts[i] + size]

    def other(self) -> None:
        """Opening, memory, and what sessions tell."""
        which = self.random.randrange(5)
        if which == 0:
            self.call("trim", self.session if not self.wrong() else None)
        elif which == 1:
            memory = c_void_p()
            size = self.random.choice([0, 1, 4096, *HUGE[2:]])
            side = self.random.choice([c.HOST, c.DEVICE, c.INFER, -1])
            if self.call("allocate", self.session, side, c_size_t(size), byref(memory)):
                self.library.must("free", self.session, memory)
        elif which == 2:
            self.call("free", self.session, c_void_p(self.random.choice(NOWHERE)))
        elif which == 3:
            name = self.random.choice([b"hist", b"", b"cuda:99", b"cuda:-1", b"host:", b"\xff\xfe", b"a" * 5000])
            opened = c_void_p()
            options = c.Options(struct_bytes=self.random.choice([0, 1, sizeof(c.Options), 1 << 40]))
            assert not self.call("open", name, byref(options), byref(opened)) or name == b"host:"
            if opened.value:
                self.library.must("close", opened)
        else:
            held = self.library["isthmus_pinned_bytes"](self.session)
            assert held <= self.library["isthmus_pinned_budget_bytes"](self.session)
            self.library["isthmus_code_name"](self.random.choice([-1, 0, 5, 99]))

    def close(self) -> None:
        """End the session."""
        self.check()
        self.library.must("close", self.session)


def main() -> None:
    """Run so many argument sets; what goes wrong names the set, which the seed makes again."""
    library, device, *rest = sys.argv[1:]
    seed, sets = int(rest[0]) if rest else 1, int(rest[1]) if len(rest) > 1 else 50_000
    fuzzer = Fuzzer(c.Library(Path(library)), device, seed)
    number = 0
    try:
        for number in range(sets):
            fuzzer.step()
            if number % 64 == 0:
                fuzzer.check()
        fuzzer.close()
    except AssertionError as error:
        raise SystemExit(f"argument set {number} of seed {seed} on {device}: {error}") from error
    print(
        f"{sets} argument sets on {device}, 0 faults: {sum(fuzzer.counts.values())} calls, "
        f"{sum(count for name, count in fuzzer.counts.items() if name.endswith('done'))} of which succeeded"
    )


if __name__ == "__main__":
    main()
