"""What of its data an OpenACC program works on."""

from isthmus.analysis.openacc.model import OpenaccWork
from isthmus.language import say
from isthmus.record import format_bytes


def part_words(work: OpenaccWork) -> str:
    """``10 % of 1 GiB``, ``a double every 4 KiB of 1 GiB``."""
    if work.program == "stencil":
        return say("openacc.part_stencil", side=work.side, halo=work.halo, packer=work.pack.upper())
    if work.stride_bytes is not None:
        return say("openacc.part_stride", stride=format_bytes(work.stride_bytes), size=format_bytes(work.bytes))
    return say("openacc.part_percent", percent=100 * (work.fraction or 0), size=format_bytes(work.bytes))
