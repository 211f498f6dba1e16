"""Sizes, rates and times as people write them: KiB/MiB/GiB for sizes, GB/s (1e9) for rates."""

import difflib
import re
from collections.abc import Sequence

from isthmus.errors import UsageError

KIB = 1 << 10
MIB = 1 << 20
GIB = 1 << 30

_UNITS = {
    "": 1,
    "B": 1,
    "KIB": KIB,
    "MIB": MIB,
    "GIB": GIB,
    "TIB": 1 << 40,
    "K": KIB,
    "M": MIB,
    "G": GIB,
    "T": 1 << 40,
    "KB": 1000,
    "MB": 1000**2,
    "GB": 1000**3,
    "TB": 1000**4,
}
_BINARY = ((1 << 40, "TiB"), (GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB"), (1, "B"))
_DECIMAL = ((10**12, "TB"), (10**9, "GB"), (10**6, "MB"), (1000, "kB"))
_SECONDS = {"h": 3600.0, "min": 60.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
# More than anyone measures; keeps a step that was forgotten or mistyped from asking for all memory.
_MOST_SIZES = 10_000
_SPELLINGS = ("B", "KiB", "MiB", "GiB", "TiB", "KB", "MB", "GB", "TB")
_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*")


def parse_bytes(text: str) -> int:
    """Bytes of a size such as ``4096``, ``4KiB``, ``1.5GiB`` or ``100MB`` (decimal); K, M and G alone are binary.

    Raises UsageError when the text is not a size, is negative or is not a whole number of bytes.
    """
    match = _SIZE.fullmatch(text)
    factor = _UNITS.get(match[2].upper()) if match else None
    if match is None or factor is None:
        near = difflib.get_close_matches(match[2], _SPELLINGS, n=1, cutoff=0.4) if match else []
        hint = f"did you mean {match[1]}{near[0]}? Expected" if match and near else "expected"
        raise UsageError(f"not a size: {text!r}; {hint} a number and B, KiB, MiB, GiB, KB, MB or GB, such as 64MiB")
    value = float(match[1]) * factor if "." in match[1] else int(match[1]) * factor
    if value != int(value):
        raise UsageError(f"not a whole number of bytes: {text!r}")
    if value >= 1 << 63:
        raise UsageError(f"more bytes than any machine has: {text!r}")
    return int(value)


def parse_seconds(text: str) -> float:
    """Seconds of a time such as ``5ms``, ``1.5 s``, ``200us``, ``80ns`` or ``10m``.

    Raises UsageError when the text is no time, is 0, or is a number without a unit.
    """
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?(?:e-?\d+)?)\s*([a-z]*)\s*", text, re.ASCII)
    if match and not match[2]:
        raise UsageError(f"a time without a unit: {text!r}; expected one with it, such as {match[1]}s or {match[1]}ms")
    factor = _SECONDS.get(match[2]) if match else None
    if match is None or factor is None or not 0 < float(match[1]) * factor < float("inf"):
        raise UsageError(f"not a time: {text!r}; expected a number above 0 with a unit, such as 5ms, 200us or 1.5s")
    return float(match[1]) * factor


def parse_share(text: str, bare_unit: float = 1.0) -> float:
    """The share in ``30%`` or ``0.3``; a number alone counts in `bare_unit`, 0.01 where the unit is per cent.

    Raises UsageError when the text is neither.
    """
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?(?:e-?\d+)?)\s*(%?)\s*", text, re.ASCII)
    if match is None:
        raise UsageError(f"not a share: {text!r}; expected one such as {'30% or 0.3' if bare_unit == 1 else '5%'}")
    share = float(match[1]) * (0.01 if match[2] else bare_unit)
    if share > bare_unit == 1 and not match[2]:
        # More than the whole: per cents were meant.
        raise UsageError(f"{match[1]} has no unit: {match[1]}%")
    return share


def parse_sizes(text: str) -> list[int]:
    """Sizes in bytes, ascending and without repeats, from a comma list whose items are a size or a range.

    ``FIRST:LAST:STEP`` counts in equal steps, ``FIRST:LAST`` in powers of two times FIRST; both include LAST when hit.

    Raises UsageError naming the item that is wrong.
    """
    sizes: set[int] = set()
    for item in text.split(","):
        parts = [parse_bytes(part) for part in item.split(":")]
        if any(part == 0 for part in parts):
            raise UsageError(f"size 0 in {item!r}; the smallest transfer is 1 byte")
        if len(parts) == 1:
            sizes.add(parts[0])
            continue
        if len(parts) > 3 or parts[1] < parts[0]:
            raise UsageError(
                f"not a range of sizes: {item!r}; expected FIRST:LAST or FIRST:LAST:STEP, such as 1MiB:64MiB:1MiB"
            )
        first, last = parts[0], parts[1]
        if len(parts) == 3:
            count = (last - first) // parts[2] + 1
            if count > _MOST_SIZES:
                raise UsageError(f"{item!r} is a range of {count} sizes; at most {_MOST_SIZES} can be measured")
            sizes.update(range(first, last + 1, parts[2]))
        else:
            while first <= last:
                sizes.add(first)
                first *= 2
    return sorted(sizes)


def format_bytes(count: int) -> str:
    """Whole numbers of the unit that gives the shortest: ``4 KiB``, ``1280 MiB``, ``64 MB``, ``1025 B``."""
    return _shortest(count, (*_BINARY, *_DECIMAL))


def near_bytes(count: int) -> str:
    """Binary units with three digits where the size is not round, as sizes of memory seldom are: ``140 GiB``."""
    exact = _shortest(count, _BINARY)
    if len(exact) <= len("1023 KiB"):
        return exact
    power = min((count.bit_length() - 1) // 10, 4)
    return f"{count / (1 << 10 * power):.3g} {('B', 'KiB', 'MiB', 'GiB', 'TiB')[power]}"


def _shortest(count: int, units: Sequence[tuple[int, str]]) -> str:
    """In the first unit of those that give the shortest whole number."""
    fitting = [(len(str(count // factor)), place) for place, (factor, _) in enumerate(units) if count % factor == 0]
    factor, unit = units[min(fitting)[1]] if count else (1, "B")
    return f"{count // factor} {unit}"


def decimal_bytes(count: int) -> str:
    """A size as rates count it, so that dividing it by a time gives the rate shown next to it: ``50.9 GB``."""
    for factor, unit in ((10**12, "TB"), (10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if count >= factor * 0.9995:
            value = count / factor
            return f"{value:.{2 if value < 9.995 else 1 if value < 99.95 else 0}f} {unit}"
    return f"{count} B"


def format_rate(bytes_per_second: float) -> str:
    """A rate with three significant digits, from ``1.23 kB/s`` to ``55.3 GB/s``."""
    for factor, unit in ((1e9, "GB/s"), (1e6, "MB/s"), (1e3, "kB/s")):
        if bytes_per_second >= factor * 0.9995:
            return f"{_three_digits(bytes_per_second / factor)} {unit}"
    return f"{_three_digits(bytes_per_second)} B/s"


def format_seconds(seconds: float) -> str:
    """A time with three significant digits, from ``850 ns`` to ``12.0 s``."""
    for factor, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "us")):
        if seconds >= factor * 0.9995:
            return f"{_three_digits(seconds / factor)} {unit}"
    return f"{_three_digits(seconds * 1e9)} ns"


def three_figures(value: float) -> str:
    """A number with three significant digits, zeros among them, so that those of an interval look alike: ``0.500``."""
    return f"{value:#.3g}".rstrip(".") if abs(value) < 999.5 else f"{value:.0f}"


def _three_digits(value: float) -> str:
    if value == 0:
        return "0"
    decimals = 2 if value < 9.995 else 1 if value < 99.95 else 0
    return f"{value:.{decimals}f}"
