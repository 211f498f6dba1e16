"""Words about OpenACC programs that conclusions and reports share."""

from isthmus.model.openacc import OpenaccWork
from isthmus.record import Interval, format_bytes

__all__ = ["factor_words", "openacc_part_label", "packed_by", "part_words"]

# Of a ratio of two medians, each known within 2 %.
_NARROW = 0.05


def factor_words(times: Interval) -> str:
    """``1.87``, three digits because it stands beside published figures; with its interval where that is wide."""
    text = f"{times.median:.3g}"
    return text if times.relative_half_width <= _NARROW else f"{text} ({times.low:.3g} to {times.high:.3g})"


def packed_by(pack: str) -> str:
    """Who packs the halo of a stencil."""
    return "the device" if pack == "gpu" else "the CPU"


def part_words(work: OpenaccWork) -> str:
    """What of its data a program works on, in running text: ``10 % of 1 GiB``, ``a double every 4 KiB of 1 GiB``."""
    if work.program == "stencil":
        halo = f" with a halo of {work.halo}" if work.halo != 1 else ""
        return f"a stencil of side {work.side}{halo} packed by {packed_by(work.pack)}"
    if work.stride_bytes is not None:
        return f"a double every {format_bytes(work.stride_bytes)} of {format_bytes(work.bytes)}"
    return f"{100 * (work.fraction or 0):g} % of {format_bytes(work.bytes)}"


def openacc_part_label(work: OpenaccWork) -> str:
    """The same as a row of a table."""
    if work.program == "stencil":
        return f"{work.side}, halo {work.halo}, {(work.pack or '').upper()} pack"
    if work.stride_bytes is not None:
        return f"every {format_bytes(work.stride_bytes)}"
    return f"{100 * (work.fraction or 0):g} %"
