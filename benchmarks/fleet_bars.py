"""What `isthmus fleet` said about a made fleet beside what was planted in it."""

from dataclasses import dataclass
from typing import Any

from fleet_model import DEVICES, FleetModel, name_of
from fleet_usage import Usage

__all__ = ["Bar", "bars_of", "table"]

_MOST_SECONDS, _MOST_BYTES = 60, 2 << 30
_LEAST_NAMED = 0.95
_FULL = 10_000


@dataclass(frozen=True)
class Bar:
    """One line of the table; `met` is None where the bar does not bind for a fleet of this size."""

    name: str
    bar: str
    found: str
    met: bool | None


def bars_of(model: FleetModel, document: dict[str, Any], usage: Usage) -> list[Bar]:
    """Time, memory, planted faults that were found, devices named that have none, causes named right."""
    planted = {(name_of(host), f"cuda:{device}"): fault for (host, device), fault in model.faults.items()}
    said = {(each["host"], each["device"]): each["cause"] for each in document["outliers"]}
    found = planted.keys() & said.keys()
    right = sum(said[place] == planted[place].name for place in found)
    false = len(said.keys() - planted.keys())
    allowed = max(1, model.hosts * DEVICES // 10_000)
    bars = [
        Bar("time", f"<= {_MOST_SECONDS} s", f"{usage.seconds:.1f} s", _at(model, usage.seconds <= _MOST_SECONDS)),
        Bar("time of all CPUs together", "", f"{usage.cpu_seconds:.1f} s", None),
        Bar(
            "peak memory",
            f"<= {_MOST_BYTES / 2**30:.0f} GiB",
            f"{usage.peak_bytes / 2**30:.2f} GiB",
            _at(model, usage.peak_bytes <= _MOST_BYTES),
        ),
        Bar("planted faults found", f"{len(planted)}", f"{len(found)}", len(found) == len(planted)),
        Bar("devices named without a fault", f"<= {allowed}", f"{false}", false <= allowed),
        Bar(
            "causes named right",
            f">= {100 * _LEAST_NAMED:.0f} %",
            f"{right} of {len(found)}",
            right >= _LEAST_NAMED * len(found),
        ),
    ]
    for name in ("link", "placement", "neighbours"):
        those = [place for place, fault in planted.items() if fault.name == name]
        named = sum(said.get(place) == name for place in those)
        seen = sum(place in said for place in those)
        bars.append(Bar(f"of which {name}", "", f"{seen} of {len(those)} found, {named} named right", None))
    return bars


def table(bars: list[Bar]) -> str:
    """The lines as a Markdown table."""
    words = {True: "met", False: "MISSED", None: ""}
    lines = [f"| {bar.name} | {bar.bar} | {bar.found} | {words[bar.met]} |" for bar in bars]
    return "\n".join(["| | bar | found | |", "|---|---|---|---|", *lines])


def _at(model: FleetModel, met: bool) -> bool | None:
    """Times and bytes bind for the full size; a smaller fleet that keeps to them proves nothing."""
    return met if model.hosts >= _FULL else None
