"""What a report of a fleet says of its files: what was read, what was not, and what is not as it is elsewhere."""

from itertools import islice

from isthmus.fleet import Survey, odd_facts
from isthmus.language import enumerated, say
from isthmus.record import Missing
from isthmus.report.fleet.words import device_name, devices_text, facts_text, named, short_list

# Launches of which ranks are missing, and lines of what launches noted; a folder can hold the files of many.
_MOST_LAUNCHES, _MOST_NOTES = 5, 20


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
        found.append(say("fleet.missing", count=len(everything.missing), names=named(everything.missing, _missing)))
    found += [
        say("fleet.partial", fleet=fleet, count=count, ranks=ranks)
        for fleet, (count, ranks) in islice(everything.partial.items(), _MOST_LAUNCHES)
    ]
    if twins := _twins(survey):
        found.append(say("fleet.same_names", count=len(twins), names=short_list(twins)))
    # As the launch wrote them.
    found += everything.notes[:_MOST_NOTES]
    if short := survey.short_hosts:
        names = short_list([say("fleet.short_host", host=host, count=count) for host, count in short.items()])
        found.append(say("fleet.short_hosts", count=len(short), names=names))
    if lacking := survey.lacking:
        names = named(lacking, lambda place: _lacking(survey, place))
        found.append(say("fleet.lacking", count=len(lacking), names=names))
    if len(survey.versions) > 1:
        names = short_list(
            [
                say("fleet.version", version=version or say("fleet.unnamed_version"), devices=devices_text(count))
                for version, count in survey.versions.most_common()
            ]
        )
        found.append(say("fleet.versions", names=names))
    if len(survey.groups) > 1:
        groups = [
            say("fleet.group", devices=devices_text(len(each.group.members)), name=each.group.name)
            for each in survey.groups
        ]
        found.append(say("fleet.groups", names=short_list(groups)))
    return found


def _missing(rank: Missing) -> str:
    if rank.host:
        return say("fleet.missing_rank_host", rank=rank.rank, host=rank.host, why=rank.why)
    return say("fleet.missing_rank", rank=rank.rank, why=rank.why)


def _lacking(survey: Survey, place: int) -> str:
    """A device with what may be why it lacks something."""
    group = next(each.group for each in survey.groups if place in each.group.members)
    name, odd = device_name(survey, place), odd_facts(place, group, survey.gathered.devices)
    return say("fleet.lacking_one", device=name, facts=facts_text(odd)) if odd else name


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
