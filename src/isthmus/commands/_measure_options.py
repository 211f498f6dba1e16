"""The words of `isthmus measure`'s command line as options of a measurement."""

import sys
from typing import TYPE_CHECKING

from isthmus.errors import UsageError

if TYPE_CHECKING:
    from isthmus.experiment.engine.options import ModeName, Options


def mode(quick: bool, full: bool) -> "ModeName":
    """The mode of two flags. Raises UsageError for both."""
    if quick and full:
        raise UsageError("--quick and --full exclude each other")
    return "quick" if quick else "full" if full else "default"


def options_of(
    mode: "ModeName",
    sizes: list[str] | None,
    memory: list[str] | None,
    direction: list[str] | None,
    alignment: str,
    time: str,
    memory_budget: str,
    seed: int,
) -> "Options":
    """Options out of their words. Raises UsageError for words and figures that make no sense."""
    from isthmus.experiment.engine.options import Options
    from isthmus.record import parse_bytes, parse_seconds, parse_sizes

    options = Options(
        mode=mode,
        sizes=parse_sizes(",".join(sizes)) if sizes else (),
        memory=words(memory),
        directions=words(direction),
        alignment_bytes=parse_bytes(alignment) if alignment else None,
        budget_seconds=parse_seconds(time) if time else None,
        memory_budget_bytes=parse_bytes(memory_budget) if memory_budget else None,
        seed=seed,
    )
    if options.alignment_bytes is not None and options.alignment_bytes not in {1 << power for power in range(13)}:
        raise UsageError(f"not an alignment: {alignment!r}; expected a power of two from 1 to 4096 bytes")
    if not 0 <= seed < 1 << 63:
        raise UsageError(f"not a seed: {seed}; expected a number from 0 to 2**63 - 1")
    if options.memory_budget_bytes == 0:
        raise UsageError("--memory-budget 0 leaves nothing to measure with; expected a size such as 4GiB")
    return options


def as_program_did(options: "Options", program: str) -> "Options":
    """The options that measure what a known program measured, but for those that were given.

    ``bandwidthTest``: every size of an article that compared machines by it. Raises UsageError for another program.
    """
    if not program:
        return options
    if program != "bandwidthTest":
        raise UsageError(f"no program {program!r}; expected --as bandwidthTest")
    from isthmus.record import MIB

    return options._replace(
        sizes=options.sizes or range(160 * MIB, 3041 * MIB, 160 * MIB),
        memory=options.memory or ("pageable", "pinned"),
        directions=options.directions or ("h2d", "d2h"),
        budget_seconds=50.0 if options.budget_seconds is None else options.budget_seconds,
    )


def percents(texts: list[str] | None) -> list[int]:
    """Shares by commas as whole per cents, ascending. Raises UsageError for others."""
    from isthmus.record import parse_share

    shares = [100 * parse_share(word) for word in words(texts)]
    if wrong := [share for share in shares if not 1 <= share <= 100 or abs(share - round(share)) > 1e-9]:
        raise UsageError(f"not whole per cents: --fractions with {wrong[0]:g} %; expected 1 to 100, such as 10%,60%")
    return sorted({round(share) for share in shares})


def stride_sizes(texts: list[str] | None) -> list[int]:
    """Strides in bytes, ascending. Raises UsageError for those that are no multiples of a double."""
    from isthmus.record import parse_sizes

    strides = sorted(set(parse_sizes(",".join(texts)))) if texts else []
    if wrong := [stride for stride in strides if stride % 8 or not stride]:
        raise UsageError(
            f"not a stride of doubles: {wrong[0]} bytes; expected multiples of 8, such as 4KiB:396KiB:4KiB"
        )
    return strides


def counts(option: str, texts: list[str] | None, most: int = sys.maxsize) -> list[int]:
    """Numbers by commas, each once. Raises UsageError for what is none, 0, or more than `most`."""
    texts_given = words(texts)
    if not all(word.isascii() and word.isdigit() and int(word) > 0 for word in texts_given):
        raise UsageError(f"not numbers above 0: {option} {','.join(texts_given)}; expected some such as 1,2,4")
    numbers = list(dict.fromkeys(map(int, texts_given)))
    if (largest := max(numbers, default=0)) > most:
        raise UsageError(f"{option} {largest} is too many; expected at most {most}")
    return numbers


def words(texts: list[str] | None) -> list[str]:
    """Names by commas, of an option that may be given several times, without empty ones."""
    return [name.strip() for text in texts or () for name in text.split(",") if name.strip()]
