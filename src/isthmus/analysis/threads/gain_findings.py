"""Whether more threads than one move more of each kind of memory, in sentences with cause and advice."""

from collections.abc import Iterator, Mapping, Sequence

from isthmus.analysis.phrases import link_rate, memory_name, range_text, times, way_name
from isthmus.analysis.statistics.curve import ONE_WAY
from isthmus.analysis.threads.gain import Answer, Gain
from isthmus.analysis.threads.labels import count_span, divided_threads, link_share
from isthmus.analysis.threads.model import reference_bytes
from isthmus.document.finding import Finding
from isthmus.language import capitalised, enumerated, say, sentences
from isthmus.record import Run, format_bytes, format_rate

# From here on the link itself is what limits, with the headers of packets and what they wait for.
_FULL_LINK = 0.8
# Pinned memory must be so much faster for the link to be ruled out as what limits another kind.
_FAR_AHEAD = 1.25
_ANSWERS: Mapping[Answer, str] = {
    "yes": "threads.gain",
    "little": "threads.little",
    "no": "threads.nothing",
    "cannot tell": "threads.unknown",
}


def gain_findings(run: Run, gains: Sequence[Gain]) -> list[Finding]:
    """One finding for each kind of memory that was measured with one thread and with more."""
    return [_finding(run, gains, kind) for kind in dict.fromkeys(gain.curve.host_memory for gain in gains)]


def gain_takeaways(run: Run, gains: Sequence[Gain]) -> list[str]:
    """A sentence or two for each kind of memory at the size to conclude about, one way; both ways where that is all."""
    size = reference_bytes([gain.curve for gain in gains])
    texts = []
    for kind in dict.fromkeys(gain.curve.host_memory for gain in gains):
        chosen = [gain for gain in gains if (gain.curve.host_memory, gain.curve.bytes) == (kind, size)]
        chosen = [gain for gain in chosen if gain.curve.direction in ONE_WAY] or chosen
        limits = [link_rate(run, both=gain.curve.direction == "both") for gain in chosen]
        shares = [gain.one.rate.median / limit for gain, limit in zip(chosen, limits, strict=True) if limit]
        filled = len(shares) == len(chosen) and all(share >= _FULL_LINK for share in shares)
        if chosen and filled and all(gain.answer in ("no", "little") for gain in chosen):
            rates = [f"{format_rate(gain.one.rate.median)} {way_name(gain.curve.direction)}" for gain in chosen]
            percents = enumerated(list(dict.fromkeys(f"{100 * share:.0f} %" for share in shares)))
            memory = capitalised(memory_name(kind))
            texts.append(say("threads.takeaway_fills", memory=memory, rates=enumerated(rates), shares=percents))
        elif chosen:
            texts += list(_sentences(run, chosen))[:2]
    return texts


def _finding(run: Run, gains: Sequence[Gain], kind: str) -> Finding:
    chosen = [gain for gain in gains if gain.curve.host_memory == kind]
    size = reference_bytes([gain.curve for gain in chosen])
    first = [gain for gain in chosen if gain.curve.bytes == size]
    answers = {gain.curve.direction: gain.answer for gain in first}
    texts = list(_sentences(run, first))
    # Other sizes where their answer is another one.
    for other in sorted({gain.curve.bytes for gain in chosen} - {size}):
        same = [gain for gain in chosen if gain.curve.bytes == other]
        texts += _sentences(run, [gain for gain in same if gain.answer != answers.get(gain.curve.direction)])
    cause, fix = _limit(run, gains, first), _advice(run, gains, first)
    return Finding("note", f"threads_{kind}", sentences(texts), cause, fix)


def _sentences(run: Run, gains: Sequence[Gain]) -> Iterator[str]:
    """About transfers of one size: directions that gain, that gain little at most or nothing, that are unknown."""
    for answer, key in _ANSWERS.items():
        chosen = [gain for gain in gains if gain.answer == answer]
        if not chosen:
            continue
        about = {"memory": memory_name(chosen[0].curve.host_memory), "size": format_bytes(chosen[0].curve.bytes)}
        if answer == "yes":
            yield say(key, **about, each=say("threads.between_gains").join(_gained(run, g) for g in chosen))
            continue
        threads, most = count_span(chosen[0].points), max(gain.most for gain in chosen)
        rates = enumerated([_rates(run, gain) for gain in chosen])
        yield say(key, **about, threads=threads, rates=rates, most=times(most, most))


def _rates(run: Run, gain: Gain) -> str:
    """Lowest and highest rate over the numbers of threads, with the factor that is possible or the link's share."""
    rates = [point.rate.median for point in gain.points.values()]
    span, way = range_text(min(rates), max(rates)), way_name(gain.curve.direction)
    if gain.answer == "no":
        return f"{span} {way}{link_share(run, max(rates), gain.curve.direction)}"
    key = "threads.rates_at_most" if gain.answer == "little" else "threads.rates_up_to"
    return say(key, rates=span, way=way, times=times(gain.most, gain.most))


def _gained(run: Run, gain: Gain) -> str:
    direction = gain.curve.direction
    rate = gain.curve.points[gain.enough].rate.median
    factor = rate / gain.one.rate.median
    return say(
        "threads.gained_most" if gain.enough == max(gain.curve.points) else "threads.gained",
        threads=divided_threads(gain.curve, gain.enough),
        rate=format_rate(rate),
        way=way_name(direction),
        share=link_share(run, rate, direction),
        times=times(factor, factor),
    )


def _limit(run: Run, gains: Sequence[Gain], first: Sequence[Gain]) -> str:
    """Why threads gain nothing or little, where the rates themselves show it."""
    none = [gain for gain in first if gain.answer in ("no", "little") and gain.curve.direction in ONE_WAY]
    limit = link_rate(run)
    if limit is None or not none:
        return ""
    if all(gain.one.rate.median >= _FULL_LINK * limit for gain in none):
        return say("threads.link_filled")
    pinned = [_pinned(gains, gain) for gain in none]
    ahead = [
        reference.one.rate.median
        for gain, reference in zip(none, pinned, strict=True)
        if reference and reference.one.rate.low > _FAR_AHEAD * max(each.rate.high for each in gain.points.values())
    ]
    if len(ahead) < len(none):
        return ""
    return say("threads.link_not_filled", rates=range_text(min(ahead), max(ahead)))


def _pinned(gains: Sequence[Gain], gain: Gain) -> Gain | None:
    """The same transfer of pinned memory beside one of pageable memory."""
    wanted = ("pinned", *gain.curve.subject[1:])
    if not gain.curve.host_memory.startswith("pageable"):
        return None
    return next((other for other in gains if other.curve.subject == wanted), None)


def _advice(run: Run, gains: Sequence[Gain], first: Sequence[Gain]) -> str:
    gaining = [gain for gain in first if gain.answer == "yes"]
    if gaining:
        ways = [f"{divided_threads(gain.curve, gain.enough)} {way_name(gain.curve.direction)}" for gain in gaining]
        return say("threads.copy_with", ways=enumerated(ways))
    if any(gain.answer == "cannot tell" for gain in first):
        return say("threads.measure_full")
    if any(_pinned(gains, gain) for gain in first) and _limit(run, gains, first):
        return say("threads.use_one_and_pin")
    return say("threads.use_one")
