"""nvidia-smi: `-q`, and the matrix of `topo -m`."""

import re
from collections.abc import Iterator, Mapping

from isthmus.outputs.reading import Reading, address_of
from isthmus.record import Link

_GPU = re.compile(r"^GPU ([0-9A-Fa-f]+:[0-9A-Fa-f:.]+)[ \t]*$", re.MULTILINE)
# Per cent of the time, and the last of the performance states P0 to P15 that are those of work.
_LEAST_BUSY, _MOST_AWAKE = 30, 3
_THROTTLING = ("HW Slowdown", "HW Thermal Slowdown", "HW Power Brake Slowdown", "SW Thermal Slowdown", "SW Power Cap")


def read(text: str) -> Iterator[Reading | str]:
    """A reading a device, or a sentence on what cannot be read."""
    yield from _query(text)
    yield from _topology(text)
    if re.search(r"^\| NVIDIA-SMI ", text, re.MULTILINE) and not _GPU.search(text):
        yield "nvidia-smi's table has no link: give `nvidia-smi -q`, best while copies run"


def _query(text: str) -> Iterator[Reading | str]:
    parts = _GPU.split(text)
    driver = _value(parts[0], "Driver Version")
    devices = list(zip(parts[1::2], parts[2::2], strict=True))
    if not devices and _block(text, "PCIe Generation"):
        devices = [("", text)]  # The lines of one device that were searched for.
    for index, (address, body) in enumerate(devices):
        generation, width = (_block(body, name) for name in ("PCIe Generation", "Link Width"))
        link = Link(
            generation=_whole(generation.get("Current")),
            width=_whole(width.get("Current")),
            max_generation=_whole(generation.get("Max")),
            max_width=_whole(width.get("Max")),
            replays=_whole(_value(body, "Replays [Ss]ince [Rr]eset")),
            source="nvidia-smi",
        )
        if link.generation is None and link.width is None:
            yield f"nvidia-smi -q has no link of GPU {index}: it ended before, or a virtual machine hides it"
        reasons = [name.lower() for name in _THROTTLING if _value(body, name) == "Active"]
        # Whether the device worked in a state in which its link does not slow down; a desktop's few per cent are rest.
        state = re.match(r"P(\d{1,2})\b", _value(body, "Performance State"))
        is_awake = state is None or int(state[1]) <= _MOST_AWAKE
        yield Reading(
            vendor="NVIDIA",
            index=index,
            name=_value(body, "Product Name"),
            address=address_of(address),
            uuid=_value(body, "GPU UUID"),
            driver=driver,
            link=link if (link.generation or link.width) else None,
            is_busy=is_awake and (_whole(_value(body, "G(?:PU|pu)")) or 0) >= _LEAST_BUSY,
            conditions={"throttling": ", ".join(reasons)} if reasons else {},
        )


def _value(text: str, name: str) -> str:
    match = re.search(rf"^[ \t]*{name}[ \t]*:[ \t]*(.+?)[ \t]*$", text, re.MULTILINE)
    return match[1] if match else ""


def _block(text: str, name: str) -> Mapping[str, str]:
    """The lines below a heading, as far as they have values."""
    match = re.search(rf"^[ \t]*{name}[ \t]*\n((?:[ \t]*[\w ]+?[ \t]*:[ \t]*.*\n?)+)", text, re.MULTILINE)
    pairs = [line.partition(":") for line in match[1].splitlines()] if match else []
    return {key.strip(): value.strip() for key, _, value in pairs}


def _whole(text: str | None) -> int | None:
    match = re.match(r"(\d{1,15}) ?(?:x|%|$)", text or "")
    return int(match[1]) if match else None


def _topology(text: str) -> Iterator[Reading]:
    """The NUMA node of each device, and which share its switch."""
    header = re.search(r"^[ \t]*(GPU0[ \t].*)$", text, re.MULTILINE)
    if header is None:
        return
    names = [each.strip() for each in re.split(r"\t|  +", header[1].strip()) if each.strip()]
    for line in text[header.end() :].splitlines():
        cells = [each.strip() for each in re.split(r"\t+|  +", line.strip()) if each.strip()]
        if not cells or not re.fullmatch(r"GPU\d{1,4}", cells[0]):
            continue
        row = dict(zip(names, cells[1:], strict=False))
        near = [name for name, how in row.items() if name.startswith("GPU") and how in ("PIX", "PXB")]
        node = row.get("NUMA Affinity", "")
        yield Reading(
            vendor="NVIDIA",
            index=int(cells[0][3:]),
            numa_node=int(node) if node.isdecimal() and len(node) < 5 else None,
            conditions={"same_switch": ", ".join(near)} if near else {},
        )
