"""Words about OpenACC programs that conclusions and reports share."""

from isthmus.analysis.openacc.model import OpenaccWork
from isthmus.language import say
from isthmus.record import Interval, format_bytes, three_figures

# A ratio of two medians, each known within 2 %.
_NARROW = 0.05


def factor_words(times: Interval) -> str:
    """``1.87``, three digits because it stands beside published figures; with its interval where that is wide."""
    text = three_figures(times.median)
    if times.relative_half_width <= _NARROW:
        return say("openacc.factor", factor=text)
    return say("openacc.within", factor=text, low=three_figures(times.low), high=three_figures(times.high))


def part_words(work: OpenaccWork) -> str:
    """What of its data a program works on, in running text: ``10 % of 1 GiB``, ``a double every 4 KiB of 1 GiB``."""
    if work.program == "stencil":
        key = f"openacc.part_stencil_{'gpu' if work.pack == 'gpu' else 'cpu'}"
        if work.halo == 1:
            return say(key, side=work.side)
        return say(f"{key}_halo", side=work.side, halo=work.halo)
    if work.stride_bytes is not None:
        return say("openacc.part_stride", stride=format_bytes(work.stride_bytes), size=format_bytes(work.bytes))
    return say("openacc.part_percent", percent=100 * (work.fraction or 0), size=format_bytes(work.bytes))


def openacc_part_label(work: OpenaccWork) -> str:
    """The same as a row of a table."""
    if work.program == "stencil":
        return say("openacc.label_stencil", side=work.side, halo=work.halo, packer=work.pack.upper())
    if work.stride_bytes is not None:
        return say("openacc.label_stride", stride=format_bytes(work.stride_bytes))
    return f"{100 * (work.fraction or 0):g} %"
