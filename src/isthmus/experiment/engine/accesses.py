"""Accesses of one thread of a device to other memory: each word that it reads says where the next one is."""

from typing import NamedTuple, cast

from isthmus import _native
from isthmus.experiment.engine.rounds import Quota
from isthmus.experiment.engine.sweep import Samples, Timed
from isthmus.record import KIB, MIB, Case


class Chain(NamedTuple):
    """How many bytes the words are in, how far they are from each other, and how many of them a launch reads."""

    bytes: int
    stride_bytes: int
    hops: int

    def case(self, experiment: str, memory: str, target: str = "", peer: str = "") -> Case:
        """Accesses to such a chain: of `target` to the memory of `peer`, or of the run's device to `memory`."""
        return Case(
            experiment=experiment,
            method="access",
            host_memory=memory,
            bytes=self.bytes,
            pieces=self.hops,
            stride_bytes=self.stride_bytes,
            target=target,
            peer=peer,
        )


# As large as nvbandwidth's, in lines that no two accesses share.
LINES = Chain(2 * MIB, 128, 16 * KIB)


class Access(Timed):
    """The chain of a case; each sample is the time of one access, the mean of a launch, on the device's clock."""

    checks = "always"

    def __init__(self, reader: _native.Device, owner: _native.Device, case: Case) -> None:
        """A chain in new memory of `owner`, which `reader` follows. Raises Unsupported, and what allocating raises."""
        assert case.stride_bytes is not None, "accesses are made by Chain.case"
        assert case.pieces is not None, "likewise"
        memory = owner.allocate(case.host_memory, case.bytes)
        # A CPU must not foresee where it goes next.
        self._chase = _native.create_chase(reader, memory, 0, case.bytes, case.stride_bytes, case.pieces, shuffled=True)

    def run(self, quota: Quota) -> Samples:
        """Seconds of one access."""
        return cast(Samples, self._chase.run(*quota))

    def verify(self) -> str:
        """Whether the thread arrived where the chain ends."""
        ((wrong, _),) = self._chase.verify()
        return "wrong data: the chain did not end where it had to" if wrong else ""
