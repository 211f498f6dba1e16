"""Words that conclusions and tables about stencils share."""

from isthmus.model.phrases import memory_name
from isthmus.model.stencil import MANAGED, Stencil, StencilWay
from isthmus.record import Interval, Metric

__all__ = ["phase_words", "ratio_words", "setting_words", "stencil_words", "way_label", "way_sentence"]

_LABELS = {
    "cpu_whole": "CPU packs, whole array",
    "cpu_columns": "CPU packs, columns",
    "gpu_pack": "GPU packs",
    "gpu_pack_mapped": "GPU packs, mapped",
}
_SENTENCES = {
    ("cpu_whole", False): "copying the whole array through {memory} for the CPU to pack",
    ("cpu_whole", True): "prefetching the whole managed array for the CPU to pack",
    ("cpu_columns", False): "copying columns through {memory} for the CPU to pack",
    ("cpu_columns", True): "letting the CPU pack out of managed memory on demand",
    ("gpu_pack", False): "packing on the device and copying through {memory}",
    ("gpu_pack", True): "packing on the device into managed memory",
    ("gpu_pack_mapped", False): "packing on the device into mapped memory",
    ("gpu_pack_mapped", True): "packing a managed array on the device into mapped memory",
}
_PHASES = {
    "compute_seconds": "computing",
    "pack_seconds": "packing",
    "copy_seconds": "copies",
    "unpack_seconds": "unpacking",
    "mpi_seconds": "MPI",
}


def way_label(method: str) -> str:
    """The method in a table; one that this version does not know keeps its field name."""
    return _LABELS.get(method, method.replace("_", " "))


def way_sentence(way: StencilWay) -> str:
    """A way in running text."""
    method, memory = way
    text = _SENTENCES.get((method, memory == MANAGED), f"{method.replace('_', ' ')} with {{memory}}")
    return text.format(memory=memory_name(memory))


def phase_words(phase: Metric) -> str:
    """A phase in running text and in a legend."""
    return _PHASES.get(phase, phase.replace("_", " "))


def stencil_words(stencil: Stencil) -> str:
    """``a square of 6144 points with halos of 1 column``."""
    return f"a square of {stencil.side} points with halos of {stencil.halo} column{'' if stencil.halo == 1 else 's'}"


def setting_words(stencil: Stencil) -> str:
    """``one rank alone``, ``2 ranks on one device``, ``4 ranks with 2 devices``."""
    if stencil.ranks == 1:
        return "one rank alone"
    return f"{stencil.ranks} ranks " + ("on one device" if stencil.devices == 1 else f"with {stencil.devices} devices")


def ratio_words(value: Interval) -> str:
    """``1.85 to 1.93 times as long``, or one figure where both ends read the same."""
    low, high = f"{value.low:.3g}", f"{value.high:.3g}"
    return f"{low} times as long" if low == high else f"{low} to {high} times as long"
