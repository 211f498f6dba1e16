"""What a report of a fleet says in sentences: the answer, causes, what is next to what is expected, and its files."""

from collections.abc import Sequence
from functools import partial
from itertools import islice

from isthmus.compare import Difference, known_references
from isthmus.fleet import (
    LEAST_ALIKE,
    BelowReference,
    Judged,
    Outlier,
    Survey,
    host_list,
    is_host_name,
    odd_facts,
    through,
)
from isthmus.language import can_say, clauses, enumerated, first_few, in_brackets, say, sentences
from isthmus.record import Missing
from isthmus.report.comparison.words import group_name

# Launches of which ranks are missing, and lines of what launches recorded; a folder can hold the files of many.
_MOST_LAUNCHES, _MOST_NOTES = 5, 20


def percent(share: float) -> str:
    """A share with as many digits as anyone needs."""
    return f"{100 * share:.0f} %" if share >= 0.0995 else f"{100 * share:.1f} %"


def device_name(survey: Survey, place: int) -> str:
    """``node7 cuda:3``; with the address where a host has several of that name, as ranks do that see one each."""
    device = survey.gathered.devices[place]
    twins = sum(survey.gathered.devices[other].spec == device.spec for other in survey.hosts[device.machine])
    address = f" {device.pci_address}" if twins > 1 and device.pci_address else ""
    return f"{device.machine} {device.spec}{address}"


def facts_text(differences: Sequence[Difference]) -> str:
    """What differs from most."""
    return enumerated(
        [
            say(
                "fleet.fact",
                name=say(f"compare_causes.name_{fact.topic}"),
                value=fact.new or say("compare.unknown"),
                usual=fact.base or say("compare.unknown"),
            )
            for fact in differences
        ]
    )


def devices_text(count: int) -> str:
    """``8 devices``."""
    return say("fleet.devices", count=count)


def suspect_hosts(survey: Survey) -> str:
    """The suspects in the brackets of Slurm, without names that its tools would not take."""
    return host_list(host for host in survey.suspects if is_host_name(host))


def verdict(survey: Survey) -> str:
    """The answer in one sentence or two."""
    judged = survey.count - survey.unjudged
    if not judged:
        if survey.by_reference:
            return say("fleet.some_unjudged", count=survey.unjudged, total=survey.count, least=LEAST_ALIKE)
        return say("fleet.verdict_unjudged", least=LEAST_ALIKE, known=say("common.comma").join(known_references()))
    if not survey.outliers:
        return say("fleet.verdict_none", judged=judged)
    worst = survey.outliers[0]
    return say(
        "fleet.verdict",
        count=len(survey.outliers),
        judged=judged,
        hosts=say("fleet.hosts", count=len({survey.gathered.devices[each.device].host for each in survey.outliers})),
        worst=device_name(survey, worst.device),
        lost=percent(worst.lost),
    )


def warnings(survey: Survey) -> list[str]:
    """What else must be known before anything is read."""
    lines, total = [], survey.count
    if survey.wrong:
        lines.append(say("fleet.wrong", names=first_few(survey.wrong, partial(device_name, survey))))
    if unmeasured := len(survey.gathered.missing) + len(survey.lacking):
        lines.append(say("fleet.not_measured", count=unmeasured))
    if 0 < survey.unjudged < total:
        lines.append(say("fleet.some_unjudged", count=survey.unjudged, total=total, least=LEAST_ALIKE))
    if survey.perhaps:
        names = first_few(survey.perhaps, partial(_perhaps, survey))
        lines.append(say("fleet.perhaps", names=names))
    return lines


def beside_reference(survey: Survey) -> list[tuple[str, bool]]:
    """What a reference says of the typical device of each group, and whether that is a warning."""
    if not survey.reference:
        return []
    lines = []
    for judged in survey.groups:
        known = survey.gathered.devices[judged.group.members[0]]
        of = survey.reference.run.fingerprint.device
        if (of.name, of.backend) != (known.fact("device"), known.fact("backend")):
            device = judged.group.device
            expected = through(of.backend, of.name) if of.name == known.fact("device") else of.name
            text = say("compare.other_device", name=survey.reference.name, expected=expected, device=device)
            lines.append((text, True))
        lines.append((_beside_reference(survey, judged), judged.checkup is None or not judged.checkup.right))
    if below := survey.below:
        names = first_few(below, partial(_below, survey))
        lines.append((say("fleet.below", name=survey.reference.name, names=names), True))
    return lines


def contention(judged: Judged, margin: float) -> str:
    """What devices lose to the others of their host; empty where none was measured together with others."""
    judgements = judged.contentions
    if not judgements:
        return ""
    losing = [each for each in judgements if each.lost > margin]
    lost = say(
        "fleet.contention",
        count=len(losing),
        total=len(judgements),
        margin=percent(margin),
        lost=percent(max(judgements[0].lost, 0.0)),
    )
    if not losing or not any(each.by_link for each in judgements):
        return lost  # Nothing to explain, or the links are unknown.
    by_link = any(each.by_link for each in losing)
    return sentences([lost, say("fleet.contention_why_link" if by_link else "fleet.contention_why_others")])


def cause_name(cause: str) -> str:
    """A likely cause as a heading."""
    key = f"fleet.name_{cause}"
    return say(key) if can_say(key) else say(f"compare_causes.name_{cause}")


def cause_why(cause: str) -> str:
    """What to do about a likely cause; empty where its name says enough."""
    return next((say(key) for key in (f"fleet.why_{cause}", f"compare_causes.why_{cause}") if can_say(key)), "")


