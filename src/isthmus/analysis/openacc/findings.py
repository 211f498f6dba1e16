"""What the openacc experiment says: directives against managed memory, against native calls, and the two at once."""

from collections.abc import Sequence

from isthmus.analysis.openacc.model import (
    OpenaccWork,
    openacc_works,
    whole_arrays,
)
from isthmus.analysis.openacc.words import factor_words, part_words
from isthmus.analysis.statistics.contrast import MATTERS
from isthmus.document.finding import Finding, Takeaway
from isthmus.language import enumerated, say, sentences
from isthmus.record import Interval, Run, format_bytes, format_seconds

# How far OpenACC's copies may be from the same copies made by native calls before that is a reason to look closer.
NATIVE_BAR = 1.15
# Both ways of a program whose directives mean nothing may differ by this much from run to run.
_SAME = 1.1


def findings(run: Run) -> list[Finding]:
    """The findings about OpenACC programs; none for a run without them."""
    works = openacc_works(run)
    return [
        *(_native(work) for work in whole_arrays(works) if work.ratio("explicit", "native")),
        *(_both(work) for work in whole_arrays(works) if work.ratio("automatic") or work.ratio("both")),
        *_parts(works),
        *_stencil(works),
    ]


def takeaway(run: Run) -> Takeaway | None:
    """What to take away; None where no program was measured both ways."""
    works = [work for work in openacc_works(run) if work.ratio("automatic")]
    if not works:
        return None
    faster = enumerated([part_words(work) for work in works if _certain(work) == "faster"])
    slower = enumerated([part_words(work) for work in works if _certain(work) == "slower"])
    if faster and slower:
        return Takeaway(say("openacc.verdict_both", faster=faster, slower=slower), say("openacc.advice_both"))
    if faster:
        return Takeaway(say("openacc.verdict_faster", faster=faster), say("openacc.advice_faster"))
    if slower:
        return Takeaway(say("openacc.verdict_slower", slower=slower), say("openacc.advice_slower"))
    return Takeaway(say("openacc.verdict_same"))


def _native(work: OpenaccWork) -> Finding:
    times = work.ratio("explicit", "native")
    assert times is not None
    text = say(
        "openacc.native",
        compiler=work.compiler,
        factor=factor_words(times),
        size=format_bytes(work.bytes),
        explicit=format_seconds(work.ways["explicit"].seconds.median),
        native=format_seconds(work.ways["native"].seconds.median),
    )
    if times.low > NATIVE_BAR:
        return Finding(
            "warning",
            "openacc_native",
            sentences([text, say("openacc.native_beyond")]),
            cause=_where_longer(work),
            fix=say("openacc.native_fix"),
        )
    if times.high <= NATIVE_BAR and times.low >= 1 / NATIVE_BAR:
        judged = say("openacc.native_within")
    elif times.high < 1:
        judged = say("openacc.native_faster")
    else:
        judged = say("openacc.native_unknown")
    return Finding("info", "openacc_native", sentences([text, judged]))


def _where_longer(work: OpenaccWork) -> str:
    explicit, native = work.ways["explicit"].phases, work.ways["native"].phases
    return sentences(
        say(key, explicit=format_seconds(explicit[metric].median), native=format_seconds(native[metric].median))
        for metric, key in (("in_seconds", "openacc.longer_in"), ("out_seconds", "openacc.longer_out"))
        if metric in explicit and metric in native and explicit[metric].low > native[metric].high
    )


def _both(work: OpenaccWork) -> Finding:
    """Whether directives count where the managed mode is on."""
    automatic, both = work.ratio("automatic"), work.ratio("both")
    told = []
    if automatic:
        told.append(say("openacc.automatic", factor=factor_words(automatic), size=format_bytes(work.bytes)))
    if both is None and not work.has_managed_mode:
        told.append(say("openacc.both_unknown", compiler=work.compiler))
    elif both is not None:
        told.append(say("openacc.both", factor=factor_words(both)))
    beside = work.ratio("both", "automatic")
    cause = ""
    if beside:
        is_ignored = 1 / _SAME <= beside.median <= _SAME
        cause = say("openacc.ignored" if is_ignored else "openacc.heeded", ratio=beside.median)
    return Finding("info", "openacc_managed", sentences(told), cause=cause)


def _parts(works: Sequence[OpenaccWork]) -> list[Finding]:
    """Where managed memory is faster, because directives move all of an array that is touched in part."""
    compared = [work for work in works if work.program != "stencil" and work.ratio("automatic")]
    partial = [work for work in compared if work.fraction != 1.0]
    if not partial:
        return []
    is_faster = any(_certain(work) == "faster" for work in partial)
    text = say("openacc.parts", parts=_listed(partial))
    return [Finding("info", "openacc_parts", text, cause=say("openacc.parts_cause") if is_faster else "")]


def _stencil(works: Sequence[OpenaccWork]) -> list[Finding]:
    compared = [work for work in works if work.program == "stencil" and work.ratio("automatic")]
    if not compared:
        return []
    return [Finding("info", "openacc_stencil", say("openacc.stencils", parts=_listed(compared)))]


def _listed(works: Sequence[OpenaccWork]) -> str:
    """``0.31 for 10 % of 1 GiB and 0.7 for 50 % of 1 GiB``."""
    return enumerated(
        [say("openacc.factor_for", factor=factor_words(_automatic(work)), part=part_words(work)) for work in works]
    )


def _automatic(work: OpenaccWork) -> Interval:
    times = work.ratio("automatic")
    assert times is not None
    return times


def _certain(work: OpenaccWork) -> str:
    """Whether managed memory is faster or slower than directives, for certain and enough to act on; else empty."""
    times = _automatic(work)
    return "faster" if times.high < 1 / MATTERS else "slower" if times.low > MATTERS else ""
