"""Messages between ranks that nobody waits for, so that a rank which is gone stops no other."""

import time
from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mpi4py.MPI import Comm, Request


class Mailbox:
    """What this rank sends and gets under one tag; to itself without MPI."""

    def __init__(self, comm: "Comm", tag: int) -> None:
        self._comm = comm
        self._tag = tag
        self._own = comm.Get_rank()
        self._posted: deque[tuple[float, Request]] = deque()
        self._arriving: list[tuple[int, Request]] = []
        self._to_itself: list[bytes] = []

    def post(self, message: bytes, to: int) -> None:
        """Send and go on."""
        if to == self._own:
            self._to_itself.append(message)
        else:
            # Synchronous, which has arrived only when the other rank has taken it.
            self._posted.append((time.monotonic(), self._comm.issend(message, to, self._tag)))

    def take(self) -> list[tuple[int, bytes]]:
        """The messages that have arrived, each with the rank that it is from."""
        from mpi4py import MPI

        taken = [(self._own, message) for message in self._to_itself]
        self._to_itself = []
        status = MPI.Status()
        while (found := self._comm.improbe(MPI.ANY_SOURCE, self._tag, status)) is not None:
            self._arriving.append((status.Get_source(), found.irecv()))
        waiting = []
        for source, request in self._arriving:
            done, message = request.test()
            if done:
                taken.append((source, message or b""))
            else:
                waiting.append((source, request))
        self._arriving = waiting
        return taken

    def oldest_seconds(self) -> float:
        """How long the oldest message has waited to be taken; 0 without any."""
        self._posted = deque((began, request) for began, request in self._posted if not request.test()[0])
        return time.monotonic() - self._posted[0][0] if self._posted else 0.0
