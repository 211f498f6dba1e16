"""Whether a device's link is all right, from one run: what is a fault, what costs the user, and what to do about it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from isthmus.analysis.machine import links_of
from isthmus.analysis.phrases import memory_label
from isthmus.analysis.quality import wrong_data
from isthmus.compare.rates import Normal, Rate, pinned_rates, rates_of
from isthmus.compare.reference import Reference, reference_for
from isthmus.document.finding import TROUBLES, Finding, Level, gravity, level_word
from isthmus.language import say
from isthmus.record import Run, format_seconds

if TYPE_CHECKING:
    from isthmus._native import TextTuple


@dataclass(frozen=True)
class Health:
    """The verdict on a device: the level of its worst point, the points from bad to good, and the rates."""

    level: Level
    points: tuple[Finding, ...]
    rates: tuple[Rate, ...]

    @property
    def mark(self) -> str:
        """The first word of a verdict."""
        return level_word(self.level)

    @property
    def troubles(self) -> tuple[Finding, ...]:
        """The points that are not about what is right, or cannot be judged."""
        return tuple(point for point in self.points if point.level in TROUBLES)


def judge(run: Run, reference: Reference | None = None, alike: Sequence[Run] = ()) -> Health:
    """Judge the device of a run by its link, its rates and what is normal for such devices.

    `alike` are runs of all devices of its kind in its machine. The rules are those of the program isthmus-check, in
    `native/judge`.
    """
    from isthmus import _native  # Nothing else of saved files needs it.

    device, placement = run.fingerprint.device, run.end.placement if run.end else None
    rates, others = list(rates_of(run, reference)), [pinned_rates(each) for each in alike]
    verdict = _native.judge(
        device,
        links_of(run),
        [
            (rate, [each[rate.direction].rate for each in others if rate.memory == "pinned" and rate.direction in each])
            for rate in rates
        ],
        iommu=run.fingerprint.host.iommu,
        bound_node=placement.bound_node if placement else None,
        reference=(reference.name, reference.run.fingerprint.device.name) if reference else None,
    )
    points = (
        *wrong_data(run),
        *(
            Finding(level, topic, _worded(text), _worded(cause) if cause else "", tuple(map(_worded, do)))
            for level, topic, text, cause, do in verdict["findings"]
        ),
    )
    judged = [
        replace(rate, normals=tuple(Normal(*each) for each in normals))
        for rate, normals in zip(rates, verdict["normals"], strict=True)
    ]
    return Health(points[0].level, points, tuple(judged))


def _worded(text: "TextTuple") -> str:
    """A text of the rules in the language that is spoken."""
    key, values = text
    words = {name: say("common.comma").join(each) if isinstance(each, list) else each for name, each in values.items()}
    if memory := values.get("memory"):
        words["memory"] = memory_label(str(memory)).capitalize()
    return say(key, **words)


def judge_together(runs: Sequence[Run], named: Reference | None = None) -> list[tuple[Run, Health, str]]:
    """The verdict on each of some devices of one or more machines, with the name of the reference if there is one."""
    judged = []
    for run in runs:
        device = run.fingerprint.device
        reference = named or reference_for(device)
        near = [each for each in runs if each.fingerprint.host.name == run.fingerprint.host.name]
        alike = [each for each in near if each.fingerprint.device.name == device.name]
        judged.append((run, judge(run, reference, alike), reference.name if reference else ""))
    return judged


def judge_all(runs: Sequence[Run], reference: Reference | None = None, alike: Sequence[Run] = ()) -> tuple[Run, Health]:
    """The worst of some runs of one device, one after the other, and the verdict on all of them; `alike` as for judge.

    A link that is worse in some of them than in others is one that flaps.
    """
    verdicts = [judge(run, reference, alike) for run in runs]
    worst = min(range(len(runs)), key=lambda at: gravity(verdicts[at].level))
    health = verdicts[worst]
    as_bad = sum(each.level == health.level for each in verdicts)
    if as_bad < len(runs) and health.level in TROUBLES:
        seconds = sum(run.end.seconds for run in runs if run.end)
        values = {"count": as_bad, "all": len(runs), "time": format_seconds(seconds)}
        first = health.points[0]
        points = (replace(first, text=say("health.flapped", text=first.text, **values)), *health.points[1:])
        health = replace(health, points=points)
    return runs[worst], health
