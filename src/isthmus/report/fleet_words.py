"""What a report of a fleet says in sentences: the answer, causes, and how far the fleet is all there."""

from collections.abc import Callable, Sequence
from itertools import islice
from typing import TypeVar

from isthmus.compare import Difference
from isthmus.fleet import LEAST_ALIKE, BelowReference, Judged, Outlier, Survey, host_list, is_host_name, odd_facts
from isthmus.language import can_say, enumerated, say
from isthmus.record import Missing
from isthmus.report.comparison_labels import group_name

__all__ = [
    "about_files",
    "beside_reference",
    "cause_name",
    "cause_why",
    "device_name",
    "evidence",
    "odd_names",
    "percent",
    "short_list",
    "suspect_hosts",
    "verdict",
    "warnings",
]

_MOST_NAMES = 5
_Named = TypeVar("_Named")
# Hosts in the brackets of Slurm; longer lists are what --format slurm is for.
_MOST_LISTED = 400
# Of one report; a folder can hold the files of many launches.
_MOST_NOTES = 20


def percent(share: float) -> str:
    """A share with as many digits as anyone needs."""
    return f"{100 * share:.0f} %" if share >= 0.0995 else f"{100 * share:.1f} %"


def device_name(survey: Survey, place: int) -> str:
    """``node7 cuda:3``; with the address where a host has several of that name, as ranks do that see one each."""
    device = survey.gathered.devices[place]
    twins = sum(survey.gathered.devices[other].spec == device.spec for other in survey.hosts[device.machine])
    address = f" {device.pci_address}" if twins > 1 and device.pci_address else ""
    return f"{device.machine} {device.spec}{address}"


def short_list(names: Sequence[str], most: int = _MOST_NAMES) -> str:
    """The first names, and how many more there are."""
    if len(names) <= most:
        return enumerated(names)
    return say("fleet.and_more", names=say("common.comma").join(names[:most]), count=len(names) - most)


def suspect_hosts(survey: Survey) -> str:
    """The suspects in the brackets of Slurm, without names that its tools would not take."""
    return host_list(host for host in survey.suspects if is_host_name(host))


def verdict(survey: Survey) -> str:
    """The answer in one sentence."""
    total = len(survey.gathered.devices)
    judged = total - survey.unjudged
    if not judged and any(each.checkup for each in survey.groups):
        return say("fleet.verdict_by_reference", count=total, least=LEAST_ALIKE)
    if not judged:
        return say("fleet.verdict_unjudged", count=total, least=LEAST_ALIKE)
    if not survey.outliers:
        return say("fleet.verdict_none", count=judged)
    worst = survey.outliers[0]
    return say(
        "fleet.verdict",
        count=len(survey.outliers),
        judged=_devices(judged),
        hosts=_hosts(len({survey.gathered.devices[outlier.device].host for outlier in survey.outliers})),
        worst=device_name(survey, worst.device),
        lost=percent(worst.lost),
    )


def warnings(survey: Survey) -> list[str]:
    """What else must be known before anything is read."""
    found = []
    if wrong := survey.wrong:
        names = _named(wrong, lambda place: device_name(survey, place))
        found.append(say("fleet.wrong", count=len(wrong), names=names))
    if unmeasured := len(survey.gathered.missing) + len(survey.lacking):
        found.append(say("fleet.not_measured", count=unmeasured))
    if survey.unjudged and survey.unjudged < len(survey.gathered.devices):
        found.append(say("fleet.some_unjudged", count=survey.unjudged, least=LEAST_ALIKE))
    return found


def beside_reference(survey: Survey) -> list[tuple[str, bool]]:
    """What a reference says of the typical device of each group, and whether that is a warning."""
    if not survey.reference:
        return []
    found = [
        (_beside_reference(survey, judged), judged.checkup is None or not judged.checkup.right)
        for judged in survey.groups
    ]
    if below := survey.below:
        names = _named(below, lambda each: _below(survey, each))
        found.append((say("fleet.below", count=len(below), name=survey.reference.name, names=names), True))
    return found


def cause_name(cause: str) -> str:
    """A likely cause as a heading."""
    key = f"fleet.name_{cause}"
    return say(key) if can_say(key) else say(f"compare_causes.name_{cause}")


def cause_why(cause: str) -> str:
    """How a likely cause slows transfers, and what to do about it."""
    key = f"fleet.why_{cause}"
    return say(key) if can_say(key) else say(f"compare_causes.why_{cause}")


def evidence(survey: Survey, outlier: Outlier) -> str:
    """What speaks for the likely cause of one device, and what else it has that most have not."""
    found = _evidence(survey, outlier)
    return say("fleet.also", evidence=found, facts=_facts(outlier.others)) if outlier.others else found


def odd_names(survey: Survey) -> str:
    """That some suspects are not in the list for a cluster's tools; empty where all are."""
    # Quoted, since such a name may hold anything.
    odd = [repr(host) for host in survey.suspects if not is_host_name(host)]
    return say("fleet.odd_names", count=len(odd), names=short_list(odd)) if odd else ""


