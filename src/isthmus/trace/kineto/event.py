"""One event of a file of the torch profiler, XLA or another that writes this format, with the values that are read."""

from typing import Any

import msgspec


class Arguments(msgspec.Struct, gc=False):
    """The object ``args`` of an event; values are of any type, and None where there is none."""

    device: Any = None
    stream: Any = None
    correlation: Any = None
    bytes: Any = None
    size: Any = None
    src: Any = None
    dst: Any = None
    kind: Any = None
    # XLA's, and the number of a step of JAX.
    correlation_id: Any = None
    memcpy_details: Any = None
    step_num: Any = None
    # Copies between devices.
    from_device: Any = msgspec.field(default=None, name="fromDevice")
    in_device: Any = msgspec.field(default=None, name="inDevice")
    to_device: Any = msgspec.field(default=None, name="toDevice")
    # Metadata.
    name: Any = None
    labels: Any = None
    # rocprof's: when it began in nanoseconds, the device, and all arguments of a call as a text.
    begin_ns: Any = msgspec.field(default=None, name="BeginNs")
    dev_id: Any = msgspec.field(default=None, name="dev-id")
    args: Any = None
    # What unitrace and flows number.
    id: Any = None


class Event(msgspec.Struct, gc=False):
    """An event, or the description of a device or of the run."""

    ph: Any = None
    cat: Any = None
    name: Any = None
    pid: Any = None
    tid: Any = None
    # Microseconds.
    ts: Any = None
    dur: Any = None
    id: Any = None
    rank: Any = None
    args: Arguments | None = None

    @property
    def arguments(self) -> Arguments:
        """Those of the event; empty where it has none."""
        return self.args or _NONE


_NONE = Arguments()
# By their names in files.
EVENT_FIELDS = frozenset(Event.__struct_encode_fields__) - {"args"}
ARGUMENT_FIELDS = dict(zip(Arguments.__struct_encode_fields__, Arguments.__struct_fields__, strict=True))
