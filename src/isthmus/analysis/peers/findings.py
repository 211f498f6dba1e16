"""Findings on copies between devices: rates, what passes through the host, pairs that are slower, links that share."""

from collections.abc import Sequence

from isthmus.analysis.peers.model import (
    Copies,
    Pair,
    Together,
    accesses,
    at_once,
    group_name,
    path_name,
    paths,
    together,
    whole,
)
from isthmus.analysis.phrases import direction_word, range_text, spanned
from isthmus.analysis.statistics.contrast import MATTERS
from isthmus.document.finding import Finding, known
from isthmus.language import say, sentences
from isthmus.record import Interval, Run, format_bytes, format_rate, format_seconds

_MOST_NAMED = 3
# Pairs that are joined alike differ by less, and with fewer none is usual.
_UNEVEN = 1.1
_LEAST_PAIRS = 3


def findings(run: Run) -> list[Finding]:
    """Nothing where nothing was measured between devices."""
    one_way = whole(run, "peer")
    return known(
        _rates(run, one_way), _all_pairs(run), _by_host(run), _uneven(run, one_way), *map(_shared, together(run))
    )


def takeaway(run: Run) -> Finding | None:
    """The rates, and what to do about them."""
    candidates = findings(run)
    does = next((each.text for each in candidates if each.topic == "peers_rates"), "")
    return (
        Finding("note", "peers", does, do=(sentences(do for each in candidates for do in each.do),)) if does else None
    )


def _spread(matrices: Sequence[Copies], prefix: str) -> str:
    rates = [rate.median for each in matrices if each.method.startswith(prefix) for rate in each.rates.values()]
    return range_text(min(rates), max(rates)) if rates else ""


def _rates(run: Run, one_way: Sequence[Copies]) -> Finding | None:
    engines, both = _spread(one_way, "copy"), _spread(whole(run, "both"), "copy")
    kernels = _spread(one_way, "kernel")
    if not engines:
        return None
    names = dict.fromkeys(path_name(path) for path in paths(run).values() if path)
    words = {"size": format_bytes(one_way[0].bytes), "paths": say("common.comma").join(names) or "?", "rates": engines}
    texts = [say("peers.rates", **words)]
    if both:
        texts.append(say("peers.both", rates=both))
    if kernels:
        texts.append(say("peers.kernels", rates=kernels))
    times = [figure.seconds.median for figure in accesses(run).values() if figure.seconds]
    if times:
        texts.append(say("peers.access", times=spanned(format_seconds(min(times)), format_seconds(max(times)))))
    return Finding("note", "peers_rates", sentences(texts))


def _all_pairs(run: Run) -> Finding | None:
    """The faster method's sum, and what of it each device sends."""
    sums = [
        (figure, each.devices) for each in at_once(run) if each.kind == "all_pairs" for figure in each.figures.values()
    ]
    rates = [(figure.rate.median, devices) for figure, devices in sums if figure.rate]
    if not rates:
        return None
    rate, devices = max(rates)
    words = {"count": devices * (devices - 1), "rate": format_rate(rate), "each": format_rate(rate / devices)}
    return Finding("note", "peers_all_pairs", say("peers.all_pairs", **words))


def _by_host(run: Run) -> Finding | None:
    known = paths(run)
    staged = [pair for pair, path in known.items() if path.startswith("host")]
    if not staged:
        return None
    text = say("peers.by_host", count=len(staged), all=len(known), first=_named(staged))
    return Finding("ATTENTION", "peers_by_host", text, say("peers.by_host_cause"), (say("peers.by_host_fix"),))


def _uneven(run: Run, one_way: Sequence[Copies]) -> Finding | None:
    """Pairs slower than the median of those joined alike, by the method that shows it most."""
    known = paths(run)
    worst: tuple[float, Copies, str, dict[Pair, Interval], Interval] | None = None
    for each in one_way:
        for path in dict.fromkeys(known.values()):
            rates = {pair: rate for pair, rate in each.rates.items() if known.get(pair, "") == path}
            # Among two, neither is the usual one.
            if len(rates) < _LEAST_PAIRS:
                continue
            usual = sorted(rates.values(), key=lambda rate: rate.median)[len(rates) // 2]
            slow = {pair: rate for pair, rate in rates.items() if rate.high * _UNEVEN < usual.low}
            factor = max((usual.median / rate.median for rate in slow.values()), default=0.0)
            if slow and (worst is None or factor > worst[0]):
                worst = factor, each, path, slow, usual
    if worst is None:
        return None
    _, copies, path, slow, usual = worst
    medians = [rate.median for rate in slow.values()]
    text = say(
        "peers.uneven",
        pairs=_named(list(slow)),
        method=say(f"peers_report.method_{copies.method}"),
        rates=range_text(min(medians), max(medians)),
        path=path_name(path),
        usual=format_rate(usual.median),
    )
    return Finding("ATTENTION", "peers_uneven", text, do=(say("peers.uneven_fix"),))


def _shared(group: Together) -> Finding | None:
    """Links that give less at once than alone; a root port's or those of the whole host."""
    shares = {direction: share for direction in group.sums if (share := group.share(direction)) is not None}
    if not shares:
        return None
    each = say("common.comma").join(
        say("peers.sum", direction=direction_word(direction), rate=format_rate(rate.median), percent=round(100 * share))
        for direction, share in shares.items()
        if (rate := group.sums[direction].rate)
    )
    topic = f"peers_links_{group.port or 'all'}"
    text = say("peers.links", who=group_name(group), each=each)
    if min(shares.values()) * MATTERS >= 1:
        return Finding("note", topic, text)
    return Finding(
        "ATTENTION" if group.port else "note", topic, text, do=(say("peers.links_fix") if group.port else "",)
    )


def _named(pairs: Sequence[Pair]) -> str:
    names = [say("peers.pair", source=source, to=to) for source, to in pairs]
    more = ["..."] if len(names) > _MOST_NAMED else []
    return say("common.comma").join([*names[:_MOST_NAMED], *more])