def _evidence(survey: Survey, outlier: Outlier) -> str:
    if outlier.neighbours:
        specs = [survey.gathered.devices[place].spec for place in outlier.neighbours]
        return say("fleet.evidence_neighbours", names=short_list(specs))
    if outlier.causes:
        return _facts([outlier.causes[0].difference])
    if outlier.pattern == "neighbours":
        return say("fleet.evidence_together")
    names = short_list(list(dict.fromkeys(group_name(each.kind) for each in outlier.slow)), 2)
    return say(f"fleet.evidence_{outlier.pattern}", names=names)


def about_files(survey: Survey) -> list[str]:
    """What was read, what was not, and what is not as it is elsewhere in the fleet."""
    everything = survey.gathered
    found = [say("fleet.files", count=everything.files)]
    if everything.skipped:
        kinds = [
            say("fleet.skipped_one", count=count, kind=say("fleet.kind_unreadable") if kind == "unreadable" else kind)
            for kind, count in everything.skipped.most_common()
        ]
        found.append(say("fleet.skipped", names=short_list(kinds)))
    found += [say("fleet.unreadable", why=why) for why in everything.unreadable]
    if everything.of_ranks:
        found.append(say("fleet.of_ranks", count=everything.of_ranks))
    if everything.duplicates:
        names = short_list([f"{device.host} {device.spec}" for device in everything.duplicates])
        found.append(say("fleet.duplicates", count=len(everything.duplicates), names=names))
    if everything.missing:
        found.append(say("fleet.missing", count=len(everything.missing), names=_named(everything.missing, _missing)))
    found += [
        say("fleet.partial", fleet=fleet, count=count, ranks=ranks)
        for fleet, (count, ranks) in islice(everything.partial.items(), _MOST_NAMES)
    ]
    if twins := _twins(survey):
        found.append(say("fleet.same_names", count=len(twins), names=short_list(twins)))
    # As the launch wrote them.
    found += everything.notes[:_MOST_NOTES]
    if short := survey.short_hosts:
        names = short_list([say("fleet.short_host", host=host, count=count) for host, count in short.items()])
        found.append(say("fleet.short_hosts", count=len(short), names=names))
    if lacking := survey.lacking:
        names = _named(lacking, lambda place: _lacking(survey, place))
        found.append(say("fleet.lacking", count=len(lacking), names=names))
    if len(survey.versions) > 1:
        names = short_list(
            [
                say("fleet.version", version=version or say("fleet.unnamed_version"), devices=_devices(count))
                for version, count in survey.versions.most_common()
            ]
        )
        found.append(say("fleet.versions", names=names))
    if len(survey.groups) > 1:
        groups = [
            say("fleet.group", devices=_devices(len(each.group.members)), name=each.group.name)
            for each in survey.groups
        ]
        found.append(say("fleet.groups", names=short_list(groups)))
    return found


def _beside_reference(survey: Survey, judged: Judged) -> str:
    assert survey.reference
    name, device = survey.reference.name, judged.group.device
    if judged.checkup is None:
        return say("fleet.reference_none", name=name, device=device)
    slow = [figure for figure in judged.checkup.figures if figure.position == "slow"]
    if judged.checkup.right:
        return say("fleet.reference_right", name=name, device=device)
    names = short_list([group_name(figure.expected.key) for figure in slow], 3)
    return say("fleet.reference_slow", count=len(slow), name=name, device=device, names=names)


def _missing(rank: Missing) -> str:
    if rank.host:
        return say("fleet.missing_rank_host", rank=rank.rank, host=rank.host, why=rank.why)
    return say("fleet.missing_rank", rank=rank.rank, why=rank.why)


def _below(survey: Survey, each: BelowReference) -> str:
    name = device_name(survey, each.device)
    return say("fleet.below_one", device=name, lost=percent(each.lost), kind=group_name(each.kind))


def _named(found: Sequence[_Named], name: Callable[[_Named], str]) -> str:
    """As `short_list`; only those that it shows are named, since there may be very many."""
    return short_list([name(each) for each in found[:_MOST_NAMES]] + [""] * max(0, len(found) - _MOST_NAMES))


def _facts(found: Sequence[Difference]) -> str:
    """What differs from most."""
    return enumerated(
        [
            say(
                "fleet.fact",
                name=say(f"compare_causes.name_{fact.topic}"),
                value=fact.new or say("fleet.none"),
                usual=fact.base or say("fleet.none"),
            )
            for fact in found
        ]
    )


def _lacking(survey: Survey, place: int) -> str:
    """A device with what may be why it lacks something."""
    group = next(each.group for each in survey.groups if place in each.group.members)
    name, odd = device_name(survey, place), odd_facts(place, group, survey.gathered.devices)
    return say("fleet.lacking_one", device=name, facts=_facts(odd)) if odd else name


def _twins(survey: Survey) -> list[str]:
    """Names that several machines have, with a file of each of two."""
    devices = survey.gathered.devices
    files: dict[str, dict[int, str]] = {}
    for host in dict.fromkeys(device.host for device in devices if device.twin):
        found = {device.twin: str(device.path) for device in reversed(devices) if device.host == host}
        files[host] = dict(sorted(found.items()))
    return [
        say("fleet.same_name", host=host, count=len(found), files=enumerated(list(dict.fromkeys(found.values()))[:2]))
        for host, found in files.items()
    ]


def _devices(count: int) -> str:
    return say("fleet.devices", count=count)


def _hosts(count: int) -> str:
    return say("fleet.hosts", count=count)
