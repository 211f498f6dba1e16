"""What the openacc experiment says: directives against managed memory, against native calls, and the two at once."""

from collections.abc import Sequence

from isthmus.model.contrast import MATTERS
from isthmus.model.finding import Finding
from isthmus.model.openacc import (
    PUBLISHED_STENCIL_RATIOS,
    PUBLISHED_WAY_RATIOS,
    OpenaccWork,
    openacc_works,
    whole_arrays,
)
from isthmus.model.openacc_words import factor_words, packed_by, part_words
from isthmus.model.phrases import capitalised, enumerated
from isthmus.record import Interval, Run, format_bytes, format_seconds

__all__ = ["NATIVE_BAR", "openacc_findings", "openacc_verdict"]

# How far OpenACC's copies may be from the same copies made by native calls before that is a reason to look closer.
NATIVE_BAR = 1.15
# Both ways of a program whose directives mean nothing may differ by this much from run to run.
_SAME = 1.1
_PAPER = "a V100 with PGI 19.10"


def openacc_findings(run: Run) -> list[Finding]:
    """The findings about OpenACC programs; none for a run without them."""
    works = openacc_works(run)
    return [
        *(_native(work) for work in whole_arrays(works) if work.ratio("explicit", "native")),
        *(_both(work) for work in whole_arrays(works) if work.ratio("automatic") or work.ratio("both")),
        *_parts(works),
        *_stencil(works),
    ]


def openacc_verdict(run: Run) -> str:
    """What to take away; empty where no program was measured both ways."""
    works = [work for work in openacc_works(run) if work.ratio("automatic")]
    if not works:
        return ""
    faster = [part_words(work) for work in works if _certain(work) == "faster"]
    slower = [part_words(work) for work in works if _certain(work) == "slower"]
    said = [
        f"{verb} {enumerated(parts)}" for verb, parts in (("faster with", faster), ("slower with", slower)) if parts
    ]
    if not said:
        return "OpenACC programs take about as long with managed memory as with data directives."
    return f"OpenACC programs that leave data movement to managed memory are {', and '.join(said)}."


def _native(work: OpenaccWork) -> Finding:
    times = work.ratio("explicit", "native")
    assert times is not None
    explicit, native = work.ways["explicit"], work.ways["native"]
    text = (
        f"With data directives, OpenACC ({work.compiler}) takes {factor_words(times)} times as long as native calls "
        f"to copy {format_bytes(work.bytes)} of pageable memory in, add to all of it, copy it back and sum it "
        f"({format_seconds(explicit.seconds.median)}, {format_seconds(native.seconds.median)})"
    )
    if times.low > NATIVE_BAR:
        return Finding(
            "warning",
            "openacc_native",
            f"{text}: more than the 15 % that their copies should differ by.",
            cause=_where_longer(work),
            fix="Look at the phases in the table: other than the copies, only the CPU's sum and the allocation of "
            "device memory can differ.",
        )
    within = times.high <= NATIVE_BAR and times.low >= 1 / NATIVE_BAR
    told = (
        "within 15 %"
        if within
        else "faster"
        if times.high < 1
        else "not known well enough here to tell whether that is within 15 %"
    )
    return Finding("info", "openacc_native", f"{text}: {told}.")


def _where_longer(work: OpenaccWork) -> str:
    explicit, native = work.ways["explicit"].phases, work.ways["native"].phases
    longer = [
        f"{name} takes {format_seconds(explicit[metric].median)} in place of {format_seconds(native[metric].median)}"
        for metric, name in (("in_seconds", "copy in with compute"), ("out_seconds", "copy out with the CPU's sum"))
        if metric in explicit and metric in native and explicit[metric].low > native[metric].high
    ]
    return capitalised(f"{enumerated(longer)}.") if longer else ""


def _both(work: OpenaccWork) -> Finding:
    """Section 5.1: whether directives count where the managed mode is on."""
    automatic, both = work.ratio("automatic"), work.ratio("both")
    size = format_bytes(work.bytes)
    told = []
    if automatic:
        told.append(
            f"managed memory without directives takes {factor_words(automatic)} times as long as directives for all "
            f"of {size} ({PUBLISHED_WAY_RATIOS['automatic']:.2f} on {_PAPER})"
        )
    if both is None and not work.has_managed_mode:
        told.append(f"what directives do in managed mode needs nvc++ ({work.compiler} has no such mode)")
    elif both is not None:
        told.append(
            f"with directives and managed mode both, it takes {factor_words(both)} times as long "
            f"({PUBLISHED_WAY_RATIOS['both']:.2f})"
        )
    beside = work.ratio("both", "automatic")
    cause = ""
    if beside:
        ignored = 1 / _SAME <= beside.median <= _SAME
        cause = f"That is {beside.median:.2f} times the time of managed memory alone (0.99): " + (
            "the compiler ignores data directives in managed mode."
            if ignored
            else "here the directives are not without effect in managed mode."
        )
    return Finding("info", "openacc_managed", capitalised(f"{'; '.join(told)}."), cause=cause)


def _parts(works: Sequence[OpenaccWork]) -> list[Finding]:
    """Where managed memory is faster, because directives move all of an array that is touched in part."""
    compared = [work for work in works if work.program != "stencil" and work.ratio("automatic")]
    partial = [work for work in compared if work.fraction != 1.0]
    if not partial:
        return []
    faster = any(_certain(work) == "faster" for work in partial)
    return [
        Finding(
            "info",
            "openacc_parts",
            "Against directives, which copy all of an array that the device touches in part, managed memory takes "
            f"{_listed(partial)}.",
            cause="Of managed memory only the pages that are touched move." if faster else "",
        )
    ]


def _stencil(works: Sequence[OpenaccWork]) -> list[Finding]:
    compared = [work for work in works if work.program == "stencil" and work.ratio("automatic")]
    if not compared:
        return []
    published = [
        f"{enumerated([f'{factor:.3g} (side {side})' for side, factor in factors.items()])} with the halo packed by "
        f"{packed_by(pack)}"
        for pack, factors in PUBLISHED_STENCIL_RATIOS.items()
    ]
    return [
        Finding(
            "info",
            "openacc_stencil",
            f"Against directives, managed memory takes {_listed(compared)}. Two processes on {_PAPER} took "
            f"{'; '.join(published)}.",
        )
    ]


def _listed(works: Sequence[OpenaccWork]) -> str:
    """``0.31 times as long for 10 % of 1 GiB and 0.7 for 50 % of 1 GiB``."""
    first, *others = works
    told = [f"{factor_words(_automatic(first))} times as long for {part_words(first)}"]
    return enumerated([*told, *(f"{factor_words(_automatic(work))} for {part_words(work)}" for work in others)])


def _automatic(work: OpenaccWork) -> Interval:
    times = work.ratio("automatic")
    assert times is not None
    return times


def _certain(work: OpenaccWork) -> str:
    """Whether managed memory is faster or slower than directives, for certain and enough to act on; else empty."""
    times = _automatic(work)
    return "faster" if times.high < 1 / MATTERS else "slower" if times.low > MATTERS else ""
