"""What the openacc experiment says: directives against managed memory, against native calls, and the two at once."""

from isthmus.analysis.openacc.model import OpenaccWork, openacc_works, whole_arrays
from isthmus.analysis.openacc.words import factor_words, part_words
from isthmus.analysis.statistics.contrast import MATTERS
from isthmus.document.finding import Finding, Takeaway
from isthmus.language import enumerated, say, sentences
from isthmus.record import Run, format_bytes, format_seconds

# How far OpenACC's copies may be from the same copies made by native calls before that is a reason to look closer.
NATIVE_BAR = 1.15
# Both ways of a program whose directives mean nothing may differ by this much from run to run.
_SAME = 1.1


def findings(run: Run) -> list[Finding]:
    """Directives against native calls, and against managed memory, on whole arrays; tables have parts and stencils."""
    works = whole_arrays(openacc_works(run))
    return [
        *(_native(work) for work in works if work.ratio("explicit", "native")),
        *(_managed(work) for work in works if work.ratio("automatic") or work.ratio("both")),
    ]


def takeaway(run: Run) -> Takeaway | None:
    """What to take away; None where no program was measured both ways."""
    works = [work for work in openacc_works(run) if work.ratio("automatic")]
    if not works:
        return None
    faster = enumerated([part_words(work) for work in works if _differs(work) == "faster"])
    slower = enumerated([part_words(work) for work in works if _differs(work) == "slower"])
    if faster and slower:
        both = {"faster": faster, "slower": slower}
        return Takeaway(say("openacc.verdict_both", **both), say("openacc.advice_both", **both))
    if faster:
        return Takeaway(say("openacc.verdict_faster", faster=faster), say("openacc.advice_faster", faster=faster))
    if slower:
        return Takeaway(say("openacc.verdict_slower", slower=slower), say("openacc.advice_slower", slower=slower))
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
            "ATTENTION",
            "openacc_native",
            sentences([text, say("openacc.native_beyond")]),
            cause=_where_longer(work),
            fix=say("openacc.native_fix"),
        )
    if times.low >= 1 / NATIVE_BAR and times.high <= NATIVE_BAR:
        judged = say("openacc.native_within")
    else:
        judged = say("openacc.native_faster" if times.high < 1 else "openacc.native_unknown")
    return Finding("note", "openacc_native", sentences([text, judged]))


def _where_longer(work: OpenaccWork) -> str:
    explicit, native = work.ways["explicit"].phases, work.ways["native"].phases
    return sentences(
        say(key, explicit=format_seconds(explicit[metric].median), native=format_seconds(native[metric].median))
        for metric, key in (("in_seconds", "openacc.longer_in"), ("out_seconds", "openacc.longer_out"))
        if metric in explicit and metric in native and explicit[metric].low > native[metric].high
    )


def _managed(work: OpenaccWork) -> Finding:
    """Whether directives count where the managed mode is on."""
    automatic, both = work.ratio("automatic"), work.ratio("both")
    parts = []
    if automatic:
        parts.append(say("openacc.automatic", factor=factor_words(automatic), size=format_bytes(work.bytes)))
    if both is None and not work.has_managed_mode:
        parts.append(say("openacc.both_unknown", compiler=work.compiler))
    elif both is not None:
        parts.append(say("openacc.both", factor=factor_words(both)))
    beside = work.ratio("both", "automatic")
    cause = ""
    if beside:
        is_ignored = 1 / _SAME <= beside.median <= _SAME
        cause = say("openacc.ignored" if is_ignored else "openacc.heeded", ratio=beside.median)
    return Finding("note", "openacc_managed", sentences(parts), cause=cause)


def _differs(work: OpenaccWork) -> str:
    """Whether managed memory is significantly faster or slower than directives, enough to act on; else empty."""
    times = work.ratio("automatic")
    if times is None:
        return ""
    return "faster" if times.high < 1 / MATTERS else "slower" if times.low > MATTERS else ""
