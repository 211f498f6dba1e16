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

import msgspec

from isthmus.record import Case

__all__ = ["ALONE", "Pace", "Told", "join", "key_of"]

# For the slowest preparation: buffers that are filled, a first call. What hangs is killed by the limit of the phase.
_PATIENCE_SECONDS = 30.0
# So that the jitter of some hundred microseconds with which processes wake up is a small part of a visit.
_LEAST_VISIT_SECONDS = 0.002
_MOST_FOLLOWERS = 1024
_CONNECT_TRIES, _CONNECT_NAP_SECONDS = 100, 0.01
_MOST_BYTES = 65536
_READY, _GO, _OVER = b"ready", b"go", b"over"


class Told(msgspec.Struct, frozen=True):
    """What the leader says: the case to visit and the quota of the visit; without one, that the case has ended."""

    case: Case
    quota: tuple[int, int, int, float] | None = None


class Pace:
    """Of a device that is measured by itself: nothing waits for anybody."""

    follows = False
    # The least that a visit should take.
    visit_seconds = 0.0

    def tell(self, told: Told) -> None:
        """Let the others do the same."""

    def next(self) -> Told | None:
        """What to do next, for one that follows; None where nobody says so any more."""
        return None

    def begin(self) -> None:
        """Wait until all are ready to take samples; only the first call of a visit waits."""

    def over(self) -> None:
        """Nothing more of what has been prepared is visited in step."""

    def close(self) -> None:
        """Leave the others."""


class _Leader(Pace):
    """Says what is next; `listener` is where the others come."""

    def __init__(self, listener: socket.socket) -> None:
        self._listener = listener
        self._followers: list[socket.socket] = []
        self._waiting = False

    def tell(self, told: Told) -> None:
        self._welcome()
        self._send(msgspec.json.encode(told))
        self._waiting = told.quota is not None

    def begin(self) -> None:
        if not self._waiting:
            return
        self._waiting = False
        deadline = time.monotonic() + _PATIENCE_SECONDS
        for follower in list(self._followers):
            if _received(follower, deadline) != _READY:
                self._leave(follower)
        self._send(_GO)

    def over(self) -> None:
        self._welcome()
        self._send(_OVER)

    def close(self) -> None:
        self._listener.close()
        for follower in list(self._followers):
            self._leave(follower)

    def _welcome(self) -> None:
        """Let in who has come: all are here before any is told to begin."""
        while True:
            try:
                follower, _ = self._listener.accept()
            except BlockingIOError:
                return
            if _is_ours(follower):
                self._followers.append(follower)
                self.visit_seconds = _LEAST_VISIT_SECONDS

    def _send(self, message: bytes) -> None:
        for follower in list(self._followers):
            try:
                follower.send(message)
            except OSError:
                self._leave(follower)

    def _leave(self, follower: socket.socket) -> None:
        self._followers.remove(follower)
        follower.close()


class _Follower(Pace):
    """Does what the leader says, as long as there is one."""

    follows = True

    def __init__(self, leader: socket.socket) -> None:
        self._leader: socket.socket | None = leader
        self._waiting = False

    def next(self) -> Told | None:
        self.begin()  # Of a visit that was none here: the others wait for it.
        message = self._receive()
        if message in (b"", _OVER):
            return None
        told = msgspec.json.decode(message, type=Told)
        self._waiting = told.quota is not None
        return told

    def begin(self) -> None:
        if not self._waiting or self._leader is None:
            return
        self._waiting = False
        try:
            self._leader.send(_READY)
        except OSError:
            self.close()
            return
        self._receive()

    def _receive(self) -> bytes:
        if self._leader is None:
            return b""
        message = _received(self._leader, time.monotonic() + _PATIENCE_SECONDS)
        if not message:
            self.close()
        return message

    def close(self) -> None:
        if self._leader is not None:
            self._leader.close()
        self._leader = None


ALONE = Pace()


def join(name: str) -> Pace:
    """The pace of all processes of this machine and user that join under this name; the first of them leads.

    Those that are to follow must have joined before the first one tells them anything. Where the others cannot be
    reached, as from a network namespace of one's own, each leads nobody.
    """
    address = f"\0isthmus-{name}"
    for _ in range(_CONNECT_TRIES):
        own = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            own.bind(address)
            own.listen(_MOST_FOLLOWERS)
            own.setblocking(False)
            return _Leader(own)
        except OSError:
            own.close()  # Another one was first.
        leader = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            leader.connect(address)
        except OSError:
            # Bound, but not listening yet, or gone by now.
            leader.close()
            time.sleep(_CONNECT_NAP_SECONDS)
            continue
        if _is_ours(leader):
            return _Follower(leader)
        break
    return ALONE


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


def key_of(case: Case) -> bytes:
    """What tells a case of one process as the same of another."""
    return msgspec.json.encode(case)
