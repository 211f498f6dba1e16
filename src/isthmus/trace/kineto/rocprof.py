"""What rocprof, the profiler of ROCm before version 6, says by other words in the same format.

Numbers are texts, and a call's arguments are one: ``( dst(0x7f00) src(0x5500) sizeBytes(64000000) kind(1))``.
"""

import re
from typing import NamedTuple

from isthmus.trace.columns import UNKNOWN
from isthmus.trace.kineto.event import Event
from isthmus.trace.kineto.times import decimal_of

_ARGUMENT = re.compile(r"(\w+)\(([^()]*)\)")
_CALL = re.compile(r"(hip|hsa_)\w+")


class EndsOfCall(NamedTuple):
    """What the arguments of a copying call tell; UNKNOWN, or empty, where they do not."""

    bytes: int = UNKNOWN
    source: str = ""
    destination: str = ""


def is_of_rocprof(event: Event) -> bool:
    """Whether rocprof wrote an event: no other writer of this format has these times."""
    return event.args is not None and event.args.begin_ns is not None


def is_call(event: Event) -> bool:
    """Whether an event of rocprof is a call, and nothing that a device did."""
    return isinstance(event.name, str) and _CALL.match(event.name) is not None


def ends_of_call(text: object) -> EndsOfCall:
    """What the text of a call's arguments says of its copy."""
    if not isinstance(text, str) or len(text) > 1000:
        return EndsOfCall()
    values = dict(_ARGUMENT.findall(text))
    size = next((values[name] for name in ("sizeBytes", "size") if name in values), "")
    return EndsOfCall(decimal_of(size), values.get("src", ""), values.get("dst", ""))
