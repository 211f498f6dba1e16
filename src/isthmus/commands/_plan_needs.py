"""What a user asks `isthmus plan` for, out of the words of its command line."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from isthmus.commands._choices import meant
from isthmus.commands._command import DROPPED
from isthmus.errors import UsageError
from isthmus.record import (
    BufferNeed,
    ManagedNeed,
    Need,
    PiecesNeed,
    PipelineNeed,
    SectionNeed,
    parse_bytes,
    parse_seconds,
    parse_share,
)


class _Kind(NamedTuple):
    """A kind of need: options that it must have, one or more that tell it from others, and what else it may have."""

    needed: tuple[str, ...]
    telling: tuple[str, ...]
    allowed: tuple[str, ...]
    example: str


_KINDS = {
    "pieces": _Kind(
        ("--pieces", "--piece-bytes"),
        ("--pieces", "--piece-bytes"),
        ("--scattered", "--layout", "--direction", "--source"),
        "--pieces 4096 --piece-bytes 4KiB --scattered",
    ),
    "section": _Kind(
        ("--rows", "--width", "--pitch"),
        ("--rows", "--width", "--pitch", "--device-pitch"),
        ("--direction", "--source"),
        "--rows 30720 --width 8 --pitch 240KiB",
    ),
    "managed": _Kind(("--bytes",), ("--touched", "--stride"), (), "--bytes 1GiB --touched 30%"),
    "pipeline": _Kind(
        ("--bytes", "--compute"),
        ("--compute", "--chunks", "--cpu"),
        ("--source",),
        "--bytes 64MiB --compute 5ms --chunks auto",
    ),
    "buffer": _Kind(
        ("--bytes",),
        ("--bytes",),
        ("--direction", "--uses", "--source"),
        "--bytes 64MiB --direction h2d --uses 100 --source pageable",
    ),
}
_CHOICES = {
    "--direction": ("h2d", "d2h", "both"),
    "--source": ("pageable", "pinned", "new"),
    "--layout": ("contiguous", "strided", "scattered"),
}
# What is not there for every kind of need.
_SOME = {"pieces": {"both", "new"}, "section": {"both", "new"}}


def need_of(options: Mapping[str, Any]) -> Need:
    """The need that the options describe, by their names on the command line; what was not given is None or False.

    Raises UsageError for options that contradict each other, that miss one they need, or that make no sense.
    """
    # By identity: a share or a count of 0 equals False, and is an error, not an option left out.
    given = {name: value for name, value in options.items() if value is not None and value is not False}
    kind = next((name for name, kind in _KINDS.items() if any(option in given for option in kind.telling)), None)
    if kind is None:
        examples = "\n".join(f"  isthmus plan {each.example}" for each in _KINDS.values())
        raise UsageError(f"nothing to plan; expected one of\n{examples}")
    _check(kind, given)
    source = {"source": given["--source"]} if "--source" in given else {}
    direction = {"direction": given["--direction"]} if "--direction" in given else {}
    match kind:
        case "pieces":
            return PiecesNeed(
                given["--pieces"], _size(given, "--piece-bytes"), **_layouts(given), **source, **direction
            )
        case "section":
            pitch = _size(given, "--device-pitch") if "--device-pitch" in given else None
            width, host_pitch = _size(given, "--width"), _size(given, "--pitch")
            return SectionNeed(given["--rows"], width, host_pitch, device_pitch_bytes=pitch, **source, **direction)
        case "managed":
            return ManagedNeed(_size(given, "--bytes"), **_touched(given))
        case "pipeline":
            seconds = parse_seconds(given["--compute"])
            size, chunks = _size(given, "--bytes"), _chunks(given.get("--chunks", "auto"))
            cpu = parse_seconds(given["--cpu"]) if "--cpu" in given else None
            return PipelineNeed(size, seconds, chunks, **source, cpu_seconds=cpu)
    return BufferNeed(_size(given, "--bytes"), uses=given.get("--uses", 1), **source, **direction)


def _check(kind: str, given: Mapping[str, Any]) -> None:
    needed, telling, allowed, example = _KINDS[kind]
    missing = [name for name in needed if name not in given]
    if missing:
        first = next(name for name in telling if name in given)
        raise UsageError(f"{first} needs {' and '.join(missing)} too; such as: isthmus plan {example}")
    fitting = [*dict.fromkeys((*needed, *telling, *allowed))]
    alien = [name for name in given if name not in fitting]
    if alien:
        raise UsageError(f"{alien[0]} does not go with {telling[0]}; with it go {', '.join(fitting)}")
    for name, choices in _CHOICES.items():
        words = given.get(name, choices[0]).split(":") if name == "--layout" else [given.get(name, choices[0])]
        open_to = [word for word in choices if word not in _SOME.get(kind, ())]
        for word in words:
            if word not in open_to:
                instead = DROPPED.get(f"{name} {word}", f"{meant(word, open_to)}expected one of {', '.join(open_to)}")
                raise UsageError(f"not for {name} here: {word!r}; {instead}")


def _layouts(given: Mapping[str, Any]) -> dict[str, Any]:
    if "--layout" not in given:
        return {}
    if "--scattered" in given:
        raise UsageError("--scattered says what --layout says; leave one of them out")
    words = given["--layout"].split(":")
    if len(words) != 2:
        raise UsageError(
            f"not a pair of layouts: {given['--layout']!r}; expected HOST:DEVICE, such as scattered:contiguous"
        )
    if words == ["contiguous", "contiguous"]:
        raise UsageError("pieces that are contiguous on both sides are one buffer; plan it with --bytes")
    return {"host_layout": words[0], "device_layout": words[1]}


def _touched(given: Mapping[str, Any]) -> dict[str, Any]:
    if "--touched" in given and "--stride" in given:
        raise UsageError(
            "--touched and --stride exclude each other: a leading part, or one double in every so many bytes"
        )
    if "--stride" in given:
        return {"stride_bytes": _size(given, "--stride")}
    return {"fraction": parse_share(given["--touched"])}


def _chunks(text: str) -> int | None:
    if text == "auto":
        return None
    if not (text.isascii() and text.isdigit() and int(text) > 0):
        raise UsageError(f"not a number of chunks: {text!r}; expected a number above 0, or auto")
    return int(text)


def _size(given: Mapping[str, Any], name: str) -> int:
    size = parse_bytes(given[name])
    if size == 0:
        raise UsageError(f"{name} 0 leaves nothing to plan; the smallest size is 1 byte")
    return size
