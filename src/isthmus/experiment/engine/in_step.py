"""The devices of one machine measured in step: every visit of a case begins on all of them at once.

Each device is measured by a process of its own. The first that comes leads: it says which case is next and how many
samples to take; the others prepare the same, say that they are ready, and all begin on its word. They meet at a name in
the kernel's table of local sockets, which is gone with the last of them. Nobody waits for long: who dies or hangs is
left behind, and who has lost its leader goes on by itself.
"""

import os
import socket
import struct
import time
from abc import ABC, abstractmethod

import msgspec

from isthmus.record import Case

# How a run ends whose pace was lost.
OUT_OF_STEP = (
    "from some case on no other device of its machine was in step with it, so that its times together are of whatever "
    "the others did meanwhile"
)

# How a run ends of which some cases only this device measured after all.
PARTLY_ALONE = (
    "some cases were measured after its machine's other devices had ended them, or have none such, so that their times "
    "together are of whatever the others did meanwhile"
)

# For the slowest preparation: buffers that are filled, a first call. Followers wait for a leader that waits for another
# one, and have something left of their phase where it hangs itself; what hangs is killed by the limit of the phase.
_PATIENCE_SECONDS, _PATIENCE_OF_FOLLOWERS = 30.0, 2.5
# So that the jitter of some hundred microseconds with which processes wake up is a small part of a visit, half of which
# may be for the device's own times.
_LEAST_VISIT_SECONDS = 0.004
_MOST_FOLLOWERS = 1024
_CONNECT_TRIES, _CONNECT_SECONDS, _CONNECT_NAP_SECONDS = 100, 1.0, 0.01
_MOST_BYTES = 65536
_READY, _GO = b"ready", b"go"

# The number of an experiment, and of a batch within it.
BatchNumber = tuple[int, int]
# As the fields of a Quota.
Asked = tuple[int, int, int, float]


class Instruction(msgspec.Struct, frozen=True):
    """What the leader says: the case to visit and the quota of the visit.

    Without a quota the case has ended; without a case all meet, and without either this batch is over.
    """

    batch: BatchNumber
    case: Case | None = None
    quota: Asked | None = None


class Pace:
    """How a device that is measured by itself goes on: nothing waits for anybody."""

    follows = False

    def __init__(self, lost: bool = False) -> None:
        # The least that a visit should take.
        self.visit_seconds = 0.0
        # Seconds spent waiting for others so far.
        self.waited = 0.0
        # Whether others work at the same time, and from some case on none was in step with this device.
        self.lost = lost
        # Whether some cases were measured without the others, as where this device was too busy for its samples.
        self.partly_alone = False

    def enter(self, batch: BatchNumber) -> None:
        """From now on it is about this batch, which comes after those before."""

    def tell(self, case: Case | None, quota: Asked | None) -> None:
        """Let the others do the same; see Instruction."""

    def next(self) -> Instruction | None:
        """What to do next in this batch, for one that follows; None where nobody says so any more."""
        return None

    def begin(self) -> None:
        """Wait until all are ready to take samples; only the first call of a visit waits."""

    def close(self) -> None:
        """Leave the others."""


class _InStep(Pace, ABC):
    """What leader and followers have in common: where they are, and that they wait once a visit."""

    def __init__(self, lost: bool = False) -> None:
        super().__init__(lost)
        self._batch: BatchNumber = (0, 0)
        self._waiting = False

    def enter(self, batch: BatchNumber) -> None:
        self._batch = batch

    def begin(self) -> None:
        if self._waiting:
            self._waiting = False
            began = time.monotonic()
            self._meet()
            self.waited += time.monotonic() - began

    @abstractmethod
    def _meet(self) -> None:
        """Wait until all are ready."""