def evidence(survey: Survey, outlier: Outlier) -> str:
    """What speaks for the likely cause of one device, and what else it has that most have not."""
    return clauses([_evidence(survey, outlier), facts_text(outlier.others) if outlier.others else ""])


def odd_names(survey: Survey) -> str:
    """That some suspects are not in the list for a cluster's tools; empty where all are."""
    # Quoted, since such a name may hold anything.
    odd = [repr(host) for host in survey.suspects if not is_host_name(host)]
    return say("fleet.odd_names", names=first_few(odd)) if odd else ""


def _evidence(survey: Survey, outlier: Outlier) -> str:
    if outlier.causes and not outlier.neighbours:
        return facts_text([outlier.causes[0].difference])
    name, names = cause_name(outlier.cause), ""
    if outlier.neighbours:
        names = first_few([survey.gathered.devices[place].spec for place in outlier.neighbours])
    elif outlier.pattern == "some":
        names = first_few(list(dict.fromkeys(group_name(each.kind) for each in outlier.slow)), most=2)
    return say("terminal.labelled", label=name, text=names) if names else name


def _beside_reference(survey: Survey, judged: Judged) -> str:
    assert survey.reference
    name, device = survey.reference.name, judged.group.device
    if judged.checkup is None:
        return say("fleet.reference_none", name=name, device=device)
    counts, total = judged.checkup.counts, len(judged.checkup.figures)
    if judged.checkup.right:
        few = {"name": name, "device": device, "total": total, "faster": counts["faster"]}
        if not counts["slower"]:
            return say("fleet.reference_none_slower", **few)
        return say("fleet.reference_few_slower", slower=counts["slower"], **few)
    slow = [group_name(figure.expected.key) for figure in judged.checkup.figures if figure.verdict == "slower"]
    names = first_few(slow, most=3)
    return say("fleet.reference_slow", count=len(slow), total=total, name=name, device=device, names=names)


def _below(survey: Survey, each: BelowReference) -> str:
    name = device_name(survey, each.device)
    return say("fleet.below_one", device=name, lost=percent(each.lost), kind=group_name(each.kind))


def _perhaps(survey: Survey, each: Outlier) -> str:
    name = device_name(survey, each.device)
    return say("fleet.below_one", device=name, lost=percent(each.lost), kind=group_name(each.slow[0].kind))


def about_files(survey: Survey) -> list[str]:
    """What was read, what was not, and what is not as it is elsewhere in the fleet."""
    everything = survey.gathered
    lines = [say("fleet.files", count=everything.files)]
    if everything.skipped:
        kinds = [f"{count} {kind}" for kind, count in everything.skipped.most_common()]
        lines.append(say("fleet.skipped", names=first_few(kinds)))
    lines += everything.unreadable
    if everything.of_ranks:
        lines.append(say("fleet.of_ranks", count=everything.of_ranks))
    if everything.duplicates:
        names = first_few(everything.duplicates, lambda device: f"{device.host} {device.spec}")
        lines.append(say("fleet.duplicates", names=names))
    if everything.missing:
        lines.append(say("fleet.missing", names=first_few(everything.missing, _missing)))
    lines += [
        say("fleet.partial", fleet=fleet, count=count, ranks=ranks)
        for fleet, (count, ranks) in islice(everything.partial.items(), _MOST_LAUNCHES)
    ]
    if twins := _twins(survey):
        lines.append(say("fleet.same_names", names=first_few(twins)))
    # As the launch wrote them.
    lines += everything.notes[:_MOST_NOTES]
    for key, hosts in (
        ("fleet.short_hosts", [f"{host}{in_brackets(str(count))}" for host, count in survey.short_hosts.items()]),
        ("fleet.lacking", [_lacking(survey, place) for place in survey.lacking]),
    ):
        if hosts:
            lines.append(say(key, names=first_few(hosts)))
    versions = [_counted(version or say("compare.unknown"), count) for version, count in survey.versions.most_common()]
    groups = [_counted(each.group.name, len(each.group.members)) for each in survey.groups]
    for key, kinds in (("fleet.versions", versions), ("fleet.groups", groups)):
        if len(kinds) > 1:
            lines.append(say(key, names=first_few(kinds)))
    return lines


def _counted(name: str, devices: int) -> str:
    """``0.3.1 (8 devices)``."""
    return f"{name}{in_brackets(devices_text(devices))}"


def _missing(rank: Missing) -> str:
    return say("terminal.labelled", label=f"{rank.host or say('compare.unknown')} {rank.rank}", text=rank.why)


def _lacking(survey: Survey, place: int) -> str:
    """A device with what may be why it lacks something."""
    group = next(each.group for each in survey.groups if place in each.group.members)
    odd = odd_facts(place, group, survey.gathered.devices)
    return f"{device_name(survey, place)}{in_brackets(facts_text(odd))}"


def _twins(survey: Survey) -> list[str]:
    """Names that several machines have, with a file of each of two."""
    devices = survey.gathered.devices
    files: dict[str, dict[int, str]] = {}
    for host in dict.fromkeys(device.host for device in devices if device.twin):
        twins = {device.twin: str(device.path) for device in reversed(devices) if device.host == host}
        files[host] = dict(sorted(twins.items()))
    return [
        f"{host}{in_brackets(enumerated(list(dict.fromkeys(twins.values()))[:2]))}" for host, twins in files.items()
    ]
