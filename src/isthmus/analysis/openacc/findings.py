"""What the openacc experiment says: directives against managed memory, against native calls, and the two at once."""

from isthmus.analysis.openacc.model import OpenaccWork, openacc_works, part_words, whole_arrays
from isthmus.analysis.phrases import factor_words, times
from isthmus.analysis.statistics.contrast import MATTERS
from isthmus.document.finding import Finding
from isthmus.language import enumerated, say
from isthmus.record import Interval, Run, format_bytes

# How far OpenACC's copies may be from the same copies made by native calls before that is a reason to look closer.
NATIVE_BAR = 1.15


def findings(run: Run) -> list[Finding]:
    """Directives against native calls, and in managed mode, on whole arrays; tables have parts and stencils."""
    works = whole_arrays(openacc_works(run))
    natives = [_native(work, ratio) for work in works if (ratio := work.ratio("explicit", "native"))]
    both = [_both(ratio) for work in works if (ratio := work.ratio("both", "automatic"))]
    return [*natives, *both]


def takeaway(run: Run) -> Finding | None:
    """How managed memory compares, and where to use which; None where no program was measured in both modes."""
    ratios = {part_words(work): ratio for work in openacc_works(run) if (ratio := work.ratio("automatic"))}
    if not ratios:
        return None
    span = times(min(each.low for each in ratios.values()), max(each.high for each in ratios.values()))
    faster = [part for part, each in ratios.items() if each.high < 1 / MATTERS]
    slower = [part for part, each in ratios.items() if each.low > MATTERS]
    advice = say("openacc.use_managed", parts=enumerated(faster)) if faster else ""
    if slower and not faster:
        advice = say("openacc.use_directives", parts=enumerated(slower))
    return Finding("note", "openacc", say("openacc.verdict", times=span), do=(advice,))


def _native(work: OpenaccWork, ratio: Interval) -> Finding:
    size = format_bytes(work.bytes)
    text = say("openacc.native", size=size, compiler=work.compiler, times=factor_words(ratio))
    if ratio.low > NATIVE_BAR:
        return Finding("ATTENTION", "openacc_native", text, do=(say("openacc.native_fix"),))
    return Finding("note", "openacc_native", text)


def _both(ratio: Interval) -> Finding:
    return Finding("note", "openacc_managed", say("openacc.both", times=factor_words(ratio)))