class _Leader(_InStep):
    """Says what is next; `listener` is where the others come."""

    def __init__(self, listener: socket.socket, lost: bool) -> None:
        super().__init__(lost)
        self._listener = listener
        self._followers: list[socket.socket] = []

    def tell(self, case: Case | None, quota: Asked | None) -> None:
        self._welcome()
        self._send(msgspec.json.encode(Instruction(self._batch, case, quota)))
        self._waiting = quota is not None

    def close(self) -> None:
        self._listener.close()
        while self._followers:
            self._followers.pop().close()

    def _meet(self) -> None:
        deadline = time.monotonic() + _PATIENCE_SECONDS
        for follower in list(self._followers):
            if _received(follower, deadline) != _READY:
                self._leave(follower)
        self._send(_GO)

    def _welcome(self) -> None:
        """Let in who has come: all are here before any is told to begin."""
        while True:
            try:
                follower, _ = self._listener.accept()
            except BlockingIOError:
                return
            if _is_ours(follower):
                self._followers.append(follower)
                self.visit_seconds, self.lost = _LEAST_VISIT_SECONDS, False

    def _send(self, message: bytes) -> None:
        for follower in list(self._followers):
            try:
                follower.send(message)
            except OSError:
                self._leave(follower)

    def _leave(self, follower: socket.socket) -> None:
        self._followers.remove(follower)
        follower.close()
        self.lost = not self._followers


class _Follower(_InStep):
    """Does what the leader says, as long as there is one."""

    follows = True

    def __init__(self, leader: socket.socket) -> None:
        super().__init__()
        self._leader: socket.socket | None = leader
        # What concerns a batch that is still to come here.
        self._later: Instruction | None = None

    def next(self) -> Instruction | None:
        while True:
            self.begin()  # The others wait for a visit that was none here, too.
            instruction, self._later = self._later or self._receive_instruction(), None
            if instruction is None:
                return None
            if instruction.batch > self._batch:
                self._later = instruction
                return None
            self._waiting = instruction.quota is not None
            if instruction.batch == self._batch:
                return instruction if instruction.case or instruction.quota else None

    def close(self) -> None:
        if self._leader is not None:
            self._leader.close()
        self._leader = None

    def _meet(self) -> None:
        if self._leader is None:
            return
        try:
            self._leader.send(_READY)
        except OSError:
            self._lose()
            return
        self._receive()

    def _receive_instruction(self) -> Instruction | None:
        message = self._receive()
        return msgspec.json.decode(message, type=Instruction) if message else None

    def _receive(self) -> bytes:
        if self._leader is None:
            return b""
        message = _received(self._leader, time.monotonic() + _PATIENCE_OF_FOLLOWERS * _PATIENCE_SECONDS)
        if not message:
            self._lose()
        return message

    def _lose(self) -> None:
        self.close()
        self.lost = True


ALONE = Pace()


def join(name: str, others: bool) -> Pace:
    """The pace of all processes of this machine and user that join under this name; the first of them leads.

    Those that are to follow must have joined before the first one tells them anything. Where `others` work at the same
    time and cannot be reached, as from a network namespace of one's own, the pace says that it is lost.
    """
    address = f"\0isthmus-{name}"
    for _ in range(_CONNECT_TRIES):
        try:
            own = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        except OSError:
            break
        try:
            own.bind(address)
            own.listen(_MOST_FOLLOWERS)
            own.setblocking(False)
            return _Leader(own, lost=others)
        except OSError:
            own.close()  # Another one was first.
        leader = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        # With more ranks than its queue holds the last ones would wait for one that waits for them.
        leader.settimeout(_CONNECT_SECONDS)
        try:
            leader.connect(address)
        except TimeoutError:
            leader.close()
            break
        except OSError:
            # Bound, but not listening yet, or gone by now.
            leader.close()
            time.sleep(_CONNECT_NAP_SECONDS)
            continue
        if _is_ours(leader):
            return _Follower(leader)
        break
    return Pace(lost=others)


def _is_ours(other: socket.socket) -> bool:
    """Whether the process at the other end is this user's, since anybody may use the name; closes it otherwise."""
    layout = struct.Struct("3i")  # As `struct ucred` of unix(7): process, user, group.
    _, user, _ = layout.unpack(other.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, layout.size))
    if user != os.getuid():
        other.close()
    return bool(user == os.getuid())


def _received(other: socket.socket, deadline: float) -> bytes:
    """A message, or nothing where none comes in time or the other one is gone."""
    other.settimeout(max(deadline - time.monotonic(), 0.001))
    try:
        return other.recv(_MOST_BYTES)
    except OSError:
        return b""
