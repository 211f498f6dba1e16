"""Goes through the text of a JSON file value by value, whatever it holds: the thorough parser, and the slower one.

Memory is bounded whatever the text says: values are taken out of a chunk at a time, and only those that are asked for
are kept, until their event ends.
"""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any, NamedTuple

import ijson

from isthmus.trace.json_text import reason_of, shown
from isthmus.trace.kineto.event import ARGUMENT_FIELDS, EVENT_FIELDS, Arguments, Event

# Real events nest six deep, and the longest value of a real one is a list of shapes.
_DEEPEST = 200
_LONGEST_VALUE_BYTES = 16 << 20
_TOP_KEYS_SHOWN = 5

_STARTS = frozenset({"start_map", "start_array"})
_ENDS = frozenset({"end_map", "end_array"})
SECTIONS = frozenset({"traceEvents", "deviceProperties", "distributedInfo"})
_OF_HEADER = frozenset({"schemaVersion"})
_WANTED = EVENT_FIELDS | ARGUMENT_FIELDS.keys() | _OF_HEADER


class _Item(NamedTuple):
    """One object of a section of the file, while its values come."""

    section: str
    fields: dict[str, Any]
    # Those of the object ``args`` within.
    arguments: dict[str, Any]

    @property
    def event(self) -> Event:
        arguments = {ARGUMENT_FIELDS[key]: value for key, value in self.arguments.items() if key in ARGUMENT_FIELDS}
        fields = {key: value for key, value in self.fields.items() if key in EVENT_FIELDS}
        return Event(**fields, args=Arguments(**arguments) if arguments else None)


class Items:
    """The events of one text, once; the rest of what it says is in the attributes afterwards."""

    def __init__(self) -> None:
        # Values of the file as a whole.
        self.header: dict[str, Any] = {}
        self.top_keys: list[str] = []
        self.has_events = False
        # What is wrong with the text from there on, if anything.
        self.damage = ""

    def events(self, chunks: Iterable[bytes]) -> Iterator[tuple[str, Event]]:
        """Each object with the section that it is in."""
        # Chrome takes a bare list of events, too.
        section, key = "traceEvents", ""
        item: _Item | None = None
        # Where the values of each object or list that is open go.
        targets: list[dict[str, Any] | None] = [None]
        for batch in self._batches(chunks):
            for kind, value in batch:
                if kind == "map_key":
                    key = value
                    if targets[-1] is self.header:
                        section = value
                        self._add_top_key(value)
                elif kind in _STARTS:
                    is_map = kind == "start_map"
                    target = self.header if len(targets) == 1 else None
                    if item is None and is_map and 1 < len(targets) <= 3 and section in SECTIONS:
                        item = _Item(section, {}, {})
                        target = item.fields
                    elif item is not None and is_map and key == "args" and targets[-1] is item.fields:
                        target = item.arguments
                    targets.append(target)
                    if len(targets) > _DEEPEST:
                        self.damage = f"something nests more than {_DEEPEST} deep"
                        return
                elif kind in _ENDS:
                    if item is not None and targets[-1] is item.fields:
                        yield section, item.event
                        self.has_events = self.has_events or (section == "traceEvents" and "ph" in item.fields)
                        item = None
                    targets.pop()
                elif key in _WANTED and (target := targets[-1]) is not None and kind != "boolean":
                    target[key] = value

    def _batches(self, chunks: Iterable[bytes]) -> Iterator[list[tuple[str, Any]]]:
        """What the parser makes of each chunk: kinds and values, which are int or Decimal where they are numbers."""
        batch = ijson.sendable_list()
        parser = ijson.basic_parse_coro(batch)
        without_end = 0
        try:
            for chunk in chunks:
                parser.send(chunk)
                # The parser keeps what it has of a value until that ends.
                without_end = 0 if batch else without_end + len(chunk)
                if without_end > _LONGEST_VALUE_BYTES:
                    self.damage = f"a single value is longer than {_LONGEST_VALUE_BYTES >> 20} MiB"
                    return
                yield batch
                batch.clear()
            parser.send(b"")
        except StopIteration:
            pass
        except ijson.JSONError as error:
            self.damage = f"cut off or damaged ({reason_of(error)})"
        except (ArithmeticError, SystemError, ValueError):
            # A number of thousands of digits, of which ijson leaves a tuple that must not be looked at.
            batch.clear()
            self.damage = "a number is absurdly long"
        finally:
            # Parsers in Python complain on stderr of what they are left with.
            with suppress(ijson.JSONError):
                parser.close()
        yield batch

    def _add_top_key(self, key: str) -> None:
        self.has_events = self.has_events or key == "traceEvents"
        if len(self.top_keys) < _TOP_KEYS_SHOWN:
            self.top_keys.append(shown(key, 40))
