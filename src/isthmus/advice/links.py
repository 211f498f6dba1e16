"""What the links of devices that others have can carry, by the devices' names: no copy of theirs is any faster."""

import re

import numpy as np

from isthmus.advice.scene import Scene
from isthmus.trace import memory_index

# The generation of PCIe that boards of these names have with 16 lanes.
_GENERATIONS = {
    3: re.compile(r"\b(P4|P40|P100|T4|V100|TITAN|RTX 20\d\d|Quadro RTX|MI50|MI60)\b"),
    4: re.compile(r"\b(A2|A10|A10G|A16|A30|A40|A100|L4|L40S?|RTX [34]0\d\d|RTX A\d000|MI100|MI2\d\dX?)\b"),
    5: re.compile(r"\b(H100|H200|B100|B200|RTX 50\d\d|MI3\d\dX|Max 1[15]\d\d)\b"),
}
# What pinned copies reach at most over 16 lanes, of 15.75, 31.5 and 63.0 GB/s on the wire.
_FASTEST = {3: 13.3e9, 4: 26.6e9, 5: 57.0e9}


def generation_of(name: str) -> int | None:
    """The generation of the link of a device of this name; None where that is not known."""
    return next((generation for generation, names in _GENERATIONS.items() if names.search(name)), None)


def most_to_gain(scene: Scene, generation: int) -> float:
    """Seconds that pageable copies took beyond what the fastest copy over their link would have."""
    rows = scene.copies[scene.host_kind(scene.copies) == memory_index("pageable")]
    lasted = scene.device_end(rows) - scene.device_begin(rows)
    fastest = scene.trace.copies.bytes[rows] / _FASTEST[generation]
    return float(np.maximum(lasted - fastest, 0.0).sum())
