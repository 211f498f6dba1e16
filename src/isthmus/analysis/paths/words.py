"""How links of copies over several links, and what they cost, are named."""

from isthmus.analysis.paths.model import ALL, OWN, Compared
from isthmus.analysis.phrases import direction_word
from isthmus.language import say
from isthmus.record import format_rate


def links_words(compared: Compared, link: str) -> str:
    """``cuda:1's link``, ``the links of its 7 neighbours``."""
    return say("paths.links_all", count=len(compared.peers)) if link == ALL else say("paths.links_one", peer=link)


def way_heading(link: str, peers: int) -> str:
    """``own link``, ``with cuda:1``, ``with all 7``: a column of a table."""
    if link == OWN:
        return say("paths_report.own")
    return say("paths_report.with_all", count=peers) if link == ALL else say("paths_report.with", peer=link)


def gain_words(compared: Compared) -> str:
    """``H2D 105 GB/s, 1.92 times its own link's 54.8 GB/s (split 51/49)``; empty where unknown."""
    best, gain, own = compared.best, compared.gain(compared.best), compared.links.get(OWN)
    rate = compared.links[best].rate if best else None
    if gain is None or own is None or own.rate is None or rate is None:
        return ""
    # The table has the names of many links.
    split = split_words(compared) if len(compared.peers) == 1 else ""
    return say(
        "paths.gain" if split else "paths.gain_unsplit",
        direction=direction_word(compared.direction),
        rate=format_rate(rate.median),
        factor=factor_words(gain.median),
        own=format_rate(own.rate.median),
        split=split,
    )


def split_words(compared: Compared) -> str:
    """``51/49``: per cent of the own link and of the neighbours', in their order; empty where nothing was divided."""
    figure = compared.links.get(compared.best or "")
    carried = figure.case.carried if figure and figure.rate else {}
    total = sum(carried.values())
    order = [compared.target, *compared.peers]
    return "/".join(f"{100 * carried[spec] / total:.0f}" for spec in order if total and spec in carried)


def factor_words(factor: float) -> str:
    """Two decimals, since 1.85 and 1.95 times differ here: ``1.92``."""
    return f"{factor:.2f}" if factor < 9.995 else f"{factor:.1f}"
