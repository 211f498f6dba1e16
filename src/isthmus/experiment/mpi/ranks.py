"""The processes that measure together over MPI: messages between them, and an end for all when one of them fails.

No wait on MPI is without a limit: a launcher that does not end the others when one rank dies must not leave them there.
"""

import os
import socket
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt

from isthmus.errors import IsthmusError, UsageError, exit_code
from isthmus.experiment.mpi.launcher import Launched, launched
from isthmus.experiment.mpi.mailbox import Mailbox
from isthmus.installing import install_extra
from isthmus.messages import to_stderr

if TYPE_CHECKING:
    from mpi4py.MPI import Comm, Request

T = TypeVar("T")
Parts = npt.NDArray[np.float64]

# Without any message that was waited for. The longest that a rank computes between two of them is some seconds.
PATIENCE_SECONDS = 60.0
# The same between ranks that exchange halos, which work in step.
STEP_PATIENCE_SECONDS = 20.0
# Short waits spin, as an MPI library would; long ones leave the processor to others.
_SPIN_SECONDS = 0.005
_NAP_SECONDS = 0.0005
# What an interrupted rank leaves rank 0 to finish the run file, before it ends all.
_GRACE_SECONDS = 10.0
# A launcher that is told to end all ranks may drop what they have written and it has not passed on yet.
_DELIVERY_SECONDS = 0.3
# What arrives at one of a tile's borders, of which there are four, has a tag of its own.
_TALK, _BORDER, _FIRST_MAILBOX = 1, 2, 6


class RanksBroken(RuntimeError):
    """A rank failed or is gone, so that nothing can be measured any more; no IsthmusError, lest it become a skip."""


class Ranks:
    """This process among those that share a run; of one process alone nothing here needs MPI.

    As a context it ends all ranks when an exception leaves it: with a message, by MPI's Abort.
    """

    def __init__(self, comm: "Comm | None" = None, patience_seconds: float = PATIENCE_SECONDS) -> None:
        self._comm = comm
        self._patience = patience_seconds
        self.rank = 0
        self.count = 1
        self.local_rank = 0
        self.local_count = 1
        self.node = 0  # The lowest rank on this machine, since names of hosts may repeat.
        if comm is not None:
            from mpi4py import MPI

            self.rank, self.count = comm.Get_rank(), comm.Get_size()
            local = comm.Split_type(MPI.COMM_TYPE_SHARED)
            self.local_rank, self.local_count = local.Get_rank(), local.Get_size()
            self.node = local.bcast(self.rank)
            local.Free()

    @property
    def host(self) -> str:
        """The machine that this rank runs on."""
        return socket.gethostname()

    @property
    def leads(self) -> bool:
        """Whether this is the rank that plans, writes and prints."""
        return self.rank == 0

    @property
    def name(self) -> str:
        """For messages."""
        return self.name_of(self.rank, self.host)

    @staticmethod
    def name_of(rank: int, host: str) -> str:
        """``rank 1 (node17)``."""
        return f"rank {rank} ({host})"

    def tell(self, message: object) -> None:
        """Rank 0 sends the same to all others, which `listen` for it."""
        if self._comm is not None:
            self._wait([self._comm.isend(message, other, _TALK) for other in range(1, self.count)], "the other ranks")

    def listen(self) -> Any:
        """What rank 0 told."""
        return self._receive(0)

    def gather(self, own: T) -> list[T] | None:
        """What every rank gives, by rank, on rank 0; None on the others."""
        if self._comm is None:
            return [own]
        if self.leads:
            return [own, *(self._receive(other) for other in range(1, self.count))]
        self._wait([self._comm.isend(own, 0, _TALK)], "rank 0")
        return None

    def all_gather(self, own: T) -> list[T]:
        """What every rank gives, by rank, on all."""
        answers = self.gather(own)
        if answers is None:
            return list(self.listen())
        self.tell(answers)
        return answers

    def barrier(self) -> None:
        """Wait until all ranks are here."""
        if self._comm is not None:
            self._wait([self._comm.Ibarrier()], "the other ranks")

    def exchange(self, outgoing: Sequence[Parts], incoming: Sequence[Parts], neighbours: Sequence[int]) -> None:
        """Send to the neighbour on each side, and receive from it; the side opposite to k is k ^ 1.

        What goes to the left arrives there from the right.
        """
        if self._comm is None:
            for side, part in enumerate(outgoing):
                incoming[side ^ 1][:] = part
            return
        requests = [
            self._comm.Irecv(part, neighbour, _BORDER + side)
            for side, (part, neighbour) in enumerate(zip(incoming, neighbours, strict=True))
        ]
        requests += [
            self._comm.Isend(part, neighbour, _BORDER + (side ^ 1))
            for side, (part, neighbour) in enumerate(zip(outgoing, neighbours, strict=True))
        ]
        whom = " or ".join(f"rank {neighbour}" for neighbour in neighbours)
        self._wait(requests, whom, min(self._patience, STEP_PATIENCE_SECONDS))

    def mailbox(self, tag: int) -> Mailbox:
        """Messages under a tag of their own. Precondition: there are several ranks."""
        assert self._comm is not None
        return Mailbox(self._comm, _FIRST_MAILBOX + tag)

    def __enter__(self) -> "Ranks":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None or self._comm is None:
            return
        try:
            if isinstance(error, KeyboardInterrupt):
                if not self.leads:
                    time.sleep(_GRACE_SECONDS)
            elif isinstance(error, IsthmusError | RanksBroken):
                to_stderr(f"isthmus: {self.name}: {error}; all ranks end")
            else:
                to_stderr(f"isthmus: {self.name} failed; all ranks end")
                traceback.print_exception(kind, error, trace)
            for stream in (sys.stdout, sys.stderr):
                stream.flush()
            time.sleep(_DELIVERY_SECONDS)
        finally:  # Whatever became of the words, the others must not wait.
            self._comm.Abort(exit_code(error))
            os._exit(exit_code(error))  # Some return, and leave it to the launcher to end this process, too.

    def _receive(self, source: int) -> Any:
        assert self._comm is not None
        comm = self._comm
        self._until(lambda: comm.iprobe(source, _TALK), f"rank {source}")
        return comm.recv(source=source, tag=_TALK)

    def _wait(self, requests: "list[Request]", for_whom: str, patience: float | None = None) -> None:
        left = requests

        def arrived() -> bool:
            nonlocal left
            left = [request for request in left if not request.Test()]
            return not left

        self._until(arrived, for_whom, patience)

    def _until(self, condition: Callable[[], bool], for_whom: str, patience: float | None = None) -> None:
        """Raises RanksBroken when that takes longer than a rank that is alive would need."""
        most = self._patience if patience is None else patience
        began = time.monotonic()
        while not condition():
            waited = time.monotonic() - began
            if waited > most:
                raise RanksBroken(f"no message from {for_whom} for {most:g} s, so it has died or hangs")
            time.sleep(_NAP_SECONDS if waited > _SPIN_SECONDS else 0)


