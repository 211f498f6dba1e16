"""The document of a program that ran under `isthmus races`: what was not followed, and each race with its cure."""

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from isthmus.document.document import Answer, Block, Code, Data, Document, Heading, Labelled, Prose
from isthmus.language import say
from isthmus.races import Race, Races
from isthmus.record import format_bytes

# For each place; the rest is in JSON.
_MOST_FRAMES = 5


def races_document(races: Races, program: str) -> Document:
    """What was seen of a program, which is named by its first word."""
    return Document(
        "races", say("races.title", program=program), tuple(_blocks(races)), data=Data(lambda: _data(races, program))
    )


def _blocks(races: Races) -> Iterator[Block]:
    yield Answer((_verdict(races),), failed=bool(races.races))
    # Before any race: what follows is not all that there may be.
    yield from (Prose(say("races.not_followed", why=why), tone="warning") for why in races.reasons)
    if races.without_room:
        yield Prose(say("races.without_room", count=races.without_room), tone="warning")
    if races.without_slot:
        yield Prose(say("races.without_slot", count=races.without_slot), tone="warning")
    if races.ignored:
        yield Prose(say("races.ignored", count=races.ignored), "small")
    for number, race in enumerate(races.races, 1):
        yield from _race(number, race)
    yield from (Prose(say("races.refused", why=why), "small") for why in races.refused)
    yield Prose(say("races.limits"), "small")


def _verdict(races: Races) -> str:
    if races.races:
        return say("races.some", count=len(races.races), copies=races.followed)
    if races.followed:
        return say("races.none", copies=races.followed)
    return say("races.nothing_followed" if races.processes else "races.not_loaded")


def _race(number: int, race: Race) -> Iterator[Block]:
    kind = "read_before_arrival" if race.into_host and not race.writes else "written_before_arrival"
    kind = kind if race.into_host else "written_before_read"
    yield Heading(say(f"races.kind_{kind}", number=number, count=race.count), 3)
    stream = say("races.stream", stream=f"{race.stream:#x}") if race.stream else say("races.default_stream")
    copy = say("races.copy", bytes=format_bytes(race.bytes), stream=stream, thread=race.copy_thread)
    key = "races.system_call" if race.by_system_call else "races.touch"
    yield Code(copy, "\n".join(race.copied_at[:_MOST_FRAMES]))
    touch = say(key, offset=race.offset, thread=race.touch_thread)
    yield Code(touch, "\n".join(race.touched_at[:_MOST_FRAMES]))
    language = "python" if race.in_python else "native"
    yield Labelled(say("races.missing"), (say("races.missing_wait"),))
    yield Labelled(say("races.cure"), (say(f"races.cure_{language}_{'read' if race.into_host else 'write'}"),))


def _data(races: Races, program: str) -> Any:
    content = asdict(races)
    return {"format": "isthmus.races", "version": 1, "program": program, **content}
