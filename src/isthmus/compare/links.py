"""What is wrong with a device's link by itself: what it runs at, what both ends can do, and errors that were logged."""

from collections.abc import Iterator

import msgspec

from isthmus.analysis.machine import link_name, links_of
from isthmus.compare.normal import CARD_ONLY, is_module, kind_of, rules
from isthmus.document.finding import Finding
from isthmus.language import say
from isthmus.record import Device, Link, Run, format_rate

# What copies reach of a link, lower and upper end: which link a rate is like.
_LIKE = (0.70, 0.95)


def link_findings(run: Run, fastest: float, typical: float | None) -> Iterator[Finding]:
    """A link that changed, or that is slower or narrower than both ends.

    `fastest` is the best rate in one direction, or 0; `typical` what it is on healthy machines, if that was measured.
    """
    device, links = run.fingerprint.device, links_of(run)
    seen = {link.in_use for link in links if link.read_under_load}
    if len(seen) > 1:
        first, last = (link_name(*link.in_use) for link in (links[0], links[-1]))
        yield Finding("FAULT", "link", say("health.link_changed", before=first, after=last), do=mended(run))
        return
    for read in links[-1:]:
        link = _of_both_ends(device, read)
        now, carries = link_name(*link.in_use), link.theoretical_bytes_per_second
        if link.read_under_load and (link.is_slower or link.is_narrower):
            if carries and fastest > rules().above * carries:
                values = {"now": now, "rate": format_rate(fastest)}
                yield Finding("ATTENTION", "link_reading", say("health.link_unlike_rate", **values))
            else:
                yield Finding("FAULT", "link", _degraded(now, link, fastest, typical), do=mended(run))
        elif read.source:
            yield from _posted(read, link, fastest)


def _posted(read: Link, link: Link, fastest: float) -> Iterator[Finding]:
    """A link as another tool printed it, which may have been at rest and may be of the card alone."""
    now, best = link_name(*read.in_use), link_name(read.max_generation, read.max_width)
    if read.source not in (*CARD_ONLY, "lspci with port"):
        return
    if read.is_narrower or (read.is_slower and read.read_under_load):
        text = say("health.link_below_card", now=now, best=best)
        yield Finding("ATTENTION", "link", text, do=(say("health.link_below_card_do"),))
    elif read.is_slower:
        yield Finding(
            "note", "link_idle", say("health.link_idle", now=now, best=best), do=(say("health.link_idle_do"),)
        )
    elif not fastest and link.max_generation and link.max_width and link.width:
        yield Finding("OK", "link", say("health.link_ok", now=now))
    elif not fastest and link.width:
        yield Finding("OK", "link", say("health.link_ok_card", now=now))


def _of_both_ends(device: Device, link: Link) -> Link:
    """The link with the most that both ends can do, and nothing for what only one end was asked."""
    if is_module(device.name):
        own = (kind.link if (kind := kind_of(device.name)) else None) or Link()
        most = {"max_generation": link.max_generation or own.generation, "max_width": link.max_width or own.width}
        return msgspec.structs.replace(link, **most)
    if link.source not in CARD_ONLY:
        return link
    generation = link.max_generation if link.source == "nvidia-smi" else None
    return msgspec.structs.replace(link, max_generation=generation, max_width=None)


def _degraded(now: str, link: Link, fastest: float, typical: float | None) -> str:
    best = Link(generation=link.max_generation or link.in_use[0], width=link.max_width or link.in_use[1])
    values = {"now": now, "best": link_name(*best.in_use)}
    possible = typical or best.theoretical_bytes_per_second
    if not fastest or not possible:
        return say("health.link_degraded", **values)
    percent, full = 100 * fastest / possible, format_rate(possible)
    return say("health.link_degraded_rate", rate=format_rate(fastest), percent=percent, full=full, **values)


def mended(run: Run) -> tuple[str, ...]:
    """What mends a link, by what the card is plugged into, and what a vendor asks for where that does not."""
    device = run.fingerprint.device
    mend = say("health.reseat_module" if is_module(device.name) else "health.reseat")
    if device.backend != "cuda":
        return (mend,)
    return mend, say("health.vendor_asks", uuid=device.uuid or "?", address=device.pci_address or "?")


def likely_links(run: Run, rate: float) -> str:
    """Which narrower or older links a rate is like, where the link was not read; empty where it is like none."""
    kind = kind_of(run.fingerprint.device.name)
    own = kind.link if kind and kind.bus == "pcie" else None
    if links_of(run) or own is None or not own.generation or not own.width:
        return ""
    names = [
        link_name(generation, width)
        for generation in range(own.generation, 0, -1)
        for width in (16, 8, 4, 2, 1)
        if width <= own.width and (generation, width) != own.in_use
        if (carries := Link(generation=generation, width=width).theoretical_bytes_per_second)
        and _LIKE[0] * carries <= rate <= _LIKE[1] * carries
    ]
    return say("health.like_links", links=say("common.comma").join(names)) if names else ""


def logged_findings(run: Run) -> Iterator[Finding]:
    """Errors of the link that the kernel logged."""
    conditions = run.fingerprint.device.conditions
    counts = {name: int(conditions.get(f"aer_{name}", "0")) for name in ("corrected", "nonfatal", "fatal")}
    if "off_bus" in conditions:
        yield Finding("FAULT", "off_bus", say("health.off_bus", sign=conditions["off_bus"]), do=mended(run))
    if counts["fatal"]:
        yield Finding("FAULT", "aer", say("health.aer_fatal", count=counts["fatal"]), do=mended(run))
    elif counts["nonfatal"]:
        yield Finding("ATTENTION", "aer", say("health.aer_nonfatal", count=counts["nonfatal"]), do=mended(run))
    elif counts["corrected"] > rules().many_corrected:
        yield Finding("ATTENTION", "aer", say("health.aer_corrected", count=counts["corrected"]), do=mended(run))
    elif counts["corrected"]:
        yield Finding("note", "aer", say("health.aer_few", count=counts["corrected"]))
