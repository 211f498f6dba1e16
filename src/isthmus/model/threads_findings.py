"""What the threads experiment says: all its findings, and what to take away in two sentences."""

from collections.abc import Sequence

from isthmus.model.curve import ONE_WAY
from isthmus.model.finding import Finding
from isthmus.model.phrases import link_rate, memory_name
from isthmus.model.threads import ThreadCurve, reference_bytes, thread_curves, worker_curves
from isthmus.model.threads_gain import Gain, thread_gains
from isthmus.model.threads_gain_findings import FULL_LINK, gain_findings, most_gained, rate_span
from isthmus.model.threads_modes import threads_both_ways
from isthmus.model.threads_modes_findings import mode_findings
from isthmus.model.threads_places_findings import place_findings
from isthmus.model.threads_published import published_finding
from isthmus.model.threads_spawn import spawn_costs
from isthmus.model.threads_spawn_findings import spawn_finding, usual_spawn_cost
from isthmus.model.threads_words import count_span, divided, joined, threads_of, way_name
from isthmus.record import Run, format_bytes, format_rate, format_seconds

__all__ = ["threads_findings", "threads_verdict"]


def threads_findings(run: Run) -> list[Finding]:
    """The findings about threads of one device, and about several devices and nodes where there are some."""
    curves = thread_curves(run)
    gains = thread_gains(curves)
    single = [spawn_finding(curves), published_finding(run, gains, threads_both_ways(curves))]
    found = [*gain_findings(run, gains), *mode_findings(run, curves), *(finding for finding in single if finding)]
    return found + place_findings(run)


def threads_verdict(run: Run) -> str:
    """What to take away about threads; empty where none were measured."""
    curves = thread_curves(run)
    gains = thread_gains(curves)
    size = reference_bytes([gain.curve for gain in gains])
    told = [_told(run, chosen) for chosen in _by_kind([gain for gain in gains if gain.curve.bytes == size])]
    sentences = [f"{'; '.join(told)}."] if told else _without_gains(run, curves)
    cost = usual_spawn_cost(spawn_costs(curves))
    if cost and cost.certain:
        copy = f"a copy of {format_bytes(cost.curve.bytes)} from {memory_name(cost.curve.host_memory)}"
        share = f", {100 * cost.share.median:.0f} % of {copy}" if cost.share_tells else ""
        sentences.append(
            f"Creating {threads_of(cost.curve.direction, cost.threads)} for a transfer costs "
            f"{format_seconds(cost.seconds.median)}{share}."
        )
    return " ".join(sentences)


def _without_gains(run: Run, curves: Sequence[ThreadCurve]) -> list[str]:
    """What there is to say where nothing compares one thread with more."""
    if places := place_findings(run):
        return [places[0].sentence]
    measured = worker_curves(curves)
    if not measured:
        return []
    fastest = max(measured, key=lambda curve: max(point.rate.median for point in curve.points.values()))
    count, point = max(fastest.points.items(), key=lambda each: each[1].rate.median)
    what = f"{memory_name(fastest.host_memory)}, {format_bytes(fastest.bytes)}"
    return [
        f"{threads_of(fastest.direction, count)} moved {format_rate(point.rate.median)} "
        f"{way_name(fastest.direction)} ({what}); one thread and more were not both measured, so nothing can be said "
        "about what threads gain."
    ]


def _by_kind(gains: Sequence[Gain]) -> list[list[Gain]]:
    """The gains one way of each kind of memory; both ways where neither was measured."""
    found = []
    for kind in dict.fromkeys(gain.curve.host_memory for gain in gains):
        of_kind = [gain for gain in gains if gain.curve.host_memory == kind]
        found.append([gain for gain in of_kind if gain.curve.direction in ONE_WAY] or of_kind)
    return found


def _told(run: Run, gains: Sequence[Gain]) -> str:
    """One kind of memory: the directions that gain, little at most or not, and those that the run cannot tell."""
    name = memory_name(gains[0].curve.host_memory)
    certain, little, none, unknown = (
        [gain for gain in gains if gain.answer == answer] for answer in ("yes", "little", "no", "cannot tell")
    )
    parts = []
    if certain:
        ends = [
            f"{threads_of(gain.curve.direction, gain.enough)}{divided(gain.curve)} ({rate_span(gain)} {_way(gain)})"
            for gain in certain
        ]
        parts.append(f"{name} gains from threads, up to {joined(ends)}")
    if not certain and not unknown and _fills_link(run, gains):
        rates = [f"{format_rate(gain.one.rate.median)} {_way(gain)}" for gain in gains]
        shares = dict.fromkeys(share for gain in gains if (share := _share(run, gain)))
        return f"{name} reaches {joined(rates)}, {joined(list(shares))} of the link, with one thread"
    if little:
        subject = "elsewhere" if parts else f"{name} gains little, if anything, from threads:"
        parts.append(f"{subject} at most {most_gained(little)} the rate of one ({_spans(little)})")
    if none:
        subject = "elsewhere nothing" if parts else f"{name} gains nothing from threads"
        parts.append(f"{subject} ({_spans(none)})")
    if unknown:
        subject = (
            "elsewhere this run cannot tell" if parts else f"whether {name} gains from threads, this run cannot tell"
        )
        parts.append(f"{subject} ({_spans(unknown)})")
    return ", ".join(parts)


def _spans(gains: Sequence[Gain]) -> str:
    rates = [f"{rate_span(gain)} {_way(gain)}" for gain in gains]
    return f"{joined(rates)} with {count_span([1, *gains[0].curve.points])}"


def _way(gain: Gain) -> str:
    return way_name(gain.curve.direction)


def _fills_link(run: Run, gains: Sequence[Gain]) -> bool:
    limits = [link_rate(run, both=gain.curve.direction == "both") for gain in gains]
    return all(limit and gain.one.rate.median >= FULL_LINK * limit for gain, limit in zip(gains, limits, strict=True))


def _share(run: Run, gain: Gain) -> str:
    limit = link_rate(run, both=gain.curve.direction == "both")
    return f"{100 * gain.one.rate.median / limit:.0f} %" if limit else ""
