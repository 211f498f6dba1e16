"""A file's bytes go to a block of a device's memory by a thread, while its caller makes tensors of the block."""

import concurrent.futures
import contextlib
import os
from types import TracebackType
from typing import Any, BinaryIO

import torch

import isthmus
from isthmus.weights import Run


class FileReader:
    """What is read from an open file, from `begin` on; in a with-block, which ends what is under way.

    Copies begin after what the current stream held when this was made.
    """

    def __init__(self, file: BinaryIO, begin: int, device: torch.device, session: isthmus.Session | None) -> None:
        self._file = file.fileno()
        self._begin = begin
        self._device = device
        self._stream = torch.cuda.current_stream(device) if device.type == "cuda" else None
        self._session = session
        self._thread = concurrent.futures.ThreadPoolExecutor(1)
        self._block: torch.Tensor | None = None
        self._runs: tuple[Run, ...] = ()
        # What the thread does, with its own descriptor and that of a file without bytes; None where there is no thread.
        self._reading: concurrent.futures.Future[None] | None = None
        self._descriptor = self._nothing = -1

    def __enter__(self) -> "FileReader":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._stop()
        finally:
            self._thread.shutdown()

    def read(self, there: torch.Tensor, begin: int) -> None:
        """Fill memory on either side with the bytes from `begin` on, and return when they are there."""
        self._read(self._file, there, begin)

    def copy(self, there: torch.Tensor, here: torch.Tensor) -> None:
        """Copy what was read to the host, in the order of what is read."""
        if there.device.type == "cpu":
            there.copy_(here)
        else:
            isthmus.copy(there, here, stream=self._stream, session=self._session)

    def block(self, size: int, runs: tuple[Run, ...]) -> torch.Tensor:
        """Memory of `size` bytes that is being filled with the runs: that of the last call, if it was for the same.

        What another call began ends, and its memory is given back before. Raises torch.OutOfMemoryError.
        """
        if self._block is not None and (len(self._block), self._runs) == (size, runs):
            return self._block
        self._stop()
        self._block = None
        self._block, self._runs = torch.empty(size, dtype=torch.uint8, device=self._device), runs
        # No thread or no descriptor is to be had at a limit, or while Python ends: wait() reads by itself then.
        with contextlib.suppress(RuntimeError, OSError):
            self._start(self._block)
        return self._block

    def _start(self, block: torch.Tensor) -> None:
        with contextlib.ExitStack() as undone:
            nothing = os.open(os.devnull, os.O_RDONLY)
            undone.callback(os.close, nothing)
            descriptor = os.dup(self._file)
            undone.callback(os.close, descriptor)
            self._reading = self._thread.submit(self._fill, descriptor, block, self._runs)
            self._descriptor, self._nothing = descriptor, nothing
            undone.pop_all()

    def wait(self) -> None:
        """Return when the block is filled. Raises CopyFailed where the file is cut off, or cannot be read."""
        if self._reading is not None:
            self._reading.result()
        elif self._block is not None:
            self._fill(self._file, self._block, self._runs)

    def _stop(self) -> None:
        if self._reading is None:
            return
        if not self._reading.done():
            # The next read is at the end of the file that takes the place of this one, and so the last.
            os.dup2(self._nothing, self._descriptor, inheritable=False)
            concurrent.futures.wait([self._reading])
        os.close(self._descriptor)
        os.close(self._nothing)
        self._reading = None

    def _fill(self, descriptor: int, block: torch.Tensor, runs: tuple[Run, ...]) -> None:
        for run in runs:
            self._read(descriptor, block[run.place : run.place + run.size], run.begin)

    def _read(self, descriptor: int, there: Any, begin: int) -> None:
        stream = self._stream if there.device.type == "cuda" else None
        isthmus.copy_from_file(there, descriptor, offset=self._begin + begin, stream=stream, session=self._session)
