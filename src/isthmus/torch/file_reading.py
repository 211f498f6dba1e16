"""A file's bytes go to a block of a device's memory by a thread, while its caller makes tensors of the block."""

import concurrent.futures
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
        # The thread's own descriptor, and what it does.
        self._descriptor = -1
        self._reading: concurrent.futures.Future[None] | None = None

    def __enter__(self) -> "FileReader":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()
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
        self._descriptor = os.dup(self._file)
        self._reading = self._thread.submit(self._fill, self._descriptor, self._block, runs)
        return self._block

    def wait(self) -> None:
        """Return when the block is filled. Raises CopyFailed where the file is cut off, or cannot be read."""
        if self._reading is not None:
            self._reading.result()

    def _stop(self) -> None:
        if self._reading is None:
            return
        if not self._reading.done():
            # The next read is at the end of the file that takes the place of this one, and so the last.
            nothing = os.open(os.devnull, os.O_RDONLY)
            os.dup2(nothing, self._descriptor, inheritable=False)
            os.close(nothing)
            concurrent.futures.wait([self._reading])
        os.close(self._descriptor)
        self._reading = None

    def _fill(self, descriptor: int, block: torch.Tensor, runs: tuple[Run, ...]) -> None:
        for run in runs:
            self._read(descriptor, block[run.place : run.place + run.size], run.begin)

    def _read(self, descriptor: int, there: Any, begin: int) -> None:
        stream = self._stream if there.device.type == "cuda" else None
        isthmus.copy_from_file(there, descriptor, offset=self._begin + begin, stream=stream, session=self._session)
