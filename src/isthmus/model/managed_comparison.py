"""The paper's figures for a V100 one by one beside those of a run, with what the run's own figures say about why."""

from collections.abc import Mapping
from typing import NamedTuple

from isthmus.model.contrast import ratio
from isthmus.model.managed import Movement, Pattern, movements, why_no_migration
from isthmus.model.managed_published import (
    PAPER_BYTES,
    PAPER_DENSE_SECONDS,
    PAPER_EXPLICIT_SECONDS,
    PAPER_PERCENT,
    PAPER_STRIDE,
    PAPER_STRIDE_SECONDS,
    PAPER_WHOLE_RATIO,
    moved_whole,
    phases_told,
    touches_told,
)
from isthmus.model.managed_thresholds import ON_DEMAND, WHOLE_COPIES, overtaking
from isthmus.model.managed_words import managed_answer, times_words, touched_words
from isthmus.record import Run, format_bytes, format_rate, format_seconds

__all__ = ["PaperFigure", "paper_figures"]


class PaperFigure(NamedTuple):
    """One figure of the paper, and the run's, in words; `why` is what the run's figures say about the difference."""

    name: str
    published: str
    here: str
    why: str = ""


def paper_figures(run: Run) -> list[PaperFigure]:
    """Those that the run's largest array has a counterpart for."""
    found = [each for each in movements(run) if each.curves]
    main: Mapping[Pattern, Movement] = {each.pattern: each for each in found if each.bytes == found[0].bytes}
    known_within = run.settings.target_relative_half_width
    figures = [figure for each in main.values() for figure in _threshold(each, known_within)]
    if "percent" in main:
        figures += _whole(main["percent"])
    if "stride" in main:
        figures += _strides(main["stride"], moves=not why_no_migration(run))
    return figures


def _threshold(movement: Movement, known_within: float) -> list[PaperFigure]:
    answer = overtaking(movement, ON_DEMAND, WHOLE_COPIES[0], known_within)
    if answer is None:
        return []
    here = managed_answer(movement.pattern, answer.threshold)
    points = movement.curves[ON_DEMAND]
    first, last = (
        f"{format_seconds(points[place].seconds.median)} with {touched_words(movement.pattern, place)}"
        for place in (min(points), max(points))
    )
    # The nearest copy of the whole array stands for all.
    copied = movement.at(WHOLE_COPIES[0], max(points))
    why = f"On demand takes {first} and {last}"
    why += f", copying all {format_seconds(copied.seconds.median)}." if copied else "."
    if movement.pattern == "percent":
        return [PaperFigure("managed wins", f"up to {PAPER_PERCENT} % touched", here, why)]
    return [PaperFigure("managed wins", f"from strides of {format_bytes(PAPER_STRIDE)} on", here, why)]


def _whole(movement: Movement) -> list[PaperFigure]:
    whole = moved_whole(movement)
    if whole is None:
        return []
    why = phases_told(whole)
    size = format_bytes(movement.bytes)
    explicit = f"{format_rate(whole.rate(whole.explicit.seconds))}, {format_seconds(whole.explicit.seconds.median)}"
    managed = f"{format_rate(whole.rate(whole.managed.seconds))}, {format_seconds(whole.managed.seconds.median)}"
    faster = ratio(whole.managed.seconds, whole.explicit.seconds)
    there = PAPER_BYTES / PAPER_EXPLICIT_SECONDS
    return [
        PaperFigure("managed / explicit, all touched", f"{PAPER_WHOLE_RATIO:.2f} times", times_words(faster), why),
        PaperFigure(
            f"explicit, all of {format_bytes(PAPER_BYTES)} or {size}",
            f"{format_rate(there)}, {format_seconds(PAPER_EXPLICIT_SECONDS)}",
            explicit,
            f"There and back with the work of both sides, {whole.rate(whole.explicit.seconds) / there:.2f} times the "
            "rate.",
        ),
        PaperFigure(
            f"managed, all of {format_bytes(PAPER_BYTES)} or {size}",
            f"{format_rate(PAPER_BYTES / PAPER_DENSE_SECONDS)}, {format_seconds(PAPER_DENSE_SECONDS)}",
            managed,
            f"{whole.rate(whole.managed.seconds) / (PAPER_BYTES / PAPER_DENSE_SECONDS):.2f} times the rate; there at "
            "strides up to 120 KiB, which moved all.",
        ),
    ]


def _strides(movement: Movement, *, moves: bool) -> list[PaperFigure]:
    points = movement.curves.get(ON_DEMAND, {})
    figures: list[PaperFigure] = []
    dense = next(iter(points), None)
    # Only strides below the paper's threshold are those at which its managed array moved whole.
    compared = [(dense, PAPER_DENSE_SECONDS)] if dense is not None and dense < PAPER_STRIDE else []
    for place, seconds in (*compared, (PAPER_STRIDE, PAPER_STRIDE_SECONDS)):
        explicit = movement.at(WHOLE_COPIES[0], place)
        if place not in points or explicit is None:
            continue
        why = touches_told(movement) if moves and not figures else ""
        published = f"{seconds / PAPER_EXPLICIT_SECONDS:.2f} times, {_to(seconds, PAPER_EXPLICIT_SECONDS)}"
        gap = times_words(ratio(points[place].seconds, explicit.seconds))
        here = f"{gap}, {_to(points[place].seconds.median, explicit.seconds.median)}"
        name = f"managed / explicit, every {format_bytes(place)}"
        figures.append(PaperFigure(name, published, here, why))
    return figures


def _to(managed: float, explicit: float) -> str:
    return f"{format_seconds(managed)} to {format_seconds(explicit)}"
