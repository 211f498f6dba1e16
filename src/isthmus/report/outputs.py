"""What `isthmus check --from` says: the worst device in full, the others by their level, and what was not judged."""

import io
import re
from collections.abc import Iterator, Sequence

from isthmus.analysis.machine import link_line, links_of
from isthmus.analysis.phrases import describe_device, direction_word, range_text
from isthmus.compare import Health, Normal, Rate
from isthmus.document.document import Block, Data, Document, Labelled
from isthmus.document.finding import gravity
from isthmus.language import clauses, say
from isthmus.record import Run, format_rate
from isthmus.report.check import Checked, check_data, device_blocks

_MOST_LINES = 15
_MOST_BRIEF = 12
_MOST_NAMES = 8


def outputs_document(checked: Sequence[Checked], unread: Sequence[str], *, columns: int = 0) -> Document:
    """The verdict on the worst of the devices, and a line for those of each level; at most 15 lines on a screen."""
    from isthmus.report.renderers import terminal

    ordered = sorted(checked, key=lambda each: (gravity(each[1].level), _least_share(each[1])))
    data = Data(
        lambda: {
            "format": "isthmus.outputs",
            "devices": [check_data(*each) for each in checked],
            "not_judged": list(unread),
        }
    )
    title = "\n".join(dict.fromkeys(describe_device(run) for run, _, _ in checked))
    for brief in range(_MOST_BRIEF):
        document = Document("check", title, tuple(_blocks(ordered, unread, brief)), data=data)
        out = io.StringIO()
        if columns:
            terminal.write(document, out, width=columns)
        if out.getvalue().count("\n") <= _MOST_LINES:
            break
    return document


def _least_share(health: Health) -> float:
    """The lowest rate, as a share of the least that is normal for it."""
    return min((rate.rate / rate.normals[0].low for rate in _pinned(health) if rate.normals), default=1.0)


def _blocks(ordered: Sequence[Checked], unread: Sequence[str], brief: int) -> Iterator[Block]:
    run, health, _ = ordered[0]
    is_of_several = len({each.fingerprint.host.name for each, _, _ in ordered}) > 1
    facts = {
        say("outputs.normal"): _normal(health, brief),
        say("health.link"): link_line(run) if brief < 2 and any(all(link.in_use) for link in links_of(run)) else "",
        say("outputs.next"): _next(run, health) if brief < _MOST_BRIEF - 1 else "",
    }
    yield from device_blocks(run, health, brief, facts, _host(run) if is_of_several else "")
    by_mark: dict[str, list[Checked]] = {}
    for each in ordered[1:]:
        by_mark.setdefault(each[1].mark, []).append(each)
    for mark, others in by_mark.items():
        yield Labelled(mark, (_others(others, is_of_several=is_of_several),), others[0][1].level)
    if unread:
        text = say("outputs.not_judged", what=unread[0])
        yield Labelled("--", (say("outputs.more", what=text, count=len(unread) - 1) if unread[1:] else text,), "none")


def _host(run: Run) -> str:
    return run.fingerprint.host.name or "-"


def _others(others: Sequence[Checked], *, is_of_several: bool) -> str:
    names = [f"{_host(run)} " * is_of_several + run.fingerprint.device.spec for run, _, _ in others]
    shown = ", ".join(names[:_MOST_NAMES]) + ", ..." * (len(names) > _MOST_NAMES)
    rates = [each.rate for _, health, _ in others for each in _pinned(health) if each.direction != "both"]
    if not rates:
        return say("outputs.others_unmeasured", count=len(names), devices=shown)
    return say("outputs.others", count=len(names), devices=shown, range=range_text(min(rates), max(rates)))


def _normal(health: Health, brief: int) -> str:
    """What says how much is normal: of both directions if those are what is wrong, else of the lowest in one."""
    is_both = health.points[0].topic == "both"
    judged = [each for each in _pinned(health) if each.normals and (each.direction == "both") == is_both]
    if not judged:
        return ""
    worst = min(judged, key=lambda rate: rate.rate / rate.normals[0].low)
    bases = clauses([_basis(each) for each in worst.normals[: 1 if brief > 2 else None]])
    return say("labels.named_value", name=direction_word(worst.direction), value=bases)


def _pinned(health: Health) -> list[Rate]:
    """The rates that say most of a link."""
    return [rate for rate in health.rates if rate.memory == "pinned"]


def _basis(normal: Normal) -> str:
    names = [
        re.sub(r"https://github.com/([\w.-]+/[\w.-]+)/(?:issues|pull)/(\d+)", r"\1#\2", each) for each in normal.sources
    ]
    short = [re.sub(r"https://github.com/([\w.-]+/[\w.-]+)/.*", r"\1", each) for each in names]
    return say(f"outputs.basis_{normal.basis}", low=format_rate(normal.low), of=normal.of, sources=", ".join(short))


def _next(run: Run, health: Health) -> str:
    """The output that would say more; of a device that is gone none does."""
    if any(point.topic == "off_bus" for point in health.points):
        return ""
    if not _pinned(health):
        return say("outputs.next_rates")
    return "" if links_of(run) or health.level == "OK" else say("outputs.next_link")
