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
    yield Heading(say(f"races.kind_{_kind(race)}", number=number, count=race.count), 3)
    copy = say("races.copy", bytes=format_bytes(race.bytes), stream=_stream(race.stream), thread=race.copy_thread)
    key = "races.system_call" if race.by_system_call else "races.touch"
    key = "races.other" if race.between_streams else key
    touch = say(key, offset=race.offset, thread=race.touch_thread, stream=_stream(race.other_stream))
    # Time runs to the right: who asks for the copy, which may still run, and who meets it. The texts come last.
    arrow = "\N{BLACK CIRCLE}\N{BOX DRAWINGS LIGHT HORIZONTAL}\N{BLACK RIGHT-POINTING TRIANGLE}"
    runs, may_run = "\N{FULL BLOCK}", "\N{LIGHT SHADE}" * 6
    first = arrow + runs * 26 + may_run
    second = " " * 14 + arrow + runs * 12 + may_run if race.between_streams else " " * 16 + "\N{BLACK CIRCLE}"
    missing = f"{' ' * 16}\N{BALLOT X}"
    rows = ((first, copy), (missing, say("races.missing")), (second, touch))
    yield Code(say("races.picture"), "\n".join(f"{drawn:<37}{text}" for drawn, text in rows), alone=True)
    yield Code(copy, "\n".join(race.copied_at[:_MOST_FRAMES]))
    yield Code(touch, "\n".join(race.touched_at[:_MOST_FRAMES]))
    cure = "order" if race.between_streams else "read" if race.into_host else "write"
    language = "python" if race.in_python else "native"
    yield Labelled(say("races.missing"), (say(f"races.missing_{'edge' if race.between_streams else 'wait'}"),))
    yield Labelled(say("races.cure"), (say(f"races.cure_{language}_{cure}"),))


def _kind(race: Race) -> str:
    if race.frees:
        return "freed"
    if race.between_streams:
        return "between_writes" if race.into_host and race.writes else "between_streams"
    if not race.into_host:
        return "written_before_read"
    return "written_before_arrival" if race.writes else "read_before_arrival"


def _stream(handle: int) -> str:
    return say("races.stream", stream=f"{handle:#x}") if handle else say("races.default_stream")


def _data(races: Races, program: str) -> Any:
    content = asdict(races)
    return {"format": "isthmus.races", "version": 1, "program": program, **content}
