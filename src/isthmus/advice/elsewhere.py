"""Whether a run is of another machine than a trace, as far as the names of devices tell."""

from collections.abc import Sequence

from isthmus.language import enumerated, say
from isthmus.record import Run
from isthmus.trace import Trace

__all__ = ["elsewhere_words"]


def elsewhere_words(traces: Sequence[Trace], run: Run) -> str:
    """That the traces' devices are others than the run's; empty where they are not, or have no names."""
    names = {name for trace in traces for name in trace.devices.values() if name}
    ours = run.fingerprint.device.name
    if not names or any(_alike(name, ours) for name in names):
        return ""
    return say("advice.elsewhere", traced=enumerated(sorted(names)), measured=ours)


def _alike(name: str, other: str) -> bool:
    """Whether one name holds the other: ``H200`` and ``NVIDIA H200`` are of one device."""
    one, two = name.casefold(), other.casefold()
    return bool(one and two) and (one in two or two in one)