# A process that no launcher started.
ALONE = Ranks()
# Those that this process has joined; MPI knows one world a process.
_joined: list[Ranks] = []


def ranks_here() -> Ranks:
    """Those that this process has joined; ALONE where it joined none."""
    return _joined[-1] if _joined else ALONE


def join_ranks() -> Ranks:
    """The ranks of the launcher that started this process; ALONE, and MPI is not even loaded, where there is one.

    Raises UsageError where mpi4py is absent, or knows nothing of the launcher.
    """
    launch = launched(os.environ)
    if launch.ranks > 1:
        _joined.append(_connect(launch))
    return ranks_here()


def _connect(launch: Launched) -> Ranks:
    one_of = f"started as rank {launch.rank} of {launch.ranks}"
    try:
        from mpi4py import MPI
    except ImportError as error:
        raise UsageError(
            f"{one_of}, which needs mpi4py: {error}; install it with: {install_extra('mpi')}, or, for the MPI "
            "of a cluster, pip install --no-binary mpi4py mpi4py with that MPI's mpicc on PATH; or measure without, "
            "each rank its own device and file, with --no-mpi -o FOLDER/"
        ) from error
    except RuntimeError as error:  # mpi4py's, where it finds no libmpi.
        why = " ".join(str(error).split())
        raise UsageError(
            f"{one_of}, but mpi4py cannot load an MPI library: {why}; put the one that mpirun belongs to on "
            "LD_LIBRARY_PATH, or install one with: pip install mpich"
        ) from error
    if MPI.COMM_WORLD.Get_size() != launch.ranks:
        library = MPI.Get_library_version().splitlines()[0].strip()
        raise UsageError(
            f"{one_of}, but the MPI that mpi4py uses ({library}) sees {MPI.COMM_WORLD.Get_size()}: it is another one "
            "than the launcher's; start the ranks with its own mpirun, or build mpi4py against the launcher's MPI"
        )
    return Ranks(MPI.COMM_WORLD)
