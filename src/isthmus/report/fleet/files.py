"""What a report of a fleet says of its files: what was read, what was not, and what is not as it is elsewhere."""

from itertools import islice

from isthmus.fleet import Survey, odd_facts
from isthmus.language import enumerated, first_few, in_brackets, say
from isthmus.record import Missing
from isthmus.report.fleet.words import device_name, devices_text, facts_text

# Launches of which ranks are missing, and lines of what launches recorded; a folder can hold the files of many.
_MOST_LAUNCHES, _MOST_NOTES = 5, 20


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
