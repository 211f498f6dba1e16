"""Which device each rank takes, and what ranks must have in common before they measure together."""

from collections.abc import Sequence
from typing import NamedTuple

from isthmus import __version__
from isthmus.errors import IsthmusError, UsageError
from isthmus.experiment.engine.options import Options
from isthmus.experiment.mpi.ranks import Ranks
from isthmus.machine.devices import OpenDevice, name_in_turn, open_device


class _Joined(NamedTuple):
    """One rank as the others see it; `trouble` is what it failed with."""

    host: str
    version: str
    device: str
    driver: str
    options: str
    trouble: IsthmusError | None


def open_for_rank(spec: str | None, ranks: Ranks) -> OpenDevice:
    """The device of that name for all ranks; without a number in it, the devices in turn, by local rank.

    Raises what `open_device` raises.
    """
    return open_device(name_in_turn(spec, ranks.local_rank), bind=True)


def first_trouble(
    ranks: Ranks, device: OpenDevice | None, options: Options | None, trouble: IsthmusError | None
) -> IsthmusError | None:
    """What keeps the ranks from measuring together, the same on all: the first error that one had, or a difference."""
    description = device.description if device else None
    own = _Joined(
        host=ranks.host,
        version=__version__,
        device=description.name if description else "",
        driver=description.driver_version if description else "",
        options=repr(options),
        trouble=trouble,
    )
    joined = ranks.all_gather(own)
    troubles = [(rank, each.trouble) for rank, each in enumerate(joined) if each.trouble is not None]
    if troubles:
        rank, first = troubles[0]
        if len(troubles) == len(joined) and len({str(each) for _, each in troubles}) == 1:
            return first
        return type(first)(f"{ranks.name_of(rank, joined[rank].host)}: {first}")
    for what, values, advice in (
        ("versions of isthmus", [each.version for each in joined], "install the same one everywhere"),
        ("devices", [each.device for each in joined], "name one that all have with --device, or choose equal nodes"),
        ("drivers", [each.driver for each in joined], "choose nodes with the same one"),
        ("options", [each.options for each in joined], "give all of them the same command line"),
    ):
        if len(set(values)) > 1:
            return UsageError(f"the ranks have different {what}: {_who_has_what(joined, values)}; {advice}")
    return None


def _who_has_what(joined: Sequence[_Joined], values: Sequence[str]) -> str:
    """The first rank with each value."""
    first: dict[str, str] = {}
    for rank, value in enumerate(values):
        first.setdefault(value, f"{Ranks.name_of(rank, joined[rank].host)} {value or 'none'}")
    return ", ".join(first.values())
