"""What the threads experiment says: all its findings, and what to take away in two sentences."""

from collections.abc import Sequence

from isthmus.analysis.phrases import link_rate, memory_name, way_name
from isthmus.analysis.statistics.curve import ONE_WAY
from isthmus.analysis.threads.gain import Gain, thread_gains
from isthmus.analysis.threads.gain_findings import FULL_LINK, gain_findings, most_gained, rate_span
from isthmus.analysis.threads.model import ThreadCurve, reference_bytes, thread_curves, worker_curves
from isthmus.analysis.threads.modes_findings import mode_findings
from isthmus.analysis.threads.places_findings import place_findings
from isthmus.analysis.threads.spawn import spawn_costs
from isthmus.analysis.threads.spawn_findings import spawn_finding, usual_spawn_cost
from isthmus.analysis.threads.words import count_span, divided_threads, threads_of
from isthmus.document.finding import Finding, Takeaway
from isthmus.language import capitalised, enumerated, say, sentences
from isthmus.record import Run, format_bytes, format_rate, format_seconds


def findings(run: Run) -> list[Finding]:
    """The findings about threads of one device, and about several devices and nodes where there are some."""
    curves = thread_curves(run)
    gains = thread_gains(curves)
    spawned = spawn_finding(curves)
    found = [*gain_findings(run, gains), *mode_findings(run, curves), *([spawned] if spawned else [])]
    return found + place_findings(run)


def takeaway(run: Run) -> Takeaway | None:
    """What to take away about threads; None where none were measured."""
    curves = thread_curves(run)
    gains = thread_gains(curves)
    size = reference_bytes([gain.curve for gain in gains])
    kinds = _by_kind([gain for gain in gains if gain.curve.bytes == size])
    told = [text for chosen in kinds for text in _told(run, chosen)] or _without_gains(run, curves)
    cost = usual_spawn_cost(spawn_costs(curves))
    advice = ""
    if cost and cost.certain:
        threads, time = threads_of(cost.curve.direction, cost.threads), format_seconds(cost.seconds.median)
        advice = say("threads.takeaway_keep", threads=threads, time=time)
        if cost.share_tells:
            memory, size_words = memory_name(cost.curve.host_memory), format_bytes(cost.curve.bytes)
            share = 100 * cost.share.median
            key = "threads.takeaway_keep_share"
            advice = say(key, threads=threads, time=time, percent=share, size=size_words, memory=memory)
    return Takeaway(sentences(map(capitalised, told)), advice) if told or advice else None


def _without_gains(run: Run, curves: Sequence[ThreadCurve]) -> list[str]:
    """What there is to say where nothing compares one thread with more."""
    if places := place_findings(run):
        return [places[0].sentence]
    measured = worker_curves(curves)
    if not measured:
        return []
    fastest = max(measured, key=lambda curve: max(point.rate.median for point in curve.points.values()))
    count, point = max(fastest.points.items(), key=lambda each: each[1].rate.median)
    return [
        say(
            "threads.takeaway_fastest",
            threads=threads_of(fastest.direction, count),
            rate=format_rate(point.rate.median),
            way=way_name(fastest.direction),
            memory=memory_name(fastest.host_memory),
            size=format_bytes(fastest.bytes),
        )
    ]


def _by_kind(gains: Sequence[Gain]) -> list[list[Gain]]:
    """The gains one way of each kind of memory; both ways where neither was measured."""
    found = []
    for kind in dict.fromkeys(gain.curve.host_memory for gain in gains):
        of_kind = [gain for gain in gains if gain.curve.host_memory == kind]
        found.append([gain for gain in of_kind if gain.curve.direction in ONE_WAY] or of_kind)
    return found


def _told(run: Run, gains: Sequence[Gain]) -> list[str]:
    """One kind of memory: the directions that gain, little at most or not, and those that the run cannot tell."""
    memory = memory_name(gains[0].curve.host_memory)
    certain, little, none, unknown = (
        [gain for gain in gains if gain.answer == answer] for answer in ("yes", "little", "no", "cannot tell")
    )
    if not certain and not unknown and _fills_link(run, gains):
        rates = enumerated([f"{format_rate(gain.one.rate.median)} {_way(gain)}" for gain in gains])
        shares = enumerated(list(dict.fromkeys(share for gain in gains if (share := _share(run, gain)))))
        return [say("threads.takeaway_fills", memory=memory, rates=rates, shares=shares)]
    told = []
    if certain:
        ends = [_gained(gain) for gain in certain]
        told.append(say("threads.takeaway_gains", memory=memory, ends=enumerated(ends)))
    # What a second sentence about the same memory says is about its other directions.
    where = "_elsewhere" if certain else ""
    if little:
        most = most_gained(little)
        told.append(say(f"threads.takeaway_little{where}", memory=memory, most=most, spans=_spans(little)))
    if none:
        told.append(say(f"threads.takeaway_nothing{where}", memory=memory, spans=_spans(none)))
    if unknown:
        told.append(say(f"threads.takeaway_unknown{where}", memory=memory, spans=_spans(unknown)))
    return told


def _gained(gain: Gain) -> str:
    threads = divided_threads(gain.curve, gain.enough)
    return say("threads.takeaway_end", threads=threads, rates=rate_span(gain), way=_way(gain))


def _spans(gains: Sequence[Gain]) -> str:
    rates = [f"{rate_span(gain)} {_way(gain)}" for gain in gains]
    return say("threads.rates_with", rates=enumerated(rates), threads=count_span([1, *gains[0].curve.points]))


def _way(gain: Gain) -> str:
    return way_name(gain.curve.direction)


def _fills_link(run: Run, gains: Sequence[Gain]) -> bool:
    limits = [link_rate(run, both=gain.curve.direction == "both") for gain in gains]
    return all(limit and gain.one.rate.median >= FULL_LINK * limit for gain, limit in zip(gains, limits, strict=True))


def _share(run: Run, gain: Gain) -> str:
    limit = link_rate(run, both=gain.curve.direction == "both")
    return f"{100 * gain.one.rate.median / limit:.0f} %" if limit else ""
