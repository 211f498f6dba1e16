"""The kernel's view: `lspci -vv`, and the lines of dmesg about links."""

import re
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from isthmus.outputs.reading import Reading, address_of, generation_of
from isthmus.record import Link

_DEVICE = re.compile(r"^((?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]) ([^:\n]+): (.+)$", re.MULTILINE)
_GPU = re.compile(r"VGA compatible|3D controller|Display controller|Processing accelerator")
# Radeon cards since Vega have a switch on the card: the slot is above it.
_ON_CARD = re.compile(r"\[AMD.*\b(?:Vega|Navi)\b")
_LINK = r"Speed (?:(\d{1,3}(?:\.\d)?)GT/s|unknown)(?: \([^)]*\))?, Width x(\d{1,2})\b"
# What the specification allows; a device that fell off the bus reads as all ones.
_WIDTHS = frozenset({1, 2, 4, 8, 12, 16, 32})
_LOGGED = re.compile(
    r"([0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]): (?:AER: )?PCIe Bus Error: severity=([^,]+)", re.IGNORECASE
)
# A line of journalctl and of syslog, which name their host.
_LOG_LINE = re.compile(r"(?:[A-Z][a-z]{2} [ \d]\d [\d:]{8}|\d{4}-\d\d-\d\dT\S+) ([\w.-]+) kernel: ")
_XID = re.compile(r"Xid \(PCI:([0-9a-f:.]+)\): 79\b", re.IGNORECASE)


class _Port(NamedTuple):
    """A bridge above other devices."""

    address: str
    name: str
    body: str


def addresses(text: str) -> set[str]:
    """All devices that lspci lists, whatever they are."""
    return {address_of(each) for each, *_ in _DEVICE.findall(text)}


def read(text: str) -> Iterator[Reading | str]:
    """A reading a device, or a sentence on what cannot be read."""
    parts = _DEVICE.split(text)
    devices = [(address_of(parts[at]), parts[at + 1], parts[at + 2], parts[at + 3]) for at in range(1, len(parts), 4)]
    ports = {
        f"{address[:5]}{bus}": _Port(address, name, body)
        for address, kind, name, body in devices
        if "bridge" in kind
        for bus in re.findall(r"secondary=([0-9a-f]{2})", body)
    }
    counted: Counter[str] = Counter()
    for address, kind, name, body in devices:
        vendor = "NVIDIA" if "NVIDIA" in name else "AMD" if re.search(r"\[AMD|Advanced Micro", name) else ""
        if not _GPU.search(kind) or not vendor:
            continue
        port, end, own = ports.get(address[:7]), body, [address]
        while port and port.address not in own and vendor == "AMD" and _ON_CARD.search(port.name):
            own.append(port.address)
            end, port = port.body, ports.get(port.address[:7])
        if "access denied" in body:
            yield "lspci was not run as root, so that it says nothing of links: sudo lspci -vv"
        node = re.search(r"NUMA node: (\d{1,4})\b", body)
        yield Reading(
            vendor="NVIDIA" if vendor == "NVIDIA" else "AMD",
            index=counted[vendor],
            name=_name(vendor, name),
            address=address,
            numa_node=int(node[1]) if node else None,
            ports=(*own[1:], *([port.address] if port else [])),
            link=_link(end, port.body if port else ""),
            conditions={"off_bus": "lspci reads (rev ff)"} if "(rev ff)" in name else {},
        )
        counted[vendor] += 1
    if not devices and (link := _link(text, "")):
        yield Reading(index=0, link=link)  # Lines of one device that were searched for.
    yield from _logged(text)


def _name(vendor: str, text: str) -> str:
    """``NVIDIA A100 SXM4 40GB`` of ``NVIDIA Corporation GA100 [A100 SXM4 40GB] (rev a1)``."""
    text = re.sub(r"\[AMD(?:/ATI)?\]|\(rev .*", "", text)
    # Older lists of devices than the card have its number alone.
    names = re.findall(r"\[([^\]]+)\]", text) or re.findall(r"Device [0-9a-f]{4}", text)
    return f"{vendor} {names[0]}" if names else ""


def _link(body: str, port: str) -> Link | None:
    """The link of a device, whose most is that of both ends where the port above is there as well."""
    now, most, above = (_speed_and_width(*each) for each in ((body, "LnkSta"), (body, "LnkCap"), (port, "LnkCap")))
    if now == (None, None):
        return None
    ends = [tuple(filter(None, pair)) for pair in zip(most, above, strict=True)]
    best = [min(pair, default=None) for pair in ends]
    source = "lspci with port" if all(above) else "lspci"
    return Link(generation=now[0], width=now[1], max_generation=best[0], max_width=best[1], source=source)


def _speed_and_width(body: str, register: str) -> tuple[int | None, int | None]:
    match = re.search(rf"{register}:.*?{_LINK}", body)
    if match is None:
        return None, None
    width = int(match[2])
    return (generation_of(match[1]) if match[1] else None), (width if width in _WIDTHS else None)


def _logged(text: str) -> Iterator[Reading]:
    """Errors by host, and by device or port."""
    lines: dict[str, list[str]] = {}
    for line in text.splitlines():
        lines.setdefault(match[1] if (match := _LOG_LINE.match(line)) else "", []).append(line)
    for host, logged in lines.items():
        yield from _logged_by("\n".join(logged), host)


def _logged_by(text: str, host: str) -> Iterator[Reading]:
    counts: dict[str, Counter[str]] = {}
    for address, severity in _LOGGED.findall(text):
        kind = (
            "corrected"
            if severity.lower().startswith("correct")
            else "nonfatal"
            if "non" in severity.lower()
            else "fatal"
        )
        counts.setdefault(address_of(address), Counter())[f"aer_{kind}"] += 1
    gone = {address_of(each): "Xid 79" for each in _XID.findall(text)}
    for device in dict.fromkeys((*counts, *gone)):
        conditions = {name: str(count) for name, count in counts.get(device, Counter()).items()}
        if device in gone:
            conditions["off_bus"] = gone[device]
        yield Reading(vendor="NVIDIA" if device in gone else "", host=host, address=device, conditions=conditions)
